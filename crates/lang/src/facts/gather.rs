//! What was gathered about the declarations of a text, within limits.

use std::collections::BTreeSet;

use model::facts::MODULE;
use model::{CommentFacts, DeclarationFacts, FileFacts, TypedName};

use crate::notes::{MAX_NAME, line};
use crate::text::truncate;
use crate::{Language, ParsedSource};

/// Names in one list of one declaration, and in all lists of a file: hostile texts have as many as they like.
const MAX_PER_LIST: usize = 2000;
const MAX_PER_FILE: usize = 400_000;
/// Bytes of a documentation, of one comment, and of all comments of a file.
const MAX_DOC: usize = 4000;
const MAX_COMMENT: usize = 8000;
const MAX_COMMENTS: usize = 512 * 1024;
/// Bytes of a type, a default or a decorator.
const MAX_TEXT: usize = 200;
const MAX_ERROR_LINES: usize = 100;

pub(crate) struct Gathered {
    /// The first is the rest of the file.
    pub(crate) declarations: Vec<Draft>,
    pub(crate) comments: Vec<CommentFacts>,
    comment_bytes: usize,
    pub(crate) error_lines: BTreeSet<u32>,
    /// How many more names are kept.
    left: usize,
}

/// A declaration while its facts are being gathered.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) facts: DeclarationFacts,
    pub(crate) calls: BTreeSet<String>,
    pub(crate) uses: BTreeSet<String>,
    pub(crate) reads: BTreeSet<String>,
    pub(crate) writes: BTreeSet<String>,
    pub(crate) mutates: BTreeSet<String>,
    pub(crate) aliases: BTreeSet<String>,
    pub(crate) throws: BTreeSet<String>,
    pub(crate) awaits: BTreeSet<String>,
    pub(crate) types: BTreeSet<TypedName>,
}

/// The lists of names of a [`Draft`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum List {
    Calls,
    Uses,
    Reads,
    Writes,
    Mutates,
    Aliases,
    Throws,
    Awaits,
}

impl Gathered {
    pub(crate) fn new(source: &str) -> Gathered {
        let lines = source.matches('\n').count() + usize::from(!source.ends_with('\n'));
        let facts = DeclarationFacts {
            kind: "file".to_owned(),
            name: MODULE.to_owned(),
            qualified: MODULE.to_owned(),
            lines: (1, line(lines.saturating_sub(1))),
            bytes: (0, offset(source.len())),
            ..DeclarationFacts::default()
        };
        Gathered {
            declarations: vec![Draft { facts, ..Draft::default() }],
            comments: Vec::new(),
            comment_bytes: 0,
            error_lines: BTreeSet::new(),
            left: MAX_PER_FILE,
        }
    }

    pub(crate) fn add(&mut self, declaration: usize, list: List, name: impl Into<String>) {
        let name = name.into();
        if name.is_empty() || name.len() > MAX_NAME || self.left == 0 {
            return;
        }
        let Some(draft) = self.declarations.get_mut(declaration) else { return };
        let set = match list {
            List::Calls => &mut draft.calls,
            List::Uses => &mut draft.uses,
            List::Reads => &mut draft.reads,
            List::Writes => &mut draft.writes,
            List::Mutates => &mut draft.mutates,
            List::Aliases => &mut draft.aliases,
            List::Throws => &mut draft.throws,
            List::Awaits => &mut draft.awaits,
        };
        if set.len() < MAX_PER_LIST && set.insert(name) {
            self.left -= 1;
        }
    }

    pub(crate) fn typed(&mut self, declaration: usize, name: &str, type_: &str) {
        let type_ = short(type_);
        if name.is_empty() || name.len() > MAX_NAME || type_.is_empty() || self.left == 0 {
            return;
        }
        if let Some(draft) = self.declarations.get_mut(declaration)
            && draft.types.len() < MAX_PER_LIST
            && draft.types.insert(TypedName { name: name.to_owned(), type_ })
        {
            self.left -= 1;
        }
    }

    pub(crate) fn facts(&mut self, declaration: usize) -> Option<&mut DeclarationFacts> {
        self.declarations.get_mut(declaration).map(|draft| &mut draft.facts)
    }

    pub(crate) fn comment(&mut self, source: &str, bytes: (usize, usize), lines: (u32, u32)) {
        let raw = source.get(bytes.0..bytes.1).unwrap_or_default();
        let mut text = prose(raw);
        truncate(&mut text, MAX_COMMENT);
        if text.is_empty() || self.comment_bytes + text.len() > MAX_COMMENTS {
            return;
        }
        // Comments on lines that follow each other are one text.
        if let Some(last) = self.comments.last_mut()
            && last.end_line + 1 == lines.0
            && last.text.len() + text.len() < MAX_COMMENT
            && source.get(last.end as usize..bytes.0).is_some_and(|gap| gap.trim().is_empty())
        {
            self.comment_bytes += text.len() + 1;
            last.text.push('\n');
            last.text.push_str(&text);
            (last.end, last.end_line) = (offset(bytes.1), lines.1);
            return;
        }
        self.comment_bytes += text.len();
        self.comments.push(CommentFacts {
            start_line: lines.0,
            end_line: lines.1,
            start: offset(bytes.0),
            end: offset(bytes.1),
            text,
        });
    }

    pub(crate) fn error(&mut self, row: usize) {
        if self.error_lines.len() < MAX_ERROR_LINES {
            self.error_lines.insert(line(row));
        }
    }

    pub(crate) fn finish(self, language: Language, parsed: &ParsedSource) -> FileFacts {
        let mut imports: Vec<String> = parsed.imports.iter().map(|import| import.module.clone()).collect();
        imports.sort();
        imports.dedup();
        let is_missing = parsed.shortfall.as_ref().is_some_and(crate::Shortfall::is_total);
        let mut declarations: Vec<DeclarationFacts> =
            self.declarations.into_iter().map(Draft::finish).collect();
        if is_missing {
            declarations.truncate(1);
        }
        if let Some((_, declared)) = declarations.split_first_mut() {
            declared.sort_by(|a, b| {
                a.bytes.0.cmp(&b.bytes.0).then(b.bytes.1.cmp(&a.bytes.1)).then_with(|| a.name.cmp(&b.name))
            });
        }
        FileFacts {
            language: language.name().to_owned(),
            imports,
            declarations,
            comments: self.comments,
            shortfall: parsed.shortfall.as_ref().map(ToString::to_string),
            error_lines: self.error_lines.into_iter().collect(),
        }
    }
}

impl Draft {
    fn finish(self) -> DeclarationFacts {
        let list = |set: BTreeSet<String>| set.into_iter().collect();
        DeclarationFacts {
            calls: list(self.calls),
            uses: list(self.uses),
            reads: list(self.reads),
            writes: list(self.writes),
            mutates: list(self.mutates),
            aliases: list(self.aliases),
            throws: list(self.throws),
            awaits: list(self.awaits),
            types: self.types.into_iter().collect(),
            ..self.facts
        }
    }
}

/// On one line, and not long.
pub(crate) fn short(text: &str) -> String {
    let mut out = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate(&mut out, MAX_TEXT);
    out
}

/// The text of a comment without its marks.
pub(crate) fn prose(comment: &str) -> String {
    let lines: Vec<&str> = comment.lines().map(crate::text::strip_markers).collect();
    let text = lines.join("\n");
    text.trim().to_owned()
}

pub(crate) fn doc(comment: &str) -> Option<String> {
    let mut text = prose(comment);
    truncate(&mut text, MAX_DOC);
    (!text.is_empty()).then_some(text)
}

pub(crate) fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
