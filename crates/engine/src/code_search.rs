//! Searching declarations: their facts, kept in memory while somebody asks for them, the filters on them, and the texts that a
//! query is compared with.
//!
//! Facts are made and stored by the process that writes the index. One that only reads makes those that are missing for itself.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use lang::Language;
use model::{ContentHash, DeclarationFacts, Fact, Failure, FileFacts, Knowledge, RelPath, Stop};
use retrieve::code::{CodeCandidate, CodeFilters, CodeQuery, RankedPart, RiskRules, rank, text_of};

use crate::call::Call;
use crate::engine::Engine;
use crate::shared::SharedEngine;

/// Larger files are not code that people wrote.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// So many files at most are read for facts that the writer has not stored.
const MAX_FILES: usize = 1_000_000;

/// The facts of one file, and the content they were made of.
#[derive(Debug)]
pub struct FactsOfFile {
    pub path: String,
    pub content_hash: ContentHash,
    pub facts: FileFacts,
}

/// The facts of all files of a root, by path.
#[derive(Debug, Default)]
pub struct CodeFacts {
    pub files: Vec<Arc<FactsOfFile>>,
    /// Every file was indexed when this was asked.
    pub is_complete: bool,
}

/// What was last read, so that an unchanged file is not read again.
#[derive(Default)]
pub(crate) struct RememberedFacts(Mutex<HashMap<String, Arc<FactsOfFile>>>);

/// Which of the parts of files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeParts {
    /// Declarations, and the rest of each file.
    Declarations,
    /// Comments and docstrings.
    Comments,
}

/// A question about declarations.
pub struct CodeSearchRequest {
    pub query: CodeQuery,
    pub filters: CodeFilters,
    pub parts: CodeParts,
    pub limit: usize,
    /// Lines of the file before and after each hit.
    pub context: usize,
}

#[derive(Debug, Clone)]
pub struct CodeSearchResults {
    pub hits: Vec<CodeSearchHit>,
    /// How many there are, shown or not.
    pub total: usize,
    pub is_complete: bool,
    /// Files that a filter cannot answer for, by the filter's name and the reason, with how many there are.
    pub left_out: Vec<(String, usize)>,
}

#[derive(Debug, Clone)]
pub struct CodeSearchHit {
    pub file: Arc<FactsOfFile>,
    /// Which of the file's declarations, or of its comments, it is.
    pub number: usize,
    pub score: f64,
    /// Its first line that says something.
    pub headline: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl CodeSearchHit {
    /// The declaration; `None` for a comment.
    pub fn declaration(&self, parts: CodeParts) -> Option<&DeclarationFacts> {
        (parts == CodeParts::Declarations).then(|| self.file.facts.declarations.get(self.number)).flatten()
    }
}

impl Engine {
    /// The facts of all files, made where they are missing. `report` hears how many were made.
    pub async fn code_facts(
        &self,
        call: &Call,
        report: Arc<dyn Fn(u64) + Send + Sync>,
    ) -> Result<Arc<CodeFacts>, Failure> {
        let is_complete = self.settled(call).await?;
        let shared = Arc::clone(&self.shared);
        call.blocking(move |stop| {
            let files = shared.facts_now(stop, &*report)?;
            Ok(Arc::new(CodeFacts { files, is_complete }))
        })
        .await
    }

