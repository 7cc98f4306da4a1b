//! `dir2mcp publish`: bring a project of the file store to what this folder is, for servers that have no folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;
use engine::{Engine, IndexingOutcome, LeftUnpublished, PublishEvent, PublishReport, PublishRequest};
use filestore::publication::Publisher;
use model::{ErrorCode, Failure, IndexMode};
use serde_json::{Value, json};

use crate::cli::ProjectArgs;
use crate::commands::indexing::bring_up_to_date;
use crate::config::Loaded;
use crate::config::settings::FilesBackend;
use crate::exit::{Exit, ExitCode};
use crate::print::events::Level;
use crate::print::report::Reporter;
use crate::print::safe;
use crate::secrets::Secret;
use crate::signals::StopSignals;
use crate::{memory, wire};

/// How long another process that keeps the index of the folder may take to catch up with the files.
const WRITER_PATIENCE: Duration = Duration::from_secs(10);
const WRITER_LOOK: Duration = Duration::from_millis(100);

/// Between two lines about the progress.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Connections to a server that is named on the command line.
const CONNECTIONS: usize = 4;

/// How many documents of a kind are named.
const NAMED: usize = 20;

#[derive(Debug, Clone, Args)]
pub(crate) struct PublishArgs {
    /// Name of the project: letters, digits, `_`, `-` and `.`
    #[arg(long, value_name = "NAME")]
    pub project: String,
    /// Publish to this PostgreSQL server [default: the configured store]. A password is visible to others here: set
    /// files.postgres.url instead
    #[arg(long, value_name = "POSTGRES-URL")]
    pub to: Option<String>,
    /// Name of the key whose project it is [default: files.stdio_key, else what callers share]
    #[arg(long, value_name = "NAME")]
    pub key: Option<String>,
}

pub(crate) fn run(mut loaded: Loaded, args: &PublishArgs) -> Result<(), Exit> {
    memory::prepare();
    if let Some(url) = &args.to {
        name_postgres(&mut loaded, url)?;
    }
    let reporter = Arc::new(Reporter::new(&loaded.settings.output));
    for warning in &loaded.warnings {
        reporter.warn(warning);
    }
    wire::claim_state(&loaded.settings)?;
    let project = ProjectArgs { project: Some(args.project.clone()), key: args.key.clone() };
    let feed = wire::project_feed(&loaded.settings, &project)?;
    let scope = feed.scope().clone();
    let engine = wire::open_engine(&loaded)?;
    index(&engine, &reporter)?;

    let stop = Arc::new(AtomicBool::new(false));
    let teller = Teller { reporter: &reporter, project: args.project.clone(), told: Instant::now().into() };
    let outcome = feed.run_with(async |store| {
        let mut signals = StopSignals::listen().map_err(|error| {
            Failure::new(ErrorCode::InternalError, format!("signals cannot be heard: {error}"))
        })?;
        let request = PublishRequest { store: store.clone(), scope, publisher: publisher() };
        let on_event = |event| teller.tell(event);
        let again = || {
            index(&engine, &reporter)
                .map_err(|exit| Failure::new(ErrorCode::IngestFailed, exit.messages.join("; ")))
        };
        let mut work = std::pin::pin!(engine.publish(request, Arc::clone(&stop), &on_event, &again));
        loop {
            tokio::select! {
                done = &mut work => return done,
                // The batch under way is finished, and the project let go.
                () = signals.received() => stop.store(true, Relaxed),
            }
        }
    });
    engine.shutdown();
    let report = outcome.map_err(|failure| ended(&failure))?;
    teller.sum_up(&report);
    Ok(())
}

/// Brings the index of the folder up to date; where another process keeps it, waits until it has.
fn index(engine: &Arc<Engine>, reporter: &Arc<Reporter>) -> Result<(), Exit> {
    let holder = match bring_up_to_date(engine, IndexMode::Incremental, reporter)? {
        IndexingOutcome::Done(_) => return Ok(()),
        IndexingOutcome::HeldBy(holder) => holder,
    };
    let started = Instant::now();
    while !engine.is_up_to_date().map_err(|failure| wire::failed(&failure))? {
        if started.elapsed() >= WRITER_PATIENCE {
            reporter.warn(&format!(
                "another process ({holder}) is still indexing; what it has done so far is published"
            ));
            break;
        }
        std::thread::sleep(WRITER_LOOK);
    }
    Ok(())
}

