//! The documents of the index as a person looks for them: folder by folder, and by what became of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use index::DocumentRow;
use model::{DocStatus, DocType, ErrorCode, Failure, SkipReason};

use crate::call::Call;
use crate::engine::Engine;
use crate::files::ListedFile;
use crate::shared::SharedEngine;

/// What to list.
#[derive(Debug, Clone, Default)]
pub struct FolderListRequest {
    /// From the root; empty is the root itself.
    pub path: String,
    /// Then all files below the path whose paths hold this, in capitals or small letters.
    pub containing: Option<String>,
    pub offset: usize,
    pub limit: usize,
}

#[derive(Debug, Clone)]
pub struct FolderListing {
    pub path: String,
    /// How many entries there are, shown or not.
    pub total: u64,
    pub entries: Vec<FolderEntry>,
}

#[derive(Debug, Clone)]
pub enum FolderEntry {
    Folder {
        path: String,
        /// Documents in it and below.
        files: u64,
    },
    /// An archive has documents in it, too.
    File { file: ListedFile, files: u64 },
}

/// Which documents to list, and a page of them.
#[derive(Debug, Clone, Default)]
pub struct DocumentsRequest {
    pub status: Option<DocStatus>,
    /// Only those that no search finds.
    pub not_searchable: bool,
    pub code: Option<ErrorCode>,
    pub doc_type: Option<DocType>,
    /// Only those whose paths hold this, in capitals or small letters.
    pub containing: Option<String>,
    pub offset: usize,
    pub limit: usize,
}

/// How many documents there are of each kind, and why some cannot be searched.
#[derive(Debug, Clone, Default)]
pub struct CountedDocuments {
    pub by_type: Vec<(DocType, DocStatus, u64)>,
    /// The most frequent first.
    pub reasons: Vec<CountedReason>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedReason {
    pub code: ErrorCode,
    /// What the documents have in common, without the facts of a single one.
    pub label: String,
    pub count: u64,
}

/// Reasons that are told apart; the rest is counted by its code.
const MAX_REASONS: usize = 200;

impl Engine {
    /// What is in a folder or an archive, folders first.
    pub async fn list_folder(
        &self,
        call: &Call,
        request: FolderListRequest,
    ) -> Result<FolderListing, Failure> {
        let shared = Arc::clone(&self.shared);
        call.blocking(move |_| {
            let FolderListRequest { path, containing, offset, limit } = request;
            let path = path.trim_matches('/').to_owned();
            // The policy decides about the name; a root has none.
            let path = if path.is_empty() { path } else { shared.located(&path)?.as_str().to_owned() };
            if !shared.holds_below(&path)? {
                let failure = Failure::new(ErrorCode::FileNotFound, format!("there is no folder {path:?}"));
                return Err(shared.with_suggestions(failure, &path));
            }
            let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
            if let Some(part) = containing.filter(|part| !part.is_empty()) {
                let part = part.to_lowercase();
                let wanted = |row: &DocumentRow| {
                    row.path.starts_with(&prefix)
                        && row.path.to_lowercase().contains(&part)
                        && shared.allows(&row.path)
                };
                let (total, rows) = shared.index().list(&wanted, limit, offset)?;
                let file = |row| FolderEntry::File { file: listed(row), files: 0 };
                return Ok(FolderListing { path, total, entries: rows.into_iter().map(file).collect() });
            }
            let (folders, files) = children(&shared, &prefix)?;
            let total = (folders.len() + files.len()) as u64;
            let folders = folders.into_iter().map(|(name, files)| {
                let path = format!("{prefix}{name}");
                FolderEntry::Folder { path, files }
            });
            let files = files.into_iter().map(|(file, files)| FolderEntry::File { file, files });
            let entries = folders.chain(files).skip(offset).take(limit).collect();
            Ok(FolderListing { path, total, entries })
        })
        .await
    }

    /// Documents by what became of them, and how many there are in all.
    pub async fn list_documents(
        &self,
        call: &Call,
        request: DocumentsRequest,
    ) -> Result<(u64, Vec<(ListedFile, Option<SkipReason>)>), Failure> {
        let shared = Arc::clone(&self.shared);
        call.blocking(move |_| {
            let containing = request.containing.map(|part| part.to_lowercase());
            let wanted = |row: &DocumentRow| {
                request.status.is_none_or(|status| row.status == status)
                    && (!request.not_searchable || row.status != DocStatus::Ok)
                    && request.doc_type.is_none_or(|doc_type| row.doc_type == doc_type)
                    && request
                        .code
                        .is_none_or(|code| row.reason.as_ref().is_some_and(|why| why.code() == code))
                    && containing.as_ref().is_none_or(|part| row.path.to_lowercase().contains(part))
                    && shared.allows(&row.path)
            };
            let (total, rows) = shared.index().list(&wanted, request.limit, request.offset)?;
            let shown = |row: DocumentRow| {
                let reason = row.reason.clone();
                (listed(row), reason)
            };
            Ok((total, rows.into_iter().map(shown).collect()))
        })
        .await
    }

