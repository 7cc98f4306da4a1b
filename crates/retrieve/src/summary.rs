//! A summary of results without a model: the passage of each file that answers the question best, in a fixed order.

use std::collections::HashSet;

use crate::caption::without_caption;
use crate::parse::Parsed;
use crate::snippet::snippet;

/// Results that are read; the rest is counted.
const MOST_RESULTS: usize = 20;
/// What is read of one snippet: ours have 2 kB at most.
const MOST_BYTES: usize = 4096;
/// Characters of one result.
const EXCERPT: usize = 200;
/// Completion tokens unless told otherwise, and at most.
const TOKENS: u32 = 400;
const MOST_TOKENS: u32 = 800;
/// Letters of a token, roughly.
const LETTERS: usize = 4;
/// Files that are named as the sources of a paragraph.
const KEY_FILES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SummaryStyle {
    #[default]
    Bullets,
    Paragraph,
    Table,
}

/// A result as the caller gives it back.
#[derive(Debug, Clone)]
pub struct GivenResult {
    pub path: String,
    pub snippet: String,
}

/// The tokens that a summary may have, of those that were asked for.
pub fn completion_tokens(max_tokens: Option<u32>) -> u32 {
    max_tokens.unwrap_or(TOKENS).clamp(1, MOST_TOKENS)
}

/// A summary of at most so many tokens. Only what the caller sends is read, and no more of it than `blank` lets through.
pub fn summarize(
    query: &str,
    results: &[GivenResult],
    style: SummaryStyle,
    max_tokens: Option<u32>,
    blank: &dyn Fn(&str) -> String,
) -> String {
    let room = completion_tokens(max_tokens) as usize * LETTERS;
    let results: Vec<GivenResult> = results
        .iter()
        .take(MOST_RESULTS)
        .map(|given| {
            let snippet = &given.snippet[..given.snippet.floor_char_boundary(MOST_BYTES)];
            GivenResult { path: given.path.clone(), snippet: blank(snippet) }
        })
        .collect();
    summary(query, &results, style, room)
}

struct Excerpt {
    name: String,
    text: String,
}

fn summary(query: &str, results: &[GivenResult], style: SummaryStyle, room: usize) -> String {
    let excerpts = excerpts(query, results);
    if excerpts.is_empty() {
        return cut(&format!("No results to summarise for “{}”.", one_line(query)), room);
    }
    let text = match style {
        SummaryStyle::Bullets => {
            lines(&excerpts, room, |excerpt| format!("- {} ({})\n", excerpt.text, excerpt.name))
        }
        SummaryStyle::Table => {
            let head = "| file | what it says |\n|---|---|\n";
            let cell = |text: &str| text.replace('|', "\\|");
            let rows = lines(&excerpts, room.saturating_sub(head.len()), |excerpt| {
                format!("| {} | {} |\n", cell(&excerpt.name), cell(&excerpt.text))
            });
            format!("{head}{rows}")
        }
        SummaryStyle::Paragraph => {
            let mut names: Vec<&str> = Vec::new();
            for excerpt in &excerpts {
                if !names.contains(&excerpt.name.as_str()) && names.len() < KEY_FILES {
                    names.push(&excerpt.name);
                }
            }
            let sources = format!("Key files: {}.", names.join(", "));
            let sentence = |excerpt: &Excerpt| {
                let end = if excerpt.text.ends_with(['.', '!', '?', '…', ':']) { "" } else { "." };
                format!("{}{end} ", excerpt.text)
            };
            format!("{}{sources}", lines(&excerpts, room.saturating_sub(sources.len()), sentence))
        }
    };
    cut(text.trim_end(), room)
}

/// Of each result what answers best, without what was said before.
fn excerpts(query: &str, results: &[GivenResult]) -> Vec<Excerpt> {
    let parsed = Parsed::new(query);
    let words: Vec<String> = parsed
        .content_terms()
        .into_iter()
        .flat_map(|term| std::iter::once(&term.token).chain(&term.variants))
        .cloned()
        .collect();
    let mut said = HashSet::new();
    results
        .iter()
        .filter_map(|result| {
            let passage = without_caption(&result.snippet);
            let text = plain(&snippet(passage, &words, EXCERPT).text);
            let name = result.path.rsplit(['/', '\\']).next().unwrap_or(&result.path);
            let new = !text.is_empty() && said.insert(text.to_lowercase());
            new.then(|| Excerpt { name: one_line(name), text })
        })
        .collect()
}

