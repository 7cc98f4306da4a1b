//! The tenants' files: where they are kept, whose they are, and within which limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::{IndexSettings, RateRule, SearchSettings, StoreLimits};

use super::{ServerSettings, SettingsCheck};
use crate::config::keys::Key;
use crate::secrets::Secret;

#[derive(Debug, Clone)]
pub(crate) struct FilesSettings {
    pub enabled: bool,
    /// The embedded database.
    pub path: PathBuf,
    pub backend: FilesBackend,
    pub auth: FilesAuth,
    /// The name of the key whose files the client on standard input sees.
    pub stdio_key: Option<String>,
    pub limits: StoreLimits,
    pub rate: Option<RateRule>,
    pub search: SearchSettings,
    pub rerank_endpoint: Option<String>,
    pub rerank_model: String,
    /// Embeds with the caller's key; `None` takes the built-in model.
    pub embedding: Option<FilesEmbedding>,
    pub index: IndexSettings,
    pub slo_p95: Duration,
    /// Numbers and secrets, in order.
    pub encryption_keks: Vec<(String, Secret)>,
    pub credential_cache_prefix: String,
    pub credential_cache_ttl: Duration,
}

/// A service that embeds files.
#[derive(Debug, Clone)]
pub(crate) struct FilesEmbedding {
    pub endpoint: String,
    pub model: String,
    pub dimensions: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum FilesBackend {
    Sqlite,
    Postgres {
        url: Secret,
        read_url: Option<Secret>,
        redis_url: Option<Secret>,
        buckets: u32,
        pool_size: usize,
    },
}

/// Whose files a caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilesAuth {
    /// All who may use the server share one tenant.
    Single,
    /// Each key of the store is its own tenant; other credentials have none.
    Keys,
    /// Any bearer token is its own tenant, and opens nothing but these files.
    Passthrough,
}

