//! Why a document cannot be searched, as the catalog keeps it: `documents.reason_code` for questions across documents,
//! `documents.reason_json` for the facts that its sentence is made of.

use model::SkipReason;

/// The stored form; nothing where there is no reason.
pub(super) fn written(reason: Option<&SkipReason>) -> (Option<&'static str>, Option<String>) {
    let json = reason.and_then(|reason| serde_json::to_string(reason).ok());
    (reason.map(|reason| reason.code().as_str()), json)
}

/// Reads the stored form back. Without facts, as in catalogs of older formats, or with facts that only a later version
/// knows, the code is all there is.
pub(super) fn read(code: Option<&str>, json: Option<&str>) -> Option<SkipReason> {
    let facts = json.and_then(|json| serde_json::from_str(json).ok());
    facts.or_else(|| code.map(SkipReason::from_recorded))
}
