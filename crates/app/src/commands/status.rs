//! `dir2mcp status`: what is indexed and what is not, from the state on disk.

use std::path::Path;

use engine::state_dir;
use engine::{Call, Corpus, EngineError, IndexError, ListRequest, ListedFile};
use model::DocStatus;
use serde_json::json;

use super::costs;
use crate::cli::StatusArgs;
use crate::config::Loaded;
use crate::exit::Exit;
use crate::print::connection::SavedConnection;
use crate::print::report::{progress_line, summary_line};
use crate::print::style::{self, Ink};
use crate::print::{self, safe};
use crate::wire;

/// Files are listed in pages of this size, so that a large catalog is not held in memory.
const PAGE: usize = 5000;

pub(crate) fn run(loaded: &Loaded, args: &StatusArgs) -> Result<(), Exit> {
    let settings = &loaded.settings;
    let belonging = state_dir::check(&settings.root, &settings.state_dir)?;
    let Some((source, corpus)) = saved_corpus(loaded)? else {
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
    let running = SavedConnection::of(&settings.state_dir, belonging);
    let files = if args.files.is_some() || args.skipped { Some(list(loaded, args)?) } else { None };
    if settings.output.json {
        let mut status = json!({
            "source": source,
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
        let text: String = files.iter().map(|file| file_line(&settings.root, file)).collect();
        print::out(&text)?;
        return Ok(());
    }
    print::out(&summary(loaded, &corpus, running.as_ref()))?;
    Ok(())
}

/// The summary that the last writer left, or what the catalog itself says where that is missing or cannot be read.
fn saved_corpus(loaded: &Loaded) -> Result<Option<(&'static str, Corpus)>, Exit> {
    if let Some(corpus) = engine::read_corpus(&loaded.settings.state_dir) {
        return Ok(Some(("corpus_json", corpus)));
    }
    match wire::open_engine_for_reading(loaded) {
        Ok(engine) => Ok(Some(("meta_sqlite", engine.corpus().map_err(EngineError::from)?))),
        Err(EngineError::Index(IndexError::Missing { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    }
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
    let look = style::out();
    let ink = match (corpus.indexing.running, running) {
        (true, Some(_)) => Ink::Caution,
        (true, None) => Ink::Bad,
        (false, _) => Ink::Good,
    };
    let rows = [
        ("Root:", safe(&corpus.root).into_owned()),
        ("State:", safe(&settings.state_dir.to_string_lossy()).into_owned()),
        ("Server:", server),
        ("Indexing:", format!("{} ({})", look.paint(ink, indexing), corpus.indexing.mode)),
        ("Documents:", if counts.is_empty() { "none".to_owned() } else { counts.join(" ") }),
    ];
    let paid = costs::today_line(settings).map(|paid| ("Paid:", format!("{paid} today (dir2mcp costs)")));
    let rows: String = rows
        .into_iter()
        .chain(paid)
        .map(|(name, value)| format!("{} {value}\n", look.paint(Ink::Heading, &format!("{name:<10}"))))
        .collect();
    format!("{rows}{}{}", summary_line(&corpus.indexing), progress_line(&corpus.indexing))
}

fn list(loaded: &Loaded, args: &StatusArgs) -> Result<Vec<ListedFile>, Exit> {
    let engine = wire::open_engine_for_reading(loaded)?;
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
        // A file that can be searched but for some of its pages has a reason too.
        files.retain(|file| file.status != DocStatus::Ok || file.reason.is_some());
    }
    Ok(files)
}

fn file_line(root: &Path, file: &ListedFile) -> String {
    let look = style::out();
    let ink = match file.status {
        DocStatus::Ok => Ink::Good,
        DocStatus::Skipped => Ink::Caution,
        DocStatus::Error => Ink::Bad,
    };
    let reason = file.reason.as_deref().map(|reason| format!("  {}", look.paint(Ink::Aside, &safe(reason))));
    let status = look.paint(ink, &format!("{:<8}", file.status.as_str()));
    let path = look.link(&root.join(&file.rel_path), None, &look.paint(Ink::Path, &safe(&file.rel_path)));
    format!("{status} {:<8} {path}{}\n", file.doc_type.as_str(), reason.unwrap_or_default())
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
