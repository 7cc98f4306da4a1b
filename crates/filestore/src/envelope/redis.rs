//! Envelopes in Redis, for several server processes: whichever takes the job finds its credential.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use model::WallClock;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, FromRedisValue, RedisError, cmd};

use super::error::EnvelopeError;
use super::sealed::CredentialEnvelope;
use super::subject::EnvelopeSubject;
use super::{EnvelopeFuture, EnvelopeStore};

/// What the names of envelopes begin with (`files.security.credential_cache_prefix`).
pub const REDIS_ENVELOPE_PREFIX: &str = "mcp:files:cred";

/// One connection that is made when it is first needed and made again when it breaks. No call takes longer than `patience`:
/// a Redis that does not answer must not hold up a write.
#[derive(Clone)]
pub struct RedisEnvelopes {
    connection: ConnectionManager,
    clock: Arc<dyn WallClock>,
    prefix: Arc<str>,
    patience: Duration,
}

impl RedisEnvelopes {
    /// Must be called within a Tokio runtime. Redis need not be there yet.
    pub fn new(
        url: &str,
        prefix: &str,
        patience: Duration,
        clock: Arc<dyn WallClock>,
    ) -> Result<RedisEnvelopes, EnvelopeError> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(patience))
            .set_response_timeout(Some(patience))
            // Calls wait for attempts that are under way, so that attempts are short and few; the next call begins a new one.
            .set_number_of_retries(1)
            .set_min_delay(Duration::from_millis(20))
            .set_max_delay(Duration::from_millis(100));
        let connection = Client::open(url)
            .and_then(|client| ConnectionManager::new_lazy_with_config(client, config))
            .map_err(|error| unavailable(&error))?;
        Ok(RedisEnvelopes { connection, clock, prefix: prefix.into(), patience })
    }

    fn name(&self, subject: &EnvelopeSubject) -> String {
        format!("{}:{}", self.prefix, subject.to_hex())
    }

    /// Sends a command, and once more where the connection turned out to be gone: it may only have been closed while idle.
    async fn ask<T: FromRedisValue>(&self, command: Cmd) -> Result<T, EnvelopeError> {
        within(self.patience, async {
            let mut connection = self.connection.clone();
            match command.query_async(&mut connection).await {
                Err(error) if is_connection_lost(&error) => command.query_async(&mut connection).await,
                answer => answer,
            }
        })
        .await
    }
}

impl EnvelopeStore for RedisEnvelopes {
    fn put<'a>(
        &'a self,
        subject: &'a EnvelopeSubject,
        envelope: CredentialEnvelope,
    ) -> EnvelopeFuture<'a, ()> {
        Box::pin(async move {
            let left = envelope.expires_at.saturating_sub(self.clock.since_1970());
            if left.is_zero() {
                return Err(EnvelopeError::Expired);
            }
            let seconds = left.as_secs().max(1);
            let mut set = cmd("SET");
            set.arg(self.name(subject)).arg(envelope.to_text()).arg("EX").arg(seconds);
            self.ask(set).await
        })
    }

    fn get<'a>(&'a self, subject: &'a EnvelopeSubject) -> EnvelopeFuture<'a, Option<CredentialEnvelope>> {
        Box::pin(async move {
            let mut get = cmd("GET");
            get.arg(self.name(subject));
            let text: Option<String> = self.ask(get).await?;
            text.map(|text| CredentialEnvelope::from_text(&text)).transpose()
        })
    }

    fn remove<'a>(&'a self, subject: &'a EnvelopeSubject) -> EnvelopeFuture<'a, ()> {
        Box::pin(async move {
            let mut remove = cmd("DEL");
            remove.arg(self.name(subject));
            self.ask(remove).await
        })
    }
}

async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, EnvelopeError> {
    match tokio::time::timeout(patience, work).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(unavailable(&error)),
        Err(_) => Err(EnvelopeError::StoreUnavailable("no answer in time".to_owned())),
    }
}

fn is_connection_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_unrecoverable_error()
}

/// The kind of the error only: its text may repeat the address, which may hold a password.
fn unavailable(error: &RedisError) -> EnvelopeError {
    EnvelopeError::StoreUnavailable(error.category().to_owned())
}

impl fmt::Debug for RedisEnvelopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = (&self.prefix, &self.patience);
        f.debug_struct("RedisEnvelopes").field("prefix", shown.0).field("patience", shown.1).finish()
    }
}
