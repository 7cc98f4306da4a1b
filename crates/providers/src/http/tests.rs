//! What only the core itself can show: deadlines, and answers that are too large.

use std::task::{Context, Waker};
use std::time::Duration;

use model::ProviderErrorKind;
use testkit::standins::{Fault, StandIn};

use super::{
    Address, EndpointSettings, HttpCall, HttpCore, HttpSettings, KeyHeader, ProviderEndpoint, StreamItem,
};

fn endpoint(stand_in: &StandIn) -> ProviderEndpoint {
    let settings = EndpointSettings {
        provider: "test".to_owned(),
        address: Address::parse(&stand_in.url()).unwrap(),
        key: None,
        key_header: KeyHeader::Bearer,
        requests: 2,
        meter: None,
    };
    ProviderEndpoint::new(HttpCore::new(HttpSettings::default()).unwrap(), settings)
}

fn is_unreachable(kind: &ProviderErrorKind, part: &str) -> bool {
    matches!(kind, ProviderErrorKind::Unreachable { reason } if reason.contains(part))
}

#[tokio::test]
async fn a_call_ends_at_its_deadline() {
    let stand_in = StandIn::local_openai();
    let endpoint = endpoint(&stand_in);
    stand_in.always(Some(Fault::Hang));
    let call = || HttpCall::get("models").within(Duration::from_millis(200));
    let error = endpoint.bytes(call()).await.unwrap_err();
    assert!(is_unreachable(&error.kind, "none within 0.2 s"), "{error}");
    let error = endpoint.stream(call(), &mut |_| Ok(false)).await.unwrap_err();
    assert!(is_unreachable(&error.kind, "none within 0.2 s"), "{error}");
    stand_in.wait_until(|counts| counts.abandoned == 2);
}

#[tokio::test]
async fn waiting_for_others_counts() {
    let stand_in = StandIn::local_openai();
    let endpoint = endpoint(&stand_in);
    stand_in.always(Some(Fault::Hang));
    let long = HttpCall::get("models").within(Duration::from_secs(60));
    let mut occupied = [Box::pin(endpoint.bytes(long.clone())), Box::pin(endpoint.bytes(long))];
    for call in &mut occupied {
        let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "sent, and not answered");
    }
    stand_in.wait_until(|counts| counts.requests == 2);
    let third = HttpCall::get("models").within(Duration::from_millis(200));
    let error = endpoint.bytes(third).await.unwrap_err();
    assert!(is_unreachable(&error.kind, "none within"), "{error}");
    assert_eq!(stand_in.counts().requests, 2);
}

#[tokio::test]
async fn a_large_answer_is_not_taken() {
    let stand_in = StandIn::local_openai();
    let endpoint = endpoint(&stand_in);
    stand_in.always(Some(Fault::Huge(3 << 20)));
    let call = || HttpCall { largest_answer: 2 << 20, ..HttpCall::get("models") };
    let error = endpoint.bytes(call()).await.unwrap_err();
    assert_eq!(error.to_string(), "test: the answer is not usable: it is larger than 2 MB");
    let error = endpoint.stream(call(), &mut |_: StreamItem| Ok(false)).await.unwrap_err();
    assert!(matches!(error.kind, ProviderErrorKind::BadAnswer { .. }), "{error}");
}
