//! The language room, from outside.

mod boundaries;
mod hostile;
mod languages;
mod properties;
mod skim;
mod uses;
