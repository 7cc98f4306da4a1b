//! One file per command.

pub(crate) mod ask;
pub(crate) mod config_init;
pub(crate) mod config_print;
pub(crate) mod connect;
pub(crate) mod indexing;
pub(crate) mod read_documents;
pub(crate) mod repo;
pub(crate) mod roots;
pub(crate) mod status;
pub(crate) mod stdio;
pub(crate) mod up;
pub(crate) mod version;
