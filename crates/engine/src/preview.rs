//! A short, redacted look into a file at a place.

use std::ops::Range;
use std::sync::Arc;

use model::{ErrorCode, Failure};
use policy::Redactor;
use retrieve::cite::{WrittenPointer, blanked};

use crate::call::Call;
use crate::search_files::PreviewRules;
use crate::workspace::Workspace;

/// Characters around the place unless told otherwise, and at most.
const AROUND: usize = 200;
const MOST_AROUND: usize = 1000;

/// Where a preview does not begin or end with the file.
const MORE: &str = "…";

#[derive(Debug, Clone, Default)]
pub struct PreviewRequest {
    /// Absolute.
    pub path: String,
    pub pointer: Option<String>,
    pub before: Option<usize>,
    pub after: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub path: String,
    pub pointer: String,
    /// Redacted, and never longer than the operator allows.
    pub text: String,
    /// The file has more than is shown.
    pub truncated: bool,
}

impl Workspace {
    pub async fn preview(
        self: &Arc<Self>,
        call: &Call,
        request: PreviewRequest,
        rules: PreviewRules,
    ) -> Result<Preview, Failure> {
        let workspace = Arc::clone(self);
        call.blocking(move |stop| {
            let location = workspace.locate(&request.path, &rules.redactor)?;
            let wanted = request
                .pointer
                .as_deref()
                .filter(|text| !text.trim().is_empty())
                .map(WrittenPointer::parse)
                .transpose()?;
            let (room, redactor) = (rules.bytes, &rules.redactor);
            let blank = |text: &str| rules.blank(text);
            let path = workspace.roots().absolute(location.number, &location.rel_path);
            let shared = &location.engine.shared;
            let rel_path = shared.locate(&location.rel_path).map_err(|error| policy::path_failure(&error))?;
            let whole = shared.whole(&rel_path).map_err(without_text)?;
            stop.check()?;
            let text = &whole.text;
            let hit = match &wanted {
                Some(wanted) => wanted.find(text, &|place| whole.region(place, &blank))?,
                None => 0..0,
            };
            let before = request.before.unwrap_or(AROUND).min(MOST_AROUND);
            // Without a place, the beginning of the file is what is asked for.
            let after = match (request.after, &wanted) {
                (Some(after), _) => after.min(MOST_AROUND),
                (None, Some(_)) => AROUND,
                (None, None) => room,
            };
            let is_passage = wanted.as_ref().is_some_and(WrittenPointer::is_passage);
            let hit = if is_passage { passage(text, hit) } else { hit };
            let (text, truncated) = preview(redactor, text, hit, before, after, room);
            let pointer = match &request.pointer {
                Some(pointer) if wanted.is_some() => pointer.trim().to_owned(),
                _ => whole.extraction.as_ref().and_then(|parts| parts.units.first()).map_or_else(
                    || format!("lines 1-{}", text.lines().count().max(1)),
                    |unit| blanked(&unit.pointer, &blank).to_string(),
                ),
            };
            Ok(Preview { path, pointer, text, truncated })
        })
        .await
    }
}

/// A file that is there but has nothing to look at is, to these tools, not found.
fn without_text(failure: Failure) -> Failure {
    match failure.code {
        ErrorCode::DocTypeUnsupported | ErrorCode::BinarySkipped | ErrorCode::ExtractFailed => {
            Failure::new(ErrorCode::FileNotFound, "there is no text to preview in this file")
                .hint(failure.message)
        }
        _ => failure,
    }
}

/// A quote stands for the passage around it: as much as a snippet has, on either side.
fn passage(text: &str, quote: Range<usize>) -> Range<usize> {
    let chars = retrieve::snippet::DEFAULT_CHARS;
    quote.start - back(text, quote.start, chars)..quote.end + ahead(text, quote.end, chars)
}

