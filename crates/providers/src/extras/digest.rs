//! SHA-256 of what is read or written.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

/// The digest of all that `from` gives, in hexadecimal.
pub(super) fn sha256(from: &mut impl Read) -> io::Result<String> {
    let mut nowhere = Hashing::new(io::sink());
    io::copy(from, &mut nowhere)?;
    Ok(nowhere.finish())
}

/// Passes on what is written, and hashes it.
pub(super) struct Hashing<W> {
    to: W,
    hash: Sha256,
}

impl<W: Write> Hashing<W> {
    pub(super) fn new(to: W) -> Hashing<W> {
        Hashing { to, hash: Sha256::new() }
    }

    pub(super) fn finish(self) -> String {
        self.hash.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
