//! A caller's filters, compiled once per call, and what the query and the contract add to them.

use std::fmt;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use model::filter::{Admit, ChunkFacts, DocumentFacts, Field, Read, Test, Verdict};
use model::{DocType, ErrorCode, Failure, Filter};

use crate::operators::Operators;

/// Longest glob that is compiled. A longer one is a mistake or an attack, not a filter.
pub const MAX_GLOB_BYTES: usize = 1024;

#[derive(Debug, Clone)]
pub struct CompiledFilter {
    node: Node,
    prefix: String,
    view: Option<View>,
}

/// The files that a contract shows at all.
#[derive(Clone)]
pub struct View(Arc<dyn Admit + Send + Sync>);

impl View {
    pub fn new(shows: Arc<dyn Admit + Send + Sync>) -> View {
        View(shows)
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("View")
    }
}

impl CompiledFilter {
    /// Refuses what cannot be a filter: a bad glob is `INVALID_FIELD`, and a prefix or a glob that leaves the
    /// root is `PATH_OUTSIDE_ROOT`, as it is for every other path a caller sends.
    pub fn new(filter: &Filter) -> Result<CompiledFilter, Failure> {
        let node = Node::compile(filter)?;
        let prefix = filter.path_prefix().map(normalised).unwrap_or_default();
        Ok(CompiledFilter { node, prefix, view: None })
    }

    /// The same within what a contract shows.
    pub fn within(self, view: Option<&View>) -> CompiledFilter {
        CompiledFilter { view: view.cloned(), ..self }
    }

    /// The same, and what the query itself says about files.
    pub fn with(self, operators: &Operators) -> Result<CompiledFilter, Failure> {
        let node = Node::all([self.node, Node::compile(&operators.filter())?]);
        Ok(CompiledFilter { node, ..self })
    }

    /// Whether anything of a document passes.
    pub fn admits(&self, path: &str, doc_type: DocType) -> bool {
        self.document(&DocumentFacts { path, doc_type }) != Verdict::Refused
    }

    /// What an index has to ask; none where everything passes.
    pub fn asked(&self) -> Option<&dyn Admit> {
        let everything = matches!(self.node, Node::Constant(true)) && self.view.is_none();
        (!everything).then_some(self as &dyn Admit)
    }

    /// The prefix as paths are written in the index.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl Admit for CompiledFilter {
    fn document(&self, facts: &DocumentFacts<'_>) -> Verdict {
        match (self.node.judge(facts, None), &self.view) {
            (Verdict::Refused, _) => Verdict::Refused,
            (verdict, None) => verdict,
            (verdict, Some(view)) => match view.0.document(facts) {
                Verdict::Admitted => verdict,
                shown => shown,
            },
        }
    }

    fn chunk(&self, facts: &ChunkFacts<'_>) -> bool {
        self.node.judge(&facts.document, Some(facts)) == Verdict::Admitted
            && self.view.as_ref().is_none_or(|view| match view.0.document(&facts.document) {
                Verdict::PerChunk => view.0.chunk(facts),
                verdict => verdict == Verdict::Admitted,
            })
    }
}

/// A filter with its globs compiled and without what is true or false in any case.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Constant(bool),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Is(Field, Compiled),
}

#[derive(Debug, Clone)]
pub(crate) enum Compiled {
    Prefix(String),
    Contains(String),
    Glob(Glob),
    OneOf(Vec<String>),
}

impl Node {
    pub(crate) fn compile(filter: &Filter) -> Result<Node, Failure> {
        Ok(match filter {
            Filter::All(all) => Node::all(all.iter().map(Node::compile).collect::<Result<Vec<_>, _>>()?),
            Filter::Any(any) => Node::any(any.iter().map(Node::compile).collect::<Result<Vec<_>, _>>()?),
            Filter::Not(not) => match Node::compile(not)? {
                Node::Constant(constant) => Node::Constant(!constant),
                node => Node::Not(Box::new(node)),
            },
            Filter::Is { field, test } => match test {
                Test::Prefix(prefix) if *field == Field::Path => match checked_prefix(prefix)? {
                    prefix if prefix.is_empty() => Node::Constant(true),
                    prefix => Node::Is(*field, Compiled::Prefix(prefix)),
                },
                Test::Prefix(prefix) => Node::Is(*field, Compiled::Prefix(prefix.clone())),
                Test::Contains(part) => Node::Is(*field, Compiled::Contains(part.clone())),
                Test::Glob(glob) => match normalised(glob) {
                    glob if glob.is_empty() => Node::Constant(true),
                    glob => Node::Is(*field, Compiled::Glob(Glob::new(&glob)?)),
                },
                Test::OneOf(values) => Node::Is(*field, Compiled::OneOf(values.clone())),
            },
        })
    }

