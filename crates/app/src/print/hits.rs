//! Hits and answers for people: `path:line:` in front, which editors and terminals follow, and links where they can be
//! clicked.

use std::path::Path;

use model::Span;
use model::citation::citation_text;
use serde_json::Value;

use super::style::{self, Ink, Look};
use super::{safe, safe_text};

/// The structured result of a search, as text.
pub(crate) fn list(root: &Path, asked: &str, result: &Value) -> String {
    shown(root, asked, result, style::out())
}

/// An answer whose citations are links, on a terminal that takes them. The text must be safe already.
pub(crate) fn with_links(root: &Path, text: &str, result: &Value) -> String {
    linked(root, text, result, style::out())
}

fn shown(root: &Path, asked: &str, result: &Value, look: Look) -> String {
    let hits = result["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = safe(asked);
    if hits.is_empty() {
        let mut text = format!("No hits for \"{asked}\". Try other words or fewer filters.\n");
        text.push_str(still_running(result));
        return text;
    }
    let mut text = String::new();
    for hit in hits {
        let path = hit["rel_path"].as_str().unwrap_or_default();
        let (line, place) = place(&hit["span"]);
        let name = look.link(&root.join(path), line, &look.paint(Ink::Path, &safe(path)));
        let line =
            line.map(|line| format!(":{}", look.paint(Ink::Place, &line.to_string()))).unwrap_or_default();
        let score = hit["score"].as_f64().unwrap_or_default();
        let aside = look.paint(Ink::Aside, &format!("{place}, score {score:.2}"));
        text.push_str(&format!("{name}{line}: {aside}\n"));
        for snippet in safe_text(hit["snippet"].as_str().unwrap_or_default()).lines() {
            text.push_str(&format!("    {snippet}\n"));
        }
    }
    let count = if hits.len() == 1 { "1 hit".to_owned() } else { format!("{} hits, best first", hits.len()) };
    text.push_str(&look.paint(Ink::Aside, &format!("{count}. To read one: dir2mcp open {}", forms(hits))));
    text.push('\n');
    text.push_str(still_running(result));
    text
}

/// How `dir2mcp open` takes the places of these hits.
fn forms(hits: &[Value]) -> String {
    let has = |kind: &str| hits.iter().any(|hit| hit["span"]["kind"] == kind);
    let forms = [("lines", "PATH:LINES"), ("page", "'PATH#p=PAGE'"), ("time", "'PATH@t=FROM-TO'")];
    let used: Vec<&str> = forms.iter().filter(|(kind, _)| has(kind)).map(|(_, form)| *form).collect();
    if used.is_empty() { "PATH".to_owned() } else { used.join(" or ") }
}

fn linked(root: &Path, text: &str, result: &Value, look: Look) -> String {
    let mut text = text.to_owned();
    if look == Look::default() {
        return text;
    }
    let mut done: Vec<String> = Vec::new();
    for citation in result["citations"].as_array().into_iter().flatten() {
        let path = citation["rel_path"].as_str().unwrap_or_default();
        let Some(span) = span(&citation["span"]) else { continue };
        let written = safe(&citation_text(path, span)).into_owned();
        if !done.contains(&written) {
            let (line, _) = place(&citation["span"]);
            let link = look.link(&root.join(path), line, &look.paint(Ink::Path, &written));
            text = text.replace(&written, &link);
            done.push(written);
        }
    }
    text
}

/// The first line, where there are lines, and the place in words.
fn place(value: &Value) -> (Option<u64>, String) {
    match span(value) {
        Some(Span::Lines { start_line, end_line }) if start_line == end_line => {
            (Some(start_line.into()), format!("line {start_line}"))
        }
        Some(Span::Lines { start_line, end_line }) => {
            (Some(start_line.into()), format!("lines {start_line}-{end_line}"))
        }
        Some(Span::Page { page }) => (None, format!("page {page}")),
        Some(time @ Span::Time { .. }) => {
            let text = citation_text("", time);
            (None, text.trim_start_matches("[@t=").trim_end_matches(']').to_owned())
        }
        None => (None, "somewhere".to_owned()),
    }
}

fn span(value: &Value) -> Option<Span> {
    let number = |name: &str| value[name].as_u64();
    let narrow = |name: &str| number(name).and_then(|number| u32::try_from(number).ok());
    Some(match value["kind"].as_str()? {
        "lines" => Span::Lines { start_line: narrow("start_line")?, end_line: narrow("end_line")? },
        "page" => Span::Page { page: narrow("page")? },
        "time" => Span::Time { start_ms: number("start_ms")?, end_ms: number("end_ms")? },
        _ => return None,
    })
}

fn still_running(result: &Value) -> &'static str {
    if result["indexing_complete"] == false {
        "Indexing is still running: more may be found later.\n"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result() -> Value {
        json!({
            "hits": [
                { "rel_path": "src/a.rs", "score": 0.98, "snippet": "fn a() {\n\x1b[2J}",
                  "span": { "kind": "lines", "start_line": 3, "end_line": 9 } },
                { "rel_path": "g.pdf", "score": 0.4, "snippet": "x", "span": { "kind": "page", "page": 7 } },
                { "rel_path": "t.vtt", "score": 0.3, "snippet": "y",
                  "span": { "kind": "time", "start_ms": 30000, "end_ms": 60000 } },
            ],
            "citations": [{ "rel_path": "src/a.rs", "span": { "kind": "lines", "start_line": 3, "end_line": 9 } }],
            "indexing_complete": true,
        })
    }

    #[test]
    fn editors_find_the_place_in_plain_text() {
        assert_eq!(
            shown(Path::new("/r"), "a", &result(), Look::default()),
            "src/a.rs:3: lines 3-9, score 0.98\n    fn a() {\n    \\u{1b}[2J}\n\
             g.pdf: page 7, score 0.40\n    x\n\
             t.vtt: 00:30-01:00, score 0.30\n    y\n\
             3 hits, best first. To read one: dir2mcp open PATH:LINES or 'PATH#p=PAGE' or 'PATH@t=FROM-TO'\n"
        );
        let none = json!({ "hits": [], "indexing_complete": false });
        let text = shown(Path::new("/r"), "a\x1b", &none, Look::default());
        assert_eq!(
            text,
            "No hits for \"a\\u{1b}\". Try other words or fewer filters.\n\
             Indexing is still running: more may be found later.\n"
        );
    }

    #[test]
    fn terminals_that_take_links_get_them() {
        let look = Look { colour: true, links: true };
        let text = shown(Path::new("/r"), "a", &result(), look);
        assert!(
            text.starts_with("\x1b]8;;file:///r/src/a.rs#L3\x1b\\\x1b[35msrc/a.rs\x1b[0m\x1b]8;;\x1b\\:"),
            "{text:?}"
        );
        let answer = linked(Path::new("/r"), "It runs. [src/a.rs:L3-L9]", &result(), look);
        assert!(answer.contains("\x1b]8;;file:///r/src/a.rs#L3\x1b\\"), "{answer:?}");
        assert_eq!(
            linked(Path::new("/r"), "x [src/a.rs:L3-L9]", &result(), Look::default()),
            "x [src/a.rs:L3-L9]"
        );
    }
}
