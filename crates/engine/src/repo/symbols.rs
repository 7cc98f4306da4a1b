//! Declarations and uses: the structure of one file, and questions across files.
//!
//! The lexical index says which files hold a name at all; only their outlines are looked at. An outline that is not
//! stored yet is made on the spot, so that an answer never waits for the background pass.

use std::collections::HashMap;
use std::sync::Arc;

use index::Snapshot;
use model::{
    Definition, DocType, ErrorCode, Failure, Outline, ReferenceKind, RelPath, ScopeKind, Symbol, SymbolKind,
};
use policy::Guard;

use super::Repo;
use super::files::read;
use super::view::RepoView;
use crate::api::Call;
use crate::engine::{Shared, blocking};

/// Files that are parsed for one question beyond those whose outlines are stored.
const MAX_PARSED: usize = 600;

/// Characters of a line shown as evidence.
const EVIDENCE_CHARS: usize = 160;

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

#[derive(Debug, Clone, Default)]
pub struct Definitions {
    pub definitions: Vec<DefinitionFound>,
    /// How many there are, shown or not.
    pub total: usize,
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionFound {
    pub path: String,
    pub symbol: String,
    pub kind: SymbolKind,
    pub signature: String,
    pub start_line: u32,
    pub end_line: u32,
    pub scope_kind: ScopeKind,
}

#[derive(Debug, Clone, Default)]
pub struct References {
    pub references: Vec<ReferenceFound>,
    /// How many there are, shown or not.
    pub total: usize,
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceFound {
    pub symbol: String,
    pub path: String,
    pub line: u32,
    pub kind: ReferenceKind,
    pub evidence: String,
    /// From the syntax, or from the words alone.
    pub from_syntax: bool,
    pub confidence: &'static str,
}

impl Repo {
    /// The declarations of one file, as it is now.
    pub async fn outline(&self, call: &Call, path: String) -> Result<FileStructure, Failure> {
        let (shared, repo) = (self.shared(), self.clone());
        let work = blocking(call, move || {
            let path = repo.resolve(&path)?;
            let text = match read(&shared.guard, &repo.config.view, &path) {
                Ok(text) => text,
                // A file that is not text has no declarations.
                Err(failure) if failure.code == ErrorCode::BinarySkipped => {
                    let path = path.as_str().to_owned();
                    return Ok(FileStructure {
                        path,
                        shortfall: Some(failure.message),
                        ..FileStructure::default()
                    });
                }
                Err(failure) => return Err(failure),
            };
            let path = path.as_str().to_owned();
            let Some(parsed) = repo.config.view.structure(&path, &text) else {
                return Ok(FileStructure { path, ..FileStructure::default() });
            };
            let language = Some(parsed.language.name());
            let shortfall = parsed.shortfall.map(|shortfall| shortfall.to_string());
            Ok(FileStructure { path, language, symbols: parsed.symbols, shortfall })
        });
        self.engine.audited(call, work).await
    }

    /// Where a name is declared.
    pub async fn find_definition(
        &self,
        call: &Call,
        symbol: String,
        path: Option<String>,
        limit: usize,
    ) -> Result<Definitions, Failure> {
        self.about(call, symbol, path, move |asked| {
            let mut found = Vec::new();
            for (path, outline) in &asked.files.outlines {
                let declared = outline.iter().flat_map(|outline| &outline.definitions);
                let declared = declared.filter(|each| asked.name.is_declared_by(&each.qualified));
                found.extend(declared.map(|each| definition(path, each)));
            }
            let place = |each: &DefinitionFound| (each.start_line, each.end_line);
            found.sort_by(|a, b| {
                a.path.cmp(&b.path).then(place(a).cmp(&place(b))).then_with(|| a.symbol.cmp(&b.symbol))
            });
            let total = found.len();
            found.truncate(limit);
            Definitions { definitions: found, total, is_complete: asked.files.is_complete }
        })
        .await
    }

    /// Where a name is used.
    pub async fn references(
        &self,
        call: &Call,
        symbol: String,
        path: Option<String>,
        limit: usize,
    ) -> Result<References, Failure> {
        self.about(call, symbol, path, move |asked| {
            let Asked { guard, view, name, files } = asked;
            let mut found: Vec<ReferenceFound> = Vec::new();
            let mut total = 0;
            for (path, outline) in &files.outlines {
                let uses = match outline {
                    Some(outline) => name.uses(path, outline),
                    None => words_in(guard, view, path, &name),
                };
                total += uses.len();
                if found.len() < limit {
                    // What has moved since it was indexed is not shown in the wrong place.
                    let (shown, lost) = with_evidence(guard, view, path, uses, &name);
                    total -= lost;
                    found.extend(shown);
                }
            }
            found.truncate(limit);
            References { references: found, total, is_complete: files.is_complete }
        })
        .await
    }

