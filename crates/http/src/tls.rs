//! TLS from two PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::error::HttpError;

/// A certificate chain, the server's own first, and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

const NEED_CERT: &str = "give the PEM file of the certificate chain, the server's own first";
const NEED_KEY: &str = "give the PEM file of the unencrypted private key that belongs to the certificate";

pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, HttpError> {
    let certificates = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| invalid(&files.cert, pem_reason(&error), NEED_CERT))?;
    if certificates.is_empty() {
        return Err(invalid(&files.cert, "it holds no certificate".into(), NEED_CERT));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| invalid(&files.key, pem_reason(&error), NEED_KEY))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(|error| invalid(&files.key, error.to_string(), NEED_KEY))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn pem_reason(error: &PemError) -> String {
    match error {
        PemError::NoItemsFound => "it holds nothing of this kind in PEM form".into(),
        PemError::Io(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}

fn invalid(path: &Path, reason: String, hint: &'static str) -> HttpError {
    HttpError::Tls { path: path.to_owned(), reason, hint }
}
