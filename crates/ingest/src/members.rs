//! The members of an archive as documents of their own: `archive.zip/inner/path`.

use std::collections::HashSet;
use std::ops::ControlFlow;

use discover::Examiner;
use extract::Format;
use extract::archive::{Entry, Mode};
use index::DocChange;
use model::{ContentHash, DocType, RelPath, SkipReason, SourceType};

use crate::documents::{Archive, Kind};
use crate::outlet::Outlet;
use crate::plan::Before;
use crate::represent::{Put, Representer};

/// Names that are only shown are cut at this length.
const SHOWN_NAME_CHARS: usize = 200;

impl Representer<'_> {
    /// Brings the members of a changed archive into the catalog, and removes those that are gone. The archive's own row
    /// comes last: should anything stop the work, the next scan begins it again.
    pub(crate) fn archive(
        &self,
        path: &RelPath,
        put: Put,
        format: Format,
        bytes: &[u8],
        before: &Before<'_>,
        out: &mut Outlet<'_>,
    ) {
        let Some(mode) = self.archives else {
            let setting = "ingest.archives.mode".to_owned();
            let reason = SkipReason::SwitchedOff { doc_type: DocType::Archive.to_string(), setting };
            out.send(put.skipped(DocType::Archive, reason));
            return forget(before, path, &HashSet::new(), out);
        };
        let archive = Archive {
            format,
            name: path.file_name(),
            bytes,
            mode,
            max_member_bytes: self.guard.policy().max_member_bytes(),
        };
        let mut members = Members {
            examiner: Examiner::new(self.guard, self.walk),
            representer: self,
            archive: path,
            mtime_ns: put.mtime_ns,
            mode,
            before,
            out,
            seen: HashSet::new(),
        };
        let walked = self.reader.members(&archive, &mut |entry| members.take(entry));
        let Members { seen, out, .. } = members;
        if out.is_closed() {
            return;
        }
        let walked = match walked {
            Ok(walked) => walked,
            // What is known of it stays until it can be read again.
            Err(message) => {
                let put = Put { inode: 0, content_hash: None, ..put };
                out.send(put.failed(DocType::Archive, format!("EXTRACT_FAILED: {message}")));
                return;
            }
        };
        if let Some(reason) = walked.refused {
            for member in &seen {
                out.send(DocChange::Delete { path: member.clone() });
            }
            forget(before, path, &HashSet::new(), out);
            out.send(put.skipped(DocType::Archive, reason));
            return;
        }
        forget(before, path, &seen, out);
        out.send(match walked.stopped {
            None => put.listed(DocType::Archive),
            Some(detail) => {
                let members = u32::try_from(seen.len()).unwrap_or(u32::MAX);
                put.skipped(
                    DocType::Archive,
                    SkipReason::PartlyRead { format: format.to_string(), detail, members },
                )
            }
        });
    }
}

/// Removes what is known below a path and was not seen there any more.
pub(crate) fn forget(before: &Before<'_>, path: &RelPath, seen: &HashSet<String>, out: &mut Outlet<'_>) {
    for gone in before.below(path.as_str()).filter(|known| !seen.contains(*known)) {
        out.send(DocChange::Delete { path: gone.to_owned() });
    }
}

struct Members<'a, 'o> {
    examiner: Examiner<'a>,
    representer: &'a Representer<'a>,
    archive: &'a RelPath,
    /// The archive's own: members are as old as it is.
    mtime_ns: i64,
    mode: Mode,
    before: &'a Before<'a>,
    out: &'a mut Outlet<'o>,
    /// The paths that have a row now.
    seen: HashSet<String>,
}

