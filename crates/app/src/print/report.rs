//! What a run tells the outside while it works: text with a progress bar on a terminal, text with progress
//! lines elsewhere, or NDJSON.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use model::{IndexMode, Progress};
use serde_json::{Value, json};

use super::bar::{Bar, grouped};
use super::connection::ConnectionNote;
use super::events::{Events, Level};
use super::style::{self, Ink};
use super::{safe, services, tolerate_closed_pipe};
use crate::config::Loaded;
use crate::config::settings::OutputSettings;

pub(crate) struct Reporter {
    form: ReportForm,
    last: Mutex<Last>,
}

enum ReportForm {
    /// Errors only.
    Quiet,
    Json(Events),
    /// Progress lines on standard output.
    Lines,
    /// A bar on standard error; the last line goes to standard output if `lines`.
    Bar {
        bar: Bar,
        lines: bool,
    },
}

/// When progress was last shown, so that a fast index does not print a line per file.
#[derive(Default)]
struct Last {
    shown: Option<Instant>,
    progress: Option<Progress>,
    /// The job whose end was told in words, and how many files could be found then.
    summed_up: Option<(String, u64)>,
}

impl Reporter {
    pub(crate) fn new(output: &OutputSettings) -> Reporter {
        let form = if output.json {
            ReportForm::Json(Events::stdout())
        } else if output.quiet {
            ReportForm::Quiet
        } else if io::stderr().is_terminal() && io::stdout().is_terminal() {
            ReportForm::Bar { bar: Bar::new(), lines: true }
        } else {
            ReportForm::Lines
        };
        Reporter { form, last: Mutex::default() }
    }

    /// For a command whose standard output is its result: a bar on a terminal, nothing elsewhere.
    pub(crate) fn beside_a_result(output: &OutputSettings) -> Reporter {
        let form = if output.quiet || output.json || !io::stderr().is_terminal() {
            ReportForm::Quiet
        } else {
            ReportForm::Bar { bar: Bar::new(), lines: false }
        };
        Reporter { form, last: Mutex::default() }
    }

    /// The index is open. `data` goes into the event.
    pub(crate) fn index_loaded(&self, state_dir: &Path, mode: IndexMode, data: Value) {
        match &self.form {
            ReportForm::Quiet => {}
            ReportForm::Json(events) => events.emit(Level::Info, "index_loaded", data),
            ReportForm::Lines | ReportForm::Bar { .. } => self.print(&index_lines(state_dir, mode)),
        }
    }

    /// Which services are used, where there are any.
    pub(crate) fn services(&self, loaded: &Loaded) {
        let Some(sentence) = services::sentence(loaded) else { return };
        match &self.form {
            ReportForm::Quiet => {}
            ReportForm::Json(events) => events.emit(Level::Info, "services", services::event(loaded)),
            ReportForm::Lines | ReportForm::Bar { .. } => {
                self.print(&format!("{} {sentence}\n\n", style::out().paint(Ink::Heading, "Services:")));
            }
        }
    }

    pub(crate) fn server_started(&self, data: Value) {
        self.event(Level::Info, "server_started", data);
    }

    pub(crate) fn connection(&self, connection: &ConnectionNote) {
        match &self.form {
            ReportForm::Quiet => {}
            ReportForm::Json(events) => events.emit(Level::Info, "connection", connection.event()),
            ReportForm::Lines | ReportForm::Bar { .. } => self.print(&format!("{}\n", connection.block())),
        }
    }

    /// Where the web page is, and a link that signs in once. The link is for people: a log that keeps events gets the address alone.
    pub(crate) fn console(&self, address: &str, code: Option<&str>) {
        match &self.form {
            ReportForm::Quiet => {}
            ReportForm::Json(events) => events.emit(Level::Info, "console", json!({ "url": address })),
            ReportForm::Lines | ReportForm::Bar { .. } => {
                let look = style::out();
                let mut text = format!("{}\n", look.paint(Ink::Heading, "Web console:"));
                text.push_str(&format!("  URL:     {}\n", look.paint(Ink::Path, &safe(address))));
                if let Some(code) = code {
                    let link = format!("{}#code={code}", safe(address));
                    text.push_str(&format!(
                        "  Sign in: {} (works once, for 10 minutes)\n",
                        look.paint(Ink::Path, &link)
                    ));
                }
                self.print(&format!("{text}\n"));
            }
        }
    }

