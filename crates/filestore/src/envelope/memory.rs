//! Envelopes in memory, for the embedded store: they end with the process, as their jobs' credentials should.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::WallClock;

use super::error::EnvelopeError;
use super::sealed::CredentialEnvelope;
use super::subject::EnvelopeSubject;
use super::{EnvelopeFuture, EnvelopeStore};

/// At most a given number of envelopes. A new one finds no room before an old one expires or is used: to push out another
/// job's credential would be a loss that nobody hears of.
#[derive(Debug)]
pub struct MemoryEnvelopes {
    clock: Arc<dyn WallClock>,
    capacity: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    envelopes: HashMap<[u8; 32], CredentialEnvelope>,
    by_expiry: BTreeSet<(Duration, [u8; 32])>,
}

impl Kept {
    fn remove(&mut self, key: &[u8; 32]) {
        if let Some(envelope) = self.envelopes.remove(key) {
            self.by_expiry.remove(&(envelope.expires_at, *key));
        }
    }

    fn remove_expired(&mut self, now: Duration) {
        while let Some((expires_at, key)) = self.by_expiry.first().copied()
            && expires_at <= now
        {
            self.remove(&key);
        }
    }
}

impl MemoryEnvelopes {
    pub fn new(clock: Arc<dyn WallClock>, capacity: usize) -> MemoryEnvelopes {
        MemoryEnvelopes { clock, capacity, kept: Mutex::default() }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.current().envelopes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove_expired(self.clock.since_1970());
        kept
    }
}

impl EnvelopeStore for MemoryEnvelopes {
    fn put<'a>(
        &'a self,
        subject: &'a EnvelopeSubject,
        envelope: CredentialEnvelope,
    ) -> EnvelopeFuture<'a, ()> {
        Box::pin(async move {
            let key = *subject.aad();
            let mut kept = self.current();
            kept.remove(&key);
            if kept.envelopes.len() >= self.capacity {
                return Err(EnvelopeError::Full);
            }
            kept.by_expiry.insert((envelope.expires_at, key));
            kept.envelopes.insert(key, envelope);
            Ok(())
        })
    }

    fn get<'a>(&'a self, subject: &'a EnvelopeSubject) -> EnvelopeFuture<'a, Option<CredentialEnvelope>> {
        Box::pin(async move { Ok(self.current().envelopes.get(subject.aad()).cloned()) })
    }

    fn remove<'a>(&'a self, subject: &'a EnvelopeSubject) -> EnvelopeFuture<'a, ()> {
        Box::pin(async move {
            self.current().remove(subject.aad());
            Ok(())
        })
    }
}
