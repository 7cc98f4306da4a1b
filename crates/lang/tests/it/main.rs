//! The language room, from outside.

mod hostile;
mod languages;
mod lines;
mod properties;
mod skim;
mod uses;
