//! The crate through its public face, on real directories.

#![allow(clippy::disallowed_methods, reason = "tests read the files they made")]

mod fixture;
mod gitignore;
mod hostile;
mod links;
mod watch;
