//! Image files: no text of their own, and pages that recognition can read.

use crate::picture;
use crate::sink::{Outcome, Sink, broken};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let pages = picture::count(sink.format, bytes);
    if pages == 0 {
        return broken("it has no pages");
    }
    sink.parts = pages;
    sink.unread_pages = (1..=pages).collect();
    Ok(())
}
