//! A caller's filters, compiled once per call: path prefix, glob, document types.

use std::fmt;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use model::{DocType, ErrorCode, Failure, Filter};

use crate::operators::Operators;

/// Longest glob that is compiled. A longer one is a mistake or an attack, not a filter.
pub const MAX_GLOB_BYTES: usize = 1024;

#[derive(Debug, Clone)]
pub struct CompiledFilter {
    prefix: String,
    glob: Option<Glob>,
    doc_types: Vec<DocType>,
    operators: Operators,
    view: Option<View>,
}

/// The files that a contract shows at all, by their paths.
#[derive(Clone)]
pub struct View(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl View {
    pub fn new(shows: impl Fn(&str) -> bool + Send + Sync + 'static) -> View {
        View(Arc::new(shows))
    }

    pub fn shows(&self, path: &str) -> bool {
        (self.0)(path)
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("View")
    }
}

#[derive(Debug, Clone)]
struct Glob {
    matcher: GlobMatcher,
    /// A pattern without `/` is meant for the name alone, at any depth (as in `.gitignore`).
    name_only: bool,
}

impl CompiledFilter {
    /// Refuses what cannot be a filter: a bad glob is `INVALID_FIELD`, and a prefix or a glob that leaves the
    /// root is `PATH_OUTSIDE_ROOT`, as it is for every other path a caller sends.
    pub fn new(filter: &Filter) -> Result<CompiledFilter, Failure> {
        let glob = match filter.file_glob.as_deref().map(normalised) {
            Some(glob) if !glob.is_empty() => Some(Glob::new(&glob)?),
            _ => None,
        };
        let prefix = filter.path_prefix.as_deref().map(normalised).unwrap_or_default();
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
        let operators = Operators::default();
        Ok(CompiledFilter { prefix, glob, doc_types: filter.doc_types.clone(), operators, view: None })
    }

    /// The same within what a contract shows.
    pub fn within(self, view: Option<&View>) -> CompiledFilter {
        CompiledFilter { view: view.cloned(), ..self }
    }

    /// The same, and what the query itself says about files.
    pub fn with(self, operators: &Operators) -> CompiledFilter {
        CompiledFilter { operators: operators.clone(), ..self }
    }

    pub fn admits(&self, path: &str, doc_type: DocType) -> bool {
        (self.doc_types.is_empty() || self.doc_types.contains(&doc_type))
            && path.starts_with(&self.prefix)
            && self.glob.as_ref().is_none_or(|glob| glob.matches(path))
            && self.operators.admit(path)
            && self.view.as_ref().is_none_or(|view| view.shows(path))
    }

    /// True where every file passes, so that no index has to ask.
    pub fn admits_everything(&self) -> bool {
        self.prefix.is_empty()
            && self.glob.is_none()
            && self.doc_types.is_empty()
            && self.operators.admit_everything()
            && self.view.is_none()
    }

    /// The prefix as paths are written in the index.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
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
    use proptest::prelude::*;

    use super::*;

    fn globbed(glob: &str) -> CompiledFilter {
        CompiledFilter::new(&Filter { file_glob: Some(glob.into()), ..Filter::default() }).unwrap()
    }

    fn prefixed(prefix: &str) -> CompiledFilter {
        CompiledFilter::new(&Filter { path_prefix: Some(prefix.into()), ..Filter::default() }).unwrap()
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
            let filter = Filter { file_glob: Some(glob.to_owned()), ..Filter::default() };
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
        assert!(prefixed("").admits_everything());
    }

    #[test]
    fn d182_a_filter_that_leaves_the_root_is_refused() {
        let outside = |filter: Filter| CompiledFilter::new(&filter).unwrap_err().code;
        for prefix in
            ["/etc", "../docs-private/key", "docs/../../x", "..", "C:\\x", "\\\\host\\share", "..\\x"]
        {
            let filter = Filter { path_prefix: Some(prefix.into()), ..Filter::default() };
            assert_eq!(outside(filter), ErrorCode::PathOutsideRoot, "{prefix}");
        }
        let filter = Filter { file_glob: Some("../*".into()), ..Filter::default() };
        assert_eq!(outside(filter), ErrorCode::PathOutsideRoot);
        let filter = Filter { path_prefix: Some("a\0b".into()), ..Filter::default() };
        assert_eq!(outside(filter), ErrorCode::InvalidField);
        assert!(prefixed("..a").admits("..a/b", DocType::Text));
    }

    #[test]
    fn document_types_restrict() {
        let filter = Filter { doc_types: vec![DocType::Md, DocType::Html], ..Filter::default() };
        let filter = CompiledFilter::new(&filter).unwrap();
        assert!(filter.admits("a", DocType::Html));
        assert!(!filter.admits("a", DocType::Code));
        assert!(!filter.admits_everything());
    }

    proptest! {
        /// Filters together admit exactly what each of them admits alone.
        #[test]
        fn filters_are_a_conjunction(
            prefix in "([ab][ab/]{0,2})?",
            glob in prop::sample::select(vec!["*.a", "**/b", "a/*", "*", "a/**", "b"]),
            path in "[ab]{1,2}(/[ab]{1,2}){0,2}(\\.a)?",
            doc_type in prop::sample::select(DocType::ALL),
            wanted in prop::collection::vec(prop::sample::select(DocType::ALL), 0..3),
        ) {
            let whole = CompiledFilter::new(&Filter {
                path_prefix: Some(prefix.clone()),
                file_glob: Some(glob.to_owned()),
                doc_types: wanted.clone(),
            }).unwrap();
            let typed = CompiledFilter::new(&Filter { doc_types: wanted, ..Filter::default() }).unwrap();
            let parts = prefixed(&prefix).admits(&path, doc_type)
                && globbed(glob).admits(&path, doc_type)
                && typed.admits(&path, doc_type);
            prop_assert_eq!(whole.admits(&path, doc_type), parts);
            prop_assert_eq!(prefixed(&prefix).admits(&path, doc_type), path.starts_with(&prefix));
        }

        /// `\` and `/` name the same filter.
        #[test]
        fn separators_are_alike(glob in "[ab*/]{1,8}", path in "[ab]{1,2}(/[ab]{1,2}){0,2}") {
            let filter = |text: String| CompiledFilter::new(&Filter { file_glob: Some(text), ..Filter::default() });
            let slash = filter(glob.clone());
            let backslash = filter(glob.replace('/', "\\"));
            match (slash, backslash) {
                (Ok(a), Ok(b)) => prop_assert_eq!(a.admits(&path, DocType::Text), b.admits(&path, DocType::Text)),
                (a, b) => prop_assert_eq!(a.is_err(), b.is_err()),
            }
        }

        #[test]
        fn any_text_is_a_filter_or_a_failure(prefix in any::<String>(), glob in any::<String>(), path in any::<String>()) {
            let filter = Filter { path_prefix: Some(prefix), file_glob: Some(glob), doc_types: vec![] };
            if let Ok(filter) = CompiledFilter::new(&filter) {
                filter.admits(&path, DocType::Text);
            }
        }
    }
}
