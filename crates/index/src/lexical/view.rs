//! The lexical index as one search sees it: segments that never change, and exact numbers over what is alive.

use std::path::Path;
use std::sync::Arc;

use model::IndexKind;
use tantivy::columnar::{Cardinality, ColumnValues};
use tantivy::directory::error::OpenReadError;
use tantivy::index::{SegmentComponent, SegmentId, SegmentMeta};
use tantivy::{InvertedIndexReader, Opstamp, SegmentReader, TantivyError};

use super::gather::Part;
use super::terms::Terms;
use super::{CHUNK, DOC, LENGTH, Lexical, ORDINAL, Payload};
use crate::error::IndexError;

/// How much of the files is checked against their checksums when they are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verify {
    Nothing,
    /// Everything, unless it is more than this many bytes.
    UpTo(u64),
    Everything,
}

/// The writer may remove a segment between our reading the list and opening its files.
const RETRIES: usize = 5;

#[derive(Clone, Default)]
pub(crate) struct LexicalView {
    /// The commit of the catalog that this holds.
    pub(crate) generation: u64,
    pub(crate) segments: Vec<Arc<SegmentView>>,
    /// Live chunks and the sum of their lengths, by kind.
    pub(crate) live: [Live; 2],
    /// The number of each segment's first entry: they run over all segments.
    pub(super) starts: Vec<u32>,
    /// How many entries the segments have, dead ones included.
    pub(crate) entries: usize,
    pub(super) terms: Arc<Terms>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) chunks: u64,
    pub(crate) tokens: u64,
}

pub(crate) struct SegmentView {
    id: SegmentId,
    deletes: Option<Opstamp>,
    body: Arc<InvertedIndexReader>,
    path: Arc<InvertedIndexReader>,
    defines: Arc<InvertedIndexReader>,
    pub(crate) chunks: Arc<dyn ColumnValues<u64>>,
    pub(crate) ordinals: Arc<dyn ColumnValues<u64>>,
    /// The document of each entry.
    pub(crate) docs: Arc<Vec<u32>>,
    /// See [`pack`].
    pub(crate) packed: Vec<u32>,
    live: [Live; 2],
}

/// Bits of a packed entry: alive, kind, and above them the length.
pub(crate) const ALIVE: u32 = 1;
pub(crate) const CODE: u32 = 2;
pub(crate) const LENGTH_SHIFT: u32 = 2;

pub(crate) fn kind_index(kind: IndexKind) -> usize {
    match kind {
        IndexKind::Text => 0,
        IndexKind::Code => 1,
    }
}

impl LexicalView {
    /// Loads the newest commit; segments that `before` has already are shared with it.
    pub(crate) fn load(
        lexical: &Lexical,
        before: Option<&LexicalView>,
        verify: Verify,
    ) -> Result<LexicalView, IndexError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let loaded = unpanicked(|| LexicalView::try_load(lexical, before, verify));
            match loaded {
                Err(TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_))) if tries < RETRIES => {}
                other => return other.map_err(|error| IndexError::lexical(&lexical.dir, error)),
            }
        }
    }

    fn try_load(
        lexical: &Lexical,
        before: Option<&LexicalView>,
        verify: Verify,
    ) -> tantivy::Result<LexicalView> {
        let meta = lexical.index.load_metas()?;
        if meta.schema != lexical.fields.schema {
            return Err(corrupted("it has other fields than expected"));
        }
        let generation = match (&meta.payload, meta.segments.is_empty()) {
            (None, true) => 0,
            (payload, _) => {
                Payload::read(payload.as_deref(), &lexical.corpus)
                    .ok_or_else(|| corrupted("it was made from another corpus, or by another version"))?
                    .generation
            }
        };
        check_files(lexical, &meta.segments, verify)?;
        let mut view = LexicalView { generation, ..LexicalView::default() };
        for segment in &meta.segments {
            let known =
                before.and_then(|before| before.segments.iter().find(|known| known.id == segment.id()));
            let loaded = match known {
                Some(known) if known.deletes == segment.delete_opstamp() => known.clone(),
                known => {
                    Arc::new(SegmentView::load(lexical, segment, known.map(|known| known.docs.clone()))?)
                }
            };
            for (sum, part) in view.live.iter_mut().zip(loaded.live) {
                sum.chunks += part.chunks;
                sum.tokens += part.tokens;
            }
            view.starts.push(view.entries as u32);
            view.entries += loaded.packed.len();
            view.segments.push(loaded);
        }
        Ok(view)
    }
}

