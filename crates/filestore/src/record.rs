//! What a store keeps besides files: the keys that callers were given, and the log of their calls.

use model::TenantId;
use serde_json::Value;

use crate::entry::StoreTime;

/// A key that was given out. The key itself is not kept, only its digest, which is the tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    pub name: String,
    pub tenant: TenantId,
    pub created_at: StoreTime,
    pub revoked_at: Option<StoreTime>,
}

/// One call of a tool. `parameters` holds no content of files: its length, digest and a short preview at most.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    pub tenant: TenantId,
    pub at: StoreTime,
    pub tool: String,
    pub caller: String,
    pub parameters: Value,
    /// The public code of a failure; `None` for success.
    pub error_code: Option<String>,
    pub duration_ms: u64,
    pub cost: u64,
}

/// Which calls of one tenant are wanted, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFilter {
    pub tool: Option<String>,
    pub caller: Option<String>,
    pub failed_only: bool,
    pub from: Option<StoreTime>,
    pub to: Option<StoreTime>,
    pub offset: usize,
    pub limit: usize,
}
