//! The crate through its public face, on real directories.

mod fixture;
mod gitignore;
mod hostile;
mod links;
mod watch;
