//! Envelopes against the specification's section 20, without a server.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::{ErrorCode, Failure, TenantId, WallClock};
use proptest::prelude::*;
use secrecy::SecretString;

use super::*;
use crate::path::StorePath;
use crate::project::{ProjectName, ProjectScope};

const KEY: &str = "sk-the-callers-own-key";
const NOW: Duration = Duration::from_secs(1_800_000_000);

#[derive(Debug)]
struct HandClock(Mutex<Duration>);

impl HandClock {
    fn new() -> Arc<HandClock> {
        Arc::new(HandClock(Mutex::new(NOW)))
    }

    fn pass(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }
}

impl WallClock for HandClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + *self.0.lock().unwrap()
    }
}

fn keyring(secrets: &[(&str, &str)]) -> Result<EnvelopeKeyring, KeyringError> {
    let secrets: Vec<(&str, SecretString)> =
        secrets.iter().map(|(id, secret)| (*id, SecretString::from(*secret))).collect();
    EnvelopeKeyring::from_config(secrets.iter().map(|(id, secret)| (*id, secret)))
}

fn one_key() -> EnvelopeKeyring {
    keyring(&[("1", "the first secret")]).unwrap()
}

fn subject_of(tenant: u8, project: &str, path: &str, job: &str) -> EnvelopeSubject {
    let scope = ProjectScope::new(TenantId::from_digest([tenant; 32]), ProjectName::parse(project).unwrap());
    EnvelopeSubject::new(&scope, &StorePath::parse(path).unwrap(), job)
}

fn subject() -> EnvelopeSubject {
    subject_of(1, "p", "/a.txt", "17")
}

fn sealed(keys: &EnvelopeKeyring) -> CredentialEnvelope {
    CredentialEnvelope::seal(keys, &subject(), &CallerCredential::new(KEY), NOW + ENVELOPE_TTL).unwrap()
}

fn vault(clock: &Arc<HandClock>, capacity: usize) -> (Arc<MemoryEnvelopes>, CredentialVault) {
    let store = Arc::new(MemoryEnvelopes::new(clock.clone(), capacity));
    (store.clone(), CredentialVault::new(one_key(), store, clock.clone(), ENVELOPE_TTL))
}

#[tokio::test]
async fn f133_f135_a_credential_waits_for_its_job_and_is_gone_after_use() {
    let clock = HandClock::new();
    let (store, vault) = vault(&clock, 10);
    let (subject, key) = (subject(), CallerCredential::new(KEY));
    assert_eq!(vault.fetch(&subject).await.unwrap_err(), EnvelopeError::Missing);
    vault.leave(&subject, &key).await.unwrap();
    assert_eq!(vault.fetch(&subject).await.unwrap().expose(), KEY);
    // Once more: a call that failed is tried again.
    assert_eq!(vault.fetch(&subject).await.unwrap().expose(), KEY);
    vault.discard(&subject).await.unwrap();
    assert_eq!(vault.fetch(&subject).await.unwrap_err(), EnvelopeError::Missing);
    vault.discard(&subject).await.unwrap();
    assert!(store.is_empty());
}

#[tokio::test]
async fn f131_f133_a_credential_expires_and_the_job_may_be_tried_again() {
    let clock = HandClock::new();
    let (store, vault) = vault(&clock, 10);
    vault.leave(&subject(), &CallerCredential::new(KEY)).await.unwrap();
    clock.pass(Duration::from_secs(299));
    assert_eq!(vault.fetch(&subject()).await.unwrap().expose(), KEY);
    clock.pass(Duration::from_secs(1));
    let missing = vault.fetch(&subject()).await.unwrap_err();
    assert_eq!(missing, EnvelopeError::Missing);
    assert!(missing.retryable() && store.is_empty());
    let failure = Failure::from(missing);
    assert_eq!((failure.code, failure.retryable()), (ErrorCode::SearchBackendError, true));
}

