//! Why a credential could not be kept or had back. None of these says anything of the key or of the envelope's bytes.

use model::{ErrorCode, Failure};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("no credential waits for this job")]
    Missing,
    #[error("the credential of this job has expired")]
    Expired,
    #[error("the credential was sealed for another job")]
    WrongSubject,
    #[error("the credential was sealed with key {0}, which is not configured")]
    UnknownKey(u16),
    #[error("the credential's envelope has version {0}, which this program does not know")]
    UnknownVersion(u64),
    #[error("the credential's envelope is damaged")]
    Damaged,
    #[error("the credential could not be sealed: {0}")]
    NotSealed(&'static str),
    #[error("too many credentials wait already")]
    Full,
    /// What happened, without an address: an address may hold a password.
    #[error("the store of credentials cannot be reached: {0}")]
    StoreUnavailable(String),
}

impl EnvelopeError {
    /// Whether the job should be tried again later: by then the caller may have left a new credential, or the store is back.
    /// Only what is refused for good is not: an envelope that was sealed for something else, or changed.
    pub fn retryable(&self) -> bool {
        match self {
            EnvelopeError::Missing
            | EnvelopeError::Expired
            | EnvelopeError::UnknownKey(_)
            | EnvelopeError::UnknownVersion(_)
            | EnvelopeError::Full
            | EnvelopeError::StoreUnavailable(_) => true,
            EnvelopeError::WrongSubject | EnvelopeError::Damaged | EnvelopeError::NotSealed(_) => false,
        }
    }
}

impl From<EnvelopeError> for Failure {
    fn from(error: EnvelopeError) -> Failure {
        let code = if error.retryable() { ErrorCode::SearchBackendError } else { ErrorCode::InternalError };
        Failure::new(code, error.to_string())
    }
}

/// What is wrong with the configured keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    #[error("files.security.encryption_keks names no key")]
    Empty,
    #[error("files.security.encryption_keks: {0:?} is no number from 0 to 65535")]
    BadId(String),
    #[error("files.security.encryption_keks: key {0} is there twice")]
    DoubleId(u16),
    #[error("files.security.encryption_keks: the secret of key {0} is empty")]
    EmptySecret(u16),
}
