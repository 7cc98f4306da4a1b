//! The tenants' files as callers reach them: whose they are, whether the caller may call now, and the log of calls.
//!
//! The store is opened by the first call that needs it. A store that cannot be reached is tried again by the next call, so that a
//! server recovers without a restart.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use filestore::envelope::{CallerCredential, CredentialVault, EnvelopeSubject};
use filestore::indexing::ProviderSecret;
use filestore::publication::PublicationBackend;
use filestore::redaction::redacted;
use filestore::search::{FileSearch, SearchHit, StoreSearchRequest};
use filestore::{
    CallFilter, CallLog, CallLogOptions, CallRecord, DeleteRequest, FileBackend, FileListing, FileSlice,
    FileVersion, KeyRecord, MutationGuard, PathState, ProjectName, ProjectScope, ProjectSummary, RateRule,
    RecordBackend, RenameRequest, RestoreRequest, StoreLimits, StoreMetrics, StorePath, StoreTime,
    TenantRates, VersionContent, WriteMode, WriteOutcome, WriteRequest,
};
use futures::future::BoxFuture;
use model::{ContentHash, ErrorCode, Failure, ProviderKey, Reranker, SystemMonotonicClock, TenantId};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::call::Call;

/// Tenants whose rate is remembered at a time.
const REMEMBERED_TENANTS: usize = 100_000;

/// For so long after an attempt to open the store failed, its failure is the answer: callers that came together wait once.
const OPENING_PAUSE: Duration = Duration::from_millis(250);

/// The longest key under which a change is recognised.
const MUTATION_KEY_BYTES: usize = 200;

/// What a store is made of once it is open.
#[derive(Clone)]
pub struct OpenedStore {
    pub files: Arc<dyn FileBackend>,
    pub records: Arc<dyn RecordBackend>,
    pub publications: Arc<dyn PublicationBackend>,
    /// `None` where searching is switched off.
    pub search: Option<FileSearch>,
    /// Leaves the caller's key for the jobs that call a service; `None` where none is called.
    pub vault: Option<Arc<CredentialVault>>,
    /// Makes a reranker that is called with the caller's key; `None` where none is configured.
    pub reranker: Option<RerankerMaker>,
}

/// Makes a reranker of a caller's key.
pub type RerankerMaker = Arc<dyn Fn(&ProviderKey) -> Option<Arc<dyn Reranker>> + Send + Sync>;

/// Opens the store; asked again after a failure.
pub type StoreOpener = Box<dyn Fn() -> BoxFuture<'static, Result<OpenedStore, Failure>> + Send + Sync>;

/// What the operator decided about the tenants' files.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantFilesConfig {
    pub limits: StoreLimits,
    /// `None` lets tenants call as often as they like.
    pub rate: Option<RateRule>,
}

/// What a change asks for besides its path.
#[derive(Debug, Clone, Default)]
pub struct WriteIntent {
    pub content: Vec<u8>,
    /// APPEND unless said.
    pub mode: Option<String>,
    pub offset: i64,
    pub guard: MutationGuard,
}

/// What happened to a file, for those who look at it.
#[derive(Debug, Clone)]
pub struct FileChange {
    pub tenant: TenantId,
    pub project: String,
    pub path: String,
    pub kind: FileChangeKind,
    /// Of what is there now.
    pub content_hash: Option<ContentHash>,
    pub caller: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChangeKind {
    Written,
    Deleted,
    Renamed { to: String },
    Restored,
}

/// Told of every change by this process. It must not wait.
pub type FileChangeSink = Arc<dyn Fn(FileChange) + Send + Sync>;

/// The files of all tenants, behind the one door through which callers reach their own.
pub struct TenantFiles {
    open: StoreOpener,
    store: OnceLock<(OpenedStore, CallLog)>,
    /// Held while the store is being opened, with what became of the last attempt.
    last_failure: Mutex<Option<(Instant, Failure)>>,
    config: TenantFilesConfig,
    rates: Option<TenantRates>,
    metrics: Arc<StoreMetrics>,
    watcher: OnceLock<FileChangeSink>,
}

impl TenantFiles {
    pub fn new(config: TenantFilesConfig, metrics: Arc<StoreMetrics>, open: StoreOpener) -> TenantFiles {
        let rates = config
            .rate
            .map(|rule| TenantRates::new(rule, REMEMBERED_TENANTS, Arc::new(SystemMonotonicClock)));
        TenantFiles {
            open,
            store: OnceLock::new(),
            last_failure: Mutex::default(),
            config,
            rates,
            metrics,
            watcher: OnceLock::new(),
        }
    }

