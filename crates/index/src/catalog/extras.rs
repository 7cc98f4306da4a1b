//! What a span says beyond lines, pages and times: `spans.extra_json`.

use std::borrow::Cow;

use model::{Chunk, Heading, Pointer};
use serde::{Deserialize, Serialize};

/// What is kept of a chunk beside its text and its span.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Extras<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pointer: Option<Cow<'a, Pointer>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) heading: Option<Cow<'a, Heading>>,
}

/// The stored form; nothing where there is nothing to say.
pub(super) fn written(chunk: &Chunk) -> Option<String> {
    let pointer = chunk.pointer.as_ref().map(Cow::Borrowed);
    let heading = (!chunk.heading.is_empty()).then_some(Cow::Borrowed(&chunk.heading));
    if pointer.is_none() && heading.is_none() {
        return None;
    }
    serde_json::to_string(&Extras { pointer, heading }).ok()
}

/// Reads the stored form back. What a later version may have put there instead is passed over.
pub(super) fn read(extra_json: Option<&str>) -> (Option<Pointer>, Heading) {
    let extras: Extras<'static> =
        extra_json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    (extras.pointer.map(Cow::into_owned), extras.heading.map(Cow::into_owned).unwrap_or_default())
}
