//! The implementations behind the model ports: what is built in, and later what is called over HTTP.

pub mod local;
