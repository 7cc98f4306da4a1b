//! Declarations and uses: the structure of one file, and questions across files.
//!
//! The lexical index says which files hold a name at all; only their outlines are looked at. An outline that is not
//! stored yet is made on the spot, so that an answer never waits for the background pass.

use std::sync::Arc;

use index::Snapshot;
use model::{DocType, ErrorCode, Failure, Outline, RelPath, Stop, Symbol};
use retrieve::symbols::{SymbolDefinition, SymbolName, SymbolUse, sort_definitions, with_evidence, words_in};

use crate::call::Call;
use crate::engine::Engine;
use crate::files::read_shown;
use crate::shared::SharedEngine;
use crate::view::FileView;

/// Files that are parsed for one question beyond those whose outlines are stored.
const MAX_PARSED: usize = 600;

/// The structure of one file.
#[derive(Debug, Clone, Default)]
pub struct FileStructure {
    pub path: String,
    /// `None` where the language is not known or switched off.
    pub language: Option<&'static str>,
    pub symbols: Vec<Symbol>,
    /// Why something is missing.
    pub shortfall: Option<String>,
}

/// A question about a name.
#[derive(Debug, Clone)]
pub struct SymbolRequest {
    pub symbol: String,
    /// Only in this file, or below this folder.
    pub path: Option<String>,
    pub limit: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Definitions {
    pub definitions: Vec<SymbolDefinition>,
    /// How many there are, shown or not.
    pub total: usize,
    pub is_complete: bool,
}

#[derive(Debug, Clone, Default)]
pub struct References {
    pub references: Vec<SymbolUse>,
    /// How many there are, shown or not.
    pub total: usize,
    pub is_complete: bool,
}

impl Engine {
    /// The declarations of one file, as it is now.
    pub async fn outline(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        path: String,
    ) -> Result<FileStructure, Failure> {
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(view));
        call.blocking(move |stop| {
            let path = shared.resolve(&path)?;
            let text = match read_shown(&shared, &view, &path) {
                Ok(text) => text,
                // A file that is not text has no declarations.
                Err(failure) if failure.code == ErrorCode::BinarySkipped => {
                    let path = path.as_str().to_owned();
                    let shortfall = Some(failure.message);
                    return Ok(FileStructure { path, shortfall, ..FileStructure::default() });
                }
                Err(failure) => return Err(failure),
            };
            stop.check()?;
            let path = path.as_str().to_owned();
            let Some(parsed) = view.structure(&path, &text) else {
                return Ok(FileStructure { path, ..FileStructure::default() });
            };
            let language = Some(parsed.language.name());
            let shortfall = parsed.shortfall.map(|shortfall| shortfall.to_string());
            Ok(FileStructure { path, language, symbols: parsed.symbols, shortfall })
        })
        .await
    }

    /// Where a name is declared.
    pub async fn find_definition(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        request: SymbolRequest,
    ) -> Result<Definitions, Failure> {
        let limit = request.limit;
        self.about(call, view, request, move |asked| {
            let mut found = Vec::new();
            for (path, outline) in &asked.files.outlines {
                found.extend(outline.iter().flat_map(|outline| asked.name.definitions(path, outline)));
            }
            sort_definitions(&mut found);
            let total = found.len();
            found.truncate(limit);
            Ok(Definitions { definitions: found, total, is_complete: asked.files.is_complete })
        })
        .await
    }

    /// Where a name is used.
    pub async fn references(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        request: SymbolRequest,
    ) -> Result<References, Failure> {
        let limit = request.limit;
        self.about(call, view, request, move |asked| {
            let mut found: Vec<SymbolUse> = Vec::new();
            let mut total = 0;
            for (path, outline) in &asked.files.outlines {
                asked.stop.check()?;
                let uses = match outline {
                    Some(outline) => asked.name.uses(path, outline),
                    None => asked.words_in(path),
                };
                total += uses.len();
                if found.len() < limit && !uses.is_empty() {
                    // What has moved since it was indexed is not shown in the wrong place.
                    let text = asked.text(path).unwrap_or_default();
                    let (shown, lost) = with_evidence(&text, uses, asked.name);
                    total -= lost;
                    found.extend(shown);
                }
            }
            found.truncate(limit);
            Ok(References { references: found, total, is_complete: asked.files.is_complete })
        })
        .await
    }

    /// Answers a question about a name from the outlines of the files that hold it.
    async fn about<T: Send + 'static>(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        request: SymbolRequest,
        answer: impl FnOnce(SymbolQuestion<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let name = SymbolName::parse(&request.symbol)?;
        let is_settled = self.settled(call).await?;
        self.want_outlines();
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(view));
        call.blocking(move |stop| {
            let within = request.path.map(|path| shared.resolve(&path)).transpose()?;
            let mut files = Holders::of(&shared, &view, &name, within.as_ref(), stop)?;
            files.is_complete &= is_settled;
            answer(SymbolQuestion { shared: &shared, view: &view, name: &name, files, stop })
        })
        .await
    }
}

