//! What a file is to the index: plain text, a document whose text has to be extracted, an archive, or none of these; and how
//! its text is got.

mod pool;
mod protocol;
mod serve;

use std::fmt;
use std::ops::ControlFlow;

use extract::archive::{self, Entry, Mode, Walked};
use extract::audio::{self, RecordingInfo};
use extract::picture::{self, PagePicture};
use extract::{Extracted, Extraction, Format};
use index::Index;
use model::{ContentHash, DocType, RelPath, RepType, SkipReason};

use crate::extracted;

pub use pool::DocumentProcesses;
pub use serve::serve_documents;

/// Reads documents and archives. Implemented by a pool of processes, since the bytes may be hostile, and by this process
/// for those who trust them.
///
/// An error is always about the reader, not about the bytes: the next attempt may succeed.
pub trait DocumentReader: Send + Sync + fmt::Debug {
    /// Whatever the bytes are, there is an extraction.
    fn read(&self, format: Format, name: &str, bytes: &[u8]) -> Result<Extraction, String>;

    /// Gives the entries of an archive to `visit`, one after the other, until that breaks off.
    fn members(
        &self,
        archive: &Archive<'_>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Walked, String>;

    /// The content of one member, by the path that [`DocumentReader::members`] gave it.
    fn member(&self, archive: &Archive<'_>, path: &str) -> Result<Option<Vec<u8>>, String>;

    /// Gives pictures of the pages of a PDF or an image file to `visit`, in the order asked for, until that breaks off. The
    /// document is parsed once: ask for all pages in one call. Every page has an answer; [`SkipReason::NotTried`] is about
    /// the reader, not about the bytes.
    fn page_pictures(
        &self,
        format: Format,
        bytes: &[u8],
        pages: &[u32],
        visit: &mut dyn FnMut(u32, Result<PagePicture, SkipReason>) -> ControlFlow<()>,
    );

    /// The picture of one page, counted from 1.
    fn page_picture(&self, format: Format, bytes: &[u8], page: u32) -> Result<PagePicture, SkipReason> {
        let mut found = None;
        self.page_pictures(format, bytes, &[page], &mut |_, picture| {
            found = Some(picture);
            ControlFlow::Break(())
        });
        let detail = "the reader gave no answer".to_owned();
        found.unwrap_or(Err(SkipReason::NotTried { detail }))
    }

    /// What a recording says of itself; nothing is decoded.
    fn recording(&self, format: Format, name: &str, bytes: &[u8]) -> Result<RecordingInfo, SkipReason>;

    /// Gives what is heard in a recording to `visit`, [`audio::CHUNK_SAMPLES`] at once: one channel,
    /// [`audio::SAMPLE_RATE`] numbers a second. At the end it tells what the recording was, or nothing if `visit` broke off.
    /// [`SkipReason::NotTried`] is about the reader, not about the bytes.
    fn samples(
        &self,
        format: Format,
        name: &str,
        bytes: &[u8],
        visit: &mut dyn FnMut(&[f32]) -> ControlFlow<()>,
    ) -> Result<Option<RecordingInfo>, SkipReason>;

    /// Gives back what is kept for the next document: none is expected soon.
    fn release_idle(&self) {}
}

/// An archive and how to go through it.
#[derive(Debug, Clone, Copy)]
pub struct Archive<'a> {
    pub format: Format,
    pub name: &'a str,
    pub bytes: &'a [u8],
    pub mode: Mode,
    /// Larger members are left out.
    pub max_member_bytes: u64,
}

/// Reads documents in this process.
#[derive(Debug, Clone, Default)]
pub struct InProcess {
    pub limits: extract::Limits,
}

impl InProcess {
    fn within(&self, archive: &Archive<'_>) -> extract::Limits {
        extract::Limits { max_member_bytes: archive.max_member_bytes, ..self.limits.clone() }
    }
}

impl DocumentReader for InProcess {
    fn read(&self, format: Format, name: &str, bytes: &[u8]) -> Result<Extraction, String> {
        Ok(extract::extract(format, name, bytes, &self.limits))
    }

