//! The tools over an engine with scripted providers, called through the registry as every client does.

mod extended;
mod providers;
mod world;
