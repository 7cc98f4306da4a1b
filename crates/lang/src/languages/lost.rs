//! Declarations that a parser lost in a text with errors, found again by their first words.

use std::collections::HashSet;
use std::ops::Range;

use regex::Regex;

use crate::notes::line;
use crate::rules::Declared;
use crate::visit::Visit;
use crate::walk;
use model::SymbolKind;

/// What looks for the end of a declaration looks only so far.
const MAX_BODY: usize = 100_000;

/// Adds what `pattern` finds on lines that declare nothing yet: its group `name` is the name, its group `word` says
/// what it is, and a declaration without that word is a function.
pub(super) fn find(visit: &mut Visit<'_>, pattern: &Regex) {
    let source = visit.source;
    let known: HashSet<u32> =
        visit.symbols.iter().flat_map(|symbol| [symbol.start_line, symbol.name_line]).collect();
    let (mut at, mut row) = (0, 0);
    for found in pattern.captures_iter(source) {
        let (Some(whole), Some(name)) = (found.get(0), found.name("name")) else { continue };
        row += source[at..name.start()].matches('\n').count();
        at = name.start();
        if known.contains(&line(row)) || KEYWORDS.contains(&name.as_str()) {
            continue;
        }
        let extent = Extent {
            start: whole.end() - whole.as_str().trim_start().len(),
            name: name.range(),
            end: body_end(source, name.end()),
            row,
        };
        let word = found.name("word").map_or("", |word| word.as_str());
        let declared = declared(source, kind(word), name.as_str().to_owned(), &extent, &['{', ';', '\n']);
        walk::add(visit, declared);
    }
}

/// Where a declaration is in a text, in bytes.
pub(super) struct Extent {
    pub(super) start: usize,
    pub(super) name: Range<usize>,
    pub(super) end: usize,
    /// Of the name.
    pub(super) row: usize,
}

/// A declaration that was found by its words, with nothing inside it. Its signature ends at the first of `stops`.
pub(super) fn declared(
    source: &str,
    kind: SymbolKind,
    name: String,
    extent: &Extent,
    stops: &[char],
) -> Declared {
    let Extent { start, name: at, end, row } = extent;
    let rows = |from: usize, to: usize| source[from..to].matches('\n').count();
    let head = source[*start..*end].find(stops).map_or(*end, |length| start + length);
    Declared {
        kind,
        name,
        name_row: *row,
        owner: None,
        start: *start,
        start_row: row - rows(*start, at.start),
        end_row: row + rows(at.start, *end),
        head_end: head.max(at.end),
        signature: None,
        returns: None,
        decorators: Vec::new(),
        doc: None,
        opens: None,
        look_inside: false,
    }
}

/// Words that come before a parenthesis and a brace and name nothing.
const KEYWORDS: [&str; 10] =
    ["if", "for", "while", "switch", "return", "else", "do", "catch", "sizeof", "defined"];

fn kind(word: &str) -> SymbolKind {
    match word.split_whitespace().next().unwrap_or("") {
        "class" => SymbolKind::Class,
        "struct" => SymbolKind::Struct,
        "union" => SymbolKind::Union,
        "enum" => SymbolKind::Enum,
        "interface" => SymbolKind::Interface,
        "namespace" => SymbolKind::Namespace,
        "type" | "using" => SymbolKind::Type,
        _ => SymbolKind::Function,
    }
}

/// The brace that closes the first one, taking those in strings for real; the end of the line if none opens.
fn body_end(source: &str, from: usize) -> usize {
    let bytes = &source.as_bytes()[from..source.len().min(from + MAX_BODY)];
    let line_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let mut depth = 0_usize;
    let mut end = line_end;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => {
                end = at + 1;
                break;
            }
            b'}' if depth > 0 => depth -= 1,
            b'}' | b';' if depth == 0 => {
                end = at.min(line_end);
                break;
            }
            _ => {}
        }
    }
    // What was looked at may end in the middle of a character.
    (from..=from + end).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(from)
}
