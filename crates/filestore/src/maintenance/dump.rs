//! A copy of a store in one file that both backends write and read: what was stored, not what follows from it.
//!
//! One JSON object per line. The first names the format, the last counts the rows and holds the digest of all lines before it, so
//! that a copy that was cut or changed is recognised before anything is written. Contents are base64.

use std::io::{BufRead, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{ErrorCode, Failure, TenantId};
use serde::{Deserialize, Serialize};

use super::StoreSnapshot;
use super::rows::{FileKey, LoadedRow};
use crate::entry::StoreTime;
use crate::record::KeyRecord;

const FORMAT: &str = "dir2mcp file store 1";
const FILES_AT_ONCE: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DumpCounts {
    pub files: u64,
    pub versions: u64,
    pub keys: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Format(String),
    Key { name: String, tenant: String, created_at: i64, revoked_at: Option<i64> },
    File { tenant: String, project: String, path: String, created_at: i64, updated_at: i64, content: String },
    Version { tenant: String, project: String, path: String, created_at: i64, content: String },
    End { counts: DumpCounts, blake3: String },
}

/// Writes a copy, line by line.
pub struct DumpWriter<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
    counts: DumpCounts,
}

impl<'a> DumpWriter<'a> {
    pub fn begin(out: &'a mut dyn Write) -> Result<DumpWriter<'a>, Failure> {
        let mut writer = DumpWriter { out, hasher: blake3::Hasher::new(), counts: DumpCounts::default() };
        writer.line(&Line::Format(FORMAT.to_owned()))?;
        Ok(writer)
    }

    /// Adds all that the snapshot shows.
    pub fn add(&mut self, snapshot: &mut dyn StoreSnapshot) -> Result<(), Failure> {
        for KeyRecord { name, tenant, created_at, revoked_at } in snapshot.keys()? {
            self.counts.keys += 1;
            let (tenant, created_at) = (tenant.to_hex(), created_at.0);
            self.line(&Line::Key { name, tenant, created_at, revoked_at: revoked_at.map(|at| at.0) })?;
        }
        let mut after: Option<FileKey> = None;
        loop {
            let page = snapshot.files(after.as_ref(), FILES_AT_ONCE)?;
            for file in &page {
                self.counts.files += 1;
                let FileKey { tenant, project, path } = file.key.clone();
                let content = STANDARD.encode(&file.content);
                let (created_at, updated_at) = (file.created_at, file.updated_at);
                self.line(&Line::File { tenant, project, path, created_at, updated_at, content })?;
            }
            if page.len() < FILES_AT_ONCE {
                break;
            }
            after = page.last().map(|file| file.key.clone());
        }
        let mut after = None;
        loop {
            let page = snapshot.versions(after, FILES_AT_ONCE)?;
            for version in &page {
                self.counts.versions += 1;
                let FileKey { tenant, project, path } = version.key.clone();
                let (content, created_at) = (STANDARD.encode(&version.content), version.created_at);
                self.line(&Line::Version { tenant, project, path, created_at, content })?;
            }
            if page.len() < FILES_AT_ONCE {
                return Ok(());
            }
            after = page.last().map(|version| version.id);
        }
    }

    pub fn end(mut self) -> Result<DumpCounts, Failure> {
        let (counts, blake3) = (self.counts, self.hasher.finalize().to_hex().to_string());
        self.line(&Line::End { counts, blake3 })?;
        self.out.flush().map_err(not_written)?;
        Ok(counts)
    }

    fn line(&mut self, line: &Line) -> Result<(), Failure> {
        let mut text = serde_json::to_vec(line).map_err(|error| {
            Failure::new(ErrorCode::InternalError, "a row cannot be copied").because(error)
        })?;
        text.push(b'\n');
        self.hasher.update(&text);
        self.out.write_all(&text).map_err(not_written)
    }
}

/// Reads a copy once to see whether it is whole.
pub fn check_dump(input: &mut dyn BufRead) -> Result<DumpCounts, Failure> {
    let mut rows = DumpRows::new(input);
    for row in rows.by_ref() {
        row?;
    }
    rows.ended.ok_or_else(|| damaged("it ends too early"))
}

/// The rows of a copy, in order.
pub struct DumpRows<'a> {
    input: &'a mut dyn BufRead,
    hasher: blake3::Hasher,
    seen: DumpCounts,
    is_begun: bool,
    ended: Option<DumpCounts>,
    has_failed: bool,
}

