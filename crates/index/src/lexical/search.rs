//! Scoring: BM25 over live chunks, term after term, in an order and arithmetic that never vary.

use std::collections::BTreeSet;

use model::{DocType, IndexKind, Ranked};
use tantivy::DocSet;
use tantivy::postings::{Postings, TermInfo};
use tantivy::schema::IndexRecordOption;

use super::view::{ALIVE, CODE, LENGTH_SHIFT, LexicalView, SegmentView, kind_index, unpanicked};
use crate::documents::{Admission, Documents};
use crate::rank::{Candidate, best};

/// A question to the lexical index.
pub struct LexicalQuery<'a> {
    /// Tokens as [`crate::tokens::query_tokens`] makes them. Their order is part of the question: scores are
    /// added up in it.
    pub terms: &'a [QueryTerm],
    /// Restricts hits and statistics to one kind of chunk.
    pub kind: Option<IndexKind>,
    /// Restricts hits, but not the statistics, to documents by path and type.
    pub admit: Option<&'a dyn Fn(&str, DocType) -> bool>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    pub token: String,
    /// Multiplies what the term adds to a score; at zero or below the term is ignored.
    pub weight: f32,
    /// Other tokens that count as this one, each so much of an occurrence. They share one rarity: that of all of
    /// them together.
    pub forms: Vec<String>,
    pub form_weight: f32,
}

impl QueryTerm {
    pub fn new(token: impl Into<String>, weight: f32) -> QueryTerm {
        QueryTerm { token: token.into(), weight, forms: Vec::new(), form_weight: 0.0 }
    }
}

/// The parameters of the ranking function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    pub k1: f32,
    pub b: f32,
    /// What a term in a chunk's path counts, compared with one in its text.
    pub path_weight: f32,
}

impl Default for Bm25 {
    fn default() -> Bm25 {
        Bm25 { k1: 1.2, b: 0.75, path_weight: 0.5 }
    }
}

/// Memory that searches reuse: one score per entry of the index, all zero between searches.
#[derive(Default)]
pub(crate) struct Scratch {
    scores: Vec<f32>,
    /// Entries with a score, where they are few.
    touched: Vec<u32>,
    /// The postings of one term: entries, numbered over all segments, and what they get per unit of weight.
    entries: Vec<u32>,
    parts: Vec<f32>,
}

/// What a search found, and whether it met damage on the way.
pub(crate) struct Found {
    pub(crate) hits: Vec<Ranked>,
    pub(crate) damaged: bool,
}

/// In how many live chunks of a kind a token stands.
pub(crate) fn holders(view: &LexicalView, kind: IndexKind, token: &str) -> u64 {
    let scope = Scope::new(view, Some(kind));
    let mut gather = Gather {
        view,
        mask: scope.mask,
        bits: scope.bits,
        admission: None,
        norm: Norm { flat: 0.0, slope: 0.0 },
        damaged: false,
    };
    gather.term(token, Part::Body, &mut Scratch::default())
}

/// Whether a token stands in any live text. What stood in deleted ones must not be known: answers do not depend on the
/// past.
pub(crate) fn knows(view: &LexicalView, token: &str) -> bool {
    let (postings, _) = view.terms.of(&view.segments, Part::Body, token);
    postings.iter().any(|posting| {
        let segment = &view.segments[posting.segment];
        let lives = || {
            let reader = segment.reader(Part::Body);
            let mut blocks =
                reader.read_block_postings_from_terminfo(&posting.info, IndexRecordOption::Basic)?;
            loop {
                let entries = blocks.docs();
                if entries.is_empty() {
                    return Ok(false);
                }
                if entries.iter().any(|entry| segment.packed[*entry as usize] & ALIVE != 0) {
                    return Ok(true);
                }
                blocks.advance();
            }
        };
        unpanicked(lives).unwrap_or_else(|error| {
            tracing::warn!(%error, "a segment of the lexical index cannot be read");
            false
        })
    })
}

