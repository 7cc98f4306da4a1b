//! What stands above a passage in its document: titles, the declarations around it, the header row of its table.
//!
//! A heading is kept beside a chunk's text and is never part of it, so that a citation still opens exactly the text that
//! was indexed. It is written when a text is cut, because a chunk does not hold what stands above it, and completed when a
//! passage of the chunk is shown, because a chunk may hold several sections or declarations.

use serde::{Deserialize, Serialize};

use crate::{DocType, IndexKind, filetype};

/// The titles above a passage and the header row of the table that it stands in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Heading {
    /// From the outermost inwards, each with its depth: the level of a heading, the indentation of a declaration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub titles: Vec<(u32, String)>,
    /// The header row, as the document writes its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
}

/// How a text shows its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Declarations, by indentation.
    Code,
    /// Headings that begin with `#`, as in Markdown and in everything that is read into Markdown.
    Marked,
    /// Keys, by indentation: YAML, and JSON that is spread over lines.
    Keys,
    /// Rows of one table.
    Rows,
    /// None of these.
    Plain,
}

impl Layout {
    /// What the type and the name of a file say about the texts that are read as they are.
    pub fn of(doc_type: DocType, name: &str) -> Layout {
        let ending = filetype::stem_and_extension(name).map_or("", |(_, ending)| ending).to_ascii_lowercase();
        match (doc_type, ending.as_str()) {
            (DocType::Code, _) => Layout::Code,
            (DocType::Md, _) => Layout::Marked,
            (_, "csv" | "tsv") => Layout::Rows,
            (_, "yaml" | "yml" | "json") => Layout::Keys,
            _ => Layout::Plain,
        }
    }
}

/// Longer titles are cut: they are there to recognise a place, not to be read.
const TITLE_CHARS: usize = 100;
/// Longer header rows are cut.
const COLUMNS_CHARS: usize = 600;
/// Titles above one another that are kept; the innermost ones.
const MOST_TITLES: usize = 6;
/// Lines that are looked at to find what encloses a line.
const FARTHEST: usize = 5_000;

impl Heading {
    pub fn is_empty(&self) -> bool {
        self.titles.is_empty() && self.columns.is_none()
    }

    /// Puts a title below those that are less deep and in place of those that are not.
    pub fn enter(&mut self, depth: u32, title: &str) {
        let title = one_line(title, TITLE_CHARS);
        if title.is_empty() {
            return;
        }
        self.titles.retain(|(other, _)| *other < depth);
        self.titles.push((depth, title));
        if self.titles.len() > MOST_TITLES {
            self.titles.remove(1);
        }
    }

    pub fn set_columns(&mut self, row: &str) {
        let row = one_line(row, COLUMNS_CHARS);
        self.columns = (!row.is_empty()).then_some(row);
    }

    /// The words by which a chunk below this heading can be found, as far as they do not stand in its text anyway. Code is
    /// found by its own lines alone: the declarations around them stand in other chunks.
    pub fn words_beside(&self, kind: IndexKind, text: &str) -> String {
        if kind == IndexKind::Code {
            return String::new();
        }
        let titles = self.titles.iter().map(|(_, title)| title);
        let beside = titles.chain(&self.columns).filter(|part| !text.contains(part.as_str()));
        beside.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// The heading of one line of a chunk, counted from 0, where `self` is the heading of the chunk's first line.
    pub fn at(&self, text: &str, line: usize, layout: Layout) -> Heading {
        let lines: Vec<&str> = text.split('\n').take(line + 1).collect();
        let mut heading = match layout {
            Layout::Code | Layout::Keys => {
                let (inner, open) = enclosing(&lines, layout);
                let outer = self.titles.iter().filter(|(depth, _)| *depth < open).cloned();
                Heading { titles: outer.chain(inner).collect(), columns: None }
            }
            Layout::Marked => {
                let mut heading = Heading { titles: self.titles.clone(), columns: None };
                for (level, title) in marked(&lines) {
                    heading.enter(level, title);
                }
                heading
            }
            Layout::Rows | Layout::Plain => Heading { titles: self.titles.clone(), columns: None },
        };
        heading.columns = match layout {
            Layout::Rows => self.columns.clone(),
            _ => match table_top(&lines) {
                Some(0) if self.columns.is_some() => self.columns.clone(),
                Some(top) if top < line => Some(one_line(lines[top], COLUMNS_CHARS)),
                _ => None,
            },
        };
        // A row is not its own header.
        if lines.last().is_some_and(|own| heading.columns.as_deref() == Some(&one_line(own, COLUMNS_CHARS))) {
            heading.columns = None;
        }
        heading
    }
}

/// The declarations or keys that the last of the lines stands in, the outermost first, and how deep the first line still
/// is when they are all found: what stands above the text and is less deep encloses it too.
pub fn enclosing(lines: &[&str], layout: Layout) -> (Vec<(u32, String)>, u32) {
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut above = lines.iter().rev().skip_while(|line| line.trim().is_empty());
    let Some(own) = above.next() else { return (found, 0) };
    // The end of a block stands beside its head.
    let mut open = indentation(own) + u32::from(is_continued(own.trim_start()));
    for line in above.take(FARTHEST) {
        if open == 0 {
            break;
        }
        let code = line.trim();
        let indent = indentation(line);
        if code.is_empty() || indent >= open || is_comment(code, layout) {
            continue;
        }
        if is_continued(code) {
            open = indent + 1;
            continue;
        }
        open = indent;
        let is_head = if layout == Layout::Code { is_declaration(code) } else { is_key(code) };
        if is_head && found.len() < MOST_TITLES {
            found.push((indent, label(code)));
        }
    }
    found.reverse();
    (found, open)
}

/// The headings among the lines, with their levels; those in fenced code do not count.
fn marked<'a>(lines: &[&'a str]) -> Vec<(u32, &'a str)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => {
                if let Some(heading) = marked_heading(line) {
                    found.push(heading);
                } else if let Some(level) = underline(lines.get(number + 1).copied().unwrap_or(""))
                    && !bare.is_empty()
                    && !bare.starts_with(['|', '-', '>', '*'])
                {
                    found.push((level, bare.trim_end()));
                }
            }
        }
    }
    found
}

