//! The allow-list: which folders are served, by which engine, and where in them a caller's path leads.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use model::{ErrorCode, Failure};

use crate::engine::Engine;

/// The roots of a workspace. The first engine is the primary root's, the others belong to further roots.
pub(crate) struct Roots {
    listed: Vec<Listed>,
    /// Further spellings of listed roots, and which engine serves them.
    spellings: Vec<(PathBuf, usize)>,
    engines: Vec<Arc<Engine>>,
}

/// A further root as it was configured.
pub enum FurtherRoot {
    /// It is there and has an index of its own.
    Open { path: PathBuf, engine: Arc<Engine> },
    /// It is another spelling of a root that is there already.
    Same { path: PathBuf, real: PathBuf },
    /// It lies within another root, whose index holds its files.
    Within { path: PathBuf, real: PathBuf },
    /// It could not be opened.
    Away { path: PathBuf, why: String },
}

struct Listed {
    /// As the operator wrote it.
    path: PathBuf,
    /// Which engine serves it, and where in that engine's root it begins; none where it could not be opened.
    served: Result<(usize, String), String>,
}

/// Where a caller's path leads.
pub(crate) struct Location {
    /// The number of the engine.
    pub(crate) number: usize,
    pub(crate) engine: Arc<Engine>,
    /// Relative to the engine's root; empty for the root itself.
    pub(crate) rel_path: String,
}

impl Roots {
    /// No folder at all: every call is told so.
    pub(crate) fn none() -> Roots {
        Roots { listed: Vec::new(), spellings: Vec::new(), engines: Vec::new() }
    }

    pub(crate) fn new(primary: Arc<Engine>, further: Vec<FurtherRoot>) -> Roots {
        let first = Listed { path: primary.root().to_owned(), served: Ok((0, String::new())) };
        let mut roots = Roots { listed: vec![first], spellings: Vec::new(), engines: vec![primary] };
        let (mut within, mut same) = (Vec::new(), Vec::new());
        for root in further {
            let listed = match root {
                FurtherRoot::Open { path, engine } => {
                    roots.engines.push(engine);
                    Listed { path, served: Ok((roots.engines.len() - 1, String::new())) }
                }
                FurtherRoot::Same { path, real } => {
                    same.push((path, real));
                    continue;
                }
                FurtherRoot::Within { path, real } => {
                    within.push((roots.listed.len(), real));
                    Listed { path, served: Err("it lies in no other root".to_owned()) }
                }
                FurtherRoot::Away { path, why } => Listed { path, served: Err(why) },
            };
            roots.listed.push(listed);
        }
        for (path, real) in same {
            let Some(number) = roots.engines.iter().position(|engine| engine.root() == real) else {
                continue;
            };
            // The operator's own spelling is shown, rather than the real path.
            if number == 0 && roots.listed[0].path == real {
                roots.listed[0].path = path;
            } else {
                roots.spellings.push((path, number));
            }
        }
        for (at, real) in within {
            if let Some(Ok(place)) = roots.find(&real) {
                roots.listed[at].served = Ok(place);
            }
        }
        roots
    }

    /// All allow-listed folders, the primary root first.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Path> {
        self.listed.iter().map(|root| root.path.as_path())
    }

    /// Those that cannot be searched, and why.
    pub(crate) fn away(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.listed
            .iter()
            .filter_map(|root| Some((root.path.as_path(), root.served.as_ref().err()?.as_str())))
    }

    pub(crate) fn engines(&self) -> &[Arc<Engine>] {
        &self.engines
    }

    /// Where an absolute path leads. Folders are compared name by name: `/a/fin` does not admit `/a/finance`.
    pub(crate) fn locate(&self, written: &str) -> Result<Location, Failure> {
        let forbidden = || {
            Failure::new(ErrorCode::Forbidden, "the path is not within the allow-listed roots")
                .hint("Give an absolute path below one of the folders that listRoots names.")
        };
        if written.contains('\0') {
            return Err(forbidden());
        }
        let path = normal(Path::new(written)).ok_or_else(forbidden)?;
        match self.find(&path) {
            Some(Ok((number, rel_path))) => {
                Ok(Location { number, engine: Arc::clone(&self.engines[number]), rel_path })
            }
            Some(Err(why)) => {
                Err(Failure::new(ErrorCode::FileNotFound, format!("the root cannot be read: {why}"))
                    .hint("Make it available and restart the server."))
            }
            None => Err(forbidden()),
        }
    }

    /// The absolute path of a file of an engine, as its caller knows the root.
    pub(crate) fn absolute(&self, number: usize, rel_path: &str) -> String {
        let whole =
            |root: &&Listed| matches!(&root.served, Ok((of, begin)) if *of == number && begin.is_empty());
        let root = self.listed.iter().find(whole).map_or(self.engines[number].root(), |root| &root.path);
        root.join(rel_path).to_string_lossy().into_owned()
    }

    /// The innermost root around a path. Both the configured spelling of a root and its real path count.
    fn find(&self, path: &Path) -> Option<Result<(usize, String), String>> {
        let spelled = self.listed.iter().map(|root| (root.path.as_path(), root.served.clone()));
        let whole = |number: usize| Ok((number, String::new()));
        let spellings = self.spellings.iter().map(|(path, number)| (path.as_path(), whole(*number)));
        let real = self.engines.iter().enumerate();
        let real = real.map(|(number, engine)| (engine.root(), whole(number)));
        spelled
            .chain(spellings)
            .chain(real)
            .filter_map(|(root, served)| Some((root, served, path.strip_prefix(root).ok()?)))
            // A root that is away does not hide the one around it, which may have its files.
            .max_by_key(|(root, served, _)| (served.is_ok(), root.components().count()))
            .map(|(_, served, rest)| {
                let (number, begin) = served?;
                let rest = rest.to_string_lossy();
                let separator = if begin.is_empty() || rest.is_empty() { "" } else { "/" };
                Ok((number, format!("{begin}{separator}{rest}")))
            })
    }
}

/// An absolute path without `.` and `..`, by its spelling alone: what links do to it is for the policy to find out.
fn normal(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    Some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_by_their_spelling() {
        let normal = |path: &str| normal(Path::new(path)).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(normal("/a/./b/../c").as_deref(), Some("/a/c"));
        assert_eq!(normal("/../../etc").as_deref(), Some("/etc"));
        assert_eq!(normal("a/b"), None);
        assert_eq!(normal(""), None);
    }
}
