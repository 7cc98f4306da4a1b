//! `dir2mcp up`: serve first, index in the background.

use std::sync::Arc;
use std::time::Duration;

use dir2mcp_http::HttpError;
use engine::EngineEvent;
use jiff::Timestamp;
use model::IndexMode;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cli::ProjectArgs;
use crate::config::{Loaded, render};
use crate::exit::{Exit, ExitCode};
use crate::memory;
use crate::print::connection::ConnectionNote;
use crate::print::events::Level;
use crate::print::report::Reporter;
use crate::print::services;
use crate::secrets::token;
use crate::signals::StopSignals;
use crate::wire;

const BLOCKING_THREAD_IDLE: Duration = Duration::from_secs(2);

pub(crate) fn run(loaded: &Loaded, published: &ProjectArgs) -> Result<(), Exit> {
    let settings = &loaded.settings;
    memory::prepare();
    memory::raise_open_files();
    // The token of the server, whatever else there is.
    memory::forbid_dumps();
    let reporter = Arc::new(Reporter::new(&settings.output));
    for warning in &loaded.warnings {
        reporter.warn(warning);
    }
    wire::claim_state(settings)?;
    let mut warnings = Vec::new();
    let token =
        token::resolve(&settings.security.auth, &settings.state_dir, &loaded.environment, &mut warnings)?;
    for warning in &warnings {
        reporter.warn(warning);
    }
    render::write_snapshot(loaded, &token.source).map_err(|error| state_exit(loaded, &error))?;

    // Looking up a name reads files of the system, which the confined process cannot.
    let addresses = dir2mcp_http::resolve(&settings.server.listen.to_string())?;
    // Before the first thread: a thread that already runs would stay free.
    let confined = policy::confine(&wire::confinement(loaded, published));
    let workspace = wire::open_served(loaded, published, &|message| reporter.warn(message))?;
    let engine = Arc::clone(&workspace.engines()[0]);
    // A config file that came with a folder may name them; the user who starts the server should see what it serves.
    if workspace.engines().len() > 1 {
        let further: Vec<String> =
            workspace.engines()[1..].iter().map(|engine| engine.root().display().to_string()).collect();
        reporter.warn(&format!("the smart tools also serve {} (workspace.roots)", further.join(", ")));
    }
    for (path, why) in workspace.away() {
        reporter.warn(&format!("the root {} is not served: {why}", path.display()));
    }
    let files = wire::FilesDoor::new(settings);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Idle threads keep memory; starting one takes less time than any call.
        .thread_keep_alive(BLOCKING_THREAD_IDLE)
        .build()?;
    let served: Result<(), Exit> = runtime.block_on(async {
        let mut signals = StopSignals::listen()?;
        if let Some(files) = &files {
            files.start(settings).await?;
        }
        let bound = dir2mcp_http::bind(wire::http_config(settings, &workspace, files.as_ref(), &token, addresses)?).await?;
        let connection = ConnectionNote::new(&settings.server, bound.local_addr(), token.source.clone());
        let console = wire::ConsoleDoor::new(loaded, &workspace, &token, &connection);
        let live = console.as_ref().map(|console| Arc::clone(&console.live));
        let code = console.as_ref().filter(|_| token.secret.is_some());
        let code = code.and_then(|console| console.codes.issue(console::PRINTED_LIFE));
        let site = wire::site(settings, &workspace, files.as_ref(), console, bound.shutdown())?;
        connection.write(&settings.state_dir, Timestamp::now()).map_err(|error| state_exit(loaded, &error))?;

        let stop = CancellationToken::new();
        let mode = IndexMode::Incremental;
        // The first question may come before the first line is printed.
        workspace.engines().iter().for_each(|engine| engine.announce(mode));
        let serving = tokio::spawn(bound.serve(site, stop.clone()));
        let held_by = engine.held_by();
        reporter.index_loaded(
            &settings.state_dir,
            mode,
            json!({ "state_dir": settings.state_dir, "mode": mode, "read_only": held_by.is_some() }),
        );
        reporter.server_started(json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "confinement": confined.to_string(),
        }));
        reporter.services(loaded);
        reporter.connection(&connection);
        if let Some(address) = &connection.console {
            reporter.console(address, code.as_deref());
        }
        reporter.next_step("Next: run `dir2mcp connect` in another terminal to connect a client (Ctrl+C stops the server).");
        if let Some(holder) = held_by {
            reporter.warn(&format!(
                "another process ({holder}) writes this index; serving what it writes, and taking over when it ends"
            ));
        }

        let (fatal_in, mut fatal_out) = mpsc::unbounded_channel();
        let events = Arc::clone(&reporter);
        workspace.start(
            mode,
            Arc::new(move |event| {
                if let Some(live) = &live {
                    live.engine_event(&event);
                }
                if let Some(exit) = tell(&events, event) {
                    // Nobody receives once the server is stopping.
                    let _ = fatal_in.send(exit);
                }
            }),
        );

        let outcome = tokio::select! {
            () = signals.received() => Ok(()),
            // The sender lives in the engine, so the channel only yields what was sent.
            Some(exit) = fatal_out.recv() => Err(exit),
        };
        stop.cancel();
        let served = serving.await.map_err(|error| Exit::generic(error.to_string()))?;
        if let Some(files) = &files {
            files.close().await;
        }
        let stopping = Arc::clone(&workspace);
        tokio::task::spawn_blocking(move || stopping.shutdown())
            .await
            .map_err(|error| Exit::generic(error.to_string()))?;
        ConnectionNote::withdraw(&settings.state_dir);
        reporter.event(Level::Info, "server_stopped", json!({}));
        outcome.and(served.map_err(Exit::from))
    });
    // A call that hangs in a read must not keep the process.
    runtime.shutdown_background();
    served
}

/// Tells the outside what the background work says; a fatal end becomes the exit of the process.
fn tell(reporter: &Reporter, event: EngineEvent) -> Option<Exit> {
    match event {
        EngineEvent::Progress(progress) => {
            reporter.progress(&progress);
            if !progress.running {
                memory::give_back();
            }
        }
        // Who started the server is told of whole passes; the web page of each change.
        EngineEvent::Settled(_) => {}
        EngineEvent::FileError { path, message } => reporter.file_error(&path, &message),
        EngineEvent::Warning(message) => reporter.warn(&services::with_remedy(&message)),
        EngineEvent::BecameWriter => reporter.event(Level::Info, "became_writer", json!({})),
        EngineEvent::Fatal { code, message } => return Some(Exit::fatal(code, message)),
    }
    None
}

fn state_exit(loaded: &Loaded, error: &std::io::Error) -> Exit {
    Exit::ingest(format!(
        "the state directory {} cannot be written: {error}",
        loaded.settings.state_dir.display()
    ))
    .hint("Name a writable one with --state-dir.")
}

impl From<HttpError> for Exit {
    fn from(error: HttpError) -> Exit {
        match error.code() {
            "BIND_FAILED" => Exit::bind(error.to_string()),
            label => Exit::new(ExitCode::ConfigInvalid, label, error.to_string()),
        }
    }
}
