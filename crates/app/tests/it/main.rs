//! The built binary, from outside.

mod acceptance;
mod cli_surface;
mod config;
mod sandbox;
