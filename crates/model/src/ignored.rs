//! Which rule kept an entry of the tree out. Such entries have no row of their own, since nobody may read them or
//! somebody asked for them to be left alone; they are counted by rule, so that nothing disappears without a word.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A rule that keeps entries out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum IgnoreRule {
    /// The fixed deny list, which no setting relaxes.
    DenyList { pattern: String },
    /// A pattern of `security.path_excludes`.
    PathExcludes { pattern: String },
    /// A pattern of `index.exclude_globs`, by which the repository tools keep files out of an index of their own.
    IndexGlobs { pattern: String },
    /// A line of a `.gitignore` or `.ignore` file; `file` is its path from the root.
    IgnoreFile { file: String, line: u32, pattern: String },
    /// Members of archives whose names lead out of the archive, are absolute or are no names at all.
    UnsafeMember,
}

impl fmt::Display for IgnoreRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IgnoreRule::DenyList { pattern } => write!(f, "the fixed deny list ({pattern})"),
            IgnoreRule::PathExcludes { pattern } => write!(f, "security.path_excludes ({pattern})"),
            IgnoreRule::IndexGlobs { pattern } => write!(f, "index.exclude_globs ({pattern})"),
            IgnoreRule::IgnoreFile { file, line, pattern } => write!(f, "{file} line {line} ({pattern})"),
            IgnoreRule::UnsafeMember => f.write_str("unsafe names of archive members"),
        }
    }
}

/// What one rule kept out. What is in a folder that was kept out is not looked at and not counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    pub rule: IgnoreRule,
    pub files: u64,
    pub folders: u64,
}

#[cfg(test)]
mod tests {
    use super::IgnoreRule;

    #[test]
    fn rules_name_where_they_stand() {
        let rule = IgnoreRule::IgnoreFile { file: "sub/.gitignore".into(), line: 179, pattern: "/*".into() };
        assert_eq!(rule.to_string(), "sub/.gitignore line 179 (/*)");
        let pattern = "*.pem".into();
        assert_eq!(IgnoreRule::DenyList { pattern }.to_string(), "the fixed deny list (*.pem)");
    }
}
