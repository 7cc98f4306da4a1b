//! The catalog, `meta.sqlite`: documents, representations, chunks, spans and settings. It is the truth; the
//! lexical and vector indices can always be made again from it.

mod birth;
mod bought;
mod chunks;
mod document;
mod embeddings;
mod extras;
mod outlines;
mod produced;
mod read;
mod reason;
mod replay;
mod schema;
mod sealed;
mod stored;
mod text;
mod unread;
mod write;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::IndexKind;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use self::sealed::Layer;
use crate::error::IndexError;

pub(crate) use birth::{DAMAGED, remove_companions, set_aside, sync};
pub use bought::{BoughtKind, BoughtPart};
pub use chunks::StoredChunk;
pub(crate) use embeddings::StoredVector;
pub use embeddings::{NewVector, PendingChunk};
pub(crate) use outlines::DerivedRows;
pub use outlines::Unoutlined;
pub use read::{Counts, DocumentRow};
pub(crate) use replay::ReplayRow;
pub use stored::{DocumentPrint, RepresentationPrint};
pub(crate) use text::Unpacker;
pub(crate) use write::{Added, Outcome};

pub(crate) const FILE_NAME: &str = "meta.sqlite";

/// The primary root; further ones get their own numbers.
const ROOT_ID: i64 = 0;

/// Texts of one to three kilobytes are most of the file: on pages of 4 KiB a fifth of it would be empty space
/// at their ends, on these it is a twentieth.
const PAGE_BYTES: u32 = 16_384;

/// Another process may be in the middle of a commit or a checkpoint.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The log is folded back into the database when it has grown to this size, and the file then cut.
const LOG_BYTES: u64 = 4 << 20;

/// How long folding it back waits for readers; a later commit tries again.
const LOG_PATIENCE: Duration = Duration::from_millis(100);

/// More idle readers than this are closed again.
const IDLE_READERS: usize = 4;

pub(crate) struct Catalog {
    path: PathBuf,
    readers: Mutex<Vec<Reader>>,
    /// None in a catalog opened for reading. Closed after the readers, since only the last connection to be
    /// closed folds the log back, and only this one can.
    writer: Option<Mutex<Writer>>,
    /// Set where no log can be written and none is there: there is no writer, so locks and logs are not looked at.
    immutable: bool,
    /// Not so in a catalog of an older version that is only read.
    sealed: bool,
    /// The format of the file; an older one where it is only read.
    format: u32,
    generation: AtomicU64,
    content_generation: AtomicU64,
    /// What was found to be wrong with it since it was opened.
    damage: Mutex<Option<String>>,
    /// There may be texts that were recognised, transcribed or annotated.
    has_bought_parts: AtomicBool,
}

/// The one connection that writes, and what it remembers between transactions.
pub(crate) struct Writer {
    conn: Connection,
    packer: text::Packer,
}

/// A connection that only reads.
pub(crate) struct Reader {
    conn: Connection,
    unpacker: Unpacker,
}

impl Catalog {
    /// Opens the catalog for writing, and makes it where there is none.
    pub(crate) fn open_writer(dir: &Path, root: &str) -> Result<Catalog, IndexError> {
        std::fs::create_dir_all(dir).map_err(|error| match error.kind() {
            std::io::ErrorKind::StorageFull => IndexError::DiskFull { path: dir.to_owned() },
            _ => IndexError::NotWritable { path: dir.to_owned(), reason: error.to_string() },
        })?;
        birth::prepare(dir, root)?;
        let path = dir.join(FILE_NAME);
        let sqlite = |error| IndexError::sqlite(&path, error);
        // For writing from the start: a reader could not roll back or take in what a crash left.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = sealed::open(&path, flags, Layer::Sealed).map_err(|error| unopenable(&path, error))?;
        conn.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
        if conn.is_readonly(rusqlite::MAIN_DB).map_err(sqlite)? {
            return Err(IndexError::NotWritable { path, reason: "the file is read-only".to_owned() });
        }
        match schema::inspect(&conn, &path)? {
            schema::Found::Ours { version: schema::FORMAT_VERSION } => {}
            schema::Found::Ours { .. } => {
                schema::migrate(&mut conn).map_err(sqlite)?;
                tracing::info!("the catalog was brought to the present format");
            }
            schema::Found::Empty => {
                return Err(IndexError::Corrupt { path, detail: "it has no tables".to_owned() });
            }
        }
        prepare(&conn).map_err(sqlite)?;
        // FULL: an acknowledged batch survives a power cut, not only a crash of this process.
        conn.pragma_update(None, "synchronous", "FULL").map_err(sqlite)?;
        conn.pragma_update(None, "cache_size", -16_000).map_err(sqlite)?;
        // By ourselves, and always to the end: a log that was folded back but not cut, and then damaged, would put older
        // pages in front of newer ones.
        conn.pragma_update(None, "wal_autocheckpoint", 0).map_err(sqlite)?;
        conn.pragma_update(None, "journal_size_limit", 1 << 20).map_err(sqlite)?;
        // What is deleted is overwritten: the text of a removed file must not be found here.
        conn.pragma_update(None, "secure_delete", true).map_err(sqlite)?;
        let packer = text::Packer::load(&conn).map_err(sqlite)?;
        let (generation, content) = read::generations(&conn).map_err(sqlite)?;
        let catalog = Catalog {
            writer: Some(Mutex::new(Writer { conn, packer })),
            readers: Mutex::default(),
            immutable: false,
            sealed: true,
            format: schema::FORMAT_VERSION,
            generation: AtomicU64::new(generation),
            content_generation: AtomicU64::new(content),
            damage: Mutex::default(),
            has_bought_parts: AtomicBool::new(true),
            path,
        };
        // If the tree was moved, state directory and all, the relative paths still hold.
        catalog.set_settings(&[("root", root)])?;
        catalog.look_for_bought_parts()?;
        Ok(catalog)
    }

