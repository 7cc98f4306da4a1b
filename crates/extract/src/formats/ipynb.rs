//! Jupyter notebooks: one unit per cell, code with the text it printed.

use model::Pointer;
use serde_json::Value;

use crate::formats::{md, txt};
use crate::sink::{Outcome, Sink, broken};

/// Output beyond this is a log.
const MOST_OUTPUT: usize = 20_000;

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let text = txt::decode(bytes, sink)?;
    let notebook: Value = match serde_json::from_str(&text) {
        Ok(notebook) => notebook,
        Err(error) => return broken(format!("JSON: {error}")),
    };
    // Version 3 has its cells in worksheets.
    let old = notebook["worksheets"][0]["cells"].as_array();
    let Some(cells) = notebook["cells"].as_array().or(old) else { return broken("it has no cells") };
    let language = notebook["metadata"]["kernelspec"]["language"]
        .as_str()
        .or(notebook["metadata"]["language_info"]["name"].as_str())
        .unwrap_or_default()
        .to_owned();
    let mut heading: Option<String> = None;
    for (index, cell) in cells.iter().enumerate() {
        sink.meter.spend(10)?;
        sink.parts = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let source = joined(if cell["source"].is_null() { &cell["input"] } else { &cell["source"] });
        let mut out = source.clone();
        match cell["cell_type"].as_str() {
            Some("code") => {
                if !source.trim().is_empty() {
                    out = format!("```{language}\n{}\n```\n", source.trim_end());
                }
                for output in cell["outputs"].as_array().into_iter().flatten() {
                    out.push('\n');
                    out.push_str(&printed(output));
                }
            }
            Some("markdown" | "heading") => {
                let title = md::sections(&source).into_iter().find_map(|section| section.title);
                heading = title.or(heading);
                if let Some(title) = &heading {
                    sink.title(title);
                }
            }
            _ => {}
        }
        let pointer = Pointer::Cell { cell: sink.parts };
        sink.unit(pointer, heading.as_deref(), &out)?;
    }
    Ok(())
}

/// A text that may be a list of lines.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn printed(output: &Value) -> String {
    let mut text = joined(&output["text"]);
    if text.is_empty() {
        text = joined(&output["data"]["text/plain"]);
    }
    if text.is_empty() && output["ename"].is_string() {
        text = format!("{}: {}", joined(&output["ename"]), joined(&output["evalue"]));
    }
    let end = text.char_indices().nth(MOST_OUTPUT).map_or(text.len(), |(at, _)| at);
    text.truncate(end);
    text
}
