//! The format of a vector file, and writing it so that a crash at any moment leaves a readable file.
//!
//! ```text
//! 0     header, 128 bytes: magic, version, kind, dimensions, stride, model, corpus, file id,
//!       room for more (zero), checksum
//! 1024  stamp A, 64 bytes  } the newer valid one counts: sequence, generation, length of the valid part of the
//! 2048  stamp B, 64 bytes  } file, rows, checksum
//! 4096  blocks, each a multiple of 64 bytes: header of 64 bytes (magic, rows, number of superseded rows,
//!       generation, length, checksum), labels (i64), documents (u32), ordinals (u32), scales (f32), superseded
//!       rows (u32: rows of earlier blocks that this block replaces), padding, vectors (stride bytes each)
//! ```
//!
//! All numbers are little-endian, all checksums the first 16 bytes of a BLAKE3 hash. A block is appended behind
//! the valid part and synced; only then a stamp, written over the older of the two, makes it valid. What lies
//! behind the valid part after a crash is cut off. Stamps are not synced: losing one means that the catalog is
//! replayed from an earlier generation.

#![allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::IndexKind;

use super::quantize::stride;

const MAGIC: &[u8; 8] = b"d2mvec\r\n";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 128;
const STAMP_OFFSETS: [usize; 2] = [1024, 2048];
const STAMP_BYTES: usize = 64;
pub(super) const BLOCKS_OFFSET: u64 = 4096;
const BLOCK_MAGIC: u32 = 0x314B_4C42;
pub(super) const BLOCK_HEADER_BYTES: usize = 64;
const ALIGNMENT: usize = 64;
/// Bytes of a row besides its vector: label, document, ordinal, scale.
const ROW_BYTES: usize = 20;

/// What a file must be about to be of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) kind: IndexKind,
    pub(crate) dimensions: usize,
    model: [u8; 16],
    corpus: [u8; 16],
}

impl Expected {
    pub(crate) fn new(kind: IndexKind, dimensions: usize, model: &str, corpus: &str) -> Expected {
        Expected { kind, dimensions, model: check(&[model.as_bytes()]), corpus: check(&[corpus.as_bytes()]) }
    }
}

