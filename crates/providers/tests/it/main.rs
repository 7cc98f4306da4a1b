//! Providers from outside: extras, programs of the machine, and models that really run.

#![allow(clippy::disallowed_methods)] // Tests make and read files of their own.

mod extras;
mod local;
