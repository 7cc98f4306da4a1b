//! Documents whose text has to be dug out: which files they are, who digs, and what the text becomes.

use std::fmt;

use extract::{Extraction, Format};
use model::{DocType, SkipReason};

/// Reads the text of a document. Implemented by a pool of processes, since the bytes may be hostile, and by this process
/// for those who trust them.
pub trait DocumentReader: Send + Sync + fmt::Debug {
    /// Whatever the bytes are, there is an extraction. An error is about the reader, not the document: the next attempt
    /// may succeed.
    fn read(&self, format: Format, name: &str, bytes: &[u8]) -> Result<Extraction, String>;

    /// Says that no document is expected soon.
    fn rest(&self) {}
}

/// Reads documents in this process.
#[derive(Debug, Clone, Default)]
pub struct InProcess {
    pub limits: extract::Limits,
}

impl DocumentReader for InProcess {
    fn read(&self, format: Format, name: &str, bytes: &[u8]) -> Result<Extraction, String> {
        Ok(extract::extract(format, name, bytes, &self.limits))
    }
}

/// The format of a file whose text has to be dug out, and the type it counts as; `None` for plain texts and for what
/// nobody reads.
pub fn document(name: &str, head: &[u8]) -> Option<(Format, DocType)> {
    let format = extract::sniff(name, head)?;
    let doc_type = match format {
        Format::Pdf => DocType::Pdf,
        Format::Docx | Format::Odt | Format::Rtf | Format::Epub | Format::Pptx | Format::Odp => DocType::Text,
        Format::Xlsx | Format::Xls | Format::Ods => DocType::Data,
        // Recognised, so that the reason can say more than "binary".
        Format::Doc | Format::Ppt | Format::Xlsb | Format::Msg => DocType::BinaryIgnored,
        _ => return None,
    };
    Some((format, doc_type))
}

/// Why a document has no text to search.
pub fn shortfall(extraction: &Extraction) -> Option<SkipReason> {
    match &extraction.skip {
        Some(reason) => Some(reason.clone()),
        None if extraction.units.is_empty() => {
            Some(SkipReason::NoText { format: extraction.format.to_string() })
        }
        None => None,
    }
}
