//! A state directory belongs to one root, whose identity is kept in `root.json`. Another root is refused: it would be
//! shown the first one's files, or take the index away from it.
//!
//! A state directory that lies in its root may come with it from elsewhere, so nothing in it is followed or believed
//! that could reach beyond it: links are refused, and a token or an address that this root did not make is dropped.

#![allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::corpus::read_corpus;
use crate::state::{prepare_state_dir, write, write_new};

const FILE: &str = "root.json";
const VERSION: u32 = 1;

/// What lies in a state directory, by the beginning of its name. A directory that was named on purpose may hold other
/// things, which are none of our business.
const OWN: &[&str] = &[
    FILE,
    ".gitignore",
    ".dir2mcp.yaml.snapshot",
    "meta.sqlite",
    "lexical",
    "vectors_",
    "embedders.json",
    "corpus.json",
    "connection",
    "secret.",
    "locks",
    "audit.",
    "last_bundle.",
    "refreshed.json",
    "indexed.json",
    "roots",
    "projects",
    "project.sqlite",
    "logs",
    "servers",
    "rebuild",
    "rebuilt",
];

/// Files that say who may call and where: only those that were made for this very root are believed.
const MADE_HERE: &[&str] = &["secret.token", "connection.json"];

/// The same for each server that runs.
const SERVERS: &str = "servers";

#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    #[error("the state directory {} belongs to another root, {owner}, and cannot serve {}", .path.display(), .root.display())]
    Foreign { path: PathBuf, owner: String, root: PathBuf },
    #[error("{} is a symbolic link; the files of a state directory must lie in it", .0.display())]
    Link(PathBuf),
    #[error("the state directory cannot be made: there is a file called {}", .0.display())]
    File(PathBuf),
    #[error("the state directory {} cannot be used: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// How a state directory came to its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belonging {
    /// It was made for it.
    Own,
    /// It was made for another folder, or for an unknown one, and came along with this one.
    Adopted,
}

