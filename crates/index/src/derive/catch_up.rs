//! Replaying what a derived index has missed, or all of it into a new one.

use crate::catalog::ReplayRow;
use crate::error::IndexError;
use crate::feed::{Item, Want};
use crate::lexical::{Lexical, LexicalView, NewDoc, Verify, kind_index};

use super::{DAMAGED_DIR, Derived, RepairReport, Repaired, State, embeds_now};

impl Derived {
    /// Replays what derived indices have missed, in one pass over the catalog.
    pub(super) fn catch_up(&mut self, progress: &dyn Fn(u64, u64)) -> Result<RepairReport, IndexError> {
        let mut report = RepairReport::default();
        if !self.needs_repair() {
            return Ok(report);
        }
        let lexical_from = self.start_lexical(&mut report)?;
        let vectors_from = [
            self.start_vectors(0, &mut report.text_vectors)?,
            self.start_vectors(1, &mut report.code_vectors)?,
        ];
        let starts = [lexical_from, vectors_from[0], vectors_from[1]];
        let Some(after) = starts.iter().flatten().min().copied() else { return Ok(report) };
        let total = self.catalog.changed_since(after)?;
        progress(0, total);
        if starts.iter().flatten().any(|start| *start > 0) {
            self.replay_removals(lexical_from, vectors_from)?;
        }
        let mut done = 0;
        let mut fed_to = [0u64; 3];
        let catalog = self.catalog.clone();
        catalog.replay(after, |rows| {
            let items = self.replay_items(rows, lexical_from, vectors_from)?;
            for item in &items {
                fed_to[0] += u64::from(item.to_lexical);
                let vectors = kind_index(item.doc.kind);
                if vectors_from[vectors].is_some_and(|from| item.doc.generation > from) {
                    self.vectors[vectors].writer.change(item.doc.id, Some(item.doc.kind));
                    fed_to[1 + vectors] += 1;
                }
            }
            self.feed(&items);
            for (side, from) in self.vectors.iter_mut().zip(vectors_from) {
                if let (true, Some(from)) = (side.writer.is_full(), from) {
                    // Not complete yet: a crash now must replay from the same commit again.
                    side.writer.commit(from)?;
                }
            }
            done += rows.len() as u64;
            progress(done.min(total), total);
            Ok(())
        })?;
        if lexical_from.is_some() {
            if self.lexical.writer.is_none() {
                return Err(self.lexical.failure());
            }
            self.lexical.state = State::Current;
            self.lexical.dirty = true;
        }
        for (side, from) in self.vectors.iter_mut().zip(vectors_from) {
            if from.is_some() {
                side.state = State::Current;
            }
        }
        for (repaired, fed) in
            [&mut report.lexical, &mut report.text_vectors, &mut report.code_vectors].into_iter().zip(fed_to)
        {
            match repaired {
                Repaired::Nothing => {}
                Repaired::Replayed { chunks } | Repaired::Rebuilt { chunks, .. } => *chunks = fed,
            }
        }
        progress(total, total);
        Ok(report)
    }

