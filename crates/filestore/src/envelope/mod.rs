//! Credentials for later: how the caller's own key reaches the job that calls a provider for it, encrypted, bound to that
//! job and gone after a few minutes.
//!
//! A key is never written down in the clear and never borrowed: an envelope opens for the one job it was sealed for, and a job
//! without an envelope waits. [`CredentialVault`] is what callers use; where envelopes lie is an [`EnvelopeStore`].

mod credential;
mod error;
mod keys;
mod memory;
mod of_job;
mod redis;
mod sealed;
mod subject;
#[cfg(test)]
mod tests;
mod vault;

pub use credential::CallerCredential;
pub use error::{EnvelopeError, KeyringError};
pub use keys::EnvelopeKeyring;
pub use memory::MemoryEnvelopes;
pub use redis::{REDIS_ENVELOPE_PREFIX, RedisEnvelopes};
pub use sealed::CredentialEnvelope;
pub use subject::EnvelopeSubject;
pub use vault::{CredentialVault, ENVELOPE_TTL};

use futures::future::BoxFuture;

pub type EnvelopeFuture<'a, T> = BoxFuture<'a, Result<T, EnvelopeError>>;

/// Keeps envelopes until they expire. At most one per subject: a new one replaces the former.
pub trait EnvelopeStore: Send + Sync + 'static {
    fn put<'a>(
        &'a self,
        subject: &'a EnvelopeSubject,
        envelope: CredentialEnvelope,
    ) -> EnvelopeFuture<'a, ()>;

    /// `None` where there is none, or no more.
    fn get<'a>(&'a self, subject: &'a EnvelopeSubject) -> EnvelopeFuture<'a, Option<CredentialEnvelope>>;

    /// Nothing to remove is no error.
    fn remove<'a>(&'a self, subject: &'a EnvelopeSubject) -> EnvelopeFuture<'a, ()>;
}