/// Makes the state directory, or takes the one that is there, for this root. To be called before anything is read from
/// it or written to it.
pub fn claim(root: &Path, state_dir: &Path) -> Result<(), StateDirError> {
    let failed = |source| StateDirError::Io { path: state_dir.to_owned(), source };
    // Looked at before anything is made in it.
    check(root, state_dir)?;
    prepare_state_dir(state_dir).map_err(failed)?;
    protect(state_dir)?;
    let record = Record::of(root, state_dir).map_err(failed)?;
    let text = serde_json::to_string_pretty(&record).map_err(|error| failed(error.into()))? + "\n";
    let path = state_dir.join(FILE);
    let known = Record::read(state_dir).map_err(failed)?;
    match &known {
        KnownRoot::Record(known) if *known == record => return Ok(()),
        // Another process may be claiming it at this moment.
        KnownRoot::Nothing if !write_new(&path, &text, 0o600).map_err(failed)? => {
            return claim(root, state_dir);
        }
        _ => {}
    }
    if !matches!(&known, KnownRoot::Record(known) if known.made_for(&record)) {
        match fs::remove_dir_all(state_dir.join(SERVERS)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        for name in MADE_HERE {
            match fs::remove_file(state_dir.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
    }
    match known {
        KnownRoot::Nothing => Ok(()),
        KnownRoot::Broken | KnownRoot::Record(_) => write(&path, &text, 0o600).map_err(failed),
    }
}

/// Whether the state directory, if there is one, may be read for this root.
pub fn check(root: &Path, state_dir: &Path) -> Result<Belonging, StateDirError> {
    let failed = |source| StateDirError::Io { path: state_dir.to_owned(), source };
    refuse_link(state_dir)?;
    if fs::metadata(state_dir).is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(StateDirError::File(state_dir.to_owned()));
    }
    let here = Record::of(root, state_dir).map_err(failed)?;
    let foreign =
        |owner: String| StateDirError::Foreign { path: state_dir.to_owned(), owner, root: root.to_owned() };
    match Record::read(state_dir).map_err(failed)? {
        KnownRoot::Record(known) if known.made_for(&here) => Ok(Belonging::Own),
        // The folder was copied or moved to another disk, state directory and all.
        KnownRoot::Record(known) if known.place.is_some() && known.place == here.place => {
            Ok(Belonging::Adopted)
        }
        KnownRoot::Record(known) => Err(foreign(known.root)),
        KnownRoot::Nothing | KnownRoot::Broken => match read_corpus(state_dir) {
            Some(corpus) if here.place.is_none() && corpus.root != here.root => Err(foreign(corpus.root)),
            _ => Ok(Belonging::Adopted),
        },
    }
}

/// Who a state directory was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    version: u32,
    /// The root's real path, as people read it.
    root: String,
    /// The digest of that path, byte by byte.
    path: String,
    /// Where the state directory lies in the root, if it does.
    place: Option<String>,
    device: u64,
    inode: u64,
    /// When the root was made, where the file system knows. It tells a renamed folder from a new one that was given the
    /// number of a deleted one.
    created_ns: Option<u64>,
}

/// What `root.json` says.
enum KnownRoot {
    Nothing,
    /// It cannot be read, so nothing is believed for its sake.
    Broken,
    Record(Record),
}

impl Record {
    fn of(root: &Path, state_dir: &Path) -> io::Result<Record> {
        let metadata = fs::metadata(root)?;
        let real = state_dir.canonicalize().unwrap_or_else(|_| state_dir.to_owned());
        let created = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Record {
            version: VERSION,
            root: root.to_string_lossy().into_owned(),
            path: blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex().to_string(),
            place: real.strip_prefix(root).ok().map(|place| place.to_string_lossy().into_owned()),
            device: metadata.dev(),
            inode: metadata.ino(),
            created_ns: created.and_then(|time| u64::try_from(time.as_nanos()).ok()),
        })
    }

    fn read(state_dir: &Path) -> io::Result<KnownRoot> {
        match fs::read(state_dir.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).map_or(KnownRoot::Broken, KnownRoot::Record)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(KnownRoot::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether both speak of one folder: of the same path, or of one that was renamed.
    fn made_for(&self, other: &Record) -> bool {
        let object = |record: &Record| Some((record.device, record.inode, record.created_ns?));
        self.path == other.path || (object(self).is_some() && object(self) == object(other))
    }
}

/// Takes away what others may do with our files, and refuses links among them: one could lead a write anywhere.
fn protect(state_dir: &Path) -> Result<(), StateDirError> {
    let failed = |source| StateDirError::Io { path: state_dir.to_owned(), source };
    let mut only_ours = true;
    for entry in fs::read_dir(state_dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        // The temporary names of `state::write` begin with a dot.
        let name = name.to_string_lossy();
        let is_ours =
            OWN.iter().any(|own| name.starts_with(own) || name.trim_start_matches('.').starts_with(own));
        if !is_ours {
            only_ours = false;
            continue;
        }
        restrict(&entry.path(), name != "roots")?;
    }
    if only_ours {
        restrict_mode(state_dir);
    }
    Ok(())
}

fn restrict(path: &Path, inside: bool) -> Result<(), StateDirError> {
    refuse_link(path)?;
    let failed = |source| StateDirError::Io { path: path.to_owned(), source };
    let metadata = match fs::symlink_metadata(path) {
        // A temporary file that another process has put in its place meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(failed)?,
    };
    restrict_mode(path);
    if metadata.is_dir() && inside {
        for entry in fs::read_dir(path).map_err(failed)? {
            restrict(&entry.map_err(failed)?.path(), true)?;
        }
    }
    Ok(())
}

/// Leaves only the owner's rights, where we may: on another user's directory, or on a file system
/// without modes, new files are ours alone in any case.
fn restrict_mode(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700));
    }
}

