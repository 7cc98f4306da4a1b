//! The parts of a document that its bytes alone do not tell: a recogniser or a transcriber has to read them.

use crate::Capability;

/// Recorded with the document until somebody has read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadParts {
    /// Pages without a usable text, from 1 and in order. A picture is page 1.
    Pages(Vec<u32>),
    /// What is said in a recording.
    Speech,
}

impl UnreadParts {
    /// What a provider has to be able to do to read them.
    pub fn capability(&self) -> Capability {
        match self {
            UnreadParts::Pages(_) => Capability::Ocr,
            UnreadParts::Speech => Capability::Stt,
        }
    }
}
