//! The index through its public face.

#![allow(clippy::disallowed_methods, reason = "tests read the files they made")]

mod answers;
mod birth;
mod bought_vectors;
mod damage;
mod documents;
mod model_switch;
mod readers;
mod recognized;
mod representations;
mod schema;
mod support;
