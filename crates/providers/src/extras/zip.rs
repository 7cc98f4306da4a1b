//! Reads named files out of a wheel, which is a zip archive.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::read::DeflateDecoder;

/// The end record and the longest comment behind it.
const MAX_END: u64 = 22 + 65_535;

/// More names than any wheel has.
const MAX_DIRECTORY: u64 = 64 << 20;

/// Where a file's content is.
struct Member {
    path: String,
    offset: u64,
    packed: u64,
    size: u64,
    method: u16,
}

/// Gives the files that `wanted` names to `visit`: path, size and bytes.
pub(super) fn each_file<R: Read + Seek>(
    from: &mut R,
    wanted: impl Fn(&str) -> bool,
    mut visit: impl FnMut(&str, u64, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    for member in directory(from)? {
        if !wanted(&member.path) {
            continue;
        }
        from.seek(SeekFrom::Start(member.offset))?;
        let mut local = [0; 30];
        from.read_exact(&mut local)?;
        if !local.starts_with(b"PK\x03\x04") {
            return Err(bad("a member is not where the directory says"));
        }
        // The local header has lengths of its own.
        let skip = u64::from(u16_at(&local, 26)) + u64::from(u16_at(&local, 28));
        from.seek(SeekFrom::Start(member.offset + 30 + skip))?;
        let packed = (&mut *from).take(member.packed);
        match member.method {
            0 => visit(&member.path, member.size, &mut { packed })?,
            8 => visit(&member.path, member.size, &mut DeflateDecoder::new(packed))?,
            _ => return Err(bad("a member is packed in a way that wheels do not use")),
        }
    }
    Ok(())
}

fn directory<R: Read + Seek>(from: &mut R) -> io::Result<Vec<Member>> {
    let length = from.seek(SeekFrom::End(0))?;
    from.seek(SeekFrom::Start(length.saturating_sub(MAX_END)))?;
    let mut tail = Vec::new();
    from.take(MAX_END).read_to_end(&mut tail)?;
    let end = tail
        .windows(22)
        .rposition(|window| window.starts_with(b"PK\x05\x06"))
        .ok_or_else(|| bad("it is cut off, or not a zip archive"))?;
    let end = &tail[end..];
    let (size, offset) = (u64::from(u32_at(end, 12)), u64::from(u32_at(end, 16)));
    if size > MAX_DIRECTORY {
        return Err(bad("its directory is impossibly long"));
    }
    from.seek(SeekFrom::Start(offset))?;
    let mut entries = Vec::new();
    from.take(size).read_to_end(&mut entries)?;
    let mut members = Vec::new();
    let mut rest = entries.as_slice();
    while rest.len() >= 46 {
        if !rest.starts_with(b"PK\x01\x02") {
            return Err(bad("its directory is damaged"));
        }
        let (name, extra, comment) = (u16_at(rest, 28), u16_at(rest, 30), u16_at(rest, 32));
        let name = rest.get(46..46 + usize::from(name)).ok_or_else(|| bad("its directory is cut off"))?;
        members.push(Member {
            path: String::from_utf8_lossy(name).into_owned(),
            offset: u32_at(rest, 42).into(),
            packed: u32_at(rest, 20).into(),
            size: u32_at(rest, 24).into(),
            method: u16_at(rest, 10),
        });
        let entry = 46 + name.len() + usize::from(extra) + usize::from(comment);
        rest = rest.get(entry..).ok_or_else(|| bad("its directory is cut off"))?;
    }
    Ok(members)
}

/// The caller has checked the length.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn bad(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
