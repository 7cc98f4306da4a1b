//! What `doctor` learns about providers, and what a confined server has to reach for them.

use std::sync::Arc;

use model::ProviderErrorKind;
use providers::ServiceAccount;
use providers::http::AddressError;
use providers::mistral::Mistral;
use providers::{HostPort, ProviderRemedy};
use secrecy::SecretString;
use testkit::standins::{Fault, StandIn};

use crate::world::World;

#[tokio::test]
async fn a_probe_says_what_to_do() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let mistral = world.mistral(&stand_in);
    let probe = mistral.probe(&["mistral-embed", "mistral-ocr-latest"]).await;
    assert!(probe.is_fine(), "{probe:?}");
    assert_eq!(probe.place, format!("{}/v1", stand_in.url()));

    let probe = mistral.probe(&["mistral-huge"]).await;
    assert_eq!(probe.remedies, [ProviderRemedy::ChooseModel("mistral-huge".into())]);

    let denied = world.mistral_with_key(&stand_in, "fixture-wrong").probe(&[]).await;
    assert_eq!(denied.failure.unwrap().kind, ProviderErrorKind::Auth);
    assert_eq!(denied.remedies, [ProviderRemedy::CheckKey]);

    let before = stand_in.counts().requests;
    for (fault, remedy) in [
        (Fault::Status(500), ProviderRemedy::CheckAddress),
        (Fault::NotJson, ProviderRemedy::CheckAddress),
        (Fault::RateLimited(None), ProviderRemedy::Wait),
    ] {
        stand_in.then([fault.clone()]);
        assert_eq!(mistral.probe(&[]).await.remedies, [remedy], "{fault:?}");
    }
    assert_eq!(stand_in.counts().requests, before + 3, "asked once each");
    stand_in.then([Fault::Status(404)]);
    assert!(mistral.probe(&["x"]).await.is_fine(), "a server without a list of models");
    stand_in.go_away();
    assert_eq!(mistral.probe(&[]).await.remedies, [ProviderRemedy::CheckAddress]);
}

#[test]
fn a_provider_says_what_it_needs() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let local = world.mistral(&stand_in).reach();
    assert!(!local.needs_resolver && !local.needs_certificates);
    assert_eq!(local.read(|_| None), Vec::<std::path::PathBuf>::new());

    let account = |base_url: Option<&str>| ServiceAccount {
        key: Some(SecretString::from("fixture")),
        base_url: base_url.map(str::to_owned),
        meter: None,
    };
    let reach = Mistral::new(account(None), Arc::clone(&world.core)).unwrap().reach();
    assert_eq!(reach.hosts, [HostPort { host: "api.mistral.ai".into(), port: 443 }]);
    let read = reach.read(|name| (name == "SSL_CERT_FILE").then(|| "/opt/roots.pem".into()));
    for path in ["/etc/resolv.conf", "/etc/ssl/certs", "/opt/roots.pem"] {
        assert!(read.iter().any(|found| found.as_os_str() == path), "{path}");
    }
    let error = Mistral::new(account(Some("ftp://x")), Arc::clone(&world.core)).err();
    assert_eq!(error, Some(AddressError::Scheme("ftp".into())));
}
