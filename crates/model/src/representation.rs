//! The text views that a document can have.

use serde::{Deserialize, Serialize};

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