/// What a question about a name is answered from.
struct SymbolQuestion<'a> {
    shared: &'a SharedEngine,
    view: &'a FileView,
    name: &'a SymbolName,
    files: Holders,
    stop: &'a Stop,
}

impl SymbolQuestion<'_> {
    fn text(&self, path: &str) -> Option<String> {
        let path = RelPath::from_walk(path).ok()?;
        read_shown(self.shared, self.view, &path).ok()
    }

    /// Uses in a file without structure, where it is code.
    fn words_in(&self, path: &str) -> Vec<SymbolUse> {
        let is_code =
            RelPath::from_walk(path).is_ok_and(|path| discover::classify(&path, &[]) == DocType::Code);
        let text = is_code.then(|| self.text(path)).flatten();
        text.map(|text| words_in(path, &text, self.name)).unwrap_or_default()
    }
}

/// The files that declare a qualified name, by path.
pub(crate) fn declaring(
    shared: &SharedEngine,
    view: &FileView,
    qualified: &str,
    stop: &Stop,
) -> Result<Vec<String>, Failure> {
    let name = SymbolName::parse(qualified)?;
    let files = Holders::of(shared, view, &name, None, stop)?;
    let declares = |outline: &Option<Outline>| {
        let mut declared = outline.iter().flat_map(|outline| &outline.definitions);
        declared.any(|each| name.is_declared_by(&each.qualified))
    };
    Ok(files.outlines.into_iter().filter(|(_, outline)| declares(outline)).map(|(path, _)| path).collect())
}

/// The files that hold a name, by path, each with its outline; `None` for a file without structure.
struct Holders {
    outlines: Vec<(String, Option<Outline>)>,
    is_complete: bool,
}

impl Holders {
    fn of(
        shared: &SharedEngine,
        view: &FileView,
        name: &SymbolName,
        within: Option<&RelPath>,
        stop: &Stop,
    ) -> Result<Holders, Failure> {
        let snapshot = shared.index().snapshot();
        let paths = candidates(shared, &snapshot, view, name, within);
        stop.check()?;
        let stored = shared.index().outlines(&paths, name.last())?;
        let mut outlines = Vec::with_capacity(paths.len());
        let mut missing = Vec::new();
        let mut is_complete = true;
        for (path, stored) in paths.into_iter().zip(stored) {
            stop.check()?;
            // Gone or forbidden since it was indexed: then nothing of it is told.
            let rel_path = RelPath::from_walk(&path).map_err(|error| policy::path_failure(&error))?;
            let Ok(file) = shared.facts(&rel_path) else { continue };
            if file.size > view.max_file_bytes {
                continue;
            }
            let is_python = rel_path.extension().is_some_and(|extension| extension.starts_with("py"));
            match stored {
                Some(outline) if view.python || !is_python => outlines.push((path, Some(outline))),
                _ if missing.len() < MAX_PARSED => missing.push(path),
                _ => is_complete = false,
            }
        }
        outlines.extend(parse_all(shared, view, &missing, name.last(), stop));
        stop.check()?;
        outlines.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Holders { outlines, is_complete })
    }
}

/// Outlines made on the spot, by as many threads as there are for indexing.
fn parse_all(
    shared: &SharedEngine,
    view: &FileView,
    paths: &[String],
    name: &str,
    stop: &Stop,
) -> Vec<(String, Option<Outline>)> {
    let threads = shared.config.threads.clamp(1, paths.len().max(1));
    let parse = |path: &String| {
        if stop.is_stopped() {
            return None;
        }
        let rel_path = RelPath::from_walk(path).ok()?;
        let text = read_shown(shared, view, &rel_path).ok()?;
        let structure = view.structure(path, &text);
        let whole = structure.filter(|parsed| !parsed.shortfall.as_ref().is_some_and(|s| s.is_total()));
        // Of hundreds of files only what the question is about is kept.
        Some((path.clone(), whole.as_ref().map(|parsed| ingest::summary(parsed).about(name))))
    };
    let part = move |first| paths.iter().skip(first).step_by(threads).filter_map(parse).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|first| {
                let spawned = std::thread::Builder::new().spawn_scoped(scope, move || part(first));
                // Where the system grants no thread, this one does its share.
                spawned.map_err(|_| part(first))
            })
            .collect();
        let done = |part: Result<std::thread::ScopedJoinHandle<'_, _>, _>| match part {
            Ok(thread) => thread.join().unwrap_or_default(),
            Err(done) => done,
        };
        parts.into_iter().flat_map(done).collect()
    })
}

fn candidates(
    shared: &SharedEngine,
    snapshot: &Arc<Snapshot>,
    view: &FileView,
    name: &SymbolName,
    within: Option<&RelPath>,
) -> Vec<String> {
    let Some(token) = index::tokens::query_tokens(name.last()).into_iter().next() else { return Vec::new() };
    let inside = |path: &str| {
        within.is_none_or(|within| {
            let rest = path.strip_prefix(within.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut paths = snapshot.files_with(&token);
    paths.retain(|path| {
        inside(path) && shared.allows(path) && RelPath::from_walk(path).is_ok_and(|path| view.shows(&path))
    });
    paths
}
