//! Archives, member by member: names checked, links never followed, sizes bounded, nothing written anywhere.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::ops::ControlFlow;

use flate2::read::MultiGzDecoder;
use model::path::PathError;
use model::{RelPath, SkipReason};
use serde::{Deserialize, Serialize};

use crate::container::inflate::{self, Unpacking};
use crate::container::tar::{self, Tar, TarEntryKind};
use crate::container::zip::Zip;
use crate::format::{Format, sniff};
use crate::limits::{Limit, Limits, Meter};
use crate::sink::{Halt, Outcome};

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The members; archives among them are named and not opened.
    Shallow,
    /// Their members, too, down to `limits.max_depth`.
    Deep,
}

/// What is found in an archive, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A file. The path has been a [`RelPath`]: it can be joined to the archive's own.
    Member { path: String, bytes: Vec<u8> },
    /// An archive that was not opened, or one whose members follow.
    Archive { path: String, opened: bool },
    /// A member that is left out. The name is for showing only.
    Skipped { name: String, reason: MemberSkip },
}

/// Why a member is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MemberSkip {
    #[error("its name leaves the archive")]
    Escapes,
    #[error("its name is absolute")]
    Absolute,
    #[error("its name is empty, too long or holds a NUL")]
    BadName,
    #[error("it is a link, and links in archives are never followed")]
    Link,
    #[error("it is a device, a pipe or a sparse file")]
    Special,
    #[error("it needs a password; unpack it to have it searched")]
    Encrypted,
    #[error("its {size} bytes exceed the limit of {limit} for a member; unpack it to have it searched")]
    TooLarge { size: u64, limit: u64 },
    #[error("it is damaged: {detail}")]
    Damaged { detail: String },
}

/// How a walk through an archive ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walked {
    /// How many entries were given.
    pub entries: u32,
    /// Why the archive is not to be used: the entries given so far do not count.
    pub refused: Option<SkipReason>,
    /// Why the walk ended before the end; the entries given so far count.
    pub stopped: Option<String>,
}

/// Goes through an archive and gives its entries to `visit` until that breaks off. `name` is the archive's own; a
/// compressed file that is no tar is one member that has this name without its ending.
pub fn members(
    format: Format,
    name: &str,
    bytes: &[u8],
    limits: &Limits,
    mode: Mode,
    visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
) -> Walked {
    let meter = Meter::new(limits);
    let mut walk = Walk { meter: &meter, mode, wanted: None, visit, entries: 0, names: HashMap::new() };
    let outcome = walk.archive(format, name, bytes, "", 0);
    let entries = walk.entries;
    let format = format.to_string();
    let (refused, stopped) = match outcome {
        Ok(_) => (None, None),
        Err(Halt::Skip(SkipReason::Refused { detail, .. })) => {
            (Some(SkipReason::Refused { format, detail }), None)
        }
        Err(Halt::Skip(reason)) => (Some(reason), None),
        Err(Halt::Limit(limit)) if inflate::is_bomb(limit) || entries == 0 => {
            (Some(SkipReason::Refused { format, detail: limit.to_string() }), None)
        }
        Err(Halt::Limit(limit)) => (None, Some(limit.to_string())),
        Err(Halt::Broken(detail)) if entries == 0 => (Some(SkipReason::Damaged { format, detail }), None),
        Err(Halt::Broken(detail)) => (None, Some(detail)),
    };
    Walked { entries, refused, stopped }
}

