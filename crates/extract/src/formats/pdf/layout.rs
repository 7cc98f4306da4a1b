//! From characters on a page to text in reading order: words, lines, columns, paragraphs.

use std::collections::BTreeMap;

use super::accents::{accented, is_accent};
use super::content::{Glyph, Shown};
use super::right_to_left::{runs_left, to_logical};
use super::strings::{push_line, push_plain};

/// A gap without a blank in it separates words if it is as wide as this, in sizes of the font.
const BLANK: f32 = 0.1;
/// A blank separates words if this part of it is left between them: some are drawn over the letters of a word.
const SHOWN_BLANK: f32 = 0.02;
/// Wider gaps cut a line in two: a gutter, or cells of a table.
const GAP: f32 = 1.1;
/// The same where something else was shown between the two.
const STRANGE_GAP: f32 = 0.5;
/// Gaps between words in a line that the writer showed in one go may be this wide.
const OWN_GAP: f32 = 1.5;
/// Baselines this near, in sizes, are one line: exponents and indices.
const SAME_LINE: f32 = 0.4;
/// Columns within columns.
const MOST_CUTS: u32 = 8;

/// A piece of a line.
#[derive(Debug, Clone)]
struct Piece {
    left: f32,
    right: f32,
    /// The baseline, growing downwards.
    y: f32,
    size: f32,
    text: String,
    /// When it was begun and when it was ended, as counted by pieces shown.
    shown: (usize, usize),
}

/// The text of a page: the upright lines first, then those that run another way.
pub(super) fn text(shown: &Shown) -> String {
    let mut by_angle: BTreeMap<(bool, u16), Vec<&Glyph>> = BTreeMap::new();
    for glyph in shown.glyphs.iter().filter(|glyph| glyph.size > 0.0 && glyph.start.0.is_finite()) {
        by_angle.entry((glyph.angle % 90 != 0, glyph.angle)).or_default().push(glyph);
    }
    let is_right_to_left = runs_right_to_left(&shown.text);
    let mut out = String::new();
    for ((_, angle), glyphs) in by_angle {
        let pieces = pieces(shown, &glyphs, &LayoutView::along(angle));
        if pieces.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        let lines = lines(pieces);
        let mut page = Page { out: String::new(), last: None, is_right_to_left };
        page.order(lines, 0);
        out.push_str(&page.out);
    }
    out
}

/// Whether most letters belong to a script that runs from right to left.
fn runs_right_to_left(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let (left, all) = text
        .chars()
        .filter(|character| character.is_alphabetic())
        .fold((0usize, 0usize), |(left, all), character| (left + usize::from(runs_left(character)), all + 1));
    left * 2 > all
}

/// The page as someone sees it who turns it until the lines of one angle are upright.
struct LayoutView {
    cosine: f32,
    sine: f32,
}

impl LayoutView {
    fn along(angle: u16) -> LayoutView {
        let (cosine, sine) = match angle {
            0 => (1.0, 0.0),
            90 => (0.0, 1.0),
            180 => (-1.0, 0.0),
            270 => (0.0, -1.0),
            other => {
                let radians = f32::from(other).to_radians();
                (radians.cos(), radians.sin())
            }
        };
        LayoutView { cosine, sine }
    }

    /// Along the line, and down the page.
    fn turn(&self, (x, y): (f32, f32)) -> (f32, f32) {
        (x * self.cosine + y * self.sine, x * self.sine - y * self.cosine)
    }

    /// A letter and an accent as one character, if the accent is shown over or under the letter.
    fn joins(&self, shown: &Shown, letter: &Glyph, accent: &Glyph) -> Option<char> {
        let ((left, y), (right, _)) = (self.turn(letter.start), self.turn(letter.end));
        let ((from, accent_y), (to, _)) = (self.turn(accent.start), self.turn(accent.end));
        let is_over =
            (left..right).contains(&((from + to) / 2.0)) && (y - accent_y).abs() < 0.5 * letter.size;
        if is_over { accented(shown.part(letter), shown.part(accent)) } else { None }
    }
}

