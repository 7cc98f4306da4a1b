//! The reference page of public codes, made from the one table of them ([`model::ERROR_CODES`]).

use model::{ERROR_CODES, ErrorCode};

/// The tables as Markdown, for the reference page: every code, then the words that two contracts have of their own.
pub fn error_codes_markdown() -> String {
    let mut page = all_codes();
    page.push_str(
        "\n## Codes of the `repo` and `smart` tools\n\nTheir specifications have words of their own for some of these.\n\n\
         | tools | code | stands for |\n|---|---|---|\n",
    );
    for (tools, word) in [
        ("repo", crate::repo::public_code as fn(ErrorCode) -> &'static str),
        ("smart", crate::smart::public_code),
    ] {
        let mut words: Vec<&str> = ERROR_CODES.iter().map(|row| word(row.code)).collect();
        words.sort_unstable();
        words.dedup();
        for own in words {
            let meant: Vec<String> = ERROR_CODES
                .iter()
                .filter(|row| word(row.code) == own && row.name != own)
                .map(|row| format!("`{}`", row.name))
                .collect();
            let meant = match meant.len() {
                0 => continue,
                // The word for whatever has no word of its own.
                16.. => "every other code".to_owned(),
                _ => meant.join(", "),
            };
            page.push_str(&format!("| {tools} | `{own}` | {meant} |\n"));
        }
    }
    page.push_str(
        "\nThe audit log of the `repo` tools names two refusals more exactly: `POLICY_BLOCKED` (a limit of the operator) and \
         `RESPONSE_TOO_LARGE` (the answer exceeds `max_total_bytes_per_response`).\n",
    );
    page
}

fn all_codes() -> String {
    let mut page = String::from("| code | kind | HTTP | retryable | meaning |\n|---|---|---|---|---|\n");
    for row in ERROR_CODES {
        let retryable = if row.retryable { "yes" } else { "no" };
        let kind = row.kind.as_str();
        page.push_str(&format!(
            "| `{}` | {kind} | {} | {retryable} | {} |\n",
            row.name, row.http_status, row.meaning
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_page_is_current() {
        let page = error_codes_markdown();
        assert!(
            include_str!("../../../docs/errors.md").ends_with(&page),
            "docs/errors.md should end with:\n{page}"
        );
        assert_eq!(all_codes().lines().count(), ERROR_CODES.len() + 2);
        assert!(page.contains("| `INDEX_NOT_READY` | index | 503 | yes |"));
    }
}
