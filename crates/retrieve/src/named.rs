//! Which names a query asks for: their definitions come first.

use index::tokens::name_token;

use crate::parse::is_stop_word;

/// A name that the query asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// As the query spells it.
    pub name: String,
    /// As the index keeps it.
    pub token: String,
    pub why: Why,
}

/// Why a word is taken for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Its definition is what the query asks for: nothing comes before it.
    Asked,
    /// A sentence mentions it, spelled as code spells names.
    Spelled,
    /// A plain word that begins with a capital: it is a name only where something is defined with this spelling.
    Guessed,
}

/// Names beyond these are a pasted list.
const MAX_NAMES: usize = 16;

/// Words that say that a definition is asked for.
const DEFINED: &[&str] =
    &["declaration", "declared", "declares", "define", "defined", "defines", "definition", "definitions"];

/// Words that say what kind of thing a name is.
const KINDS: &[&str] = &[
    "class",
    "const",
    "constant",
    "def",
    "enum",
    "field",
    "fn",
    "func",
    "function",
    "interface",
    "macro",
    "method",
    "module",
    "object",
    "property",
    "protocol",
    "record",
    "struct",
    "symbol",
    "trait",
    "type",
    "typedef",
    "union",
    "variable",
];

/// A query of more words is a sentence: what is beside the name of a kind there is anything.
const SHORT: usize = 3;

/// The names, the certain ones first. `identifiers` are those that are spelled as code spells them.
pub(crate) fn named(text: &str, identifiers: &[String], is_symbol: bool) -> Vec<Named> {
    let mut names: Vec<Named> = Vec::new();
    let mut add = |name: &str, why: Why| {
        if names.len() < MAX_NAMES
            && !names.iter().any(|known| known.name == name)
            && let Some(token) = name_token(name)
        {
            names.push(Named { name: name.to_owned(), token, why });
        }
    };
    if is_symbol {
        identifiers.iter().for_each(|name| add(name, Why::Asked));
        return names;
    }
    let words: Vec<&str> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
        .filter(|word| !word.is_empty())
        .collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let content: Vec<usize> = (0..words.len()).filter(|at| !is_stop_word(&lower[*at])).collect();
    let is = |at: usize, list: &[&str]| list.contains(&lower[at].as_str());
    let plain: Vec<usize> = content
        .iter()
        .copied()
        .filter(|at| !is(*at, DEFINED) && !is(*at, KINDS) && words[*at].len() > 1)
        .collect();

    // "where is X defined", "definition of class X".
    let asks = content.iter().any(|at| is(*at, DEFINED));
    if asks && plain.len() <= 2 {
        plain.iter().for_each(|at| add(words[*at], Why::Asked));
    }
    // "struct X", "X trait".
    let has_kind = content.iter().any(|at| is(*at, KINDS));
    if has_kind && words.len() <= SHORT && plain.len() == 1 {
        add(words[plain[0]], Why::Asked);
    }
    // "send Session": a name and what it belongs to. A sentence may begin with a capital, so the first word alone says
    // nothing.
    let begins_with_capital = |at: usize| words[at].starts_with(char::is_uppercase);
    let has_name = plain.iter().any(|at| *at > 0 && begins_with_capital(*at)) || !identifiers.is_empty();
    if words.len() == 2 && plain.len() == 2 && has_name {
        plain.iter().for_each(|at| add(words[*at], Why::Asked));
    }
    identifiers.iter().for_each(|name| add(name, Why::Spelled));
    for at in plain.into_iter().filter(|at| *at > 0 && begins_with_capital(*at)) {
        add(words[at], Why::Guessed);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::Why;
    use crate::parse::Parsed;

    fn names(query: &str) -> Vec<String> {
        let names = Parsed::new(query).names.into_iter();
        names.filter(|named| named.why == Why::Asked).map(|named| named.name).collect()
    }

    #[test]
    fn names_in_queries() {
        assert_eq!(names("Serializer"), ["Serializer"]);
        assert_eq!(names("retry"), ["retry"]);
        assert_eq!(names("where is Visitor defined"), ["Visitor"]);
        assert_eq!(names("where is the retry function defined?"), ["retry"]);
        assert_eq!(names("definition of parse_header"), ["parse_header"]);
        assert_eq!(names("struct task_struct"), ["task_struct"]);
        assert_eq!(names("trait Visitor"), ["Visitor"]);
        assert_eq!(names("Visitor trait"), ["Visitor"]);
        assert_eq!(names("send Session"), ["send", "Session"]);
        assert_eq!(names("Session.send"), ["send"]);
    }

    #[test]
    fn plain_words_are_no_names() {
        for query in
            ["how is the session loaded", "session cookie", "Session cookie", "The class of problems solved"]
        {
            assert_eq!(names(query), Vec::<String>::new(), "{query}");
        }
        let why = |query: &str| {
            Parsed::new(query).names.into_iter().map(|named| (named.name, named.why)).collect::<Vec<_>>()
        };
        assert_eq!(why("how does the Visitor work"), [("Visitor".to_owned(), Why::Guessed)]);
        assert_eq!(why("how does parseHeader work"), [("parseHeader".to_owned(), Why::Spelled)]);
    }
}
