//! The figures as they are measured: each is printed at once, and goes to its place on the page.

use std::path::Path;

use crate::page::Page;

pub(crate) struct Report {
    page: Page,
}

impl Report {
    pub(crate) fn new(tree: &Path) -> Report {
        // The name tells what it is; where it lies on this machine does not matter.
        let name = tree.file_name().unwrap_or_default().to_string_lossy();
        Report { page: Page::new(format!("`{name}`")) }
    }

    /// A figure with a goal that is met when the value is at most the limit.
    pub(crate) fn at_most(&mut self, what: &str, value: f64, limit: f64, unit: &str, detail: &str) {
        self.add(what, &format!("≤ {limit}{unit}"), value, unit, detail, Some(value <= limit));
    }

    pub(crate) fn at_least(&mut self, what: &str, value: f64, limit: f64, unit: &str, detail: &str) {
        self.add(what, &format!("≥ {limit}{unit}"), value, unit, detail, Some(value >= limit));
    }

    fn add(&mut self, what: &str, goal: &str, value: f64, unit: &str, detail: &str, met: Option<bool>) {
        let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        let measured = format!("{value:.digits$}{unit}{}", if detail.is_empty() { "" } else { " " });
        let measured = if detail.is_empty() { measured } else { format!("{measured}({detail})") };
        println!("{} {what}: {measured}, goal {goal}", if met == Some(false) { "MISS" } else { "ok  " });
        let met = match met {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "",
        };
        self.page.row(format!("| {what} | {goal} | {measured} | {met} |"));
    }

    pub(crate) fn note(&mut self, note: String) {
        println!("     {note}");
        self.page.note(note);
    }

    pub(crate) fn section(&mut self, markdown: String) {
        println!("{markdown}");
        self.page.section(markdown);
    }

    pub(crate) fn page(self) -> Page {
        self.page
    }
}
