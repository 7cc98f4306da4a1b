//! The caller's key on its way to the job that uses it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use filestore::envelope::{
    CallerCredential, CredentialVault, EnvelopeKeyring, EnvelopeStore, EnvelopeSubject, MemoryEnvelopes,
    RedisEnvelopes,
};
use filestore::indexing::{ChunkEmbedder, EmbedTask, IndexSettings, StoreIndexWorker};
use filestore::{ProjectName, ProjectScope, StorePath};
use futures::future::BoxFuture;
use model::ProviderError;
use secrecy::SecretString;
use testkit::Redis;

use super::{ALICE, Bench, RealTime, now};

/// A service that notes the keys it is called with.
#[derive(Default)]
pub(super) struct KeyedService {
    keys: Mutex<Vec<String>>,
}

impl ChunkEmbedder for KeyedService {
    fn model(&self) -> &str {
        "keyed"
    }

    fn dimensions(&self) -> usize {
        64
    }

    fn batch(&self) -> usize {
        8
    }

    fn needs_secret(&self) -> bool {
        true
    }

    fn embed<'a>(&'a self, task: EmbedTask<'a>) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ProviderError>> {
        let key = task.secret.map_or_else(|| "none".to_owned(), |secret| secret.0.clone());
        self.keys.lock().unwrap().push(key);
        let vectors = task.texts.iter().map(|_| vec![1.0; 64]).collect();
        Box::pin(std::future::ready(Ok(vectors)))
    }

    fn embed_question<'a>(
        &'a self,
        _: EmbedTask<'a>,
    ) -> BoxFuture<'a, Result<Option<Vec<f32>>, ProviderError>> {
        Box::pin(std::future::ready(Ok(Some(vec![1.0; 64]))))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f131_f132_f135_words_at_once_vectors_with_the_callers_key_alone() {
    let redis = tokio::task::spawn_blocking(Redis::shared).await.unwrap();
    let in_redis =
        RedisEnvelopes::new(&redis.url(), "mcp:files:cred", Duration::from_secs(1), Arc::new(RealTime))
            .unwrap();
    let envelopes: [Arc<dyn EnvelopeStore>; 2] =
        [Arc::new(MemoryEnvelopes::new(Arc::new(RealTime), 100)), Arc::new(in_redis)];
    for (bench, envelopes) in Bench::each().await.into_iter().zip(envelopes) {
        let keyring = EnvelopeKeyring::from_config([("1", &SecretString::from("kek"))]).unwrap();
        let ttl = Duration::from_secs(60);
        let vault = Arc::new(CredentialVault::new(keyring, envelopes, Arc::new(RealTime), ttl));
        let service = Arc::new(KeyedService::default());
        bench.index.prepare_vectors("keyed", 64, now()).await.unwrap();
        let settings = IndexSettings { retry_backoff: Duration::from_millis(1), ..IndexSettings::default() };
        let mut worker =
            StoreIndexWorker::new(Arc::clone(&bench.index), service.clone(), Arc::new(RealTime), settings);
        worker.credentials = Some(vault.clone());

        let written = bench.write(ALICE, "/a", "words of the file").await;
        worker.run_once().await.unwrap();
        // Without a key the words are there, no vector is, and nobody else's key was used.
        let (words, vectors) = (
            "SELECT tokenizer FROM {s}.mcp_file_chunk_bm25",
            "SELECT model FROM {s}.mcp_file_chunk_embeddings",
        );
        assert_eq!(bench.column(ALICE, words).len(), 1, "{}", bench.name);
        assert_eq!(bench.column(ALICE, vectors), [""; 0], "{}", bench.name);
        assert_eq!(
            bench.column(ALICE, "SELECT status FROM {s}.mcp_file_index_jobs"),
            ["pending"],
            "{}",
            bench.name
        );

        let scope = ProjectScope::new(ALICE, ProjectName::parse("p").unwrap());
        let path = StorePath::parse("/a").unwrap();
        let subject = EnvelopeSubject::of_change(&scope, &path, written.updated_at);
        vault.leave(&subject, &CallerCredential::new("alice-provider-key")).await.unwrap();
        while bench.column(ALICE, "SELECT status FROM {s}.mcp_file_index_jobs") != ["done"] {
            worker.run_once().await.unwrap();
        }
        assert_eq!(bench.column(ALICE, vectors), ["keyed"], "{}", bench.name);
        assert_eq!(*service.keys.lock().unwrap(), ["alice-provider-key"], "{}", bench.name);
        assert!(vault.fetch(&subject).await.is_err(), "{}: it is gone after use", bench.name);
    }
    assert!(!redis.dump().contains("alice-provider-key"));
}
