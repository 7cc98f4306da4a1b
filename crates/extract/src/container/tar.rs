//! Tar: headers and bodies in blocks of 512 bytes, with the long names of GNU and POSIX.

use std::io::{self, Read};

use super::inflate;
use crate::limits::Meter;
use crate::sink::{Outcome, broken};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TarEntryKind {
    File,
    Directory,
    Link,
    /// Devices, pipes, sparse files, and unknown types.
    Special,
}

#[derive(Debug)]
pub(crate) struct TarEntry {
    /// As the archive has it, unchecked.
    pub(crate) name: String,
    pub(crate) kind: TarEntryKind,
    pub(crate) size: u64,
}

const BLOCK: usize = 512;
/// What [`is_tar`] wants to see.
pub(crate) const HEADER_BYTES: u64 = BLOCK as u64;
/// Longer names are no names.
const MOST_NAME: u64 = 1 << 20;

/// A tar as it comes: one entry at a time, never the whole of it in memory.
pub(crate) struct Tar<R> {
    stream: R,
    /// Bytes of the present entry that were not read yet, and of the blanks after it.
    body: u64,
    padding: u64,
}

/// Whether this is the first header of a tar.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(..BLOCK).is_some_and(|header| header[0] != 0 && checksum_is_right(header))
}

impl<R: Read> Tar<R> {
    pub(crate) fn new(stream: R) -> Tar<R> {
        Tar { stream, body: 0, padding: 0 }
    }

    /// The next entry, or `None` at the end.
    pub(crate) fn next(&mut self, meter: &Meter) -> Outcome<Option<TarEntry>> {
        let mut long_name: Option<String> = None;
        let mut long_size: Option<u64> = None;
        loop {
            meter.spend(1)?;
            self.skip(meter)?;
            let mut header = [0; BLOCK];
            match fill(&mut self.stream, &mut header)? {
                0 => return Ok(None),
                BLOCK => {}
                _ => return broken("the tar is cut off"),
            }
            if header.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            if !checksum_is_right(&header) {
                return broken("a tar header is damaged");
            }
            let flag = header[156];
            let is_entry = !matches!(flag, b'L' | b'K' | b'x' | b'g' | b'X');
            let size = long_size.filter(|_| is_entry).unwrap_or(number(&header[124..136]));
            // Links have a size in some archives, and no body.
            let has_body = !matches!(flag, b'1' | b'2' | b'3' | b'4' | b'5' | b'6');
            self.body = if has_body { size } else { 0 };
            self.padding = self.body.wrapping_neg() % BLOCK as u64;
            let is_named = matches!(flag, b'L' | b'x' | b'X') && size <= MOST_NAME;
            let named = if is_named { self.content(meter)? } else { Vec::new() };
            match flag {
                b'L' if is_named => long_name = Some(until_zero(&named)),
                b'x' | b'X' => {
                    for (key, value) in records(&named) {
                        match key {
                            b"path" => long_name = Some(String::from_utf8_lossy(value).into_owned()),
                            b"size" => {
                                long_size =
                                    std::str::from_utf8(value).ok().and_then(|size| size.trim().parse().ok());
                            }
                            _ => {}
                        }
                    }
                }
                b'L' | b'K' | b'g' => {}
                flag => {
                    let name = long_name.take().unwrap_or_else(|| own_name(&header));
                    let kind = match flag {
                        b'5' => TarEntryKind::Directory,
                        b'0' | 0 | b'7' if name.ends_with('/') => TarEntryKind::Directory,
                        b'0' | 0 | b'7' => TarEntryKind::File,
                        b'1' | b'2' => TarEntryKind::Link,
                        _ => TarEntryKind::Special,
                    };
                    return Ok(Some(TarEntry { name, kind, size }));
                }
            }
        }
    }

    /// The content of the entry that came last. The caller has looked at its size.
    pub(crate) fn content(&mut self, meter: &Meter) -> Outcome<Vec<u8>> {
        let mut content = Vec::new();
        let mut buffer = [0; 16 << 10];
        while self.body > 0 {
            let want = buffer.len().min(usize::try_from(self.body).unwrap_or(usize::MAX));
            let read = fill(&mut self.stream, &mut buffer[..want])?;
            meter.spend(1 + read as u64 / 64)?;
            self.body -= read as u64;
            content.extend_from_slice(&buffer[..read]);
            if read < want {
                self.body = 0;
                self.padding = 0;
                return broken("it is cut off");
            }
        }
        Ok(content)
    }

    /// Goes to the next header.
    fn skip(&mut self, meter: &Meter) -> Outcome {
        let mut left = self.body.saturating_add(self.padding);
        (self.body, self.padding) = (0, 0);
        let mut buffer = [0; 16 << 10];
        while left > 0 {
            let want = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = fill(&mut self.stream, &mut buffer[..want])?;
            meter.spend(1 + read as u64 / 1024)?;
            if read < want {
                return broken("the tar is cut off");
            }
            left -= read as u64;
        }
        Ok(())
    }
}

/// Reads until the buffer is full or the stream ends.
fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> Outcome<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(inflate::halt(&error)),
        }
    }
    Ok(filled)
}

/// The sum over the header with its own field as blanks. Some writers summed signed bytes.
fn checksum_is_right(header: &[u8]) -> bool {
    let (mut unsigned, mut signed) = (0u64, 0i64);
    for (index, byte) in header.iter().enumerate() {
        let byte = if (148..156).contains(&index) { b' ' } else { *byte };
        unsigned += u64::from(byte);
        signed += i64::from(byte.cast_signed());
    }
    let stated = number(&header[148..156]);
    stated == unsigned || i64::try_from(stated).is_ok_and(|stated| stated == signed)
}

/// Octal digits, or binary where the first bit says so.
fn number(field: &[u8]) -> u64 {
    if field.first().is_some_and(|first| first & 0x80 != 0) {
        let tail = &field[field.len().saturating_sub(8)..];
        return tail.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    }
    let digits =
        field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| matches!(byte, b'0'..=b'7'));
    digits.fold(0u64, |value, digit| value.saturating_mul(8).saturating_add(u64::from(digit - b'0')))
}

fn own_name(header: &[u8]) -> String {
    let name = until_zero(&header[..100]);
    let prefix = until_zero(&header[345..500]);
    // GNU keeps times where POSIX keeps the folders.
    let posix = header[257..263] == *b"ustar\0";
    if posix && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
}

fn until_zero(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// `25 key=value\n`, the length first and of all of it.
fn records(mut bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let blank = memchr::memchr(b' ', &bytes[..bytes.len().min(20)])?;
        let length: usize = std::str::from_utf8(&bytes[..blank]).ok()?.parse().ok()?;
        let record = bytes.get(blank + 1..length)?;
        bytes = &bytes[length..];
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        let equals = memchr::memchr(b'=', record)?;
        Some((&record[..equals], &record[equals + 1..]))
    })
}
