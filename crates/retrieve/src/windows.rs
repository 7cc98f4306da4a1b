//! Windows of lines, by which files are cited that have no declarations to be cut between: of 200 lines, say, with 30 that
//! the window before has, too.
//!
//! The index cuts such files smaller, because a passage is found by what it is about. A hit is then cited by the window
//! that it lies in, and several hits of one window are one.

use std::collections::HashSet;

use model::{ChunkId, RelPath};

use crate::caption;

/// A window or a line of more bytes than this is not cited whole: a response could not hold it.
const LARGEST_BYTES: usize = 64 << 10;

/// A passage that is cited by its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct LineHit {
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub snippet: String,
    pub score: f32,
    /// Sorted.
    pub matched_terms: Vec<String>,
    /// The same for the same lines of the same file with the same text.
    pub chunk_id: String,
    /// The file is no longer what was indexed.
    pub is_changed: bool,
}

/// How a file without declarations is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    lines: u32,
    step: u32,
}

impl Windows {
    pub fn new(lines: usize, overlap: usize) -> Windows {
        let lines = u32::try_from(lines).unwrap_or(u32::MAX).max(1);
        let overlap = u32::try_from(overlap).unwrap_or(u32::MAX);
        Windows { lines, step: lines.saturating_sub(overlap).max(1) }
    }

    /// The window to cite a line by, in a file of so many lines: the last one that begins at or before it, unless the file
    /// ended in an earlier one.
    fn around(self, line: u32, total: u32) -> (u32, u32) {
        let last = total.saturating_sub(self.lines).div_ceil(self.step);
        let number = ((line.max(1) - 1) / self.step).min(last);
        let start = number * self.step + 1;
        (start, (start + self.lines - 1).min(total))
    }

    /// The hits by their windows, in their order. `is_code` tells the files that have declarations, whose hits stay as they
    /// are. `text_of` reads a file; a hit in one that cannot be read stays as it is, too.
    pub fn cite(
        self,
        hits: Vec<LineHit>,
        is_code: impl Fn(&RelPath) -> bool,
        mut text_of: impl FnMut(&RelPath) -> Option<String>,
    ) -> Vec<LineHit> {
        let mut texts: Vec<(String, Option<String>)> = Vec::new();
        let mut cited = HashSet::new();
        let mut kept = Vec::with_capacity(hits.len());
        for hit in hits {
            let Ok(path) = RelPath::from_walk(&hit.path) else { continue };
            if is_code(&path) {
                kept.push(hit);
                continue;
            }
            let at = match texts.iter().position(|(known, _)| *known == hit.path) {
                Some(at) => at,
                None => {
                    texts.push((hit.path.clone(), text_of(&path)));
                    texts.len() - 1
                }
            };
            let hit = match &texts[at].1 {
                Some(text) => self.cite_one(hit, text),
                None => Some(hit),
            };
            if let Some(hit) = hit
                && cited.insert((hit.path.clone(), hit.start_line, hit.end_line))
            {
                kept.push(hit);
            }
        }
        kept
    }

    /// None where the line is so long that it cannot be opened.
    fn cite_one(self, hit: LineHit, text: &str) -> Option<LineHit> {
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
        let total = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let of = |start: u32, end: u32| {
            lines.get(start as usize - 1..end.min(total) as usize).unwrap_or_default().join("\n")
        };
        let first = shown_at(&lines, &hit);
        let (start_line, end_line) = self.around(first, total);
        let window = of(start_line, end_line);
        if window.len() <= LARGEST_BYTES {
            let mut identity = blake3::Hasher::new();
            identity.update(hit.path.as_bytes()).update(&[0]);
            identity.update(&start_line.to_le_bytes()).update(&end_line.to_le_bytes());
            identity.update(window.as_bytes());
            let chunk_id = format!("{:014x}", ChunkId::from_digest(identity.finalize().as_bytes()).0);
            let snippet = within(&hit.snippet, first, end_line);
            return Some(LineHit { start_line, end_line, chunk_id, snippet, ..hit });
        }
        (of(hit.start_line, hit.end_line).len() <= LARGEST_BYTES).then_some(hit)
    }
}

