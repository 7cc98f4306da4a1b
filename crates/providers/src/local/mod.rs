//! Providers that need no key, no network and no download.

mod hashing;

pub use hashing::HashingEmbedder;
