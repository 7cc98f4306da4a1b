//! The roots of the workspace: which of the configured folders get an index of their own, and where it lies.

use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::config::files::open_root;

/// A root and its index.
pub(crate) struct RootPlace {
    /// Its real path.
    pub root: PathBuf,
    pub state_dir: PathBuf,
    pub gitignore: bool,
    /// Folders below it that are roots with an index of their own.
    pub without: Vec<PathBuf>,
}

/// What became of a configured folder.
pub(crate) enum FoundRoot {
    /// It has an index of its own.
    Own(RootPlace),
    /// It is a root that is there already, by another name or by the same.
    Same(PathBuf),
    /// It lies within another root.
    Within(PathBuf),
    /// It cannot be opened.
    Away(String),
}

impl RootPlace {
    /// The root directory. Where the smart or the repository tools alone would index it differently from the others, they
    /// have an index of their own for it, beside those of the further roots: tools that share an index must agree on what is
    /// in it, or each would read everything again whenever the other had been there.
    pub(crate) fn primary(settings: &Settings) -> RootPlace {
        let workspace = &settings.workspace;
        let differs = workspace.is_alone && workspace.gitignore != settings.ingest.gitignore;
        let (state_dir, gitignore) = if differs {
            (state_dir(settings, &settings.root), workspace.gitignore)
        } else if settings.repo.is_apart {
            (state_dir(settings, &settings.root).with_added_extension("repo"), settings.ingest.gitignore)
        } else {
            (settings.state_dir.clone(), settings.ingest.gitignore)
        };
        RootPlace {
            root: settings.root.clone(),
            state_dir,
            gitignore,
            // What lies within the primary root is served by it.
            without: Vec::new(),
        }
    }
}

/// The folders beside the primary root, as configured.
pub(crate) fn further(settings: &Settings) -> Vec<(PathBuf, FoundRoot)> {
    let real: Vec<(&PathBuf, Result<PathBuf, String>)> = settings
        .workspace
        .roots
        .iter()
        .map(|path| (path, open_root(path).map_err(|error| format!("{}: {error}", path.display()))))
        .collect();
    let others: Vec<&PathBuf> = real.iter().filter_map(|(_, root)| root.as_ref().ok()).collect();
    let mut found = Vec::new();
    for (at, (path, root)) in real.iter().enumerate() {
        let root = match root {
            Ok(root) => root,
            Err(why) => {
                found.push(((*path).clone(), FoundRoot::Away(why.clone())));
                continue;
            }
        };
        let repeated = real[..at].iter().any(|(_, other)| other.as_ref() == Ok(root));
        if repeated || *root == settings.root {
            found.push(((*path).clone(), FoundRoot::Same(root.clone())));
            continue;
        }
        let inside = |other: &PathBuf| root != other && root.starts_with(other);
        if root.starts_with(&settings.root) || others.iter().any(|other| inside(other)) {
            found.push(((*path).clone(), FoundRoot::Within(root.clone())));
            continue;
        }
        let place = RootPlace {
            root: root.clone(),
            state_dir: state_dir(settings, root),
            gitignore: settings.workspace.gitignore,
            // The primary root keeps its own index, wherever it lies.
            without: vec![settings.root.clone()],
        };
        found.push(((*path).clone(), FoundRoot::Own(place)));
    }
    found
}

/// Every folder that is served; the process is confined to them.
pub(crate) fn folders(settings: &Settings) -> impl Iterator<Item = PathBuf> {
    let further = settings.workspace.roots.iter().filter_map(|path| open_root(path).ok());
    std::iter::once(settings.root.clone()).chain(further)
}

/// Where the index of a further root lies: readable, and told apart from others of the same name.
pub(crate) fn state_dir(settings: &Settings, root: &Path) -> PathBuf {
    let name: String = root
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(40)
        .collect();
    let digest = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    settings.state_dir.join("roots").join(format!("{}-{}", name.trim_start_matches('.'), &digest[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::load_in;

    #[test]
    fn c08_each_folder_is_indexed_once() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["main/inner", "a/b", "c"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(base.join("c"), base.join("link")).unwrap();
        let roots = "main/inner,a/b,a,c,a,link,main,gone";
        let settings = load_in(&base, &["--dir", "main", "--roots", roots, "up"], &[]).unwrap().settings;
        let kinds: Vec<(String, &str)> = further(&settings)
            .into_iter()
            .map(|(path, found)| {
                let kind = match found {
                    FoundRoot::Own(_) => "own",
                    FoundRoot::Same(_) => "same",
                    FoundRoot::Within(_) => "within",
                    FoundRoot::Away(_) => "away",
                };
                (path.strip_prefix(&base).unwrap().display().to_string(), kind)
            })
            .collect();
        let expected = [
            ("main/inner", "within"),
            ("a/b", "within"),
            ("a", "own"),
            ("c", "own"),
            ("link", "same"),
            ("main", "same"),
            ("gone", "away"),
        ];
        assert_eq!(kinds, expected.map(|(path, kind)| (path.to_owned(), kind)));
    }

    /// The same state directory under the same rules, or another one.
    #[test]
    fn the_chosen_tools_never_change_what_a_shared_index_holds() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let place = |flags: &[&str], env: &[(&str, &str)]| {
            let settings = load_in(&base, &[&["up"], flags].concat(), env).unwrap().settings;
            let place = RootPlace::primary(&settings);
            let digest = crate::wire::ingest_rules(&settings, &place).digest();
            (place.state_dir, digest)
        };
        let (shared, rules) = place(&[], &[]);
        assert_eq!(shared, base.join(".dir2mcp"));
        for tools in ["dir2mcp", "dir2mcp,repo", "repo,smart", "dir2mcp,smart", "dir2mcp,repo,smart"] {
            assert_eq!(place(&["--tools", tools], &[]), (shared.clone(), rules.clone()), "{tools}");
        }
        for tools in ["smart", "repo"] {
            assert_ne!(place(&["--tools", tools], &[]).0, shared, "{tools} indexes other files");
        }
        // Once the setting is made, the smart tools mean the same by it as all others.
        for said in ["true", "false"] {
            let env = [("DIR2MCP_INGEST_GITIGNORE", said)];
            let others = place(&["--tools", "dir2mcp"], &env);
            assert_eq!(place(&["--tools", "smart"], &env), others);
            assert_eq!(others.1 == rules, said == "true", "a setting that matters changes the rules");
        }
    }

    #[test]
    fn without_a_directory_the_first_root_is_it() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a")).unwrap();
        let settings = load_in(&base, &["--roots", "a", "up"], &[]).unwrap().settings;
        assert_eq!(settings.root, base.join("a"));
        let env = [("DIR2MCP_WORKSPACE_ROOTS", "a")];
        assert_eq!(load_in(&base, &["up"], &env).unwrap().settings.root, base.join("a"));
    }
}
