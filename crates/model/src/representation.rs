//! A text made from a document. A document can have several: its text layer, what a model reads in its pictures, a transcript.

use serde::{Deserialize, Serialize};

use crate::{Chunk, ContentHash};

/// A text made from a document, cut into chunks.
#[derive(Debug, Clone)]
pub struct Representation {
    pub rep_type: RepType,
    /// Equal hashes mean equal chunks: they are then not even looked at.
    pub rep_hash: ContentHash,
    /// How the text was got and what was left out, for people who wonder.
    pub meta_json: String,
    /// Their ordinals go on from one representation of a document to the next, so that an ordinal is a place in the document.
    pub chunks: Vec<Chunk>,
    /// The whole of it, where reading the file again does not give it at once.
    pub produced: Option<ProducedText>,
}

/// What a producer made of a document's bytes, before it was cut. It is kept by the content's hash, so that it is made once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducedText {
    /// The extractor or the model, with its version: another one makes another text.
    pub producer: String,
    /// As the producer's owner writes it down; the index only keeps it.
    pub text: String,
}

crate::document::named!(
    /// The representation types of the dir2mcp specification, section 5.2.
    RepType {
        RawText = "raw_text",
        OcrMarkdown = "ocr_markdown",
        Transcript = "transcript",
        AnnotationText = "annotation_text",
        AnnotationJson = "annotation_json",
    }
);
