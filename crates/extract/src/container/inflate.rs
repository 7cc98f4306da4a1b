//! Unpacking that stops at a bound.

use std::io::{self, Read};

use crate::limits::{Limit, Meter};
use crate::sink::{Halt, Outcome};

/// Reads a stream to its end within what the meter allows for `packed` bytes. What came before a fault is kept, and
/// the fault is named.
pub(crate) fn read_some(
    mut stream: impl Read,
    packed: u64,
    meter: &Meter,
) -> Outcome<(Vec<u8>, Option<String>)> {
    let (most, limit) = meter.allowance(packed);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    let mut problem = None;
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                problem = Some(format!("unpacking: {error}"));
                break;
            }
        };
        meter.spend(1 + read as u64 / 64)?;
        if bytes.len() + read > most {
            return Err(limit.into());
        }
        bytes.extend_from_slice(&buffer[..read]);
    }
    meter.unpacked(bytes.len() as u64);
    Ok((bytes, problem))
}

/// A stream that is unpacked as it is read, within what the meter allows for `packed` bytes. One member of it may be large
/// and all of them together larger: only the ratio and the total bound it.
pub(crate) struct Unpacking<'m, R> {
    stream: R,
    meter: &'m Meter,
    given: u64,
    most: u64,
}

impl<'m, R: Read> Unpacking<'m, R> {
    pub(crate) fn new(stream: R, packed: u64, meter: &'m Meter) -> Unpacking<'m, R> {
        Unpacking { stream, meter, given: 0, most: meter.ratio_allowance(packed) }
    }
}

impl<R: Read> Read for Unpacking<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.given += read as u64;
        let spent = self.meter.spend(1 + read as u64 / 64).and_then(|()| self.meter.unpack(read as u64));
        match spent {
            Ok(()) if self.given > self.most => Err(io::Error::other(Limit::Ratio)),
            Ok(()) => Ok(read),
            Err(limit) => Err(io::Error::other(limit)),
        }
    }
}

/// What ended a stream: a bound of ours, or its own fault.
pub(crate) fn halt(error: &io::Error) -> Halt {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Limit>()) {
        Some(limit) => Halt::Limit(*limit),
        None => Halt::Broken(format!("unpacking: {error}")),
    }
}

/// Whether a limit says that the file is a bomb rather than large.
pub(crate) fn is_bomb(limit: Limit) -> bool {
    matches!(limit, Limit::Ratio)
}