/// The hit with what is around it, redacted, within `room` bytes; whether the text has more.
fn preview(
    redactor: &Redactor,
    text: &str,
    hit: Range<usize>,
    before: usize,
    after: usize,
    room: usize,
) -> (String, bool) {
    let room = room.saturating_sub(2 * MORE.len());
    let hit_bytes = hit.len().min(room);
    // What the hit leaves is for its surroundings; each side gets what the other does not need.
    let left = room - hit_bytes;
    let mut wanted_before = back(text, hit.start, before);
    let wanted_after = ahead(text, hit.start + hit_bytes, after);
    let after_bytes = wanted_after.min(left.saturating_sub(wanted_before.min(left / 2)));
    wanted_before = wanted_before.min(left - after_bytes);
    let start = text.ceil_char_boundary(hit.start - wanted_before);
    let end = text.floor_char_boundary(hit.start + hit_bytes + after_bytes).max(start);
    let shown = redactor.redact_window(text, start..end);
    let cut = shown.floor_char_boundary(room);
    let truncated = start > 0 || end < text.trim_end().len() || cut < shown.len();
    let mut preview = String::with_capacity(cut + 2 * MORE.len());
    if start > 0 {
        preview.push_str(MORE);
    }
    preview.push_str(shown[..cut].trim_matches(['\n', '\r']));
    if end < text.trim_end().len() || cut < shown.len() {
        preview.push_str(MORE);
    }
    (preview, truncated)
}

/// The bytes of some characters before a place.
fn back(text: &str, at: usize, chars: usize) -> usize {
    text[..at].char_indices().rev().take(chars).last().map_or(0, |(start, _)| at - start)
}

/// The bytes of some characters behind a place.
fn ahead(text: &str, at: usize, chars: usize) -> usize {
    let at = text.floor_char_boundary(at);
    text[at..].char_indices().nth(chars).map_or(text.len() - at, |(end, _)| end)
}

#[cfg(test)]
mod tests {
    use policy::SecretPatterns;
    use proptest::prelude::*;

    use super::*;

    fn preview(text: &str, hit: Range<usize>, before: usize, after: usize, room: usize) -> (String, bool) {
        let redactor = Redactor::new(&SecretPatterns::Default).unwrap();
        super::preview(&redactor, text, hit, before, after, room)
    }

    #[test]
    fn s023_a_short_file_is_shown_whole() {
        let text = "The lease ends in May.\n";
        assert_eq!(preview(text, 0..0, 200, 2048, 2048), ("The lease ends in May.".into(), false));
    }

    #[test]
    fn s031_a_place_is_shown_with_its_surroundings() {
        let text = format!("{}TARGET{}", "a ".repeat(3000), " b".repeat(3000));
        let at = 6000;
        let (shown, truncated) = preview(&text, at..at + 6, 10, 10, 2048);
        assert_eq!(shown, "…a a a a a TARGET b b b b b…");
        assert!(truncated);
        let (shown, _) = preview(&text, at..at + 6, 1000, 1000, 1024);
        assert!(shown.len() <= 1024 && shown.contains("TARGET"), "{}", shown.len());
        let (shown, _) = preview(&text, 0..text.len(), 200, 200, 2048);
        assert!(shown.len() <= 2048 && shown.len() > 1900);
    }

    proptest! {
        #[test]
        fn s031_no_preview_is_longer_than_allowed(
            text in "(\\PC|\\n|é|漢|🦀){0,400}",
            at in 0.0..1.0f64,
            length in 0.0..1.0f64,
            before in 0usize..500,
            after in 0usize..500,
            room in 64usize..600,
        ) {
            let start = text.floor_char_boundary((text.len() as f64 * at) as usize);
            let end = text.floor_char_boundary(start + ((text.len() - start) as f64 * length) as usize);
            let (shown, truncated) = preview(&text, start..end, before, after, room);
            prop_assert!(shown.len() <= room, "{} > {room}", shown.len());
            prop_assert!(truncated || shown.trim_matches('\n').len() <= text.len() + 64);
        }
    }
}
