//! Sending a request until it is answered: turns, repetition, and what each answer means.

use std::error::Error;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use model::ProviderErrorKind;
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use tokio::sync::mpsc::Sender;

use super::HttpCore;
use super::call::{HttpCall, StreamItem};
use super::endpoint::EndpointShared;
use super::error_body::{ErrorBody, one_line};
use super::lane::Pass;
use super::retry::{random, told_pause};
use super::sse::EventReader;

/// Bytes of the body of an error that are read.
const LARGEST_ERROR: usize = 64 << 10;
/// A stream without a byte for so long has broken off. A local server reads a long prompt before it says anything.
const LONGEST_SILENCE: Duration = Duration::from_secs(120);
/// How long a provider whose account is empty is left alone.
const WITHOUT_CREDIT: Duration = Duration::from_secs(3600);

/// An attempt that brought nothing.
struct Failed {
    kind: ProviderErrorKind,
    /// Sending the same request again may help.
    can_help: bool,
    /// When the provider wants it again.
    told: Option<Duration>,
}

impl Failed {
    fn for_good(kind: ProviderErrorKind) -> Failed {
        Failed { kind, can_help: false, told: None }
    }

    fn no_answer(reason: String) -> Failed {
        Failed { kind: ProviderErrorKind::Unreachable { reason }, can_help: true, told: None }
    }
}

/// The whole answer.
pub(super) async fn whole(
    core: &HttpCore,
    shared: &EndpointShared,
    call: &HttpCall,
) -> Result<Bytes, ProviderErrorKind> {
    let (arrived, _pass) = repeated(core, shared, call, true).await?;
    Ok(arrived.body)
}

