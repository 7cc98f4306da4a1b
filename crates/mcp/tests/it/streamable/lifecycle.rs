//! Starting, TLS and stopping.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dir2mcp_http::{HttpConfig, TlsFiles, bind};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::harness::{Server, alpha, call, in_session, initialize, modern_call};
use super::wire::{Ask, Wire};

fn certificate(folder: &Path) -> (TlsFiles, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&files.cert, cert.pem()).unwrap();
    std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    (files, cert.der().clone())
}

#[tokio::test]
async fn d023_tls_with_a_given_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (files, certificate) = certificate(folder.path());
    let server = Server::with(|config| config.tls = Some(files)).await;
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);

    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream =
        TlsConnector::from(Arc::new(client)).connect(name, stream).await.expect("the certificate holds");
    let mut wire = Wire::over(stream);
    let answer = wire.ask(&modern_call("echo", json!({ "x": 1 })).token(&alpha())).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["echo"]["x"], 1);
    let answer = wire.ask(&Ask::post(initialize()).token(&alpha())).await;
    assert_eq!(answer.status, 200);

    // Plain HTTP on the TLS port gets nothing, and disturbs no other client.
    let mut plain = Wire::open(server.address).await;
    plain.send(&Ask::new("GET", "/healthz").to_bytes()).await;
    assert!(!String::from_utf8_lossy(&plain.rest().await).contains("HTTP/"));
    assert_eq!(wire.ask(&Ask::new("GET", "/healthz")).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn d137_tls_config_invalid_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = certificate(folder.path());
    let other = tempfile::tempdir().unwrap();
    let (foreign, _) = certificate(other.path());
    let garbage = folder.path().join("garbage.pem");
    std::fs::write(&garbage, "not PEM").unwrap();
    let missing = folder.path().join("missing.pem");
    for (cert, key, named) in [
        (&missing, &good.key, &missing),
        (&good.cert, &missing, &missing),
        (&garbage, &good.key, &garbage),
        (&good.cert, &garbage, &garbage),
        (&good.key, &good.key, &good.key),
        (&good.cert, &foreign.key, &foreign.key),
    ] {
        let tls = Some(TlsFiles { cert: cert.clone(), key: key.clone() });
        let error = bind(HttpConfig { tls, ..HttpConfig::default() }).await.err().expect("refused");
        assert_eq!(error.code(), "TLS_CONFIG_INVALID", "{error}");
        assert!(error.to_string().contains(named.to_str().unwrap()), "{error}");
    }
}

#[tokio::test]
async fn stopping_lets_running_calls_finish_and_takes_no_new_ones() {
    let server = Server::with(|config| config.shutdown_grace = Duration::from_secs(60)).await;
    let session = server.initialize(&alpha()).await;
    let mut stateless = Wire::open(server.address).await;
    stateless.send(&modern_call("wait", json!({})).token(&alpha()).to_bytes()).await;
    let mut legacy = Wire::open(server.address).await;
    legacy.send(&in_session(&session, call(2, "wait", json!({}))).token(&alpha()).to_bytes()).await;
    let mut stream = Wire::open(server.address).await;
    let get = Ask { method: "GET".into(), body: Vec::new(), ..in_session(&session, "") };
    stream.send(&get.token(&alpha()).to_bytes()).await;
    stream.head().await.expect("the stream is open");
    let mut idle = Wire::open(server.address).await;
    assert_eq!(idle.ask(&Ask::new("GET", "/healthz")).await.status, 200);
    server.tools.until_started(2).await;

    server.cancel.cancel();
    assert_eq!(idle.rest().await, b"", "idle connections are closed");
    while stream.chunk().await.is_some() {}
    assert!(TcpStream::connect(server.address).await.is_err(), "the listener is closed");
    server.tools.release();
    server.tools.release();
    assert_eq!(stateless.answer().await.json()["result"]["structuredContent"]["waited"], true);
    assert_eq!(legacy.answer().await.json()["result"]["structuredContent"]["waited"], true);
    server.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn stopping_does_not_wait_for_ever() {
    let server = Server::with(|config| config.shutdown_grace = Duration::from_millis(50)).await;
    let mut wire = Wire::open(server.address).await;
    wire.send(&modern_call("wait", json!({})).token(&alpha()).to_bytes()).await;
    server.tools.until_started(1).await;
    let mut half = Wire::open(server.address).await;
    half.send(b"POST /mcp HTT").await;
    server.stop().await;
    half.rest().await;
}

#[tokio::test]
async fn an_unread_answer_is_given_up() {
    let server = Server::with(|config| config.timeouts.write = Duration::from_millis(50)).await;
    let mut wire = Wire::open(server.address).await;
    // Each answer echoes most of a megabyte; none is read, so the buffers of the socket fill up.
    let big = modern_call("echo", json!({ "x": "x".repeat(900_000) })).token(&alpha()).to_bytes();
    for _ in 0..40 {
        wire.send(&big).await;
    }
    server.assert_works().await;
    server.stop().await;
}
