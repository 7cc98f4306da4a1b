//! Indexing through its public interface: a folder, a scan, and what the index then holds.
#![allow(clippy::disallowed_methods)] // The files are the tests' own.

mod archives;
mod extraction;
mod recognition;
mod scanning;
mod support;
