//! The language room, from outside.

mod declarations;
mod hostile;
mod languages;
mod lines;
mod properties;
mod skim;
mod uses;
