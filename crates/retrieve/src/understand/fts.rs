//! An understood question as a query for a full-text index.

use super::Understood;
use super::word::split;
use crate::parse::is_stop_word;

/// The question as a query in the syntax of SQLite's FTS5, and a sentence that says how it was made. Valid for any input.
pub fn fts(understood: &Understood) -> (String, String) {
    let (mut words, mut phrases) = (Vec::new(), Vec::new());
    for word in split(&understood.text) {
        let bare: String = if word.quoted { word.raw.replace('"', " ") } else { word.bare.clone() };
        let bare = bare.replace('\0', " ");
        if !bare.chars().any(char::is_alphanumeric) || (!word.quoted && is_stop_word(&bare.to_lowercase())) {
            continue;
        }
        let list = if word.quoted { &mut phrases } else { &mut words };
        let term = term(bare.trim());
        if !list.contains(&term) {
            list.push(term);
        }
    }
    let mut parts: Vec<String> = Vec::new();
    let mut notes = Vec::new();
    match words.as_slice() {
        [] => {}
        [word] => parts.push(word.clone()),
        _ if words.len() <= 3 => {
            parts.push(format!("NEAR({}, 5)", words.join(" ")));
            notes.push(format!("NEAR keeps {} within five words of each other.", words.join(", ")));
        }
        _ => {
            parts.push(format!("({})", words.join(" OR ")));
            notes.push("OR, because a sentence rarely holds all of so many words.".to_owned());
        }
    }
    parts.extend(phrases);
    if !understood.years.is_empty() {
        parts.push(format!("({})", understood.years.join(" OR ")));
        notes.push("The years must be mentioned.".to_owned());
    }
    // An empty phrase is valid and finds nothing.
    let query = if parts.is_empty() { "\"\"".to_owned() } else { parts.join(" AND ") };
    (query, notes.join(" "))
}

/// A word as it is where FTS5 takes it so, quoted otherwise.
fn term(text: &str) -> String {
    let bare = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let reserved = ["AND", "OR", "NOT", "NEAR"].contains(&text);
    if bare && !reserved { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