/// Characters joined into pieces of lines, in the order of showing.
fn pieces(shown: &Shown, glyphs: &[&Glyph], view: &LayoutView) -> Vec<Piece> {
    let again = shown_again(glyphs, shown, view);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut blank: Option<f32> = None;
    let mut letter: Option<&Glyph> = None;
    let mut accent: Option<&Glyph> = None;
    for (index, (glyph, again)) in glyphs.iter().zip(again).enumerate() {
        let text = shown.part(glyph);
        if text.trim().is_empty() {
            blank = Some((view.turn(glyph.end).0 - view.turn(glyph.start).0).max(0.0));
            letter = None;
            continue;
        }
        if again {
            continue;
        }
        if is_accent(text) {
            if glyphs.get(index + 1).is_some_and(|next| view.joins(shown, next, glyph).is_some()) {
                accent = Some(glyph);
                continue;
            }
            if let Some(joined) = letter.and_then(|letter| view.joins(shown, letter, glyph))
                && let Some(last) = pieces.last_mut()
            {
                last.text.pop();
                last.text.push(joined);
                continue;
            }
        }
        letter = Some(glyph);
        let joined = accent.take().and_then(|accent| view.joins(shown, glyph, accent)).map(String::from);
        let text = joined.as_deref().unwrap_or(text);
        let (left, y) = view.turn(glyph.start);
        let (right, _) = view.turn(glyph.end);
        let size = glyph.size;
        if let Some(last) = pieces.last_mut() {
            let larger = size.max(last.size);
            let gap = left - last.right;
            // Back within the line is a letter set over another, or an accent.
            if (y - last.y).abs() < SAME_LINE * larger && gap > -0.5 * larger && gap < OWN_GAP * larger {
                let by_gap = BLANK * larger.min(size * 1.5);
                let least = blank.map_or(by_gap, |width| by_gap.min(SHOWN_BLANK * width - f32::EPSILON));
                if gap > least && !last.text.ends_with(' ') {
                    last.text.push(' ');
                }
                push_plain(&mut last.text, text);
                last.right = last.right.max(right);
                if size > last.size {
                    (last.size, last.y) = (size, y);
                }
                blank = None;
                continue;
            }
        }
        let when = pieces.len();
        let mut piece = Piece { left, right, y, size, text: String::new(), shown: (when, when) };
        push_plain(&mut piece.text, text);
        pieces.push(piece);
        blank = None;
    }
    pieces
}

/// Which characters were shown before at the same place: bold letters made by showing them twice, and shadows. One
/// alone is chance, as where a text runs into the next column.
fn shown_again(glyphs: &[&Glyph], shown: &Shown, view: &LayoutView) -> Vec<bool> {
    let mut places: Vec<(i32, char, i32, usize)> = Vec::with_capacity(glyphs.len());
    for (index, glyph) in glyphs.iter().enumerate() {
        let cell = glyph.size * 0.1;
        let (x, y) = view.turn(glyph.start);
        let character = shown.part(glyph).chars().next().unwrap_or(' ');
        places.push(((y / cell).round() as i32, character, (x / cell).round() as i32, index));
    }
    places.sort_unstable();
    let mut again = vec![false; glyphs.len()];
    for pair in places.windows(2) {
        let ((row, character, column, index), (other_row, other, other_column, later)) = (pair[0], pair[1]);
        if row == other_row && character == other && other_column.saturating_sub(column) <= 1 {
            again[index.max(later)] = true;
        }
    }
    for index in 0..again.len() {
        let beside = |at: Option<usize>| at.and_then(|at| again.get(at)).copied().unwrap_or(false);
        if again[index] && !beside(index.checked_sub(1)) && !beside(index.checked_add(1)) {
            again[index] = false;
        }
    }
    again
}

/// Pieces beside each other with no more than a blank between them are one.
fn lines(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut rows: Vec<Vec<Piece>> = Vec::new();
    for piece in pieces {
        match rows.last_mut() {
            Some(row) if row.last().is_some_and(|last| is_beside(last, &piece)) => row.push(piece),
            _ => rows.push(vec![piece]),
        }
    }
    let mut lines: Vec<Piece> = Vec::new();
    for mut row in rows {
        row.sort_by(|a, b| a.left.total_cmp(&b.left));
        let start = lines.len();
        for piece in row {
            match lines[start..].last_mut() {
                Some(last) if joins(last, &piece) => {
                    let larger = last.size.max(piece.size);
                    if piece.left - last.right > BLANK * larger && !last.text.ends_with(' ') {
                        last.text.push(' ');
                    }
                    last.text.push_str(&piece.text);
                    last.right = last.right.max(piece.right);
                    last.shown = (last.shown.0.min(piece.shown.0), last.shown.1.max(piece.shown.1));
                    if piece.size > last.size {
                        (last.size, last.y) = (piece.size, piece.y);
                    }
                }
                _ => lines.push(piece),
            }
        }
    }
    lines
}

