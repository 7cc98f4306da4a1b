//! Running text cut into the pieces between headings, with the page each begins on.

use model::Pointer;

use crate::sink::{Outcome, Sink};
use crate::table::{Row, push_row};

#[derive(Debug, Default)]
pub(crate) struct Sections {
    number: u32,
    title: Option<String>,
    /// Known where the document says where its pages end.
    pub(crate) page: Option<u32>,
    text: String,
}

impl Sections {
    /// Begins a section. The heading is its first line, as in Markdown.
    pub(crate) fn heading(&mut self, level: u32, text: &str, sink: &mut Sink) -> Outcome {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            return Ok(());
        }
        self.flush(sink)?;
        let marks = "#".repeat(level.clamp(1, 6) as usize);
        self.text = format!("{marks} {line}\n\n");
        self.title = Some(line);
        Ok(())
    }

    pub(crate) fn page_break(&mut self, sink: &mut Sink) -> Outcome {
        self.flush(sink)?;
        self.page = Some(self.page.unwrap_or(1).saturating_add(1));
        Ok(())
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.text.push_str(text.trim_end());
            self.text.push_str("\n\n");
        }
    }

    /// A line that belongs to the one before, as in lists.
    pub(crate) fn item(&mut self, indent: usize, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.text.ends_with("\n\n") && self.text.trim_end().lines().last().is_some_and(is_item) {
            self.text.pop();
        }
        self.text.extend(std::iter::repeat_n("  ", indent.min(8)));
        self.text.push_str("- ");
        self.text.push_str(text.trim());
        self.text.push_str("\n\n");
    }

    pub(crate) fn table(&mut self, rows: &[Row]) {
        for row in rows {
            push_row(&mut self.text, row);
        }
        self.text.push('\n');
    }

    /// Text as it is, line ends included.
    pub(crate) fn verbatim(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Gives what there is to the sink. The next piece has the same heading.
    pub(crate) fn flush(&mut self, sink: &mut Sink) -> Outcome {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return Ok(());
        }
        self.number = self.number.saturating_add(1);
        let pointer = Pointer::Section { section: self.number, title: self.title.clone(), page: self.page };
        sink.parts = self.number;
        sink.unit(pointer, self.title.as_deref(), &text)
    }

    /// A section of its own, as for footnotes.
    pub(crate) fn apart(&mut self, title: &str, sink: &mut Sink) -> Outcome {
        self.flush(sink)?;
        self.title = Some(title.to_owned());
        self.page = None;
        Ok(())
    }
}

fn is_item(line: &str) -> bool {
    line.trim_start().starts_with("- ")
}
