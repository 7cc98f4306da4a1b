//! Providers that fail: what is repeated, how long the pauses are, and what the caller is told.

use std::sync::Arc;
use std::time::Duration;

use model::{Embedder, IndexKind, ProviderError, ProviderErrorKind, ProviderFuture, Purpose};
use providers::EmbedModel;
use testkit::standins::{Fault, StandIn};

use crate::world::{World, is_pending};

fn embedder(world: &World, stand_in: &StandIn) -> Arc<dyn Embedder> {
    let model = EmbedModel::new("mistral-embed", 1024);
    world.mistral(stand_in).embedder(model.clone(), model)
}

async fn ask(embedder: &Arc<dyn Embedder>) -> Result<usize, ProviderError> {
    embedder.vectors(IndexKind::Text, Purpose::Passage, &["x"]).await.map(|vectors| vectors.len())
}

fn told(header: &'static str, value: &str) -> Fault {
    Fault::RateLimited(Some((header, value.to_owned())))
}

#[tokio::test]
async fn each_status_means_one_thing() {
    type Check = fn(&ProviderErrorKind) -> bool;
    let is_auth: Check = |kind| *kind == ProviderErrorKind::Auth;
    let is_refused: Check =
        |kind| matches!(kind, ProviderErrorKind::Refused { reason } if reason.contains("on demand"));
    let is_unreachable: Check =
        |kind| matches!(kind, ProviderErrorKind::Unreachable { reason } if reason.contains("HTTP 5"));
    let is_limited: Check = |kind| *kind == ProviderErrorKind::RateLimited { after: None };
    let is_paused: Check = |kind| matches!(kind, ProviderErrorKind::Paused { .. });
    for (status, requests, is_right) in [
        (401, 1, is_auth),
        (403, 1, is_auth),
        (400, 1, is_refused),
        (404, 1, is_refused),
        (413, 1, is_refused),
        (422, 1, is_refused),
        (402, 1, is_paused),
        (429, 4, is_limited),
        (500, 4, is_unreachable),
        (502, 4, is_unreachable),
        (503, 4, is_unreachable),
    ] {
        let (world, stand_in) = (World::new(), StandIn::mistral());
        stand_in.always(Some(Fault::Status(status)));
        let error = ask(&embedder(&world, &stand_in)).await.unwrap_err();
        assert!(is_right(&error.kind), "{status}: {error}");
        assert_eq!((error.provider.as_str(), stand_in.counts().requests), ("mistral", requests), "{status}");
    }
}

#[tokio::test]
async fn a_short_fault_is_not_noticed() {
    for fault in [Fault::Status(500), Fault::Status(429), Fault::Close, Fault::CutOff] {
        let (world, stand_in) = (World::new(), StandIn::mistral());
        stand_in.then([fault.clone(), fault.clone()]);
        assert_eq!(ask(&embedder(&world, &stand_in)).await, Ok(1), "{fault:?}");
        assert_eq!(stand_in.counts().requests, 3, "{fault:?}");
        let pauses = world.timer.pauses();
        assert!(pauses.len() == 2 && pauses[1] > pauses[0], "{pauses:?}");
    }
}

#[tokio::test]
async fn the_pause_is_as_long_as_the_provider_says() {
    for (fault, seconds) in [
        (told("retry-after", "7"), 7.0),
        (told("retry-after-ms", "1500"), 1.5),
        (told("retry-after", "Wed, 21 Oct 2015 07:27:42 GMT"), 12.0),
    ] {
        let (world, stand_in) = (World::new(), StandIn::mistral());
        stand_in.then([fault]);
        assert_eq!(ask(&embedder(&world, &stand_in)).await, Ok(1));
        assert_eq!(world.timer.pauses(), [Duration::from_secs_f64(seconds)]);
    }
}

#[tokio::test]
async fn a_long_pause_is_left_to_the_caller_and_kept() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = embedder(&world, &stand_in);
    stand_in.then([told("retry-after", "90")]);
    let limited = |seconds| ProviderErrorKind::RateLimited { after: Some(Duration::from_secs(seconds)) };
    assert_eq!(ask(&embedder).await.unwrap_err().kind, limited(90));
    world.timer.advance(Duration::from_secs(60));
    assert_eq!(ask(&embedder).await.unwrap_err().kind, limited(30), "no request before");
    assert_eq!(stand_in.counts().requests, 1);
    world.timer.advance(Duration::from_secs(25));
    assert_eq!(ask(&embedder).await, Ok(1), "five seconds are waited for");
}