/// As many excerpts as there is room for, at least the first.
fn lines(excerpts: &[Excerpt], room: usize, write: impl Fn(&Excerpt) -> String) -> String {
    let mut text = String::new();
    for excerpt in excerpts {
        let line = write(excerpt);
        if !text.is_empty() && text.len() + line.len() > room {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// The words of a passage on one line, without the marks that only lay it out: those of headings, list items, quotations
/// and tables. The cells of a row are parted by commas.
fn plain(passage: &str) -> String {
    let lines = passage.lines().map(str::trim).filter(|line| !line.is_empty() && !is_rule(line));
    let bare = lines.map(|line| {
        let words = line.trim_start_matches(['#', '>', ' ']);
        let words = words.strip_prefix("- ").or_else(|| words.strip_prefix("* ")).unwrap_or(words);
        if !line.starts_with('|') {
            return words.to_owned();
        }
        let cells = line.trim_matches('|').split('|').map(str::trim).filter(|cell| !cell.is_empty());
        cells.collect::<Vec<_>>().join(", ")
    });
    one_line(&bare.collect::<Vec<_>>().join(" "))
}

/// `|---|---|`, `-----`, ```` ``` ````.
fn is_rule(line: &str) -> bool {
    line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '=' | '`' | '~'))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, room: usize) -> String {
    match text.char_indices().nth(room) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Vec<GivenResult> {
        let given = |path: &str, snippet: &str| GivenResult { path: path.into(), snippet: snippet.into() };
        vec![
            given("/r/contract.docx", "Vendor X agrees to provide services.\nPaid monthly."),
            given("/r/copy.docx", "Vendor X agrees to provide services.\nPaid monthly."),
            given("/r/plan.pptx", "Scope of the 2021 contract | with tables"),
        ]
    }

    #[test]
    fn s025_s026_styles() {
        assert_eq!(
            summary("vendor x contracts", &results(), SummaryStyle::Bullets, 1600),
            "- Vendor X agrees to provide services. Paid monthly. (contract.docx)\n\
             - Scope of the 2021 contract | with tables (plan.pptx)"
        );
        assert_eq!(
            summary("vendor x contracts", &results(), SummaryStyle::Paragraph, 1600),
            "Vendor X agrees to provide services. Paid monthly. Scope of the 2021 contract | with tables. \
             Key files: contract.docx, plan.pptx."
        );
        assert_eq!(
            summary("vendor x contracts", &results(), SummaryStyle::Table, 1600),
            "| file | what it says |\n|---|---|\n\
             | contract.docx | Vendor X agrees to provide services. Paid monthly. |\n\
             | plan.pptx | Scope of the 2021 contract \\| with tables |"
        );
        assert_eq!(summary("x", &[], SummaryStyle::Bullets, 1600), "No results to summarise for “x”.");
    }

    #[test]
    fn summaries_hold_words_and_not_the_marks_around_them() {
        let given = vec![GivenResult {
            path: "/r/notes.md".into(),
            snippet: "@@ L3-L6 @@ Plan\n# Scope\n\n- the roof\n| part | cost |\n|---|---|\n| tiles | 40 |"
                .into(),
        }];
        let text = summary("roof", &given, SummaryStyle::Bullets, 1600);
        assert_eq!(text, "- Scope the roof part, cost tiles, 40 (notes.md)");
    }

    #[test]
    fn s025_a_summary_keeps_to_its_room() {
        for style in [SummaryStyle::Bullets, SummaryStyle::Paragraph, SummaryStyle::Table] {
            let text = summary("vendor", &results(), style, 40);
            assert!(text.chars().count() <= 41, "{text}");
        }
    }
}