/// Why a file is of no use. It is rebuilt from the catalog then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Damage {
    #[error("it is missing")]
    Missing,
    #[error("it holds vectors of another model")]
    OtherModel,
    #[error("it belongs to another corpus")]
    OtherCorpus,
    #[error("it has format {0}")]
    OtherVersion(u32),
    #[error("{0}")]
    Corrupt(&'static str),
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Rows on their way into a block.
#[derive(Debug, Default, Clone)]
pub(crate) struct Rows {
    pub(super) labels: Vec<i64>,
    pub(super) docs: Vec<u32>,
    pub(super) ordinals: Vec<u32>,
    pub(super) scales: Vec<f32>,
    pub(super) vectors: Vec<u8>,
    pub(super) superseded: Vec<u32>,
}

impl Rows {
    pub(super) fn push(&mut self, label: i64, doc: u32, ordinal: u32, scale: f32, vector: &[u8]) {
        self.labels.push(label);
        self.docs.push(doc);
        self.ordinals.push(ordinal);
        self.scales.push(scale);
        self.vectors.extend_from_slice(vector);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.superseded.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    sequence: u64,
    pub(super) generation: u64,
    /// The valid part of the file ends here.
    pub(super) length: u64,
    pub(super) rows: u64,
}

/// The parts of a file that say what is in it.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) file_id: [u8; 16],
    pub(super) stamp: Stamp,
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct VectorFile {
    path: PathBuf,
    file: File,
    pub(super) expected: Expected,
    pub(super) head: Head,
    /// Where the next block goes.
    tail: u64,
    tail_rows: u64,
}

impl VectorFile {
    /// Opens an existing file for writing, and cuts off what no stamp vouches for.
    pub(super) fn open(path: &Path, expected: &Expected) -> Result<VectorFile, Damage> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Damage::Missing),
            other => other?,
        };
        let head = read_head(&file, expected)?;
        if file.metadata()?.len() > head.stamp.length {
            file.set_len(head.stamp.length)?;
        }
        let (tail, tail_rows) = (head.stamp.length, head.stamp.rows);
        Ok(VectorFile { path: path.to_owned(), file, expected: expected.clone(), head, tail, tail_rows })
    }

    /// Writes a whole new file with these blocks, and puts it in the place of the old one.
    pub(super) fn create(
        path: &Path,
        expected: &Expected,
        generation: u64,
        blocks: impl Iterator<Item = Rows>,
    ) -> io::Result<VectorFile> {
        let temporary = path.with_extension("hnsw.tmp");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&temporary)?;
        let file_id = random_id();
        let mut writer = io::BufWriter::with_capacity(1 << 20, &file);
        writer.write_all(&[0; BLOCKS_OFFSET as usize])?;
        let mut stamp = Stamp { sequence: 1, generation, length: BLOCKS_OFFSET, rows: 0 };
        for rows in blocks {
            let block = encode(&rows, generation, expected);
            writer.write_all(&block)?;
            stamp.length += block.len() as u64;
            stamp.rows += rows.labels.len() as u64;
        }
        writer.flush()?;
        drop(writer);
        file.write_all_at(&encode_header(expected, &file_id), 0)?;
        file.write_all_at(&encode_stamp(&stamp, &file_id), STAMP_OFFSETS[0] as u64)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(VectorFile {
            path: path.to_owned(),
            file,
            expected: expected.clone(),
            head: Head { file_id, stamp },
            tail: stamp.length,
            tail_rows: stamp.rows,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a block. It does not count before [`VectorFile::commit`].
    pub(super) fn append(&mut self, rows: &Rows, generation: u64) -> io::Result<()> {
        let block = encode(rows, generation, &self.expected);
        self.file.write_all_at(&block, self.tail)?;
        self.tail += block.len() as u64;
        self.tail_rows += rows.labels.len() as u64;
        Ok(())
    }

    /// Makes what was appended valid, as the state of `generation`.
    pub(super) fn commit(&mut self, generation: u64) -> io::Result<()> {
        if self.tail != self.head.stamp.length {
            self.file.sync_data()?;
        }
        let stamp = Stamp {
            sequence: self.head.stamp.sequence + 1,
            generation,
            length: self.tail,
            rows: self.tail_rows,
        };
        let slot = STAMP_OFFSETS[(stamp.sequence + 1) as usize % 2];
        self.file.write_all_at(&encode_stamp(&stamp, &self.head.file_id), slot as u64)?;
        self.head.stamp = stamp;
        Ok(())
    }

    /// Forgets what was appended since the last commit.
    pub(super) fn roll_back(&mut self) {
        self.tail = self.head.stamp.length;
        self.tail_rows = self.head.stamp.rows;
    }
}

/// Reads and checks header and stamps.
pub(super) fn read_head(file: &File, expected: &Expected) -> Result<Head, Damage> {
    let mut bytes = [0u8; BLOCKS_OFFSET as usize];
    match file.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(Damage::Corrupt("it is too short"));
        }
        other => other?,
    }
    if &bytes[..8] != MAGIC {
        return Err(Damage::Corrupt("it is no vector file"));
    }
    if bytes[112..HEADER_BYTES] != check(&[&bytes[..112]]) {
        return Err(Damage::Corrupt("the checksum of its header does not match"));
    }
    let version = u32_at(&bytes, 8);
    if version != VERSION {
        return Err(Damage::OtherVersion(version));
    }
    let mut file_id = [0; 16];
    file_id.copy_from_slice(&bytes[56..72]);
    let wanted = encode_header(expected, &file_id);
    if bytes[40..56] != wanted[40..56] {
        return Err(Damage::OtherCorpus);
    }
    if bytes[12..40] != wanted[12..40] {
        return Err(Damage::OtherModel);
    }
    let stamp = STAMP_OFFSETS
        .iter()
        .filter_map(|offset| decode_stamp(&bytes[*offset..*offset + STAMP_BYTES], &file_id))
        .max_by_key(|stamp| stamp.sequence)
        .ok_or(Damage::Corrupt("it has no valid stamp"))?;
    if file.metadata()?.len() < stamp.length || stamp.length < BLOCKS_OFFSET {
        return Err(Damage::Corrupt("it is shorter than it was"));
    }
    Ok(Head { file_id, stamp })
}

/// A block taken apart.
pub(super) struct BlockParts {
    pub(super) labels: Vec<i64>,
    pub(super) docs: Vec<u32>,
    pub(super) ordinals: Vec<u32>,
    pub(super) scales: Vec<f32>,
    pub(super) superseded: Vec<u32>,
    /// Where in the bytes the vectors begin.
    pub(super) vectors: usize,
    pub(super) length: usize,
}

/// Takes the block at the start of `bytes` apart.
pub(super) fn decode(bytes: &[u8], expected: &Expected, verify: bool) -> Result<BlockParts, Damage> {
    if bytes.len() < BLOCK_HEADER_BYTES || u32_at(bytes, 0) != BLOCK_MAGIC {
        return Err(Damage::Corrupt("a block is damaged"));
    }
    let (rows, superseded) = (u32_at(bytes, 4) as usize, u32_at(bytes, 8) as usize);
    let layout = FileLayout::new(rows, superseded, expected).ok_or(Damage::Corrupt("a block is damaged"))?;
    if layout.length > bytes.len() || u64_at(bytes, 24) != layout.length as u64 {
        return Err(Damage::Corrupt("a block has another length than it says"));
    }
    if verify && bytes[48..64] != check(&[&bytes[..48], &bytes[BLOCK_HEADER_BYTES..layout.length]]) {
        return Err(Damage::Corrupt("the checksum of a block does not match"));
    }
    let words = |start: usize, count: usize| {
        bytes[start..start + 4 * count].chunks_exact(4).map(|four| u32_at(four, 0))
    };
    Ok(BlockParts {
        labels: bytes[BLOCK_HEADER_BYTES..layout.docs]
            .chunks_exact(8)
            .map(|eight| u64_at(eight, 0) as i64)
            .collect(),
        docs: words(layout.docs, rows).collect(),
        ordinals: words(layout.ordinals, rows).collect(),
        scales: words(layout.scales, rows).map(f32::from_bits).collect(),
        superseded: words(layout.superseded, superseded).collect(),
        vectors: layout.vectors,
        length: layout.length,
    })
}