impl Members<'_, '_> {
    fn take(&mut self, entry: Entry) -> ControlFlow<()> {
        match entry {
            Entry::Member { path, bytes } => self.member(&path, bytes),
            Entry::Archive { path, opened } => self.inner_archive(&path, opened),
            Entry::Skipped { name, reason } => {
                let path = self.unused(&displayed(&name));
                self.left_out(&path, SkipReason::Member { detail: reason.to_string() });
            }
        }
        if self.out.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn member(&mut self, inner: &str, bytes: Vec<u8>) {
        let Some(path) = self.admitted(inner) else { return };
        let size = bytes.len() as u64;
        if !self.out.take(size) {
            return;
        }
        let hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        let put = self.row(&path, size).hashed(hash);
        if self.before.known(path.as_str()).is_some_and(|known| known.content_hash == Some(hash)) {
            self.out.send(put.touched());
            return;
        }
        let kind = Kind::of(&path, &bytes);
        let limit = self.representer.guard.policy().max_bytes(kind.doc_type());
        let change = if size > limit {
            put.skipped(kind.doc_type(), SkipReason::TooLarge { size, limit })
        } else {
            self.representer.read(&path, put, kind, bytes)
        };
        self.out.send(change);
    }

    fn inner_archive(&mut self, inner: &str, opened: bool) {
        let Some(path) = self.admitted(inner) else { return };
        let put = self.row(&path, 0);
        let change = if opened {
            put.listed(DocType::Archive)
        } else if self.mode == Mode::Shallow {
            let setting = "ingest.archives.mode: shallow".to_owned();
            put.skipped(
                DocType::Archive,
                SkipReason::SwitchedOff { doc_type: DocType::Archive.to_string(), setting },
            )
        } else {
            let detail =
                "archives in archives are not opened this deep; unpack it to have it searched".to_owned();
            put.skipped(DocType::Archive, SkipReason::Member { detail })
        };
        self.out.send(change);
    }

    /// The full path of a member, if the policy and the ignore files let it be read. What they leave out is not even
    /// listed, as on disk.
    fn admitted(&mut self, inner: &str) -> Option<RelPath> {
        let Ok(path) = RelPath::parse(&format!("{}/{inner}", self.archive)) else {
            let path = self.unused(&displayed(inner));
            self.left_out(&path, SkipReason::PathTooDeep);
            return None;
        };
        self.representer.guard.policy().check_path(&path).ok()?;
        if RelPath::parse(inner).is_ok_and(|inner| self.examiner.ignores_within(self.archive, &inner)) {
            return None;
        }
        self.seen.insert(path.as_str().to_owned());
        Some(path)
    }

    fn left_out(&mut self, path: &RelPath, reason: SkipReason) {
        // A name that nobody may read is not shown either.
        if self.representer.guard.policy().check_path(path).is_ok() {
            let put = self.row(path, 0);
            self.out.send(put.skipped(DocType::BinaryIgnored, reason));
        }
    }

    /// A path that no other row has, for a name that is only shown.
    fn unused(&mut self, inner: &str) -> RelPath {
        let mut number = 1;
        loop {
            let name = if number == 1 { inner.to_owned() } else { format!("{inner} ({number})") };
            let path = RelPath::from_walk(&format!("{}/{name}", self.archive))
                .unwrap_or_else(|_| self.archive.clone());
            if path == *self.archive || self.seen.insert(path.as_str().to_owned()) {
                return path;
            }
            number += 1;
        }
    }

    fn row(&self, path: &RelPath, size: u64) -> Put {
        Put {
            path: path.as_str().to_owned(),
            source: SourceType::ArchiveMember,
            size,
            mtime_ns: self.mtime_ns,
            inode: 0,
            content_hash: None,
        }
    }
}

/// A name that is no path below the archive, as one that can be listed: `../../x` becomes `(..)/(..)/x`.
fn displayed(name: &str) -> String {
    let parts = name.split(['/', '\\']).filter(|part| !matches!(*part, "" | "."));
    let shown = parts.map(|part| if part == ".." { "(..)" } else { part }).collect::<Vec<_>>().join("/");
    let shown: String = shown.replace('\0', "\u{fffd}").chars().take(SHOWN_NAME_CHARS).collect();
    if shown.is_empty() { "(no name)".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::displayed;

    #[test]
    fn names_that_are_only_shown() {
        assert_eq!(displayed("../../etc/passwd"), "(..)/(..)/etc/passwd");
        assert_eq!(displayed("/etc/passwd"), "etc/passwd");
        assert_eq!(displayed("C:\\x\\..\\y"), "C:/x/(..)/y");
        assert_eq!(displayed(""), "(no name)");
        assert_eq!(displayed(&"x".repeat(9000)).len(), 200);
    }
}
