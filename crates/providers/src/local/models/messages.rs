//! What a server and its model child say to each other: a length (4 bytes, little endian), a head in JSON, a length (8
//! bytes) and a body.

use std::io::{self, Read, Write};

use model::{RecognizedPage, Transcript};
use serde::{Deserialize, Serialize};

/// Longer heads and bodies are damage.
const MAX_HEAD: u64 = 64 << 20;
const MAX_BODY: u64 = 4 << 30;

/// What a child is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ModelRequest {
    /// The body is the picture.
    Recognize,
    /// The body is the samples, as little-endian floats.
    Transcribe {
        language: Option<String>,
    },
    Rerank {
        question: String,
        passages: Vec<String>,
    },
}

/// What a child answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ModelAnswer {
    /// Said first, where the kernel did not take away all that it could.
    Unconfined {
        missing: String,
    },
    /// Milliseconds of a recording that are done; others follow.
    Progress(u64),
    Page(RecognizedPage),
    Transcript(Transcript),
    Scores(Vec<f32>),
    /// This input cannot be processed.
    Refused {
        reason: String,
    },
    /// The model itself is not usable.
    Broken {
        reason: String,
    },
}

/// The bytes of a message, to be written at once.
pub(super) fn frame(head: &impl Serialize, body: &[u8]) -> io::Result<Vec<u8>> {
    let head = serde_json::to_vec(head).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(12 + head.len() + body.len());
    bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(body);
    Ok(bytes)
}

pub(super) fn send(to: &mut impl Write, head: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(head, &[])?)?;
    to.flush()
}

/// The next message; `None` at the end.
pub(super) fn receive<T: for<'de> Deserialize<'de>>(
    from: &mut impl Read,
) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let head = exactly(from, head_length(length)?)?;
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let body = exactly(from, body_length(length)?)?;
    Ok(Some((serde_json::from_slice(&head).map_err(io::Error::other)?, body)))
}

pub(super) fn head_length(length: [u8; 4]) -> io::Result<u64> {
    within(u32::from_le_bytes(length).into(), MAX_HEAD)
}

pub(super) fn body_length(length: [u8; 8]) -> io::Result<u64> {
    within(u64::from_le_bytes(length), MAX_BODY)
}

fn within(length: u64, limit: u64) -> io::Result<u64> {
    if length <= limit { Ok(length) } else { Err(io::Error::other("a message of impossible length")) }
}

fn exactly(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_way() {
        let request = ModelRequest::Transcribe { language: Some("de".into()) };
        let mut bytes = frame(&request, b"body").unwrap();
        send(&mut bytes, &ModelAnswer::Progress(1500)).unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(receive(&mut from).unwrap(), Some((request, b"body".to_vec())));
        assert_eq!(receive(&mut from).unwrap(), Some((ModelAnswer::Progress(1500), Vec::new())));
        assert_eq!(receive::<ModelAnswer>(&mut from).unwrap(), None);
        let cut = frame(&ModelAnswer::Progress(1), b"body").unwrap();
        assert!(receive::<ModelAnswer>(&mut &cut[..cut.len() - 1]).is_err());
        assert!(receive::<ModelAnswer>(&mut [255; 20].as_slice()).is_err());
    }
}
