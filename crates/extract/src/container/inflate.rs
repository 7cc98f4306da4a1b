//! Unpacking that stops at a bound.

use std::io::Read;

use crate::limits::{Limit, Meter};
use crate::sink::Outcome;

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

/// Whether a limit says that the file is a bomb rather than large.
pub(crate) fn is_bomb(limit: Limit) -> bool {
    matches!(limit, Limit::Ratio)
}
