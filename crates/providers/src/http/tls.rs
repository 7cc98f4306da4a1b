//! Encryption: rustls with ring, and the certificates that the system trusts.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// The settings, and why no certificate can be checked, where that is so. A machine without certificates can still use
/// servers on loopback.
pub(super) fn client_config() -> Result<(ClientConfig, Option<String>), rustls::Error> {
    let builder = || {
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions()
    };
    let (mut config, problem) = match builder()?.with_platform_verifier() {
        Ok(trusting_the_system) => (trusting_the_system.with_no_client_auth(), None),
        Err(error) => {
            let trusting_none = builder()?.with_root_certificates(RootCertStore::empty());
            (trusting_none.with_no_client_auth(), Some(error.to_string()))
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((config, problem))
}
