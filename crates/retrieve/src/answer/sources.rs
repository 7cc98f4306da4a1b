//! What a model gets to read: whole passages, best first, none twice, as many as there is room for.

use std::collections::HashSet;

use index::StoredChunk;
use model::citation::citation_text;
use model::{Citation, Hit};

use crate::caption::heading_at;
use crate::fence::Fence;

/// A passage as a model reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedSource {
    /// From 1, in the order of the prompt.
    pub number: usize,
    pub citation: Citation,
    /// The path as the model reads it.
    pub shown_path: String,
    /// The headings above the passage, and the header row of its table.
    pub above: String,
    /// As the model reads it: redacted and without hidden characters.
    pub text: String,
}

impl PackedSource {
    /// The citation and the headings: the first line of the source.
    pub fn title(&self) -> String {
        let citation = citation_text(&self.shown_path, self.citation.span);
        if self.above.is_empty() { citation } else { format!("{citation} {}", self.above) }
    }
}

/// Characters of the headings that are shown.
const ABOVE: usize = 300;
/// The smallest room in which a passage is worth cutting.
const WORTH_CUTTING: usize = 120;

/// Packs passages into `room` characters, fences included. `clean` redacts a text and takes out hidden characters; nothing
/// reaches a model without it. A passage that does not fit is passed over for a shorter one behind it; only the best one is
/// cut where it is larger than the whole room.
pub fn pack(
    hits: &[Hit],
    chunks: &[StoredChunk],
    room: usize,
    fence: &Fence,
    clean: &dyn Fn(&str) -> String,
) -> Vec<PackedSource> {
    let mut packed: Vec<PackedSource> = Vec::new();
    let mut said: HashSet<[u8; 16]> = HashSet::new();
    let mut left = room;
    for hit in hits {
        let Some(chunk) = chunks.iter().find(|chunk| chunk.id == hit.chunk_id) else { continue };
        if chunk.text.trim().is_empty() || !said.insert(chunk.text_hash) {
            continue;
        }
        let mut source = PackedSource {
            number: packed.len() + 1,
            citation: hit.citation(),
            shown_path: clean(&chunk.rel_path).replace('\n', " "),
            above: clean(&above(chunk)).replace('\n', " ").chars().take(ABOVE).collect(),
            text: clean(chunk.text.trim_end()),
        };
        if packed.iter().any(|known| known.text.contains(source.text.trim())) {
            continue;
        }
        let mut size = fenced_chars(fence, &source);
        if size > left && packed.is_empty() {
            let spare = source.text.chars().count().saturating_sub(size - left);
            if spare < WORTH_CUTTING.min(room / 2) {
                continue;
            }
            source.text = source.text.chars().take(spare).collect();
            size = fenced_chars(fence, &source);
        }
        if size > left {
            continue;
        }
        left -= size;
        packed.push(source);
    }
    packed
}

fn fenced_chars(fence: &Fence, source: &PackedSource) -> usize {
    fence.around(source.number, &source.title(), &source.text).chars().count()
}

fn above(chunk: &StoredChunk) -> String {
    let heading = heading_at(chunk, 0);
    let titles: Vec<&str> = heading.titles.iter().map(|(_, title)| title.as_str()).collect();
    let columns = heading.columns.filter(|row| !chunk.text.contains(row.trim_end_matches('…')));
    let parts = [titles.join(" > "), columns.unwrap_or_default()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use model::ChunkId;

    use super::super::tests::{chunk, hits_of};
    use super::*;

    fn packed(texts: &[&str], room: usize) -> Vec<PackedSource> {
        let chunks: Vec<StoredChunk> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| {
                let mut one = chunk(at, &format!("{at}.md"), text);
                one.text_hash = *blake3::hash(text.as_bytes()).as_bytes().first_chunk().unwrap();
                one
            })
            .collect();
        let hits = hits_of(&chunks, &vec![1.0; chunks.len()]);
        pack(&hits, &chunks, room, &Fence::new([1; 12]), &|text| text.replace("hunter2", "[SECRET]"))
    }

    #[test]
    fn d113_passages_are_whole_best_first_and_none_twice() {
        let long = "long words ".repeat(40);
        let sources = packed(&["first one", "first one", &long, "third one", "one"], 330);
        let texts: Vec<&str> = sources.iter().map(|source| source.text.as_str()).collect();
        assert_eq!(texts, ["first one", "third one"], "the long one does not fit, the last is in the first");
        assert_eq!(sources[1].number, 2);
        assert_eq!(sources[1].citation.chunk_id, ChunkId(4));
        assert_eq!(sources[0].title(), "[0.md:L1-L9]");
    }

    #[test]
    fn the_room_is_kept_and_the_best_passage_is_cut_to_it() {
        let long = "many words ".repeat(100);
        for room in [200, 400, 1_000, 2_000] {
            let sources = packed(&[&long, &long[1..]], room);
            let fence = Fence::new([1; 12]);
            let used: usize = sources.iter().map(|source| fenced_chars(&fence, source)).sum();
            assert!(used <= room, "{room}: {used}");
            assert!(room < 400 || !sources.is_empty());
        }
    }

    #[test]
    fn what_a_model_reads_is_redacted() {
        let sources = packed(&["the password is hunter2 here"], 1_000);
        assert_eq!(sources[0].text, "the password is [SECRET] here");
    }
}
