//! `dir2mcp store`: checks, mends, copies and restores the file store, beside servers that may be running.
#![allow(clippy::disallowed_methods, reason = "a backup is the operator's file")]

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use filestore::backends::postgres::{PostgresMaintenance, PostgresSnapshot};
use filestore::backends::sqlite::{SqliteMaintenance, SqliteSnapshot};
use filestore::maintenance::{
    CheckOptions, CheckReport, DumpCounts, DumpRows, DumpWriter, StoreMaintenance, check_dump, check_store,
};
use model::Failure;
use serde_json::{Value, json};

use crate::config::Loaded;
use crate::config::settings::{FilesBackend, FilesSettings};
use crate::exit::Exit;
use crate::print::{self, safe};
use crate::wire::{self, FilesDoor};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum StoreCommand {
    /// Check that files, index, jobs and sums agree
    Check {
        /// Mend what follows from the files: sizes, digests, sums, the index and its jobs
        #[arg(long)]
        repair: bool,
    },
    /// Copy all files, their versions and the keys' digests into one file
    Backup {
        /// The file to write; it must not exist
        file: PathBuf,
    },
    /// Fill an empty store from such a file, whichever backend it came from
    Restore {
        /// The file to read
        file: PathBuf,
    },
}

/// A job that nobody took for so long is stuck.
const STUCK_MICROS: i64 = 5 * 60 * 1_000_000;

pub(crate) fn run(loaded: &Loaded, command: &StoreCommand) -> Result<(), Exit> {
    let settings = &loaded.settings;
    wire::claim_state(settings)?;
    let files = &settings.files;
    if !files.enabled {
        return Err(Exit::config("the file store is switched off (files.enabled)"));
    }
    let is_json = settings.output.json;
    match command {
        StoreCommand::Check { repair } => {
            there_is_a_store(files)?;
            let (mut report, mut repaired) = check(files, *repair).map_err(failed)?;
            if *repair && repaired > 0 {
                let again = check(files, false).map_err(failed)?;
                (report, repaired) = (again.0, repaired + again.1);
            }
            match is_json {
                true => print::out_json(&as_json(&report, repaired))?,
                false => print::out(&as_text(&report, repaired, *repair))?,
            }
            match report.is_sound() {
                true => Ok(()),
                false => Err(Exit::generic("the store is not sound").hint(match repair {
                    true => "Restore a backup: what is left cannot be made again from the files.",
                    false => "`dir2mcp store check --repair` mends what follows from the files.",
                })),
            }
        }
        StoreCommand::Backup { file } => {
            there_is_a_store(files)?;
            let counts = backup(files, file)?;
            told(is_json, "Backed up", &counts)
        }
        StoreCommand::Restore { file } => {
            let counts = restore(loaded, file)?;
            told(is_json, "Restored", &counts)
        }
    }
}

fn there_is_a_store(files: &FilesSettings) -> Result<(), Exit> {
    match &files.backend {
        FilesBackend::Sqlite if !files.path.exists() => {
            Err(Exit::generic("there is no file store yet")
                .hint("It is made when the first file is written."))
        }
        _ => Ok(()),
    }
}

/// What was found, and how many rows were mended.
fn check(files: &FilesSettings, repair: bool) -> Result<(CheckReport, u64), Failure> {
    let options = CheckOptions {
        now: engine::now(),
        stuck_after_micros: STUCK_MICROS,
        expects_chunks: files.search.enabled,
        // Those of a service come when its callers send a key.
        expects_vectors: files.search.enabled && files.embedding.is_none(),
    };
    match &files.backend {
        FilesBackend::Sqlite => {
            let report = check_store(&mut SqliteSnapshot::open(&files.path)?, &options)?;
            let repaired = match repair {
                true => mend(&report, &mut SqliteMaintenance::open(&files.path, engine::now())?)?,
                false => 0,
            };
            Ok((report, repaired))
        }
        FilesBackend::Postgres { url, .. } => {
            let mut snapshot = PostgresSnapshot::open(url.expose())?;
            let mut maintenance = match repair {
                true => Some(PostgresMaintenance::open(url.expose())?),
                false => None,
            };
            let (mut all, mut repaired) = (CheckReport::default(), 0);
            for bucket in 0..snapshot.buckets() {
                snapshot.look_at(bucket);
                let report = check_store(&mut snapshot, &options)?;
                if let Some(maintenance) = &mut maintenance {
                    maintenance.look_at(bucket);
                    repaired += mend(&report, maintenance)?;
                }
                all.add(&report);
            }
            Ok((all, repaired))
        }
    }
}

fn mend(report: &CheckReport, maintenance: &mut dyn StoreMaintenance) -> Result<u64, Failure> {
    let mut rows = 0;
    for action in &report.repairs {
        rows += maintenance.repair(action)?;
    }
    Ok(rows)
}

