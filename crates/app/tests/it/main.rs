//! The built binary, from outside.

mod cli_surface;
mod config;
mod sandbox;
