//! How many bytes of a file are read at most, by document type.

use std::collections::BTreeMap;

use model::DocType;

/// `ingest.max_file_mb: 20` of the dir2mcp specification, section 16.2.
pub const DEFAULT_MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct SizeLimits {
    pub(crate) default: u64,
    pub(crate) by_type: BTreeMap<DocType, u64>,
}

impl SizeLimits {
    pub(crate) fn max_bytes(&self, doc_type: DocType) -> u64 {
        self.by_type.get(&doc_type).copied().unwrap_or(self.default)
    }
}