fn is_beside(one: &Piece, other: &Piece) -> bool {
    (one.y - other.y).abs() < SAME_LINE * one.size.min(other.size)
}

fn joins(one: &Piece, other: &Piece) -> bool {
    let larger = one.size.max(other.size);
    let gap = other.left - one.right;
    let most = if one.shown.1 + 1 == other.shown.0 { GAP } else { STRANGE_GAP };
    gap > -0.5 * larger && gap < most * larger
}

struct Page {
    out: String,
    /// The last line written: its baseline and its size.
    last: Option<(f32, f32)>,
    is_right_to_left: bool,
}

impl Page {
    /// Writes lines in the order of reading: columns one after the other, else from top to bottom.
    fn order(&mut self, lines: Vec<Piece>, depth: u32) {
        let gutter = if depth < MOST_CUTS { gutter(&lines) } else { None };
        let Some(gutter) = gutter else { return self.rows(lines) };
        // What reaches over the gutter is above or below the columns.
        let mut across: Vec<Piece> = Vec::new();
        let (mut left, mut right): (Vec<Piece>, Vec<Piece>) = (Vec::new(), Vec::new());
        for line in lines {
            let is_across = line.left < gutter - 1.0 && line.right > gutter + 1.0;
            if is_across {
                self.columns(&mut left, &mut right, depth);
                across.push(line);
                continue;
            }
            if !across.is_empty() {
                self.rows(std::mem::take(&mut across));
            }
            if line.left < gutter { left.push(line) } else { right.push(line) }
        }
        self.columns(&mut left, &mut right, depth);
        self.rows(across);
    }

    fn columns(&mut self, left: &mut Vec<Piece>, right: &mut Vec<Piece>, depth: u32) {
        let (left, right) = (std::mem::take(left), std::mem::take(right));
        if left.len() < 2 || right.len() < 2 {
            let mut both = left;
            both.extend(right);
            both.sort_by(|a, b| a.y.total_cmp(&b.y));
            return self.rows(both);
        }
        let (first, second) = if self.is_right_to_left { (right, left) } else { (left, right) };
        self.order(first, depth + 1);
        self.last = None;
        self.order(second, depth + 1);
        self.last = None;
    }

    /// Lines from top to bottom; those on one baseline from left to right.
    fn rows(&mut self, lines: Vec<Piece>) {
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        let mut row: Vec<Piece> = Vec::new();
        for line in lines {
            if row.last().is_none_or(|last| is_beside(last, &line)) {
                row.push(line);
                continue;
            }
            add_row(&mut rows, std::mem::replace(&mut row, vec![line]));
        }
        add_row(&mut rows, row);
        for row in rows {
            let Some(first) = row.first() else { continue };
            let mut text = String::new();
            for cell in &row {
                if !text.is_empty() {
                    text.push_str("  ");
                }
                text.push_str(cell.text.trim());
            }
            if !text.is_ascii() {
                let lines: Vec<String> = text.lines().map(to_logical).collect();
                text = lines.join("\n");
            }
            let (top, size) = (first.first_y, first.last.size);
            let apart = self.last.is_none_or(|(y, before)| {
                let step = top - y;
                step > 1.7 * before.max(size) || step < 0.0 || size > 1.25 * before || before > 1.25 * size
            });
            if apart && !self.out.is_empty() {
                // A word may be cut between two columns, or between lines that are far apart.
                let goes_on = self.out.ends_with('-') && text.starts_with(char::is_lowercase);
                if !goes_on {
                    self.out.push_str("\n\n");
                }
            }
            push_line(&mut self.out, &text);
            let bottom = row.iter().map(|cell| cell.last.y).fold(f32::NEG_INFINITY, f32::max);
            self.last = Some((bottom, size));
        }
    }
}

