//! The keys that envelopes are sealed with: configured secrets, each under a number; new ones are added above the old.

use std::collections::BTreeMap;
use std::fmt;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::{Digest, Sha256};

use super::error::{EnvelopeError, KeyringError};

pub(super) const DEK_ID_BYTES: usize = 16;

/// All configured keys. The highest number seals, every one opens, so that keys are rotated by adding one and removing the
/// oldest once its envelopes have expired.
pub struct EnvelopeKeyring {
    keys: BTreeMap<u16, SecretBox<[u8; 32]>>,
    newest: u16,
}

impl EnvelopeKeyring {
    /// From the table of `files.security.encryption_keks`: numbers as text, and secrets of any length.
    pub fn from_config<'a>(
        secrets: impl IntoIterator<Item = (&'a str, &'a SecretString)>,
    ) -> Result<EnvelopeKeyring, KeyringError> {
        let mut keys = BTreeMap::new();
        for (name, secret) in secrets {
            let id: u16 = name.trim().parse().map_err(|_| KeyringError::BadId(name.to_owned()))?;
            if secret.expose_secret().is_empty() {
                return Err(KeyringError::EmptySecret(id));
            }
            let key = SecretBox::init_with_mut(|key: &mut [u8; 32]| {
                key.copy_from_slice(&Sha256::digest(secret.expose_secret().as_bytes()));
            });
            // `7` and `07` are different names of one key.
            if keys.insert(id, key).is_some() {
                return Err(KeyringError::DoubleId(id));
            }
        }
        let newest = *keys.last_key_value().ok_or(KeyringError::Empty)?.0;
        Ok(EnvelopeKeyring { keys, newest })
    }

    /// The number of the key that seals.
    pub fn newest(&self) -> u16 {
        self.newest
    }

    pub(super) fn seal(
        &self,
        dek_id: &[u8; DEK_ID_BYTES],
        aad: &[u8],
        plain: &[u8],
    ) -> Result<Vec<u8>, EnvelopeError> {
        let key = self.derived(self.newest, dek_id)?;
        // The tag is appended in place; with room for it the plaintext is not moved and left behind.
        let mut bytes = Vec::with_capacity(plain.len() + CHACHA20_POLY1305.tag_len());
        bytes.extend_from_slice(plain);
        key.seal_in_place_append_tag(only_nonce(), Aad::from(aad), &mut bytes)
            .map_err(|_| EnvelopeError::NotSealed("it is too long"))?;
        Ok(bytes)
    }

    pub(super) fn open(
        &self,
        kek_id: u16,
        dek_id: &[u8; DEK_ID_BYTES],
        aad: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, EnvelopeError> {
        let key = self.derived(kek_id, dek_id)?;
        let mut bytes = Zeroizing::new(sealed.to_vec());
        let length = key
            .open_in_place(only_nonce(), Aad::from(aad), &mut bytes)
            .map_err(|_| EnvelopeError::Damaged)?
            .len();
        bytes.truncate(length);
        Ok(bytes)
    }

    /// The key of one envelope, from the configured one and the envelope's random id.
    fn derived(&self, kek_id: u16, dek_id: &[u8; DEK_ID_BYTES]) -> Result<LessSafeKey, EnvelopeError> {
        let kek = self.keys.get(&kek_id).ok_or(EnvelopeError::UnknownKey(kek_id))?;
        let extracted = Salt::new(HKDF_SHA256, dek_id).extract(kek.expose_secret());
        let number = kek_id.to_be_bytes();
        let info: [&[u8]; 2] = [b"dir2mcp credential envelope 1", &number];
        let key = extracted
            .expand(&info, &CHACHA20_POLY1305)
            .map_err(|_| EnvelopeError::NotSealed("no key could be derived"))?;
        Ok(LessSafeKey::new(UnboundKey::from(key)))
    }
}

/// Each derived key seals one envelope only, so that its one nonce is never used twice.
fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

impl fmt::Debug for EnvelopeKeyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.keys.keys().map(|id| (id, format_args!("****")))).finish()
    }
}
