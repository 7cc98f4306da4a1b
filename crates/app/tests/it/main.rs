//! The built binary, from outside.

#![allow(clippy::disallowed_methods, reason = "tests read the files they made")]

mod acceptance;
mod cli_surface;
mod config;
mod connect;
mod console;
mod files;
mod providers;
mod pty;
mod publish;
mod readme;
mod sandbox;
mod terminal;
mod trust;
