//! PDF.

use crate::sink::{Outcome, Sink, broken};

pub(super) fn read(_: &[u8], _: &mut Sink) -> Outcome {
    broken("not yet")
}
