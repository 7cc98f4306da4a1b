//! Uses of names: imports, calls, types, bases, reads and writes.

use serde::Serialize;

/// One use of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The name alone: `run` of `service.run()`.
    pub name: String,
    /// What it was reached through, as written: `service` of `service.run()`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qualifier: Option<String>,
    pub kind: ReferenceKind,
    /// From 1.
    pub line: u32,
    /// Of the name, in bytes from 1.
    pub column: u32,
    /// The innermost declaration around it: an index into the outline's symbols.
    pub within: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceKind {
    Import,
    Inheritance,
    Call,
    /// A call of a constructor: by the syntax (`new`), or by the upper-case letter where there is none.
    Instantiation,
    Type,
    /// The value is used: `limit` of `x = limit + 1`, `name` of `user.name`.
    Read,
    /// The name is given a value that is not its declaration.
    Write,
}

impl ReferenceKind {
    pub const ALL: &[ReferenceKind] = &[
        ReferenceKind::Import,
        ReferenceKind::Inheritance,
        ReferenceKind::Call,
        ReferenceKind::Instantiation,
        ReferenceKind::Type,
        ReferenceKind::Read,
        ReferenceKind::Write,
    ];

    pub fn from_name(name: &str) -> Option<ReferenceKind> {
        ReferenceKind::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            ReferenceKind::Import => "import",
            ReferenceKind::Inheritance => "inheritance",
            ReferenceKind::Call => "call",
            ReferenceKind::Instantiation => "instantiation",
            ReferenceKind::Type => "type",
            ReferenceKind::Read => "read",
            ReferenceKind::Write => "write",
        }
    }
}

/// What a file takes from elsewhere: one for each name, or one for the module where no name is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Import {
    /// As written: `os.path`, `./util`, `std::fmt`, `stdio.h`.
    pub module: String,
    /// The name taken from the module; `*` for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name it has here, if another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// From 1.
    pub line: u32,
}
