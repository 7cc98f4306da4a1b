//! The text side of a tool result: what an agent reads, within a budget, without hidden characters.

use model::Failure;
use serde_json::json;

use crate::service::ToolResult;

/// Bytes of one summary. The whole data is in `structuredContent`; a summary that fills the agent's context
/// helps nobody.
pub(crate) const SUMMARY_BYTES: usize = 8 * 1024;

/// Longest piece of a caller's own words that an error repeats.
const SHOWN_CHARS: usize = 64;

/// A failure in the shape of the dir2mcp specification, section 12.4. What to do about it is part of the message: a model
/// that sees only the structured result has no other place to read it.
pub(crate) fn failed(failure: &Failure) -> ToolResult {
    let message = failure_sentence(failure);
    ToolResult {
        content: vec![visible(&format!("ERROR: {}: {message}", failure.code))],
        audio: Vec::new(),
        structured: json!({
            "error": {
                "code": failure.code.as_str(),
                "message": message,
                "retryable": failure.retryable(),
            }
        })
        .into(),
        is_error: true,
    }
}

/// What went wrong and what to do about it.
pub fn failure_sentence(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}. {hint}", failure.message.trim_end_matches('.')),
        None => failure.message.clone(),
    }
}

/// The text without hidden characters, for what is put together from several texts; whatever leaves a tool passes
/// [`crate::way_out`] besides.
pub(crate) fn visible(text: &str) -> String {
    engine::visible(text).into_owned()
}

/// The same for what has to stay on one line: a path, an argument's name.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// A caller's word, as far as an error may repeat it.
pub(crate) fn shown(word: &str) -> String {
    let mut short: String = one_line(word).chars().take(SHOWN_CHARS).collect();
    if word.chars().count() > SHOWN_CHARS {
        short.push('…');
    }
    short
}

/// Lines gathered up to a budget; what did not fit is counted, never dropped in silence.
pub(crate) struct Summary {
    text: String,
    left_out: usize,
}

impl Summary {
    pub(crate) fn new(first_line: String) -> Summary {
        Summary { text: first_line, left_out: 0 }
    }

    /// Adds an entry (of one or more lines) unless the budget is spent.
    pub(crate) fn entry(&mut self, entry: &str) {
        if self.left_out > 0 || self.text.len() + entry.len() + 1 > SUMMARY_BYTES {
            self.left_out += 1;
        } else {
            self.line(entry);
        }
    }

    /// Adds a line whatever the budget: headings and hints.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push('\n');
        self.text.push_str(line);
    }

    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use model::ErrorCode;

    use super::*;

    #[test]
    fn d133_the_shape_of_a_tool_error() {
        let failure = Failure::new(ErrorCode::FileNotFound, "audio/meeting.wav not found");
        let result = failed(&failure);
        assert!(result.is_error);
        assert_eq!(result.content, ["ERROR: FILE_NOT_FOUND: audio/meeting.wav not found"]);
        assert_eq!(
            *result.structured,
            json!({"error": {"code": "FILE_NOT_FOUND", "message": "audio/meeting.wav not found", "retryable": false}})
        );
    }

    #[test]
    fn a_word_of_the_caller_is_cut_to_one_line() {
        assert_eq!(one_line("a\nb\u{1b}"), "a b\\u{1b}");
        assert_eq!(shown(&"x".repeat(500)).chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn a_summary_keeps_its_budget_and_counts_the_rest() {
        let mut summary = Summary::new("first".into());
        for _ in 0..1_000 {
            summary.entry(&"e".repeat(100));
        }
        assert!(summary.left_out() > 900);
        assert!(summary.finish().len() <= SUMMARY_BYTES);
    }
}