    /// Prepares the lexical index for a replay. Returns the commit after which it begins.
    fn start_lexical(&mut self, report: &mut RepairReport) -> Result<Option<u64>, IndexError> {
        let side = &mut self.lexical;
        if side.state == State::Behind {
            // What the last commit holds must be read from it: a failure may have come after it succeeded.
            side.writer = None;
            let loaded = Lexical::open(&side.dir, &self.corpus).and_then(|opened| {
                let view = LexicalView::load(&opened, Some(&side.view), Verify::Nothing)?;
                Ok((opened, view))
            });
            match loaded {
                Ok((opened, view)) => {
                    side.opened = Some(opened);
                    side.view = view;
                }
                Err(error) => side.state = State::Broken(error.to_string()),
            }
        }
        let from = match &side.state {
            State::Current => return Ok(None),
            State::Behind => {
                report.lexical = Repaired::Replayed { chunks: 0 };
                side.view.generation
            }
            State::Broken(reason) => {
                tracing::warn!(reason, "the lexical index is rebuilt");
                report.lexical = Repaired::Rebuilt { chunks: 0, reason: reason.clone() };
                side.writer = None;
                side.opened = None;
                let away = self.dir.join(DAMAGED_DIR);
                let _ = std::fs::remove_dir_all(&away);
                match std::fs::rename(&side.dir, &away) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(IndexError::io(&side.dir, error));
                    }
                    _ => {}
                }
                side.opened = Some(Lexical::create(&side.dir, &self.corpus)?);
                // A crash from here on finds an empty index, which is only behind.
                side.view = LexicalView::default();
                side.state = State::Behind;
                0
            }
        };
        if !self.lexical.has_writer() {
            return Err(self.lexical.failure());
        }
        Ok(Some(from))
    }

    fn start_vectors(&mut self, number: usize, report: &mut Repaired) -> Result<Option<u64>, IndexError> {
        let side = &mut self.vectors[number];
        match &side.state {
            State::Current => Ok(None),
            State::Behind => {
                *report = Repaired::Replayed { chunks: 0 };
                side.writer.forget();
                Ok(Some(side.writer.generation()))
            }
            State::Broken(reason) => {
                tracing::warn!(reason, kind = %side.kind, "the vector index is rebuilt");
                *report = Repaired::Rebuilt { chunks: 0, reason: reason.clone() };
                side.writer.start_over()?;
                side.state = State::Behind;
                if embeds_now(&self.embedding, side.kind) {
                    self.catalog.mark_all_embedded(side.kind)?;
                } else {
                    self.catalog.mark_failed_pending(side.kind)?;
                }
                Ok(Some(0))
            }
        }
    }

    /// Tells what is to be replayed about everything that changed, tombstones included.
    fn replay_removals(
        &mut self,
        lexical_from: Option<u64>,
        vectors_from: [Option<u64>; 2],
    ) -> Result<(), IndexError> {
        let starts = [lexical_from, vectors_from[0], vectors_from[1]];
        let Some(after) = starts.iter().flatten().filter(|start| **start > 0).min() else { return Ok(()) };
        for change in self.catalog.changes(*after)? {
            if let (Some(writer), Some(from @ 1..)) = (&mut self.lexical.writer, lexical_from)
                && change.generation > from
            {
                writer.remove(change.id, change.generation);
            }
            for (side, from) in self.vectors.iter_mut().zip(vectors_from) {
                if let Some(from @ 1..) = from
                    && change.generation > from
                {
                    side.writer.change(change.id, change.now);
                }
            }
        }
        Ok(())
    }

    fn replay_items<'a>(
        &self,
        rows: &'a [ReplayRow],
        lexical_from: Option<u64>,
        vectors_from: [Option<u64>; 2],
    ) -> Result<Vec<Item<'a>>, IndexError> {
        let mut items = Vec::with_capacity(rows.len());
        let mut lost = Vec::new();
        for row in rows {
            let mut vector = Want::Nothing;
            if vectors_from[kind_index(row.kind)].is_some_and(|from| row.generation > from) {
                if embeds_now(&self.embedding, row.kind) {
                    vector = Want::Embedding;
                } else if row.embedded {
                    let (model, dimensions) =
                        (self.embedding.model(row.kind), self.embedding.dimensions(row.kind));
                    match self.catalog.bought_vector(model, &row.text_hash)? {
                        Some(bought) if bought.len() == dimensions => vector = Want::This(bought),
                        _ => lost.push(row.id),
                    }
                }
            }
            items.push(Item {
                doc: NewDoc {
                    id: row.id,
                    doc_id: row.doc_id,
                    ordinal: row.ordinal,
                    kind: row.kind,
                    generation: row.generation,
                    path: &row.path,
                    beside: &row.beside,
                    text: &row.text,
                },
                to_lexical: lexical_from.is_some_and(|from| row.generation > from),
                vector,
            });
        }
        if !lost.is_empty() {
            self.catalog.mark_pending(&lost)?;
        }
        Ok(items)
    }
}
