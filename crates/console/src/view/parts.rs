//! The parts of a document: pages, slides, sheets and messages one at a time, sections and cells by the dozen.

use engine::{ViewedText, ViewedUnit};
use model::Pointer;
use serde_json::{Map, Value, json};

use super::MAX_TEXT_BYTES;
use super::markdown;

/// Labels of one answer.
const MAX_LABELS: usize = 2000;

/// Sections that are shown together, in bytes of their texts.
const TOGETHER: usize = 64 << 10;

/// Segments of a transcript in one answer.
const MAX_SEGMENTS: usize = 20_000;

/// Some units that are shown at a time.
struct Part<'u> {
    label: String,
    units: &'u [ViewedUnit],
}

/// The chosen part of a document: by its number, else the one that holds a line of the whole text, else the first.
pub(super) fn worded(text: &ViewedText, part: Option<u32>, line: Option<usize>) -> Map<String, Value> {
    let word = word(&text.units);
    let parts = match word {
        "page" | "slide" => numbered(text, word),
        "sheet" | "message" => grouped(&text.units),
        _ => together(&text.units),
    };
    let holding = |line: usize| {
        parts.iter().position(|part| part.units.last().is_some_and(|unit| line <= unit.last_line as usize))
    };
    let chosen = match (part, line) {
        (Some(part), _) => (part.max(1) as usize).min(parts.len().max(1)),
        (None, Some(line)) => holding(line).unwrap_or(0) + 1,
        (None, None) => 1,
    };
    let labels: Vec<&str> = parts.iter().take(MAX_LABELS).map(|part| part.label.as_str()).collect();
    let mut room = MAX_TEXT_BYTES;
    let units: Vec<Value> = parts
        .get(chosen - 1)
        .map_or(&[][..], |part| part.units)
        .iter()
        .take_while(|unit| {
            let fits = unit.text.len() <= room;
            room = room.saturating_sub(unit.text.len());
            fits
        })
        .map(unit)
        .collect();
    let mut fields = Map::new();
    fields.insert(
        "parts".into(),
        json!({ "count": parts.len(), "part": chosen, "word": word, "labels": labels }),
    );
    fields.insert("units".into(), Value::Array(units));
    fields
}

fn unit(unit: &ViewedUnit) -> Value {
    json!({
        "pointer": unit.pointer.to_string(),
        "title": unit.title,
        "first_line": unit.first_line,
        "last_line": unit.last_line,
        "text": unit.text,
        "page": markdown::tree(&unit.text),
    })
}

/// What the parts of a document are called.
fn word(units: &[ViewedUnit]) -> &'static str {
    match units.first().map(|unit| &unit.pointer) {
        Some(Pointer::Page { .. }) => "page",
        Some(Pointer::Slide { .. }) => "slide",
        Some(Pointer::Rows { .. }) => "sheet",
        Some(Pointer::Message { .. }) => "message",
        Some(Pointer::Cell { .. }) => "cell",
        Some(Pointer::Section { .. }) => "section",
        _ => "part",
    }
}

/// Pages and slides keep their numbers, also those without a text.
fn numbered<'u>(text: &'u ViewedText, word: &str) -> Vec<Part<'u>> {
    let number = |unit: &ViewedUnit| match unit.pointer {
        Pointer::Page { page } => page,
        Pointer::Slide { slide, .. } => slide,
        _ => 0,
    };
    let last = text.units.iter().map(number).max().unwrap_or(0).max(text.parts);
    // A number comes from the file; a broken one must not make a million empty pages.
    let last = last.min(text.units.len() as u32 + text.parts.min(100_000));
    (1..=last)
        .map(|wanted| {
            let from = text.units.partition_point(|unit| number(unit) < wanted);
            let to = text.units.partition_point(|unit| number(unit) <= wanted);
            Part { label: format!("{word} {wanted}"), units: &text.units[from..to.max(from)] }
        })
        .collect()
}

/// One part for each sheet or message.
fn grouped(units: &[ViewedUnit]) -> Vec<Part<'_>> {
    let same = |a: &ViewedUnit, b: &ViewedUnit| match (&a.pointer, &b.pointer) {
        (Pointer::Rows { sheet: a, .. }, Pointer::Rows { sheet: b, .. }) => a == b,
        (Pointer::Message { message: a }, Pointer::Message { message: b }) => a == b,
        _ => false,
    };
    units
        .chunk_by(same)
        .map(|units| {
            let label = match units.first().map(|unit| (&unit.pointer, &unit.title)) {
                Some((Pointer::Rows { sheet: Some(sheet), .. }, _)) => sheet.clone(),
                Some((_, Some(title))) => title.clone(),
                Some((pointer, None)) => pointer.to_string(),
                None => String::new(),
            };
            Part { label: short(&label), units }
        })
        .collect()
}