fn refuse_link(path: &Path) -> Result<(), StateDirError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(StateDirError::Link(path.to_owned())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folders(names: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let paths: Vec<PathBuf> = names.iter().map(|name| base.join(name)).collect();
        paths.iter().for_each(|path| fs::create_dir(path).unwrap());
        (dir, paths)
    }

    fn foreign(result: Result<impl std::fmt::Debug, StateDirError>) -> bool {
        matches!(result, Err(StateDirError::Foreign { .. }))
    }

    #[test]
    fn d004_a_state_directory_serves_one_root() {
        let (dir, roots) = folders(&["a", "b"]);
        let state = dir.path().canonicalize().unwrap().join("state");
        claim(&roots[0], &state).unwrap();
        claim(&roots[0], &state).unwrap();
        assert_eq!(check(&roots[0], &state).unwrap(), Belonging::Own);
        assert!(foreign(check(&roots[1], &state)) && foreign(claim(&roots[1], &state)));
        // The same for the state directory inside another root, or inside a folder of this one.
        claim(&roots[0], &roots[0].join(".dir2mcp")).unwrap();
        assert!(foreign(check(&roots[1], &roots[0].join(".dir2mcp"))));
        assert!(foreign(check(roots[0].parent().unwrap(), &roots[0].join(".dir2mcp"))));
    }

    #[test]
    fn a_folder_that_moves_or_is_renamed_keeps_its_state() {
        let (dir, roots) = folders(&["a"]);
        let base = dir.path().canonicalize().unwrap();
        let (inside, beside) = (roots[0].join(".dir2mcp"), base.join("state"));
        claim(&roots[0], &inside).unwrap();
        claim(&roots[0], &beside).unwrap();
        fs::write(inside.join("secret.token"), "t").unwrap();
        let moved = base.join("moved");
        fs::rename(&roots[0], &moved).unwrap();
        assert!(check(&moved, &moved.join(".dir2mcp")).is_ok());
        claim(&moved, &moved.join(".dir2mcp")).unwrap();
        if fs::metadata(&moved).unwrap().created().is_ok() {
            assert_eq!(check(&moved, &beside).unwrap(), Belonging::Own);
            assert!(moved.join(".dir2mcp/secret.token").exists(), "a renamed folder keeps its token");
        }
        assert_eq!(check(&moved, &moved.join(".dir2mcp")).unwrap(), Belonging::Own);
    }

    #[test]
    fn a_copy_keeps_the_index_and_drops_who_may_call() {
        let (_dir, roots) = folders(&["a", "b"]);
        let (old, new) = (roots[0].join(".dir2mcp"), roots[1].join(".dir2mcp"));
        claim(&roots[0], &old).unwrap();
        fs::create_dir(&new).unwrap();
        fs::copy(old.join(FILE), new.join(FILE)).unwrap();
        for name in ["secret.token", "connection.json", "meta.sqlite"] {
            fs::write(new.join(name), "brought along").unwrap();
        }
        assert_eq!(check(&roots[1], &new).unwrap(), Belonging::Adopted);
        claim(&roots[1], &new).unwrap();
        assert_eq!(check(&roots[1], &new).unwrap(), Belonging::Own);
        assert!(new.join("meta.sqlite").exists());
        assert!(!new.join("secret.token").exists() && !new.join("connection.json").exists());
    }

    #[test]
    fn a_broken_record_is_written_again_and_nothing_is_believed() {
        let (_dir, roots) = folders(&["a"]);
        let state = roots[0].join(".dir2mcp");
        claim(&roots[0], &state).unwrap();
        for name in [FILE, "secret.token"] {
            fs::write(state.join(name), "broken").unwrap();
        }
        claim(&roots[0], &state).unwrap();
        assert_eq!(check(&roots[0], &state).unwrap(), Belonging::Own);
        assert!(!state.join("secret.token").exists());
    }

    #[test]
    fn links_are_refused_wherever_they_stand() {
        let (_dir, roots) = folders(&["a", "b"]);
        let state = roots[0].join(".dir2mcp");
        symlink(&roots[1], &state).unwrap();
        assert!(matches!(claim(&roots[0], &state), Err(StateDirError::Link(_))));
        assert!(matches!(check(&roots[0], &state), Err(StateDirError::Link(_))));
        assert_eq!(fs::read_dir(&roots[1]).unwrap().count(), 0);
        fs::remove_file(&state).unwrap();
        for name in ["audit.jsonl", "lexical", "locks/index.lock", "meta.sqlite", "secret.token"] {
            let path = state.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(roots[1].join("victim"), &path).unwrap();
            assert!(matches!(claim(&roots[0], &state), Err(StateDirError::Link(_))), "{name}");
            fs::remove_file(&path).unwrap();
        }
        claim(&roots[0], &state).unwrap();
    }

    #[test]
    fn what_is_ours_is_for_its_owner_alone() {
        let (_dir, roots) = folders(&["a", "b"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let state = roots[0].join("state");
        fs::create_dir_all(state.join("lexical")).unwrap();
        for name in ["meta.sqlite", "lexical/seg"] {
            fs::write(state.join(name), "x").unwrap();
            open(&state.join(name), 0o644);
        }
        open(&state, 0o755);
        claim(&roots[0], &state).unwrap();
        assert_eq!((mode(&state), mode(&state.join("meta.sqlite"))), (0o700, 0o600));
        assert_eq!((mode(&state.join("lexical")), mode(&state.join("lexical/seg"))), (0o700, 0o600));
        // A directory that holds other things keeps its mode, and so do they.
        let shared = &roots[1];
        fs::write(shared.join("other.txt"), "x").unwrap();
        open(&shared.join("other.txt"), 0o644);
        open(shared, 0o755);
        claim(&roots[0], shared).unwrap();
        assert_eq!((mode(shared), mode(&shared.join("other.txt"))), (0o755, 0o644));
        assert_eq!(mode(&shared.join(FILE)), 0o600);
    }
}