#[test]
fn f133_an_envelope_that_a_store_kept_too_long_does_not_open() {
    let keys = one_key();
    let envelope = sealed(&keys);
    let last = NOW + ENVELOPE_TTL - Duration::from_secs(1);
    assert_eq!(envelope.open(&keys, &subject(), last).unwrap().expose(), KEY);
    assert_eq!(envelope.open(&keys, &subject(), NOW + ENVELOPE_TTL).unwrap_err(), EnvelopeError::Expired);
    // The time cannot be moved on: the seal covers it.
    let later = CredentialEnvelope { expires_at: NOW + ENVELOPE_TTL * 2, ..envelope };
    assert_eq!(later.open(&keys, &subject(), NOW).unwrap_err(), EnvelopeError::Damaged);
}

#[tokio::test]
async fn memory_is_bounded_and_pushes_out_nobody() {
    let clock = HandClock::new();
    let (store, vault) = vault(&clock, 2);
    let key = CallerCredential::new(KEY);
    let jobs = ["1", "2", "3"].map(|job| subject_of(1, "p", "/a", job));
    vault.leave(&jobs[0], &key).await.unwrap();
    clock.pass(Duration::from_secs(100));
    vault.leave(&jobs[1], &key).await.unwrap();
    let full = vault.leave(&jobs[2], &key).await.unwrap_err();
    assert_eq!((&full, full.retryable()), (&EnvelopeError::Full, true));
    // One of the same job takes the place of its own.
    vault.leave(&jobs[1], &key).await.unwrap();
    assert_eq!(store.len(), 2);
    clock.pass(Duration::from_secs(200));
    vault.leave(&jobs[2], &key).await.unwrap();
    assert_eq!(store.len(), 2);
    assert_eq!(vault.fetch(&jobs[0]).await.unwrap_err(), EnvelopeError::Missing);
}

#[test]
fn f137_only_the_job_it_was_sealed_for_opens_it() {
    let keys = one_key();
    let envelope = sealed(&keys);
    for other in [
        subject_of(2, "p", "/a.txt", "17"),
        subject_of(1, "q", "/a.txt", "17"),
        subject_of(1, "p", "/b.txt", "17"),
        subject_of(1, "p", "/a.txt", "18"),
        // The same characters, divided differently.
        subject_of(1, "p", "/a.txt1", "7"),
    ] {
        assert_eq!(envelope.open(&keys, &other, NOW).unwrap_err(), EnvelopeError::WrongSubject);
        // Nor when the field is made to fit.
        let forged = CredentialEnvelope { aad: *other.aad(), ..envelope.clone() };
        assert_eq!(forged.open(&keys, &other, NOW).unwrap_err(), EnvelopeError::Damaged);
    }
}

#[test]
fn f136_the_highest_number_seals_and_all_open() {
    let old = keyring(&[("9", "nine")]).unwrap();
    let both = keyring(&[("10", "ten"), ("9", "nine")]).unwrap();
    let new = keyring(&[("10", "ten")]).unwrap();
    assert_eq!((old.newest(), both.newest()), (9, 10));
    let (before, after) = (sealed(&old), sealed(&both));
    assert_eq!((before.kek_id, after.kek_id), (9, 10));
    for envelope in [&before, &after] {
        assert_eq!(envelope.open(&both, &subject(), NOW).unwrap().expose(), KEY);
    }
    assert_eq!(before.open(&new, &subject(), NOW).unwrap_err(), EnvelopeError::UnknownKey(9));
    // Another secret under the same number.
    let changed = keyring(&[("9", "neun")]).unwrap();
    assert_eq!(before.open(&changed, &subject(), NOW).unwrap_err(), EnvelopeError::Damaged);
}

#[test]
fn f136_f154_keys_are_numbers_of_16_bits_with_secrets() {
    for (secrets, error) in [
        (vec![], KeyringError::Empty),
        (vec![("a", "x")], KeyringError::BadId("a".to_owned())),
        (vec![("65536", "x")], KeyringError::BadId("65536".to_owned())),
        (vec![("-1", "x")], KeyringError::BadId("-1".to_owned())),
        (vec![("7", "x"), ("07", "y")], KeyringError::DoubleId(7)),
        (vec![("7", "")], KeyringError::EmptySecret(7)),
    ] {
        assert_eq!(keyring(&secrets).unwrap_err(), error);
    }
    assert_eq!(keyring(&[("0", "x"), ("65535", "y")]).unwrap().newest(), 65535);
}

