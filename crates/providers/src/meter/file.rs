//! The file of what was paid for: a line of JSON for each request, and now and then one line for each model and day instead.
//!
//! A line is written by one call, so that a kill leaves it whole or absent. Writers share a lock; whoever replaces the
//! lines by their sums has it alone, and the others notice that the file under the name is another one.

#![allow(clippy::disallowed_methods)] // It keeps a file of its own in the state directory.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::Usage;
use serde::{Deserialize, Serialize};

use super::{CostEntry, CostKey, LedgerError, add, entry};

const FORMAT: u64 = 1;
/// Lines after which they are replaced by their sums.
const MOST_LINES: usize = 4_000;

/// The first line.
#[derive(Serialize, Deserialize)]
struct LedgerHead {
    costs_format: u64,
}

#[derive(Debug)]
pub(super) struct LedgerFile {
    path: PathBuf,
    file: File,
    /// Where the last whole line that was read ends.
    read_to: u64,
    lines: usize,
    totals: BTreeMap<CostKey, Usage>,
}

impl LedgerFile {
    pub(super) fn open(path: &Path) -> Result<LedgerFile, LedgerError> {
        let at = |error| LedgerError::Io { path: path.to_owned(), error };
        let file = open(path).map_err(at)?;
        let mut ledger =
            LedgerFile { path: path.to_owned(), file, read_to: 0, lines: 0, totals: BTreeMap::new() };
        if ledger.file.metadata().map_err(at)?.len() == 0 {
            ledger.write_line(&LedgerHead { costs_format: FORMAT }).map_err(at)?;
        }
        ledger.refresh()?;
        Ok(ledger)
    }

    pub(super) fn read(path: &Path) -> Result<BTreeMap<CostKey, Usage>, LedgerError> {
        let at = |error| LedgerError::Io { path: path.to_owned(), error };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(at(error)),
        };
        let mut ledger =
            LedgerFile { path: path.to_owned(), file, read_to: 0, lines: 0, totals: BTreeMap::new() };
        ledger.read_tail()?;
        Ok(ledger.totals)
    }

    pub(super) fn totals(&self) -> &BTreeMap<CostKey, Usage> {
        &self.totals
    }

    /// Takes note of what others wrote.
    pub(super) fn refresh(&mut self) -> Result<(), LedgerError> {
        if !self.is_current().map_err(|error| self.io(error))? {
            self.reopen()?;
        }
        self.read_tail()
    }

    pub(super) fn append(&mut self, entry: &CostEntry) -> Result<(), LedgerError> {
        // A second try sees the file that took the place of the first; a third would see the next one, and so on.
        loop {
            self.file.lock_shared().map_err(|error| self.io(error))?;
            if self.is_current().map_err(|error| self.io(error))? {
                break;
            }
            self.reopen()?;
        }
        let written = self.write_line(entry);
        let unlocked = self.file.unlock();
        written.and(unlocked).map_err(|error| self.io(error))?;
        self.read_tail()?;
        if self.lines > MOST_LINES + 2 * self.totals.len() { self.replace_by_sums() } else { Ok(()) }
    }

    /// Whether the name still means the file that is open.
    fn is_current(&self) -> io::Result<bool> {
        let open = self.file.metadata()?;
        match fs::metadata(&self.path) {
            Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn reopen(&mut self) -> Result<(), LedgerError> {
        *self = LedgerFile::open(&self.path)?;
        Ok(())
    }

    fn write_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = Vec::new();
        // What a power cut left of a line must not swallow this one.
        let length = self.file.metadata()?.len();
        if length > 0 {
            let mut last = [0];
            self.file.seek(SeekFrom::Start(length - 1))?;
            self.file.read_exact(&mut last)?;
            if last != *b"\n" {
                bytes.push(b'\n');
            }
        }
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)
    }

    /// Reads the lines that are new.
    fn read_tail(&mut self) -> Result<(), LedgerError> {
        let mut tail = Vec::new();
        self.file
            .seek(SeekFrom::Start(self.read_to))
            .and_then(|_| self.file.read_to_end(&mut tail))
            .map_err(|error| self.io(error))?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for line in tail[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(CostEntry { day, provider, model, capability, used }) = serde_json::from_slice(line) {
                add(self.totals.entry((day, provider, model, capability)).or_default(), &used);
                self.lines += 1;
            } else if let Ok(LedgerHead { costs_format: found }) = serde_json::from_slice(line)
                && found > FORMAT
            {
                return Err(LedgerError::Newer { path: self.path.clone(), found });
            }
        }
        self.read_to += whole as u64;
        Ok(())
    }

    /// Replaces the lines by one for each model and day.
    fn replace_by_sums(&mut self) -> Result<(), LedgerError> {
        // While others write, a later line will do.
        if self.file.try_lock().is_err() {
            return Ok(());
        }
        let replaced = self.write_sums();
        // The lock belongs to the file that was replaced.
        let unlocked = self.file.unlock();
        match replaced.and_then(|was_replaced| unlocked.map(|()| was_replaced)) {
            Ok(true) => self.reopen(),
            Ok(false) => Ok(()),
            Err(error) => Err(self.io(error)),
        }
    }

    fn write_sums(&mut self) -> io::Result<bool> {
        if !self.is_current()? {
            return Ok(false);
        }
        self.read_tail().map_err(io::Error::other)?;
        let mut bytes = serde_json::to_vec(&LedgerHead { costs_format: FORMAT })?;
        bytes.push(b'\n');
        for (key, used) in &self.totals {
            serde_json::to_writer(&mut bytes, &entry((key.clone(), *used)))?;
            bytes.push(b'\n');
        }
        let beside = self.path.with_extension("new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)?;
        Ok(true)
    }

    fn io(&self, error: io::Error) -> LedgerError {
        LedgerError::Io { path: self.path.clone(), error }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}