/// The parts of a streamed answer, as they arrive. Only a request without any answer is repeated: afterwards the caller has
/// seen a part of it.
pub(super) async fn streamed(
    core: &HttpCore,
    shared: &EndpointShared,
    call: &HttpCall,
    items: Sender<StreamItem>,
) -> Result<(), ProviderErrorKind> {
    let (Arrived { mut response, .. }, _pass) = repeated(core, shared, call, false).await?;
    let is_stream = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().to_ascii_lowercase().starts_with(b"text/event-stream"));
    if !is_stream {
        let answer = read(&mut response, call.largest_answer).await.map_err(|failed| failed.kind)?;
        // A caller that no longer listens needs nothing.
        let _ = items.send(StreamItem::Whole(answer)).await;
        return Ok(());
    }
    let (mut reader, mut arrived) = (EventReader::default(), 0);
    loop {
        let chunk = match tokio::time::timeout(LONGEST_SILENCE, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => {
                return Err(ProviderErrorKind::Unreachable {
                    reason: format!("the answer broke off: {}", cause(&error)),
                });
            }
            Err(_) => {
                let reason = format!("the answer broke off: no byte for {} s", LONGEST_SILENCE.as_secs());
                return Err(ProviderErrorKind::Unreachable { reason });
            }
        };
        arrived += chunk.len();
        if arrived > call.largest_answer {
            return Err(too_large(call.largest_answer));
        }
        let mut events = Vec::new();
        if reader.feed(&chunk, |data| events.push(data)).is_err() {
            return Err(ProviderErrorKind::BadAnswer {
                reason: "an event of the stream is too large".to_owned(),
            });
        }
        for event in events {
            if items.send(StreamItem::Event(event)).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// A good answer: its head, and its body where that was wanted.
struct Arrived {
    response: Response,
    body: Bytes,
}

/// Makes attempts until one succeeds, fails for good, or there is no time or try left.
async fn repeated(
    core: &HttpCore,
    shared: &EndpointShared,
    call: &HttpCall,
    with_body: bool,
) -> Result<(Arrived, Pass), ProviderErrorKind> {
    if let Some(kind) = &shared.blocked {
        return Err(kind.clone());
    }
    let (timer, policy) = (core.timer(), core.settings.retry);
    let tries = call.tries.map_or(policy.tries, |tries| tries.min(policy.tries)).max(1);
    let until = timer.elapsed() + call.deadline;
    let mut failures = 0;
    loop {
        let left = until.saturating_sub(timer.elapsed());
        let mut pass = shared.lane.enter(timer, left.min(policy.longest_pause)).await?;
        let failed = match attempt(core, shared, call, with_body).await {
            Ok(arrived) => {
                pass.answered();
                return Ok((arrived, pass));
            }
            Err(failed) => failed,
        };
        failures += 1;
        let mut is_useful = failed.can_help && failures < tries;
        let pause = match (&failed.kind, failed.told) {
            (ProviderErrorKind::Unreachable { reason }, told) => {
                is_useful &= pass.failed(reason);
                told.unwrap_or_else(|| policy.pause(failures, random()))
            }
            (ProviderErrorKind::RateLimited { .. }, Some(told)) => {
                // The others have to wait as well.
                pass.told_to_wait(told);
                told
            }
            (ProviderErrorKind::RateLimited { .. }, None) => {
                pass.answered();
                policy.pause(failures, random())
            }
            _ => {
                pass.answered();
                Duration::ZERO
            }
        };
        drop(pass);
        tracing::debug!(
            provider = shared.provider,
            path = call.path,
            error = %shared.cleaned(failed.kind.clone()),
            failures,
            "a request failed"
        );
        if !is_useful || pause > policy.longest_pause || timer.elapsed() + pause >= until {
            return Err(failed.kind);
        }
        timer.sleep(pause).await;
    }
}

/// Sends the request once.
async fn attempt(
    core: &HttpCore,
    shared: &EndpointShared,
    call: &HttpCall,
    with_body: bool,
) -> Result<Arrived, Failed> {
    let mut url = shared.address.join(&call.path);
    if !call.query.is_empty() {
        url.query_pairs_mut().extend_pairs(&call.query);
    }
    if !core.may_reach(&url) {
        let reason = "its host is not among those that may be reached".to_owned();
        return Err(Failed::for_good(ProviderErrorKind::Refused { reason }));
    }
    if let (true, Some(problem)) = (shared.address.is_https(), &core.certificate_problem) {
        let reason = format!("no certificate can be checked: {problem}");
        return Err(Failed { can_help: false, ..Failed::no_answer(reason) });
    }
    let mut request = core
        .client(&shared.address)
        .request(call.method.clone(), url)
        .header(ACCEPT, "application/json, text/event-stream, */*;q=0.5");
    if let Some((name, value)) = &shared.key_header {
        request = request.header(name, value);
    }
    let request = call.body.put_into(request).map_err(Failed::for_good)?;
    let mut response = request.send().await.map_err(|error| not_sent(&error))?;
    if !response.status().is_success() {
        return Err(meaning(core, shared, response).await);
    }
    let body = if with_body { read(&mut response, call.largest_answer).await? } else { Bytes::new() };
    Ok(Arrived { response, body })
}

/// What an answer that is not a good one means.
async fn meaning(core: &HttpCore, shared: &EndpointShared, mut response: Response) -> Failed {
    let status = response.status();
    let told = told_pause(response.headers(), core.timer().now());
    if status.is_redirection() {
        let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let target = target.and_then(|text| shared.address.join("").join(text).ok());
        let place = match &target {
            Some(url) if shared.address.is_same_origin(url) => "to another path".to_owned(),
            Some(url) => format!("to {}", url.origin().ascii_serialization()),
            None => "elsewhere".to_owned(),
        };
        let reason =
            format!("it redirects {place}, which is not followed; the base URL has to be the final one");
        return Failed { can_help: false, ..Failed::no_answer(reason) };
    }
    let body = match read(&mut response, LARGEST_ERROR).await {
        Ok(body) => ErrorBody::parse(&body),
        Err(_) => ErrorBody::default(),
    };
    let reason = match body.message.as_str() {
        "" => format!("HTTP {}", status.as_u16()),
        message => format!("HTTP {}: {message}", status.as_u16()),
    };
    let has_no_credit = matches!(body.code.as_str(), "insufficient_quota" | "quota_exceeded");
    match status.as_u16() {
        402 => Failed::for_good(ProviderErrorKind::Paused { after: WITHOUT_CREDIT, reason }),
        401 | 403 | 429 if has_no_credit => {
            Failed::for_good(ProviderErrorKind::Paused { after: WITHOUT_CREDIT, reason })
        }
        401 | 403 => Failed::for_good(ProviderErrorKind::Auth),
        429 => Failed { kind: ProviderErrorKind::RateLimited { after: told }, can_help: true, told },
        408 | 425 | 500..=599 => Failed { told, ..Failed::no_answer(reason) },
        _ => Failed::for_good(ProviderErrorKind::Refused { reason }),
    }
}

/// The whole body, if it is not too large.
async fn read(response: &mut Response, largest: usize) -> Result<Bytes, Failed> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| Failed::no_answer(format!("the answer broke off: {}", cause(&error))))?
    {
        if body.len() + chunk.len() > largest {
            return Err(Failed::for_good(too_large(largest)));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn too_large(largest: usize) -> ProviderErrorKind {
    ProviderErrorKind::BadAnswer { reason: format!("it is larger than {} MB", largest >> 20) }
}

fn not_sent(error: &reqwest::Error) -> Failed {
    if error.is_builder() {
        return Failed::for_good(ProviderErrorKind::Refused { reason: cause(error) });
    }
    let what = if error.is_timeout() {
        "no connection in time"
    } else if error.is_connect() {
        "no connection"
    } else {
        "the connection broke"
    };
    Failed::no_answer(format!("{what}: {}", cause(error)))
}

/// The innermost error: the outer ones say only that sending a request failed, and repeat the URL.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    one_line(&innermost.to_string())
}