/// The content of one member by its path, as [`members`] gives it.
pub fn member(format: Format, name: &str, bytes: &[u8], path: &str, limits: &Limits) -> Option<Vec<u8>> {
    let mut found = None;
    let mut visit = |entry: Entry| match entry {
        Entry::Member { path: this, bytes } if this == path => {
            found = Some(bytes);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    let meter = Meter::new(limits);
    let mut walk = Walk {
        meter: &meter,
        mode: Mode::Deep,
        wanted: Some(path),
        visit: &mut visit,
        entries: 0,
        names: HashMap::new(),
    };
    // Whatever stops the walk, the member was found before or is not given.
    let _ = walk.archive(format, name, bytes, "", 0);
    found
}

struct Walk<'w> {
    meter: &'w Meter,
    mode: Mode,
    /// Only this member is unpacked, and the archives it lies in.
    wanted: Option<&'w str>,
    visit: &'w mut dyn FnMut(Entry) -> ControlFlow<()>,
    entries: u32,
    /// How often a path was given.
    names: HashMap<String, u32>,
}

type Flow = ControlFlow<()>;

impl Walk<'_> {
    fn archive(
        &mut self,
        format: Format,
        name: &str,
        bytes: &[u8],
        within: &str,
        depth: u32,
    ) -> Outcome<Flow> {
        match format {
            Format::Zip => self.zip(bytes, within, depth),
            Format::Tar => self.tar(bytes, within, depth),
            Format::TarGz => {
                let stream = Unpacking::new(MultiGzDecoder::new(bytes), bytes.len() as u64, self.meter);
                self.unpacked(stream, name, within, depth)
            }
            Format::TarZst => {
                let mut stream = match zstd::stream::read::Decoder::new(bytes) {
                    Ok(stream) => stream,
                    Err(error) => return Err(Halt::Broken(error.to_string())),
                };
                // The window is memory; 128 MiB is what the command line tool allows.
                if let Err(error) = stream.window_log_max(27) {
                    return Err(Halt::Broken(error.to_string()));
                }
                self.unpacked(Unpacking::new(stream, bytes.len() as u64, self.meter), name, within, depth)
            }
            other => Err(Halt::Skip(SkipReason::Unsupported { doc_type: other.to_string() })),
        }
    }

    /// What a compressed file holds: a tar, or one file.
    fn unpacked(&mut self, mut stream: impl Read, name: &str, within: &str, depth: u32) -> Outcome<Flow> {
        let mut head = Vec::new();
        let fault = (&mut stream).take(tar::HEADER_BYTES).read_to_end(&mut head).err();
        let is_called_tar = Format::from_name(name).is_some_and(Format::is_archive);
        match &fault {
            Some(error) if head.is_empty() || is_called_tar => return Err(inflate::halt(error)),
            None if tar::is_tar(&head) => return self.tar(head.as_slice().chain(stream), within, depth),
            _ => {}
        }
        let file = name.rsplit('/').next().unwrap_or(name);
        let lower = file.to_ascii_lowercase();
        let ending = [".gz", ".zst", ".tgz", ".tzst"].into_iter().find(|ending| lower.ends_with(ending));
        let stem = ending.map_or(file, |ending| &file[..file.len() - ending.len()]);
        let stem = if stem.is_empty() { "content" } else { stem };
        let most = self.meter.limits().max_member_bytes;
        // What came before a fault of the stream is kept, and the fault is told afterwards.
        let mut broken = fault.map(|error| inflate::halt(&error));
        let flow = self.file(stem, within, depth, || {
            let mut content = head;
            if broken.is_none() {
                let read = (&mut stream).take(most).read_to_end(&mut content);
                broken = read.err().map(|error| inflate::halt(&error));
            }
            if let Some(Halt::Limit(limit)) = broken {
                return Err(limit.into());
            }
            if content.len() as u64 > most { Err(Limit::MemberBytes.into()) } else { Ok(Cow::Owned(content)) }
        })?;
        match broken {
            Some(halt) if flow.is_continue() => Err(halt),
            _ => Ok(flow),
        }
    }

    fn zip(&mut self, bytes: &[u8], within: &str, depth: u32) -> Outcome<Flow> {
        let meter = self.meter;
        let zip = Zip::open(bytes, meter)?;
        // What the directory says is enough to refuse a bomb before anything is unpacked.
        for member in &zip.members {
            let (most, limit) = self.meter.allowance(member.packed_size());
            if member.size > most && inflate::is_bomb(limit) {
                return Err(limit.into());
            }
        }
        let total = zip.members.iter().fold(0u64, |sum, member| sum.saturating_add(member.size));
        if total > self.meter.limits().max_total_bytes
            && total / self.meter.limits().max_ratio > bytes.len() as u64
        {
            return Err(Limit::Ratio.into());
        }
        for member in &zip.members {
            self.meter.spend(1)?;
            if member.name.ends_with(['/', '\\']) && member.size == 0 {
                continue;
            }
            let skip = if member.is_link {
                Some(MemberSkip::Link)
            } else if member.encrypted {
                Some(MemberSkip::Encrypted)
            } else {
                self.too_large(member.size)
            };
            let flow = match skip {
                Some(reason) => self.skipped(within, &member.name, reason)?,
                None => self.file(&member.name, within, depth, || zip.read(member, meter))?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn tar(&mut self, stream: impl Read, within: &str, depth: u32) -> Outcome<Flow> {
        let meter = self.meter;
        let mut tar = Tar::new(stream);
        while let Some(entry) = tar.next(meter)? {
            let skip = match entry.kind {
                TarEntryKind::Directory => continue,
                TarEntryKind::Link => Some(MemberSkip::Link),
                TarEntryKind::Special => Some(MemberSkip::Special),
                TarEntryKind::File => self.too_large(entry.size),
            };
            let flow = match skip {
                Some(reason) => self.skipped(within, &entry.name, reason)?,
                None => self.file(&entry.name, within, depth, || tar.content(meter).map(Cow::Owned))?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn too_large(&self, size: u64) -> Option<MemberSkip> {
        let limit = self.meter.limits().max_member_bytes;
        (size > limit).then_some(MemberSkip::TooLarge { size, limit })
    }

    /// Gives a file, or what is in it.
    fn file<'b>(
        &mut self,
        name: &str,
        within: &str,
        depth: u32,
        read: impl FnOnce() -> Outcome<Cow<'b, [u8]>>,
    ) -> Outcome<Flow> {
        let path = match checked(name) {
            Ok(path) => path,
            Err(reason) => return self.skipped(within, name, reason),
        };
        let path = self.unique(if within.is_empty() { path } else { format!("{within}/{path}") });
        if RelPath::parse(&path).is_err() {
            return self.skipped(within, name, MemberSkip::BadName);
        }
        if let Some(wanted) = self.wanted
            && wanted != path
            && !wanted.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
        {
            return self.give(None);
        }
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(Halt::Broken(detail)) => return self.skipped(within, name, MemberSkip::Damaged { detail }),
            Err(Halt::Limit(Limit::MemberBytes)) => {
                let limit = self.meter.limits().max_member_bytes;
                return self.skipped(within, name, MemberSkip::TooLarge { size: limit + 1, limit });
            }
            Err(other) => return Err(other),
        };
        // Whoever asks for an inner archive itself gets that.
        let is_wanted = self.wanted == Some(path.as_str());
        let format = sniff(&path, &bytes).filter(|format| format.is_archive() && is_called_one(&path));
        let Some(format) = format.filter(|_| !is_wanted) else {
            return self.give(Some(Entry::Member { path, bytes: bytes.into_owned() }));
        };
        let opened = self.mode == Mode::Deep && depth + 1 < self.meter.limits().max_depth;
        let flow = self.give(Some(Entry::Archive { path: path.clone(), opened }))?;
        if !opened || flow.is_break() {
            return Ok(flow);
        }
        match self.archive(format, &path, &bytes, &path, depth + 1) {
            // One bad archive costs one archive. A bomb costs all: it was put there on purpose.
            Err(Halt::Broken(detail)) => self.skipped("", &path, MemberSkip::Damaged { detail }),
            other => other,
        }
    }

    fn skipped(&mut self, within: &str, name: &str, reason: MemberSkip) -> Outcome<Flow> {
        let name = if within.is_empty() { shown(name) } else { format!("{within}/{}", shown(name)) };
        self.give(Some(Entry::Skipped { name, reason }))
    }

    fn give(&mut self, entry: Option<Entry>) -> Outcome<Flow> {
        if self.entries >= self.meter.limits().max_members {
            return Err(Limit::Members.into());
        }
        self.entries += 1;
        Ok(entry.map_or(ControlFlow::Continue(()), |entry| (self.visit)(entry)))
    }

    /// Two members may have one name; both are kept.
    fn unique(&mut self, path: String) -> String {
        let count = self.names.entry(path.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { path } else { format!("{path} ({count})") }
    }
}

/// Packages of programs are zip files inside and no archives to look into: what is called one is, or what has no ending.
pub fn is_called_one(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    Format::from_name(name).is_some_and(Format::is_archive)
        || [".gz", ".zst"].iter().any(|ending| lower.ends_with(ending))
        || !name.trim_start_matches('.').contains('.')
}

/// The path of a member below its archive, or why the name is not a path.
fn checked(name: &str) -> Result<String, MemberSkip> {
    match RelPath::parse(name) {
        Ok(path) => Ok(shown(path.as_str())),
        Err(PathError::Absolute) => Err(MemberSkip::Absolute),
        Err(PathError::Escapes) => Err(MemberSkip::Escapes),
        Err(_) => Err(MemberSkip::BadName),
    }
}

/// A name without the characters that change how it is shown.
fn shown(name: &str) -> String {
    let strange = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    name.chars().take(model::path::MAX_PATH_BYTES).map(|c| if strange(c) { '\u{fffd}' } else { c }).collect()
}
