//! What several providers say on the wire in nearly the same words.

pub(crate) mod chat;
mod content;
pub(crate) mod embeddings;
pub(crate) mod languages;
mod quirks;
pub(crate) mod sound;
pub(crate) mod transcription;
