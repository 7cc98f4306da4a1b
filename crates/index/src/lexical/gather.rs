//! The postings of a question's terms, read segment by segment: what each entry of the index gets from each term.

use tantivy::DocSet;
use tantivy::postings::{Postings, TermInfo};
use tantivy::schema::IndexRecordOption;

use model::IndexKind;

use super::search::{Bm25, LexicalQuery, QueryTerm};
use super::view::{ALIVE, CODE, LENGTH_SHIFT, LexicalView, SegmentView, kind_index, unpanicked};
use crate::documents::Admission;

/// Memory that searches reuse: one score per entry of the index, all zero between searches.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(super) scores: Vec<f32>,
    /// Entries with a score, where they are few.
    pub(super) touched: Vec<u32>,
    /// The postings of one term: entries, numbered over all segments, and what they get per unit of weight.
    pub(super) entries: Vec<u32>,
    pub(super) parts: Vec<f32>,
}

/// In how many live chunks of a kind a token occurs.
pub(crate) fn holders(view: &LexicalView, kind: IndexKind, token: &str) -> u64 {
    let scope = Scope::new(view, Some(kind));
    let mut gather = Gather::new(view, &scope, None, Norm { flat: 0.0, slope: 0.0 });
    gather.term(token, Part::Body, &mut Scratch::default())
}

/// In how many live chunks of the scope a token occurs in a part: remembered, because counting reads the postings.
pub(crate) type Counts<'a> = &'a dyn Fn(Part, &str, &mut dyn FnMut() -> u64) -> u64;

/// A term in one part of the chunks.
pub(super) struct Clause<'a> {
    pub(super) term: &'a QueryTerm,
    pub(super) part: Part,
    pub(super) weight: f32,
    /// The most that it can add to a score.
    pub(super) bound: f32,
    /// How many chunks hold it.
    pub(super) postings: u64,
}

/// The chunks that a query is about, and their statistics.
pub(super) struct Scope {
    /// An entry belongs if these bits of it ...
    mask: u32,
    /// ... are these.
    bits: u32,
    pub(super) chunks: u64,
    tokens: u64,
}

impl Scope {
    pub(super) fn new(view: &LexicalView, kind: Option<IndexKind>) -> Scope {
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
pub(super) struct Norm {
    flat: f32,
    slope: f32,
}

impl Norm {
    pub(super) fn new(bm25: &Bm25, scope: &Scope) -> Norm {
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
    /// The names that a chunk defines.
    Defines,
}

impl Part {
    fn option(self) -> IndexRecordOption {
        match self {
            Part::Body => IndexRecordOption::WithFreqs,
            Part::Path | Part::Defines => IndexRecordOption::Basic,
        }
    }
}

/// Collects the postings of terms.
pub(super) struct Gather<'a> {
    view: &'a LexicalView,
    mask: u32,
    bits: u32,
    admission: Option<Admission<'a>>,
    norm: Norm,
    /// A segment could not be read.
    pub(super) damaged: bool,
}

impl<'a> Gather<'a> {
    pub(super) fn new(
        view: &'a LexicalView,
        scope: &Scope,
        admission: Option<Admission<'a>>,
        norm: Norm,
    ) -> Gather<'a> {
        Gather { view, mask: scope.mask, bits: scope.bits, admission, norm, damaged: false }
    }

    /// Every term in every part, what counts most first: an order that depends on nothing but the question and the
    /// statistics.
    pub(super) fn clauses<'q>(
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

    /// Adds what a term gives to these entries, which are in order. All of them are in the scope and admitted.
    pub(super) fn seek(&mut self, clause: &Clause<'_>, entries: &[u32], scratch: &mut Scratch) {
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
                            Part::Path | Part::Defines => 1.0,
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
    pub(super) fn group(&mut self, term: &QueryTerm, part: Part, scratch: &mut Scratch) {
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
                Part::Path | Part::Defines => {
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
                    let own = (entry - base) as usize;
                    let is_code = segment.packed[own] & CODE != 0;
                    let kind = if is_code { IndexKind::Code } else { IndexKind::Text };
                    if admission.admits_kind(segment.docs[own], kind) {
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