/// A piece of a row, with the lines that it goes on in.
struct Cell {
    text: String,
    first_y: f32,
    /// Its last line.
    last: Piece,
}

/// Adds a row, or its pieces to the cells above them: where every piece was shown right after the one above it, the
/// writer filled cells of several lines.
fn add_row(rows: &mut Vec<Vec<Cell>>, mut row: Vec<Piece>) {
    row.sort_by(|a, b| a.left.total_cmp(&b.left));
    if let Some(above) = rows.last_mut().filter(|above| above.len() > 1) {
        let places: Option<Vec<usize>> =
            row.iter().map(|piece| above.iter().position(|cell| goes_on(&cell.last, piece))).collect();
        if let Some(places) = places {
            for (place, piece) in places.into_iter().zip(row) {
                push_line(&mut above[place].text, &piece.text);
                above[place].last = piece;
            }
            return;
        }
    }
    rows.push(
        row.into_iter()
            .map(|piece| Cell { text: piece.text.clone(), first_y: piece.y, last: piece })
            .collect(),
    );
}

/// Whether a piece is the next line of a cell.
fn goes_on(above: &Piece, piece: &Piece) -> bool {
    let size = above.size.max(piece.size);
    let centre = |piece: &Piece| (piece.left + piece.right) / 2.0;
    let aligned = (above.left - piece.left).abs() < size || (centre(above) - centre(piece)).abs() < size;
    piece.shown.0 == above.shown.1 + 1 && aligned && (0.0..1.7 * size).contains(&(piece.y - above.y))
}

/// Where a page falls into two columns of running text: the place that the fewest lines reach over, with lines as
/// long as those of a text on both sides. The cells of a table are shorter, and are read row by row.
fn gutter(lines: &[Piece]) -> Option<f32> {
    const STEPS: usize = 256;
    if lines.len() < 6 {
        return None;
    }
    let left = lines.iter().map(|line| line.left).fold(f32::INFINITY, f32::min);
    let right = lines.iter().map(|line| line.right).fold(f32::NEG_INFINITY, f32::max);
    let step = (right - left) / STEPS as f32;
    if !step.is_finite() || step <= 0.0 {
        return None;
    }
    let bin = |x: f32| (((x - left) / step) as usize).min(STEPS - 1);
    // How many lines cover each step, end before it, begin after it.
    let mut covering = [0i32; STEPS + 1];
    let mut ending = [0usize; STEPS + 1];
    let mut beginning = [0usize; STEPS + 1];
    for line in lines {
        let (from, to) = (bin(line.left), bin(line.right));
        covering[from] += 1;
        covering[to + 1] -= 1;
        ending[to] += 1;
        beginning[from] += 1;
    }
    let mut best: Option<(f32, usize, usize)> = None;
    let mut cover = 0i32;
    let mut before = 0usize;
    let mut after = lines.len();
    let mut index = 0;
    while index < STEPS {
        cover += covering[index];
        after -= beginning[index];
        if before >= 3 && after >= 3 && cover >= 0 {
            let crossing = cover as usize;
            let smaller = before.min(after);
            // A run of steps with the same cover is one gutter.
            let mut end = index;
            while end + 1 < STEPS && covering[end + 1] == 0 && beginning[end + 1] == 0 && ending[end] == 0 {
                end += 1;
            }
            let width = end - index + 1;
            if crossing * 3 <= smaller * 2 {
                let score = crossing as f32 / smaller as f32 - width as f32 / STEPS as f32;
                if best.is_none_or(|(known, ..)| score < known) {
                    best = Some((score, index, end));
                }
            }
        }
        before += ending[index];
        index += 1;
    }
    let (_, from, to) = best?;
    let gutter = left + step * (from + to + 1) as f32 / 2.0;
    let long = |side: &dyn Fn(&&Piece) -> bool| {
        let mut widths: Vec<f32> =
            lines.iter().filter(side).map(|line| (line.right - line.left) / line.size.max(0.1)).collect();
        widths.sort_by(f32::total_cmp);
        widths.get(widths.len() / 2).is_some_and(|median| *median > 9.0)
    };
    (long(&|line| line.right <= gutter + 1.0) && long(&|line| line.left >= gutter - 1.0)).then_some(gutter)
}