impl<'a> DumpRows<'a> {
    pub fn new(input: &'a mut dyn BufRead) -> DumpRows<'a> {
        DumpRows {
            input,
            hasher: blake3::Hasher::new(),
            seen: DumpCounts::default(),
            is_begun: false,
            ended: None,
            has_failed: false,
        }
    }

    fn row(&mut self) -> Result<Option<LoadedRow>, Failure> {
        loop {
            let mut text = Vec::new();
            self.input.read_until(b'\n', &mut text).map_err(|error| {
                Failure::new(ErrorCode::StoreCorrupt, "the backup cannot be read").because(error)
            })?;
            if text.is_empty() {
                return if self.ended.is_some() { Ok(None) } else { Err(damaged("it ends too early")) };
            }
            if self.ended.is_some() {
                return Err(damaged("something follows its end"));
            }
            let line = serde_json::from_slice(&text).map_err(|_| damaged("a line cannot be read"))?;
            if !self.is_begun && !matches!(&line, Line::Format(format) if format == FORMAT) {
                return Err(Failure::new(
                    ErrorCode::IndexVersionMismatch,
                    "this is no backup of a file store",
                )
                .hint("Name a file that `dir2mcp store backup` of this or an older version wrote."));
            }
            let digest = self.hasher.finalize().to_hex();
            self.hasher.update(&text);
            let decoded =
                |content: &str| STANDARD.decode(content).map_err(|_| damaged("a content cannot be read"));
            let checked = |tenant: String, project, path| match TenantId::from_hex(&tenant) {
                Some(_) => Ok(FileKey { tenant, project, path }),
                None => Err(damaged("a tenant cannot be read")),
            };
            return Ok(Some(match line {
                Line::Format(_) => {
                    self.is_begun = true;
                    continue;
                }
                Line::End { counts, blake3 } => {
                    if counts != self.seen || *blake3 != *digest {
                        return Err(damaged("its digest or its counts do not match"));
                    }
                    self.ended = Some(counts);
                    continue;
                }
                Line::Key { name, tenant, created_at, revoked_at } => {
                    self.seen.keys += 1;
                    let tenant =
                        TenantId::from_hex(&tenant).ok_or_else(|| damaged("a key cannot be read"))?;
                    let (created_at, revoked_at) = (StoreTime(created_at), revoked_at.map(StoreTime));
                    LoadedRow::Key(KeyRecord { name, tenant, created_at, revoked_at })
                }
                Line::File { tenant, project, path, created_at, updated_at, content } => {
                    self.seen.files += 1;
                    let (key, content) = (checked(tenant, project, path)?, decoded(&content)?);
                    LoadedRow::File { key, content, created_at, updated_at }
                }
                Line::Version { tenant, project, path, created_at, content } => {
                    self.seen.versions += 1;
                    let (key, content) = (checked(tenant, project, path)?, decoded(&content)?);
                    LoadedRow::Version { key, content, created_at }
                }
            }));
        }
    }
}

impl Iterator for DumpRows<'_> {
    type Item = Result<LoadedRow, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let row = self.row();
        self.has_failed = row.is_err();
        row.transpose()
    }
}

fn damaged(what: &str) -> Failure {
    Failure::new(ErrorCode::StoreCorrupt, format!("the backup is damaged: {what}"))
        .hint("Nothing was restored. Use another backup.")
}

fn not_written(error: std::io::Error) -> Failure {
    Failure::new(ErrorCode::ResourceBusy, "the backup could not be written").because(error)
}