fn name_postgres(loaded: &mut Loaded, url: &str) -> Result<(), Exit> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(Exit::config("--to: this is no address of a PostgreSQL server")
            .hint("Write it as postgres://user:password@host:5432/database."));
    }
    let files = &mut loaded.settings.files;
    files.backend = match files.backend.clone() {
        FilesBackend::Postgres { redis_url, buckets, pool_size, .. } => {
            FilesBackend::Postgres { url: Secret::new(url), read_url: None, redis_url, buckets, pool_size }
        }
        FilesBackend::Sqlite => FilesBackend::Postgres {
            url: Secret::new(url),
            read_url: None,
            redis_url: None,
            buckets: 1,
            pool_size: CONNECTIONS,
        },
    };
    Ok(())
}

/// Who publishes, told apart from all others.
#[allow(clippy::disallowed_methods, reason = "the kernel's own file about this machine")]
fn publisher() -> Publisher {
    let mut bytes = [0_u8; 16];
    let process = std::process::id();
    if getrandom::fill(&mut bytes).is_err() {
        bytes[..4].copy_from_slice(&process.to_be_bytes());
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = match host.trim() {
        "" => format!("process {process}"),
        host => format!("process {process} on {host}"),
    };
    Publisher { id: bytes.iter().map(|byte| format!("{byte:02x}")).collect(), name }
}

fn ended(failure: &Failure) -> Exit {
    let exit = match failure.code {
        ErrorCode::Conflict => {
            Exit::new(ExitCode::Generic, ErrorCode::Conflict.as_str(), failure.message.clone())
        }
        code => Exit::new(ExitCode::Generic, code.as_str(), failure.message.clone()),
    };
    match &failure.hint {
        Some(hint) => exit.hint(hint.clone()),
        None => exit,
    }
}

/// Tells people and programs how far it is.
struct Teller<'a> {
    reporter: &'a Reporter,
    project: String,
    told: std::sync::Mutex<Instant>,
}

impl Teller<'_> {
    fn tell(&self, event: PublishEvent) {
        match event {
            PublishEvent::Waiting { holder } => self.reporter.warn(&format!(
                "the project is held by {}, which gives no sign of life; waiting for its time to end",
                safe(&holder)
            )),
            PublishEvent::Again { changed } => {
                self.reporter.line(&format!("{changed} files changed meanwhile; looking again\n"))
            }
            PublishEvent::Progress { compared, sent, removed, bytes } => {
                let data = json!({
                    "project": self.project, "compared": compared, "published": sent, "removed": removed,
                    "bytes": bytes,
                });
                self.reporter.event(Level::Info, "publish_progress", data);
                let mut told = self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if told.elapsed() >= TELL_EVERY {
                    *told = Instant::now();
                    self.reporter.line(&format!(
                        "{compared} documents compared, {sent} sent ({}), {removed} removed\n",
                        size(bytes)
                    ));
                }
            }
        }
    }

    fn sum_up(&self, report: &PublishReport) {
        self.reporter.event(Level::Info, "publish_done", event(&self.project, report));
        let PublishReport { published, unchanged, removed, bytes, files_written, .. } = report;
        let mut text = format!(
            "Published project {}: {published} documents sent ({}), {unchanged} unchanged, {removed} removed; \
             {files_written} files written\n",
            self.project,
            size(*bytes)
        );
        let lists = [
            ("Not published", &report.not_published),
            ("Published without text: listed, not searchable", &report.without_text),
            ("Published, but not readable as files of the project", &report.not_files),
        ];
        for (title, left_out) in lists {
            text.push_str(&listed(title, left_out));
        }
        self.reporter.line(&text);
    }
}

fn listed(title: &str, left_out: &LeftUnpublished) -> String {
    if left_out.count == 0 {
        return String::new();
    }
    let mut text = format!("{title}: {}\n", left_out.count);
    for (path, why) in left_out.named.iter().take(NAMED) {
        text.push_str(&format!("  {}: {}\n", safe(path), safe(why)));
    }
    let more = left_out.count.saturating_sub(NAMED as u64);
    if more > 0 {
        text.push_str(&format!("  and {more} more (--json names them)\n"));
    }
    text
}

fn event(project: &str, report: &PublishReport) -> Value {
    let listed = |left_out: &LeftUnpublished| {
        let named: Vec<Value> =
            left_out.named.iter().map(|(path, why)| json!({ "rel_path": path, "reason": why })).collect();
        json!({ "count": left_out.count, "documents": named })
    };
    json!({
        "project": project,
        "published": report.published,
        "touched": report.touched,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "bytes": report.bytes,
        "files_written": report.files_written,
        "without_text": listed(&report.without_text),
        "not_published": listed(&report.not_published),
        "not_files": listed(&report.not_files),
    })
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
