//! The page of figures, which is measured in parts: what a part measured replaces what stood for it, the rest stays.

use std::fmt::Write as _;

/// What the page says, each piece under what it is about.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The tree that was measured.
    tree: String,
    rows: Vec<Piece>,
    notes: Vec<Piece>,
    sections: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    about: String,
    text: String,
}

impl Page {
    pub(crate) fn new(tree: String) -> Page {
        Page { tree, ..Page::default() }
    }

    /// A page that was written before. What does not look like one is left out.
    pub(crate) fn read(text: &str) -> Page {
        let mut page = Page::default();
        let mut section = String::new();
        for line in text.lines().chain(["# "]) {
            if line.starts_with("# ") || line.starts_with("## ") {
                if !section.is_empty() {
                    page.section(format!("{}\n", section.trim_end()));
                }
                section.clear();
            }
            if line.starts_with("## ") || !section.is_empty() {
                section.push_str(line);
                section.push('\n');
            } else if let Some(tree) = line.strip_prefix(TREE) {
                page.tree = tree.trim_end_matches('.').to_owned();
            } else if let Some(note) = line.strip_prefix("- ") {
                page.note(note.to_owned());
            } else if line.starts_with("| ") && line != HEAD {
                page.row(line.to_owned());
            }
        }
        page
    }

    pub(crate) fn tree(&self) -> &str {
        &self.tree
    }

    /// A line of the table; the first cell says what it is about.
    pub(crate) fn row(&mut self, line: String) {
        put(&mut self.rows, line.split('|').nth(1).unwrap_or_default().trim().to_owned(), line);
    }

    /// A sentence below the table; another with the same words is about the same.
    pub(crate) fn note(&mut self, note: String) {
        put(&mut self.notes, note.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect(), note);
    }

    /// Markdown that begins with its heading.
    pub(crate) fn section(&mut self, markdown: String) {
        put(&mut self.sections, markdown.lines().next().unwrap_or_default().to_owned(), markdown);
    }

    /// Puts what another page says in the place of what this one says about the same.
    pub(crate) fn replace(&mut self, other: Page) {
        other.rows.into_iter().for_each(|piece| put(&mut self.rows, piece.about, piece.text));
        other.notes.into_iter().for_each(|piece| put(&mut self.notes, piece.about, piece.text));
        other.sections.into_iter().for_each(|piece| put(&mut self.sections, piece.about, piece.text));
    }

    pub(crate) fn text(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let mut text = format!(
            "# Performance\n\nMeasured by `cargo xtask bench --write` on {cores} cores (`--peers` adds semble, `--growth` large folders; `--tree PATH` measures \
             another tree, `--only NAME` one part, whose figures replace the old ones). Figures of one part come from one run. CPU time is the user and \
             system time of the process; a ratio compares with the named program on the same files in the same run. Wall times are from a machine \
             that was also doing other work.\n\n{TREE}{}.\n\n{HEAD}\n{RULE}\n",
            self.tree
        );
        for row in &self.rows {
            let _ = writeln!(text, "{}", row.text);
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "- {}", note.text);
        }
        for section in &self.sections {
            let _ = write!(text, "\n{}", section.text);
        }
        text
    }
}

const TREE: &str = "The tree: ";
const HEAD: &str = "| figure | goal | measured | met |";
const RULE: &str = "|---|---|---|---|";

fn put(pieces: &mut Vec<Piece>, about: String, text: String) {
    match pieces.iter_mut().find(|piece| piece.about == about) {
        Some(known) => known.text = text,
        None => pieces.push(Piece { about, text }),
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    fn page() -> Page {
        let mut page = Page::new("`django`".to_owned());
        page.row("| Indexing | ≤ 60 times | 25.7 times | yes |".to_owned());
        page.row("| Search | ≤ 5 ms | 4.1 ms | yes |".to_owned());
        page.note("Indexing takes 3.5 s and 120 MB.".to_owned());
        page.section("## Growth\n\n| chunks | ms |\n|---|---|\n| 10 | 2.5 |\n".to_owned());
        page.section("## Vectors\n\nA scan.\n".to_owned());
        page
    }

    #[test]
    fn what_is_written_can_be_read() {
        assert_eq!(Page::read(&page().text()), page());
    }

    #[test]
    fn a_part_replaces_its_own_figures_and_nothing_else() {
        let mut part = Page::new("`other`".to_owned());
        part.row("| Search | ≤ 5 ms | 3.9 ms | yes |".to_owned());
        part.note("Indexing takes 3.25 s and 99 MB.".to_owned());
        part.section("## Growth\n\nAnother.\n".to_owned());
        part.section("## Beside semble\n\nNew.\n".to_owned());
        let mut whole = page();
        whole.replace(part);
        let text = whole.text();
        assert_eq!(text.matches("| Search |").count(), 1);
        assert!(text.contains("3.9 ms") && text.contains("25.7 times") && text.contains("99 MB"));
        assert!(!text.contains("4.1 ms") && !text.contains("120 MB") && !text.contains("| 10 | 2.5 |"));
        assert!(text.find("## Growth").unwrap() < text.find("## Vectors").unwrap());
        assert!(text.find("## Vectors").unwrap() < text.find("## Beside semble").unwrap());
    }

    #[test]
    fn a_page_that_says_everything_twice_becomes_whole() {
        let twice = format!("{}\n{}", page().text(), page().text());
        assert_eq!(Page::read(&twice), page());
    }
}