    fn members(
        &self,
        archive: &Archive<'_>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Walked, String> {
        let Archive { format, name, bytes, mode, .. } = *archive;
        Ok(archive::members(format, name, bytes, &self.within(archive), mode, visit))
    }

    fn member(&self, archive: &Archive<'_>, path: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(archive::member(archive.format, archive.name, archive.bytes, path, &self.within(archive)))
    }

    fn page_pictures(
        &self,
        format: Format,
        bytes: &[u8],
        pages: &[u32],
        visit: &mut dyn FnMut(u32, Result<PagePicture, SkipReason>) -> ControlFlow<()>,
    ) {
        picture::page_pictures(format, bytes, pages, &self.limits, visit);
    }

    fn recording(&self, format: Format, name: &str, bytes: &[u8]) -> Result<RecordingInfo, SkipReason> {
        audio::probe(format, name, bytes, &self.limits)
    }

    fn samples(
        &self,
        format: Format,
        name: &str,
        bytes: &[u8],
        visit: &mut dyn FnMut(&[f32]) -> ControlFlow<()>,
    ) -> Result<Option<RecordingInfo>, SkipReason> {
        audio::samples(format, name, bytes, &self.limits, visit)
    }
}

/// What a file is to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// Its bytes are the text.
    Text(DocType),
    /// Its text has to be extracted, and is cited by its own pages, times or lines.
    Document(Format, DocType),
    Archive(Format),
    /// There is no text in it that anybody here could read.
    Other(DocType),
}

impl ContentKind {
    /// By the name and the content; by the first bytes alone it is a guess that decides how much to read.
    pub fn of(path: &RelPath, bytes: &[u8]) -> ContentKind {
        let head = &bytes[..bytes.len().min(discover::HEAD_BYTES)];
        let classified = discover::classify(path, head);
        let plain = if classified.is_textual() {
            ContentKind::Text(classified)
        } else {
            ContentKind::Other(classified)
        };
        let name = path.file_name();
        let named = Format::from_name(name);
        let Some(format) = extract::sniff(name, bytes) else { return plain };
        match format {
            // The parts that tell may come later, or may be missing: then its own reader says so.
            Format::Zip => match named.filter(|named| document_type(*named).is_some() && named.is_zipped()) {
                Some(named) => ContentKind::Document(named, document_type(named).unwrap_or(classified)),
                None if classified == DocType::Archive && archive::is_called_one(name) => {
                    ContentKind::Archive(format)
                }
                None => plain,
            },
            Format::Tar | Format::TarGz | Format::TarZst => match classified {
                DocType::Archive if archive::is_called_one(name) => ContentKind::Archive(format),
                _ => plain,
            },
            // Templates and fragments are source; a page is read for its text.
            Format::Html if named == Some(Format::Html) => match plain {
                ContentKind::Text(doc_type) if extract::is_page(bytes) => {
                    ContentKind::Document(format, doc_type)
                }
                _ => plain,
            },
            Format::Html => ContentKind::Document(format, DocType::Html),
            // Named so and text inside: else the name is wrong.
            Format::Eml | Format::Mbox | Format::Ipynb | Format::Srt | Format::Vtt => match plain {
                ContentKind::Text(doc_type) => ContentKind::Document(format, doc_type),
                _ => plain,
            },
            other => document_type(other).map_or(plain, |doc_type| ContentKind::Document(other, doc_type)),
        }
    }

    pub fn doc_type(self) -> DocType {
        match self {
            ContentKind::Text(doc_type)
            | ContentKind::Document(_, doc_type)
            | ContentKind::Other(doc_type) => doc_type,
            ContentKind::Archive(_) => DocType::Archive,
        }
    }
}

