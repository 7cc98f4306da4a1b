//! How arguments and answers of file tools look in logs, hooks, the audit and the call log: whole contents never, but how long
//! they are, their digest and a short beginning.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The longest beginning of a content that is shown, in bytes.
pub const PREVIEW_BYTES: usize = 256;

/// Of a name, a path or a message: what the store accepts is shorter.
const LONGEST_FIELD: usize = 512;
const LONGEST_NAME: usize = 64;
const MOST_ITEMS: usize = 64;
const DEEPEST: usize = 8;

/// Fields whose text is shown. All others are taken for content, so that a field that is new or misspelt reveals nothing.
const SHOWN: &[&str] = &[
    "arguments",
    "code",
    "content_encoding",
    "created_at",
    "etag",
    "file_path",
    "from_path",
    "id",
    "jsonrpc",
    "message",
    "method",
    "mime_type",
    "mode",
    "name",
    "path",
    "path_prefix",
    "plugin",
    "project",
    "to_path",
    "tool",
    "type",
    "updated_at",
];

/// Shown without blanks around it, cut to the length of a preview.
const QUERIES: &[&str] = &["query"];

/// The arguments or the answer of a tool, or a whole JSON-RPC message around them, fit to be written down.
pub fn redacted(value: &Value) -> Value {
    shown(value, None, 0)
}

/// What is shown in place of a content. The preview is at most a quarter of it: a short secret is not told in full.
pub fn content_summary(content: &[u8]) -> Value {
    let preview = beginning(content, (content.len() / 4).min(PREVIEW_BYTES));
    json!({
        "length": content.len(),
        "sha256": hex(&Sha256::digest(content)),
        "preview": preview,
        "truncated": preview.len() < content.len(),
    })
}

/// A search query as logs show it.
pub fn trimmed_query(query: &str) -> String {
    let query = query.trim();
    match beginning(query.as_bytes(), PREVIEW_BYTES) {
        whole if whole.len() == query.len() => whole.to_owned(),
        cut => format!("{cut}…"),
    }
}

fn shown(value: &Value, field: Option<&str>, depth: usize) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        // A number with thousands of digits is no number that anyone needs to see.
        Value::Number(number) if number.to_string().len() <= LONGEST_NAME => value.clone(),
        Value::Number(number) => content_summary(number.to_string().as_bytes()),
        Value::String(text) => shown_text(text, field),
        Value::Array(_) | Value::Object(_) if depth >= DEEPEST => {
            content_summary(value.to_string().as_bytes())
        }
        Value::Array(items) => {
            let mut list: Vec<Value> =
                items.iter().take(MOST_ITEMS).map(|item| shown(item, field, depth + 1)).collect();
            if items.len() > MOST_ITEMS {
                list.push(json!({ "more": items.len() - MOST_ITEMS }));
            }
            list.into()
        }
        Value::Object(fields) => {
            let mut object: Map<String, Value> = fields
                .iter()
                .take(MOST_ITEMS)
                .map(|(name, value)| (shown_name(name), shown(value, Some(name), depth + 1)))
                .collect();
            if fields.len() > MOST_ITEMS {
                object.insert("more".to_owned(), (fields.len() - MOST_ITEMS).into());
            }
            object.into()
        }
    }
}

fn shown_text(text: &str, field: Option<&str>) -> Value {
    let is_one_of = |names: &[&str]| field.is_some_and(|field| names.contains(&field));
    if is_one_of(QUERIES) {
        return trimmed_query(text).into();
    }
    if is_one_of(SHOWN) && text.len() <= LONGEST_FIELD {
        return text.into();
    }
    content_summary(text.as_bytes())
}

/// A caller chooses the names of its fields, so that they can hold anything.
fn shown_name(name: &str) -> String {
    match beginning(name.as_bytes(), LONGEST_NAME) {
        whole if whole.len() == name.len() => whole.to_owned(),
        cut => format!("{cut}…"),
    }
}

