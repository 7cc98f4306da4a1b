//! Which documents and chunks a question is about, as data: a tree of tests on the facts that an index knows.
//!
//! Contracts build a tree from their arguments and `retrieve` compiles it. Because it is data, the router can read what it
//! asks for, and an index can answer it from the facts in its snapshot. A new field is a line in the list below.

use std::borrow::Cow;

use crate::{DocType, IndexKind, filetype};

/// Restricts a search or a listing. The default admits everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Filter {
    /// What passes every one of these; everything, if there are none.
    All(Vec<Filter>),
    /// What passes at least one of these; nothing, if there are none.
    Any(Vec<Filter>),
    Not(Box<Filter>),
    /// What has a value in this field that passes the test.
    Is {
        field: Field,
        test: Test,
    },
}

/// What the value of a field is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    /// It begins with this text.
    Prefix(String),
    /// It holds this text, which is in lower case, in any case.
    Contains(String),
    /// Gitignore-style glob over the whole value: `*` stays within a segment of a path, `**` crosses them.
    Glob(String),
    /// It is one of these.
    OneOf(Vec<String>),
}

/// What an index knows about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentFacts<'a> {
    /// Relative to the root.
    pub path: &'a str,
    pub doc_type: DocType,
}

/// What an index knows about a chunk without reading its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkFacts<'a> {
    pub document: DocumentFacts<'a>,
    pub kind: IndexKind,
}

/// What a filter says about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// None of its chunks passes.
    Refused,
    /// All of its chunks pass.
    Admitted,
    /// Each of its chunks has to be asked about.
    PerChunk,
}

/// A filter that is ready to be asked.
pub trait Admit {
    fn document(&self, facts: &DocumentFacts<'_>) -> Verdict;

    /// Asked about the chunks of documents for which the verdict is [`Verdict::PerChunk`].
    fn chunk(&self, facts: &ChunkFacts<'_>) -> bool {
        self.document(&facts.document) != Verdict::Refused
    }
}

/// How the value of a field is read.
#[derive(Clone, Copy)]
pub enum Read {
    Document(for<'a> fn(&DocumentFacts<'a>) -> Cow<'a, str>),
    Chunk(for<'a> fn(&ChunkFacts<'a>) -> Cow<'a, str>),
}

/// A field that filters can test.
#[derive(Clone, Copy)]
pub struct FieldSpec {
    pub field: Field,
    pub name: &'static str,
    pub read: Read,
}

macro_rules! fields {
    ($($(#[$doc:meta])* $variant:ident $name:literal $of:ident($read:expr),)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Field { $($(#[$doc])* $variant),* }

        /// All fields, one line each.
        pub const FIELDS: &[FieldSpec] =
            &[$(FieldSpec { field: Field::$variant, name: $name, read: Read::$of($read) }),*];
    };
}

fields! {
    /// The path relative to the root.
    Path "path" Document(|facts| facts.path.into()),
    /// What follows the last dot of the file's name, in lower case; empty if there is no dot.
    Extension "extension" Document(|facts| lower_extension(facts.path).into()),
    /// The document type of the dir2mcp specification.
    DocType "doc_type" Document(|facts| facts.doc_type.as_str().into()),
    /// The index that the chunk is in: `text` or `code`.
    Kind "kind" Chunk(|facts| facts.kind.as_str().into()),
}

impl Field {
    pub fn spec(self) -> &'static FieldSpec {
        &FIELDS[self as usize]
    }
}

impl Default for Filter {
    fn default() -> Filter {
        Filter::All(Vec::new())
    }
}

impl Filter {
    /// The three restrictions that most tools offer. Empty ones admit everything.
    pub fn of_files(path_prefix: Option<String>, file_glob: Option<String>, doc_types: &[DocType]) -> Filter {
        let is = |field, test| Filter::Is { field, test };
        let types = doc_types.iter().map(|doc_type| doc_type.as_str().to_owned()).collect();
        let types = (!doc_types.is_empty()).then(|| is(Field::DocType, Test::OneOf(types)));
        let glob = file_glob.map(|glob| is(Field::Path, Test::Glob(glob)));
        let prefix = path_prefix.map(|prefix| is(Field::Path, Test::Prefix(prefix)));
        Filter::All([glob, prefix, types].into_iter().flatten().collect())
    }

    /// The prefix that all paths have.
    pub fn path_prefix(&self) -> Option<&str> {
        self.required(Field::Path).into_iter().find_map(|test| match test {
            Test::Prefix(prefix) => Some(prefix.as_str()),
            _ => None,
        })
    }

    /// The glob that all paths match.
    pub fn file_glob(&self) -> Option<&str> {
        self.required(Field::Path).into_iter().find_map(|test| match test {
            Test::Glob(glob) => Some(glob.as_str()),
            _ => None,
        })
    }

    /// The types of which all documents are; empty if any will do.
    pub fn doc_types(&self) -> &[String] {
        let types = self.required(Field::DocType).into_iter().find_map(|test| match test {
            Test::OneOf(types) => Some(types.as_slice()),
            _ => None,
        });
        types.unwrap_or_default()
    }

    /// The tests of a field that everything admitted passes.
    pub fn required(&self, field: Field) -> Vec<&Test> {
        match self {
            Filter::Is { field: of, test } if *of == field => vec![test],
            Filter::All(all) => all.iter().flat_map(|filter| filter.required(field)).collect(),
            Filter::Is { .. } | Filter::Any(_) | Filter::Not(_) => Vec::new(),
        }
    }
}

impl From<bool> for Verdict {
    fn from(admitted: bool) -> Verdict {
        if admitted { Verdict::Admitted } else { Verdict::Refused }
    }
}

fn lower_extension(path: &str) -> String {
    filetype::stem_and_extension(path).map_or(String::new(), |(_, extension)| extension.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_at_its_number() {
        for spec in FIELDS {
            assert_eq!(spec.field.spec().name, spec.name);
        }
    }

    #[test]
    fn only_what_every_document_passes_is_required() {
        let glob = || Filter::Is { field: Field::Path, test: Test::Glob("*.rs".into()) };
        let both = Filter::All(vec![glob(), Filter::Not(Box::new(glob())), Filter::Any(vec![glob()])]);
        assert_eq!(both.required(Field::Path), [&Test::Glob("*.rs".into())]);
        assert_eq!(both.required(Field::DocType), Vec::<&Test>::new());
    }

    #[test]
    fn restrictions_that_are_not_given_are_not_there() {
        assert_eq!(Filter::of_files(None, None, &[]), Filter::default());
        let filter = Filter::of_files(Some("src/".into()), None, &[DocType::Code]);
        assert_eq!((filter.path_prefix(), filter.file_glob()), (Some("src/"), None));
        assert_eq!(filter.doc_types(), ["code"]);
    }
}
