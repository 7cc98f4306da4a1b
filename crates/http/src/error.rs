//! Why the server did not start, or stopped.

use std::path::PathBuf;

use model::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot listen on {address}: {source}; {hint}")]
    Bind { address: String, source: std::io::Error, hint: &'static str },
    #[error("TLS cannot be set up with {}: {reason}; {hint}", path.display())]
    Tls { path: PathBuf, reason: String, hint: &'static str },
    #[error("{field}: {reason}")]
    Config { field: &'static str, reason: String },
}

impl HttpError {
    /// The canonical code of the dir2mcp specification, section 14.
    pub fn code(&self) -> &'static str {
        match self {
            HttpError::Bind { .. } => ErrorCode::BindFailed.as_str(),
            HttpError::Tls { .. } => ErrorCode::TlsConfigInvalid.as_str(),
            HttpError::Config { .. } => ErrorCode::ConfigInvalid.as_str(),
        }
    }

    pub(crate) fn config(field: &'static str, reason: impl Into<String>) -> HttpError {
        HttpError::Config { field, reason: reason.into() }
    }
}