/// The level and the words of `## words ##`.
pub fn marked_heading(line: &str) -> Option<(u32, &str)> {
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    if !(1..=6).contains(&level) || !words.starts_with([' ', '\t']) {
        return None;
    }
    let words = words.trim().trim_end_matches('#').trim_end();
    (!words.is_empty()).then_some((level as u32, words))
}

/// The level that a line gives to the line above it: `===` or `---`.
pub fn underline(line: &str) -> Option<u32> {
    let marks = line.trim();
    if marks.len() < 3 {
        return None;
    }
    if marks.bytes().all(|byte| byte == b'=') {
        return Some(1);
    }
    marks.bytes().all(|byte| byte == b'-').then_some(2)
}

/// The first row of the table of `|` lines that the last of the lines stands in.
pub fn table_top(lines: &[&str]) -> Option<usize> {
    let rows = lines.iter().rev().take_while(|line| line.trim_start().starts_with('|')).count();
    (rows > 0).then(|| lines.len() - rows)
}

/// Whether cells look like the header of a table: several, and names rather than numbers. Years are names of columns.
pub fn is_header(cells: &[&str]) -> bool {
    let told: Vec<&str> = cells.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect();
    let is_value = |cell: &&&str| {
        let digits = cell.bytes().filter(u8::is_ascii_digit).count();
        let is_year = cell.len() == 4 && digits == 4 && (cell.starts_with("19") || cell.starts_with("20"));
        digits * 2 > cell.len() && !is_year
    };
    told.len() >= 2 && told.iter().filter(is_value).count() * 3 <= told.len()
}

/// A tab is as deep as four spaces; all that matters is that more is deeper.
fn indentation(line: &str) -> u32 {
    let space = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    space.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
}

/// Whether the line goes on with something that began at the same depth above: the end of a block or of a list of
/// parameters, or a bracket that stands alone.
fn is_continued(code: &str) -> bool {
    code.starts_with(['}', ')', ']', '{'])
}

fn is_comment(code: &str, layout: Layout) -> bool {
    ["//", "/*", "*", "--", "@", "#["].iter().any(|mark| code.starts_with(mark))
        || code.starts_with('#') && (layout == Layout::Keys || !code.starts_with("#define"))
}

const DECLARING: &[&str] = &[
    "class",
    "struct",
    "enum",
    "union",
    "trait",
    "impl",
    "interface",
    "protocol",
    "extension",
    "record",
    "object",
    "module",
    "mod",
    "namespace",
    "fn",
    "func",
    "function",
    "fun",
    "def",
    "defmodule",
    "defp",
    "sub",
    "proc",
    "procedure",
    "macro_rules",
    "contract",
    "type",
];

/// What begins a block that declares nothing.
const CONTROL: &[&str] = &[
    "if",
    "else",
    "elif",
    "elsif",
    "for",
    "foreach",
    "while",
    "do",
    "switch",
    "case",
    "match",
    "try",
    "catch",
    "except",
    "finally",
    "with",
    "return",
    "loop",
    "unless",
    "until",
    "when",
    "begin",
    "rescue",
    "select",
    "go",
    "defer",
    "using",
    "lock",
    "synchronized",
    "await",
    "yield",
    "default",
    "public:",
    "private:",
    "protected:",
];

fn is_declaration(code: &str) -> bool {
    let words = || {
        code.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).filter(|word| !word.is_empty())
    };
    if words().next().is_none_or(|first| CONTROL.contains(&first)) {
        return false;
    }
    words().take(6).any(|word| DECLARING.contains(&word))
        || code.contains('(') && code.ends_with(['{', ')', '('])
}

/// `key:`, `"key": {`, `[table]` is left out: it stands at the margin and encloses nothing by its indentation.
fn is_key(code: &str) -> bool {
    code.ends_with([':', '{', '[']) && code.len() > 1 || code.starts_with("- ")
}

