//! A declaration: what it is, what it is called, and where it stands.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Symbol {
    pub kind: SymbolKind,
    /// The name alone: `run`.
    pub name: String,
    /// The name with those of the declarations around it: `Service.run`. Dots in every programming language.
    pub qualified: String,
    /// Python: parameters or bases as Python prints them, `(self, item: str, retries: int=2)`.
    /// Elsewhere: the declaration up to its body on one line.
    pub signature: String,
    /// Python's return annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<String>,
    /// Decorators, as written, without the `@`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decorators: Vec<String>,
    /// The first line of the documentation.
    pub doc: Option<String>,
    /// Lines from 1, both included; decorators and comments before the declaration do not count.
    pub start_line: u32,
    pub end_line: u32,
    /// The line of the name, which differs where a return type has a line of its own.
    pub name_line: u32,
    /// The first line of the comments, attributes and decorators that belong to the declaration.
    pub lead_line: u32,
    /// The qualified name of the declaration around this one.
    pub parent: Option<String>,
    pub scope_kind: ScopeKind,
    /// Whether it stands under control flow.
    pub is_conditional: bool,
    /// The control flow around it, outermost first: `if>try`.
    pub decl_context: Option<String>,
    /// How many declarations are around it.
    pub level: u32,
}

/// What a declaration stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeKind {
    Module,
    Class,
    Function,
}

impl ScopeKind {
    pub fn from_name(name: &str) -> Option<ScopeKind> {
        [ScopeKind::Module, ScopeKind::Class, ScopeKind::Function]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            ScopeKind::Module => "module",
            ScopeKind::Class => "class",
            ScopeKind::Function => "function",
        }
    }
}

macro_rules! kinds {
    ($($variant:ident $text:literal),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum SymbolKind { $($variant),* }

        impl SymbolKind {
            pub const ALL: &[SymbolKind] = &[$(SymbolKind::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(SymbolKind::$variant => $text),* }
            }

            pub fn from_name(name: &str) -> Option<SymbolKind> {
                match name { $($text => Some(SymbolKind::$variant),)* _ => None }
            }
        }
    };
}

kinds! {
    Actor "actor",
    AsyncFunction "async_function",
    AsyncMethod "async_method",
    Class "class",
    Const "const",
    Constructor "constructor",
    Delegate "delegate",
    Element "element",
    Enum "enum",
    Event "event",
    Extension "extension",
    Function "function",
    Heading "heading",
    Impl "impl",
    Index "index",
    Instance "instance",
    Interface "interface",
    Key "key",
    Macro "macro",
    Method "method",
    Mod "mod",
    Module "module",
    Namespace "namespace",
    Object "object",
    Operator "operator",
    Package "package",
    Policy "policy",
    Procedure "procedure",
    Property "property",
    Protocol "protocol",
    Record "record",
    Role "role",
    Rule "rule",
    Schema "schema",
    Sequence "sequence",
    Static "static",
    Struct "struct",
    Table "table",
    Test "test",
    Trait "trait",
    Trigger "trigger",
    Type "type",
    Union "union",
    Variable "variable",
    View "view",
}

impl Serialize for SymbolKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::fmt::Display for SymbolKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
