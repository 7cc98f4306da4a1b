//! The language room, from outside.

mod declarations;
mod facts;
mod hostile;
mod languages;
mod lines;
mod properties;
mod skim;
mod uses;
