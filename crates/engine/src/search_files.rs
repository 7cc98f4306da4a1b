//! Files that answer a question in everyday words, over all roots, page by page.
//!
//! A search has two parts. The passages that the words and the meaning of the question lead to are ranked as everywhere
//! else; a file has the rank of its best passage. Behind them come the other files that hold the words, so that
//! pages go on as far as there are files. Paging through an unchanged index shows each file once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use model::{ErrorCode, Failure, IndexKind, Stop};
use policy::Redactor;
use retrieve::cite::CitedPassage;
use retrieve::files::{FileQuestion, FileRanking, RankedFile, RootSnapshot, ext_of, rank_files};
use retrieve::{Understood, understand};

use crate::call::Call;
use crate::clock::year;
use crate::reranking::Reranking;
use crate::search::SearchRequest;
use crate::workspace::Workspace;

/// Searches remembered, so that the pages of one are ranked once.
const REMEMBERED: usize = 64;

/// What may be shown of a file by tools that never show one whole.
#[derive(Debug, Clone)]
pub struct PreviewRules {
    /// The largest preview or snippet, in bytes.
    pub bytes: usize,
    /// Blanks what must not be shown.
    pub redactor: Arc<Redactor>,
}

impl PreviewRules {
    pub(crate) fn blank(&self, text: &str) -> String {
        self.redactor.redact(text).into_owned()
    }
}

#[derive(Debug, Clone)]
pub struct FoundFiles {
    pub items: Vec<MatchingFile>,
    /// How many files there are in all.
    pub total: u64,
    /// Every root was indexed to its end.
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MatchingFile {
    /// Absolute.
    pub path: String,
    /// Where in the file, as people say it, and as a preview takes it.
    pub pointer: String,
    /// Redacted.
    pub snippet: String,
    /// From 0 to 1, falling from item to item.
    pub score: f32,
    /// With its dot, in small letters; empty where there is none.
    pub ext: String,
    /// Nanoseconds since 1970.
    pub modified_ns: i64,
}

/// The last searches.
#[derive(Default)]
pub(crate) struct RankedPages(Mutex<VecDeque<(FileQuestion, Vec<u64>, Arc<FileRanking>)>>);

impl Workspace {
    /// The files of a page of the answer, each cited at its best passage.
    pub async fn search_files(
        self: &Arc<Self>,
        call: &Call,
        request: SearchRequest,
        rules: PreviewRules,
    ) -> Result<FoundFiles, Failure> {
        let question = self.question(&request)?;
        let workspace = Arc::clone(self);
        let (items, total) = call
            .blocking(move |stop| {
                let roots = workspace.snapshots(&question);
                let ranking = workspace.ranking(&question, &roots, stop)?;
                let page = ranking.files.iter().skip(request.page.offset).take(request.page.limit);
                let items = workspace.items(&ranking, &roots, page, &rules, stop)?;
                Ok((items, ranking.total))
            })
            .await?;
        let is_complete = self.engines().iter().all(|engine| !engine.progress().running);
        Ok(FoundFiles { items, total, is_complete })
    }

    fn question(&self, request: &SearchRequest) -> Result<FileQuestion, Failure> {
        let Understood { text, exts, years, lists, .. } = understand(&request.text, year(self.clock()));
        let filter = &request.filter;
        // With filters of the caller's own, a query without words asks for the files they admit.
        let filters = filter.exts.is_some() || filter.years.is_some();
        let lists = lists || filters && !text.chars().any(char::is_alphanumeric);
        let exts = match &filter.exts {
            Some(given) => given.iter().map(|ext| extension(ext)).collect::<Result<_, _>>()?,
            None => exts,
        };
        let years = match &filter.years {
            Some(given) => given.iter().map(|year| plain_year(year)).collect::<Result<_, _>>()?,
            None => years,
        };
        let mut folders: Vec<(usize, Vec<String>)> = Vec::new();
        if request.roots.is_empty() {
            folders.extend((0..self.engines().len()).map(|number| (number, vec![String::new()])));
        }
        for root in &request.roots {
            let location = self.roots().locate(root)?;
            match folders.iter_mut().find(|(number, _)| *number == location.number) {
                Some((_, list)) => list.push(location.rel_path),
                None => folders.push((location.number, vec![location.rel_path])),
            }
        }
        folders.sort_unstable();
        Ok(FileQuestion { text, exts, years, lists, folders })
    }