impl SettingsCheck<'_> {
    pub(super) fn files(&mut self, server: &ServerSettings, state_dir: &Path) -> FilesSettings {
        let values = self.values;
        let days = |key| Duration::from_secs(values.int(key) * 24 * 60 * 60);
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let secret = |key| values.credential(key).map(|given| given.secret.clone());
        let backend = match (values.text(Key::FilesBackend), secret(Key::FilesPostgresUrl)) {
            ("postgres", Some(url)) => FilesBackend::Postgres {
                url,
                read_url: secret(Key::FilesPostgresReadUrl),
                redis_url: secret(Key::FilesRedisUrl),
                buckets: values.int(Key::FilesPostgresBuckets) as u32,
                pool_size: values.int(Key::FilesPostgresPoolSize) as usize,
            },
            ("postgres", None) => {
                self.problem(Key::FilesBackend, "postgres needs files.postgres.url");
                FilesBackend::Sqlite
            }
            _ => FilesBackend::Sqlite,
        };
        let is_exposed = server.public || !server.listen.is_loopback();
        let auth = match values.text(Key::FilesAuth) {
            "single" => FilesAuth::Single,
            "keys" => FilesAuth::Keys,
            "passthrough" => FilesAuth::Passthrough,
            _ if is_exposed => FilesAuth::Keys,
            _ => FilesAuth::Single,
        };
        let limits = StoreLimits {
            allow_root_wipe: values.bool(Key::FilesAllowRootWipe),
            max_payload_bytes: values.int(Key::FilesMaxPayloadBytes),
            max_file_bytes: values.int(Key::FilesMaxFileBytes),
            max_project_bytes: values.int(Key::FilesMaxProjectBytes),
            max_tenant_bytes: Some(values.int(Key::FilesMaxTenantBytes)).filter(|limit| *limit > 0),
            list_limit_default: values.int(Key::FilesListLimitDefault) as usize,
            list_limit_max: values.int(Key::FilesListLimitMax) as usize,
            lock_timeout: Duration::from_millis(values.int(Key::FilesLockTimeoutMs)),
            delete_retention: days(Key::FilesDeleteRetentionDays),
            versions_kept: values.int(Key::FilesVersionsKept) as usize,
            version_retention: days(Key::FilesVersionRetentionDays),
            call_retention: days(Key::FilesCallRetentionDays),
        };
        let per_second = values.int(Key::FilesRateLimitPerSecond);
        let burst = values.int(Key::FilesRateLimitBurst) as u32;
        let search = SearchSettings {
            enabled: values.bool(Key::FilesSearchEnabled),
            limit_default: values.int(Key::FilesSearchLimitDefault) as usize,
            limit_max: values.int(Key::FilesSearchLimitMax) as usize,
            vector_candidates: values.int(Key::FilesSearchVectorCandidates) as usize,
            bm25_candidates: values.int(Key::FilesSearchBm25Candidates) as usize,
            rerank_timeout: Duration::from_millis(values.int(Key::FilesSearchRerankTimeoutMs)),
            semantic_weight: self.weight(Key::FilesSearchSemanticWeight),
            lexical_weight: self.weight(Key::FilesSearchLexicalWeight),
            ..SearchSettings::default()
        };
        let index = IndexSettings {
            workers: values.int(Key::FilesIndexWorkers) as usize,
            batch_size: values.int(Key::FilesIndexBatchSize) as usize,
            retry_max: values.int(Key::FilesIndexRetryMax) as u32,
            retry_backoff: Duration::from_millis(values.int(Key::FilesIndexRetryBackoffMs)),
            ..IndexSettings::default()
        };
        let path = match values.text(Key::FilesPath) {
            "" => state_dir.join("files.sqlite"),
            given => given.into(),
        };
        let embedding = some(&self.url(Key::FilesEmbeddingEndpoint)).map(|endpoint| FilesEmbedding {
            endpoint,
            model: values.text(Key::FilesEmbeddingModel).into(),
            dimensions: values.int(Key::FilesEmbeddingDimensions) as usize,
        });
        let encryption_keks = self.encryption_keks(secret(Key::FilesSecurityEncryptionKeks));
        if let (Some(_), FilesBackend::Postgres { redis_url, .. }) = (&embedding, &backend) {
            // Whichever process takes a job has to find and open what another one left for it.
            if redis_url.is_none() {
                self.problem(
                    Key::FilesEmbeddingEndpoint,
                    "with files.backend: postgres it needs files.redis.url",
                );
            }
            if encryption_keks.is_empty() {
                let message = "with files.backend: postgres it needs files.security.encryption_keks";
                self.problem(Key::FilesEmbeddingEndpoint, message);
            }
        }
        FilesSettings {
            enabled: values.bool(Key::FilesEnabled),
            path,
            backend,
            auth,
            stdio_key: some(values.text(Key::FilesStdioKey)),
            limits,
            rate: (per_second > 0).then_some(RateRule { per_second: per_second as f64, burst }),
            search,
            rerank_endpoint: some(&self.url(Key::FilesSearchRerankEndpoint)),
            rerank_model: values.text(Key::FilesSearchRerankModel).into(),
            embedding,
            index,
            slo_p95: Duration::from_secs(values.int(Key::FilesIndexSloP95Seconds)),
            encryption_keks,
            credential_cache_prefix: values.text(Key::FilesSecurityCredentialCachePrefix).into(),
            credential_cache_ttl: Duration::from_secs(
                values.int(Key::FilesSecurityCredentialCacheTtlSeconds),
            ),
        }
    }

    /// `1:secret,2:secret`; a secret may contain colons, but no comma.
    fn encryption_keks(&mut self, given: Option<Secret>) -> Vec<(String, Secret)> {
        let Some(given) = given else { return Vec::new() };
        let mut keys = Vec::new();
        for pair in given.expose().split(',') {
            match pair.split_once(':') {
                Some((id, secret)) if id.trim().parse::<u16>().is_ok() && !secret.trim().is_empty() => {
                    keys.push((id.trim().to_owned(), Secret::new(secret.trim())));
                }
                _ => {
                    let message = "expected numbers from 0 to 65535 with their secrets, as 1:secret,2:secret";
                    self.problem(Key::FilesSecurityEncryptionKeks, message);
                    return Vec::new();
                }
            }
        }
        keys
    }

    /// A share of the score, from 0 to 1.
    fn weight(&mut self, key: Key) -> f32 {
        match self.values.text(key).parse::<f32>() {
            Ok(weight) if (0.0..=1.0).contains(&weight) => weight,
            _ => {
                self.problem(key, "expected a number from 0 to 1, such as 0.65");
                0.5
            }
        }
    }
}
