//! How much may be stored, and what the operator allows.

use std::time::Duration;

/// The keys `files.*` that decide about single operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLimits {
    /// Whether a project can be wiped by deleting its root.
    pub allow_root_wipe: bool,
    /// The longest content of one write.
    pub max_payload_bytes: u64,
    pub max_file_bytes: u64,
    pub max_project_bytes: u64,
    /// Of all projects of a tenant together; no limit unless the operator sets one.
    pub max_tenant_bytes: Option<u64>,
    /// Entries of a list unless the caller says how many.
    pub list_limit_default: usize,
    pub list_limit_max: usize,
    /// How long a change waits for another one of the same project.
    pub lock_timeout: Duration,
    /// How long deleted files are kept.
    pub delete_retention: Duration,
    /// Former contents of a file that are always kept, whatever their age.
    pub versions_kept: usize,
    /// Former contents younger than this are kept, however many there are.
    pub version_retention: Duration,
    /// How long the log of calls goes back.
    pub call_retention: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for StoreLimits {
    fn default() -> StoreLimits {
        StoreLimits {
            allow_root_wipe: false,
            max_payload_bytes: 2_000_000,
            max_file_bytes: 10_000_000,
            max_project_bytes: 100_000_000,
            max_tenant_bytes: None,
            list_limit_default: 256,
            list_limit_max: 1024,
            lock_timeout: Duration::from_millis(3000),
            delete_retention: DAY * 30,
            versions_kept: 3,
            version_retention: DAY * 7,
            call_retention: DAY * 30,
        }
    }
}
