//! Shared folders, searched and previewed across many roots. Nothing leaves here but short, redacted text: whole files
//! are never shown.

mod index;
mod limits;
mod open;
mod place;
mod queue;
mod rank;
mod rewrite;
mod roots;
mod search;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{ErrorCode, Failure};
use policy::Redactor;

use crate::api::Call;
use crate::audit::AuditLog;
use crate::engine::Engine;

pub use index::{Indexed, Priority, Report};
pub use limits::{Limits, MinuteLimits};
pub use open::{Preview, PreviewRequest};
pub use rewrite::Rewritten;
use roots::Location;
pub use roots::{FurtherRoot, Roots};
pub use search::{FindRequest, FoundFile, FoundFiles};
pub use summary::{Given, Style, Summary};

/// What the operator decided.
#[derive(Debug, Clone)]
pub struct SmartConfig {
    /// Where the audit log is kept, if it is.
    pub data_dir: Option<PathBuf>,
    /// The largest preview or snippet, in bytes.
    pub preview_bytes: usize,
    /// What was asked is kept in the audit log.
    pub audit_queries: bool,
    pub limits: MinuteLimits,
    /// Blanks what must not be shown.
    pub redactor: Arc<Redactor>,
}

/// The folders behind the tools. Cheap to clone; the clones share limits, queue and log.
#[derive(Clone)]
pub struct Smart {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    roots: Arc<Roots>,
    config: SmartConfig,
    limits: Limits,
    queue: queue::Queue,
    pages: search::Pages,
    log: Arc<AuditLog>,
}

impl Smart {
    pub fn new(roots: Arc<Roots>, config: SmartConfig) -> Smart {
        let inner = Inner {
            limits: Limits::new(config.limits),
            queue: queue::Queue::default(),
            pages: search::Pages::default(),
            log: Arc::new(AuditLog::new(config.data_dir.as_deref(), Arc::clone(&config.redactor))),
            roots,
            config,
        };
        Smart { inner: Arc::new(inner) }
    }

    pub fn config(&self) -> &SmartConfig {
        &self.inner.config
    }

    /// Text as it may leave these tools.
    pub fn redacted(&self, text: &str) -> String {
        self.inner.config.redactor.redact(text).into_owned()
    }

    /// A path as it may leave these tools: the root is the operator's own word, the names below it are not.
    pub fn redacted_path(&self, path: &str) -> String {
        let redactor = &self.inner.config.redactor;
        let below = |root: &Path| {
            path.strip_prefix(root.to_str()?).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match self.inner.roots.listed().find_map(below) {
            Some(rest) => format!("{}{}", &path[..path.len() - rest.len()], redactor.redact_path(rest)),
            None => redactor.redact_path(path),
        }
    }

    pub fn log(&self) -> &Arc<AuditLog> {
        &self.inner.log
    }

    pub fn roots(&self) -> &Roots {
        &self.inner.roots
    }

    /// Counts a call against its caller's limit. Where no folder is configured there is nothing to call.
    pub fn admit(&self, call: &Call) -> Result<(), Failure> {
        let started = std::time::Instant::now();
        let [primary, ..] = self.engines() else {
            return Err(Failure::new(ErrorCode::InternalError, "no folder is configured").hint(
                "Start the server with --roots FOLDER,FOLDER or set workspace.roots in a config file.",
            ));
        };
        self.inner.limits.admit(&call.caller, call.tool, started).inspect_err(|refused| {
            primary.metrics().record(call.tool, refused.code.as_str(), started.elapsed());
        })
    }

    /// Where a path leads that a caller gives, also one whose names were blanked when it was shown.
    fn locate(&self, written: &str) -> Result<Location, Failure> {
        let mut location = self.inner.roots.locate(written)?;
        let blanked = Redactor::BLANKS.iter().any(|blank| location.rel_path.contains(blank));
        let index = location.engine.shared.index();
        if !blanked || index.document(&location.rel_path)?.is_some() {
            return Ok(location);
        }
        let redactor = &self.inner.config.redactor;
        let (_, meant) = index.list(&|row| redactor.redact_path(&row.path) == location.rel_path, 2, 0)?;
        match &meant[..] {
            [only] => location.rel_path.clone_from(&only.path),
            [] => {}
            _ => {
                let message = "several files have this name once addresses and numbers are blanked";
                return Err(Failure::new(ErrorCode::InvalidField, message)
                    .hint("Rename the files, or search for words that only one of them has."));
            }
        }
        Ok(location)
    }

    fn engines(&self) -> &[Arc<Engine>] {
        self.inner.roots.engines()
    }
}
