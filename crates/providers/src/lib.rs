//! The implementations behind the model ports: what is built in, what runs on this machine, and what is called over HTTP.

pub mod extras;
pub mod local;
