//! The file store in a process: where it is, who is let in with which key, and the workers behind it.

mod services;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dir2mcp_http::{Authenticate, Authenticated, RouteLimits, presented_provider_key, presented_token};
use engine::{
    FileSearch, LocalChunkEmbedder, OpenedStore, StoreIndexWorker, StoreMetrics, SystemClock, TenantFiles,
    TenantFilesConfig,
};
use filestore::backends::postgres::{PostgresOptions, PostgresStore};
use filestore::backends::sqlite::SqliteStore;
use filestore::indexing::{ChunkEmbedder, IndexBackend, JobCredentials};
use filestore::publication::PublicationBackend;
use filestore::search::SearchBackend;
use filestore::{FileBackend, RecordBackend};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::HeaderMap;
use model::{ErrorCode, Failure, Identity, ProviderKey, TenantId};
use policy::Confinement;
use providers::ProviderReach;
use providers::local::TableEmbedder;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::config::settings::{FilesAuth, FilesBackend, FilesSettings};
use crate::config::{Loaded, Settings};
use crate::exit::Exit;

use services::CallerServices;

/// The way to the store. Nothing is opened before the first call needs it.
pub(crate) struct FilesDoor {
    pub(crate) files: Arc<TenantFiles>,
    stop: CancellationToken,
}

impl FilesDoor {
    /// `None` where the store is switched off.
    pub(crate) fn new(settings: &Settings) -> Option<FilesDoor> {
        FilesDoor::made(settings, true)
    }

    /// The same for a command that looks at the store and leaves its work to servers.
    pub(crate) fn for_commands(settings: &Settings) -> Option<FilesDoor> {
        FilesDoor::made(settings, false)
    }

    fn made(settings: &Settings, works: bool) -> Option<FilesDoor> {
        let files = settings.files.clone();
        if !files.enabled {
            return None;
        }
        let config = TenantFilesConfig { limits: files.limits.clone(), rate: files.rate };
        let metrics = Arc::new(StoreMetrics::new(files.slo_p95));
        let stop = CancellationToken::new();
        let (stopping, counting) = (stop.clone(), Arc::clone(&metrics));
        let open =
            Box::new(move || open(files.clone(), Arc::clone(&counting), stopping.clone(), works).boxed());
        Some(FilesDoor { files: Arc::new(TenantFiles::new(config, metrics, open)), stop })
    }

