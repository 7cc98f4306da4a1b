//! The other side of the comparison: an axum handler that returns fixed bytes, in a process of its own.

use std::path::Path;
use std::process::{Command, ExitCode};

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use testkit::{DEADLINE, Folder, Process};

/// Hidden: how this program is started as the bare server.
pub(crate) const COMMAND: &str = "serve-bytes";

pub(crate) struct Bare {
    process: Process,
    pub address: String,
    /// Holds the bytes for as long as they are served.
    _folder: Folder,
}

impl Bare {
    pub(crate) fn start(body: &[u8]) -> Result<Bare, String> {
        let folder = Folder::empty();
        folder.write("body", body);
        let this = std::env::current_exe().map_err(crate::text)?;
        let process = Process::start(Command::new(this).arg(COMMAND).arg(folder.path().join("body")))
            .map_err(crate::text)?;
        let address = process.next_line(DEADLINE).ok_or("the bare server did not start")?;
        Ok(Bare { process, address, _folder: folder })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

#[tokio::main]
pub(crate) async fn serve(body: &Path) -> ExitCode {
    let Ok(bytes) = std::fs::read(body).map(Bytes::from) else { return ExitCode::FAILURE };
    // The request is read whole, as it must be by anyone who answers it.
    let handler = move |_: Bytes| async move { ([(CONTENT_TYPE, "application/json")], bytes) };
    let router = Router::new().route("/mcp", post(handler));
    let Ok(listener) = tokio::net::TcpListener::bind("127.0.0.1:0").await else { return ExitCode::FAILURE };
    let Ok(address) = listener.local_addr() else { return ExitCode::FAILURE };
    println!("{address}");
    match axum::serve(listener, router).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
