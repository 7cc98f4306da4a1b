//! Scripts that run from right to left: from the order and the shapes in which a page shows them to the order and the
//! letters in which people write and search.

use unicode_normalization::UnicodeNormalization;

/// How a character takes part in the order of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Right,
    Left,
    Number,
    Neutral,
}

fn direction(character: char) -> Direction {
    match character {
        '0'..='9' | '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}' => Direction::Number,
        '\u{590}'..='\u{8ff}'
        | '\u{fb1d}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' => Direction::Left,
        letter if letter.is_alphabetic() => Direction::Right,
        _ => Direction::Neutral,
    }
}

pub(super) fn runs_left(character: char) -> bool {
    direction(character) == Direction::Left
}

/// The letters that a shape for one position in a word shows. Letters that are shown as one glyph come in the
/// order in which a page would show them one by one: [`to_logical`] turns them.
pub(super) fn push_letters(out: &mut String, text: &str) {
    let mut letters: Vec<char> = Vec::new();
    for character in text.chars() {
        match character {
            // Shapes for one position; those of vowel signs are written with a blank to carry them.
            '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => {
                letters.extend([character].into_iter().nfkc().filter(|letter| *letter != ' '));
            }
            other => letters.push(other),
        }
    }
    if letters.len() > 1 && letters.iter().any(|letter| runs_left(*letter)) {
        letters.reverse();
    }
    out.extend(letters);
}

/// A line as it is shown, from left to right, in the order of reading.
pub(super) fn to_logical(line: &str) -> String {
    if !line.chars().any(runs_left) {
        return line.to_owned();
    }
    let mut line: Vec<char> = line.chars().collect();
    let levels = levels(&line);
    let highest = levels.iter().copied().max().unwrap_or(0);
    // What lies deeper was turned more often; turning it again gives the order it came from.
    let mut order: Vec<usize> = (0..line.len()).collect();
    for level in (1..=highest).rev() {
        let mut at = 0;
        while at < levels.len() {
            let length = levels[at..].iter().take_while(|found| **found >= level).count();
            order[at..at + length].reverse();
            at += length.max(1);
        }
    }
    for (character, level) in line.iter_mut().zip(&levels) {
        if level % 2 == 1 {
            *character = mirrored(*character);
        }
    }
    order.into_iter().map(|at| line[at]).collect()
}

/// How deep each character lies: even numbers run right, odd ones left.
fn levels(line: &[char]) -> Vec<u8> {
    let directions: Vec<Direction> = line.iter().map(|character| direction(*character)).collect();
    let count = |wanted| directions.iter().filter(|found| **found == wanted).count();
    let base = u8::from(count(Direction::Left) > count(Direction::Right));
    let separates = blanks_between_numbers(line, &directions);
    let mut levels = vec![base; line.len()];
    let mut at = 0;
    while at < line.len() {
        let (is_inside, level): (fn(Direction) -> bool, u8) = match (base, directions[at]) {
            (1, Direction::Right | Direction::Number) => {
                (|found| matches!(found, Direction::Right | Direction::Number), 2)
            }
            (0, Direction::Left) => (|found| matches!(found, Direction::Left), 1),
            _ => {
                at += 1;
                continue;
            }
        };
        // A run reaches over blanks and signs to the next character of its kind, unless another kind comes first.
        let mut end = at + 1;
        for (place, found) in directions.iter().enumerate().skip(at + 1) {
            let is_other = *found != Direction::Neutral && (level == 2 || *found != Direction::Number);
            if is_inside(*found) {
                end = place + 1;
            } else if is_other || (level == 2 && separates[place]) {
                break;
            }
        }
        levels[at..end].fill(level);
        at = end;
    }
    if base == 0 {
        for (level, found) in levels.iter_mut().zip(&directions) {
            if *level == 1 && *found == Direction::Number {
                *level = 2;
            }
        }
    }
    levels
}

/// The blanks between two numbers: they separate the numbers of a list, which do not run as one.
fn blanks_between_numbers(line: &[char], directions: &[Direction]) -> Vec<bool> {
    let mut found = vec![false; line.len()];
    let mut number: Option<usize> = None;
    for (at, direction) in directions.iter().enumerate() {
        match direction {
            Direction::Neutral => {}
            Direction::Number => {
                for place in number.map_or(at, |before| before + 1)..at {
                    found[place] = line[place].is_whitespace();
                }
                number = Some(at);
            }
            Direction::Left | Direction::Right => number = None,
        }
    }
    found
}

fn mirrored(character: char) -> char {
    match character {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '{' => '}',
        '}' => '{',
        '<' => '>',
        '>' => '<',
        '«' => '»',
        '»' => '«',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{push_letters, to_logical};

    #[test]
    fn lines_in_the_order_of_reading() {
        assert_eq!(to_logical("plain (text) 1"), "plain (text) 1");
        // As shown, from left to right.
        assert_eq!(to_logical("םולש"), "שלום");
        assert_eq!(to_logical("(םלוע) םולש"), "שלום (עולם)");
        assert_eq!(to_logical("12.5 קר Rust 3 םולש"), "שלום Rust 3 רק 12.5");
        assert_eq!(to_logical("the word םולש in a line"), "the word שלום in a line");
        assert_eq!(to_logical("the words םלוע 12 םולש in a line"), "the words שלום 12 עולם in a line");
    }

    #[test]
    fn shapes_are_letters() {
        let mut visual = String::new();
        // meem and lam-alef with seen before them, as shown from left to right.
        for shape in ["\u{fee1}", "\u{fefc}", "\u{feb3}"] {
            push_letters(&mut visual, shape);
        }
        assert_eq!(to_logical(&visual), "\u{633}\u{644}\u{627}\u{645}");
        let mut marks = String::new();
        push_letters(&mut marks, "\u{fe76}");
        assert_eq!(marks, "\u{64e}");
    }
}
