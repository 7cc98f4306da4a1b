//! What one search sees: everything as of one moment, whatever is written meanwhile.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::filter::{Admit, Verdict};
use model::{ChunkId, DocType, EmbeddingProvider, Generation, IndexKind, Ranked};

use crate::catalog::{Catalog, StoredChunk};
use crate::documents::{Admission, Documents};
use crate::error::IndexError;
use crate::ids::IdSet;
use crate::lexical::{self, Bm25, LexicalQuery, LexicalView, Part, Scratch};
use crate::vector::VectorView;

/// More buffers than this are not kept for later searches.
const IDLE_SCRATCHES: usize = 4;

/// Some megabyte of words.
const MAX_COUNTED: usize = 10_000;

/// Rarer tokens are counted each time, which is quickly done. Most of them are asked for once, and a small piece of memory
/// kept for each of them would lie scattered over all that a burst of questions took, which could then not go back.
const WORTH_REMEMBERING: u64 = 64;

pub struct Snapshot {
    pub(crate) id: u64,
    pub(crate) generation: u64,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) lexical: LexicalView,
    /// Text, then code.
    pub(crate) vectors: [Arc<VectorView>; 2],
    /// Who made them, which is who has to make the vector of a question.
    pub(crate) embedding: [EmbeddingProvider; 2],
    pub(crate) documents: Documents,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counted: Counted,
}

/// A document that holds words of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub path: String,
    /// A bit for each word that occurs in its text or its path.
    pub words: u64,
    /// The chunk with the most of them.
    pub chunk: ChunkId,
}

/// In how many chunks tokens occur, as far as it was asked: counting reads the postings, and the frequent words, which
/// have the most, are asked for again and again.
#[derive(Default)]
pub(crate) struct Counted {
    /// By kind, or for both together; in texts, then in paths.
    by_token: [[Mutex<HashMap<String, u64>>; 2]; 3],
}

impl Counted {
    fn of(&self, kind: Option<IndexKind>, part: Part, token: &str, count: impl FnOnce() -> u64) -> u64 {
        let known = &self.by_token[kind.map_or(2, lexical::kind_index)][usize::from(part == Part::Path)];
        let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(token) {
            return *known;
        }
        let count = count();
        if count < WORTH_REMEMBERING {
            return count;
        }
        let mut known = lock();
        if known.len() >= MAX_COUNTED {
            known.clear();
        }
        known.insert(token.to_owned(), count);
        count
    }

    fn forget(&self) {
        for known in self.by_token.iter().flatten() {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = HashMap::new();
        }
    }
}

/// What all snapshots of an index have in common.
#[derive(Default)]
pub(crate) struct Shared {
    /// A search met a file that could not be read.
    pub(crate) damaged: AtomicBool,
    scratches: Mutex<Vec<Scratch>>,
}

