//! The file store from outside, on both backends: one body of cases, each named after the lines of the contract that it holds
//! (`f…`), run over MCP against the built binary.
//!
//! A topic is a list of cases that share a server; each case is a tenant of its own, so that none can see another.

mod suite;
mod world;

mod callers_keys;
mod concurrency;
mod coverage;
mod deleting;
mod doors;
mod faults;
mod identity;
mod indexing;
mod limits;
mod listing;
mod maintaining;
mod observing;
mod piping;
mod plain_http;
mod proofs;
mod reading;
mod renaming;
mod searching;
mod stat;
mod validation;
mod writing;

use suite::{Case, on_both_backends};
use world::{Backend, Tenant, World};

const BINARY: &str = env!("CARGO_BIN_EXE_dir2mcp");

on_both_backends!(
    identity,
    validation,
    stat,
    reading,
    writing,
    deleting,
    renaming,
    listing,
    searching,
    concurrency,
    indexing,
    limits,
    observing,
    plain_http,
    piping,
);