/// Under another name until it is whole, for its owner alone.
fn backup(files: &FilesSettings, file: &Path) -> Result<DumpCounts, Exit> {
    if file.exists() {
        return Err(Exit::generic(format!("{} exists already", file.display()))
            .hint("Name a file that does not exist; a backup is never overwritten."));
    }
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let io = |error: std::io::Error| Exit::generic(format!("{}: {error}", file.display()));
    let mut options = OpenOptions::new();
    let made = options.write(true).create(true).truncate(true).mode(0o600).open(&partial).map_err(io)?;
    let mut out = BufWriter::new(made);
    let counts = match write_dump(files, &mut out) {
        Ok(counts) => counts,
        Err(failure) => {
            // What is left says nothing that the failure does not.
            let _ = std::fs::remove_file(&partial);
            return Err(failed(failure));
        }
    };
    out.flush().map_err(io)?;
    out.get_ref().sync_all().map_err(io)?;
    std::fs::rename(&partial, file).map_err(io)?;
    Ok(counts)
}

fn write_dump(files: &FilesSettings, out: &mut dyn Write) -> Result<DumpCounts, Failure> {
    let mut dump = DumpWriter::begin(out)?;
    match &files.backend {
        FilesBackend::Sqlite => dump.add(&mut SqliteSnapshot::open(&files.path)?)?,
        FilesBackend::Postgres { url, .. } => {
            let mut snapshot = PostgresSnapshot::open(url.expose())?;
            for bucket in 0..snapshot.buckets() {
                snapshot.look_at(bucket);
                dump.add(&mut snapshot)?;
            }
        }
    }
    dump.end()
}

fn restore(loaded: &Loaded, file: &Path) -> Result<DumpCounts, Exit> {
    let files = &loaded.settings.files;
    let open = || -> Result<BufReader<File>, Exit> {
        let opened = File::open(file);
        Ok(BufReader::new(opened.map_err(|error| Exit::generic(format!("{}: {error}", file.display())))?))
    };
    // Read to its end before anything is written.
    let counts = check_dump(&mut open()?).map_err(failed)?;
    let mut input = open()?;
    let mut rows = DumpRows::new(&mut input);
    match &files.backend {
        FilesBackend::Sqlite => {
            let mut maintenance = SqliteMaintenance::open(&files.path, engine::now()).map_err(failed)?;
            maintenance.load(&mut rows).map_err(failed)?;
        }
        FilesBackend::Postgres { url, .. } => {
            // The tables are made by opening the store.
            let door = FilesDoor::for_commands(&loaded.settings);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            if let Some(door) = &door {
                runtime.block_on(door.files.store()).map_err(failed)?;
            }
            let mut maintenance = PostgresMaintenance::open(url.expose()).map_err(failed)?;
            maintenance.load(&mut rows).map_err(failed)?;
        }
    }
    Ok(counts)
}

fn told(is_json: bool, what: &str, counts: &DumpCounts) -> Result<(), Exit> {
    if is_json {
        return Ok(print::out_json(&json!(counts))?);
    }
    let DumpCounts { files, versions, keys } = counts;
    Ok(print::out(&format!("{what}: {files} files, {versions} versions, {keys} keys.\n"))?)
}

fn as_json(report: &CheckReport, repaired: u64) -> Value {
    let rows = &report.rows;
    let problems: Vec<Value> = report
        .problems
        .iter()
        .map(|(kind, found)| json!({ "problem": kind.as_str(), "count": found.count, "examples": found.examples }))
        .collect();
    json!({
        "sound": report.is_sound(),
        "files": rows.files,
        "deleted_files": rows.deleted_files,
        "bytes": rows.bytes,
        "chunks": rows.chunks,
        "vectors": rows.vectors,
        "open_jobs": rows.open_jobs,
        "versions": rows.versions,
        "projects": rows.projects,
        "files_to_be_indexed": rows.files_to_be_indexed,
        "problems": problems,
        "repaired_rows": repaired,
    })
}

fn as_text(report: &CheckReport, repaired: u64, repair: bool) -> String {
    let rows = &report.rows;
    let mut text = format!(
        "{} files ({} bytes) in {} projects, {} versions, {} deleted files kept.\n\
         {} chunks, {} vectors, {} open jobs, {} files still to be indexed.\n",
        rows.files,
        rows.bytes,
        rows.projects,
        rows.versions,
        rows.deleted_files,
        rows.chunks,
        rows.vectors,
        rows.open_jobs,
        rows.files_to_be_indexed
    );
    if repair {
        text.push_str(&format!("Repaired {repaired} rows.\n"));
    }
    if report.is_sound() {
        text.push_str("The store is sound.\n");
    }
    for (kind, found) in &report.problems {
        text.push_str(&format!("{}: {}\n", found.count, kind.as_str()));
        for example in &found.examples {
            text.push_str(&format!("  {}\n", safe(example)));
        }
    }
    text
}

fn failed(failure: Failure) -> Exit {
    Exit::generic(contracts::failure_sentence(&failure))
}
