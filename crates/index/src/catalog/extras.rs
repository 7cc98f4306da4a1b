//! What a span says beyond lines, pages and times: `spans.extra_json`.

use model::{Chunk, Pointer};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Extras<P> {
    #[serde(default = "Option::default")]
    pointer: Option<P>,
}

/// The stored form; nothing where there is nothing to say.
pub(super) fn written(chunk: &Chunk) -> Option<String> {
    let pointer = chunk.pointer.as_ref()?;
    serde_json::to_string(&Extras { pointer: Some(pointer) }).ok()
}

/// Reads the stored form back. What a later version may have put there instead is passed over.
pub(super) fn pointer(extra_json: &str) -> Option<Pointer> {
    serde_json::from_str::<Extras<Pointer>>(extra_json).ok()?.pointer
}