/// The number of the next snapshot, whichever index it is of.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Snapshot {
    /// Gives back what is kept for the next question.
    pub(crate) fn release_idle(&self) {
        self.counted.forget();
        self.shared.scratches.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The commit of the catalog that was the last when the snapshot was made.
    pub fn generation(&self) -> Generation {
        Generation(self.generation)
    }

    /// Another number for every snapshot of this process, also where only a repair came between or the whole index was
    /// built again: fit as the key of a cache.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The best chunks by BM25: by score, then path, then position.
    pub fn lexical(&self, query: &LexicalQuery<'_>) -> Vec<Ranked> {
        self.lexical_with(query, &Bm25::default())
    }

    /// The same with other parameters.
    pub fn lexical_with(&self, query: &LexicalQuery<'_>, bm25: &Bm25) -> Vec<Ranked> {
        let idle = self.shared.scratches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = idle.unwrap_or_default();
        let counts = |part: Part, token: &str, count: &mut dyn FnMut() -> u64| {
            self.counted.of(query.kind, part, token, count)
        };
        let found = lexical::search(&self.lexical, &self.documents, query, bm25, &counts, &mut scratch);
        if found.damaged {
            self.shared.damaged.store(true, Ordering::Release);
        }
        let mut scratches = self.shared.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        if scratches.len() < IDLE_SCRATCHES {
            scratches.push(scratch);
        }
        found.hits
    }

    /// The best chunks by the cosine of their vectors with `query`: by score, then path, then position. After
    /// them come the chunks of `also`, wherever they are.
    pub fn vector(
        &self,
        kind: IndexKind,
        query: &[f32],
        limit: usize,
        also: &[ChunkId],
        admit: Option<&dyn Admit>,
    ) -> Vec<Ranked> {
        let admission = admit.map(|admit| Admission::new(&self.documents, admit, kind));
        let also = also.iter().map(|id| id.0).collect();
        self.vectors[lexical::kind_index(kind)].search(query, limit, &also, admission, &self.documents)
    }

    /// Who made the vectors of a kind: a question has to be embedded by the same. It is not the present embedder while the
    /// vectors of a former one answer.
    pub fn embedding(&self, kind: IndexKind) -> &EmbeddingProvider {
        &self.embedding[lexical::kind_index(kind)]
    }

    /// Whether there is a vector of a kind: a question does not have to be embedded for an index without one.
    pub fn has_vectors(&self, kind: IndexKind) -> bool {
        self.vectors[lexical::kind_index(kind)].rows > 0
    }

    /// The best chunks by vector, found by looking at every one of them: what [`Snapshot::vector`] is measured by.
    pub fn vector_exactly(
        &self,
        kind: IndexKind,
        query: &[f32],
        limit: usize,
        admit: Option<&dyn Admit>,
    ) -> Vec<Ranked> {
        let admission = admit.map(|admit| Admission::new(&self.documents, admit, kind));
        let vectors = &self.vectors[lexical::kind_index(kind)];
        vectors.search_exactly(query, limit, &IdSet::default(), admission, &self.documents)
    }

    /// Reads and makes now what the first search would have to wait for.
    pub(crate) fn warm(&self) {
        self.documents.warm();
        self.vectors.iter().for_each(|vectors| vectors.warm());
    }

    /// The chunks behind hits, in the order asked for, without those that are gone by now.
    pub fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<StoredChunk>, IndexError> {
        self.catalog.chunks(ids)
    }

    /// Path and type of the document behind a hit.
    pub fn document(&self, number: u32) -> Option<(&str, DocType)> {
        self.documents.get(number)
    }

    /// The paths of all documents, searchable or not, in no particular order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.documents.paths()
    }

    /// In how many chunks of a kind a token occurs.
    pub fn holders(&self, kind: IndexKind, token: &str) -> u64 {
        self.counted.of(Some(kind), Part::Body, token, || lexical::holders(&self.lexical, kind, token))
    }

    /// The chunks of a kind that define each of these names, which are given as [`crate::tokens::name_token`] makes
    /// them: one list per name, in no order, without scores.
    pub fn defining(&self, kind: IndexKind, names: &[String]) -> Vec<Vec<Ranked>> {
        lexical::defining(&self.lexical, kind, names)
    }

    /// The paths of all documents whose text holds a token, sorted.
    pub fn files_with(&self, token: &str) -> Vec<String> {
        let documents = lexical::documents_with(&self.lexical, token);
        let mut paths: Vec<String> =
            documents.into_iter().map(|doc| self.documents.path(doc).to_owned()).collect();
        paths.retain(|path| !path.is_empty());
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// The admitted documents that hold at least one of the words, each given in all its forms, sorted by path; without
    /// words, all admitted documents. At most 64 words are told apart.
    pub fn holding(&self, words: &[Vec<String>], admit: &dyn Admit) -> Vec<Holder> {
        let mut admission = Admission::new(&self.documents, admit, IndexKind::Text);
        let mut holders: Vec<Holder> = lexical::holding(&self.lexical, words)
            .into_iter()
            .filter(|(doc, _)| admission.verdict(*doc) != Verdict::Refused)
            .map(|(doc, holding)| Holder {
                path: self.documents.path(doc).to_owned(),
                words: holding.words,
                chunk: ChunkId(holding.chunk),
            })
            .collect();
        holders.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        holders
    }

    /// Whether a chunk holds a token.
    pub fn knows(&self, token: &str) -> bool {
        lexical::knows(&self.lexical, token)
    }

    /// The tokens that are spelled nearly like this one, nearest first.
    pub fn near(&self, token: &str) -> Vec<String> {
        lexical::near(&self.lexical, token)
    }

    /// How many words the chunks of a kind have.
    pub fn live_tokens(&self, kind: IndexKind) -> u64 {
        self.lexical.live[lexical::kind_index(kind)].tokens
    }

    /// How many chunks of a kind can be found.
    pub fn live_chunks(&self, kind: IndexKind) -> u64 {
        self.lexical.live[lexical::kind_index(kind)].chunks
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often the postings were read for two questions about a token in this many chunks, and for one after `forget`.
    fn reads(holders: u64) -> (u32, u32) {
        let (counted, reads) = (Counted::default(), Cell::new(0));
        let ask = || {
            counted.of(None, Part::Body, "token", || {
                reads.set(reads.get() + 1);
                holders
            })
        };
        assert_eq!([ask(), ask()], [holders; 2]);
        let before = reads.get();
        counted.forget();
        assert_eq!(ask(), holders);
        (before, reads.get())
    }

    #[test]
    fn only_frequent_tokens_are_remembered_and_only_until_all_is_quiet() {
        assert_eq!(reads(WORTH_REMEMBERING), (1, 2));
        assert_eq!(reads(WORTH_REMEMBERING - 1), (2, 3));
    }
}