    /// What was counted, as a part of the page for a Prometheus server; nothing before the store was needed.
    pub fn metrics_page(&self) -> String {
        match self.store.get() {
            Some((_, log)) => self.metrics.page(log.lost()),
            None => String::new(),
        }
    }

    /// From now on `sink` is told of every change that calls of this process make; a second one is not.
    pub fn watch(&self, sink: FileChangeSink) {
        let _ = self.watcher.set(sink);
    }

    fn tell(
        &self,
        call: &Call,
        project: &str,
        path: &str,
        kind: FileChangeKind,
        content_hash: Option<ContentHash>,
    ) {
        let (Some(sink), Some(tenant)) = (self.watcher.get(), call.caller.tenant) else { return };
        sink(FileChange {
            tenant,
            project: project.to_owned(),
            path: path.to_owned(),
            kind,
            content_hash,
            caller: call.caller.to_string(),
        });
    }

    pub fn config(&self) -> &TenantFilesConfig {
        &self.config
    }

    /// The store, opened if it is not.
    pub async fn store(&self) -> Result<&OpenedStore, Failure> {
        self.opened().await.map(|(store, _)| store)
    }

    /// Runs one call of a tool: admits it, and writes it down with its parameters, without the contents of files.
    pub async fn entered<T>(
        &self,
        call: &Call,
        parameters: &Value,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let tenant = tenant(call)?;
        let (_, log) = self.opened().await?;
        let (started, at) = (Instant::now(), now());
        let done = match self.rates.as_ref().map_or(Ok(()), |rates| rates.take(tenant)) {
            Ok(()) => work.await,
            Err(refusal) => Err(refusal.into()),
        };
        log.record(CallRecord {
            tenant,
            at,
            tool: call.tool.to_owned(),
            caller: call.caller.to_string(),
            parameters: redacted(parameters),
            error_code: done.as_ref().err().map(|failure| failure.code.as_str().to_owned()),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            cost: 0,
        });
        done
    }

    /// Writes down what waits, before the process ends.
    pub async fn flush(&self) {
        if let Some((_, log)) = self.store.get() {
            log.flush().await;
        }
    }

    pub async fn stat(&self, call: &Call, project: &str, path: &str) -> Result<PathState, Failure> {
        let (scope, path) = (scope(call, project)?, StorePath::parse(path)?);
        self.store().await?.files.stat(&scope, &path).await
    }

    /// `length` −1 reads to the end.
    pub async fn read(
        &self,
        call: &Call,
        project: &str,
        path: &str,
        offset: i64,
        length: i64,
    ) -> Result<FileSlice, Failure> {
        let (scope, path) = (scope(call, project)?, StorePath::parse_file(path)?);
        let Ok(offset) = u64::try_from(offset) else {
            return Err(Failure::new(ErrorCode::InvalidOffset, "offset must not be negative"));
        };
        if length < -1 {
            return Err(Failure::new(ErrorCode::InvalidOffset, "length must be -1 or more"));
        }
        let length = u64::try_from(length).ok();
        self.store().await?.files.read(&scope, &path, offset, length).await
    }

    pub async fn write(
        &self,
        call: &Call,
        project: &str,
        named: &str,
        intent: WriteIntent,
    ) -> Result<WriteOutcome, Failure> {
        let done = async {
            let (scope, path) = (scope(call, project)?, StorePath::parse_file(named)?);
            let WriteIntent { content, mode, offset, guard } = intent;
            let mode = mode.as_deref().map_or(Ok(WriteMode::Append), WriteMode::parse)?;
            let guard = checked_guard(guard)?;
            let request = WriteRequest { path: path.clone(), content, mode, offset, guard };
            let store = self.store().await?;
            let written = store.files.write(&scope, request).await?;
            leave_key(store, call, &scope, &path, written.updated_at).await;
            self.tell(call, project, named, FileChangeKind::Written, Some(written.content_hash));
            Ok(written)
        }
        .await;
        self.metrics.mutation("file_write", &done);
        done
    }

    /// How many files were deleted.
    pub async fn delete(
        &self,
        call: &Call,
        project: &str,
        named: &str,
        recursive: bool,
        guard: MutationGuard,
    ) -> Result<u64, Failure> {
        let done = async {
            let (scope, path) = (scope(call, project)?, StorePath::parse(named)?);
            let request = DeleteRequest { path, recursive, guard: checked_guard(guard)? };
            let deleted = self.store().await?.files.delete(&scope, request).await?;
            self.tell(call, project, named, FileChangeKind::Deleted, None);
            Ok(deleted)
        }
        .await;
        self.metrics.mutation("file_delete", &done);
        done
    }

