//! The request body: its type, its size and the time it may take.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use http_body::Body;
use http_body_util::BodyExt;

use crate::errors::Refusal;

/// A cross-site form cannot send `application/json`, so this is also a defence.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return Err(Refusal::NotJson) };
    let value = value.to_str().map_err(|_| Refusal::NotJson)?;
    let media = value.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") || headers.contains_key(CONTENT_ENCODING) {
        return Err(Refusal::NotJson);
    }
    Ok(())
}

/// How much of a body that is too long is still read, and thrown away: an ordinary client looks for the answer only
/// after it has sent everything, and a connection closed before that looks to it like a broken one.
const DRAIN_BYTES: u64 = 16 << 20;
/// A client that pauses for so long in the middle of such a body is not about to look for an answer.
const DRAIN_IDLE: Duration = Duration::from_millis(500);

/// Reads the whole body. One that is too long is read to its end all the same, within a bound, and then refused.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: B,
    limit: usize,
    patience: Duration,
) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        // A client that asks first has not sent anything yet and need not.
        let asks_first = headers.contains_key(EXPECT);
        if !asks_first && announced.is_some_and(|length| length <= DRAIN_BYTES) {
            let _ = tokio::time::timeout(patience, drain(body)).await;
        }
        return Err(Refusal::TooLarge { limit });
    }
    tokio::time::timeout(patience, collect(body, limit)).await.unwrap_or(Err(Refusal::BodyTooSlow))
}

async fn collect<B>(mut body: B, limit: usize) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut first = Bytes::new();
    let mut rest = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::BodyBroken)?.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            drop((first, rest));
            drain(body).await;
            return Err(Refusal::TooLarge { limit });
        }
        // Most bodies arrive in one piece, which need not be copied.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            rest.reserve(first.len() + data.len());
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.into() })
}

/// Reads the rest, up to the bound, and keeps nothing of it.
async fn drain<B>(mut body: B)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut drained = 0;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(DRAIN_IDLE, body.frame()).await {
        drained += frame.data_ref().map_or(0, Bytes::len) as u64;
        if drained > DRAIN_BYTES {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn content_types() {
        let check = |value: &str| {
            check_type(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_str(value).unwrap())]))
        };
        for good in ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON ;x=y"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", "text/plain", "application/jsonp", "application/json-seq", "text/json", "application"]
        {
            assert_eq!(check(bad), Err(Refusal::NotJson), "{bad}");
        }
        assert_eq!(check_type(&HeaderMap::new()), Err(Refusal::NotJson));
    }
}
