//! The tenants' file store: projects of text files, written, listed, moved, searched; one set of rules, several backends.
//!
//! [`rules`] decides what an operation does to a project, without I/O. A backend gathers the facts inside a transaction that
//! holds the project's lock, asks the rules, applies the plan and writes the index job, all at once or not at all. Every call
//! carries a [`ProjectScope`], so that there is no query without a tenant.

mod backend;
pub mod backends;
mod call_log;
mod entry;
pub mod envelope;
mod guard;
pub mod indexing;
mod limits;
pub mod listing;
pub mod maintenance;
mod metrics;
mod mutation;
mod path;
mod project;
pub mod publication;
mod quota;
mod rate;
mod record;
pub mod redaction;
pub mod rules;
pub mod search;
mod service;

pub use backend::{BackendFuture, FileBackend, RecordBackend};
pub use call_log::{CallLog, CallLogOptions};
pub use entry::{
    FileEntry, FileListing, FileSlice, FileVersion, PathState, ProjectSummary, StoreTime, VersionContent,
};
pub use guard::{MutationOutcome, RequestDigest, check_guard, reused_key};
pub use limits::StoreLimits;
pub use metrics::{Freshness, StoreMetrics};
pub use mutation::{
    DeleteRequest, MutationGuard, MutationKey, RenameRequest, RestoreRequest, WriteMode, WriteOutcome,
    WriteRequest,
};
pub use path::StorePath;
pub use project::{ProjectName, ProjectScope};
pub use quota::check_tenant_quota;
pub use rate::{RateRefusal, RateRule, TenantRates};
pub use record::{CallFilter, CallRecord, KeyRecord};
pub use service::{FileStore, RawWriteArguments, ReadText};
