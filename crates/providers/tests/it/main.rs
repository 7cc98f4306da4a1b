//! Every provider from outside: services by their stand-ins, well-behaved and not, extras, programs of the machine and models
//! that really run; and the ledger of costs.

#![allow(clippy::disallowed_methods)] // Tests make and read files of their own.

mod chat;
mod command;
mod embed;
mod extras;
mod faults;
mod keys;
mod local;
mod meter;
mod network;
mod ocr;
mod probe;
mod rerank;
mod speech;
mod world;