    /// Answers a question about a name from the outlines of the files that hold it.
    async fn about<T: Send + 'static>(
        &self,
        call: &Call,
        symbol: String,
        path: Option<String>,
        answer: impl FnOnce(Asked<'_>) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.engine
            .audited(call, async {
                let name = Name::parse(&symbol)?;
                let is_settled = self.settled(call).await?;
                self.engine.want_outlines();
                let (shared, repo) = (self.shared(), self.clone());
                blocking(call, move || {
                    let within = path.map(|path| repo.resolve(&path)).transpose()?;
                    let view = &repo.config.view;
                    let mut files = Files::holding(&shared, view, &name, within.as_ref())?;
                    files.is_complete &= is_settled;
                    Ok(answer(Asked { guard: &shared.guard, view, name, files }))
                })
                .await
            })
            .await
    }
}

/// What a question about a name is answered from.
struct Asked<'a> {
    guard: &'a Guard,
    view: &'a RepoView,
    name: Name,
    files: Files,
}

/// The files that declare a qualified name, by path.
pub(super) fn declaring(shared: &Shared, view: &RepoView, qualified: &str) -> Result<Vec<String>, Failure> {
    let name = Name::parse(qualified)?;
    let files = Files::holding(shared, view, &name, None)?;
    let declares = |outline: &Option<Outline>| {
        let mut declared = outline.iter().flat_map(|outline| &outline.definitions);
        declared.any(|each| name.is_declared_by(&each.qualified))
    };
    Ok(files.outlines.into_iter().filter(|(_, outline)| declares(outline)).map(|(path, _)| path).collect())
}

fn definition(path: &str, each: &Definition) -> DefinitionFound {
    DefinitionFound {
        path: path.to_owned(),
        symbol: each.qualified.clone(),
        kind: each.kind,
        signature: each.signature.clone(),
        start_line: each.start_line,
        end_line: each.end_line,
        scope_kind: each.scope_kind,
    }
}

/// A name as somebody asks for it: `run`, `Service.run`, `service::Service::run()`.
struct Name {
    /// With dots.
    whole: String,
    last: String,
}

impl Name {
    fn parse(written: &str) -> Result<Name, Failure> {
        let bare = written.trim().trim_end_matches("()").replace("::", ".").replace(['#', '\\'], ".");
        let parts: Vec<&str> = bare.split('.').filter(|part| !part.is_empty()).collect();
        let Some(last) = parts.last() else {
            return Err(Failure::new(ErrorCode::InvalidField, "symbol names nothing"));
        };
        Ok(Name { whole: parts.join("."), last: (*last).to_owned() })
    }

    /// Equal, or one the end of the other.
    fn is_declared_by(&self, qualified: &str) -> bool {
        retrieve::bundle::declares(&self.whole, qualified)
    }

    fn is_qualified(&self) -> bool {
        self.whole.len() > self.last.len()
    }

    /// How sure it is that a use means the name that was asked for.
    fn confidence(&self, qualifier: Option<&str>) -> &'static str {
        let Some(qualifier) = qualifier else {
            return if self.is_qualified() { "low" } else { "high" };
        };
        if !self.is_qualified() {
            return "medium";
        }
        let qualifier = qualifier.replace("::", ".").replace("->", ".");
        let parent = &self.whole[..self.whole.len() - self.last.len() - 1];
        let same = qualifier == parent || qualifier.ends_with(&format!(".{parent}"));
        if same { "high" } else { "medium" }
    }

    fn uses(&self, path: &str, outline: &Outline) -> Vec<ReferenceFound> {
        let mut found = Vec::new();
        for uses in outline.uses.iter().filter(|uses| uses.name == self.last) {
            let symbol = match &uses.qualifier {
                Some(qualifier) => format!("{qualifier}.{}", uses.name),
                None => uses.name.clone(),
            };
            // `from util import helper` says itself which helper it means.
            let imported = uses.kind == ReferenceKind::Import && !self.is_qualified();
            let confidence = if imported { "high" } else { self.confidence(uses.qualifier.as_deref()) };
            found.extend(uses.lines.iter().map(|line| ReferenceFound {
                symbol: symbol.clone(),
                path: path.to_owned(),
                line: *line,
                kind: uses.kind,
                evidence: String::new(),
                from_syntax: true,
                confidence,
            }));
        }
        found.sort_by(|a, b| (a.line, &a.symbol, a.kind).cmp(&(b.line, &b.symbol, b.kind)));
        found
    }
}

/// The files that hold a name, by path, each with its outline; `None` for a file without structure.
struct Files {
    outlines: Vec<(String, Option<Outline>)>,
    is_complete: bool,
}