    /// Opens a store that is there already, so that files which were written before are indexed though nobody calls. A store
    /// whose configuration is wrong is refused at once; one that does not answer is waited for.
    pub(crate) async fn start(&self, settings: &Settings) -> Result<(), Exit> {
        let is_there = match &settings.files.backend {
            FilesBackend::Sqlite => settings.files.path.exists(),
            FilesBackend::Postgres { .. } => true,
        };
        if !is_there {
            return Ok(());
        }
        match self.files.store().await {
            Ok(_) => return Ok(()),
            Err(failure) if failure.retryable() => {}
            Err(failure) => return Err(Exit::config(contracts::failure_sentence(&failure))),
        }
        let (files, stop) = (Arc::clone(&self.files), self.stop.clone());
        tokio::spawn(async move {
            while files.store().await.is_err_and(|failure| failure.retryable()) {
                if stop.run_until_cancelled(tokio::time::sleep(REOPENING)).await.is_none() {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Whose files the client on standard input sees.
    pub(crate) async fn stdio_tenant(&self, settings: &Settings) -> Result<TenantId, Exit> {
        match &settings.files.stdio_key {
            None => Ok(single_tenant()),
            Some(name) => Ok(self.key_tenant(name).await?),
        }
    }

    /// The tenant of a key of the store, by the key's name.
    pub(crate) async fn key_tenant(&self, name: &str) -> Result<TenantId, Exit> {
        let store = self.files.store().await.map_err(|failure| Exit::generic(failure.to_string()))?;
        let keys = store.records.keys().await.map_err(|failure| Exit::generic(failure.to_string()))?;
        let found = keys.iter().find(|key| key.name == name && key.revoked_at.is_none());
        found.map(|key| key.tenant).ok_or_else(|| {
            Exit::config(format!("there is no key named {name:?}"))
                .hint("`dir2mcp keys list` shows those there are, `dir2mcp keys add NAME` makes one.")
        })
    }

    /// Ends the background work and writes down what waits.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        self.files.flush().await;
    }
}

/// One backend seen from all sides.
struct StoreSides {
    files: Arc<dyn FileBackend>,
    records: Arc<dyn RecordBackend>,
    index: Arc<dyn IndexBackend>,
    search: Arc<dyn SearchBackend>,
    publications: Arc<dyn PublicationBackend>,
    /// Changes when this process wrote a job.
    written: watch::Receiver<u64>,
}

impl StoreSides {
    fn of<B>(backend: Arc<B>, written: watch::Receiver<u64>) -> StoreSides
    where
        B: FileBackend + RecordBackend + IndexBackend + SearchBackend + PublicationBackend,
    {
        StoreSides {
            files: backend.clone(),
            records: backend.clone(),
            index: backend.clone(),
            search: backend.clone(),
            publications: backend,
            written,
        }
    }
}

async fn open(
    settings: FilesSettings,
    metrics: Arc<StoreMetrics>,
    stop: CancellationToken,
    works: bool,
) -> Result<OpenedStore, Failure> {
    let services = CallerServices::new(&settings)?;
    let embedder: Arc<dyn ChunkEmbedder> = match services.embedder(&settings) {
        Some(remote) => remote,
        None => Arc::new(LocalChunkEmbedder::new(Arc::new(TableEmbedder))),
    };
    let sides = open_backend(&settings, &metrics, embedder.dimensions()).await?;
    let clock = Arc::new(SystemClock);
    let vault = services::vault(&settings, clock.clone())?;
    let mut cleaner = None;
    let search = settings.search.enabled.then(|| FileSearch {
        backend: Arc::clone(&sides.search),
        embedder: Arc::clone(&embedder),
        clock: clock.clone(),
        settings: settings.search.clone(),
    });
    if works && search.is_some() {
        let (model, dimensions) = (embedder.model().to_owned(), embedder.dimensions());
        sides.index.prepare_vectors(&model, dimensions, engine::now()).await?;
        let mut worker =
            StoreIndexWorker::new(Arc::clone(&sides.index), embedder, clock, settings.index.clone());
        worker.observer = Some(metrics.clone());
        worker.credentials = vault.clone().map(|vault| vault as Arc<dyn JobCredentials>);
        cleaner = Some(worker.clone());
        tokio::spawn(worker.run(sides.written.clone(), stop.clone()));
        tokio::spawn(measure_queue(Arc::clone(&sides.index), metrics, stop.clone()));
    }
    if works {
        tokio::spawn(housekeeping(Arc::clone(&sides.files), cleaner, stop));
    }
    let reranker = services.reranker(&settings);
    Ok(OpenedStore {
        files: sides.files,
        records: sides.records,
        publications: sides.publications,
        search,
        vault,
        reranker,
    })
}

async fn open_backend(
    settings: &FilesSettings,
    metrics: &Arc<StoreMetrics>,
    dimensions: usize,
) -> Result<StoreSides, Failure> {
    match &settings.backend {
        FilesBackend::Sqlite => {
            let (path, limits) = (settings.path.clone(), settings.limits.clone());
            let opened =
                tokio::task::spawn_blocking(move || SqliteStore::open(&path, limits, Arc::new(SystemClock)));
            let store = match opened.await {
                Ok(Ok(store)) => store,
                Ok(Err(error)) => return Err(unreachable_store(error)),
                Err(error) => return Err(unreachable_store(error)),
            };
            store.count_in(Arc::clone(metrics));
            let written = store.commits();
            Ok(StoreSides::of(Arc::new(store), written))
        }
        FilesBackend::Postgres { url, read_url, buckets, pool_size, .. } => {
            let dimensions = u32::try_from(dimensions).unwrap_or(u32::MAX);
            let options = PostgresOptions {
                read_url: read_url.as_ref().map(|url| url.expose().to_owned()),
                buckets: *buckets,
                pool_size: *pool_size,
                limits: settings.limits.clone(),
                metrics: Some(Arc::clone(metrics)),
                ..PostgresOptions::new(url.expose(), dimensions)
            };
            let store = Arc::new(PostgresStore::open(options).await.inspect_err(|failure| {
                tracing::warn!(%failure, "the file store cannot be opened");
            })?);
            let written = store.commits();
            Ok(StoreSides::of(store, written))
        }
    }
}

/// How often a store that does not answer is tried.
const REOPENING: Duration = Duration::from_secs(1);
/// How often what is kept no longer is removed; a process that starts does it at once.
const HOUSEKEEPING: Duration = Duration::from_secs(10 * 60);
/// How often the jobs that wait are counted.
const QUEUE_MEASURED: Duration = Duration::from_secs(5);

/// Removes what was deleted, replaced or remembered longer ago than is kept, and jobs that ended.
async fn housekeeping(files: Arc<dyn FileBackend>, jobs: Option<StoreIndexWorker>, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        match files.purge(engine::now()).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "removed what the file store keeps no longer"),
            Err(failure) => tracing::warn!(%failure, "the file store could not be tidied up"),
        }
        if let Some(jobs) = &jobs
            && let Err(failure) = jobs.clean_up().await
        {
            tracing::warn!(%failure, "index jobs that ended could not be removed");
        }
    }
}

async fn measure_queue(index: Arc<dyn IndexBackend>, metrics: Arc<StoreMetrics>, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(QUEUE_MEASURED);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        // While the store is away the last number stands; that it is away is told by others.
        if let Ok(queue) = index.queue().await {
            metrics.queue_depth(queue.pending + queue.processing);
        }
    }
}

fn unreachable_store(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    tracing::warn!(%error, "the file store cannot be opened");
    Failure::new(ErrorCode::ResourceBusy, "the file store cannot be opened at the moment").because(error)
}

