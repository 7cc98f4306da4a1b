//! Which found configuration files the user trusts: by path and digest, in the user's own configuration directory. A
//! file that changes has to be trusted again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files;
use super::trust::UnnamedFile;
use crate::print::safe;

/// Its name in the user's configuration directory.
const FILE_NAME: &str = "trust.json";

const VERSION: u32 = 1;

/// The trusted files. Nothing is trusted where there is no configuration directory.
#[derive(Debug, Default)]
pub(crate) struct TrustStore {
    path: Option<PathBuf>,
    files: BTreeMap<PathBuf, String>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    /// The digest of each trusted file, by its path.
    files: BTreeMap<PathBuf, String>,
}

impl TrustStore {
    /// Reads what was trusted before. A file that others may write, or that cannot be read, counts for nothing.
    pub(crate) fn read(config_dir: Option<&Path>, warnings: &mut Vec<String>) -> TrustStore {
        let Some(path) = config_dir.map(|folder| folder.join(FILE_NAME)) else {
            return TrustStore::default();
        };
        let ignored = |why: &str| format!("{} is ignored: {why}", safe(&path.to_string_lossy()));
        let files = match files::read_if_present(&path) {
            Ok(None) => BTreeMap::new(),
            Ok(Some(file)) if file.mode & 0o022 != 0 => {
                warnings.push(ignored("others may write to it; run chmod 600"));
                BTreeMap::new()
            }
            Ok(Some(file)) => match serde_json::from_str::<Saved>(&file.text) {
                Ok(saved) if saved.version == VERSION => saved.files,
                Ok(_) => {
                    warnings.push(ignored("a newer version wrote it"));
                    BTreeMap::new()
                }
                Err(_) => {
                    warnings.push(ignored("it is not a list of trusted files"));
                    BTreeMap::new()
                }
            },
            Err(error) => {
                warnings.push(ignored(&error.to_string()));
                BTreeMap::new()
            }
        };
        TrustStore { path: Some(path), files }
    }

    pub(crate) fn holds(&self, file: &UnnamedFile) -> bool {
        self.files.get(&file.path).is_some_and(|digest| *digest == file.digest)
    }

    /// Every trusted path with the digest that was trusted.
    pub(crate) fn files(&self) -> &BTreeMap<PathBuf, String> {
        &self.files
    }

    pub(crate) fn add(&mut self, file: &UnnamedFile) -> io::Result<()> {
        self.files.insert(file.path.clone(), file.digest.clone());
        self.write()
    }

    /// Forgets a path; false where it was not trusted.
    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<bool> {
        let known = self.files.remove(path).is_some();
        if known {
            self.write()?;
        }
        Ok(known)
    }

    fn write(&self) -> io::Result<()> {
        let Some(path) = &self.path else {
            let message = "there is no configuration directory to keep it in: HOME is not set";
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        };
        if let Some(folder) = path.parent() {
            files::make_private_dir(folder)?;
        }
        let saved = Saved { version: VERSION, files: self.files.clone() };
        let text = serde_json::to_string_pretty(&saved).map_err(io::Error::other)?;
        files::write(path, &format!("{text}\n"), 0o600)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_trusted_is_known_until_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("config/dir2mcp");
        let mut warnings = Vec::new();
        let file = UnnamedFile::new(Path::new("/r/.dir2mcp.yaml"), "one");
        TrustStore::read(Some(&folder), &mut warnings).add(&file).unwrap();
        let mut store = TrustStore::read(Some(&folder), &mut warnings);
        assert!(store.holds(&file));
        assert!(!store.holds(&UnnamedFile::new(&file.path, "two")));
        assert!(!store.holds(&UnnamedFile::new(Path::new("/s/.dir2mcp.yaml"), "one")));
        let path = folder.join(FILE_NAME);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(store.remove(&file.path).unwrap() && !store.remove(&file.path).unwrap());
        assert!(!TrustStore::read(Some(&folder), &mut warnings).holds(&file));
        assert_eq!(warnings, [""; 0]);
    }

    #[test]
    fn a_list_that_others_may_write_or_that_is_broken_counts_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = UnnamedFile::new(Path::new("/r/.dir2mcp.yaml"), "one");
        let path = dir.path().join(FILE_NAME);
        TrustStore::read(Some(dir.path()), &mut Vec::new()).add(&file).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        let mut warnings = Vec::new();
        assert!(!TrustStore::read(Some(dir.path()), &mut warnings).holds(&file));
        std::fs::remove_file(&path).unwrap();
        files::write(&path, "[]", 0o600).unwrap();
        assert!(!TrustStore::read(Some(dir.path()), &mut warnings).holds(&file));
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(TrustStore::read(None, &mut warnings).add(&file).is_err());
    }
}
