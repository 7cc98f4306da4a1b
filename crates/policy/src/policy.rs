//! The policy of a workspace: which paths, which sizes and which contents may leave the door.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{DocType, IgnoreRule, RelPath};

use crate::allow::AllowList;
use crate::deny::{self, Denied, Excludes};
use crate::limits::{DEFAULT_MAX_FILE_BYTES, SizeLimits};
use crate::place::{SecretLevel, SecretPlace};
use crate::redact::Redactor;
use crate::secrets::{SecretMatch, SecretPatterns};

/// What the configuration says about access. The deny floor is not in it, because no setting can relax it.
#[derive(Debug, Clone)]
pub struct PolicyConfig {
    /// `security.path_excludes`, gitignore-like; added to the floor.
    pub path_excludes: Vec<String>,
    /// Globs that keep files out of the index and nothing else: `index.exclude_globs` where the repository tools have an
    /// index of their own.
    pub index_excludes: Vec<String>,
    /// `security.secret_patterns`.
    pub secret_patterns: SecretPatterns,
    /// `security.secret_level`.
    pub secret_level: SecretLevel,
    /// `security.allow`: paths and lines that the secret rules let pass.
    pub allow: Vec<String>,
    /// `ingest.max_file_mb`, in bytes.
    pub max_file_bytes: u64,
    /// Limits for single document types; the others have `max_file_bytes`.
    pub max_bytes_by_type: BTreeMap<DocType, u64>,
    /// `ingest.follow_symlinks`: whether a walk follows links that stay below the root.
    pub follow_symlinks: bool,
}

impl Default for PolicyConfig {
    fn default() -> PolicyConfig {
        PolicyConfig {
            path_excludes: deny::default_path_excludes(),
            index_excludes: Vec::new(),
            secret_patterns: SecretPatterns::Default,
            secret_level: SecretLevel::Default,
            allow: Vec::new(),
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
            max_bytes_by_type: BTreeMap::new(),
            follow_symlinks: false,
        }
    }
}

/// Why a configuration is not a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("security.path_excludes: {pattern:?} is not a glob: {reason}")]
    Glob { pattern: String, reason: String },
    #[error("security.secret_patterns: {pattern:?} is not a usable regular expression: {reason}")]
    Pattern { pattern: String, reason: String },
    #[error(
        "security.allow: {entry:?} is neither a glob of paths nor sha256: and at least 16 hex digits of a line's digest"
    )]
    Allow { entry: String },
    #[error("security.secret_patterns: {count} patterns exceed the limit of {limit}")]
    TooManyPatterns { count: usize, limit: usize },
}

/// The compiled rules. Cheap to ask, shared by all threads.
#[derive(Debug)]
pub struct Policy {
    excludes: Excludes,
    unindexed: Excludes,
    redactor: Arc<Redactor>,
    level: SecretLevel,
    allowed: AllowList,
    limits: SizeLimits,
    follow_symlinks: bool,
}

impl Policy {
    pub fn new(config: PolicyConfig) -> Result<Policy, PolicyError> {
        Ok(Policy {
            excludes: Excludes::new(&config.path_excludes)?,
            unindexed: Excludes::new(&config.index_excludes)?,
            redactor: Arc::new(Redactor::new(&config.secret_patterns)?),
            level: config.secret_level,
            allowed: AllowList::new(&config.allow)?,
            limits: SizeLimits { default: config.max_file_bytes, by_type: config.max_bytes_by_type },
            follow_symlinks: config.follow_symlinks,
        })
    }

    /// Whether a file of this path may be read at all. A denied folder denies everything below it.
    pub fn check_path(&self, path: &RelPath) -> Result<(), Denied> {
        deny::check_floor(path)?;
        self.excludes.check(path, false)
    }

    /// Whether a walk may take a path into the index; if not, the rule against it. A directory that is kept out keeps out
    /// everything below it.
    pub fn check_indexed(&self, path: &RelPath, is_dir: bool) -> Result<(), IgnoreRule> {
        let read = deny::check_floor(path).and_then(|()| self.excludes.check(path, is_dir));
        read.map_err(|denied| denied.rule())?;
        self.unindexed.check(path, is_dir).map_err(|denied| match denied {
            Denied::Excluded { pattern } => IgnoreRule::IndexGlobs { pattern },
            floor @ Denied::Floor { .. } => floor.rule(),
        })
    }

    /// The first credential found in the text of a file, by the name of the rule that found it.
    ///
    /// Give it the decoded text, not the file's bytes: a UTF-16 file hides its secrets from byte patterns.
    pub fn scan(&self, path: &RelPath, text: &[u8]) -> Option<SecretMatch<'_>> {
        if self.allowed.allows_path(path) {
            return None;
        }
        self.redactor.scanner().scan(text, SecretPlace::new(path, self.level), &self.allowed)
    }

    /// What blanks a text that may be shown, but not with everything in it.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    pub fn max_bytes(&self, doc_type: DocType) -> u64 {
        self.limits.max_bytes(doc_type)
    }

    /// The most that any document may have, whatever its type: a member of an archive has no other limit until it is known
    /// what it is.
    pub fn max_member_bytes(&self) -> u64 {
        DocType::ALL.iter().map(|doc_type| self.max_bytes(*doc_type)).max().unwrap_or(DEFAULT_MAX_FILE_BYTES)
    }

    pub fn follows_symlinks(&self) -> bool {
        self.follow_symlinks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d089_a_limit_per_document_type() {
        let policy = Policy::new(PolicyConfig {
            max_file_bytes: 10,
            max_bytes_by_type: BTreeMap::from([(DocType::Pdf, 99)]),
            ..PolicyConfig::default()
        })
        .unwrap();
        assert_eq!(policy.max_bytes(DocType::Pdf), 99);
        assert_eq!(policy.max_bytes(DocType::Code), 10);
        assert_eq!(Policy::new(PolicyConfig::default()).unwrap().max_bytes(DocType::Md), 20 << 20);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let glob = PolicyConfig { path_excludes: vec!["ok".into(), "a[".into()], ..PolicyConfig::default() };
        assert!(
            matches!(Policy::new(glob).unwrap_err(), PolicyError::Glob { pattern, .. } if pattern == "a[")
        );
        let custom = |patterns: Vec<String>| PolicyConfig {
            secret_patterns: SecretPatterns::Custom(patterns),
            ..PolicyConfig::default()
        };
        for bad in ["(", r"(?:a{1000}){1000}", r"\p{L}{500}\p{L}{500}"] {
            let error = Policy::new(custom(vec!["fine".into(), bad.into()])).unwrap_err();
            assert!(matches!(error, PolicyError::Pattern { pattern, .. } if pattern == bad));
        }
        assert_eq!(
            Policy::new(custom(vec!["x".into(); 257])).unwrap_err(),
            PolicyError::TooManyPatterns { count: 257, limit: 256 }
        );
    }
}
