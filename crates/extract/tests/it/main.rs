//! The extractors through their public entries, on documents that the tests make themselves.

#![allow(clippy::disallowed_methods)]

mod archives;
mod build;
mod documents;
mod findings;
mod hostile;
mod hostile_media;
mod image_files;
mod pdfs;
mod pictures;
mod recordings;
mod unread;
