//! Leaves the caller's key for a job and fetches it there.

use std::sync::Arc;
use std::time::Duration;

use model::WallClock;

use super::credential::CallerCredential;
use super::error::EnvelopeError;
use super::keys::EnvelopeKeyring;
use super::sealed::CredentialEnvelope;
use super::subject::EnvelopeSubject;
use super::{EnvelopeFuture, EnvelopeStore};

/// How long a credential waits for its job (`files.security.credential_cache_ttl_seconds`).
pub const ENVELOPE_TTL: Duration = Duration::from_secs(300);

/// Keys, store and clock together.
pub struct CredentialVault {
    keys: EnvelopeKeyring,
    store: Arc<dyn EnvelopeStore>,
    clock: Arc<dyn WallClock>,
    ttl: Duration,
}

impl CredentialVault {
    pub fn new(
        keys: EnvelopeKeyring,
        store: Arc<dyn EnvelopeStore>,
        clock: Arc<dyn WallClock>,
        ttl: Duration,
    ) -> CredentialVault {
        CredentialVault { keys, store, clock, ttl: ttl.max(Duration::from_secs(1)) }
    }

    /// Leaves a credential for a job. A failure is no reason to fail the change that made the job: the job waits for a later one.
    pub fn leave<'a>(
        &'a self,
        subject: &'a EnvelopeSubject,
        credential: &'a CallerCredential,
    ) -> EnvelopeFuture<'a, ()> {
        Box::pin(async move {
            let expires_at = self.clock.since_1970() + self.ttl;
            let envelope = CredentialEnvelope::seal(&self.keys, subject, credential, expires_at)?;
            self.store.put(subject, envelope).await
        })
    }

    /// The credential that waits for a job. It stays until [`CredentialVault::discard`], as a failed call is tried again.
    pub fn fetch<'a>(&'a self, subject: &'a EnvelopeSubject) -> EnvelopeFuture<'a, CallerCredential> {
        Box::pin(async move {
            let envelope = self.store.get(subject).await?.ok_or(EnvelopeError::Missing)?;
            envelope.open(&self.keys, subject, self.clock.since_1970())
        })
    }

    /// To be called as soon as the calls that needed the credential are done.
    pub fn discard<'a>(&'a self, subject: &'a EnvelopeSubject) -> EnvelopeFuture<'a, ()> {
        self.store.remove(subject)
    }
}

impl std::fmt::Debug for CredentialVault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CredentialVault").field("keys", &self.keys).field("ttl", &self.ttl).finish()
    }
}
