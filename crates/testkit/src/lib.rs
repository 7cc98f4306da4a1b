//! What tests from outside need: a folder from one string, the built binary as a child process, and a client
//! for both eras of the protocol over HTTP and stdio. Of the crates inside the binary it knows only `model`, for stand-ins
//! behind its ports.
//!
//! No wait is a sleep: every one is for output, with a deadline. Only the clients of the load scenario pause, as clients do.

#![allow(clippy::disallowed_methods)] // It makes and reads its own temporary files.

pub mod build;
mod client;
mod databases;
mod embedder;
mod folder;
mod hanging;
mod http;
pub mod injections;
pub mod measure;
mod packages;
mod process;
mod program;
mod random;
mod readers;
pub mod scenario;
mod scripted;
mod semble;
mod server;
pub mod standins;
mod stdio;
pub mod store;
mod tree;

pub use client::{Client, Era, LEGACY, MODERN, Reply, ToolReply, initialize_params, modern_meta};
pub use databases::{Database, HeldTransaction, Postgres, Redis};
pub use embedder::{NoMeaning, Request as EmbedRequest, ScriptedEmbedder, Step, rate_limited};
pub use folder::Folder;
pub use hanging::HangingFiles;
pub use http::{Connection, Request, Response};
pub use packages::{HUMAN_WORDS, fetched_package, fetched_packages, human_recording};
pub use process::{DEADLINE, Finished, Process};
pub use program::Program;
pub use random::Random;
pub use readers::{ReadStep, ScriptedRecognizer, ScriptedTranscriber, picture, recording};
pub use scripted::{ChatStep, ScriptedChat, ScriptedReranker, ScriptedSpeaker};
pub use semble::Semble;
pub use server::{HttpClient, Server};
pub use stdio::StdioServer;
pub use tree::Tree;

/// The part of a snippet that is text of the file: what follows the first line, where that line names the place of the
/// passage (`@@ L3-L9 @@ class A`).
pub fn passage(snippet: &serde_json::Value) -> &str {
    let snippet = snippet.as_str().expect("a snippet is a text");
    match snippet.split_once('\n') {
        Some((first, rest)) if first.starts_with("@@ ") => rest,
        _ => snippet,
    }
}
