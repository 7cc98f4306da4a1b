//! The whole text of a document, whatever it was made by: lines of a file, recognised pages, a transcript.

use std::sync::Arc;

use model::{DocType, Failure, RepType, Span};

use crate::call::Call;
use crate::engine::Engine;

/// All the text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeDocument {
    pub rel_path: String,
    pub doc_type: DocType,
    /// What the text was made by; for a document of which only some pages were recognised, its text layer.
    pub rep_type: RepType,
    /// In the order of the document. A plain text is one part.
    pub parts: Vec<DocumentPart>,
}

/// A page, a slide, a segment of a transcript, or all lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPart {
    /// What a citation of this part says.
    pub span: Span,
    pub text: String,
}

impl WholeDocument {
    /// The parts as one text, with an empty line between two.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n")
    }
}

impl Engine {
    /// The text of a document, within the policy. `path` is as the caller wrote it.
    pub async fn document_text(&self, call: &Call, path: &str) -> Result<WholeDocument, Failure> {
        let (shared, path) = (Arc::clone(&self.shared), path.to_owned());
        call.blocking(move |stop| {
            let path = shared.located(&path)?;
            let whole =
                shared.whole(&path).map_err(|failure| shared.with_suggestions(failure, path.as_str()))?;
            stop.check()?;
            let lines = |start_line, end_line| Span::Lines { start_line, end_line };
            let parts = match whole.extraction {
                None => {
                    let last = whole.text.lines().count().max(1) as u32;
                    vec![DocumentPart { span: lines(1, last), text: whole.text }]
                }
                Some(all) => {
                    let places = all.unit_lines();
                    let part = |(unit, (first, last)): (extract::Unit, (u32, u32))| DocumentPart {
                        span: unit.pointer.span().unwrap_or(lines(first, last)),
                        text: unit.text,
                    };
                    all.units.into_iter().zip(places).map(part).collect()
                }
            };
            let (doc_type, rep_type) = (whole.doc_type, whole.rep_type);
            Ok(WholeDocument { rel_path: path.as_str().to_owned(), doc_type, rep_type, parts })
        })
        .await
    }
}
