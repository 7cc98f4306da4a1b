//! Which of the two indices a question goes to (dir2mcp specification, section 9.1).

use model::filetype::{self, Mark};
use model::{DocType, Filter, IndexChoice, IndexKind, IndexUsed, Query};

/// Where the answer is expected, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routed {
    pub index: IndexUsed,
    pub reason: Reason,
}

/// Why the index was chosen; it decides what prose and code count beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The caller named it.
    Asked,
    /// The query is written like code.
    CodeLikeQuery,
    /// The filters admit one kind of file, or several.
    Filter,
    /// Nothing speaks for code: the default of the specification.
    Default,
}

impl Routed {
    pub fn kinds(self) -> &'static [IndexKind] {
        match self.index {
            IndexUsed::Text => &[IndexKind::Text],
            IndexUsed::Code => &[IndexKind::Code],
            IndexUsed::Both => &[IndexKind::Text, IndexKind::Code],
        }
    }

    /// True where the choice was ours: then both indices are searched, and the choice only weighs.
    pub fn is_open(self) -> bool {
        self.reason != Reason::Asked
    }
}

/// Chooses the index. An explicit choice always counts. `auto` is text unless the filters target code or
/// the query is written like code.
///
/// That default alone would hide the code of a repository from every question in plain words, so [`crate::search`] looks
/// into both indices whatever was chosen: the choice only weighs. `index_used` says where the hits come from.
pub fn route(text: &str, choice: IndexChoice, filter: &Filter) -> Routed {
    let routed = |index, reason| Routed { index, reason };
    match choice {
        IndexChoice::Text => routed(IndexUsed::Text, Reason::Asked),
        IndexChoice::Code => routed(IndexUsed::Code, Reason::Asked),
        IndexChoice::Both => routed(IndexUsed::Both, Reason::Asked),
        IndexChoice::Auto => match filter_target(filter) {
            Some(index) => routed(index, Reason::Filter),
            None if is_code_like(text) => routed(IndexUsed::Code, Reason::CodeLikeQuery),
            None => routed(IndexUsed::Text, Reason::Default),
        },
    }
}

/// The indices in which something may be found at all: a question is embedded for no other.
pub fn kinds_that_may_answer(query: &Query) -> &'static [IndexKind] {
    let routed = route(&query.text, query.index, &query.filter);
    match routed.reason {
        Reason::Asked | Reason::Filter => routed.kinds(),
        Reason::CodeLikeQuery | Reason::Default => &[IndexKind::Text, IndexKind::Code],
    }
}

/// Words that start or structure code in many languages.
const KEYWORDS: &[&str] =
    &["func", "class", "package", "import", "return", "if", "for", "while", "switch", "case"];