    /// How many documents of which type ended how.
    pub async fn count_documents(&self, call: &Call) -> Result<CountedDocuments, Failure> {
        let shared = Arc::clone(&self.shared);
        call.blocking(move |_| {
            let by_type: RefCell<BTreeMap<(DocType, DocStatus), u64>> = RefCell::default();
            let reasons: RefCell<BTreeMap<(ErrorCode, String), u64>> = RefCell::default();
            let count = |row: &DocumentRow| {
                *by_type.borrow_mut().entry((row.doc_type, row.status)).or_default() += 1;
                if let Some(why) = &row.reason {
                    let mut reasons = reasons.borrow_mut();
                    let label = if reasons.len() < MAX_REASONS { label(why) } else { String::new() };
                    *reasons.entry((why.code(), label)).or_default() += 1;
                }
                false
            };
            shared.index().list(&count, 0, 0)?;
            let by_type = by_type.into_inner().into_iter();
            let mut reasons: Vec<CountedReason> = reasons
                .into_inner()
                .into_iter()
                .map(|((code, label), count)| CountedReason { code, label, count })
                .collect();
            reasons.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
            let by_type = by_type.map(|((doc_type, status), count)| (doc_type, status, count)).collect();
            Ok(CountedDocuments { by_type, reasons })
        })
        .await
    }
}

type Children = (BTreeMap<String, u64>, Vec<(ListedFile, u64)>);

/// The folders below a prefix with the number of their documents, and its files, by name.
fn children(shared: &SharedEngine, prefix: &str) -> Result<Children, Failure> {
    let folders: RefCell<BTreeMap<String, u64>> = RefCell::default();
    let direct = |row: &DocumentRow| {
        let Some(rest) = row.path.strip_prefix(prefix) else { return false };
        if !shared.allows(&row.path) {
            return false;
        }
        match rest.split_once('/') {
            Some((name, _)) => {
                *folders.borrow_mut().entry(name.to_owned()).or_default() += 1;
                false
            }
            None => true,
        }
    };
    let (_, rows) = shared.index().list(&direct, usize::MAX, 0)?;
    let mut folders = folders.into_inner();
    let mut files = Vec::with_capacity(rows.len());
    for row in rows {
        // An archive has a row of its own beside those of its members.
        let members = folders.remove(&row.path[prefix.len()..]).unwrap_or_default();
        files.push((listed(row), members));
    }
    Ok((folders, files))
}

fn listed(row: DocumentRow) -> ListedFile {
    ListedFile {
        doc_type: row.doc_type,
        size_bytes: row.size,
        mtime_unix: row.mtime_ns.div_euclid(1_000_000_000),
        status: row.status,
        reason: row.reason.as_ref().map(ToString::to_string),
        rel_path: row.document.path,
    }
}

/// The reason without what is true of one document only.
fn label(reason: &SkipReason) -> String {
    match reason {
        SkipReason::Secret { rule, .. } => format!("secret rule \"{rule}\""),
        SkipReason::TooLarge { limit, .. } => format!("larger than {limit} bytes (ingest.max_file_mb)"),
        SkipReason::Damaged { format, .. } => format!("damaged {format} file"),
        SkipReason::Refused { format, .. } => format!("{format} file beyond the limits of a document"),
        SkipReason::PartlyRead { format, .. } => format!("{format} file that was read up to a point"),
        SkipReason::Member { .. } => "member of an archive that is left out".to_owned(),
        SkipReason::Unreadable { .. } => "could not be read".to_owned(),
        SkipReason::NotTried { .. } => "could not be looked at".to_owned(),
        SkipReason::NotRecognized { needs, provider, .. } => {
            format!("{provider} failed ({})", needs.as_str())
        }
        SkipReason::Recorded { .. } => "recorded by an earlier version".to_owned(),
        other => {
            let text = other.to_string();
            text.split_once(": ").map_or(text.clone(), |(_, sentence)| sentence.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_hold_nothing_of_a_single_document() {
        let large = |size| SkipReason::TooLarge { size, limit: 5 };
        assert_eq!(label(&large(9)), label(&large(10)));
        assert_eq!(label(&SkipReason::Binary), "the content is binary");
        let secret = SkipReason::Secret { rule: "aws".into(), line: 3 };
        assert_eq!(label(&secret), "secret rule \"aws\"");
    }
}
