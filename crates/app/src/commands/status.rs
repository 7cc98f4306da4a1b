//! `dir2mcp status`: what is indexed and what is not, from the state on disk.

use engine::{Call, Corpus, ListRequest, ListedFile};
use model::DocStatus;
use serde_json::json;

use crate::cli::StatusArgs;
use crate::config::Loaded;
use crate::exit::Exit;
use crate::print::connection::SavedConnection;
use crate::print::report::progress_line;
use crate::print::{self, safe};
use crate::wire;

/// Files are listed in pages of this size, so that a large catalog is not held in memory.
const PAGE: usize = 5000;

pub(crate) fn run(loaded: &Loaded, args: &StatusArgs) -> Result<(), Exit> {
    let settings = &loaded.settings;
    let Some(corpus) = engine::read_corpus(&settings.state_dir) else {
        if settings.output.json {
            let snapshot = serde_json::Value::Null;
            print::out_json(
                &json!({ "source": "none", "state_dir": settings.state_dir, "snapshot": snapshot }),
            )?;
        } else {
            print::out(&format!(
                "{} is not indexed yet.\nRun: dir2mcp up\n",
                safe(&settings.root.to_string_lossy())
            ))?;
        }
        return Ok(());
    };
    let running = SavedConnection::read(&settings.state_dir)?.filter(SavedConnection::is_running);
    let files = if args.files.is_some() || args.skipped { Some(list(loaded, args)?) } else { None };
    if settings.output.json {
        let mut status = json!({
            "source": "corpus_json",
            "state_dir": settings.state_dir,
            "server": running.as_ref().map(|server| &server.url),
            "snapshot": corpus,
        });
        if let Some(files) = &files {
            status["files"] = files.iter().map(file_json).collect();
        }
        print::out_json(&status)?;
        return Ok(());
    }
    if let Some(files) = files {
        let text: String = files.iter().map(file_line).collect();
        print::out(&text)?;
        return Ok(());
    }
    print::out(&summary(loaded, &corpus, running.as_ref()))?;
    Ok(())
}

fn summary(loaded: &Loaded, corpus: &Corpus, running: Option<&SavedConnection>) -> String {
    let settings = &loaded.settings;
    let counts: Vec<String> =
        corpus.profile.doc_counts.iter().map(|(doc_type, count)| format!("{doc_type}={count}")).collect();
    let indexing = match (corpus.indexing.running, running) {
        (true, Some(_)) => "running",
        // A process that was killed could not say that it stopped.
        (true, None) => "interrupted; run `dir2mcp up` to go on",
        (false, _) => "complete",
    };
    let server = running.map_or("not running".to_owned(), |server| safe(&server.url).into_owned());
    format!(
        "Root:      {}\nState:     {}\nServer:    {server}\nIndexing:  {indexing} ({})\nDocuments: {}\n{}",
        safe(&corpus.root),
        safe(&settings.state_dir.to_string_lossy()),
        corpus.indexing.mode,
        counts.join(" "),
        progress_line(&corpus.indexing),
    )
}

fn list(loaded: &Loaded, args: &StatusArgs) -> Result<Vec<ListedFile>, Exit> {
    let engine = wire::open_engine_for_reading(&loaded.settings)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut files = Vec::new();
    loop {
        let offset = files.len();
        let request = ListRequest { path_prefix: None, glob: args.files.clone(), limit: PAGE, offset };
        let page = runtime.block_on(engine.list_files(&Call::cli("status"), request))?;
        let last = page.files.len() < PAGE;
        files.extend(page.files);
        if last {
            break;
        }
    }
    if args.skipped {
        files.retain(|file| file.status != DocStatus::Ok);
    }
    Ok(files)
}

fn file_line(file: &ListedFile) -> String {
    let reason = file.reason.as_deref().map(|reason| format!("  {}", safe(reason))).unwrap_or_default();
    format!("{:<8} {:<8} {}{reason}\n", file.status.as_str(), file.doc_type.as_str(), safe(&file.rel_path))
}

fn file_json(file: &ListedFile) -> serde_json::Value {
    json!({
        "rel_path": file.rel_path,
        "doc_type": file.doc_type,
        "size_bytes": file.size_bytes,
        "mtime_unix": file.mtime_unix,
        "status": file.status,
        "reason": file.reason,
    })
}
