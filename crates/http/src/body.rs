//! The request body: its type, its size and the time it may take.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};

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

/// Reads the whole body, or as little of it as tells that it is too long.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: B,
    limit: usize,
    patience: Duration,
) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(Refusal::TooLarge { limit });
    }
    match tokio::time::timeout(patience, Limited::new(body, limit).collect()).await {
        Err(_) => Err(Refusal::BodyTooSlow),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge { limit }),
        Ok(Err(_)) => Err(Refusal::BodyBroken),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
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
