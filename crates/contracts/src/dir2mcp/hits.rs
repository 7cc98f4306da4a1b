//! Hits as data and as text, for search and ask.

use model::citation::citation_text;
use model::{Hit, Span};
use serde_json::{Value, json};

use crate::text::{Summary, one_line, visible};

/// The `Hit` of section 15.1.2.
pub(super) fn hit_json(hit: &Hit) -> Value {
    json!({
        "chunk_id": hit.chunk_id.0,
        "rel_path": hit.rel_path,
        "doc_type": hit.doc_type.as_str(),
        "rep_type": hit.rep_type.as_str(),
        "score": rounded(hit.score),
        "snippet": hit.snippet,
        "span": span_json(hit.span),
    })
}

pub(super) fn span_json(span: Span) -> Value {
    match span {
        Span::Lines { start_line, end_line } => {
            json!({ "kind": "lines", "start_line": start_line, "end_line": end_line })
        }
        Span::Page { page } => json!({ "kind": "page", "page": page }),
        Span::Time { start_ms, end_ms } => json!({ "kind": "time", "start_ms": start_ms, "end_ms": end_ms }),
    }
}

/// Six digits say all that a score can; the rest would be the noise of the float's conversion.
fn rounded(score: f32) -> f64 {
    let score = if score.is_finite() { f64::from(score) } else { 0.0 };
    (score * 1e6).round() / 1e6
}

/// One entry per hit: `1. [path:L1-L9] score 0.87` and the snippet, indented so that a reader sees where
/// the file's words end and ours begin.
pub(super) fn list_hits(summary: &mut Summary, hits: &[Hit]) {
    for (at, hit) in hits.iter().enumerate() {
        let citation = one_line(&citation_text(&hit.rel_path, hit.span));
        let mut entry = format!("{}. {citation} score {:.2}", at + 1, rounded(hit.score));
        for line in visible(&hit.snippet).lines() {
            entry.push_str("\n    ");
            entry.push_str(line);
        }
        summary.entry(&entry);
    }
    if summary.left_out() > 0 {
        let left_out = summary.left_out();
        summary.line(&format!("… and {left_out} more, in the structured result."));
    }
    if !hits.is_empty() {
        summary.line("To read a hit whole, open its path with the lines of its citation (open_file).");
    }
}

/// What to add to the first line: while the index is still growing, and where a provider failed.
pub(super) fn notes(indexing_complete: bool, note: Option<&str>) -> String {
    let growing = if indexing_complete { "" } else { " Indexing is still running: more may be found later." };
    match note {
        Some(note) => format!("{growing} {}", one_line(note)),
        None => growing.to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use model::{ChunkId, DocType, RepType};

    use super::*;

    pub(crate) fn sample_hit(path: &str) -> Hit {
        Hit {
            chunk_id: ChunkId(7),
            rel_path: path.into(),
            doc_type: DocType::Code,
            rep_type: RepType::RawText,
            score: 0.87,
            snippet: "fn main() {\n    run();\n}".into(),
            span: Span::Lines { start_line: 3, end_line: 9 },
            pointer: None,
        }
    }

    #[test]
    fn d111_d143_a_hit_as_data() {
        assert_eq!(
            hit_json(&sample_hit("src/main.rs")).to_string(),
            "{\"chunk_id\":7,\"rel_path\":\"src/main.rs\",\"doc_type\":\"code\",\"rep_type\":\"raw_text\",\
             \"score\":0.87,\"snippet\":\"fn main() {\\n    run();\\n}\",\
             \"span\":{\"kind\":\"lines\",\"start_line\":3,\"end_line\":9}}"
        );
        let mut odd = sample_hit("x");
        odd.score = f32::NAN;
        assert_eq!(hit_json(&odd)["score"], 0.0);
    }

    #[test]
    fn d142_spans_as_data() {
        assert_eq!(span_json(Span::Page { page: 2 }), json!({"kind": "page", "page": 2}));
        let time = Span::Time { start_ms: 1, end_ms: 2 };
        assert_eq!(span_json(time), json!({"kind": "time", "start_ms": 1, "end_ms": 2}));
    }

    #[test]
    fn hostile_names_and_texts_are_spelled_out() {
        let mut hit = sample_hit("a\u{1b}[2J\nb.md");
        hit.snippet = "x\u{202e}y".into();
        let mut summary = Summary::new(String::new());
        list_hits(&mut summary, &[hit]);
        let text = summary.finish();
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
        assert!(text.contains("\n1. [a\\u{1b}[2J b.md:L3-L9] score 0.87"), "{text}");
    }
}
