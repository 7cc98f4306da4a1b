//! One file per command.

pub(crate) mod ask;
mod child;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod config_init;
pub(crate) mod config_print;
mod confirm;
pub(crate) mod connect;
pub(crate) mod costs;
pub(crate) mod doctor;
pub(crate) mod extras;
pub(crate) mod indexing;
pub(crate) mod keys;
pub(crate) mod large_folder;
mod model_questions;
pub(crate) mod open;
pub(crate) mod read_documents;
pub(crate) mod repo;
pub(crate) mod roots;
pub(crate) mod run_model;
pub(crate) mod search;
pub(crate) mod status;
pub(crate) mod stdio;
mod tools;
pub(crate) mod trust;
pub(crate) mod up;
pub(crate) mod version;