/// The type that a document of binary structure counts as.
fn document_type(format: Format) -> Option<DocType> {
    Some(match format {
        Format::Pdf => DocType::Pdf,
        Format::Docx | Format::Odt | Format::Rtf | Format::Epub | Format::Pptx | Format::Odp => DocType::Text,
        Format::Xlsx | Format::Xls | Format::Ods => DocType::Data,
        // Recognised, so that the reason can say more than "binary".
        Format::Doc | Format::Ppt | Format::Xlsb | Format::Msg | Format::Ps => DocType::BinaryIgnored,
        _ => return None,
    })
}

/// The text of a document as it is indexed and shown, before it is cut.
#[derive(Debug)]
pub struct DocumentText {
    pub doc_type: DocType,
    pub rep_type: RepType,
    pub text: String,
    /// Where the text had to be extracted: `text` is its units, joined.
    pub extraction: Option<Extraction>,
    /// The extractor and its version, stored with the text.
    pub(crate) producer: Option<String>,
    /// About the representation, for the catalog.
    pub(crate) meta: serde_json::Value,
}

/// Gets the texts of documents: from what was kept of the same content, or from their bytes.
#[derive(Clone, Copy)]
pub struct Extractor<'a> {
    pub reader: &'a dyn DocumentReader,
    /// Where extracted texts are kept; without it every document is extracted again.
    pub kept: Option<&'a Index>,
}

impl Extractor<'_> {
    /// The text of a file's bytes, or why there is none. [`SkipReason::NotTried`] is about the reader, not about the bytes:
    /// the next attempt may succeed.
    pub fn text(
        self,
        path: &RelPath,
        kind: ContentKind,
        bytes: Vec<u8>,
        content_hash: &ContentHash,
    ) -> Result<DocumentText, SkipReason> {
        let doc_type = kind.doc_type();
        match kind {
            ContentKind::Text(_) => {}
            ContentKind::Document(format, _) => {
                let (extraction, producer) = self.extraction(path, format, &bytes, content_hash)?;
                match shortfall(&extraction) {
                    None => return Ok(of_extraction(doc_type, extraction, producer)),
                    // What is text anyway can be read as that: a subtitle without times, a broken notebook.
                    Some(_) if !format.is_hostile() => {}
                    Some(reason) => return Err(reason),
                }
            }
            ContentKind::Archive(_) | ContentKind::Other(_) => return Err(unread(path, doc_type)),
        }
        match extract::raw_text(bytes) {
            Extracted::Skip(reason) => Err(reason),
            Extracted::Text(text) => Ok(DocumentText {
                doc_type,
                rep_type: RepType::RawText,
                meta: serde_json::json!({ "encoding": text.encoding, "lossy": text.lossy }),
                text: text.text,
                extraction: None,
                producer: None,
            }),
        }
    }

    /// What is extracted from a document, be it nothing, and by whom.
    pub(crate) fn extraction(
        self,
        path: &RelPath,
        format: Format,
        bytes: &[u8],
        content_hash: &ContentHash,
    ) -> Result<(Extraction, String), SkipReason> {
        let producer = extracted::producer(format, path);
        if let Some(extraction) = self.kept(content_hash, &producer) {
            return Ok((extraction, producer));
        }
        let extraction = self
            .reader
            .read(format, path.file_name(), bytes)
            .map_err(|detail| SkipReason::NotTried { detail })?;
        Ok((extraction, producer))
    }

    fn kept(self, content_hash: &ContentHash, producer: &str) -> Option<Extraction> {
        match self.kept?.produced_text(content_hash, producer) {
            Ok(written) => extracted::read(&written?),
            Err(error) => {
                tracing::debug!(%error, "what was extracted could not be read; it is extracted again");
                None
            }
        }
    }
}

pub(crate) fn of_extraction(doc_type: DocType, extraction: Extraction, producer: String) -> DocumentText {
    let left_out: Vec<String> = extraction.diagnostics.iter().take(20).map(ToString::to_string).collect();
    let meta = serde_json::json!({
        "format": extraction.format.as_str(),
        "title": extraction.title,
        "parts": extraction.parts,
        "diagnostics": left_out,
    });
    DocumentText {
        doc_type,
        rep_type: RepType::RawText,
        text: extraction.joined(),
        extraction: Some(extraction),
        producer: Some(producer),
        meta,
    }
}

