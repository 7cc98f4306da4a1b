//! What the server and its children that read documents say to each other.
//!
//! A request is a length (4 bytes, little endian), a header in JSON, a length (8 bytes) and the document. An answer is a
//! length (4 bytes), a head in JSON, a length (8 bytes) and a body. Members of an archive, pictures of pages and pieces of a
//! recording come one by one, each as such an answer, and the child waits with the next one until the last was taken.

use std::io::{self, Read, Write};

use extract::archive::{Entry, Mode as ArchiveMode, Walked};
use extract::audio::RecordingInfo;
use extract::picture::PictureKind;
use extract::{Extraction, Format, Limits as ExtractLimits};
use model::SkipReason;
use serde::{Deserialize, Serialize};

/// More text than an extraction may give is damage, or an attack on us.
const MAX_ANSWER_BYTES: u64 = 512 << 20;

/// What the child is told besides the bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) job: Job,
    pub(super) format: Format,
    pub(super) name: String,
    pub(super) limits: ExtractLimits,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Job {
    Extract,
    Members(ArchiveMode),
    Member(String),
    /// Pictures of these pages.
    Pictures(Vec<u32>),
    /// What a recording says of itself.
    Probe,
    /// What is heard in it.
    Samples,
}

/// What the child says; bytes of members, pictures and sounds are the body.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ChildMessage {
    /// Said first, where the kernel did not take away all that it could.
    Unconfined {
        missing: String,
    },
    Extraction(Extraction),
    Member {
        path: String,
    },
    /// An entry that has no bytes.
    Entry(Entry),
    /// The end of a walk.
    Walked(Walked),
    /// One member, if there is such a one.
    Content {
        found: bool,
    },
    /// The picture of the next page.
    Picture(Result<PictureHead, SkipReason>),
    /// The next samples: four bytes each, little endian.
    Samples,
    /// What a recording is; after its samples the end of them.
    Recording(Result<RecordingInfo, SkipReason>),
}

/// A picture without its bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PictureHead {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) kind: PictureKind,
}

pub(super) type Reply = (ChildMessage, Vec<u8>);

/// Writes a message of either side: its head and its body.
pub(super) fn send(to: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head).map_err(io::Error::other)?;
    to.write_all(&(head.len() as u32).to_le_bytes())?;
    to.write_all(&head)?;
    to.write_all(&(body.len() as u64).to_le_bytes())?;
    to.write_all(body)?;
    to.flush()
}

/// Reads the next answer.
pub(super) fn answer(from: &mut impl Read) -> io::Result<Reply> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let head = bounded(from, u32::from_le_bytes(length).into())?;
    let head = serde_json::from_slice(&head).map_err(io::Error::other)?;
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    Ok((head, bounded(from, u64::from_le_bytes(length))?))
}

/// Samples as the body of a message.
pub(super) fn sample_bytes(samples: &[f32]) -> Vec<u8> {
    samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

/// The samples of such a body.
pub(super) fn samples_of(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

/// Reads that many bytes; more than an answer can have is an error.
fn bounded(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_ANSWER_BYTES {
        return Err(io::Error::other("an answer of impossible length"));
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}