/// The longest beginning of at most so many bytes that ends with a whole character; nothing of what is no text.
fn beginning(content: &[u8], most: usize) -> &str {
    let head = &content[..most.min(content.len())];
    match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn f144_f145_f146_contents_are_told_by_length_digest_and_preview() {
        let content = "a secret line of text\n".repeat(100);
        let call = json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": { "name": "file_write", "arguments": {
                "project": "p", "path": "/a.txt", "content": content, "mode": "TRUNCATE", "offset": 0 } },
        });
        let shown = redacted(&call);
        let arguments = &shown["params"]["arguments"];
        assert_eq!(shown["params"]["name"], "file_write");
        assert_eq!((&arguments["project"], &arguments["path"]), (&json!("p"), &json!("/a.txt")));
        let summary = &arguments["content"];
        assert_eq!(summary["length"], 2200);
        assert_eq!(summary["sha256"], hex(&Sha256::digest(content.as_bytes())));
        assert_eq!(summary["preview"], content[..256]);
        assert_eq!(summary["truncated"], true);
    }

    #[test]
    fn f146_answers_are_redacted_in_both_of_their_forms() {
        let text = "0123456789abcdef".repeat(40);
        let answer = json!({
            "content": [{ "type": "text", "text": text }],
            "structuredContent": { "content": text, "content_encoding": "utf-8",
                "chunks": [{ "file_path": "/a", "chunk_content": text, "score": 0.5 }] },
        });
        let shown = redacted(&answer);
        assert!(!shown.to_string().contains(&text[..257]), "{shown}");
        assert_eq!(shown["structuredContent"]["chunks"][0]["file_path"], "/a");
        assert_eq!(shown["structuredContent"]["content"]["length"], 640);
        assert_eq!(shown["content"][0]["text"]["preview"], text[..160]);
    }

    #[test]
    fn f145_a_short_content_is_not_told_in_full() {
        let summary = content_summary("password: hunter2".as_bytes());
        assert_eq!((&summary["preview"], &summary["truncated"]), (&json!("pass"), &json!(true)));
        assert_eq!(content_summary(b"")["truncated"], false);
        // A character is not cut.
        assert_eq!(content_summary("€€".as_bytes())["preview"], "");
    }

    #[test]
    fn f147_queries_are_trimmed() {
        let long = format!("  {}  ", "wort ".repeat(100));
        let shown = redacted(&json!({ "query": long }));
        let shown = shown["query"].as_str().unwrap();
        assert!(
            shown.starts_with("wort wort") && shown.ends_with('…') && shown.len() <= 256 + '…'.len_utf8()
        );
        assert_eq!(redacted(&json!({ "query": " a b " }))["query"], "a b");
    }

    #[test]
    fn wide_and_deep_values_stay_small() {
        let mut deep = json!("x".repeat(5000));
        for _ in 0..50 {
            deep = json!({ "path": deep });
        }
        let wide: Vec<Value> = (0..10_000).map(|at| json!({ "path": format!("/{at}") })).collect();
        let shown = redacted(&json!({ "a": deep, "entries": wide }));
        assert!(shown.to_string().len() < 5000);
        assert_eq!(shown["entries"][MOST_ITEMS]["more"], 10_000 - MOST_ITEMS);
    }

    proptest! {
        #[test]
        fn f144_no_more_than_the_preview_of_any_content_is_shown(
            field in prop::sample::select(vec!["content", "contents", "chunk_content", "text", "path", "message", "data"]),
            // Longer than what a shown field may hold; digits apart, so that no stretch of it occurs elsewhere.
            content in "[g-z]{520,3000}",
        ) {
            let value = json!({ "params": { "arguments": { (field): content, "steps": [{ (field): content }] } } });
            let shown = redacted(&value).to_string();
            let preview = (content.len() / 4).min(PREVIEW_BYTES);
            prop_assert!(!shown.contains(&content[..preview + 1]));
            for at in (preview..content.len() - 24).step_by(8) {
                prop_assert!(!shown.contains(&content[at..at + 24]), "{at}");
            }
        }

        #[test]
        fn any_bytes_have_a_summary(content in prop::collection::vec(any::<u8>(), 0..600)) {
            let summary = content_summary(&content);
            let preview = summary["preview"].as_str().unwrap();
            prop_assert!(preview.len() <= content.len() / 4);
            prop_assert!(content.starts_with(preview.as_bytes()));
            prop_assert_eq!(summary["length"].as_u64(), Some(content.len() as u64));
        }
    }
}
