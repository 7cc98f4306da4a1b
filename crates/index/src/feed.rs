//! One thread's share of a commit: chunks into a lexical segment, and into vectors.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::LocalEmbedder;

use crate::derive::KINDS;
use crate::error::IndexError;
use crate::lexical::{NewDoc, Slot};
use crate::vector::PendingRow;

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
    pub(crate) panicked: bool,
}

impl Work {
    pub(crate) fn panicked() -> Work {
        Work {
            lexical: Err(IndexError::Lexical { detail: "a thread panicked".to_owned() }),
            rows: Vec::new(),
            panicked: true,
        }
    }
}

pub(crate) fn work(
    mut slot: Option<&mut Slot>,
    items: &[Item<'_>],
    next: &AtomicUsize,
    embedder: Option<&dyn LocalEmbedder>,
    strides: [usize; 2],
) -> Work {
    let mut done = Work { lexical: Ok(()), rows: Vec::new(), panicked: false };
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
            if let Some(embedder) = embedder {
                let wanted = |number: &usize| {
                    items[*number].doc.kind == kind && matches!(items[*number].vector, Want::Embedding)
                };
                let wanted: Vec<usize> = group.clone().filter(wanted).collect();
                let texts: Vec<&str> = wanted.iter().map(|number| items[*number].doc.text).collect();
                for (number, vector) in wanted.into_iter().zip(embedder.embed(kind, &texts)) {
                    done.rows.push((number, pending_row(&items[number].doc, &vector, stride)));
                }
            }
            for number in group.clone() {
                if let (true, Want::This(bought)) = (items[number].doc.kind == kind, &items[number].vector) {
                    done.rows.push((number, pending_row(&items[number].doc, bought, stride)));
                }
            }
        }
    }
}

fn pending_row(doc: &NewDoc<'_>, vector: &[f32], stride: usize) -> PendingRow {
    PendingRow::new(doc.doc_id, doc.ordinal, vector, stride)
}
