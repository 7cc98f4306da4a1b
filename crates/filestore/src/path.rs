//! Paths of stored files: absolute within their project, in plain characters, compared byte by byte.

use std::fmt;
use std::sync::Arc;

use model::{ErrorCode, Failure};

/// A path below a project's root. The root itself is the empty path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorePath(Arc<str>);

const MAX_PATH_BYTES: usize = 512;

impl StorePath {
    pub fn root() -> StorePath {
        StorePath("".into())
    }

    pub fn parse(text: &str) -> Result<StorePath, Failure> {
        match complaint(text) {
            None => Ok(StorePath(text.into())),
            Some(what) => Err(Failure::new(ErrorCode::InvalidPath, format!("path {what}"))),
        }
    }

    /// The same, for what has to be a file: the root is none.
    pub fn parse_file(text: &str) -> Result<StorePath, Failure> {
        if text.is_empty() {
            return Err(Failure::new(ErrorCode::InvalidPath, "path must name a file, not the project root"));
        }
        StorePath::parse(text)
    }

    /// Whether a path may contain this byte.
    pub fn has_byte(byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last segment; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(_, name)| name)
    }

    /// What the paths below this one begin with.
    pub fn descendant_prefix(&self) -> String {
        format!("{}/", self.0)
    }

    /// The range `[first, end)` of the paths below this one, in byte order: `/a/` to `/a0`, as `0` follows `/`. Compared
    /// bytewise it holds the descendants and nothing else, whatever characters the path has.
    pub fn descendant_range(&self) -> (String, String) {
        (self.descendant_prefix(), format!("{}0", self.0))
    }

    /// The directories above, the nearest to the root first; the root is not among them.
    pub fn ancestors(&self) -> impl Iterator<Item = StorePath> + '_ {
        self.0.match_indices('/').skip(1).map(|(at, _)| StorePath(self.0[..at].into()))
    }

    pub fn is_below(&self, other: &StorePath) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }

    /// How many segments it has.
    pub fn depth(&self) -> usize {
        self.0.matches('/').count()
    }

    /// This path, moved along with the file or directory `from` to `to`.
    pub fn moved(&self, from: &StorePath, to: &StorePath) -> Result<StorePath, Failure> {
        let rest = self.0.strip_prefix(from.as_str()).unwrap_or_default();
        StorePath::parse(&format!("{}{rest}", to.as_str()))
    }
}

/// What is wrong with a path, if anything is.
fn complaint(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return None;
    }
    if text.len() > MAX_PATH_BYTES {
        return Some("must have at most 512 characters");
    }
    if !text.starts_with('/') {
        return Some("must start with '/'");
    }
    if text.ends_with('/') {
        return Some("must not end with '/'");
    }
    if !text.bytes().all(StorePath::has_byte) {
        return Some("may only contain A-Z a-z 0-9 / _ - .");
    }
    text[1..].split('/').find_map(|segment| match segment {
        "" => Some("must not have an empty segment"),
        "." | ".." => Some("must not have '.' or '..' segments"),
        _ => None,
    })
}

impl fmt::Display for StorePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StorePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StorePath({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f018_to_f026_paths_are_checked() {
        for good in ["", "/a", "/a/b.c", "/A_-.9/x", "/...", "/.hidden", &format!("/{}", "x".repeat(511))] {
            assert_eq!(StorePath::parse(good).unwrap().as_str(), good);
        }
        let long = format!("/{}", "x".repeat(512));
        for bad in [
            "a",
            "/",
            "/a/",
            "/a//b",
            "/a/../b",
            "/a/./b",
            "/a/b c",
            "/a/\u{7f}",
            "/你好",
            "/a\tb",
            "/a%b",
            &long,
        ] {
            assert_eq!(StorePath::parse(bad).unwrap_err().code, ErrorCode::InvalidPath, "{bad:?}");
        }
    }

    #[test]
    fn ranges_hold_descendants_only() {
        let path = StorePath::parse("/a_b").unwrap();
        let (first, end) = path.descendant_range();
        for (other, below) in
            [("/a_b/c", true), ("/a_b", false), ("/axb/c", false), ("/a_b-c", false), ("/a_b0", false)]
        {
            assert_eq!((first.as_str()..end.as_str()).contains(&other), below, "{other}");
            assert_eq!(StorePath::parse(other).unwrap().is_below(&path), below, "{other}");
        }
    }

    #[test]
    fn ancestors_and_moves() {
        let path = StorePath::parse("/a/b/c").unwrap();
        let above: Vec<String> = path.ancestors().map(|each| each.to_string()).collect();
        assert_eq!(above, ["/a", "/a/b"]);
        let (from, to) = (StorePath::parse("/a/b").unwrap(), StorePath::parse("/z").unwrap());
        assert_eq!(path.moved(&from, &to).unwrap().as_str(), "/z/c");
        assert_eq!(from.moved(&from, &to).unwrap(), to);
        assert_eq!((path.name(), path.depth(), StorePath::root().name()), ("c", 3, ""));
    }
}
