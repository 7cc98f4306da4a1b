//! The front door from outside: files that must not be reached, races, and the corpus of secrets.

mod confine;
mod door;
mod secrets;
