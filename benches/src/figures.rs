//! The figures and the page they are written to.

use std::fmt::Write as _;
use std::path::Path;

/// One line of the table.
struct Figure {
    what: String,
    goal: String,
    measured: String,
    met: Option<bool>,
}

pub(crate) struct Report {
    tree: String,
    figures: Vec<Figure>,
    notes: Vec<String>,
    sections: Vec<String>,
}

impl Report {
    pub(crate) fn new(tree: &Path) -> Report {
        // The name tells what it is; where it lies on this machine does not matter.
        let name = tree.file_name().unwrap_or_default().to_string_lossy();
        let tree = if name.starts_with("index.") || tree.ends_with("registry/src") {
            "the sources of all dependencies of this project, as cargo unpacks them".to_owned()
        } else {
            format!("`{name}`")
        };
        Report { tree, figures: Vec::new(), notes: Vec::new(), sections: Vec::new() }
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
        self.figures.push(Figure { what: what.into(), goal: goal.into(), measured, met });
    }

    pub(crate) fn note(&mut self, note: String) {
        println!("     {note}");
        self.notes.push(note);
    }

    pub(crate) fn section(&mut self, markdown: String) {
        println!("{markdown}");
        self.sections.push(markdown);
    }

    pub(crate) fn page(&self) -> String {
        let mut page = String::from("# Performance\n\n");
        let _ = writeln!(
            page,
            "Made by `cargo xtask bench --write` (beside semble: `--peers`, growth: `--growth`, another tree: `--tree PATH`) on {} cores, in one run. CPU time is user and system time \
             of the process; a ratio compares with the named program on the same files in the same run. Wall times \
             are of a machine that also did other work.\n\nThe tree: {}.\n",
            std::thread::available_parallelism().map_or(0, usize::from),
            self.tree
        );
        page.push_str("| figure | goal | measured | met |\n|---|---|---|---|\n");
        for figure in &self.figures {
            let met = match figure.met {
                Some(true) => "yes",
                Some(false) => "**no**",
                None => "",
            };
            let _ = writeln!(page, "| {} | {} | {} | {met} |", figure.what, figure.goal, figure.measured);
        }
        page.push('\n');
        for note in &self.notes {
            let _ = writeln!(page, "- {note}");
        }
        for section in &self.sections {
            let _ = write!(page, "\n{section}");
        }
        page
    }
}
