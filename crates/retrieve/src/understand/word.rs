//! The words of a question, and what became of each.

#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) raw: String,
    /// Without marks around it, lower-cased. The text of a quoted one is left alone.
    pub(super) lower: String,
    pub(super) bare: String,
    pub(super) quoted: bool,
    pub(super) taken: bool,
    /// A comma or the like follows.
    pub(super) ends: bool,
}

impl Word {
    pub(super) fn is(&self, list: &[&str]) -> bool {
        !self.quoted && !self.taken && list.contains(&self.lower.as_str())
    }
}

/// Words at blanks; what is between double quotes is one word.
pub(super) fn split(query: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = query;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return words;
        }
        let quotes = [('"', '"'), ('“', '”'), ('„', '“')];
        let quoted = quotes.iter().find_map(|(open, close)| {
            let inner = rest.strip_prefix(*open)?;
            let end = inner.find(*close)?;
            Some(open.len_utf8() + end + close.len_utf8())
        });
        let end = quoted.unwrap_or_else(|| rest.find(char::is_whitespace).unwrap_or(rest.len()));
        let raw = &rest[..end];
        rest = &rest[end..];
        let marks = |c: char| matches!(c, ',' | ';' | '?' | '!' | '(' | ')' | ':' | '\'' | '…');
        let bare = raw.trim_matches(marks).trim_end_matches('.');
        words.push(Word {
            raw: raw.to_owned(),
            lower: bare.to_lowercase(),
            bare: bare.to_owned(),
            quoted: quoted.is_some(),
            taken: false,
            ends: raw.ends_with([',', ';', '?', '!', ')']),
        });
    }
}
