//! The front door from outside: files that must not be reached, races, and the corpus of secrets.

#![allow(clippy::disallowed_methods, reason = "the tests make the files that the door is tried with")]

mod confine;
mod door;
mod figures;
mod formats;
mod judged;
mod labelled;
mod redact;
mod secrets;
