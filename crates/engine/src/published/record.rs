//! A document as it is carried: its facts as JSON, and its body in two parts, each compressed JSON. The first is what the index
//! is given, the second what opening shows; a server that opens a file unpacks the second alone.

use extract::Extraction;
use index::DocumentPrint;
use model::{
    Chunk, ChunkId, ContentHash, DocType, Document, ErrorCode, Failure, Heading, IndexKind, Pointer, RepType,
    Representation, SkipReason, SourceType, Span, UnreadParts,
};
use serde::{Deserialize, Serialize};

use crate::open_file::Whole;

/// Raised whenever an older program would misread a record, or a newer one needs what an older one did not write. Bodies of
/// another format are sent again.
pub const FORMAT: u32 = 1;

/// Texts repeat between the two parts and within them: compressing harder than this takes longer and gains little.
const LEVEL: i32 = 3;

/// More than any body can hold: a few bytes must not unpack to all of the memory.
const MAX_PART_BYTES: usize = 1 << 30;

/// All that is known of a document but its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    source: SourceType,
    doc_type: DocType,
    size: u64,
    mtime_ns: i64,
    content_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<SkipReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Unread>,
    /// Where its text can be read as a file of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unread {
    Pages(Vec<u32>),
    Speech,
}

impl Facts {
    pub(super) fn of(document: &Document) -> Facts {
        Facts {
            source: document.source,
            doc_type: document.doc_type,
            size: document.size,
            mtime_ns: document.mtime_ns,
            content_hash: document.content_hash.map(ContentHash::to_hex),
            reason: document.reason.clone(),
            unread: document.unread.as_ref().map(|unread| match unread {
                UnreadParts::Pages(pages) => Unread::Pages(pages.clone()),
                UnreadParts::Speech => Unread::Speech,
            }),
            file: None,
        }
    }

    pub(super) fn with_file(self, file: Option<String>) -> Facts {
        Facts { file, ..self }
    }

    pub(super) fn written(&self) -> String {
        // Writing plain values into memory does not fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn read(path: &str, written: &str) -> Result<Facts, Failure> {
        serde_json::from_str(written).map_err(|_| unreadable(path))
    }

    pub(super) fn document(self, path: &str) -> Document {
        Document {
            path: path.to_owned(),
            source: self.source,
            doc_type: self.doc_type,
            size: self.size,
            mtime_ns: self.mtime_ns,
            inode: 0,
            content_hash: self.content_hash.as_deref().and_then(ContentHash::from_hex),
            reason: self.reason,
            unread: self.unread.map(|unread| match unread {
                Unread::Pages(pages) => UnreadParts::Pages(pages),
                Unread::Speech => UnreadParts::Speech,
            }),
        }
    }
}

/// What tells the body of a document from others. It is made without reading a text, so that a folder that has not changed is
/// compared in a moment.
pub(super) fn body_digest(print: &DocumentPrint) -> ContentHash {
    let DocumentPrint { document, representations } = print;
    let mut digest = blake3::Hasher::new();
    let mut field = |bytes: &[u8]| {
        digest.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    field(b"published body");
    field(&FORMAT.to_le_bytes());
    // Size and time alone do not change what is read.
    let facts = Facts { size: 0, mtime_ns: 0, ..Facts::of(document) };
    field(facts.written().as_bytes());
    for rep in representations {
        field(rep.rep_type.as_str().as_bytes());
        field(&rep.rep_hash);
        field(rep.meta_json.as_bytes());
    }
    ContentHash(*digest.finalize().as_bytes())
}

/// What the index is given.
#[derive(Debug, Serialize, Deserialize)]
struct IndexPart {
    representations: Vec<RepresentationRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RepresentationRecord {
    rep_type: RepType,
    rep_hash: String,
    meta_json: String,
    chunks: Vec<ChunkRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ChunkRecord {
    id: ChunkId,
    ordinal: u32,
    span: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pointer: Option<Pointer>,
    #[serde(default, skip_serializing_if = "Heading::is_empty")]
    heading: Heading,
    kind: IndexKind,
    tokens_est: u32,
    text: String,
}

/// What opening shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadingPart {
    pub(super) opened: Opened,
    pub(super) shown: Shown,
}

/// What the `dir2mcp` tools show of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Opened {
    Text {
        doc_type: DocType,
        rep_type: RepType,
        /// Absent where it is the text of the extraction.
        text: Option<String>,
        extraction: Option<Extraction>,
        annotation: String,
    },
    Refused(RecordedRefusal),
}

/// What the tools show that show files by their lines, whatever was extracted from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shown {
    /// The same text as [`Opened::Text`].
    Same,
    Text(String),
    NotText,
    TooLarge,
    Secret(RecordedRefusal),
    /// There is no such file: it is a member of an archive.
    Missing,
}

