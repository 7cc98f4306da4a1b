//! Files that answer a question in everyday words, over all roots, page by page.
//!
//! A search has two parts. The passages that the words and the meaning of the question lead to are ranked as everywhere
//! else; a file stands where its best passage stands. Behind them come the other files that hold the words, so that
//! pages go on as far as there are files. Who pages through an unchanged index sees each file once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use model::{ErrorCode, Failure};
use retrieve::{Understood, understand};

use super::Smart;
use super::place::Cited;
use super::rank::{Moment, Ranked, Ranking, rank};
use crate::api::Call;
use crate::engine::blocking;

/// Searches remembered, so that the pages of one do not rank anew.
const REMEMBERED: usize = 64;

#[derive(Debug, Clone, Default)]
pub struct FindRequest {
    pub query: String,
    pub k: usize,
    pub offset: usize,
    /// Extensions, with or without their dots; absent, those that the query speaks of.
    pub exts: Option<Vec<String>>,
    /// Absent, those that the query speaks of.
    pub years: Option<Vec<String>>,
    /// Folders within the allow-list; absent, all of it.
    pub roots: Option<Vec<String>>,
}

#[derive(Debug, Clone)]
pub struct FoundFiles {
    pub items: Vec<FoundFile>,
    /// How many files there are in all.
    pub total: u64,
    /// Every root was indexed to its end.
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FoundFile {
    /// Absolute.
    pub path: String,
    /// Where in the file, as people say it, and as `openFile` takes it.
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

/// What a search asks, after the query was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) exts: Vec<String>,
    pub(super) years: Vec<String>,
    /// Files are asked for, not words.
    pub(super) lists: bool,
    /// By engine: the folders looked at; the empty one is all of it.
    pub(super) folders: Vec<(usize, Vec<String>)>,
}

/// The last searches.
#[derive(Default)]
pub(super) struct Pages(Mutex<VecDeque<(Asked, Vec<u64>, Arc<Ranking>)>>);

impl Smart {
    pub async fn find(&self, call: &Call, request: FindRequest) -> Result<FoundFiles, Failure> {
        let asked = self.asked(&request)?;
        let smart = self.clone();
        let primary = &self.engines()[0];
        let work = blocking(call, move || {
            let moments = smart.moments(&asked);
            let ranking = smart.ranking(&asked, &moments)?;
            let page = ranking.files.iter().skip(request.offset).take(request.k);
            let items = smart.items(&asked, &moments, page)?;
            Ok((items, ranking.total))
        });
        let (items, total) = primary.audited(call, work).await?;
        let is_complete = self.engines().iter().all(|engine| !engine.progress().running);
        Ok(FoundFiles { items, total, is_complete })
    }

    fn asked(&self, request: &FindRequest) -> Result<Asked, Failure> {
        let Understood { text, exts, years, lists, .. } = understand(&request.query, this_year());
        // With filters of the caller's own, a query without words asks for the files they admit.
        let filters = request.exts.is_some() || request.years.is_some();
        let lists = lists || filters && !text.chars().any(char::is_alphanumeric);
        let exts = match &request.exts {
            Some(given) => given.iter().map(|ext| extension(ext)).collect::<Result<_, _>>()?,
            None => exts,
        };
        let years = match &request.years {
            Some(given) => given.iter().map(|year| plain_year(year)).collect::<Result<_, _>>()?,
            None => years,
        };
        let mut folders: Vec<(usize, Vec<String>)> = Vec::new();
        match request.roots.as_deref() {
            None | Some([]) => {
                folders.extend((0..self.engines().len()).map(|number| (number, vec![String::new()])));
            }
            Some(roots) => {
                for root in roots {
                    let location = self.inner.roots.locate(root)?;
                    match folders.iter_mut().find(|(number, _)| *number == location.number) {
                        Some((_, list)) => list.push(location.rel_path),
                        None => folders.push((location.number, vec![location.rel_path])),
                    }
                }
                folders.sort_unstable();
            }
        }
        Ok(Asked { text, exts, years, lists, folders })
    }

    fn moments(&self, asked: &Asked) -> Vec<Moment> {
        let of = |(number, folders): &(usize, Vec<String>)| {
            Moment::now(*number, Arc::clone(&self.engines()[*number].shared), folders.clone())
        };
        asked.folders.iter().map(of).collect()
    }

    fn ranking(&self, asked: &Asked, moments: &[Moment]) -> Result<Arc<Ranking>, Failure> {
        let ids: Vec<u64> = moments.iter().map(|moment| moment.snapshot.id()).collect();
        if let Some(known) = self.inner.pages.get(asked, &ids) {
            return Ok(known);
        }
        let ranking = Arc::new(rank(asked, moments)?);
        self.inner.pages.put(asked.clone(), ids, Arc::clone(&ranking));
        Ok(ranking)
    }

    fn items<'a>(
        &self,
        asked: &Asked,
        moments: &[Moment],
        page: impl Iterator<Item = &'a Ranked>,
    ) -> Result<Vec<FoundFile>, Failure> {
        let mut items = Vec::new();
        for file in page {
            let Some(moment) = moments.iter().find(|moment| moment.number == file.engine) else { continue };
            // What went since it was ranked is not shown.
            let Some(chunk) = moment.snapshot.chunks(&[file.chunk])?.pop() else { continue };
            let index = moment.shared.index();
            let Some(row) = index.document(&file.path)? else { continue };
            let words = moment.words(asked);
            let cited = Cited::of(&index, &chunk, &words, &self.inner.config)?;
            items.push(FoundFile {
                path: self.inner.roots.absolute(file.engine, &file.path),
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

impl Pages {
    fn get(&self, asked: &Asked, snapshots: &[u64]) -> Option<Arc<Ranking>> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = pages.iter().find(|(known, ids, _)| known == asked && ids == snapshots);
        known.map(|(_, _, ranking)| Arc::clone(ranking))
    }

    fn put(&self, asked: Asked, snapshots: Vec<u64>, ranking: Arc<Ranking>) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(known, _, _)| *known != asked);
        if pages.len() >= REMEMBERED {
            pages.pop_front();
        }
        pages.push_back((asked, snapshots, ranking));
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

/// The extension of a file's own name, with its dot, in small letters.
pub(super) fn ext_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ext)) if !stem.is_empty() && !ext.is_empty() => format!(".{}", ext.to_lowercase()),
        _ => String::new(),
    }
}

pub(super) fn this_year() -> i32 {
    i32::from(jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).year())
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
        assert_eq!(ext_of("a.b/Report.DOCX"), ".docx");
        assert_eq!(ext_of("a.b/.profile"), "");
        assert_eq!(ext_of("Makefile"), "");
    }
}
