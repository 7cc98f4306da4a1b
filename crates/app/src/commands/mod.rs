//! One file per command.

pub(crate) mod config_init;
pub(crate) mod config_print;
pub(crate) mod connect;
pub(crate) mod version;