/// The documents in whose live texts a token stands.
pub(crate) fn documents_with(view: &LexicalView, token: &str) -> BTreeSet<u32> {
    let (postings, _) = view.terms.of(&view.segments, Part::Body, token);
    let mut documents = BTreeSet::new();
    for posting in postings.iter() {
        let segment = &view.segments[posting.segment];
        let looked = unpanicked(|| {
            let reader = segment.reader(Part::Body);
            let mut blocks =
                reader.read_block_postings_from_terminfo(&posting.info, IndexRecordOption::Basic)?;
            loop {
                let entries = blocks.docs();
                if entries.is_empty() {
                    return Ok(());
                }
                let alive = entries.iter().filter(|entry| segment.packed[**entry as usize] & ALIVE != 0);
                documents.extend(alive.map(|entry| segment.docs[*entry as usize]));
                blocks.advance();
            }
        });
        if let Err(error) = looked {
            tracing::warn!(%error, "a segment of the lexical index cannot be read");
        }
    }
    documents
}

/// In how many live chunks of the scope a token stands in a part: remembered, because counting reads the postings.
pub(crate) type Counts<'a> = &'a dyn Fn(Part, &str, &mut dyn FnMut() -> u64) -> u64;

/// The best chunks. A term that hardly counts is looked up only for the chunks that can still be among the best: with
/// it, no other comes near them.
pub(crate) fn search(
    view: &LexicalView,
    documents: &Documents,
    query: &LexicalQuery<'_>,
    bm25: &Bm25,
    counts: Counts<'_>,
    scratch: &mut Scratch,
) -> Found {
    let mut found = Found { hits: Vec::new(), damaged: false };
    let scope = Scope::new(view, query.kind);
    if scope.chunks == 0 || query.limit == 0 {
        return found;
    }
    if scratch.scores.len() < view.entries {
        scratch.scores.resize(view.entries, 0.0);
    }
    let mut gather = Gather {
        view,
        mask: scope.mask,
        bits: scope.bits,
        admission: query.admit.map(|admit| Admission::new(documents, admit)),
        norm: Norm::new(bm25, &scope),
        damaged: false,
    };
    let clauses = gather.clauses(query, bm25, &scope, counts, scratch);
    // Beyond this many postings it is cheaper to look at every score than to list the ones that are not zero.
    let dense_from = view.entries / 4;
    let mut postings = 0;
    let mut rest: f32 = clauses.iter().map(|clause| clause.bound).sum();
    let mut unread: u64 = clauses.iter().map(|clause| clause.postings).sum();
    // The entries that can still be among the best, once they are few.
    let mut running: Option<Vec<u32>> = None;
    for clause in &clauses {
        if running.is_none() && unread > FEW_POSTINGS.max(postings as u64 / 4) {
            let dense = postings > dense_from;
            running = scratch.running(if dense { Some(view.entries) } else { None }, query.limit, rest);
        }
        rest -= clause.bound;
        unread -= clause.postings;
        match &running {
            Some(running) if (running.len() as u64) < clause.postings / WORTH_SEEKING => {
                gather.seek(clause, running, scratch);
            }
            _ => {
                gather.group(clause.term, clause.part, scratch);
                scratch.add(clause.weight, &mut postings, dense_from);
            }
        }
    }
    found.damaged = gather.damaged;

    let place = Places { view };
    let Scratch { scores, touched, .. } = scratch;
    let best = if postings > dense_from {
        let all = scores[..view.entries].iter().enumerate().filter(|(_, score)| **score > 0.0);
        let all = all.map(|(entry, score)| Candidate { score: *score, row: entry as u32 });
        best(all, query.limit, documents, |row| place.of(row))
    } else {
        let all = touched.iter().map(|&entry| Candidate { score: scores[entry as usize], row: entry });
        best(all, query.limit, documents, |row| place.of(row))
    };
    found.hits = best
        .into_iter()
        .filter_map(|candidate| {
            let (segment, entry) = place.locate(candidate.row)?;
            Some(Ranked {
                chunk: model::ChunkId(segment.chunks.get_val(entry) as i64),
                score: candidate.score,
                document: segment.docs[entry as usize],
                ordinal: segment.ordinals.get_val(entry) as u32,
            })
        })
        .collect();
    if postings > dense_from {
        scores[..view.entries].fill(0.0);
    } else {
        touched.iter().for_each(|&entry| scores[entry as usize] = 0.0);
    }
    touched.clear();
    found
}

