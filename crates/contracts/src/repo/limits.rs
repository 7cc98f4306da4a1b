//! What one call may take and give: defaults and the caps that no configuration exceeds.

/// The limits of the repo specification, section 7.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepoLimits {
    pub max_file_bytes: u64,
    pub max_open_lines: u32,
    pub max_total_bytes_per_response: u64,
    pub max_search_hits: u32,
    pub max_references: u32,
    pub max_bundle_files: u32,
}

/// Name, default and cap of each limit: the configuration, its messages and the reference read this.
pub const RESPONSE_LIMITS: [(&str, u64, u64); 6] = [
    ("max_file_bytes", 1 << 20, 4 << 20),
    ("max_open_lines", 500, 2000),
    ("max_total_bytes_per_response", 256 << 10, 1 << 20),
    ("max_search_hits", 50, 200),
    ("max_references", 50, 200),
    ("max_bundle_files", 20, 100),
];

impl Default for RepoLimits {
    fn default() -> RepoLimits {
        let [file_bytes, open_lines, response_bytes, hits, references, files] =
            RESPONSE_LIMITS.map(|(_, default, _)| default);
        RepoLimits {
            max_file_bytes: file_bytes,
            max_open_lines: open_lines as u32,
            max_total_bytes_per_response: response_bytes,
            max_search_hits: hits as u32,
            max_references: references as u32,
            max_bundle_files: files as u32,
        }
    }
}