/// Why a document has no text to search.
pub(crate) fn shortfall(extraction: &Extraction) -> Option<SkipReason> {
    match &extraction.skip {
        Some(reason) => Some(reason.clone()),
        None if extraction.units.is_empty() => {
            Some(SkipReason::NoText { format: extraction.format.to_string() })
        }
        None => None,
    }
}

/// Why nothing is read from a file that is neither text nor a document.
pub fn unread(path: &RelPath, doc_type: DocType) -> SkipReason {
    match doc_type {
        DocType::BinaryIgnored => SkipReason::Binary,
        DocType::Archive => SkipReason::OldFormat {
            format: path
                .extension()
                .map_or_else(|| "such archive".to_owned(), |extension| format!(".{extension}")),
            hint: "unpack it, or pack it as .zip, .tar, .tar.gz or .tar.zst, to have it searched".to_owned(),
        },
        other => SkipReason::Unsupported { doc_type: other.as_str().to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_are() {
        let words = "The keeper of the lighthouse writes a line each night. ".repeat(12);
        let page = format!("<!DOCTYPE html><html><body><p>{words}</p></body></html>");
        for (name, bytes, kind) in [
            ("a.html", page.as_str(), ContentKind::Document(Format::Html, DocType::Html)),
            ("a.html", "<p>{{ title }}</p>", ContentKind::Text(DocType::Html)),
            ("a.xls", "<html><table><td>1</table>", ContentKind::Document(Format::Html, DocType::Html)),
            ("a.eml", "Subject: x\n\ny", ContentKind::Document(Format::Eml, DocType::Text)),
            ("a.eml", "\0\0\0\u{1}", ContentKind::Other(DocType::BinaryIgnored)),
            ("a.ipynb", "{}", ContentKind::Document(Format::Ipynb, DocType::Data)),
            ("a.srt", "1\n", ContentKind::Document(Format::Srt, DocType::Text)),
            ("a.csv", "a,b\n", ContentKind::Text(DocType::Data)),
            ("a.md", "# a", ContentKind::Text(DocType::Md)),
            ("a.rs", "fn a() {}", ContentKind::Text(DocType::Code)),
            ("a.pdf", "%PDF-1.4", ContentKind::Document(Format::Pdf, DocType::Pdf)),
            ("a.txt", "%PDF-1.4\n%\u{e9}", ContentKind::Document(Format::Pdf, DocType::Pdf)),
            // The head of a large document may not reach the part that tells what it is.
            ("a.docx", "PK\u{3}\u{4}\u{14}", ContentKind::Document(Format::Docx, DocType::Text)),
            ("a.zip", "PK\u{3}\u{4}\u{14}", ContentKind::Archive(Format::Zip)),
            ("a.jar", "PK\u{3}\u{4}\u{14}", ContentKind::Other(DocType::Archive)),
        ] {
            let path = RelPath::parse(name).unwrap();
            assert_eq!(ContentKind::of(&path, bytes.as_bytes()), kind, "{name} {bytes}");
        }
    }

    #[test]
    fn what_is_no_such_document_is_still_text() {
        let extractor = Extractor { reader: &InProcess::default(), kept: None };
        for (name, bytes) in [("a.srt", "no times here"), ("a.ipynb", "{\"cells\": "), ("b.ipynb", "{}")] {
            let path = RelPath::parse(name).unwrap();
            let kind = ContentKind::of(&path, bytes.as_bytes());
            let hash = ContentHash([0; 32]);
            let read = extractor.text(&path, kind, bytes.as_bytes().to_vec(), &hash).unwrap();
            assert_eq!((read.text.as_str(), read.extraction.is_none()), (bytes, true), "{name}");
        }
    }
}
