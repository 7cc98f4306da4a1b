//! Certificates and proxies. What the environment says is looked up by a process of its own: this test binary once more.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use model::ProviderErrorKind;
use providers::http::{HttpCore, HttpSettings};
use providers::mistral::Mistral;
use providers::{ProviderProbe, ServiceAccount};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use secrecy::SecretString;
use testkit::standins::StandIn;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// Answers TLS for the name `localhost` and passes everything on to a stand-in. Returns its URL and its certificate.
async fn encrypted(stand_in: &StandIn) -> (String, String) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let behind = stand_in.url().replace("http://", "");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                let mut front = acceptor.accept(stream).await?;
                let mut back = TcpStream::connect(behind).await?;
                tokio::io::copy_bidirectional(&mut front, &mut back).await
            });
        }
    });
    (url, cert.pem())
}

async fn probe(url: &str, key: &str) -> ProviderProbe {
    let core = HttpCore::new(HttpSettings::default()).unwrap();
    let key = Some(SecretString::from(key));
    let account = ServiceAccount { key, base_url: Some(url.to_owned()), meter: None };
    Mistral::new(account, core).unwrap().probe(&[]).await
}

/// Starts the running test a second time, in a process with these variables that probes a provider, and returns what it
/// prints.
async fn probed_with(test: &'static str, url: &str, key: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command.env("URL_OF_THE_TEST", url).env("KEY_OF_THE_TEST", key).envs(variables.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether this process is such a child; then it has probed.
#[allow(clippy::print_stdout, reason = "the parent reads it")]
async fn is_child() -> bool {
    let Ok(url) = std::env::var("URL_OF_THE_TEST") else { return false };
    let probe = probe(&url, &std::env::var("KEY_OF_THE_TEST").unwrap()).await;
    println!("fine: {}; {:?}", probe.is_fine(), probe.failure.map(|error| error.to_string()));
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_certificates_that_the_system_trusts_are_accepted() {
    const TEST: &str = "network::only_certificates_that_the_system_trusts_are_accepted";
    if is_child().await {
        return;
    }
    let stand_in = StandIn::mistral();
    let (url, certificate) = encrypted(&stand_in).await;
    let failure = probe(&url, stand_in.key()).await.failure.unwrap();
    let ProviderErrorKind::Unreachable { reason } = &failure.kind else { panic!("{failure}") };
    assert!(reason.contains("certificate"), "{failure}");
    assert_eq!(stand_in.counts().requests, 0, "the key stays here");

    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("trusted.pem");
    std::fs::write(&trusted, certificate).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let printed = probed_with(TEST, &url, stand_in.key(), &[("SSL_CERT_FILE", &text(&trusted))]).await;
    assert!(printed.contains("fine: true"), "{printed}");
    assert_eq!(stand_in.counts().requests, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_of_the_environment_are_used_but_not_for_this_machine() {
    const TEST: &str = "network::proxies_of_the_environment_are_used_but_not_for_this_machine";
    if is_child().await {
        return;
    }
    let (stand_in, proxy) = (StandIn::mistral(), StandIn::local_openai());
    let address = proxy.url().replace("/v1", "");
    let variables = [("http_proxy", address.as_str()), ("https_proxy", address.as_str())];
    probed_with(TEST, "http://provider.example", stand_in.key(), &variables).await;
    assert_eq!(proxy.last_request().path, "http://provider.example/v1/models");
    let printed = probed_with(TEST, &stand_in.url(), stand_in.key(), &variables).await;
    assert!(printed.contains("fine: true"), "{printed}");
    assert_eq!((stand_in.counts().requests, proxy.counts().requests), (1, 1));
}
