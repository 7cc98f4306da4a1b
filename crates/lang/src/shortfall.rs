//! Why a file's structure is missing or incomplete.

use std::fmt;

/// Recorded with the file, so that a missing outline is never a riddle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortfall {
    TooLarge {
        bytes: usize,
        limit: usize,
    },
    /// Brackets inside brackets without end.
    TooNested {
        limit: usize,
    },
    /// A program wrote it on a few long lines: its names are cut short, and a line says nothing about a place.
    Minified {
        line_bytes: usize,
    },
    /// The parser gave up repairing: the input is not this language, or made to be slow.
    TooHard,
    TooDeep {
        limit: usize,
    },
    TooMany {
        what: &'static str,
        limit: usize,
    },
    /// The text does not parse, and this language's outline is all or nothing.
    SyntaxError {
        line: u32,
    },
    /// The text does not parse in places; what the parser recovered is there.
    Recovered {
        line: u32,
    },
}

impl Shortfall {
    pub fn code(&self) -> &'static str {
        match self {
            Shortfall::TooLarge { .. } => "SOURCE_TOO_LARGE",
            Shortfall::TooNested { .. } => "SOURCE_TOO_NESTED",
            Shortfall::Minified { .. } => "SOURCE_MINIFIED",
            Shortfall::TooHard => "SOURCE_TOO_HARD",
            Shortfall::TooDeep { .. } => "SOURCE_TOO_DEEP",
            Shortfall::TooMany { .. } => "SOURCE_TOO_MANY",
            Shortfall::SyntaxError { .. } => "SYNTAX_ERROR",
            Shortfall::Recovered { .. } => "SYNTAX_RECOVERED",
        }
    }

    /// Whether there is no structure at all, so that the file is a text of plain lines.
    pub fn is_total(&self) -> bool {
        matches!(
            self,
            Shortfall::TooLarge { .. }
                | Shortfall::TooNested { .. }
                | Shortfall::Minified { .. }
                | Shortfall::TooHard
                | Shortfall::SyntaxError { .. }
        )
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code())?;
        match self {
            Shortfall::TooLarge { bytes, limit } => write!(f, "{bytes} bytes exceed the limit of {limit}"),
            Shortfall::TooNested { limit } => write!(f, "brackets are nested deeper than {limit}"),
            Shortfall::Minified { line_bytes } => {
                write!(f, "the text is minified, a line has {line_bytes} bytes on average")
            }
            Shortfall::TooHard => f.write_str("the parser gave up"),
            Shortfall::TooDeep { limit } => write!(f, "declarations nested deeper than {limit} are left out"),
            Shortfall::TooMany { what, limit } => write!(f, "only the first {limit} {what} are kept"),
            Shortfall::SyntaxError { line } => write!(f, "the text does not parse (line {line})"),
            Shortfall::Recovered { line } => {
                write!(f, "the text does not parse in places (first: line {line})")
            }
        }
    }
}