/// A snippet that begins at a line, without the lines behind the end of its window.
fn within(snippet: &str, first: u32, end: u32) -> String {
    let body = caption::without_caption(snippet);
    let caption = &snippet[..snippet.len() - body.len()];
    let room = end.saturating_sub(first) as usize + 1;
    let count = body.matches('\n').count() + 1;
    if count <= room {
        return snippet.to_owned();
    }
    let last = first + count as u32 - 1;
    let caption = caption.replace(&format!("L{first}-L{last}"), &format!("L{first}-L{end}"));
    let cut: Vec<&str> = body.split('\n').take(room).collect();
    format!("{caption}{}", cut.join("\n"))
}

/// The line of the file that the snippet shows first; the first line of the hit where it cannot be told.
fn shown_at(lines: &[&str], hit: &LineHit) -> u32 {
    // A caption says it itself: `@@ L120-L128 @@ …`.
    let caption = hit.snippet.strip_prefix(caption::MARK).and_then(|rest| rest.split_once(" @@"));
    let first = caption.and_then(|(place, _)| {
        let lines = place.rsplit(", ").next()?.strip_prefix('L')?;
        lines.split('-').next()?.parse::<u32>().ok()
    });
    if let Some(first) = first.filter(|first| (hit.start_line..=hit.end_line).contains(first)) {
        return first;
    }
    let text = caption::without_caption(&hit.snippet);
    let shown = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let among = (hit.start_line..=hit.end_line).find(|number| {
        lines.get(*number as usize - 1).is_some_and(|line| !shown.is_empty() && line.trim() == shown)
    });
    among.unwrap_or(hit.start_line)
}

#[cfg(test)]
mod tests {
    use super::{LineHit, Windows};

    fn hit(path: &str, start_line: u32, end_line: u32, snippet: &str) -> LineHit {
        LineHit {
            path: path.into(),
            start_line,
            end_line,
            snippet: snippet.into(),
            score: 1.0,
            matched_terms: vec![],
            chunk_id: "x".into(),
            is_changed: false,
        }
    }

    #[test]
    fn r023_windows_of_200_lines_overlap_by_30() {
        let windows = Windows::new(200, 30);
        let mut all: Vec<_> = (1..=500).map(|line| windows.around(line, 500)).collect();
        all.dedup();
        assert_eq!(all, [(1, 200), (171, 370), (341, 500)]);
        assert_eq!(windows.around(190, 200), (1, 200), "a file that ends in a window has no further one");
        assert_eq!(windows.around(1, 1), (1, 1));
        assert_eq!(windows.around(1, 0), (1, 0));
    }

    #[test]
    fn hits_of_one_window_are_one() {
        let text = (1..=500).map(|n| format!("line {n}\n")).collect::<String>();
        let hits = vec![
            hit("a.md", 160, 260, "line 180\nline 181"),
            hit("a.md", 300, 320, "line 300"),
            hit("a.md", 360, 370, "gone"),
            hit("a.py", 7, 9, "x"),
        ];
        let cited = Windows::new(200, 30).cite(hits, |path| path.as_str() == "a.py", |_| Some(text.clone()));
        let ranges: Vec<_> =
            cited.iter().map(|hit| (hit.path.as_str(), hit.start_line, hit.end_line)).collect();
        assert_eq!(ranges, [("a.md", 171, 370), ("a.md", 341, 500), ("a.py", 7, 9)]);
        assert_ne!(cited[0].chunk_id, cited[1].chunk_id);
    }

    #[test]
    fn a_snippet_ends_with_its_window() {
        assert_eq!(
            super::within("@@ L198-L203 @@ x\na\nb\nc\nd\ne\nf", 198, 200),
            "@@ L198-L200 @@ x\na\nb\nc"
        );
        assert_eq!(super::within("a\nb", 199, 200), "a\nb");
    }

    #[test]
    fn a_line_too_long_to_be_opened_is_no_hit() {
        let text = format!("{}\nshort\n", "word ".repeat(40_000));
        let windows = Windows::new(200, 30);
        let cited = windows.cite(
            vec![hit("a.json", 1, 1, "word"), hit("a.json", 2, 2, "short")],
            |_| false,
            |_| Some(text.clone()),
        );
        assert_eq!(cited.iter().map(|hit| (hit.start_line, hit.end_line)).collect::<Vec<_>>(), [(2, 2)]);
    }
}