impl Files {
    fn holding(
        shared: &Shared,
        view: &RepoView,
        name: &Name,
        within: Option<&RelPath>,
    ) -> Result<Files, Failure> {
        let snapshot = shared.index().snapshot();
        let paths = candidates(shared, &snapshot, view, name, within);
        let stored = shared.index().outlines(&paths, &name.last)?;
        let mut outlines = Vec::with_capacity(paths.len());
        let mut missing = Vec::new();
        let mut is_complete = true;
        for (path, stored) in paths.into_iter().zip(stored) {
            // Gone or forbidden since it was indexed: then nothing of it is told.
            let rel_path = RelPath::from_walk(&path).map_err(|error| policy::path_failure(&error))?;
            let Ok(file) = shared.guard.open(&rel_path) else { continue };
            if file.size() > view.max_file_bytes {
                continue;
            }
            let is_python = rel_path.extension().is_some_and(|extension| extension.starts_with("py"));
            match stored {
                Some(outline) if view.python || !is_python => outlines.push((path, Some(outline))),
                _ if missing.len() < MAX_PARSED => missing.push(path),
                _ => is_complete = false,
            }
        }
        outlines.extend(parse_all(shared, view, &missing, &name.last));
        outlines.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Files { outlines, is_complete })
    }
}

/// Outlines made on the spot, by as many threads as there are for indexing.
fn parse_all(
    shared: &Shared,
    view: &RepoView,
    paths: &[String],
    name: &str,
) -> Vec<(String, Option<Outline>)> {
    let threads = shared.config.threads.clamp(1, paths.len().max(1));
    let parse = |path: &String| {
        let rel_path = RelPath::from_walk(path).ok()?;
        let text = read(&shared.guard, view, &rel_path).ok()?;
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
    shared: &Shared,
    snapshot: &Arc<Snapshot>,
    view: &RepoView,
    name: &Name,
    within: Option<&RelPath>,
) -> Vec<String> {
    let Some(token) = index::tokens::query_tokens(&name.last).into_iter().next() else { return Vec::new() };
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

/// Uses in code without structure: the lines that hold the name as a word.
fn words_in(guard: &Guard, view: &RepoView, path: &str, name: &Name) -> Vec<ReferenceFound> {
    let code = RelPath::from_walk(path).ok().filter(|path| discover::classify(path, &[]) == DocType::Code);
    let Some(text) = code.and_then(|path| read(guard, view, &path).ok()) else { return Vec::new() };
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| holds_word(line, &name.last))
        .map(|(line, text)| ReferenceFound {
            symbol: name.last.clone(),
            path: path.to_owned(),
            line,
            kind: if is_import(text) { ReferenceKind::Import } else { ReferenceKind::Read },
            evidence: String::new(),
            from_syntax: false,
            confidence: "low",
        })
        .collect()
}

fn is_import(line: &str) -> bool {
    let word = line.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    ["import", "from", "use", "using", "include", "require", "source"].contains(&word)
}

fn holds_word(line: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_name) && !line[at + word.len()..].starts_with(is_name))
}

/// The uses with their lines, and how many were not found there any more.
fn with_evidence(
    guard: &Guard,
    view: &RepoView,
    path: &str,
    uses: Vec<ReferenceFound>,
    name: &Name,
) -> (Vec<ReferenceFound>, usize) {
    if uses.is_empty() {
        return (uses, 0);
    }
    let count = uses.len();
    let text =
        RelPath::from_walk(path).ok().and_then(|path| read(guard, view, &path).ok()).unwrap_or_default();
    let lines: HashMap<u32, &str> = (1..).zip(text.lines()).collect();
    let shown: Vec<ReferenceFound> = uses
        .into_iter()
        .filter_map(|mut found| {
            let line = lines.get(&found.line).filter(|line| line.contains(&name.last))?;
            found.evidence = line.trim().chars().take(EVIDENCE_CHARS).collect();
            Some(found)
        })
        .collect();
    let lost = count - shown.len();
    (shown, lost)
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn names_match_by_their_ends() {
        let is = |asked: &str, declared: &str| Name::parse(asked).unwrap().is_declared_by(declared);
        assert!(is("run", "Service.run"));
        assert!(is("Service.run", "Service.run"));
        assert!(is("app.Service.run", "Service.run"));
        assert!(is("service::Service::run()", "Service.run"));
        assert!(is("Service.run", "app.Service.run"));
        assert!(is("Service.run", "run"));
        assert!(!is("Service.run", "Client.run"));
        assert!(!is("run", "Service.rerun"));
        assert!(Name::parse(" . ").is_err());
    }

    #[test]
    fn confidence_follows_what_the_name_was_reached_through() {
        let of = |asked: &str, qualifier| Name::parse(asked).unwrap().confidence(qualifier);
        assert_eq!(of("run", None), "high");
        assert_eq!(of("run", Some("x")), "medium");
        assert_eq!(of("Service.run", Some("Service")), "high");
        assert_eq!(of("Service.run", Some("x")), "medium");
        assert_eq!(of("Service.run", None), "low");
    }
}