#[tokio::test]
async fn a_dead_provider_is_left_alone_and_found_again() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = embedder(&world, &stand_in);
    assert_eq!(ask(&embedder).await, Ok(1));
    stand_in.go_away();
    let mut kinds = Vec::new();
    for _ in 0..4 {
        kinds.push(ask(&embedder).await.unwrap_err().kind);
    }
    assert!(
        matches!(&kinds[0], ProviderErrorKind::Unreachable { reason } if reason.contains("onnection")),
        "{kinds:?}"
    );
    let ProviderErrorKind::Paused { after, reason } = &kinds[3] else { panic!("{kinds:?}") };
    assert!(*after <= Duration::from_secs(15) && reason.contains("in a row"), "{kinds:?}");

    world.timer.advance(Duration::from_secs(15));
    assert!(
        matches!(ask(&embedder).await.unwrap_err().kind, ProviderErrorKind::Unreachable { .. }),
        "one request tries"
    );
    stand_in.come_back();
    assert!(matches!(ask(&embedder).await.unwrap_err().kind, ProviderErrorKind::Paused { .. }), "not yet");
    world.timer.advance(Duration::from_secs(30));
    assert_eq!(ask(&embedder).await, Ok(1));
    assert_eq!(ask(&embedder).await, Ok(1));
}

#[tokio::test]
async fn an_address_where_nothing_listens() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = embedder(&world, &stand_in);
    stand_in.go_away();
    let error = ask(&embedder).await.unwrap_err().to_string();
    assert!(error.starts_with("mistral: no answer: no connection: "), "{error}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (world, stand_in, other) = (World::new(), StandIn::mistral(), StandIn::mistral());
    let embedder = embedder(&world, &stand_in);
    for target in
        [format!("{}/v1/embeddings", other.url()), "https://evil.example/x".to_owned(), "/v2".to_owned()]
    {
        stand_in.then([Fault::Redirect(target.clone())]);
        let error = ask(&embedder).await.unwrap_err();
        assert!(
            matches!(&error.kind, ProviderErrorKind::Unreachable { reason } if reason.contains("redirects")),
            "{error}"
        );
    }
    assert_eq!((stand_in.counts().requests, other.counts().requests), (3, 0));
}

#[tokio::test]
async fn only_listed_hosts_are_reached() {
    let stand_in = StandIn::mistral();
    let world = World::allowing(Some(vec!["api.mistral.ai".into()]));
    let error = ask(&embedder(&world, &stand_in)).await.unwrap_err();
    assert!(
        matches!(&error.kind, ProviderErrorKind::Paused { reason, .. } if reason.contains("127.0.0.1")),
        "{error}"
    );
    assert_eq!(stand_in.counts().requests, 0);
    let world = World::allowing(Some(vec!["127.0.0.1".into()]));
    assert_eq!(ask(&embedder(&world, &stand_in)).await, Ok(1));
}

#[tokio::test]
async fn dropping_ends_the_request_and_frees_the_way() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = embedder(&world, &stand_in);
    // More than may be under way at the same time, one after the other.
    for number in 1..=10 {
        stand_in.then([Fault::Hang]);
        let mut asked: ProviderFuture<'_, usize> = Box::pin(ask(&embedder));
        assert!(is_pending(&mut asked));
        stand_in.wait_until(|counts| counts.requests == number);
        drop(asked);
        stand_in.wait_until(|counts| counts.abandoned == number);
    }
    assert_eq!(ask(&embedder).await, Ok(1));
}

#[tokio::test]
async fn only_so_many_requests_are_under_way() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = embedder(&world, &stand_in);
    stand_in.then(vec![Fault::WaitAtGate; 20]);
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let embedder = Arc::clone(&embedder);
            tokio::spawn(async move { ask(&embedder).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let counts = tokio::task::spawn_blocking({
        let stand_in = Arc::new(stand_in);
        let seen = Arc::clone(&stand_in);
        move || {
            let counts = seen.wait_until(|counts| counts.requests == 8);
            seen.open_gate();
            (counts, stand_in)
        }
    });
    let (counts, stand_in) = counts.await.unwrap();
    assert_eq!(counts.requests, 8);
    for one in asked {
        assert_eq!(one.await.unwrap(), Ok(1));
    }
    assert_eq!(stand_in.counts().inputs, 20);
}