    /// How many files were moved.
    pub async fn rename(
        &self,
        call: &Call,
        project: &str,
        (named, new_name): (&str, &str),
        overwrite: bool,
        guard: MutationGuard,
    ) -> Result<u64, Failure> {
        let done = async {
            let scope = scope(call, project)?;
            let (from, to) = (StorePath::parse(named)?, StorePath::parse(new_name)?);
            let request = RenameRequest { from, to: to.clone(), overwrite, guard: checked_guard(guard)? };
            let store = self.store().await?;
            let moved = store.files.rename(&scope, request).await?;
            leave_keys_below(store, call, &scope, &to).await;
            self.tell(call, project, named, FileChangeKind::Renamed { to: new_name.to_owned() }, None);
            Ok(moved)
        }
        .await;
        self.metrics.mutation("file_rename", &done);
        done
    }

    /// A `limit` of 0 or less is the operator's default.
    pub async fn list(
        &self,
        call: &Call,
        project: &str,
        path: &str,
        depth: i64,
        limit: i64,
    ) -> Result<FileListing, Failure> {
        let (scope, path) = (scope(call, project)?, StorePath::parse(path)?);
        let Ok(depth) = usize::try_from(depth) else {
            return Err(Failure::new(ErrorCode::InvalidOffset, "depth must not be negative"));
        };
        let limits = &self.config.limits;
        let limit = limit_of(limit, limits.list_limit_default, limits.list_limit_max);
        self.store().await?.files.list(&scope, &path, depth, limit).await
    }

    /// The project `*` is all of the tenant's projects.
    pub async fn search(
        &self,
        call: &Call,
        project: &str,
        query: &str,
        path_prefix: &str,
        limit: i64,
    ) -> Result<Vec<SearchHit>, Failure> {
        let tenant = tenant(call)?;
        let project = if project == "*" { None } else { Some(ProjectName::parse(project)?) };
        if query.trim().is_empty() {
            return Err(Failure::new(ErrorCode::InvalidQuery, "query must not be empty"));
        }
        let (store, key) = (self.store().await?, call.caller.provider_key.as_ref());
        let Some(search) = &store.search else {
            return Err(Failure::new(ErrorCode::SearchBackendError, "searching files is switched off")
                .hint("The operator decides by files.search.enabled."));
        };
        let request = StoreSearchRequest {
            tenant,
            project,
            query: query.to_owned(),
            path_prefix: path_prefix.to_owned(),
            limit: usize::try_from(limit).ok(),
            secret: key.map(|key| ProviderSecret(key.expose().to_owned())),
            reranker: key.zip(store.reranker.as_ref()).and_then(|(key, make)| make(key)),
        };
        let started = Instant::now();
        let found = search.search(&request).await;
        self.metrics.search_latency(started.elapsed());
        let found = found?;
        if let Some(reason) = &found.rerank_error {
            tracing::warn!(%reason, "the reranker failed; passages are in the order of their own scores");
            self.metrics.rerank_failed();
        }
        Ok(found.hits)
    }

    /// Newest first.
    pub async fn versions(
        &self,
        call: &Call,
        project: &str,
        path: &str,
    ) -> Result<Vec<FileVersion>, Failure> {
        let (scope, path) = (scope(call, project)?, StorePath::parse_file(path)?);
        self.store().await?.files.versions(&scope, &path).await
    }

    pub async fn version_content(
        &self,
        call: &Call,
        project: &str,
        path: &str,
        version: i64,
    ) -> Result<VersionContent, Failure> {
        let (scope, path) = (scope(call, project)?, StorePath::parse_file(path)?);
        self.store().await?.files.version_content(&scope, &path, version).await
    }

    pub async fn restore(
        &self,
        call: &Call,
        project: &str,
        named: &str,
        version: i64,
        guard: MutationGuard,
    ) -> Result<WriteOutcome, Failure> {
        let done = async {
            let (scope, path) = (scope(call, project)?, StorePath::parse_file(named)?);
            let request = RestoreRequest { path: path.clone(), version, guard: checked_guard(guard)? };
            let store = self.store().await?;
            let restored = store.files.restore(&scope, request).await?;
            leave_key(store, call, &scope, &path, restored.updated_at).await;
            self.tell(call, project, named, FileChangeKind::Restored, Some(restored.content_hash));
            Ok(restored)
        }
        .await;
        self.metrics.mutation("file_restore", &done);
        done
    }