    fn snapshots(&self, question: &FileQuestion) -> Vec<RootSnapshot> {
        let of = |(number, folders): &(usize, Vec<String>)| {
            let shared = Arc::clone(&self.engines()[*number].shared);
            let index = shared.index();
            let snapshot = index.snapshot();
            RootSnapshot {
                number: *number,
                vectors: {
                    let (shared, snapshot) = (Arc::clone(&shared), Arc::clone(&snapshot));
                    Arc::new(move |text| {
                        shared.query_vectors(text, &snapshot, &[IndexKind::Text, IndexKind::Code])
                    })
                },
                snapshot,
                index,
                weights: shared.config.weights,
                rerank: shared.reranking.as_ref().map(Reranking::stage),
                allows: Arc::new(move |path| shared.allows(path)),
                folders: folders.clone(),
            }
        };
        question.folders.iter().map(of).collect()
    }

    fn ranking(
        &self,
        question: &FileQuestion,
        roots: &[RootSnapshot],
        stop: &Stop,
    ) -> Result<Arc<FileRanking>, Failure> {
        let ids: Vec<u64> = roots.iter().map(|root| root.snapshot.id()).collect();
        if let Some(known) = self.pages().get(question, &ids) {
            return Ok(known);
        }
        let ranking = Arc::new(rank_files(question, roots, stop)?);
        for root in roots {
            self.engines()[root.number].shared.check_files()?;
        }
        self.pages().put(question.clone(), ids, Arc::clone(&ranking));
        Ok(ranking)
    }

    fn items<'a>(
        &self,
        ranking: &FileRanking,
        roots: &[RootSnapshot],
        page: impl Iterator<Item = &'a RankedFile>,
        rules: &PreviewRules,
        stop: &Stop,
    ) -> Result<Vec<MatchingFile>, Failure> {
        let mut items = Vec::new();
        for file in page {
            stop.check()?;
            let Some(root) = roots.iter().find(|root| root.number == file.root) else { continue };
            // What went since it was ranked is not shown.
            let Some(chunk) = root.snapshot.chunks(&[file.chunk])?.pop() else { continue };
            let Some(row) = root.index.document(&file.path)? else { continue };
            let words = ranking.words(file.root);
            let cited = CitedPassage::of(&root.index, &chunk, words, &|text| rules.blank(text), rules.bytes)?;
            items.push(MatchingFile {
                path: self.roots().absolute(file.root, &file.path),
                pointer: cited.pointer,
                snippet: cited.snippet,
                score: file.score,
                ext: ext_of(&file.path),
                modified_ns: row.mtime_ns,
            });
        }
        Ok(items)
    }
}

impl RankedPages {
    fn get(&self, question: &FileQuestion, snapshots: &[u64]) -> Option<Arc<FileRanking>> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = pages.iter().find(|(known, ids, _)| known == question && ids == snapshots);
        known.map(|(_, _, ranking)| Arc::clone(ranking))
    }

    fn put(&self, question: FileQuestion, snapshots: Vec<u64>, ranking: Arc<FileRanking>) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(known, _, _)| *known != question);
        if pages.len() >= REMEMBERED {
            pages.pop_front();
        }
        pages.push_back((question, snapshots, ranking));
    }
}

/// `docx`, `.docx` and `*.docx` are the same.
fn extension(written: &str) -> Result<String, Failure> {
    let bare = written.trim().trim_start_matches('*').trim_start_matches('.').to_lowercase();
    if bare.is_empty() || bare.len() > 32 || bare.contains(['/', '\\', '*', '?']) {
        let message = "an entry of exts is not an extension such as .docx";
        return Err(Failure::new(ErrorCode::InvalidField, message));
    }
    Ok(format!(".{bare}"))
}

fn plain_year(written: &str) -> Result<String, Failure> {
    let year = written.trim();
    if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = "an entry of years is not a year of four digits";
        return Err(Failure::new(ErrorCode::InvalidField, message));
    }
    Ok(year.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s014_extensions_and_years_as_people_write_them() {
        for written in ["docx", ".docx", " .DOCX ", "*.docx"] {
            assert_eq!(extension(written).unwrap(), ".docx");
        }
        for wrong in ["", ".", "a/b", "*"] {
            assert_eq!(extension(wrong).unwrap_err().code, ErrorCode::InvalidField, "{wrong}");
        }
        assert_eq!(plain_year(" 2021 ").unwrap(), "2021");
        assert!(plain_year("21").is_err() && plain_year("year").is_err());
    }
}