    fn all(nodes: impl IntoIterator<Item = Node>) -> Node {
        let mut kept = Vec::new();
        for node in nodes {
            match node {
                Node::Constant(true) => {}
                Node::Constant(false) => return Node::Constant(false),
                Node::All(all) => kept.extend(all),
                node => kept.push(node),
            }
        }
        match kept.len() {
            0 => Node::Constant(true),
            1 => kept.remove(0),
            _ => Node::All(kept),
        }
    }

    fn any(nodes: impl IntoIterator<Item = Node>) -> Node {
        let mut kept = Vec::new();
        for node in nodes {
            match node {
                Node::Constant(false) => {}
                Node::Constant(true) => return Node::Constant(true),
                Node::Any(any) => kept.extend(any),
                node => kept.push(node),
            }
        }
        match kept.len() {
            0 => Node::Constant(false),
            1 => kept.remove(0),
            _ => Node::Any(kept),
        }
    }

    /// Without a chunk, tests of chunks may go either way.
    fn judge(&self, document: &DocumentFacts<'_>, chunk: Option<&ChunkFacts<'_>>) -> Verdict {
        match self {
            Node::Constant(constant) => Verdict::from(*constant),
            Node::All(all) => {
                let mut verdict = Verdict::Admitted;
                for node in all {
                    match node.judge(document, chunk) {
                        Verdict::Refused => return Verdict::Refused,
                        Verdict::PerChunk => verdict = Verdict::PerChunk,
                        Verdict::Admitted => {}
                    }
                }
                verdict
            }
            Node::Any(any) => {
                let mut verdict = Verdict::Refused;
                for node in any {
                    match node.judge(document, chunk) {
                        Verdict::Admitted => return Verdict::Admitted,
                        Verdict::PerChunk => verdict = Verdict::PerChunk,
                        Verdict::Refused => {}
                    }
                }
                verdict
            }
            Node::Not(not) => match not.judge(document, chunk) {
                Verdict::Refused => Verdict::Admitted,
                Verdict::Admitted => Verdict::Refused,
                Verdict::PerChunk => Verdict::PerChunk,
            },
            Node::Is(field, test) => match (field.spec().read, chunk) {
                (Read::Document(read), _) => test.passes(&read(document)).into(),
                (Read::Chunk(read), Some(chunk)) => test.passes(&read(chunk)).into(),
                (Read::Chunk(_), None) => Verdict::PerChunk,
            },
        }
    }
}

impl Compiled {
    fn passes(&self, value: &str) -> bool {
        match self {
            Compiled::Prefix(prefix) => value.starts_with(prefix),
            Compiled::Contains(part) => value.to_lowercase().contains(part),
            Compiled::Glob(glob) => glob.matches(value),
            Compiled::OneOf(values) => values.iter().any(|known| known == value),
        }
    }
}

/// The prefix as paths are written in the index, if it can be one.
fn checked_prefix(prefix: &str) -> Result<String, Failure> {
    let prefix = normalised(prefix);
    let drive = prefix.as_bytes().get(1) == Some(&b':') && prefix.as_bytes()[0].is_ascii_alphabetic();
    if prefix.starts_with('/') || drive {
        return Err(outside("path_prefix is absolute; give it relative to the root directory"));
    }
    if leaves_root(&prefix) {
        return Err(outside("path_prefix leaves the root directory"));
    }
    if prefix.contains('\0') {
        return Err(Failure::new(ErrorCode::InvalidField, "path_prefix contains a NUL byte"));
    }
    Ok(prefix)
}