#[test]
fn f134_every_envelope_has_a_key_of_its_own() {
    let keys = one_key();
    let (first, second) = (sealed(&keys), sealed(&keys));
    assert_ne!(first.dek_id, second.dek_id);
    assert_ne!(first.ciphertext, second.ciphertext);
}

#[test]
fn f134_the_stored_form_has_the_five_fields_and_a_version() {
    let envelope = sealed(&one_key());
    let text = envelope.to_text();
    assert_eq!(CredentialEnvelope::from_text(&text).unwrap(), envelope);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["version", "kek_id", "dek_id", "ciphertext", "aad", "expires_at"]);

    let newer = text.replace("\"version\":1", "\"version\":2");
    assert_eq!(CredentialEnvelope::from_text(&newer).unwrap_err(), EnvelopeError::UnknownVersion(2));
    let more = text.replace("{\"version\"", "{\"note\":1,\"version\"");
    for bad in ["", "{}", "[]", "{\"version\":1}", &more, &text[..text.len() - 1]] {
        assert_eq!(CredentialEnvelope::from_text(bad).unwrap_err(), EnvelopeError::Damaged, "{bad}");
    }
}

#[tokio::test]
async fn f139_nothing_prints_a_key_or_a_secret() {
    let clock = HandClock::new();
    let (store, vault) = vault(&clock, 10);
    let key = CallerCredential::new(KEY);
    vault.leave(&subject(), &key).await.unwrap();
    let fetched = vault.fetch(&subject()).await.unwrap();
    let long = CallerCredential::new("k".repeat(20_000));
    let refused = vault.leave(&subject(), &long).await.unwrap_err();
    let envelope = sealed(&one_key());
    let shown = format!(
        "{key:?} {key} {fetched:?} {store:?} {vault:?} {refused:?} {refused} {envelope:?} {}",
        envelope.to_text()
    );
    assert!(shown.contains("****"));
    for secret in [KEY, "the first secret", "callers-own", "kkkk"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
    // Nor the digest that the configured secret becomes.
    use sha2::Digest;
    let digest = sha2::Sha256::digest(b"the first secret");
    assert!(!shown.contains(&format!("{digest:?}")));
}

proptest! {
    #[test]
    fn any_key_comes_back(key in "\\PC{0,300}", job in "\\PC{0,40}") {
        let (keys, subject) = (one_key(), subject_of(3, "p", "/x", &job));
        let envelope =
            CredentialEnvelope::seal(&keys, &subject, &CallerCredential::new(key.clone()), NOW + ENVELOPE_TTL).unwrap();
        let read = CredentialEnvelope::from_text(&envelope.to_text()).unwrap();
        let opened = read.open(&keys, &subject, NOW).unwrap();
        prop_assert_eq!(opened.expose(), key);
    }

    /// One changed bit anywhere in the ciphertext, and every changed field, is noticed.
    #[test]
    fn f137_a_changed_envelope_does_not_open(at in 0usize..1000, bit in 0u8..8, field in 0usize..4) {
        let keys = keyring(&[("1", "the first secret"), ("0", "another")]).unwrap();
        let mut envelope = sealed(&keys);
        match field {
            0 => { let at = at % envelope.ciphertext.len(); envelope.ciphertext[at] ^= 1 << bit; }
            1 => { let at = at % envelope.dek_id.len(); envelope.dek_id[at] ^= 1 << bit; }
            2 => envelope.kek_id = 0,
            _ => { let keep = at % envelope.ciphertext.len(); envelope.ciphertext.truncate(keep); }
        }
        prop_assert_eq!(envelope.open(&keys, &subject(), NOW).unwrap_err(), EnvelopeError::Damaged);
    }

    /// Any change of the stored text gives an error or the same envelope, never a panic and never another key.
    #[test]
    fn f137_changed_text_never_opens_to_something_else(at in 0usize..1000, byte in any::<u8>()) {
        let keys = one_key();
        let mut text = sealed(&keys).to_text().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(text) = String::from_utf8(text)
            && let Ok(envelope) = CredentialEnvelope::from_text(&text)
            && let Ok(opened) = envelope.open(&keys, &subject(), NOW)
        {
            prop_assert_eq!(opened.expose(), KEY);
        }
    }
}