    /// The declarations, or comments, that pass the filters and the query, best first.
    pub async fn search_code(
        &self,
        call: &Call,
        request: CodeSearchRequest,
    ) -> Result<CodeSearchResults, Failure> {
        let facts = self.code_facts(call, Arc::new(|_| {})).await?;
        let shared = Arc::clone(&self.shared);
        call.blocking(move |stop| shared.search_facts(&facts, &request, stop)).await
    }
}

impl SharedEngine {
    fn facts_now(&self, stop: &Stop, report: &dyn Fn(u64)) -> Result<Vec<Arc<FactsOfFile>>, Failure> {
        let index = self.index();
        if self.is_writer() {
            let threads = self.config.threads.max(1);
            let read = |path: &RelPath, max_bytes| self.text(path, max_bytes);
            match ingest::facts_all(&read, &index, threads, stop.flag(), report) {
                Ok(_) => {}
                Err(ingest::IngestError::Cancelled) => stop.check()?,
                Err(error) => tracing::warn!(%error, "facts could not be stored"),
            }
        }
        stop.check()?;
        let stored = index.documents_with_facts()?;
        let mut remembered = self.facts.0.lock().unwrap_or_else(PoisonError::into_inner);
        let changed: Vec<String> = stored
            .iter()
            .filter(|(path, hash)| remembered.get(path).is_none_or(|known| known.content_hash != *hash))
            .map(|(path, _)| path.clone())
            .collect();
        let hashes: HashMap<&str, ContentHash> =
            stored.iter().map(|(path, hash)| (path.as_str(), *hash)).collect();
        for batch in changed.chunks(256) {
            stop.check()?;
            for (path, facts) in batch.iter().zip(index.facts(batch)?) {
                if let (Some(facts), Some(hash)) = (facts, hashes.get(path.as_str())) {
                    let of_file = FactsOfFile { path: path.clone(), content_hash: *hash, facts };
                    remembered.insert(path.clone(), Arc::new(of_file));
                }
            }
        }
        remembered.retain(|path, _| hashes.contains_key(path.as_str()));
        let mut files: Vec<Arc<FactsOfFile>> =
            remembered.values().filter(|file| self.allows(&file.path)).cloned().collect();
        drop(remembered);
        if !self.is_writer() {
            self.add_missing(&mut files, stop)?;
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// A process that only reads makes what the writer has not stored.
    fn add_missing(&self, files: &mut Vec<Arc<FactsOfFile>>, stop: &Stop) -> Result<(), Failure> {
        let there: HashSet<String> = files.iter().map(|file| file.path.clone()).collect();
        let wanted =
            |path: &str| Language::from_path(path).is_some() && !there.contains(path) && self.allows(path);
        let (_, rows) = self.index().list(&|row| wanted(&row.path), MAX_FILES, 0)?;
        for row in rows {
            stop.check()?;
            let Some((text, content_hash)) = self.code_text(&row.path) else { continue };
            if let Some(facts) = ingest::facts_of(&row.path, &text) {
                files.push(Arc::new(FactsOfFile { path: row.path.clone(), content_hash, facts }));
            }
        }
        Ok(())
    }

    /// The text of a file as it is now, if it may be shown.
    fn code_text(&self, path: &str) -> Option<(String, ContentHash)> {
        let path = RelPath::from_walk(path).ok()?;
        let read = self.text(&path, MAX_FILE_BYTES).ok()?;
        Some((read.text, read.content_hash))
    }

    fn search_facts(
        &self,
        facts: &CodeFacts,
        request: &CodeSearchRequest,
        stop: &Stop,
    ) -> Result<CodeSearchResults, Failure> {
        let CodeSearchRequest { query, filters, parts, limit, context } = request;
        let holding = self.files_holding(query);
        let mut left_out: HashMap<String, usize> = HashMap::new();
        let mut texts: Vec<Admitted> = Vec::new();
        for file in &facts.files {
            stop.check()?;
            let mut admitted = admitted(file, filters, *parts, &mut left_out);
            let is_holding = holding.as_ref().is_none_or(|paths| paths.contains(&file.path));
            if admitted.is_empty() || !is_holding {
                continue;
            }
            // Of a file that has changed since, nothing is at its place any more.
            let Some((text, hash)) = self.code_text(&file.path) else { continue };
            if hash != file.content_hash {
                continue;
            }
            if filters.asks_for_risks() {
                let facts = &file.facts;
                admitted.retain(|number| {
                    let number = declaration_of(facts, *parts, *number);
                    let part = text_of(&facts.declarations, number, &text);
                    filters.admits_text(&part, &facts.language, RiskRules::defaults())
                });
            }
            texts.push(Admitted { file: Arc::clone(file), numbers: admitted, text });
        }
        let pieces: Vec<(usize, usize, std::borrow::Cow<'_, str>)> = texts
            .iter()
            .enumerate()
            .flat_map(|(at, admitted)| {
                admitted.numbers.iter().map(move |number| (at, *number, admitted.part(*parts, *number)))
            })
            .collect();
        stop.check()?;
        let ranked = rank(
            pieces.iter().map(|(at, number, text)| RankedPart {
                path: &texts[*at].file.path,
                number: *number,
                name: match parts {
                    CodeParts::Declarations => {
                        texts[*at].file.facts.declarations.get(*number).map_or("", |each| each.name.as_str())
                    }
                    CodeParts::Comments => "",
                },
                text,
            }),
            query,
        );
        let total = ranked.len();
        let by_path: HashMap<&str, &Admitted> =
            texts.iter().map(|admitted| (admitted.file.path.as_str(), admitted)).collect();
        let hits = ranked
            .into_iter()
            .take(*limit)
            .filter_map(|hit| {
                let admitted = by_path.get(hit.path.as_str())?;
                Some(admitted.hit(*parts, hit.number, hit.score, *context))
            })
            .collect();
        let mut left_out: Vec<(String, usize)> = left_out.into_iter().collect();
        left_out.sort();
        Ok(CodeSearchResults { hits, total, is_complete: facts.is_complete, left_out })
    }

    /// The files that hold a token that every match needs; `None` where any file may match.
    fn files_holding(&self, query: &CodeQuery) -> Option<HashSet<String>> {
        let tokens = query.tokens();
        if tokens.is_empty() {
            return None;
        }
        let snapshot = self.index().snapshot();
        Some(tokens.iter().flat_map(|token| snapshot.files_with(token)).collect())
    }
}

/// A file with its text, and the parts of it that pass the filters.
struct Admitted {
    file: Arc<FactsOfFile>,
    numbers: Vec<usize>,
    text: String,
}

impl Admitted {
    fn part(&self, parts: CodeParts, number: usize) -> std::borrow::Cow<'_, str> {
        match parts {
            CodeParts::Declarations => text_of(&self.file.facts.declarations, number, &self.text),
            CodeParts::Comments => {
                self.file.facts.comments.get(number).map_or("", |comment| comment.text.as_str()).into()
            }
        }
    }

    fn hit(&self, parts: CodeParts, number: usize, score: f64, context: usize) -> CodeSearchHit {
        let facts = &self.file.facts;
        let (first, last) = match parts {
            CodeParts::Declarations => facts.declarations.get(number).map_or((1, 1), |each| each.lines),
            CodeParts::Comments => {
                facts.comments.get(number).map_or((1, 1), |comment| (comment.start_line, comment.end_line))
            }
        };
        let text = self.part(parts, number);
        let mut headline: String = text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .chars()
            .take(200)
            .collect();
        if let Some(declaration) = facts.declarations.get(number).filter(|_| parts == CodeParts::Declarations)
            && !declaration.signature.is_empty()
        {
            headline = declaration.signature.clone();
        }
        let lines = |from: usize, to: usize| {
            self.text.lines().skip(from).take(to.saturating_sub(from)).map(str::to_owned).collect::<Vec<_>>()
        };
        let (first, last) = (first.saturating_sub(1) as usize, last as usize);
        let (before, after) = if context == 0 {
            (Vec::new(), Vec::new())
        } else {
            (lines(first.saturating_sub(context), first), lines(last, last.saturating_add(context)))
        };
        CodeSearchHit { file: Arc::clone(&self.file), number, score, headline, before, after }
    }
}

/// The parts of a file that pass the filters. A file in a language for which a filter cannot answer is counted.
fn admitted(
    file: &FactsOfFile,
    filters: &CodeFilters,
    parts: CodeParts,
    left_out: &mut HashMap<String, usize>,
) -> Vec<usize> {
    if !filters.admits_path(&file.path) {
        return Vec::new();
    }
    let facts = &file.facts;
    let language = Language::from_name(&facts.language);
    let knowledge = |fact: Fact| language.map_or(Knowledge::Unknown, |language| language.knowledge(fact));
    for (name, fact) in filters.asked_facts() {
        if knowledge(fact) == Knowledge::Unknown {
            *left_out.entry(format!("{name} is not known for {} files", facts.language)).or_default() += 1;
            return Vec::new();
        }
    }
    if let Some(shortfall) = facts.shortfall.as_deref().filter(|_| facts.declarations.len() <= 1)
        && filters.asked_facts().next().is_some()
    {
        let reason = shortfall.split(':').next().unwrap_or_default();
        *left_out
            .entry(format!("{reason}: the file could not be read as {}", facts.language))
            .or_default() += 1;
        return Vec::new();
    }
    match parts {
        CodeParts::Declarations => facts
            .declarations
            .iter()
            .enumerate()
            .filter(|(_, declaration)| {
                filters.admits(CodeCandidate { path: &file.path, file: facts, declaration }, &knowledge)
            })
            .map(|(number, _)| number)
            .collect(),
        // Comments have no facts of their own: those of the innermost declaration around them count.
        CodeParts::Comments => facts
            .comments
            .iter()
            .enumerate()
            .filter(|(number, _)| {
                let declaration = facts.declarations.get(declaration_of(facts, parts, *number));
                declaration.is_some_and(|declaration| {
                    filters.admits(CodeCandidate { path: &file.path, file: facts, declaration }, &knowledge)
                })
            })
            .map(|(number, _)| number)
            .collect(),
    }
}

/// The number of the declaration that a part of a file is, or that a comment stands in.
fn declaration_of(facts: &FileFacts, parts: CodeParts, number: usize) -> usize {
    if parts == CodeParts::Declarations {
        return number;
    }
    let Some(comment) = facts.comments.get(number) else { return 0 };
    let holds = |each: &DeclarationFacts| each.bytes.0 <= comment.start && comment.end <= each.bytes.1;
    facts.declarations.iter().rposition(holds).unwrap_or(0)
}