/// With fewer postings left to read there is nothing to save.
const FEW_POSTINGS: u64 = 2_000;
/// Looking one entry up costs as much as reading so many.
const WORTH_SEEKING: u64 = 16;

/// A term in one part of the chunks.
struct Clause<'a> {
    term: &'a QueryTerm,
    part: Part,
    weight: f32,
    /// The most that it can add to a score.
    bound: f32,
    /// How many chunks hold it.
    postings: u64,
}

impl Scratch {
    /// The entries that can still be among the first `limit` where no score grows by more than `rest`, in order; none as
    /// long as an entry without any score can. `dense` is the number of entries where they are not listed.
    fn running(&self, dense: Option<usize>, limit: usize, rest: f32) -> Option<Vec<u32>> {
        let scores = || {
            let listed = self.touched.iter().filter(move |_| dense.is_none());
            let listed = listed.map(|&entry| (entry, self.scores[entry as usize]));
            let all = self.scores[..dense.unwrap_or(0)].iter().enumerate();
            listed.chain(all.map(|(entry, score)| (entry as u32, *score)))
        };
        // Nothing was read that could be as much.
        let mut last = Vec::with_capacity(limit + 1);
        let mut lowest = rest;
        for (_, score) in scores() {
            if score > lowest {
                last.push(score);
                if last.len() >= 2 * limit {
                    last.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a));
                    last.truncate(limit);
                    lowest = last[limit - 1].max(lowest);
                }
            }
        }
        if last.len() < limit {
            return None;
        }
        last.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a));
        // Sums are rounded; what is nearly as good runs on.
        let needed = (last[limit - 1] - rest) * (1.0 - 1e-4);
        let mut running: Vec<u32> =
            scores().filter(|(_, score)| *score >= needed && *score > 0.0).map(|(entry, _)| entry).collect();
        running.sort_unstable();
        Some(running)
    }

    /// Adds what the gathered postings get.
    fn add(&mut self, weight: f32, postings: &mut usize, dense_from: usize) {
        *postings += self.entries.len();
        if *postings > dense_from {
            for (&entry, &part) in self.entries.iter().zip(&self.parts) {
                self.scores[entry as usize] += weight * part;
            }
            return;
        }
        for (&entry, &part) in self.entries.iter().zip(&self.parts) {
            let score = &mut self.scores[entry as usize];
            if *score == 0.0 {
                self.touched.push(entry);
            }
            *score += weight * part;
        }
    }
}

/// The chunks that a query is about, and their statistics.
struct Scope {
    /// An entry belongs if these bits of it ...
    mask: u32,
    /// ... are these.
    bits: u32,
    chunks: u64,
    tokens: u64,
}

impl Scope {
    fn new(view: &LexicalView, kind: Option<IndexKind>) -> Scope {
        match kind {
            Some(kind) => {
                let live = view.live[kind_index(kind)];
                let bits = ALIVE | if kind == IndexKind::Code { CODE } else { 0 };
                Scope { mask: ALIVE | CODE, bits, chunks: live.chunks, tokens: live.tokens }
            }
            None => Scope {
                mask: ALIVE,
                bits: ALIVE,
                chunks: view.live.iter().map(|live| live.chunks).sum(),
                tokens: view.live.iter().map(|live| live.tokens).sum(),
            },
        }
    }

    /// How telling a term is that `matching` chunks have.
    fn idf(&self, matching: u64) -> f32 {
        // A chunk may hold several forms of a term, and is then counted as often.
        let (all, matching) = (self.chunks as f64, matching.min(self.chunks) as f64);
        (1.0 + (all - matching + 0.5) / (matching + 0.5)).ln() as f32
    }
}

/// The part of the formula that depends on a chunk's length:
/// `frequency / (frequency + k1 * (1 - b + b * length / average))`.
#[derive(Clone, Copy)]
struct Norm {
    flat: f32,
    slope: f32,
}

impl Norm {
    fn new(bm25: &Bm25, scope: &Scope) -> Norm {
        let average = scope.tokens as f64 / scope.chunks as f64;
        let slope = if average > 0.0 { (f64::from(bm25.k1 * bm25.b) / average) as f32 } else { 0.0 };
        Norm { flat: bm25.k1 * (1.0 - bm25.b), slope }
    }