    pub async fn projects(&self, call: &Call) -> Result<Vec<ProjectSummary>, Failure> {
        let tenant = tenant(call)?;
        self.store().await?.files.projects(tenant).await
    }

    /// The tenant's own calls, newest first.
    pub async fn calls(&self, call: &Call, filter: &CallFilter) -> Result<Vec<CallRecord>, Failure> {
        let tenant = tenant(call)?;
        let (store, log) = self.opened().await?;
        log.flush().await;
        store.records.calls(tenant, filter).await
    }

    /// The key with this digest, unless it was revoked.
    pub async fn find_key(&self, digest: TenantId) -> Result<Option<KeyRecord>, Failure> {
        self.store().await?.records.find_key(digest).await
    }

    async fn opened(&self) -> Result<&(OpenedStore, CallLog), Failure> {
        if let Some(opened) = self.store.get() {
            return Ok(opened);
        }
        let mut last_failure = self.last_failure.lock().await;
        if let Some(opened) = self.store.get() {
            return Ok(opened);
        }
        if let Some((at, failure)) = last_failure.as_ref()
            && at.elapsed() < OPENING_PAUSE
        {
            return Err(failure.clone());
        }
        let store = match (self.open)().await {
            Ok(store) => store,
            Err(failure) => {
                *last_failure = Some((Instant::now(), failure.clone()));
                return Err(failure);
            }
        };
        let (log, writer) = CallLog::new(Arc::clone(&store.records), CallLogOptions::default());
        tokio::spawn(writer);
        Ok(self.store.get_or_init(|| (store, log)))
    }
}

/// Leaves the caller's key for the job that a change left. A failure is none of the change's: the words are found without it,
/// and the job waits.
async fn leave_key(
    store: &OpenedStore,
    call: &Call,
    scope: &ProjectScope,
    path: &StorePath,
    updated_at: StoreTime,
) {
    let (Some(vault), Some(key)) = (&store.vault, &call.caller.provider_key) else { return };
    let subject = EnvelopeSubject::of_change(scope, path, updated_at);
    if let Err(error) = vault.leave(&subject, &CallerCredential::new(key.expose())).await {
        tracing::warn!(%error, "a caller's key could not be left for indexing");
    }
}

/// Files of a moved directory that are given the caller's key; those beyond keep the words they are found by.
const MOVED_FILES: usize = 10_000;
/// No path has more segments.
const DEEPEST: usize = 512;

async fn leave_keys_below(store: &OpenedStore, call: &Call, scope: &ProjectScope, to: &StorePath) {
    if store.vault.is_none() || call.caller.provider_key.is_none() {
        return;
    }
    if let Ok(PathState::File { updated_at, .. }) = store.files.stat(scope, to).await {
        return leave_key(store, call, scope, to, updated_at).await;
    }
    let Ok(moved) = store.files.list(scope, to, DEEPEST, MOVED_FILES).await else { return };
    for entry in moved.entries.iter().filter(|entry| !entry.is_directory) {
        if let Some(updated_at) = entry.updated_at {
            leave_key(store, call, scope, &entry.path, updated_at).await;
        }
    }
}

/// This moment, as the store keeps times.
pub fn now() -> StoreTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    StoreTime(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn tenant(call: &Call) -> Result<TenantId, Failure> {
    call.caller.tenant.ok_or_else(|| {
        Failure::new(ErrorCode::PermissionDenied, "files belong to keys, and this caller has none")
            .hint("Send a key made by `dir2mcp keys add NAME` as the bearer token.")
    })
}

fn scope(call: &Call, project: &str) -> Result<ProjectScope, Failure> {
    Ok(ProjectScope::new(tenant(call)?, ProjectName::parse(project)?))
}

fn limit_of(asked: i64, default: usize, most: usize) -> usize {
    match usize::try_from(asked) {
        Ok(asked) if asked > 0 => asked.min(most),
        _ => default.min(most),
    }
}

fn checked_guard(guard: MutationGuard) -> Result<MutationGuard, Failure> {
    match &guard.key {
        Some(key) if key.0.is_empty() || key.0.len() > MUTATION_KEY_BYTES => {
            Err(Failure::new(ErrorCode::InvalidQuery, "idempotency_key must have 1 to 200 bytes"))
        }
        _ => Ok(guard),
    }
}
