//! Services that the file store calls with the caller's own key: one that embeds, one that reranks, and the envelopes in which
//! keys wait for background work.

use std::sync::Arc;
use std::time::Duration;

use engine::{RerankerMaker, SystemClock};
use filestore::envelope::{CredentialVault, EnvelopeKeyring, EnvelopeStore, MemoryEnvelopes, RedisEnvelopes};
use filestore::indexing::{ChunkEmbedder, EmbedTask, ProviderSecret};
use futures::future::BoxFuture;
use model::{Embedder, ErrorCode, Failure, ProviderError, ProviderErrorKind, ProviderKey, Purpose, Reranker};
use providers::cohere::{Cohere, RerankShape};
use providers::http::{HttpCore, HttpSettings};
use providers::openai::OpenAi;
use providers::{EmbedModel, ServiceAccount};
use secrecy::SecretString;

use crate::config::settings::{FilesBackend, FilesEmbedding, FilesSettings};

/// Credentials that wait at a time in the embedded store.
const ENVELOPES: usize = 100_000;
/// How long Redis may take: a write waits for it.
const REDIS_PATIENCE: Duration = Duration::from_millis(500);

/// The way to the services, if any is configured.
pub(super) struct CallerServices {
    core: Option<Arc<HttpCore>>,
}

impl CallerServices {
    pub(super) fn new(settings: &FilesSettings) -> Result<CallerServices, Failure> {
        if settings.embedding.is_none() && settings.rerank_endpoint.is_none() {
            return Ok(CallerServices { core: None });
        }
        let core = HttpCore::new(HttpSettings::default()).map_err(|error| {
            Failure::new(ErrorCode::InternalError, "the client of services cannot be made").because(error)
        })?;
        Ok(CallerServices { core: Some(core) })
    }

    /// `None`: the built-in model embeds.
    pub(super) fn embedder(&self, settings: &FilesSettings) -> Option<Arc<dyn ChunkEmbedder>> {
        let (core, service) = (self.core.as_ref()?, settings.embedding.clone()?);
        Some(Arc::new(KeyedEmbedder { core: Arc::clone(core), service }))
    }

    pub(super) fn reranker(&self, settings: &FilesSettings) -> Option<RerankerMaker> {
        let (core, endpoint) = (Arc::clone(self.core.as_ref()?), settings.rerank_endpoint.clone()?);
        let model = settings.rerank_model.clone();
        Some(Arc::new(move |key: &ProviderKey| reranker(&core, &endpoint, &model, key)))
    }
}

/// The configured address may be that of the service or, as in the specification, of the operation itself.
fn reranker(
    core: &Arc<HttpCore>,
    endpoint: &str,
    model: &str,
    key: &ProviderKey,
) -> Option<Arc<dyn Reranker>> {
    let base = endpoint.trim_end_matches("/rerank");
    let shape = if base.ends_with("/v1") { RerankShape::V1 } else { RerankShape::V2 };
    let account = ServiceAccount {
        key: Some(SecretString::from(key.expose().to_owned())),
        base_url: Some(base.to_owned()),
        meter: None,
    };
    match Cohere::new(account, shape, Arc::clone(core)) {
        Ok(service) => Some(service.reranker(model)),
        Err(error) => {
            tracing::warn!(%error, "files.search.rerank.endpoint cannot be used");
            None
        }
    }
}

/// Where callers' keys wait for jobs; `None` where no job needs one.
pub(super) fn vault(
    settings: &FilesSettings,
    clock: Arc<SystemClock>,
) -> Result<Option<Arc<CredentialVault>>, Failure> {
    if settings.embedding.is_none() {
        return Ok(None);
    }
    let unusable = |error: String| Failure::new(ErrorCode::ConfigInvalid, error);
    let keys: Vec<(String, SecretString)> = match settings.encryption_keks.is_empty() {
        // What is sealed in memory and opened by the same process needs no key that outlives it.
        true => vec![("0".to_owned(), random_key()?)],
        false => settings.encryption_keks.iter().map(|(id, key)| (id.clone(), key.shared())).collect(),
    };
    let keyring = EnvelopeKeyring::from_config(keys.iter().map(|(id, key)| (id.as_str(), key)))
        .map_err(|error| unusable(error.to_string()))?;
    let store: Arc<dyn EnvelopeStore> = match &settings.backend {
        FilesBackend::Postgres { redis_url: Some(url), .. } => {
            let prefix = &settings.credential_cache_prefix;
            let redis = RedisEnvelopes::new(url.expose(), prefix, REDIS_PATIENCE, clock.clone());
            Arc::new(redis.map_err(|error| unusable(format!("files.redis.url: {error}")))?)
        }
        _ => Arc::new(MemoryEnvelopes::new(clock.clone(), ENVELOPES)),
    };
    Ok(Some(Arc::new(CredentialVault::new(keyring, store, clock, settings.credential_cache_ttl))))
}

fn random_key() -> Result<SecretString, Failure> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(ErrorCode::InternalError, format!("no random numbers: {error}")))?;
    Ok(SecretString::from(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// Embeds by a service that speaks OpenAI's interface, each time with the key of whose text it is.
struct KeyedEmbedder {
    core: Arc<HttpCore>,
    service: FilesEmbedding,
}

impl KeyedEmbedder {
    fn with_key(&self, secret: Option<&ProviderSecret>) -> Result<Arc<dyn Embedder>, ProviderError> {
        let failed = |kind| ProviderError::new("files.embedding", kind);
        let Some(secret) = secret else {
            return Err(failed(ProviderErrorKind::Refused { reason: "the caller sent no key".to_owned() }));
        };
        let account = ServiceAccount {
            key: Some(SecretString::from(secret.0.clone())),
            base_url: Some(self.service.endpoint.clone()),
            meter: None,
        };
        let service = OpenAi::new(account, Arc::clone(&self.core))
            .map_err(|error| failed(ProviderErrorKind::Refused { reason: error.to_string() }))?;
        let usual = EmbedModel::known_dimensions(&self.service.model);
        let model = || EmbedModel {
            is_chosen: usual.is_some_and(|usual| usual != self.service.dimensions),
            ..EmbedModel::new(self.service.model.clone(), self.service.dimensions)
        };
        Ok(service.embedder(model(), model()))
    }
}

impl ChunkEmbedder for KeyedEmbedder {
    fn model(&self) -> &str {
        &self.service.model
    }

    fn dimensions(&self) -> usize {
        self.service.dimensions
    }

    fn batch(&self) -> usize {
        64
    }

    fn needs_secret(&self) -> bool {
        true
    }

    fn embed<'a>(&'a self, task: EmbedTask<'a>) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ProviderError>> {
        Box::pin(async move {
            let embedder = self.with_key(task.secret)?;
            embedder.vectors(task.kind, Purpose::Passage, task.texts).await
        })
    }

    fn embed_question<'a>(
        &'a self,
        task: EmbedTask<'a>,
    ) -> BoxFuture<'a, Result<Option<Vec<f32>>, ProviderError>> {
        Box::pin(async move {
            let embedder = self.with_key(task.secret)?;
            Ok(embedder.vectors(task.kind, Purpose::Question, task.texts).await?.pop())
        })
    }
}