/// Where the parts of a block lie.
struct FileLayout {
    docs: usize,
    ordinals: usize,
    scales: usize,
    superseded: usize,
    vectors: usize,
    length: usize,
}

impl FileLayout {
    fn new(rows: usize, superseded: usize, expected: &Expected) -> Option<FileLayout> {
        let docs = BLOCK_HEADER_BYTES + rows * 8;
        let ordinals = docs + rows * 4;
        let scales = ordinals + rows * 4;
        let superseded_at = scales + rows * 4;
        debug_assert_eq!(superseded_at, BLOCK_HEADER_BYTES + rows * ROW_BYTES);
        let vectors = (superseded_at + superseded * 4).next_multiple_of(ALIGNMENT);
        let length = vectors.checked_add(rows.checked_mul(stride(expected.dimensions))?)?;
        let length = length.next_multiple_of(ALIGNMENT);
        Some(FileLayout { docs, ordinals, scales, superseded: superseded_at, vectors, length })
    }
}

fn encode(rows: &Rows, generation: u64, expected: &Expected) -> Vec<u8> {
    let count = rows.labels.len();
    let layout =
        FileLayout::new(count, rows.superseded.len(), expected).expect("rows that are in memory have a size");
    let mut block = Vec::with_capacity(layout.length);
    block.extend_from_slice(&BLOCK_MAGIC.to_le_bytes());
    block.extend_from_slice(&(count as u32).to_le_bytes());
    block.extend_from_slice(&(rows.superseded.len() as u32).to_le_bytes());
    block.extend_from_slice(&[0; 4]);
    block.extend_from_slice(&generation.to_le_bytes());
    block.extend_from_slice(&(layout.length as u64).to_le_bytes());
    block.resize(BLOCK_HEADER_BYTES, 0);
    block.extend(rows.labels.iter().flat_map(|label| label.to_le_bytes()));
    block.extend(rows.docs.iter().flat_map(|doc| doc.to_le_bytes()));
    block.extend(rows.ordinals.iter().flat_map(|ordinal| ordinal.to_le_bytes()));
    block.extend(rows.scales.iter().flat_map(|scale| scale.to_le_bytes()));
    block.extend(rows.superseded.iter().flat_map(|row| row.to_le_bytes()));
    block.resize(layout.vectors, 0);
    block.extend_from_slice(&rows.vectors);
    block.resize(layout.length, 0);
    let sum = check(&[&block[..48], &block[BLOCK_HEADER_BYTES..]]);
    block[48..64].copy_from_slice(&sum);
    block
}

fn encode_header(expected: &Expected, file_id: &[u8; 16]) -> [u8; HEADER_BYTES] {
    let mut header = [0u8; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&u32::from(expected.kind == IndexKind::Code).to_le_bytes());
    header[16..20].copy_from_slice(&(expected.dimensions as u32).to_le_bytes());
    header[20..24].copy_from_slice(&(stride(expected.dimensions) as u32).to_le_bytes());
    header[24..40].copy_from_slice(&expected.model);
    header[40..56].copy_from_slice(&expected.corpus);
    header[56..72].copy_from_slice(file_id);
    let sum = check(&[&header[..112]]);
    header[112..].copy_from_slice(&sum);
    header
}

fn encode_stamp(stamp: &Stamp, file_id: &[u8; 16]) -> [u8; STAMP_BYTES] {
    let mut bytes = [0u8; STAMP_BYTES];
    bytes[..8].copy_from_slice(&stamp.sequence.to_le_bytes());
    bytes[8..16].copy_from_slice(&stamp.generation.to_le_bytes());
    bytes[16..24].copy_from_slice(&stamp.length.to_le_bytes());
    bytes[24..32].copy_from_slice(&stamp.rows.to_le_bytes());
    let sum = check(&[file_id, &bytes[..48]]);
    bytes[48..].copy_from_slice(&sum);
    bytes
}

fn decode_stamp(bytes: &[u8], file_id: &[u8; 16]) -> Option<Stamp> {
    (bytes[48..64] == check(&[file_id, &bytes[..48]])).then(|| Stamp {
        sequence: u64_at(bytes, 0),
        generation: u64_at(bytes, 8),
        length: u64_at(bytes, 16),
        rows: u64_at(bytes, 24),
    })
}

fn check(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut sum = [0; 16];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    sum
}

/// Tells one file from its successor at the same path.
fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    for half in id.chunks_exact_mut(8) {
        // The standard library seeds this from the system; nothing secret depends on it.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        half.copy_from_slice(&hasher.finish().to_le_bytes());
    }
    id
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
