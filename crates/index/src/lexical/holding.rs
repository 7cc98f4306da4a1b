//! Which documents hold which words of a question, in their texts or their paths: for counting, filtering and paging
//! through documents instead of ranking passages.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use model::{ChunkId, IndexKind, Ranked};
use tantivy::schema::IndexRecordOption;

use super::gather::Part;
use super::view::{ALIVE, CODE, LexicalView, SegmentView, unpanicked};

/// Words of one question that are told apart.
pub(crate) const MAX_WORDS: usize = 64;

/// A document that holds some of the words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding {
    /// A bit for each word that occurs anywhere in the document or in its path.
    pub(crate) words: u64,
    /// The chunk with the most of them, the first one of several.
    pub(crate) chunk: i64,
    /// How many words that one has, and where it is.
    rank: (u32, u64),
}

/// The live documents that hold at least one of the words, each given in all its forms. Without words, all live
/// documents with their first chunks.
pub(crate) fn holding(view: &LexicalView, words: &[Vec<String>]) -> HashMap<u32, Holding> {
    let mut found = HashMap::new();
    if words.is_empty() {
        for segment in &view.segments {
            for entry in 0..segment.packed.len() as u32 {
                note(&mut found, segment, entry, 0, 0);
            }
        }
        return found;
    }
    // Word bits of the text and of the path, by segment and entry.
    let mut bits: Vec<HashMap<u32, (u64, u64)>> = vec![HashMap::new(); view.segments.len()];
    for (number, forms) in words.iter().take(MAX_WORDS).enumerate() {
        for form in forms {
            for part in [Part::Body, Part::Path] {
                gather(view, form, part, 1 << number, &mut bits);
            }
        }
    }
    for (segment, bits) in view.segments.iter().zip(bits) {
        for (entry, (text, path)) in bits {
            note(&mut found, segment, entry, text, path);
        }
    }
    found
}

fn gather(view: &LexicalView, form: &str, part: Part, bit: u64, bits: &mut [HashMap<u32, (u64, u64)>]) {
    let (postings, _) = view.terms.of(&view.segments, part, form);
    for posting in postings.iter() {
        let segment = &view.segments[posting.segment];
        let into = &mut bits[posting.segment];
        let read = unpanicked(|| {
            let reader = segment.reader(part);
            let mut blocks =
                reader.read_block_postings_from_terminfo(&posting.info, IndexRecordOption::Basic)?;
            while !blocks.docs().is_empty() {
                for entry in blocks.docs() {
                    let held = into.entry(*entry).or_default();
                    match part {
                        Part::Body => held.0 |= bit,
                        Part::Path | Part::Defines => held.1 |= bit,
                    }
                }
                blocks.advance();
            }
            Ok(())
        });
        if let Err(error) = read {
            tracing::warn!(%error, "a segment of the lexical index cannot be read");
        }
    }
}

fn note(found: &mut HashMap<u32, Holding>, segment: &SegmentView, entry: u32, text: u64, path: u64) {
    if segment.packed[entry as usize] & ALIVE == 0 {
        return;
    }
    let ordinal = segment.ordinals.get_val(entry);
    // Fewer words, or a later place, is worse.
    let rank = (u64::MAX.count_ones() - text.count_ones(), ordinal);
    let chunk = segment.chunks.get_val(entry) as i64;
    let new = Holding { words: text | path, chunk, rank };
    found
        .entry(segment.docs[entry as usize])
        .and_modify(|known| {
            known.words |= new.words;
            if new.rank < known.rank {
                (known.chunk, known.rank) = (new.chunk, new.rank);
            }
        })
        .or_insert(new);
}

/// Whether a token occurs in any live text. Tokens of deleted texts must not be known: answers do not depend on the
/// past.
pub(crate) fn knows(view: &LexicalView, token: &str) -> bool {
    let mut lives = false;
    each_live(view, Part::Body, token, |_, _| {
        lives = true;
        ControlFlow::Break(())
    });
    lives
}

/// The documents in whose live texts a token occurs.
pub(crate) fn documents_with(view: &LexicalView, token: &str) -> BTreeSet<u32> {
    let mut documents = BTreeSet::new();
    each_live(view, Part::Body, token, |segment, entry| {
        documents.insert(segment.docs[entry as usize]);
        ControlFlow::Continue(())
    });
    documents
}

/// The live chunks of a kind that define each of the names, given as tokens: one list per name.
pub(crate) fn defining(view: &LexicalView, kind: IndexKind, names: &[String]) -> Vec<Vec<Ranked>> {
    let code = if kind == IndexKind::Code { CODE } else { 0 };
    let of = |name: &String| {
        let mut chunks = Vec::new();
        each_live(view, Part::Defines, name, |segment, entry| {
            if segment.packed[entry as usize] & CODE == code {
                chunks.push(Ranked {
                    chunk: ChunkId(segment.chunks.get_val(entry) as i64),
                    score: 0.0,
                    document: segment.docs[entry as usize],
                    ordinal: segment.ordinals.get_val(entry) as u32,
                });
            }
            ControlFlow::Continue(())
        });
        chunks
    };
    names.iter().map(of).collect()
}

/// Looks at the live entries where a token occurs, until it has seen enough. A segment that cannot be read is left out.
fn each_live(
    view: &LexicalView,
    part: Part,
    token: &str,
    mut look: impl FnMut(&SegmentView, u32) -> ControlFlow<()>,
) {
    let (postings, _) = view.terms.of(&view.segments, part, token);
    for posting in postings.iter() {
        let segment = &view.segments[posting.segment];
        let looked = unpanicked(|| {
            let reader = segment.reader(part);
            let mut blocks =
                reader.read_block_postings_from_terminfo(&posting.info, IndexRecordOption::Basic)?;
            while !blocks.docs().is_empty() {
                for &entry in blocks.docs() {
                    if segment.packed[entry as usize] & ALIVE != 0 && look(segment, entry).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                blocks.advance();
            }
            Ok(ControlFlow::Continue(()))
        });
        match looked {
            Ok(ControlFlow::Break(())) => return,
            Ok(ControlFlow::Continue(())) => {}
            Err(error) => tracing::warn!(%error, "a segment of the lexical index cannot be read"),
        }
    }
}
