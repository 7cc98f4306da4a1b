//! Candidates that come first whatever their rank: definitions of the names in the query, and chunks that contain a quoted
//! phrase.

use std::cmp::Reverse;
use std::collections::HashMap;

use index::QueryTerm;
use index::tokens::name_token;
use model::filter::{Admit, ChunkFacts, DocumentFacts};
use model::{ChunkId, IndexKind, Ranked};

use super::{Gathered, lexical};
use crate::place::Place;

/// Definitions that are read. Names with more are defined everywhere (`new`, `main`), and one is as good as another unless
/// the query says where.
const MAX_DEFINITIONS: usize = 64;
/// Chunks that are read for each phrase: those with the most of its words.
const MAX_PHRASE: usize = 150;
/// Words of a query among which the container of a name is looked for.
const MAX_WORDS: usize = 12;

impl<'a> Gathered<'a> {
    pub(super) fn seek(&mut self) {
        self.seek_definitions();
        self.seek_phrases();
    }

    fn seek_definitions(&mut self) {
        let parsed = self.question.parsed;
        if self.kind != IndexKind::Code || parsed.names.is_empty() {
            return;
        }
        let mut tokens: Vec<String> = parsed.names.iter().map(|named| named.token.clone()).collect();
        let asked = tokens.len();
        // What a name belongs to is named by the other words.
        for term in parsed.content_terms().into_iter().take(MAX_WORDS) {
            if !tokens.contains(&term.token) {
                tokens.push(term.token.clone());
            }
        }
        let lists = self.question.snapshot.defining(self.kind, &tokens);
        let mut of_document: HashMap<u32, u64> = HashMap::new();
        let mut of_chunk: HashMap<ChunkId, (Ranked, u32)> = HashMap::new();
        for (number, list) in lists.iter().enumerate() {
            for ranked in list {
                *of_document.entry(ranked.document).or_default() |= 1 << number.min(63);
                if number < asked {
                    of_chunk.entry(ranked.chunk).or_insert((*ranked, 0)).1 += 1;
                }
            }
        }
        let mut found = Vec::new();
        for (ranked, names) in of_chunk.into_values() {
            let Some(path) = self.admitted(&ranked) else { continue };
            let beside = of_document[&ranked.document].count_ones();
            let is_ordinary = matches!(Place::of(path), Place::Ordinary | Place::PackageFront);
            let order = (Reverse(names), Reverse(beside), !is_ordinary, path, ranked.ordinal, ranked.chunk);
            found.push((order, ranked, beside));
        }
        found.sort_unstable_by_key(|(order, ..)| *order);
        found.truncate(MAX_DEFINITIONS);
        let found: Vec<(Ranked, u32)> =
            found.into_iter().map(|(_, ranked, beside)| (ranked, beside)).collect();
        for (ranked, beside) in found {
            if let Some(lead) = self.meet(&ranked) {
                (lead.is_sought, lead.names) = (true, beside);
            }
        }
    }

    fn seek_phrases(&mut self) {
        let phrases: Vec<Vec<QueryTerm>> = self
            .question
            .parsed
            .verbatim
            .phrases()
            .map(|words| {
                let tokens = words.iter().filter_map(|word| name_token(word));
                tokens.map(|token| QueryTerm::new(token, 1.0)).collect()
            })
            .collect();
        for terms in phrases {
            let (snapshot, filter) = (self.question.snapshot, self.question.filter);
            for ranked in lexical::candidates(snapshot, self.kind, &terms, filter, MAX_PHRASE) {
                if let Some(lead) = self.meet(&ranked) {
                    lead.is_sought = true;
                }
            }
        }
    }

    /// The path of a chunk's document, if the filter admits the chunk and it may be shown.
    fn admitted(&mut self, ranked: &Ranked) -> Option<&'a str> {
        let (snapshot, filter) = (self.question.snapshot, self.question.filter);
        let (path, doc_type) = snapshot.document(ranked.document)?;
        let document = DocumentFacts { path, doc_type };
        if !filter.chunk(&ChunkFacts { document, kind: self.kind }) {
            return None;
        }
        self.path(ranked.document)
    }
}
