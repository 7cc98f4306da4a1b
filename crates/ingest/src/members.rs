//! The members of an archive as documents of their own: `archive.zip/inner/path`.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use discover::Examiner;
use extract::Format;
use extract::archive::{Entry, MemberSkip, Mode};
use index::DocChange;
use model::{ContentHash, DocType, Document, IgnoreRule, RelPath, SkipReason, SourceType};

use crate::change;
use crate::documents::{Archive, ContentKind};
use crate::outcome::FileOutcome;
use crate::outlet::Outlet;
use crate::plan::Before;
use crate::represent::Representer;

impl Representer<'_> {
    /// Brings the members of a changed archive into the catalog, and removes those that are gone. The archive's own row
    /// comes last: should anything stop the work, the next scan begins it again.
    pub(crate) fn archive(
        &self,
        path: &RelPath,
        document: Document,
        format: Format,
        bytes: &[u8],
        before: &Before<'_>,
        out: &mut Outlet<'_>,
    ) {
        let Some(mode) = self.rules.archives else {
            let setting = "ingest.archives.mode".to_owned();
            let reason = SkipReason::SwitchedOff { doc_type: DocType::Archive.to_string(), setting };
            out.send(change::skipped(document, DocType::Archive, reason));
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
            mtime_ns: document.mtime_ns,
            mode,
            before,
            out,
            seen: HashMap::new(),
        };
        let walked = self.extractor.reader.members(&archive, &mut |entry| members.take(entry));
        let Members { seen, out, .. } = members;
        if out.is_closed() {
            return;
        }
        let walked = match walked {
            Ok(walked) => walked,
            // What is known of it stays until it can be read again.
            Err(detail) => {
                let reason = SkipReason::NotTried { detail };
                out.send(change::skipped(change::to_retry(document), DocType::Archive, reason));
                return;
            }
        };
        if let Some(reason) = walked.refused {
            for (path, outcome) in seen {
                out.send_as(DocChange::Delete { path }, FileOutcome::Withdrawn(Box::new(outcome)));
            }
            forget(before, path, &HashSet::new(), out);
            out.send(change::skipped(document, DocType::Archive, reason));
            return;
        }
        let members = u32::try_from(seen.len()).unwrap_or(u32::MAX);
        forget(before, path, &seen.into_keys().collect(), out);
        out.send(match walked.stopped {
            None => change::listed(document, DocType::Archive),
            Some(detail) => change::skipped(
                document,
                DocType::Archive,
                SkipReason::PartlyRead { format: format.to_string(), detail, members },
            ),
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
    /// The paths that have a row now, and what became of each.
    seen: HashMap<String, FileOutcome>,
}

impl Members<'_, '_> {
    fn take(&mut self, entry: Entry) -> ControlFlow<()> {
        match entry {
            Entry::Member { path, bytes } => self.member(&path, bytes),
            Entry::Archive { path, opened } => self.inner_archive(&path, opened),
            Entry::Skipped { name, reason } => self.left_out(&name, &reason),
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
        let document = self.document(&path, size);
        if let Some(known) = self.before.known(path.as_str()).filter(|known| known.content_hash == Some(hash))
        {
            return self.send(change::touched(document), FileOutcome::of_known(known.status));
        }
        let kind = ContentKind::of(&path, &bytes);
        let limit = self.representer.guard.policy().max_bytes(kind.doc_type());
        let change = if size > limit {
            let document = change::hashed(document, hash);
            change::skipped(document, kind.doc_type(), SkipReason::TooLarge { size, limit })
        } else {
            self.representer.read(&path, document, kind, bytes, hash)
        };
        self.settle(change);
    }

    fn inner_archive(&mut self, inner: &str, opened: bool) {
        let Some(path) = self.admitted(inner) else { return };
        let document = self.document(&path, 0);
        let change = if opened {
            change::listed(document, DocType::Archive)
        } else if self.mode == Mode::Shallow {
            let setting = "ingest.archives.mode: shallow".to_owned();
            let reason = SkipReason::SwitchedOff { doc_type: DocType::Archive.to_string(), setting };
            change::skipped(document, DocType::Archive, reason)
        } else {
            let detail =
                "archives in archives are not opened this deep; unpack it to have it searched".to_owned();
            change::skipped(document, DocType::Archive, SkipReason::Member { detail })
        };
        self.settle(change);
    }

    /// The full path of a member, if the policy and the ignore files let it be read. What they leave out is not listed, as
    /// on disk, and counted by the rule. A name that is no path below the archive names nothing that could be listed.
    fn admitted(&mut self, inner: &str) -> Option<RelPath> {
        let counters = self.representer.counters;
        let joined = RelPath::parse(inner)
            .and_then(|inner| Ok((RelPath::from_walk(&format!("{}/{inner}", self.archive))?, inner)));
        let Ok((path, inner)) = joined else {
            counters.ignore(&IgnoreRule::UnsafeMember, false);
            return None;
        };
        let kept_out = self.representer.guard.policy().check_indexed(&path, false).err();
        if let Some(rule) = kept_out.or_else(|| self.examiner.rule_within(self.archive, &inner)) {
            counters.ignore(&rule, false);
            return None;
        }
        Some(path)
    }

    fn left_out(&mut self, name: &str, reason: &MemberSkip) {
        let Some(path) = self.admitted(name) else { return };
        let (path, reason) = match reason {
            // An inner archive is given before it turns out to be damaged: then this is what became of it.
            MemberSkip::Damaged { detail } => {
                (path, SkipReason::Damaged { format: "archived".to_owned(), detail: detail.clone() })
            }
            other => (self.unused(path), SkipReason::Member { detail: other.to_string() }),
        };
        let document = self.document(&path, 0);
        self.settle(change::skipped(document, DocType::BinaryIgnored, reason));
    }

    /// A path that no other row has: a name may come twice.
    fn unused(&self, path: RelPath) -> RelPath {
        let numbered = |number: u32| RelPath::from_walk(&format!("{path} ({number})")).ok();
        let is_free = |path: &RelPath| !self.seen.contains_key(path.as_str());
        if is_free(&path) {
            path
        } else {
            (2..).find_map(|number| numbered(number).filter(is_free)).unwrap_or(path)
        }
    }

    /// Counts and sends the row of a member.
    fn settle(&mut self, change: DocChange) {
        let outcome = FileOutcome::of_change(&change);
        self.send(change, outcome);
    }

    fn send(&mut self, change: DocChange, outcome: FileOutcome) {
        let outcome = match self.seen.insert(change.path().to_owned(), outcome.clone()) {
            Some(before) => FileOutcome::Corrected { before: Box::new(before), now: Box::new(outcome) },
            None => {
                self.representer.counters.count_scanned();
                outcome
            }
        };
        self.out.send_as(change, outcome);
    }

    fn document(&self, path: &RelPath, size: u64) -> Document {
        Document {
            path: path.as_str().to_owned(),
            source: SourceType::ArchiveMember,
            doc_type: DocType::BinaryIgnored,
            size,
            mtime_ns: self.mtime_ns,
            inode: 0,
            content_hash: None,
            reason: None,
            unread: None,
        }
    }
}