#[derive(Debug, Clone)]
pub(crate) struct Glob {
    matcher: GlobMatcher,
    /// A pattern without `/` is meant for the name alone, at any depth (as in `.gitignore`).
    name_only: bool,
}

impl Glob {
    fn new(glob: &str) -> Result<Glob, Failure> {
        let refuse = |why: String| Failure::new(ErrorCode::InvalidField, format!("the glob {why}"));
        if glob.len() > MAX_GLOB_BYTES {
            return Err(refuse(format!("is longer than {MAX_GLOB_BYTES} bytes")));
        }
        if leaves_root(glob) {
            return Err(outside("the glob leaves the root directory"));
        }
        // A trailing `/` names a folder: everything below it.
        let name_only = !glob.trim_end_matches('/').contains('/');
        let pattern = match glob.strip_prefix('/') {
            Some(anchored) => anchored.to_owned(),
            None => glob.to_owned(),
        };
        let pattern = match pattern.strip_suffix('/') {
            Some(folder) if name_only => format!("**/{folder}/**"),
            Some(folder) => format!("{folder}/**"),
            None => pattern,
        };
        let name_only = name_only && !pattern.contains('/');
        let matcher = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| refuse(format!("cannot be read: {}", error.kind())))?
            .compile_matcher();
        Ok(Glob { matcher, name_only })
    }

    fn matches(&self, path: &str) -> bool {
        let subject = if self.name_only { path.rsplit('/').next().unwrap_or(path) } else { path };
        self.matcher.is_match(subject)
    }
}

fn leaves_root(path: &str) -> bool {
    path.split('/').any(|segment| segment == "..")
}

fn outside(message: &str) -> Failure {
    Failure::new(ErrorCode::PathOutsideRoot, message)
}

/// Agents write `src\` and `./src` for `src`.
fn normalised(text: &str) -> String {
    let text = text.trim().replace('\\', "/");
    let mut rest = text.as_str();
    while let Some(stripped) = rest.strip_prefix("./") {
        rest = stripped.trim_start_matches('/');
    }
    if rest == "." { String::new() } else { rest.to_owned() }
}

#[cfg(test)]
mod tests {
    use model::IndexKind;
    use proptest::prelude::*;

    use super::*;

    fn globbed(glob: &str) -> CompiledFilter {
        CompiledFilter::new(&Filter::of_files(None, Some(glob.into()), &[])).unwrap()
    }

    fn prefixed(prefix: &str) -> CompiledFilter {
        CompiledFilter::new(&Filter::of_files(Some(prefix.into()), None, &[])).unwrap()
    }

    #[test]
    fn c20_one_gitignore_style_matcher() {
        let cases = [
            ("*.rs", "main.rs", true),
            ("*.rs", "src/deep/main.rs", true),
            ("*.rs", "main.rs/x", false),
            ("src/*.rs", "src/main.rs", true),
            ("src/*.rs", "src/deep/main.rs", false),
            ("src/**/*.rs", "src/main.rs", true),
            ("src/**/*.rs", "src/a/b/main.rs", true),
            ("**/tests/**", "a/tests/b/c.py", true),
            ("**/tests/**", "tests/c.py", true),
            ("/README.md", "README.md", true),
            ("/README.md", "docs/README.md", false),
            ("README.md", "docs/README.md", true),
            ("./docs/*.md", "docs/a.md", true),
            ("docs\\*.md", "docs/a.md", true),
            ("docs/", "docs/a/b.md", true),
            ("docs/", "x/docs/b.md", true),
            ("a/docs/", "a/docs/b.md", true),
            ("a/docs/", "x/a/docs/b.md", false),
            ("*.{ts,tsx}", "a/b.tsx", true),
            ("**", "a/b", true),
            ("*", "a/b", true),
            ("?.md", "a.md", true),
            ("[ab].md", "c.md", false),
            ("données/*.txt", "données/é.txt", true),
        ];
        for (glob, path, admitted) in cases {
            assert_eq!(globbed(glob).admits(path, DocType::Text), admitted, "{glob} {path}");
        }
    }