    /// What to do next, for people who start a server for the first time.
    pub(crate) fn next_step(&self, text: &str) {
        if matches!(self.form, ReportForm::Lines | ReportForm::Bar { .. }) {
            self.print(&format!("{}\n\n", style::out().paint(Ink::Heading, text)));
        }
    }

    /// Shows how far indexing got: at most twice a second, and whenever a job ends.
    pub(crate) fn progress(&self, progress: &Progress) {
        let now = Instant::now();
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let recently = last.shown.is_some_and(|shown| now.duration_since(shown) < Duration::from_millis(500));
        let ended = !progress.running && last.progress.as_ref() != Some(progress);
        if (recently || last.progress.as_ref() == Some(progress)) && !ended {
            return;
        }
        // The end of a job often changes nothing but the fact that it ended.
        let news = last.progress.as_ref().is_none_or(|last| counters(last) != counters(progress));
        last.shown = Some(now);
        last.progress = Some(progress.clone());
        let told = last.summed_up.as_ref().is_some_and(|(job, _)| *job == progress.job_id);
        let summary = !progress.running && !told;
        if summary {
            last.summed_up = Some((progress.job_id.clone(), progress.searchable));
        }
        let summary = if summary { summary_line(progress) } else { String::new() };
        match &self.form {
            ReportForm::Quiet => {}
            ReportForm::Json(events) => {
                events.emit(Level::Info, "scan_progress", scan_data(progress));
                events.emit(Level::Info, "embed_progress", embed_data(progress));
            }
            ReportForm::Lines if news => self.print(&format!("{}{summary}", progress_line(progress))),
            ReportForm::Lines => self.print(&summary),
            ReportForm::Bar { bar, .. } if progress.running => bar.draw(progress),
            ReportForm::Bar { bar, lines } => {
                bar.clear();
                if *lines {
                    self.print(&format!("{}{summary}", progress_line(progress)));
                }
            }
        }
    }

    /// Tells again what can be found: scans and recordings are read when the job has ended.
    pub(crate) fn all_is_read(&self) {
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(progress) = last.progress.clone() else { return };
        let is_news =
            last.summed_up.as_ref().is_some_and(|(_, searchable)| *searchable != progress.searchable);
        if is_news && matches!(self.form, ReportForm::Lines | ReportForm::Bar { lines: true, .. }) {
            last.summed_up = Some((progress.job_id.clone(), progress.searchable));
            self.print(&summary_line(&progress));
        }
    }

    /// A document that could not be indexed.
    pub(crate) fn file_error(&self, rel_path: &str, message: &str) {
        match &self.form {
            ReportForm::Json(events) => {
                let data = json!({ "rel_path": rel_path, "message": message });
                events.emit(Level::Warn, "file_error", data);
            }
            _ => self.warn(&format!("{}: {}", safe(rel_path), safe(message))),
        }
    }

    /// `message` must be safe already: it may name several things.
    pub(crate) fn warn(&self, message: &str) {
        match &self.form {
            ReportForm::Quiet => {}
            ReportForm::Json(events) => events.emit(Level::Warn, "warning", json!({ "message": message })),
            ReportForm::Lines => super::warn(message),
            ReportForm::Bar { bar, .. } => bar.suspend(|| super::warn(message)),
        }
    }

    /// Any further event of section 3.2 that has no text form.
    pub(crate) fn event(&self, level: Level, event: &str, data: Value) {
        if let ReportForm::Json(events) = &self.form {
            events.emit(level, event, data);
        }
    }

    /// Something for people to read, where they do. `text` must be safe already.
    pub(crate) fn line(&self, text: &str) {
        if matches!(self.form, ReportForm::Lines | ReportForm::Bar { lines: true, .. }) {
            self.print(text);
        }
    }

    fn print(&self, text: &str) {
        let write = || tolerate_closed_pipe(super::out(text));
        let _ = match &self.form {
            ReportForm::Bar { bar, .. } => bar.suspend(write),
            _ => write(),
        };
    }
}

/// `Progress: scanned=…`, as in the dir2mcp specification, section 3.1.
pub(crate) fn progress_line(progress: &Progress) -> String {
    format!("Progress: {}\n", counters(progress))
}

/// The end of a job in words: what can be found, what cannot, and where to read why.
pub(crate) fn summary_line(progress: &Progress) -> String {
    let mut text = format!(
        "Searchable: {} ({} read now, {} unchanged).",
        files(progress.searchable),
        grouped(progress.indexed),
        grouped(progress.unchanged)
    );
    if progress.not_searchable > 0 {
        let count = grouped(progress.not_searchable);
        text.push_str(&format!(" Not searchable: {count}; `dir2mcp status --skipped` says why."));
    }
    format!("{text}\n")
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{} files", grouped(count)) }
}

