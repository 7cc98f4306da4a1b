//! Facts about the declarations of all files, for filters: made once somebody asks for them, once for each content.

use std::sync::atomic::{AtomicBool, Ordering};

use index::Index;
use lang::{Language, OutlineLimits};
use model::{DocId, FileFacts};

use crate::IngestError;
use crate::outline::{ReadText, indexed_text, make_batch};

/// Documents whose facts become durable together.
const BATCH: usize = 256;

/// The facts of a source text; `None` for a text in no language that has any.
pub fn facts_of(path: &str, text: &str) -> Option<FileFacts> {
    let language = Language::detect(path, text)?;
    Some(lang::facts(language, text, &OutlineLimits::default()))
}

/// Makes the facts that are missing, and counts them. What changes meanwhile is left to the next pass.
pub fn facts_all(
    read: &ReadText<'_>,
    index: &Index,
    threads: usize,
    cancel: &AtomicBool,
    report: &dyn Fn(u64),
) -> Result<u64, IngestError> {
    index.facts_by(lang::FACT_RULES)?;
    let generation = index.generation();
    if index.facts_up_to()? >= generation {
        return Ok(0);
    }
    let mut made = 0;
    let mut after = DocId(0);
    loop {
        let batch = index.without_facts(after, BATCH)?;
        let Some(last) = batch.last() else { break };
        after = last.doc_id;
        let facts = make_batch(&batch, threads, cancel, |document| {
            facts_of(&document.path, &indexed_text(read, document)?)
        });
        if cancel.load(Ordering::Relaxed) {
            return Err(IngestError::Cancelled);
        }
        index.put_facts(&facts)?;
        made += facts.len() as u64;
        report(made);
    }
    index.set_facts_up_to(generation)?;
    Ok(made)
}
