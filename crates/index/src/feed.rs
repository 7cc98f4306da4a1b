//! One thread's share of a commit: chunks into a lexical segment, and into vectors.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::{ChunkId, Embedder, IndexKind};

use crate::derive::KINDS;
use crate::error::IndexError;
use crate::lexical::{NewDoc, Slot};
use crate::vector::{self, PendingRow};

/// Chunks that a thread takes at a time: neighbours share their path and are embedded together.
const GROUP: usize = 16;

/// A chunk on its way into the derived indices.
pub(crate) struct Item<'a> {
    pub(crate) doc: NewDoc<'a>,
    pub(crate) to_lexical: bool,
    pub(crate) vector: Want,
}

pub(crate) enum Want {
    Nothing,
    Embedding,
    /// Bought earlier.
    This(Vec<f32>),
}

/// What one thread did.
pub(crate) struct Work {
    pub(crate) lexical: Result<(), IndexError>,
    pub(crate) rows: Vec<(usize, PendingRow)>,
    pub(crate) failed: Vec<(ChunkId, String)>,
    pub(crate) panicked: bool,
}

impl Work {
    pub(crate) fn panicked() -> Work {
        Work {
            lexical: Err(IndexError::Lexical { detail: "a thread panicked".to_owned() }),
            rows: Vec::new(),
            failed: Vec::new(),
            panicked: true,
        }
    }
}

pub(crate) fn work(
    mut slot: Option<&mut Slot>,
    items: &[Item<'_>],
    next: &AtomicUsize,
    embedder: &dyn Embedder,
    strides: [usize; 2],
) -> Work {
    let mut done = Work { lexical: Ok(()), rows: Vec::new(), failed: Vec::new(), panicked: false };
    loop {
        let start = next.fetch_add(GROUP, Ordering::Relaxed);
        if start >= items.len() {
            return done;
        }
        let group = start..items.len().min(start + GROUP);
        if let (Some(slot), Ok(())) = (&mut slot, &done.lexical) {
            let added = items[group.clone()]
                .iter()
                .filter(|item| item.to_lexical)
                .try_for_each(|item| slot.add(&item.doc));
            done.lexical = added;
        }
        for (kind, stride) in KINDS.into_iter().zip(strides) {
            let wanted: Vec<usize> = group
                .clone()
                .filter(|number| {
                    items[*number].doc.kind == kind && matches!(items[*number].vector, Want::Embedding)
                })
                .collect();
            embed(items, &wanted, kind, stride, embedder, &mut done);
            for number in group.clone() {
                if let (true, Want::This(bought)) = (items[number].doc.kind == kind, &items[number].vector) {
                    done.rows.push((number, pending_row(&items[number].doc, bought, stride)));
                }
            }
        }
    }
}

/// Embeds some chunks together, and one by one if that fails, to know which of them it was.
fn embed(
    items: &[Item<'_>],
    wanted: &[usize],
    kind: IndexKind,
    stride: usize,
    embedder: &dyn Embedder,
    done: &mut Work,
) {
    if wanted.is_empty() {
        return;
    }
    let texts: Vec<&str> = wanted.iter().map(|number| items[*number].doc.text).collect();
    match embed_checked(embedder, kind, &texts) {
        Ok(vectors) => {
            for (number, vector) in wanted.iter().zip(vectors) {
                done.rows.push((*number, pending_row(&items[*number].doc, &vector, stride)));
            }
        }
        Err(error) if wanted.len() == 1 => done.failed.push((items[wanted[0]].doc.id, error)),
        Err(_) => {
            for number in wanted {
                embed(items, &[*number], kind, stride, embedder, done);
            }
        }
    }
}

/// Embeds and makes sure that every vector is there and has its size.
pub(crate) fn embed_checked(
    embedder: &dyn Embedder,
    kind: IndexKind,
    texts: &[&str],
) -> Result<Vec<Vec<f32>>, String> {
    let vectors = embedder.embed(kind, texts).map_err(|error| error.to_string())?;
    let dimensions = embedder.dimensions(kind);
    if vectors.len() != texts.len() || vectors.iter().any(|vector| vector.len() != dimensions) {
        return Err("the embedder returned vectors of another number or size".to_owned());
    }
    Ok(vectors)
}

fn pending_row(doc: &NewDoc<'_>, vector: &[f32], stride: usize) -> PendingRow {
    let mut bytes = Vec::with_capacity(stride);
    let scale = vector::quantize(vector, stride, &mut bytes);
    PendingRow { doc: doc.doc_id as u32, ordinal: doc.ordinal, scale, vector: bytes.into_boxed_slice() }
}
