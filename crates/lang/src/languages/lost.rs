//! Declarations that a parser lost in a text with errors, found again by their first words.

use std::collections::HashSet;

use regex::Regex;

use crate::rules::Declared;
use crate::visit::{Visit, line};
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
        let start = whole.end() - whole.as_str().trim_start().len();
        let end = body_end(source, name.end());
        let head = source[start..end].find(['{', ';', '\n']).map_or(end, |length| start + length);
        let word = found.name("word").map_or("", |word| word.as_str());
        let declared = Declared {
            kind: kind(word),
            name: name.as_str().to_owned(),
            name_row: row,
            owner: None,
            start,
            start_row: row - source[start..name.start()].matches('\n').count(),
            end_row: row + source[name.start()..end].matches('\n').count(),
            head_end: head.max(name.end()),
            signature: None,
            returns: None,
            decorators: Vec::new(),
            doc: None,
            opens: None,
            look_inside: false,
        };
        walk::add(visit, declared);
    }
}

/// Words that stand before a parenthesis and a brace and name nothing.
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
