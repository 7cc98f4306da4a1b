//! Every provider against a stand-in of its service, well-behaved and not; the ledger of costs; and users' programs.

mod chat;
mod command;
mod embed;
mod faults;
mod keys;
mod meter;
mod ocr;
mod probe;
mod rerank;
mod speech;
mod world;
