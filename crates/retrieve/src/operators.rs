//! What a query says about where to look: `ext:rs`, `path:src/net`, `lang:python`, `-word`.
//!
//! Only unmistakable operators count: a known operator with a value, a known language, a `-word` after other words.
//! Anything ambiguous is treated as a search word.

use model::filter::{Field, Test};
use model::{Filter, filetype};

use crate::matcher::Matcher;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operators {
    /// The query without its operators.
    pub text: String,
    /// Endings of file names, without the dot, lower-cased; any of them.
    pub endings: Vec<String>,
    /// Parts of paths, lower-cased; all of them.
    pub paths: Vec<String>,
    /// Words that must not occur in a hit, as tokens.
    pub without: Vec<String>,
}

impl Operators {
    pub fn read(query: &str) -> Operators {
        let mut found = Operators::default();
        let mut kept: Vec<&str> = Vec::new();
        let mut quoted = false;
        for word in query.split_inclusive(char::is_whitespace) {
            let bare = word.trim_end();
            let was_quoted = quoted;
            quoted ^= bare.matches('"').count() % 2 == 1;
            let has_word = kept.iter().any(|kept| !kept.trim().is_empty());
            if was_quoted || bare.contains('"') || !found.take(bare, has_word) {
                kept.push(word);
            }
        }
        found.text = kept.concat().trim_end().to_owned();
        // Nothing but operators: then they are the question, too.
        if found.text.trim().is_empty() {
            found.text = query.to_owned();
        }
        found
    }

    /// Whether the word is an operator; it is remembered if so.
    fn take(&mut self, word: &str, has_word: bool) -> bool {
        if let Some((name, value)) = word.split_once(':').filter(|(_, value)| !value.is_empty()) {
            match name {
                "ext" if value.split(',').all(is_ending) => {
                    let endings =
                        value.split(',').map(|ending| ending.trim_start_matches('.').to_lowercase());
                    self.endings.extend(endings);
                    return true;
                }
                "path" if !value.starts_with(':') => {
                    self.paths.push(value.to_lowercase().replace('\\', "/"));
                    return true;
                }
                "lang" => {
                    if let Some(endings) = endings_of(value) {
                        self.endings.extend(endings);
                        return true;
                    }
                }
                _ => {}
            }
            return false;
        }
        let excluded = word.strip_prefix('-').filter(|word| {
            word.chars().count() >= 3 && word.chars().all(|c| c.is_alphanumeric() || c == '_')
        });
        match excluded {
            Some(excluded) if has_word => {
                self.without.extend(index::tokens::query_tokens(excluded).into_iter().next());
                true
            }
            _ => false,
        }
    }

    /// The files that they choose.
    pub(crate) fn filter(&self) -> Filter {
        let is = |field, test| Filter::Is { field, test };
        let endings =
            (!self.endings.is_empty()).then(|| is(Field::Extension, Test::OneOf(self.endings.clone())));
        let paths = self.paths.iter().map(|part| is(Field::Path, Test::Contains(part.clone())));
        Filter::All(endings.into_iter().chain(paths).collect())
    }

    /// Finds the words that must not be there; none where nothing is excluded.
    pub(crate) fn unwanted(&self) -> Option<Matcher> {
        (!self.without.is_empty()).then(|| Matcher::of_tokens(self.without.iter().map(String::as_str)))
    }
}

fn is_ending(text: &str) -> bool {
    let bare = text.strip_prefix('.').unwrap_or(text);
    !bare.is_empty() && bare.len() <= 16 && bare.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+')
}

/// The extensions that a language is known by; none if there is no such language.
fn endings_of(language: &str) -> Option<Vec<String>> {
    let language = language.to_lowercase();
    let endings: Vec<String> = filetype::extensions_spoken_of(&language).map(str::to_owned).collect();
    (!endings.is_empty()).then_some(endings)
}

#[cfg(test)]
mod tests {
    use model::DocType;
    use proptest::prelude::*;

    use super::*;
    use crate::filter::CompiledFilter;

    #[test]
    fn operators_are_taken_out_of_the_question() {
        let read = Operators::read("parse header ext:rs,.toml path:src/Net lang:python -timeout");
        assert_eq!(read.text, "parse header");
        assert_eq!(read.endings, ["rs", "toml", "py", "pyi"]);
        assert_eq!(read.paths, ["src/net"]);
        assert_eq!(read.without, ["timeout"]);
        let filter = CompiledFilter::new(&read.filter()).unwrap();
        let admits = |path: &str| filter.admits(path, DocType::Code);
        assert!(admits("a/src/net/x.RS") && !admits("a/src/net/x.go") && !admits("a/x.rs"));
    }

    #[test]
    fn languages_have_the_recorded_endings() {
        let recorded = include_str!("../../model/tests/file_kinds.tsv");
        for line in recorded.lines().filter(|line| line.starts_with("lang:")) {
            let (operator, expected) = line.split_once('\t').unwrap();
            let mut endings = Operators::read(operator).endings;
            endings.sort_unstable();
            assert_eq!(endings.join(" "), expected, "{operator}");
        }
    }

    #[test]
    fn what_is_no_operator_stays() {
        for query in [
            "std::fs::read",
            "ext:",
            "lang:klingon",
            "a -b",
            "-timeout",
            "\"say ext:rs\" -- -rf",
            "http://x/y",
            "path::Guard",
            "x-ray",
        ] {
            assert_eq!(
                Operators::read(query),
                Operators { text: query.into(), ..Operators::default() },
                "{query}"
            );
        }
        assert_eq!(Operators::read("ext:rs").text, "ext:rs", "something is asked in any case");
    }

    proptest! {
        #[test]
        fn any_query_is_read(query in "(\\PC|ext:|path:|lang:|-|\"|\\s|[a-z]){0,30}") {
            let read = Operators::read(&query);
            prop_assert!(read.text.len() <= query.len());
        }
    }
}
