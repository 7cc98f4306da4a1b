//! What a source text says about its declarations beyond their names: parameters, calls, what they read and write, how
//! they branch. Filters such as "functions that throw" are questions about these facts.

use serde::{Deserialize, Serialize};

use crate::SymbolKind;

/// The caller of a call that stands in no declaration, and the name of the part of a file that is in none.
pub const MODULE: &str = "(module)";

/// How well a fact is known about the declarations of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// As the language's own parser would say it, but for the differences that the documentation lists.
    Exact,
    /// Read by the same rules as other languages, and not compared with a reference.
    Approximate,
    /// The language has no such thing.
    NotInLanguage,
    /// It is not read: a filter on it cannot answer for this language.
    Unknown,
}

macro_rules! facts {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// A group of facts that a filter asks for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fact { $($variant),* }

        impl Fact {
            pub const ALL: &[Fact] = &[$(Fact::$variant),*];

            /// As the documentation calls it.
            pub fn name(self) -> &'static str {
                match self { $(Fact::$variant => $name),* }
            }
        }
    };
}

facts! {
    Kind "kind and name",
    Signature "signature",
    Imports "imports",
    Calls "calls",
    Uses "identifiers",
    Reads "reads",
    Writes "writes and mutations",
    Aliases "aliases",
    Parameters "parameters",
    Decorators "decorators",
    Visibility "visibility",
    Extends "extends",
    ReturnType "return type",
    Types "inferred types",
    Throws "throws",
    Async "async and awaits",
    Generator "generators",
    ControlFlow "branches, loops, breaks, continues",
    Documentation "comments",
    Errors "syntax errors",
}

/// The facts of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// The language's name, as users write it: `python`.
    pub language: String,
    /// The modules that the file imports, as written, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// By where they begin, an outer one before those in it. The first is the rest of the file: what no
    /// declaration holds.
    pub declarations: Vec<DeclarationFacts>,
    /// Comments and docstrings, in the order of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<CommentFacts>,
    /// Why something is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<String>,
    /// Lines at which the parser met what it does not understand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_lines: Vec<u32>,
}

/// A comment, or a string that documents something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentFacts {
    /// Lines from 1, both included.
    pub start_line: u32,
    pub end_line: u32,
    /// Bytes.
    pub start: u32,
    pub end: u32,
    /// Without the marks of the comment.
    pub text: String,
}

/// One declaration. A fact belongs to the innermost declaration around it, so that the calls of a method are not those of
/// its class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeclarationFacts {
    /// The name of a [`SymbolKind`]; `file` for what no declaration holds.
    #[serde(rename = "k")]
    pub kind: String,
    #[serde(rename = "n")]
    pub name: String,
    #[serde(rename = "q")]
    pub qualified: String,
    #[serde(rename = "sig", skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Lines from 1, both included, and bytes; attributes and comments in front do not count.
    #[serde(rename = "l")]
    pub lines: (u32, u32),
    #[serde(rename = "b")]
    pub bytes: (u32, u32),
    #[serde(rename = "p", skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    #[serde(rename = "dec", skip_serializing_if = "Vec::is_empty")]
    pub decorators: Vec<String>,
    #[serde(rename = "mod", skip_serializing_if = "Vec::is_empty")]
    pub modifiers: Vec<String>,
    /// `public`, `protected`, `internal` or `private`, where the language says.
    #[serde(rename = "vis", skip_serializing_if = "Option::is_none")]
    pub visibility: Option<String>,
    /// What it extends or implements.
    #[serde(rename = "ext", skip_serializing_if = "Vec::is_empty")]
    pub extends: Vec<String>,
    /// The declared type of its result.
    #[serde(rename = "ret", skip_serializing_if = "Option::is_none")]
    pub return_type: Option<String>,
    /// Types of parameters, fields and variables by annotations, defaults and literals.
    #[serde(rename = "ty", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypedName>,
    /// Callees, dotted, each once: `db.query`.
    #[serde(rename = "c", skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Every identifier in it, each once.
    #[serde(rename = "u", skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<String>,
    /// Names whose values are used, dotted where they are members: `req.body`.
    #[serde(rename = "r", skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Plain names that are given values.
    #[serde(rename = "w", skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Members and elements that are given values: `self.size`, `rows[]`.
    #[serde(rename = "m", skip_serializing_if = "Vec::is_empty")]
    pub mutates: Vec<String>,
    /// Names that are given the value of another name: `x=self.size`.
    #[serde(rename = "a", skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    #[serde(rename = "t", skip_serializing_if = "Vec::is_empty")]
    pub throws: Vec<String>,
    /// What is awaited: the callee, or the name.
    #[serde(rename = "aw", skip_serializing_if = "Vec::is_empty")]
    pub awaits: Vec<String>,
    /// The whole documentation, without marks.
    #[serde(rename = "doc", skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    #[serde(rename = "as", skip_serializing_if = "is_false")]
    pub is_async: bool,
    #[serde(rename = "gen", skip_serializing_if = "is_false")]
    pub is_generator: bool,
    /// A `return` of it has a value.
    #[serde(rename = "rv", skip_serializing_if = "is_false")]
    pub returns_value: bool,
    #[serde(rename = "n_b", skip_serializing_if = "is_zero")]
    pub branches: u32,
    #[serde(rename = "n_l", skip_serializing_if = "is_zero")]
    pub loops: u32,
    #[serde(rename = "n_k", skip_serializing_if = "is_zero")]
    pub breaks: u32,
    #[serde(rename = "n_c", skip_serializing_if = "is_zero")]
    pub continues: u32,
    #[serde(rename = "n_r", skip_serializing_if = "is_zero")]
    pub returns: u32,
    #[serde(rename = "n_y", skip_serializing_if = "is_zero")]
    pub yields: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameter {
    #[serde(rename = "n")]
    pub name: String,
    #[serde(rename = "t", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    #[serde(rename = "d", skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A name and the type that its annotation, its default or its value shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TypedName {
    #[serde(rename = "n")]
    pub name: String,
    #[serde(rename = "t")]
    pub type_: String,
}

impl DeclarationFacts {
    pub fn symbol_kind(&self) -> Option<SymbolKind> {
        SymbolKind::from_name(&self.kind)
    }

    /// The part of a file that no declaration holds.
    pub fn is_module(&self) -> bool {
        self.kind == "file"
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
