//! A path below a root: relative, `/`-separated, without `..`. Having one proves the shape, not the permission.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::filetype;

/// Longest path accepted from a caller, in bytes (Linux' `PATH_MAX`).
pub const MAX_PATH_BYTES: usize = 4096;

/// A normalised path relative to a root. Never empty, never absolute, never with `.`, `..` or NUL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RelPath(String);

/// Why a text is not a path below a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("the path is absolute; give it relative to the root directory")]
    Absolute,
    #[error("the path leaves the root directory")]
    Escapes,
    #[error("the path contains a NUL byte")]
    Nul,
    #[error("the path is longer than {MAX_PATH_BYTES} bytes")]
    TooLong,
}

impl RelPath {
    /// Reads a path as a caller writes it: `\` counts as `/` (agents on Windows send it), `.` and doubled
    /// separators fall away, `..` is refused even where it would stay inside, so that no two layers can
    /// disagree about what it means.
    pub fn parse(text: &str) -> Result<RelPath, PathError> {
        if text.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong);
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        let bytes = text.as_bytes();
        let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
        if drive || bytes.first().is_some_and(|b| matches!(b, b'/' | b'\\')) {
            return Err(PathError::Absolute);
        }
        Self::join_parts(text.split(['/', '\\']))
    }

    /// Takes a path that a directory walk produced, whose names may hold backslashes of their own.
    pub fn from_walk(text: &str) -> Result<RelPath, PathError> {
        Self::join_parts(text.split('/'))
    }

    fn join_parts<'a>(parts: impl Iterator<Item = &'a str>) -> Result<RelPath, PathError> {
        let mut path = String::new();
        for part in parts {
            match part {
                "" | "." => {}
                ".." => return Err(PathError::Escapes),
                name => {
                    if !path.is_empty() {
                        path.push('/');
                    }
                    path.push_str(name);
                }
            }
        }
        if path.is_empty() { Err(PathError::Empty) } else { Ok(RelPath(path)) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The lower-case extension of the last component, without the dot.
    pub fn extension(&self) -> Option<String> {
        filetype::extension(&self.0).filter(|extension| !extension.is_empty()).map(str::to_lowercase)
    }

    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for RelPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for RelPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        RelPath::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{PathError, RelPath};

    #[test]
    fn shapes_of_a_path() {
        let parse = |text| RelPath::parse(text).map(|p| p.as_str().to_owned());
        assert_eq!(parse("a/b.rs"), Ok("a/b.rs".into()));
        assert_eq!(parse("./a//b/./c"), Ok("a/b/c".into()));
        assert_eq!(parse("src\\main.rs"), Ok("src/main.rs".into()));
        assert_eq!(parse("..a/b.."), Ok("..a/b..".into()));
        for outside in ["..", "../x", "a/../b", "a\\..\\..\\x", "./.."] {
            assert_eq!(parse(outside), Err(PathError::Escapes), "{outside}");
        }
        for absolute in ["/etc/passwd", "\\\\host\\share", "C:\\x", "c:/x", "C:x"] {
            assert_eq!(parse(absolute), Err(PathError::Absolute), "{absolute}");
        }
        for empty in ["", ".", "./", "././."] {
            assert_eq!(parse(empty), Err(PathError::Empty), "{empty}");
        }
        assert_eq!(parse("a\0b"), Err(PathError::Nul));
        assert_eq!(parse(&"a/".repeat(3000)), Err(PathError::TooLong));
    }

    #[test]
    fn extension_is_of_the_last_component() {
        let extension = |text: &str| RelPath::parse(text).unwrap().extension();
        assert_eq!(extension("a.b/C.RS"), Some("rs".into()));
        assert_eq!(extension("a.b/c"), None);
        assert_eq!(extension(".env"), None);
        assert_eq!(extension("x."), None);
    }
}
