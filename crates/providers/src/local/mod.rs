//! Providers that need no key, no network and no download.

mod table;

pub use table::TableEmbedder;