/// A declaration without what only opens its body.
fn label(code: &str) -> String {
    let bare = code.trim_end_matches(['{', ':', '[', '(', ' ', '\t']).trim_matches('"');
    one_line(bare.trim_end_matches(['"', '=', ' ']), TITLE_CHARS)
}

/// The text on one line, cut to a number of characters.
fn one_line(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(heading: &Heading) -> Vec<&str> {
        heading.titles.iter().map(|(_, title)| title.as_str()).collect()
    }

    fn at(text: &str, marked: &str, layout: Layout) -> Heading {
        let line = text.split('\n').position(|line| line.contains(marked)).unwrap();
        Heading::default().at(text, line, layout)
    }

    #[test]
    fn declarations_around_a_line_of_code() {
        let python = "class Session(Base):\n    x = 1\n\n    @cached\n    def load(self):\n        if self.x:\n            here()\n";
        assert_eq!(titles(&at(python, "here", Layout::Code)), ["class Session(Base)", "def load(self)"]);
        assert_eq!(titles(&at(python, "x = 1", Layout::Code)), ["class Session(Base)"]);
        let rust = "impl Guard {\n    pub fn open(\n        &self,\n        path: &Path,\n    ) -> Result<()> {\n        here()\n    }\n\n    fn next() {}\n}\n";
        assert_eq!(titles(&at(rust, "here", Layout::Code)), ["impl Guard", "pub fn open"]);
        assert_eq!(titles(&at(rust, "fn next", Layout::Code)), ["impl Guard"]);
        let c = "static int\nparse(const char *s)\n{\n\tfor (;;) {\n\t\there();\n\t}\n}\n";
        assert_eq!(titles(&at(c, "here", Layout::Code)), ["parse(const char *s)"]);
        assert!(at("import os\n\nhere()\n", "here", Layout::Code).is_empty());
    }

    #[test]
    fn what_encloses_a_chunk_encloses_its_lines() {
        let heading =
            Heading { titles: vec![(0, "class A".into()), (4, "def f(self)".into())], columns: None };
        let text = "        deep = 1\n    def g(self):\n        here()\n";
        assert_eq!(titles(&heading.at(text, 0, Layout::Code)), ["class A", "def f(self)"]);
        assert_eq!(titles(&heading.at(text, 1, Layout::Code)), ["class A"]);
        assert_eq!(titles(&heading.at(text, 2, Layout::Code)), ["class A", "def g(self)"]);
    }

    #[test]
    fn sections_by_their_levels() {
        let text = "# Guide\n\n## Install\n```\n# not one\n```\n### Linux\nhere\n## Use\nthere\n";
        assert_eq!(titles(&at(text, "here", Layout::Marked)), ["Guide", "Install", "Linux"]);
        assert_eq!(titles(&at(text, "there", Layout::Marked)), ["Guide", "Use"]);
        assert_eq!(
            titles(&at("Guide\n=====\n\nPart\n----\nhere\n", "here", Layout::Marked)),
            ["Guide", "Part"]
        );
    }

    #[test]
    fn keys_of_data() {
        let yaml = "server:\n  tls:\n    # a comment\n    cert: here\n";
        assert_eq!(titles(&at(yaml, "here", Layout::Keys)), ["server", "tls"]);
        let json = "{\n  \"server\": {\n    \"tls\": {\n      \"cert\": \"here\"\n";
        assert_eq!(titles(&at(json, "here", Layout::Keys)), ["server", "tls"]);
    }

    #[test]
    fn the_header_row_of_a_table() {
        let text = "Before\n| a | b |\n|---|---|\n| 1 | here |\n";
        assert_eq!(at(text, "here", Layout::Plain).columns.as_deref(), Some("| a | b |"));
        assert_eq!(at(text, "| a |", Layout::Plain).columns, None);
        let rest = Heading { titles: vec![], columns: Some("| a | b |".into()) };
        assert_eq!(rest.at("| 3 | 4 |\n| 5 | 6 |", 1, Layout::Plain).columns.as_deref(), Some("| a | b |"));
        assert_eq!(
            rest.at("text\n\n| 5 | 6 |\n| 7 | 8 |", 3, Layout::Plain).columns.as_deref(),
            Some("| 5 | 6 |")
        );
    }

    #[test]
    fn headers_are_names() {
        assert!(is_header(&["Product", "Region", "Q1"]));
        assert!(is_header(&["Region", "2021", "2022"]));
        assert!(!is_header(&["Revenue of the year", ""]));
        assert!(!is_header(&["Gripper", "12.5", "1,300"]));
    }

    #[test]
    fn words_are_those_that_the_text_lacks() {
        let heading = Heading {
            titles: vec![(0, "Budget".into()), (1, "Sheet 1".into())],
            columns: Some("| a |".into()),
        };
        assert_eq!(heading.words_beside(IndexKind::Text, "| a |\n| 1 | Budget |"), "Sheet 1");
        assert_eq!(heading.words_beside(IndexKind::Code, ""), "");
    }
}