/// The tenant whose key this is.
pub(crate) fn tenant_of_key(key: &[u8]) -> TenantId {
    TenantId::from_digest(Sha256::digest(key).into())
}

/// The one tenant of a server whose callers share their files. It is not the digest of the server's token, so that files stay
/// where they are when the token changes, and a client on standard input, which has none, sees the same.
pub(crate) fn single_tenant() -> TenantId {
    tenant_of_key(b"dir2mcp:single")
}

/// Knows the server's own credential and the keys of the store, and looks at a credential once.
pub(crate) struct StoredKeys {
    own: Box<dyn Authenticate>,
    auth: FilesAuth,
    files: Option<Arc<TenantFiles>>,
    /// Some service is called with callers' keys. Where none is, they are not even looked at.
    takes_provider_keys: bool,
}

impl StoredKeys {
    pub(crate) fn new(
        own: Box<dyn Authenticate>,
        settings: &FilesSettings,
        files: Option<&FilesDoor>,
    ) -> StoredKeys {
        StoredKeys {
            own,
            auth: settings.auth,
            files: files.map(|door| Arc::clone(&door.files)),
            takes_provider_keys: settings.embedding.is_some() || settings.rerank_endpoint.is_some(),
        }
    }

    /// The key that came for services; where any bearer token is let in, it is that token unless another one came.
    fn provider_key(&self, headers: &HeaderMap) -> Option<ProviderKey> {
        if !self.takes_provider_keys {
            return None;
        }
        presented_provider_key(headers).or_else(|| {
            let token = presented_token(headers).filter(|_| self.auth == FilesAuth::Passthrough)?;
            std::str::from_utf8(token).ok().map(ProviderKey::new)
        })
    }

    async fn guest(&self, headers: &HeaderMap) -> Option<Authenticated> {
        let files = self.files.as_ref()?;
        let tenant = tenant_of_key(presented_token(headers)?);
        let guest = |name: String| Authenticated {
            identity: Identity::new(name),
            tenant: Some(tenant),
            is_guest: true,
            provider_key: self.provider_key(headers),
        };
        match self.auth {
            FilesAuth::Single => None,
            FilesAuth::Passthrough => Some(guest(format!("key-{tenant}"))),
            FilesAuth::Keys => match files.find_key(tenant).await {
                Ok(found) => found.map(|key| guest(format!("key-{}", key.name))),
                Err(failure) => {
                    tracing::warn!(%failure, "keys cannot be looked up");
                    None
                }
            },
        }
    }
}

impl Authenticate for StoredKeys {
    fn authenticate<'a>(&'a self, headers: &'a HeaderMap) -> BoxFuture<'a, Option<Authenticated>> {
        Box::pin(async move {
            if let Some(own) = self.own.authenticate(headers).await {
                // Whoever came without a credential has no key that files could belong to, unless all share them.
                let tenant = match self.auth {
                    FilesAuth::Single => Some(single_tenant()),
                    FilesAuth::Keys => None,
                    FilesAuth::Passthrough => presented_token(headers).map(tenant_of_key),
                };
                let by_key = match self.own.admits_anyone() {
                    true => self.guest(headers).await.and_then(|guest| guest.tenant),
                    false => None,
                };
                let provider_key = self.provider_key(headers);
                return Some(Authenticated { tenant: tenant.or(by_key), provider_key, ..own });
            }
            self.guest(headers).await
        })
    }

    fn admits_anyone(&self) -> bool {
        self.own.admits_anyone()
    }
}

/// A body holds a content as JSON, where some characters take six bytes.
pub(super) fn route_limits(settings: &Settings) -> RouteLimits {
    let payload = usize::try_from(settings.files.limits.max_payload_bytes).unwrap_or(usize::MAX / 8);
    let usual = RouteLimits::default();
    RouteLimits { body_bytes: payload.saturating_mul(4).max(usual.body_bytes) + usual.body_bytes, ..usual }
}

/// What looking up names and checking certificates reads, for the servers that the store is kept on or calls.
pub(super) fn extend(confinement: &mut Confinement, loaded: &Loaded) {
    let files = &loaded.settings.files;
    if !files.enabled {
        return;
    }
    let variable = |name: &str| loaded.environment.get(name).map(|variable| OsString::from(variable.value));
    let mut reach = ProviderReach::default();
    if let FilesBackend::Postgres { url, .. } = &files.backend {
        reach.needs_resolver = true;
        reach.needs_certificates = url.expose().contains("sslmode=require");
    }
    for endpoint in
        files.rerank_endpoint.iter().chain(files.embedding.as_ref().map(|service| &service.endpoint))
    {
        reach.needs_resolver = true;
        reach.needs_certificates |= endpoint.starts_with("https://");
    }
    confinement.read.extend(reach.read(variable).into_iter().filter(|path| path.exists()));
}

/// The folder of a database that is kept elsewhere.
pub(super) fn folder(settings: &Settings) -> Option<PathBuf> {
    settings.files.path.parent().filter(|_| settings.files.enabled).map(PathBuf::from)
}