/// Code if a keyword is beside brackets, or if any two of the five signs appear: a keyword, brackets, a
/// fence of three backticks, a backtick, a file extension at the end of a word.
fn is_code_like(text: &str) -> bool {
    let text = text.to_lowercase();
    let keyword = text.split(|c: char| !is_word(c)).any(|word| KEYWORDS.contains(&word));
    let brackets = text.contains(['(', ')', '{', '}', '[', ']', ';']);
    let fence = text.contains("```");
    let backtick = text.contains('`');
    let extension = mentions_extension(&text);
    let signs = [keyword, brackets, fence, backtick, extension];
    signs.iter().filter(|sign| **sign).count() >= 2
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn mentions_extension(text: &str) -> bool {
    text.match_indices('.').any(|(at, _)| {
        let rest = &text[at + 1..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        filetype::is_marked(&rest[..end], Mark::SignOfCode)
    })
}

/// What the filters are after, where they say so. The document types are the plainest word; then the glob;
/// then the prefix, if it names a file.
fn filter_target(filter: &Filter) -> Option<IndexUsed> {
    let types = filter.doc_types();
    if !types.is_empty() {
        let code = types.iter().any(|name| name == DocType::Code.as_str());
        let other = types.iter().any(|name| name != DocType::Code.as_str());
        return Some(match (code, other) {
            (true, true) => IndexUsed::Both,
            (true, false) => IndexUsed::Code,
            (false, _) => IndexUsed::Text,
        });
    }
    let glob = filter.file_glob().and_then(glob_target);
    glob.or_else(|| filter.path_prefix().and_then(|prefix| name_target(last_segment(prefix))))
}

/// The target of `*.rs`, `src/**/*.{ts,tsx}` or `docs/*.md`; none where the last segment has no extension.
fn glob_target(glob: &str) -> Option<IndexUsed> {
    let name = last_segment(glob);
    let Some((stem, rest)) = name.split_once('{') else { return name_target(name) };
    let (alternatives, tail) = rest.split_once('}')?;
    let mut targets =
        alternatives.split(',').map(|each| name_target(&format!("{stem}{}{tail}", each.trim())));
    let first = targets.next()??;
    for target in targets {
        if target? != first {
            return Some(IndexUsed::Both);
        }
    }
    Some(first)
}

fn last_segment(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// What a name says about a filter's intent; what a file is, the classifier decides.
fn name_target(name: &str) -> Option<IndexUsed> {
    let (_, extension) = filetype::stem_and_extension(name)?;
    let extension = extension.to_ascii_lowercase();
    if !filetype::is_marked(&extension, Mark::FilterTarget) {
        return None;
    }
    let is_code = filetype::by_extension(&extension)?.doc_type == Some(DocType::Code);
    Some(if is_code { IndexUsed::Code } else { IndexUsed::Text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(text: &str) -> IndexUsed {
        route(text, IndexChoice::Auto, &Filter::default()).index
    }

    #[test]
    fn names_have_the_recorded_targets() {
        let recorded = include_str!("../../model/tests/file_kinds.tsv");
        for line in recorded.lines().filter(|line| !line.starts_with("lang:")) {
            let columns: Vec<&str> = line.split('\t').collect();
            let (name, expected, marks) = (columns[0], columns[4], columns[5]);
            let target = name_target(last_segment(name));
            assert_eq!(target.map_or("-", IndexUsed::as_str), expected, "{name}");
            if name.starts_with("x.") {
                assert_eq!(mentions_extension(name), marks.contains('c'), "{name}");
            }
        }
    }

    #[test]
    fn d109_case_13_queries_that_use_code() {
        for query in [
            "func main() {}",
            "use import and ([])",
            "```\nlet x = 1\n```",
            "see the `.go` file",
            ".go file with `backticks`",
            "what does main.py return",
            "parse(x); // `y`",
        ] {
            assert_eq!(auto(query), IndexUsed::Code, "{query}");
        }
    }

    #[test]
    fn d109_case_13_queries_that_use_text() {
        for query in [
            "I love python",
            "go to the store",
            "some `inline code`",
            "fix bug in java { }",
            "",
            "class Foo",
            "how is the classification done",
            "what changed in version 1.0 of the cargo",
            "заголовок документа",
        ] {
            assert_eq!(auto(query), IndexUsed::Text, "{query}");
        }
    }

    #[test]
    fn d109_filters_that_target_code_choose_code() {
        let with = |filter: Filter| route("plain words", IndexChoice::Auto, &filter);
        let types = |types: &[DocType]| Filter::of_files(None, None, types);
        assert_eq!(with(types(&[DocType::Code])).index, IndexUsed::Code);
        assert_eq!(with(types(&[DocType::Code, DocType::Md])).index, IndexUsed::Both);
        assert_eq!(with(types(&[DocType::Md, DocType::Text])).index, IndexUsed::Text);

        let glob = |glob: &str| with(Filter::of_files(None, Some(glob.into()), &[])).index;
        assert_eq!(glob("*.rs"), IndexUsed::Code);
        assert_eq!(glob("src/**/*.{ts,tsx}"), IndexUsed::Code);
        assert_eq!(glob("**/*.{py,md}"), IndexUsed::Both);
        assert_eq!(glob("docs/*.md"), IndexUsed::Text);
        assert_eq!(glob("src/**"), IndexUsed::Text);
        assert_eq!(glob("*.{"), IndexUsed::Text);

        let prefix = |p: &str| with(Filter::of_files(Some(p.into()), None, &[]));
        assert_eq!(prefix("src\\main.rs").index, IndexUsed::Code);
        assert_eq!(prefix("docs/guide.md").reason, Reason::Filter);
        assert_eq!(prefix("src/").reason, Reason::Default);
    }

    #[test]
    fn an_explicit_choice_stands() {
        let code_filter = Filter::of_files(None, None, &[DocType::Code]);
        for (choice, used) in [
            (IndexChoice::Text, IndexUsed::Text),
            (IndexChoice::Code, IndexUsed::Code),
            (IndexChoice::Both, IndexUsed::Both),
        ] {
            let routed = route("func main() {}", choice, &code_filter);
            assert_eq!(routed, Routed { index: used, reason: Reason::Asked });
            assert!(!routed.is_open());
        }
    }
}