fn counters(progress: &Progress) -> String {
    format!(
        "scanned={} indexed={} skipped={} deleted={} reps={} chunks={} embedded={} errors={}",
        progress.scanned,
        progress.indexed,
        progress.skipped,
        progress.deleted,
        progress.representations,
        progress.chunks_total,
        progress.embedded_ok,
        progress.errors
    )
}

fn index_lines(state_dir: &Path, mode: IndexMode) -> String {
    let look = style::out();
    format!(
        "{} {}  (meta.sqlite + vectors_text.hnsw + vectors_code.hnsw)\n\
         {} {mode}  (server-first; indexing in background)\n\n",
        look.paint(Ink::Heading, "Index:"),
        safe(&state_dir.to_string_lossy()),
        look.paint(Ink::Heading, "Mode:"),
    )
}

fn scan_data(progress: &Progress) -> Value {
    json!({
        "job_id": progress.job_id,
        "running": progress.running,
        "mode": progress.mode,
        "scanned": progress.scanned,
        "indexed": progress.indexed,
        "skipped": progress.skipped,
        "deleted": progress.deleted,
        "reps": progress.representations,
        "errors": progress.errors,
        "unchanged": progress.unchanged,
        "ignored": progress.ignored_total(),
    })
}

fn embed_data(progress: &Progress) -> Value {
    json!({
        "job_id": progress.job_id,
        "running": progress.running,
        "chunks": progress.chunks_total,
        "embedded": progress.embedded_ok,
        "errors": progress.errors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress {
            job_id: "job_1".into(),
            running: true,
            mode: IndexMode::Incremental,
            scanned: 412,
            indexed: 55,
            skipped: 340,
            deleted: 2,
            representations: 88,
            chunks_total: 1480,
            embedded_ok: 920,
            errors: 1,
            unchanged: 331,
            searchable: 1380,
            not_searchable: 12,
            read: 0,
            to_read: None,
            ..Progress::nothing()
        }
    }

    #[test]
    fn an_index_that_is_current_sounds_like_one() {
        let current =
            Progress { indexed: 0, unchanged: 6850, searchable: 6850, not_searchable: 40, ..progress() };
        assert_eq!(
            summary_line(&current),
            "Searchable: 6,850 files (0 read now, 6,850 unchanged). Not searchable: 40; `dir2mcp status --skipped` \
             says why.\n"
        );
        let one = Progress { indexed: 1, unchanged: 0, searchable: 1, not_searchable: 0, ..progress() };
        assert_eq!(summary_line(&one), "Searchable: 1 file (1 read now, 0 unchanged).\n");
    }

    #[test]
    fn d046_the_progress_line_of_the_specification() {
        assert_eq!(
            progress_line(&progress()),
            "Progress: scanned=412 indexed=55 skipped=340 deleted=2 reps=88 chunks=1480 embedded=920 errors=1\n"
        );
    }

    #[test]
    fn d043_where_the_index_is() {
        assert_eq!(
            index_lines(Path::new("/repo/.dir2mcp"), IndexMode::Incremental),
            "Index: /repo/.dir2mcp  (meta.sqlite + vectors_text.hnsw + vectors_code.hnsw)\n\
             Mode: incremental  (server-first; indexing in background)\n\n"
        );
    }

    #[test]
    fn events_hold_all_counters_between_them() {
        let (scan, embed) = (scan_data(&progress()), embed_data(&progress()));
        assert_eq!((&scan["scanned"], &scan["reps"]), (&json!(412), &json!(88)));
        assert_eq!((&embed["chunks"], &embed["embedded"]), (&json!(1480), &json!(920)));
    }

    #[test]
    fn progress_is_not_shown_for_every_file() {
        let reporter = Reporter { form: ReportForm::Quiet, last: Mutex::default() };
        let shown = || reporter.last.lock().unwrap().progress.as_ref().map(|p| (p.scanned, p.running));
        reporter.progress(&Progress { scanned: 1, ..progress() });
        reporter.progress(&Progress { scanned: 2, ..progress() });
        assert_eq!(shown(), Some((1, true)));
        reporter.progress(&Progress { scanned: 3, running: false, ..progress() });
        assert_eq!(shown(), Some((3, false)));
    }
}
