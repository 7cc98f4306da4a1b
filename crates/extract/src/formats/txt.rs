//! Plain text in any charset, as one unit.

use model::{Pointer, SkipReason};

use crate::diagnostic::Diagnostic;
use crate::raw_text::{Extracted, raw_text};
use crate::sink::{Halt, Outcome, Sink};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let text = decode(bytes, sink)?;
    sink.parts = 1;
    sink.unit(Pointer::Document, None, &text)
}

/// The text of a file that is text, for the formats built on it.
pub(super) fn decode(bytes: &[u8], sink: &mut Sink) -> Outcome<String> {
    sink.meter.spend(bytes.len() as u64 / 64)?;
    match raw_text(bytes.to_vec()) {
        Extracted::Text(rep) => {
            if rep.lossy {
                sink.note(Diagnostic::LossyText { encoding: rep.encoding.to_owned() });
            }
            Ok(rep.text)
        }
        Extracted::Skip(reason) => Err(Halt::Skip(reason)),
    }
}

/// For archives, which are read member by member, and recordings, which are heard.
pub(super) fn no_document(_: &[u8], sink: &mut Sink) -> Outcome {
    Err(Halt::Skip(SkipReason::Unsupported { doc_type: sink.format.to_string() }))
}
