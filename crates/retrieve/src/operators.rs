//! What a query says about where to look: `ext:rs`, `path:src/net`, `lang:python`, `-word`.
//!
//! Only what is certainly meant so is taken: a known operator with a value, a known language, a `-word` behind
//! other words. Everything else stays part of the question.

use crate::matcher::Matcher;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operators {
    /// The query without its operators.
    pub text: String,
    /// Endings of file names, without the dot, lower-cased; any of them.
    pub endings: Vec<String>,
    /// Parts of paths, lower-cased; all of them.
    pub paths: Vec<String>,
    /// Words that must not stand in a hit, as tokens.
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
                        self.endings.extend(endings.iter().map(|ending| (*ending).to_owned()));
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

    /// Whether files are chosen at all.
    pub(crate) fn admit_everything(&self) -> bool {
        self.endings.is_empty() && self.paths.is_empty()
    }

    pub(crate) fn admit(&self, path: &str) -> bool {
        if self.admit_everything() {
            return true;
        }
        let path = path.to_lowercase();
        let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
        (self.endings.is_empty()
            || ending.is_some_and(|ending| self.endings.iter().any(|known| known == ending)))
            && self.paths.iter().all(|part| path.contains(part.as_str()))
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

fn endings_of(language: &str) -> Option<&'static [&'static str]> {
    Some(match language.to_lowercase().as_str() {
        "python" | "py" => &["py", "pyi"],
        "rust" | "rs" => &["rs"],
        "javascript" | "js" => &["js", "mjs", "cjs", "jsx"],
        "typescript" | "ts" => &["ts", "tsx", "mts", "cts"],
        "go" | "golang" => &["go"],
        "java" => &["java"],
        "c" => &["c", "h"],
        "cpp" | "c++" | "cxx" => &["cc", "cpp", "cxx", "hpp", "hh", "hxx", "h"],
        "csharp" | "c#" | "cs" => &["cs"],
        "ruby" | "rb" => &["rb"],
        "php" => &["php"],
        "kotlin" | "kt" => &["kt", "kts"],
        "swift" => &["swift"],
        "scala" => &["scala", "sc"],
        "shell" | "bash" | "sh" => &["sh", "bash", "zsh"],
        "lua" => &["lua"],
        "haskell" | "hs" => &["hs"],
        "elixir" => &["ex", "exs"],
        "zig" => &["zig"],
        "sql" => &["sql"],
        "markdown" | "md" => &["md", "markdown"],
        "html" => &["html", "htm"],
        "css" => &["css", "scss", "less"],
        "json" => &["json"],
        "yaml" | "yml" => &["yaml", "yml"],
        "toml" => &["toml"],
        "perl" => &["pl", "pm", "t"],
        "r" => &["r", "rmd"],
        "dart" => &["dart"],
        "julia" => &["jl"],
        "clojure" => &["clj", "cljs", "cljc", "edn"],
        "erlang" => &["erl", "hrl"],
        "ocaml" => &["ml", "mli"],
        "fsharp" | "f#" => &["fs", "fsi", "fsx"],
        "objectivec" | "objc" => &["m", "mm", "h"],
        "fortran" => &["f", "f90", "f95", "f03", "for"],
        "powershell" => &["ps1", "psm1", "psd1"],
        "groovy" => &["groovy", "gradle"],
        "nim" => &["nim"],
        "vue" => &["vue"],
        "svelte" => &["svelte"],
        "terraform" | "hcl" => &["tf", "tfvars", "hcl"],
        "protobuf" | "proto" => &["proto"],
        "graphql" => &["graphql", "gql"],
        "tex" | "latex" => &["tex", "sty", "cls", "bib"],
        "xml" => &["xml", "xsd", "xsl", "xslt"],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn operators_are_taken_out_of_the_question() {
        let read = Operators::read("parse header ext:rs,.toml path:src/Net lang:python -timeout");
        assert_eq!(read.text, "parse header");
        assert_eq!(read.endings, ["rs", "toml", "py", "pyi"]);
        assert_eq!(read.paths, ["src/net"]);
        assert_eq!(read.without, ["timeout"]);
        assert!(read.admit("a/src/net/x.RS") && !read.admit("a/src/net/x.go") && !read.admit("a/x.rs"));
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