impl SegmentView {
    pub(super) fn reader(&self, part: Part) -> &InvertedIndexReader {
        match part {
            Part::Body => &self.body,
            Part::Path => &self.path,
            Part::Defines => &self.defines,
        }
    }

    fn load(
        lexical: &Lexical,
        meta: &SegmentMeta,
        docs: Option<Arc<Vec<u32>>>,
    ) -> tantivy::Result<SegmentView> {
        let reader = SegmentReader::open(&lexical.index.segment(meta.clone()))?;
        let lengths = numbers(&reader, LENGTH)?;
        let docs = match docs {
            Some(docs) => docs,
            None => {
                let docs = numbers(&reader, DOC)?;
                Arc::new((0..reader.max_doc()).map(|entry| docs.get_val(entry) as u32).collect())
            }
        };
        let alive = reader.alive_bitset();
        let mut live = [Live::default(); 2];
        let mut packed = Vec::with_capacity(reader.max_doc() as usize);
        for entry in 0..reader.max_doc() {
            let length = lengths.get_val(entry);
            let is_alive = alive.is_none_or(|alive| alive.is_alive(entry));
            if is_alive {
                let live = &mut live[(length & 1) as usize];
                live.chunks += 1;
                live.tokens += length >> 1;
            }
            packed.push(pack(length, is_alive));
        }
        Ok(SegmentView {
            id: meta.id(),
            deletes: meta.delete_opstamp(),
            body: reader.inverted_index(lexical.fields.body)?,
            path: reader.inverted_index(lexical.fields.path)?,
            defines: reader.inverted_index(lexical.fields.defines)?,
            chunks: numbers(&reader, CHUNK)?,
            ordinals: numbers(&reader, ORDINAL)?,
            docs,
            packed,
            live,
        })
    }
}

/// Everything that scoring asks about an entry, in four bytes: it is looked up for every posting.
fn pack(length: u64, is_alive: bool) -> u32 {
    let tokens = (length >> 1).min(u64::from(u32::MAX >> LENGTH_SHIFT)) as u32;
    (tokens << LENGTH_SHIFT) | ((length & 1) as u32 * CODE) | (u32::from(is_alive) * ALIVE)
}

/// A column with exactly one number for every entry.
pub(super) fn numbers(reader: &SegmentReader, field: &str) -> tantivy::Result<Arc<dyn ColumnValues<u64>>> {
    let column = reader.fast_fields().u64(field)?;
    if column.get_cardinality() != Cardinality::Full || column.values.num_vals() != reader.max_doc() {
        return Err(corrupted("a column does not have one value per entry"));
    }
    Ok(column.values)
}

fn check_files(lexical: &Lexical, segments: &[SegmentMeta], verify: Verify) -> tantivy::Result<()> {
    let limit = match verify {
        Verify::Nothing => return Ok(()),
        Verify::UpTo(limit) => limit,
        Verify::Everything => u64::MAX,
    };
    let mut files = Vec::new();
    let mut bytes = 0u64;
    for segment in segments {
        let mut components = vec![
            SegmentComponent::Terms,
            SegmentComponent::Postings,
            SegmentComponent::FastFields,
            SegmentComponent::FieldNorms,
            SegmentComponent::Store,
        ];
        if segment.has_deletes() {
            components.push(SegmentComponent::Delete);
        }
        for component in components {
            let file = segment.relative_path(component);
            bytes += size(&lexical.dir.join(&file))?;
            files.push(file);
        }
        // Positions are never written, but the file may be there.
        let positions = segment.relative_path(SegmentComponent::Positions);
        if let Ok(size) = size(&lexical.dir.join(&positions)) {
            bytes += size;
            files.push(positions);
        }
    }
    if bytes > limit {
        return Ok(());
    }
    for file in files {
        if !lexical.index.directory().validate_checksum(&file)? {
            return Err(corrupted("the checksum of a file does not match"));
        }
    }
    Ok(())
}

fn size(path: &Path) -> tantivy::Result<u64> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(OpenReadError::FileDoesNotExist(path.to_owned()).into())
        }
        Err(error) => Err(error.into()),
    }
}

fn corrupted(detail: &str) -> TantivyError {
    TantivyError::InternalError(detail.to_owned())
}

/// Tantivy panics on some damaged files; to us that is an error like any other.
pub(super) fn unpanicked<T>(work: impl FnOnce() -> tantivy::Result<T>) -> tantivy::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(corrupted("a file is damaged")))
}
