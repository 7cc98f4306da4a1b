//! An envelope: the encrypted key and what is needed to open it. It is safe to store and to print.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::credential::CallerCredential;
use super::error::EnvelopeError;
use super::keys::{DEK_ID_BYTES, EnvelopeKeyring};
use super::subject::EnvelopeSubject;

const VERSION: u64 = 1;

/// Longer than any key of a provider: what is longer is refused before it is stored.
const MAX_CREDENTIAL_BYTES: usize = 16 * 1024;

/// The specification's five fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialEnvelope {
    /// The number of the configured key.
    pub kek_id: u16,
    /// Random; with the configured key it makes the key of this envelope.
    pub dek_id: [u8; DEK_ID_BYTES],
    pub ciphertext: Vec<u8>,
    /// The digest of the job it was sealed for.
    pub aad: [u8; 32],
    /// Since 1970, in whole seconds.
    pub expires_at: Duration,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u64,
    kek_id: u16,
    dek_id: String,
    ciphertext: String,
    aad: String,
    expires_at: u64,
}

impl CredentialEnvelope {
    pub fn seal(
        keys: &EnvelopeKeyring,
        subject: &EnvelopeSubject,
        credential: &CallerCredential,
        expires_at: Duration,
    ) -> Result<CredentialEnvelope, EnvelopeError> {
        let plain = credential.expose().as_bytes();
        if plain.len() > MAX_CREDENTIAL_BYTES {
            return Err(EnvelopeError::NotSealed("it is too long"));
        }
        let mut dek_id = [0; DEK_ID_BYTES];
        getrandom::fill(&mut dek_id).map_err(|_| EnvelopeError::NotSealed("no random bytes"))?;
        let (kek_id, aad) = (keys.newest(), *subject.aad());
        let expires_at = Duration::from_secs(expires_at.as_secs());
        let ciphertext = keys.seal(&dek_id, &covered(kek_id, &dek_id, &aad, expires_at), plain)?;
        Ok(CredentialEnvelope { kek_id, dek_id, ciphertext, aad, expires_at })
    }

    pub fn open(
        &self,
        keys: &EnvelopeKeyring,
        subject: &EnvelopeSubject,
        now: Duration,
    ) -> Result<CallerCredential, EnvelopeError> {
        if &self.aad != subject.aad() {
            return Err(EnvelopeError::WrongSubject);
        }
        if now >= self.expires_at {
            return Err(EnvelopeError::Expired);
        }
        let covered = covered(self.kek_id, &self.dek_id, subject.aad(), self.expires_at);
        let plain = keys.open(self.kek_id, &self.dek_id, &covered, &self.ciphertext)?;
        let text = std::str::from_utf8(&plain).map_err(|_| EnvelopeError::Damaged)?;
        Ok(CallerCredential::new(text))
    }

    /// One line of JSON.
    pub fn to_text(&self) -> String {
        let stored = Stored {
            version: VERSION,
            kek_id: self.kek_id,
            dek_id: STANDARD_NO_PAD.encode(self.dek_id),
            ciphertext: STANDARD_NO_PAD.encode(&self.ciphertext),
            aad: STANDARD_NO_PAD.encode(self.aad),
            expires_at: self.expires_at.as_secs(),
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads what [`CredentialEnvelope::to_text`] wrote.
    pub fn from_text(text: &str) -> Result<CredentialEnvelope, EnvelopeError> {
        let value: Value = serde_json::from_str(text).map_err(|_| EnvelopeError::Damaged)?;
        // First of all, as the fields of another version are not known.
        match value.get("version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(other) => return Err(EnvelopeError::UnknownVersion(other)),
            None => return Err(EnvelopeError::Damaged),
        }
        let stored: Stored = serde_json::from_value(value).map_err(|_| EnvelopeError::Damaged)?;
        Ok(CredentialEnvelope {
            kek_id: stored.kek_id,
            dek_id: exact(&stored.dek_id)?,
            ciphertext: decoded(&stored.ciphertext)?,
            aad: exact(&stored.aad)?,
            expires_at: Duration::from_secs(stored.expires_at),
        })
    }
}

/// All that the seal covers besides the key: with every field in it, none can be changed.
fn covered(kek_id: u16, dek_id: &[u8; DEK_ID_BYTES], aad: &[u8; 32], expires_at: Duration) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + 2 + dek_id.len() + 8 + aad.len());
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&kek_id.to_be_bytes());
    bytes.extend_from_slice(dek_id);
    bytes.extend_from_slice(&expires_at.as_secs().to_be_bytes());
    bytes.extend_from_slice(aad);
    bytes
}

fn decoded(text: &str) -> Result<Vec<u8>, EnvelopeError> {
    STANDARD_NO_PAD.decode(text).map_err(|_| EnvelopeError::Damaged)
}

fn exact<const N: usize>(text: &str) -> Result<[u8; N], EnvelopeError> {
    decoded(text)?.try_into().map_err(|_| EnvelopeError::Damaged)
}
