//! Providers from outside: every service against its stand-in, well-behaved and not; the ledger of costs; users' programs; and
//! extras, programs of the machine and models that really run.

#![allow(clippy::disallowed_methods)] // Tests make and read files of their own.

mod chat;
mod command;
mod embed;
mod extras;
mod faults;
mod keys;
mod local;
mod meter;
mod ocr;
mod probe;
mod rerank;
mod speech;
mod world;