    /// Opens an existing catalog for reading, also on a read-only file system.
    pub(crate) fn open_reader(dir: &Path) -> Result<Catalog, IndexError> {
        let path = dir.join(FILE_NAME);
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(IndexError::Missing { dir: dir.to_owned() }),
            Err(error) => return Err(IndexError::io(&path, error)),
        }
        let kind = sealed::kind(&path).map_err(|error| IndexError::io(&path, error))?;
        let mut catalog = Catalog {
            writer: None,
            readers: Mutex::default(),
            immutable: false,
            sealed: kind == sealed::CatalogFile::Sealed,
            format: schema::FORMAT_VERSION,
            generation: AtomicU64::new(0),
            content_generation: AtomicU64::new(0),
            damage: Mutex::default(),
            has_bought_parts: AtomicBool::new(true),
            path,
        };
        let first = match catalog.connect() {
            Err(IndexError::Sqlite { .. } | IndexError::NotWritable { .. }) if !catalog.log_exists() => {
                catalog.immutable = true;
                catalog.connect()
            }
            other => other,
        }?;
        match schema::inspect(&first.conn, &catalog.path)? {
            schema::Found::Ours { version } => catalog.format = version,
            schema::Found::Empty => return Err(IndexError::Missing { dir: dir.to_owned() }),
        }
        catalog.give_back(first);
        catalog.refresh()?;
        Ok(catalog)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Since format 4 reasons are codes and facts, and extracted texts are kept.
    fn has_reasons(&self) -> bool {
        self.format >= 4
    }

    /// The number of the last commit that changed anything a caller can see.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The last commit that changed chunks: a derived index that holds it is up to date.
    pub(crate) fn content_generation(&self) -> u64 {
        self.content_generation.load(Ordering::Acquire)
    }

    /// After a commit that changed what is listed and no chunk.
    fn set_generation(&self, generation: u64) {
        self.generation.store(generation, Ordering::Release);
    }

    /// Reads both numbers again; another process may have written.
    pub(crate) fn refresh(&self) -> Result<(), IndexError> {
        let (generation, content) = self.with_reader(|reader| read::generations(&reader.conn))?;
        self.generation.store(generation, Ordering::Release);
        self.content_generation.store(content, Ordering::Release);
        Ok(())
    }