    #[test]
    fn a_bad_glob_is_an_invalid_field() {
        for glob in ["[", "a{b", &"*".repeat(2000)] {
            let filter = Filter::of_files(None, Some(glob.to_owned()), &[]);
            let failure = CompiledFilter::new(&filter).unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidField, "{}", &glob[..1]);
            assert!(failure.message.len() < 200);
        }
    }

    #[test]
    fn a_prefix_is_plain_text() {
        assert!(prefixed("src/").admits("src/a.rs", DocType::Code));
        assert!(prefixed("src\\").admits("src/a.rs", DocType::Code));
        assert!(prefixed("./src").admits("src2/a.rs", DocType::Code));
        assert!(!prefixed("src/").admits("src2/a.rs", DocType::Code));
        assert!(!prefixed("rc/").admits("src/a.rs", DocType::Code));
        assert!(prefixed(".").admits("a", DocType::Text));
        assert!(prefixed("").asked().is_none());
    }

    #[test]
    fn d182_a_filter_that_leaves_the_root_is_refused() {
        let outside = |filter: Filter| CompiledFilter::new(&filter).unwrap_err().code;
        for prefix in
            ["/etc", "../docs-private/key", "docs/../../x", "..", "C:\\x", "\\\\host\\share", "..\\x"]
        {
            let filter = Filter::of_files(Some(prefix.into()), None, &[]);
            assert_eq!(outside(filter), ErrorCode::PathOutsideRoot, "{prefix}");
        }
        let filter = Filter::of_files(None, Some("../*".into()), &[]);
        assert_eq!(outside(filter), ErrorCode::PathOutsideRoot);
        let filter = Filter::of_files(Some("a\0b".into()), None, &[]);
        assert_eq!(outside(filter), ErrorCode::InvalidField);
        assert!(prefixed("..a").admits("..a/b", DocType::Text));
    }

    #[test]
    fn document_types_restrict() {
        let filter = Filter::of_files(None, None, &[DocType::Md, DocType::Html]);
        let filter = CompiledFilter::new(&filter).unwrap();
        assert!(filter.admits("a", DocType::Html));
        assert!(!filter.admits("a", DocType::Code));
        assert!(filter.asked().is_some());
    }

    #[test]
    fn a_test_of_chunks_is_left_to_the_chunks() {
        let is = |field, value: &str| Filter::Is { field, test: Test::OneOf(vec![value.to_owned()]) };
        let code = || is(Field::Kind, "code");
        let md = || is(Field::DocType, "md");
        let document = DocumentFacts { path: "a.md", doc_type: DocType::Md };
        let ask = |filter: Filter| {
            let filter = CompiledFilter::new(&filter).unwrap();
            let of = |kind| filter.chunk(&ChunkFacts { document, kind });
            (filter.document(&document), of(IndexKind::Text), of(IndexKind::Code))
        };
        let not = |filter| Filter::Not(Box::new(filter));
        assert_eq!(ask(code()), (Verdict::PerChunk, false, true));
        assert_eq!(ask(not(code())), (Verdict::PerChunk, true, false));
        assert_eq!(ask(Filter::All(vec![code(), not(md())])), (Verdict::Refused, false, false));
        assert_eq!(ask(Filter::Any(vec![code(), md()])), (Verdict::Admitted, true, true));
        assert_eq!(ask(Filter::Any(Vec::new())), (Verdict::Refused, false, false));
        assert_eq!(ask(not(Filter::default())), (Verdict::Refused, false, false));
    }

    fn any_filter() -> impl Strategy<Value = Filter> {
        let test = |field, values: Vec<&'static str>| {
            prop::sample::subsequence(values.clone(), 0..=values.len()).prop_map(move |chosen| {
                let values = chosen.into_iter().map(str::to_owned).collect();
                Filter::Is { field, test: Test::OneOf(values) }
            })
        };
        let leaf = prop_oneof![
            test(Field::Extension, vec!["a", "b", ""]),
            test(Field::DocType, vec!["md", "code"]),
            test(Field::Kind, vec!["text", "code"]),
            "[ab]".prop_map(|part| Filter::Is { field: Field::Path, test: Test::Contains(part) }),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let several = || prop::collection::vec(inner.clone(), 0..4);
            prop_oneof![
                several().prop_map(Filter::All),
                several().prop_map(Filter::Any),
                inner.clone().prop_map(|filter| Filter::Not(Box::new(filter))),
            ]
        })
    }

    /// What a tree means, read word for word.
    fn meant(filter: &Filter, facts: &ChunkFacts<'_>) -> bool {
        match filter {
            Filter::All(all) => all.iter().all(|filter| meant(filter, facts)),
            Filter::Any(any) => any.iter().any(|filter| meant(filter, facts)),
            Filter::Not(not) => !meant(not, facts),
            Filter::Is { field, test } => {
                let value = match field.spec().read {
                    Read::Document(read) => read(&facts.document),
                    Read::Chunk(read) => read(facts),
                };
                match test {
                    Test::Contains(part) => value.contains(part.as_str()),
                    Test::OneOf(values) => values.iter().any(|known| *known == value),
                    Test::Prefix(_) | Test::Glob(_) => unreachable!("not generated"),
                }
            }
        }
    }

    proptest! {
        /// Simplifying a tree changes none of its answers, and a verdict on a document holds for all of its chunks.
        #[test]
        fn a_compiled_tree_means_what_it_says(
            filter in any_filter(),
            path in "[ab]{1,2}(/[ab]{1,2}){0,2}(\\.[ab])?",
            doc_type in prop::sample::select(DocType::ALL),
        ) {
            let compiled = CompiledFilter::new(&filter).unwrap();
            let document = DocumentFacts { path: &path, doc_type };
            for kind in [IndexKind::Text, IndexKind::Code] {
                let facts = ChunkFacts { document, kind };
                prop_assert_eq!(compiled.chunk(&facts), meant(&filter, &facts));
                match compiled.document(&document) {
                    Verdict::Admitted => prop_assert!(meant(&filter, &facts)),
                    Verdict::Refused => prop_assert!(!meant(&filter, &facts)),
                    Verdict::PerChunk => {}
                }
            }
        }

        /// Filters together admit exactly what each of them admits alone.
        #[test]
        fn filters_are_a_conjunction(
            prefix in "([ab][ab/]{0,2})?",
            glob in prop::sample::select(vec!["*.a", "**/b", "a/*", "*", "a/**", "b"]),
            path in "[ab]{1,2}(/[ab]{1,2}){0,2}(\\.a)?",
            doc_type in prop::sample::select(DocType::ALL),
            wanted in prop::collection::vec(prop::sample::select(DocType::ALL), 0..3),
        ) {
            let whole = CompiledFilter::new(&Filter::of_files(Some(prefix.clone()), Some(glob.to_owned()), &wanted)).unwrap();
            let typed = CompiledFilter::new(&Filter::of_files(None, None, &wanted)).unwrap();
            let parts = prefixed(&prefix).admits(&path, doc_type)
                && globbed(glob).admits(&path, doc_type)
                && typed.admits(&path, doc_type);
            prop_assert_eq!(whole.admits(&path, doc_type), parts);
            prop_assert_eq!(prefixed(&prefix).admits(&path, doc_type), path.starts_with(&prefix));
        }

        /// `\` and `/` name the same filter.
        #[test]
        fn separators_are_alike(glob in "[ab*/]{1,8}", path in "[ab]{1,2}(/[ab]{1,2}){0,2}") {
            let filter = |text: String| CompiledFilter::new(&Filter::of_files(None, Some(text), &[]));
            let slash = filter(glob.clone());
            let backslash = filter(glob.replace('/', "\\"));
            match (slash, backslash) {
                (Ok(a), Ok(b)) => prop_assert_eq!(a.admits(&path, DocType::Text), b.admits(&path, DocType::Text)),
                (a, b) => prop_assert_eq!(a.is_err(), b.is_err()),
            }
        }

        #[test]
        fn any_text_is_a_filter_or_a_failure(prefix in any::<String>(), glob in any::<String>(), path in any::<String>()) {
            let filter = Filter::of_files(Some(prefix), Some(glob), &[]);
            if let Ok(filter) = CompiledFilter::new(&filter) {
                filter.admits(&path, DocType::Text);
            }
        }
    }
}
