//! Reads the files of a `.tgz`. Packages of the npm registry are plain: short names, no links that matter.

use std::io::{self, Read};

use flate2::read::GzDecoder;

const BLOCK: usize = 512;

/// Gives every file to `visit`: its path and its bytes. What `visit` leaves unread is skipped.
pub(super) fn each_file(
    from: impl Read,
    mut visit: impl FnMut(&str, u64, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut from = GzDecoder::new(from);
    loop {
        let mut header = [0; BLOCK];
        from.read_exact(&mut header)?;
        // The end is a block of zeros.
        if header[0] == 0 {
            return Ok(());
        }
        let size = octal(&header[124..136]).ok_or_else(|| bad("a size that is not a number"))?;
        let is_file = matches!(header[156], b'0' | 0);
        let mut content = (&mut from).take(size);
        if is_file {
            let path = path(&header).ok_or_else(|| bad("a name that is not text"))?;
            visit(&path, size, &mut content)?;
        }
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        let unread = content.limit() + padding;
        let skipped = io::copy(&mut (&mut from).take(unread), &mut io::sink())?;
        if skipped < unread {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn path(header: &[u8; BLOCK]) -> Option<String> {
    let (name, prefix) = (text(&header[..100])?, text(&header[345..500])?);
    let is_ustar = &header[257..262] == b"ustar";
    Some(if is_ustar && !prefix.is_empty() { format!("{prefix}/{name}") } else { name.to_owned() })
}

fn text(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..end]).ok()
}

fn octal(field: &[u8]) -> Option<u64> {
    u64::from_str_radix(text(field)?.trim(), 8).ok()
}

fn bad(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