    pub(crate) fn setting(&self, key: &str) -> Result<Option<String>, IndexError> {
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached("SELECT value FROM settings WHERE key = ?1")?
                .query_row([key], |row| row.get(0))
                .optional()
        })
    }

    /// Sets several at once; nothing is written where all have their values already.
    pub(crate) fn set_settings(&self, settings: &[(&str, &str)]) -> Result<(), IndexError> {
        let mut writer = self.writer()?;
        writer
            .conn
            .transaction()
            .and_then(|tx| {
                for setting in settings {
                    tx.prepare_cached(
                        "INSERT INTO settings (key, value) VALUES (?1, ?2) \
                         ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value",
                    )?
                    .execute(*setting)?;
                }
                tx.commit()
            })
            .map_err(|error| self.error(error))
    }

    /// Folds the log back and cuts its file when it has grown large.
    pub(crate) fn trim_log(&self) {
        if std::fs::metadata(self.log_path()).is_ok_and(|log| log.len() > LOG_BYTES) {
            self.empty_log();
        }
    }

    /// Folds the log back and cuts its file: it no longer holds what was deleted.
    pub(crate) fn empty_log(&self) {
        if let Ok(writer) = self.writer() {
            // Readers may hold it up; then a later call does it.
            let _ = writer.conn.busy_timeout(LOG_PATIENCE);
            let _ = writer.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = writer.conn.busy_timeout(BUSY_TIMEOUT);
        }
    }

    /// What was found to be wrong with the catalog since it was opened.
    pub(crate) fn damage(&self) -> Option<String> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Compares every page of the file with its seal. Found damage is remembered.
    pub(crate) fn verify(&self) -> Result<(), IndexError> {
        // Holding the writer: no pages move from the log to the file meanwhile.
        let writer = self.writer()?;
        let damaged = sealed::first_damaged(&self.path).map_err(|error| IndexError::io(&self.path, error))?;
        drop(writer);
        match damaged {
            Some(page) => Err(self.corrupt(format!("the checksum of page {page} does not match"))),
            None => Ok(()),
        }
    }

    /// Reads the whole file and says what is wrong with it, if anything.
    pub(crate) fn check(&self) -> Result<(), IndexError> {
        let verdict: String =
            self.with_reader(|reader| reader.conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if verdict == "ok" {
            return Ok(());
        }
        Err(self.corrupt(verdict))
    }

    fn writer(&self) -> Result<MutexGuard<'_, Writer>, IndexError> {
        let writer = self.writer.as_ref().ok_or(IndexError::ReadOnly)?;
        // A transaction that panicked was rolled back when it was dropped.
        Ok(writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_reader<T>(&self, read: impl FnOnce(&mut Reader) -> rusqlite::Result<T>) -> Result<T, IndexError> {
        self.try_with_reader(|reader| Ok(read(reader)))?.map_err(|error| self.error(error))
    }

    fn try_with_reader<T>(
        &self,
        read: impl FnOnce(&mut Reader) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => self.connect()?,
        };
        let result = read(&mut reader);
        self.give_back(reader);
        result
    }

    fn give_back(&self, reader: Reader) {
        let mut idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_READERS {
            idle.push(reader);
        }
    }

    /// Gives back what connections keep for the next question or change: none is expected soon.
    pub(crate) fn release_idle(&self) {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // A writer at work keeps what it has.
        if let Some(Ok(writer)) = self.writer.as_ref().map(Mutex::try_lock) {
            // It fails on a damaged file only, which the next use tells of.
            let _ = writer.conn.release_memory();
        }
    }

    /// A connection that cannot write.
    pub(crate) fn connect(&self) -> Result<Reader, IndexError> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut name = self.path.clone();
        if self.immutable {
            flags |= OpenFlags::SQLITE_OPEN_URI;
            name = immutable_uri(&self.path);
        }
        let conn = if self.sealed {
            sealed::open(&name, flags, Layer::Sealed)
        } else {
            Connection::open_with_flags(&name, flags)
        };
        let conn = conn.map_err(|error| self.error(error))?;
        conn.busy_timeout(BUSY_TIMEOUT)
            .and_then(|()| prepare(&conn))
            // The first real read: it needs the log, which may be impossible to open.
            .and_then(|()| conn.query_row("PRAGMA schema_version", [], |row| row.get::<_, i64>(0)))
            .map_err(|error| self.error(error))?;
        Ok(Reader { conn, unpacker: Unpacker::default() })
    }

    fn error(&self, error: rusqlite::Error) -> IndexError {
        match IndexError::sqlite(&self.path, error) {
            IndexError::Corrupt { detail, .. } => self.corrupt(detail),
            other => other,
        }
    }

    /// Remembers damage, so that the engine can have it built again.
    fn corrupt(&self, detail: String) -> IndexError {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if damage.is_none() {
            tracing::warn!(detail, "the catalog is damaged");
            *damage = Some(detail.clone());
        }
        IndexError::Corrupt { path: self.path.clone(), detail }
    }

    fn log_path(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        name.into()
    }

    fn log_exists(&self) -> bool {
        std::fs::metadata(self.log_path()).is_ok_and(|log| log.len() > 0)
    }
}

impl Reader {
    /// Changes whenever another connection, in this process or another, has committed.
    pub(crate) fn data_version(&self) -> rusqlite::Result<i64> {
        self.conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
    }
}

fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(64);
    // Without this, SQLite plans a statement again whenever a bound value might make a partial index usable:
    // a third of the time of fetching a chunk.
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // Enough for the documents of a large tree, which listings read in the order of their paths.
    conn.pragma_update(None, "cache_size", -8_000)?;
    // A damaged file must give an error, never run what it contains.
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "cell_size_check", true)
}

fn unopenable(path: &Path, error: rusqlite::Error) -> IndexError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::CannotOpen) => {
            IndexError::NotWritable { path: path.to_owned(), reason: error.to_string() }
        }
        _ => IndexError::sqlite(path, error),
    }
}

fn immutable_uri(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(*byte as char),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri.into()
}

/// The stored name of a kind, and back; unknown names can only be damage and count as text.
pub(crate) fn kind_of(name: &str) -> IndexKind {
    IndexKind::parse(name).unwrap_or(IndexKind::Text)
}
