//! The request body: its size, the time it may take, and the turn that its end waits for.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::admission::BodyAdmission;
use crate::refusal::Refusal;

/// How much of a body that is too long is still read, and thrown away: an ordinary client looks for the answer only
/// after it has sent everything, and a connection closed before that looks to it like a broken one.
const DRAIN_BYTES: u64 = 16 << 20;
/// A client that pauses for so long in the middle of such a body is not about to look for an answer.
const DRAIN_IDLE: Duration = Duration::from_millis(500);

/// The body was too long, too slow or broken off. The server tells the client which, whatever the service answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body was refused")]
struct BodyRefused;

/// What a body may cost.
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
    /// Whether its end waits for the client's turn.
    pub(crate) ends_with_turn: bool,
}

/// The body of a request as a service gets it. Nothing is read before the service asks for it.
pub(crate) fn limited(
    admission: Arc<BodyAdmission>,
    headers: &HeaderMap,
    body: Incoming,
    limits: BodyLimits,
) -> axum::body::Body {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    // A client that asks first has not sent anything yet and need not.
    let asks_first = headers.contains_key(EXPECT);
    let reading = Reading { body, limits, announced, asks_first, read: 0, deadline: None };
    let pieces = futures::stream::try_unfold((reading, admission), |(mut reading, admission)| async move {
        match reading.next().await {
            Ok(Some(piece)) => Ok(Some((piece, (reading, admission)))),
            Ok(None) => {
                if reading.limits.ends_with_turn {
                    admission.wait_for_turn().await;
                }
                Ok(None)
            }
            Err(refusal) => {
                admission.refuse_body(refusal);
                Err(BodyRefused)
            }
        }
    });
    axum::body::Body::from_stream(pieces)
}

struct Reading {
    body: Incoming,
    limits: BodyLimits,
    /// The length that the client announced.
    announced: Option<u64>,
    asks_first: bool,
    read: usize,
    /// Set when the service begins to read.
    deadline: Option<Instant>,
}

impl Reading {
    /// The next piece. A body that is too long is read to its end all the same, within a bound, and then refused.
    async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        let limit = self.limits.bytes;
        let deadline = match self.deadline {
            Some(deadline) => deadline,
            None => {
                let deadline = Instant::now() + self.limits.time;
                self.deadline = Some(deadline);
                if let Some(length) = self.announced.filter(|length| *length > limit as u64) {
                    if !self.asks_first && length <= DRAIN_BYTES {
                        let _ = timeout_at(deadline, drain(&mut self.body)).await;
                    }
                    return Err(Refusal::body_too_large(limit));
                }
                deadline
            }
        };
        loop {
            let frame =
                timeout_at(deadline, self.body.frame()).await.map_err(|_| Refusal::body_too_slow())?;
            let Some(frame) = frame.transpose().map_err(|_| Refusal::body_broken())? else { return Ok(None) };
            let Ok(piece) = frame.into_data() else { continue };
            self.read += piece.len();
            if self.read <= limit {
                return Ok(Some(piece));
            }
            drop(piece);
            let drained = timeout_at(deadline, drain(&mut self.body)).await;
            return Err(match drained {
                Ok(()) => Refusal::body_too_large(limit),
                Err(_) => Refusal::body_too_slow(),
            });
        }
    }
}

/// Reads the rest, up to the bound, and keeps nothing of it.
async fn drain(body: &mut Incoming) {
    let mut drained = 0;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(DRAIN_IDLE, body.frame()).await {
        drained += frame.data_ref().map_or(0, Bytes::len) as u64;
        if drained > DRAIN_BYTES {
            return;
        }
    }
}