    fn part(self, frequency: u32, length: u32) -> f32 {
        let frequency = frequency as f32;
        frequency / (frequency + self.flat + self.slope * length as f32)
    }
}

/// Where tokens are looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part {
    Body,
    Path,
}

impl Part {
    fn option(self) -> IndexRecordOption {
        match self {
            Part::Body => IndexRecordOption::WithFreqs,
            Part::Path => IndexRecordOption::Basic,
        }
    }
}

/// Collects the postings of terms.
struct Gather<'a> {
    view: &'a LexicalView,
    mask: u32,
    bits: u32,
    admission: Option<Admission<'a>>,
    norm: Norm,
    damaged: bool,
}

impl Gather<'_> {
    /// Every term in every part, what counts most first: an order that depends on nothing but the question and the
    /// statistics.
    fn clauses<'q>(
        &mut self,
        query: &LexicalQuery<'q>,
        bm25: &Bm25,
        scope: &Scope,
        counts: Counts<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Clause<'q>> {
        let mut clauses = Vec::with_capacity(2 * query.terms.len());
        for term in query.terms.iter().filter(|term| term.weight > 0.0) {
            for (part, factor) in [(Part::Body, bm25.k1 + 1.0), (Part::Path, bm25.path_weight)] {
                if factor <= 0.0 {
                    continue;
                }
                let mut count = |token: &String| {
                    counts(part, token, &mut || {
                        scratch.entries.clear();
                        scratch.parts.clear();
                        self.count(token, part, scratch)
                    })
                };
                let own = count(&term.token);
                let forms: Vec<u64> = term.forms.iter().map(&mut count).collect();
                let postings = own + forms.iter().sum::<u64>();
                if postings == 0 {
                    continue;
                }
                let weight = term.weight * scope.idf(postings) * factor;
                let others = forms.iter().filter(|count| **count > 0).count() as f32 * term.form_weight;
                let most = f32::from(u8::from(own > 0)) + others;
                clauses.push(Clause { term, part, weight, bound: weight * most, postings });
            }
        }
        clauses.sort_by(|a, b| b.bound.total_cmp(&a.bound));
        clauses
    }

    /// How many chunks of the scope hold a token, admitted or not.
    fn count(&mut self, token: &str, part: Part, scratch: &mut Scratch) -> u64 {
        let admission = self.admission.take();
        let count = self.term(token, part, scratch);
        self.admission = admission;
        count
    }

    /// Adds what a term gives to these entries, which stand in order. All of them are in the scope and admitted.
    fn seek(&mut self, clause: &Clause<'_>, entries: &[u32], scratch: &mut Scratch) {
        let term = clause.term;
        self.seek_token(&term.token, clause, 1.0, entries, scratch);
        for form in &term.forms {
            self.seek_token(form, clause, term.form_weight, entries, scratch);
        }
    }

    fn seek_token(
        &mut self,
        token: &str,
        clause: &Clause<'_>,
        factor: f32,
        entries: &[u32],
        scratch: &mut Scratch,
    ) {
        let view = self.view;
        let norm = self.norm;
        let (postings, damaged) = view.terms.of(&view.segments, clause.part, token);
        self.damaged |= damaged;
        for posting in postings.iter() {
            let (segment, base) = (&view.segments[posting.segment], view.starts[posting.segment]);
            let end = base + segment.packed.len() as u32;
            let from = entries.partition_point(|entry| *entry < base);
            let to = entries.partition_point(|entry| *entry < end);
            if from == to {
                continue;
            }
            let looked = unpanicked(|| {
                let option = clause.part.option();
                let mut found =
                    segment.reader(clause.part).read_postings_from_terminfo(&posting.info, option)?;
                for &entry in &entries[from..to] {
                    let place = entry - base;
                    if found.doc() < place {
                        found.seek(place);
                    }
                    if found.doc() == place {
                        let part = match clause.part {
                            Part::Body => {
                                let length = segment.packed[place as usize] >> LENGTH_SHIFT;
                                norm.part(found.term_freq(), length)
                            }
                            Part::Path => 1.0,
                        };
                        // As in [`Gather::group`]: what the token itself gives is not multiplied.
                        let part = if factor == 1.0 { part } else { part * factor };
                        scratch.scores[entry as usize] += clause.weight * part;
                    }
                }
                Ok(())
            });
            if let Err(error) = looked {
                // The rest of the index still answers.
                tracing::warn!(%error, "a segment of the lexical index cannot be read");
                self.damaged = true;
            }
        }
    }

    /// Collects the postings of a term and its forms.
    fn group(&mut self, term: &QueryTerm, part: Part, scratch: &mut Scratch) {
        scratch.entries.clear();
        scratch.parts.clear();
        self.term(&term.token, part, scratch);
        let exact = scratch.parts.len();
        for form in &term.forms {
            self.term(form, part, scratch);
        }
        scratch.parts[exact..].iter_mut().for_each(|part| *part *= term.form_weight);
    }

    /// Collects a term's postings in the scope, and counts all of them: the ones that are not admitted count as
    /// well, so that a filter does not change the scores of what it lets through.
    fn term(&mut self, token: &str, part: Part, scratch: &mut Scratch) -> u64 {
        let mut matching = 0;
        let view = self.view;
        let (postings, damaged) = view.terms.of(&view.segments, part, token);
        self.damaged |= damaged;
        for posting in postings.iter() {
            let (segment, base) = (&view.segments[posting.segment], view.starts[posting.segment]);
            let before = scratch.entries.len();
            match unpanicked(|| Ok(self.segment(segment, base, &posting.info, part, scratch)?)) {
                Ok(count) => matching += count,
                Err(error) => {
                    // The rest of the index still answers.
                    tracing::warn!(%error, "a segment of the lexical index cannot be read");
                    self.damaged = true;
                    scratch.entries.truncate(before);
                    scratch.parts.truncate(before);
                }
            }
        }
        matching
    }

    fn segment(
        &mut self,
        segment: &SegmentView,
        base: u32,
        info: &TermInfo,
        part: Part,
        scratch: &mut Scratch,
    ) -> std::io::Result<u64> {
        let mut blocks = segment.reader(part).read_block_postings_from_terminfo(info, part.option())?;
        let (mask, bits, norm) = (self.mask, self.bits, self.norm);
        let mut matching = 0;
        loop {
            let entries = blocks.docs();
            if entries.is_empty() {
                return Ok(matching);
            }
            // Written without a branch: which postings are in the scope cannot be predicted.
            let start = scratch.entries.len();
            scratch.entries.resize(start + entries.len(), 0);
            scratch.parts.resize(start + entries.len(), 1.0);
            let (places, parts) = (&mut scratch.entries[start..], &mut scratch.parts[start..]);
            let mut kept = 0;
            match part {
                Part::Body => {
                    for (&entry, &frequency) in entries.iter().zip(blocks.freqs()) {
                        let packed = segment.packed[entry as usize];
                        places[kept] = base + entry;
                        parts[kept] = norm.part(frequency, packed >> LENGTH_SHIFT);
                        kept += usize::from(packed & mask == bits);
                    }
                }
                Part::Path => {
                    for &entry in entries {
                        places[kept] = base + entry;
                        kept += usize::from(segment.packed[entry as usize] & mask == bits);
                    }
                }
            }
            matching += kept as u64;
            if let Some(admission) = &mut self.admission {
                let mut admitted = 0;
                for number in 0..kept {
                    let entry = places[number];
                    if admission.admits(segment.docs[(entry - base) as usize]) {
                        places[admitted] = entry;
                        parts[admitted] = parts[number];
                        admitted += 1;
                    }
                }
                kept = admitted;
            }
            scratch.entries.truncate(start + kept);
            scratch.parts.truncate(start + kept);
            blocks.advance();
        }
    }
}

/// Finds segments by entry numbers that run over all of them.
struct Places<'a> {
    view: &'a LexicalView,
}

impl<'a> Places<'a> {
    fn locate(&self, row: u32) -> Option<(&'a SegmentView, u32)> {
        let number = self.view.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        Some((self.view.segments[number].as_ref(), row - self.view.starts[number]))
    }

    /// What ties are broken by: the document, and the place in it.
    fn of(&self, row: u32) -> (u32, u32) {
        match self.locate(row) {
            Some((segment, entry)) => (segment.docs[entry as usize], segment.ordinals.get_val(entry) as u32),
            None => (u32::MAX, row),
        }
    }
}
