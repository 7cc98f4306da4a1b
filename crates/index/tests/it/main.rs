//! The index through its public face.

mod answers;
mod damage;
mod documents;
mod readers;
mod schema;
mod support;