/// A failure as it was told when the document was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedRefusal {
    code: String,
    message: String,
    hint: Option<String>,
}

impl RecordedRefusal {
    pub(super) fn of(failure: &Failure) -> RecordedRefusal {
        let code = failure.code.as_str().to_owned();
        RecordedRefusal { code, message: failure.message.clone(), hint: failure.hint.clone() }
    }

    pub(super) fn failure(self) -> Failure {
        let code = ErrorCode::parse(&self.code).unwrap_or(ErrorCode::ExtractFailed);
        let failure = Failure::new(code, self.message);
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl Opened {
    pub(super) fn of(whole: Whole) -> Opened {
        let Whole { doc_type, rep_type, text, extraction, annotation, .. } = whole;
        let is_joined = extraction.as_ref().is_some_and(|all| all.joined() == text);
        Opened::Text { doc_type, rep_type, text: (!is_joined).then_some(text), extraction, annotation }
    }

    pub(super) fn whole(self, content_hash: ContentHash) -> Result<Whole, Failure> {
        match self {
            Opened::Refused(refusal) => Err(refusal.failure()),
            Opened::Text { doc_type, rep_type, text, extraction, annotation } => {
                let joined = || extraction.as_ref().map(Extraction::joined).unwrap_or_default();
                let text = text.unwrap_or_else(joined);
                Ok(Whole { doc_type, rep_type, text, content_hash, extraction, annotation })
            }
        }
    }
}

/// Packs a body.
pub(super) fn body(representations: Vec<Representation>, reading: &ReadingPart) -> std::io::Result<Vec<u8>> {
    let rep = |rep: Representation| RepresentationRecord {
        rep_type: rep.rep_type,
        rep_hash: rep.rep_hash.to_hex(),
        meta_json: rep.meta_json,
        chunks: rep.chunks.into_iter().map(chunk_record).collect(),
    };
    let index = IndexPart { representations: representations.into_iter().map(rep).collect() };
    let (index, reading) = (packed(&index)?, packed(reading)?);
    let mut body = Vec::with_capacity(4 + index.len() + reading.len());
    body.extend_from_slice(&u32::try_from(index.len()).map_err(std::io::Error::other)?.to_be_bytes());
    body.extend_from_slice(&index);
    body.extend_from_slice(&reading);
    Ok(body)
}

pub(super) fn representations(path: &str, body: &[u8]) -> Result<Vec<Representation>, Failure> {
    let (index, _) = parts(path, body)?;
    let index: IndexPart = unpacked(path, index)?;
    let rep = |rep: RepresentationRecord| Representation {
        rep_type: rep.rep_type,
        rep_hash: ContentHash::from_hex(&rep.rep_hash).unwrap_or(ContentHash([0; 32])),
        meta_json: rep.meta_json,
        chunks: rep.chunks.into_iter().map(chunk).collect(),
        produced: None,
    };
    Ok(index.representations.into_iter().map(rep).collect())
}

pub(super) fn reading(path: &str, body: &[u8]) -> Result<ReadingPart, Failure> {
    let (_, reading) = parts(path, body)?;
    unpacked(path, reading)
}

fn chunk_record(chunk: Chunk) -> ChunkRecord {
    let Chunk { id, ordinal, span, pointer, heading, kind, text, tokens_est, .. } = chunk;
    ChunkRecord { id, ordinal, span, pointer, heading, kind, tokens_est, text }
}

fn chunk(record: ChunkRecord) -> Chunk {
    let ChunkRecord { id, ordinal, span, pointer, heading, kind, tokens_est, text } = record;
    let text_hash = ContentHash(*blake3::hash(text.as_bytes()).as_bytes());
    Chunk { id, ordinal, span, pointer, heading, kind, text, text_hash, tokens_est }
}

fn parts<'a>(path: &str, body: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Failure> {
    let cut = || {
        let (length, rest) = body.split_first_chunk::<4>()?;
        rest.split_at_checked(u32::from_be_bytes(*length) as usize)
    };
    cut().ok_or_else(|| unreadable(path))
}

fn packed(value: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let json = serde_json::to_vec(value)?;
    let mut packer = zstd::bulk::Compressor::new(LEVEL)?;
    packer.include_checksum(true)?;
    packer.compress(&json)
}

fn unpacked<T: for<'de> Deserialize<'de>>(path: &str, packed: &[u8]) -> Result<T, Failure> {
    let length = zstd::bulk::Decompressor::upper_bound(packed).filter(|length| *length <= MAX_PART_BYTES);
    let json = length.and_then(|length| zstd::bulk::decompress(packed, length).ok());
    json.and_then(|json| serde_json::from_slice(&json).ok()).ok_or_else(|| unreadable(path))
}

fn unreadable(path: &str) -> Failure {
    Failure::new(ErrorCode::StoreCorrupt, format!("the published record of {path} cannot be read"))
        .hint("Publish the folder again.")
}

#[cfg(test)]
mod tests {
    use index::RepresentationPrint;

