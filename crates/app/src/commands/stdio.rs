//! `dir2mcp stdio`: the same server on standard input and output, for clients that start it themselves.

use std::sync::Arc;
use std::time::Duration;

use engine::EngineEvent;
use mcp::CallerSource;
use model::{ErrorCode, IndexMode};
use tokio_util::sync::CancellationToken;

use crate::cli::ProjectArgs;
use crate::config::{Loaded, Settings};
use crate::exit::Exit;
use crate::signals::StopSignals;
use crate::{memory, print, wire};

/// How often to look whether the client is still there. A client that dies closes the pipe, unless a grandchild of
/// its holds the other end open.
const PARENT_CHECK: Duration = Duration::from_secs(2);

pub(crate) fn run(loaded: &Loaded, published: &ProjectArgs) -> Result<(), Exit> {
    memory::prepare();
    let settings = &loaded.settings;
    let quiet = settings.output.quiet;
    // Standard output belongs to the protocol.
    let warn = move |message: &str| {
        if !quiet {
            print::warn(message);
        }
    };
    loaded.warnings.iter().for_each(|warning| warn(warning));
    if settings.workspace.is_missing && published.project.is_none() {
        return serve_without_roots(settings);
    }
    wire::claim_state(settings)?;
    policy::confine(&wire::confinement(loaded, published));
    let workspace = wire::open_served(loaded, published, &warn)?;
    for (path, why) in workspace.away() {
        warn(&format!("the root {} is not served: {why}", path.display()));
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let served: Result<(), Exit> = runtime.block_on(async {
        let mut signals = StopSignals::listen()?;
        let stop = CancellationToken::new();
        tokio::spawn({
            let stop = stop.clone();
            async move {
                tokio::select! {
                    () = signals.received() => {}
                    () = parent_gone() => {}
                }
                stop.cancel();
            }
        });
        let (lost_in, mut lost_out) = tokio::sync::mpsc::unbounded_channel();
        let ending = stop.clone();
        workspace.start(
            IndexMode::Incremental,
            Arc::new(move |event| match event {
                EngineEvent::FileError { path, message } => warn(&format!("{path}: {message}")),
                EngineEvent::Warning(message) => warn(&print::services::with_remedy(&message)),
                // Without its root there is nothing to serve; the client may start another server.
                EngineEvent::Fatal { code: code @ ErrorCode::RootInaccessible, message } => {
                    let _ = lost_in.send(Exit::fatal(code, message));
                    ending.cancel();
                }
                // The index is what it was; the client can still search it.
                EngineEvent::Fatal { code, message } => warn(&format!("indexing ended: {code}: {message}")),
                EngineEvent::Progress(progress) if !progress.running => memory::give_back(),
                EngineEvent::Progress(_) | EngineEvent::Settled(_) | EngineEvent::BecameWriter => {}
            }),
        );
        let files = wire::FilesDoor::new(settings);
        let tenant = match &files {
            Some(files) => Some(files.stdio_tenant(settings).await?),
            None => None,
        };
        let server = wire::mcp_server(settings, &workspace, files.as_ref(), tenant)?;
        let served = mcp::serve_stdio(server, stop).await;
        if let Some(files) = &files {
            files.close().await;
        }
        match lost_out.try_recv() {
            Ok(exit) => Err(exit),
            Err(_) => served.map_err(|error| Exit::generic(error.to_string())),
        }
    });
    workspace.shutdown();
    // A read from a terminal or pipe cannot be cancelled; it must not keep the process.
    runtime.shutdown_background();
    served
}

/// The smart tools without a folder: every answer says what is missing.
fn serve_without_roots(settings: &Settings) -> Result<(), Exit> {
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(async {
        let mut signals = StopSignals::listen()?;
        let stop = CancellationToken::new();
        tokio::spawn({
            let stop = stop.clone();
            async move {
                signals.received().await;
                stop.cancel();
            }
        });
        let server = wire::server_without_roots(settings, CallerSource::Stdio)?;
        mcp::serve_stdio(server, stop).await.map_err(|error| Exit::generic(error.to_string()))
    });
    runtime.shutdown_background();
    served
}

/// Completes when the process that started this one is gone.
async fn parent_gone() {
    let parent = rustix::process::getppid();
    let mut ticks = tokio::time::interval(PARENT_CHECK);
    loop {
        ticks.tick().await;
        if rustix::process::getppid() != parent {
            return;
        }
    }
}
