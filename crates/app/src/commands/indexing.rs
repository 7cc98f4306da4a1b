//! `dir2mcp index` and `dir2mcp reindex`: bring the index up to date, or rebuild it, and exit.

use std::sync::Arc;

use engine::{Engine, EngineEvent, EventSink, IndexingOutcome, IngestError};
use model::{ErrorCode, IndexMode};

use crate::config::Loaded;
use crate::exit::{Exit, ExitCode};
use crate::memory;
use crate::print::report::Reporter;
use crate::print::services;
use crate::wire;

pub(crate) fn run(loaded: &Loaded, mode: IndexMode) -> Result<(), Exit> {
    memory::prepare();
    let reporter = Arc::new(Reporter::new(&loaded.settings.output));
    for warning in &loaded.warnings {
        reporter.warn(warning);
    }
    reporter.services(loaded);
    let workspace = wire::open_roots(loaded)?;
    for (path, why) in workspace.away() {
        reporter.warn(&format!("the root {} is not indexed: {why}", path.display()));
    }
    for engine in workspace.engines() {
        match bring_up_to_date(engine, mode, &reporter)? {
            IndexingOutcome::Done(_) => reporter.all_is_read(),
            IndexingOutcome::HeldBy(holder) if mode == IndexMode::Incremental => {
                reporter.warn(&format!("another process ({holder}) already keeps this index up to date"));
            }
            IndexingOutcome::HeldBy(holder) => {
                let message = format!("another process ({holder}) is writing this index");
                return Err(Exit::new(ExitCode::Generic, ErrorCode::Conflict.as_str(), message)
                    .hint("Stop it, then run `dir2mcp reindex` again."));
            }
        }
    }
    Ok(())
}

/// Indexes in this thread and tells the reporter how it goes.
pub(crate) fn bring_up_to_date(
    engine: &Engine,
    mode: IndexMode,
    reporter: &Arc<Reporter>,
) -> Result<IndexingOutcome, Exit> {
    let events = Arc::clone(reporter);
    let sink: EventSink = Arc::new(move |event| match event {
        EngineEvent::Progress(progress) => events.progress(&progress),
        EngineEvent::FileError { path, message } => events.file_error(&path, &message),
        EngineEvent::Warning(message) => events.warn(&services::with_remedy(&message)),
        EngineEvent::Settled(_) | EngineEvent::BecameWriter | EngineEvent::Fatal { .. } => {}
    });
    engine.index_now(mode, sink).map_err(|error: IngestError| match error {
        IngestError::Walk(_) => Exit::new(ExitCode::RootInaccessible, "ROOT_INACCESSIBLE", error.to_string())
            .hint("What was indexed before is kept."),
        error => Exit::ingest(error.to_string()).hint("What was indexed before is kept."),
    })
}
