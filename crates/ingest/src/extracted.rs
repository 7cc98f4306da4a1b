//! How an extraction is written down, so that a document is extracted once and opened from what was kept.
//!
//! A line of JSON, then the texts of all units, one after the other: the index finds its chunks in them as they are, and keeps
//! only what no chunk holds.

use extract::{Extraction, Format};
use model::{ProducedText, RelPath};
use serde::{Deserialize, Serialize};

/// Raised when an extractor gives another text for the same bytes: what was kept is then extracted again.
fn version(format: Format) -> u32 {
    match format {
        // Tells which pages have to be recognised.
        Format::Pdf => 2,
        // Reads what is attached.
        Format::Eml | Format::Mbox => 2,
        _ => 1,
    }
}

/// Who extracts a document of this format. The name of the file counts where it claims another format, since the extraction
/// tells of that.
pub(crate) fn producer(format: Format, path: &RelPath) -> String {
    match Format::from_name(path.file_name()).filter(|named| *named != format) {
        Some(named) => format!("extract-{} {format} named {named}", version(format)),
        None => format!("extract-{} {format}", version(format)),
    }
}

/// Everything but the texts.
#[derive(Serialize, Deserialize)]
struct ExtractedHead {
    /// Its units have no texts.
    extraction: Extraction,
    /// How long each unit's text is, in bytes.
    lengths: Vec<usize>,
}

/// The written form.
pub(crate) fn written(mut extraction: Extraction, producer: String) -> ProducedText {
    let lengths = extraction.units.iter().map(|unit| unit.text.len()).collect();
    let texts: String = extraction.units.iter_mut().map(|unit| std::mem::take(&mut unit.text)).collect();
    // Writing plain values into memory does not fail.
    let head = serde_json::to_string(&ExtractedHead { extraction, lengths }).unwrap_or_default();
    ProducedText { producer, text: format!("{head}\n{texts}") }
}

/// Reads the written form back; `None` for anything else.
pub(crate) fn read(written: &str) -> Option<Extraction> {
    let (head, mut texts) = written.split_once('\n')?;
    let ExtractedHead { mut extraction, lengths } = serde_json::from_str(head).ok()?;
    if extraction.units.len() != lengths.len() {
        return None;
    }
    for (unit, length) in extraction.units.iter_mut().zip(lengths) {
        let (text, rest) = texts.split_at_checked(length)?;
        unit.text = text.to_owned();
        texts = rest;
    }
    texts.is_empty().then_some(extraction)
}

#[cfg(test)]
mod tests {
    use extract::{Extraction, Format, Unit};
    use model::{Pointer, RelPath};

    use super::{producer, read, written};

    #[test]
    fn an_extraction_comes_back_as_it_was() {
        let unit = |page, text: &str| Unit {
            pointer: Pointer::Page { page },
            title: Some("Title\nof two lines".to_owned()),
            text: text.to_owned(),
        };
        let extraction = Extraction {
            format: Format::Pdf,
            title: None,
            units: vec![unit(1, "größe\n\n\"quoted\""), unit(2, ""), unit(4, "\nlast")],
            parts: 4,
            skip: None,
            diagnostics: vec![],
            unread_pages: vec![],
        };
        let kept = written(extraction.clone(), "x".to_owned());
        assert_eq!(read(&kept.text), Some(extraction));
        for end in (0..kept.text.len()).filter(|end| kept.text.is_char_boundary(*end)) {
            assert_eq!(read(&kept.text[..end]), None, "cut at {end}");
        }
    }

    #[test]
    fn a_wrong_name_is_another_producer() {
        let producer = |name: &str| producer(Format::Pdf, &RelPath::parse(name).unwrap());
        assert_eq!(producer("a.pdf"), producer("b/c.pdf"));
        assert_eq!(producer("a.pdf"), producer("a.unknown"), "which claims no format");
        assert_ne!(producer("a.pdf"), producer("a.docx"));
    }
}