/// Parts of about the same length.
fn together(units: &[ViewedUnit]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut bytes) = (0, 0);
    for (at, unit) in units.iter().enumerate() {
        if bytes > 0 && bytes + unit.text.len() > TOGETHER {
            parts.push(from..at);
            (from, bytes) = (at, 0);
        }
        bytes += unit.text.len();
    }
    if from < units.len() {
        parts.push(from..units.len());
    }
    let part = |range: std::ops::Range<usize>| {
        let units = &units[range];
        let first = units.first();
        let title = first.and_then(|unit| unit.title.clone());
        let label = title.or_else(|| first.map(|unit| unit.pointer.to_string())).unwrap_or_default();
        Part { label: short(&label), units }
    };
    parts.into_iter().map(part).collect()
}

fn short(label: &str) -> String {
    label.chars().take(80).collect()
}

/// What is said when.
pub(super) fn segments(units: &[ViewedUnit]) -> Value {
    let mut room = MAX_TEXT_BYTES;
    units
        .iter()
        .take(MAX_SEGMENTS)
        .take_while(|unit| {
            let fits = unit.text.len() <= room;
            room = room.saturating_sub(unit.text.len());
            fits
        })
        .filter_map(|unit| match unit.pointer {
            Pointer::Time { start_ms, end_ms } => {
                Some(json!({ "start_ms": start_ms, "end_ms": end_ms, "text": unit.text }))
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use model::RepType;

    use super::*;

    fn document(units: Vec<(Pointer, &str)>, parts: u32) -> ViewedText {
        let mut line = 1;
        let units: Vec<ViewedUnit> = units
            .into_iter()
            .map(|(pointer, text)| {
                let last_line = line + text.matches('\n').count() as u32;
                let unit =
                    ViewedUnit { pointer, title: None, text: text.to_owned(), first_line: line, last_line };
                line = last_line + 2;
                unit
            })
            .collect();
        ViewedText { rep_type: RepType::RawText, title: None, text: String::new(), units, parts }
    }

    #[test]
    fn pages_keep_their_numbers() {
        let page = |page| Pointer::Page { page };
        let text = document(vec![(page(1), "a"), (page(3), "c\nd")], 4);
        let third = worded(&text, Some(3), None);
        assert_eq!(
            third["parts"],
            json!({ "count": 4, "part": 3, "word": "page", "labels": ["page 1", "page 2", "page 3", "page 4"] })
        );
        assert_eq!(
            (&third["units"][0]["text"], &third["units"][0]["pointer"]),
            (&json!("c\nd"), &json!("page 3"))
        );
        assert_eq!(worded(&text, Some(2), None)["units"], json!([]));
        assert_eq!(worded(&text, Some(9), None)["parts"]["part"], 4);
        assert_eq!(worded(&text, None, Some(4))["parts"]["part"], 3, "the page of a line");
    }

    #[test]
    fn sheets_are_parts_with_their_names() {
        let rows =
            |sheet: &str, row| Pointer::Rows { sheet: Some(sheet.into()), first_row: row, last_row: row };
        let text =
            document(vec![(rows("Q1", 1), "| a |"), (rows("Q1", 2), "| b |"), (rows("Q2", 1), "| c |")], 2);
        let second = worded(&text, Some(2), None);
        assert_eq!(
            second["parts"],
            json!({ "count": 2, "part": 2, "word": "sheet", "labels": ["Q1", "Q2"] })
        );
        assert_eq!(second["units"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn sections_are_shown_together_as_long_as_they_are_short() {
        let section = |section| Pointer::Section { section, title: None, page: None };
        let long = "x".repeat(TOGETHER - 10);
        let text = document(vec![(section(1), "a"), (section(2), "b"), (section(3), &long)], 3);
        let first = worded(&text, None, None);
        assert_eq!((&first["parts"]["count"], first["units"].as_array().unwrap().len()), (&json!(1), 3));
        let text = document(vec![(section(1), "a"), (section(2), &long), (section(3), &long)], 3);
        assert_eq!(worded(&text, None, None)["parts"]["count"], 2);
    }

    #[test]
    fn a_broken_number_makes_no_million_pages() {
        let text = document(vec![(Pointer::Page { page: u32::MAX }, "a")], 1);
        assert!(worded(&text, None, None)["parts"]["count"].as_u64().unwrap() <= 2);
        assert_eq!(worded(&document(vec![], 0), Some(5), None)["parts"]["count"], 0);
    }
}