    use super::*;

    fn print() -> DocumentPrint {
        let document = Document {
            path: "a.md".to_owned(),
            source: SourceType::File,
            doc_type: DocType::Md,
            size: 5,
            mtime_ns: -7,
            inode: 3,
            content_hash: Some(ContentHash([9; 32])),
            reason: None,
            unread: Some(UnreadParts::Pages(vec![1, 4])),
        };
        let rep =
            RepresentationPrint { rep_type: RepType::RawText, rep_hash: [1; 16], meta_json: "{}".to_owned() };
        DocumentPrint { document, representations: vec![rep] }
    }

    #[test]
    fn facts_come_back_without_the_inode() {
        let document = print().document;
        let written = Facts::of(&document).written();
        let read = Facts::read("a.md", &written).unwrap();
        assert_eq!(read.written(), written);
        assert_eq!(read.document("a.md"), Document { inode: 0, ..document });
        assert!(Facts::read("a.md", "{").is_err());
    }

    #[test]
    fn a_digest_tells_every_text_and_no_time() {
        let same = |change: fn(&mut DocumentPrint)| {
            let mut other = print();
            change(&mut other);
            body_digest(&print()) == body_digest(&other)
        };
        assert!(same(|print| print.document.mtime_ns = 0));
        assert!(same(|print| (print.document.size, print.document.inode) = (1, 1)));
        assert!(!same(|print| print.document.content_hash = None));
        assert!(!same(|print| print.document.reason = Some(SkipReason::Binary)));
        assert!(!same(|print| print.document.unread = None));
        assert!(!same(|print| print.representations[0].rep_hash = [2; 16]));
        assert!(!same(|print| print.representations.clear()));
    }

    #[test]
    fn a_body_comes_back_as_it_was() {
        let text = "größe\n漢";
        let chunk = Chunk {
            id: ChunkId(77),
            ordinal: 2,
            span: Span::Page { page: 3 },
            pointer: Some(Pointer::Page { page: 3 }),
            heading: Heading::default(),
            kind: IndexKind::Code,
            text: text.to_owned(),
            text_hash: ContentHash(*blake3::hash(text.as_bytes()).as_bytes()),
            tokens_est: 4,
        };
        let rep = Representation {
            rep_type: RepType::OcrMarkdown,
            rep_hash: ContentHash([5; 32]),
            meta_json: "{\"a\":1}".to_owned(),
            chunks: vec![chunk.clone()],
            produced: None,
        };
        let refusal = RecordedRefusal::of(&Failure::new(ErrorCode::Forbidden, "no").hint("ask"));
        let read = ReadingPart { opened: Opened::Refused(refusal), shown: Shown::Text(text.to_owned()) };
        let packed = body(vec![rep], &read).unwrap();
        let reps = representations("a", &packed).unwrap();
        assert_eq!((reps[0].rep_type, reps[0].chunks.as_slice()), (RepType::OcrMarkdown, &[chunk][..]));
        assert_eq!(reading("a", &packed).unwrap(), read);
        let Opened::Refused(refusal) = reading("a", &packed).unwrap().opened else { panic!() };
        let failure = refusal.failure();
        assert_eq!((failure.code, failure.hint.as_deref()), (ErrorCode::Forbidden, Some("ask")));
        // Whatever becomes of the bytes, they are never taken for another text.
        for at in 0..packed.len() {
            let mut broken = packed.clone();
            broken[at] ^= 0x10;
            if let (Ok(reps), Ok(part)) = (representations("a", &broken), reading("a", &broken)) {
                assert_eq!((reps[0].chunks[0].text.as_str(), part), (text, read.clone()), "byte {at}");
            }
            let _ = reading("a", &packed[..at]);
        }
    }
}
