//! What files declare and use: of one file at once, and of all files in the background, for questions across files.
//!
//! Outlines are made after the texts can be found, not with them: parsing takes as long as all the rest of indexing,
//! and most questions do not need it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use index::{Index, Unoutlined};
use lang::{Language, OutlineLimits, ParsedSource};
use model::{ContentHash, Definition, DocId, Outline, RelPath, Uses};

use crate::IngestError;
use crate::text::{FileText, Unshown};

/// Documents whose outlines become durable together.
const BATCH: usize = 256;

/// The structure of a source text; `None` for a text in no language that has one.
pub fn structure(path: &str, text: &str) -> Option<ParsedSource> {
    let language = Language::detect(path, text)?;
    Some(lang::parse(language, text, &OutlineLimits::default()))
}

/// The languages that have outlines, by name.
pub fn languages() -> Vec<&'static str> {
    Language::ALL.iter().map(|language| language.name()).collect()
}

/// The extensions of programming languages and of markup that outlines know, without dots.
pub fn extensions() -> impl Iterator<Item = &'static str> {
    Language::ALL.iter().flat_map(|language| language.extensions())
}

/// The part that the index keeps.
pub fn summary(parsed: &ParsedSource) -> Outline {
    let definitions = parsed
        .symbols
        .iter()
        .map(|symbol| Definition {
            kind: symbol.kind,
            qualified: symbol.qualified.clone(),
            signature: symbol.signature.clone(),
            start_line: symbol.start_line,
            end_line: symbol.end_line,
            scope_kind: symbol.scope_kind,
        })
        .collect();
    let mut uses: BTreeMap<(&str, Option<&str>, &str), (model::ReferenceKind, BTreeSet<u32>)> =
        BTreeMap::new();
    for each in &parsed.references {
        let key = (each.name.as_str(), each.qualifier.as_deref(), each.kind.as_str());
        uses.entry(key).or_insert_with(|| (each.kind, BTreeSet::new())).1.insert(each.line);
    }
    let uses = uses
        .into_iter()
        .map(|((name, qualifier, _), (kind, lines))| Uses {
            name: name.to_owned(),
            qualifier: qualifier.map(str::to_owned),
            kind,
            lines: lines.into_iter().collect(),
        })
        .collect();
    Outline { definitions, uses }
}

/// Gives the text of a file that has at most so many bytes.
pub type ReadText<'a> = dyn Fn(&RelPath, u64) -> Result<FileText, Unshown> + Sync + 'a;

/// Makes the outlines that are missing. What changes meanwhile is left to the next pass.
pub fn outline_all(
    read: &ReadText<'_>,
    index: &Index,
    threads: usize,
    cancel: &AtomicBool,
) -> Result<u64, IngestError> {
    index.outline_by(lang::RULES)?;
    let generation = index.generation();
    if index.outlined_up_to()? >= generation {
        return Ok(0);
    }
    let mut made = 0;
    let mut after = DocId(0);
    loop {
        let batch = index.unoutlined(after, BATCH)?;
        let Some(last) = batch.last() else { break };
        after = last.doc_id;
        let outlines = make_batch(&batch, threads, cancel, |document| outline_of(read, document));
        if cancel.load(Ordering::Relaxed) {
            return Err(IngestError::Cancelled);
        }
        index.put_outlines(&outlines)?;
        made += outlines.len() as u64;
    }
    index.set_outlined_up_to(generation)?;
    Ok(made)
}

/// What `make` makes of each of these documents, by several threads, in the order of their numbers.
pub(crate) fn make_batch<T: Send>(
    batch: &[Unoutlined],
    threads: usize,
    cancel: &AtomicBool,
    make: impl Fn(&Unoutlined) -> Option<T> + Sync,
) -> Vec<(DocId, ContentHash, T)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(batch.len()));
    let work = || {
        while let Some(document) = batch.get(next.fetch_add(1, Ordering::Relaxed)) {
            if cancel.load(Ordering::Relaxed) {
                return;
            }
            if let Some(made) = make(document) {
                let row = (document.doc_id, document.content_hash, made);
                done.lock().unwrap_or_else(PoisonError::into_inner).push(row);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, batch.len()) {
            // Where the system grants no further thread, this one does it all.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(doc, ..)| *doc);
    done
}

fn outline_of(read: &ReadText<'_>, document: &Unoutlined) -> Option<Outline> {
    let text = indexed_text(read, document)?;
    structure(&document.path, &text).as_ref().map(summary)
}

/// The text of a file, if it is the one that is indexed: another will be looked at when that one is.
pub(crate) fn indexed_text(read: &ReadText<'_>, document: &Unoutlined) -> Option<String> {
    let path = RelPath::from_walk(&document.path).ok()?;
    let read = read(&path, OutlineLimits::default().max_bytes as u64).ok()?;
    (read.content_hash == document.content_hash).then_some(read.text)
}
