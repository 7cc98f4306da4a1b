//! Makes the record of a document: from the index what was put there, and from the file what opening shows of it now, which must
//! be of the same content.

use filestore::StorePath;
use filestore::publication::{MAX_BODY_BYTES, ManifestEntry, PublishedChange};
use index::DocumentPrint;
use ingest::Unshown;
use model::{ContentHash, DocStatus, RelPath, SourceType};

use super::record::{self, Facts, Opened, ReadingPart, RecordedRefusal, Shown};
use crate::shared::SharedEngine;

/// What ends the path of a file that holds the text of a document that is no text itself.
const EXTRACTED: &str = ".extracted.txt";

/// A difference between the folder and the project.
pub(super) enum Difference {
    /// The body has to be sent, or only the facts where that is the same.
    Changed {
        print: DocumentPrint,
        known: Option<ManifestEntry>,
    },
    Gone(ManifestEntry),
}

/// A document that is ready to be sent.
pub(super) struct Ready {
    pub(super) change: PublishedChange,
    /// Its text as a file of the project: the path and the content to be written.
    pub(super) file: Option<(String, Vec<u8>)>,
    /// Files that are no longer to be there.
    pub(super) stale: Vec<String>,
    /// Why it cannot be read as a file.
    pub(super) no_file: Option<String>,
}

/// Why a document is not sent now.
pub(super) enum Unsent {
    /// It is not what the index says of it: it has to be indexed again.
    Moved(String),
    Because(String, String),
}

/// Makes the record of a document.
pub(super) fn prepare(shared: &SharedEngine, difference: Difference) -> Result<Ready, Unsent> {
    let (print, known) = match difference {
        Difference::Gone(entry) => {
            let stale = file_of(&entry).into_iter().collect();
            let change = PublishedChange::Remove { path: entry.path };
            return Ok(Ready { change, file: None, stale, no_file: None });
        }
        Difference::Changed { print, known } => (print, known),
    };
    let body_digest = record::body_digest(&print);
    let known_file = known.as_ref().and_then(file_of);
    let path = print.document.path.clone();
    if known.as_ref().is_some_and(|known| known.body_digest == body_digest) {
        let facts = Facts::of(&print.document).with_file(known_file).written();
        let change = PublishedChange::Put { path, facts, body_digest, body: None };
        return Ok(Ready { change, file: None, stale: Vec::new(), no_file: None });
    }
    let reading = reading(shared, &print)?;
    let index = shared.index();
    let unread = |error: index::IndexError| Unsent::Because(path.clone(), error.to_string());
    let representations = index.stored_representations(&path).map_err(unread)?;
    let mut expected = print.representations.iter().map(|rep| rep.rep_hash).collect::<Vec<_>>();
    let mut found: Vec<[u8; 16]> = representations
        .iter()
        .map(|rep| {
            let mut short = [0; 16];
            short.copy_from_slice(&rep.rep_hash.0[..16]);
            short
        })
        .collect();
    expected.sort_unstable();
    found.sort_unstable();
    if expected != found {
        return Err(Unsent::Moved(path));
    }
    let (file, no_file) = match text_of(&reading).map(|(content, is_extracted)| {
        let target = format!("/{path}{}", if is_extracted { EXTRACTED } else { "" });
        (StorePath::parse_file(&target).map(|_| target), content)
    }) {
        None => (None, None),
        Some((Ok(target), content)) => (Some((target, content.into_bytes())), None),
        Some((Err(failure), _)) => (None, Some(failure.message)),
    };
    let target = file.as_ref().map(|(target, _)| target.clone());
    let stale = known_file.filter(|known| Some(known) != target.as_ref()).into_iter().collect();
    let body = record::body(representations, &reading)
        .map_err(|error| Unsent::Because(path.clone(), error.to_string()))?;
    if body.len() > MAX_BODY_BYTES {
        let why = format!("its record has {} bytes, more than {MAX_BODY_BYTES}", body.len());
        return Err(Unsent::Because(path, why));
    }
    let facts = Facts::of(&print.document).with_file(target).written();
    let change = PublishedChange::Put { path, facts, body_digest, body: Some(body) };
    Ok(Ready { change, file, stale, no_file })
}

/// What opening shows of a document now. It must be of the content that was indexed.
fn reading(shared: &SharedEngine, print: &DocumentPrint) -> Result<ReadingPart, Unsent> {
    let document = &print.document;
    let moved = || Unsent::Moved(document.path.clone());
    let index = shared.index();
    let Ok(path) = RelPath::from_walk(&document.path) else {
        let refusal = RecordedRefusal::of(&policy::path_failure(&model::PathError::Nul));
        return Ok(ReadingPart { opened: Opened::Refused(refusal), shown: Shown::Missing });
    };
    let opened = match shared.origin.whole(&index, &path) {
        Ok(whole) if document.content_hash.is_some_and(|indexed| indexed != whole.content_hash) => {
            return Err(moved());
        }
        Ok(whole) => match &document.reason {
            None => Opened::of(whole),
            // What is not indexed is not published: a setting leaves it out.
            Some(reason) => Opened::Refused(RecordedRefusal::of(&reason.failure(path.as_str()))),
        },
        // An archive has no text of its own; its members have.
        Err(_) if document.status() == DocStatus::Ok && !print.representations.is_empty() => {
            return Err(moved());
        }
        Err(failure) => Opened::Refused(RecordedRefusal::of(&failure)),
    };
    let shown = match document.source {
        SourceType::ArchiveMember => Shown::Missing,
        SourceType::File => {
            let limit = shared.guard.policy().max_bytes(document.doc_type);
            match shared.origin.text(&index, &path, limit) {
                Ok(read) if document.content_hash.is_some_and(|indexed| indexed != read.content_hash) => {
                    return Err(moved());
                }
                Ok(_) if document.status() != DocStatus::Ok => Shown::NotText,
                Ok(read) => match &opened {
                    Opened::Text { text: Some(text), .. } if *text == read.text => Shown::Same,
                    _ => Shown::Text(read.text),
                },
                Err(Unshown::NotText) => Shown::NotText,
                Err(Unshown::Secret(failure)) => Shown::Secret(RecordedRefusal::of(&failure)),
                Err(Unshown::Open(policy::OpenError::TooLarge { .. })) => Shown::TooLarge,
                Err(Unshown::Open(_)) => Shown::Missing,
            }
        }
    };
    Ok(ReadingPart { opened, shown })
}

/// The text that the project's files have of a document: that of the file itself, or what was extracted from it.
fn text_of(reading: &ReadingPart) -> Option<(String, bool)> {
    match (&reading.shown, &reading.opened) {
        (Shown::Text(text), _) | (Shown::Same, Opened::Text { text: Some(text), .. }) => {
            Some((text.clone(), false))
        }
        (Shown::NotText | Shown::TooLarge | Shown::Missing, Opened::Text { .. }) => {
            let is_plain = matches!(&reading.opened, Opened::Text { extraction: None, .. });
            let whole = reading.opened.clone().whole(ContentHash([0; 32])).ok()?;
            // The text of a member of an archive is its own.
            Some((whole.text, !is_plain))
        }
        _ => None,
    }
}

pub(super) fn is_same(print: &DocumentPrint, known: &ManifestEntry) -> bool {
    let facts = Facts::of(&print.document).with_file(file_of(known));
    known.facts == facts.written() && known.body_digest == record::body_digest(print)
}

fn file_of(entry: &ManifestEntry) -> Option<String> {
    Facts::read(&entry.path, &entry.facts).ok()?.file
}
