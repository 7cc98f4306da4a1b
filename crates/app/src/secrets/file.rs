//! The secrets file: `NAME=value` lines that only their owner may read.

use std::io;
use std::path::{Path, PathBuf};

use super::Secret;
use crate::config::{env, files};
use crate::print::safe;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretFileError {
    #[error(
        "{0} may be read by others (mode {mode:04o}); run: chmod 600 {0}",
        safe(&path.to_string_lossy())
    )]
    Shared { path: PathBuf, mode: u32 },
    #[error("cannot use the secrets file {0}: {error}", safe(&path.to_string_lossy()))]
    Io { path: PathBuf, error: io::Error },
    #[error("a key is one line of visible characters")]
    NotALine,
}

/// The value of `name`, if the file is there and has one.
pub(crate) fn lookup(path: &Path, name: &str) -> Result<Option<Secret>, SecretFileError> {
    let Some(file) = read(path)? else { return Ok(None) };
    let value =
        env::parse_dotenv(&file).into_iter().rev().find(|(known, value)| known == name && !value.is_empty());
    Ok(value.map(|(_, value)| Secret::new(value)))
}

/// Sets `name`, and keeps the other lines as they are.
pub(crate) fn store(path: &Path, name: &str, secret: &Secret) -> Result<(), SecretFileError> {
    if !is_one_word(secret) {
        return Err(SecretFileError::NotALine);
    }
    let before = read(path)?.unwrap_or_default();
    let mut text = String::new();
    for line in before.lines() {
        let sets_it = env::parse_dotenv(line).first().is_some_and(|(known, _)| known == name);
        if !sets_it {
            text.push_str(line);
            text.push('\n');
        }
    }
    // Single quotes take everything that is_one_word lets through.
    text.push_str(&format!("{name}='{}'\n", secret.expose()));
    let failed = |error| SecretFileError::Io { path: path.into(), error };
    if let Some(folder) = path.parent() {
        files::prepare_state_dir(folder).map_err(failed)?;
    }
    files::write(path, &text, 0o600).map_err(failed)
}

/// True for a key as services hand them out: visible ASCII, no quote.
pub(crate) fn is_one_word(secret: &Secret) -> bool {
    let text = secret.expose();
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != '\'')
}

fn read(path: &Path) -> Result<Option<String>, SecretFileError> {
    let failed = |error| SecretFileError::Io { path: path.into(), error };
    match files::read_if_present(path).map_err(failed)? {
        Some(file) if file.is_shared() => Err(SecretFileError::Shared { path: path.into(), mode: file.mode }),
        file => Ok(file.map(|file| file.text)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn d187_the_file_is_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/secret.env");
        store(&path, "A", &Secret::new("one")).unwrap();
        store(&path, "B", &Secret::new("two")).unwrap();
        store(&path, "A", &Secret::new("three")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "B='two'\nA='three'\n");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert_eq!(lookup(&path, "B").unwrap(), Some(Secret::new("two")));
        assert_eq!(lookup(&path, "C").unwrap(), None);

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = lookup(&path, "B").unwrap_err().to_string();
        assert!(
            error.contains("mode 0640") && error.contains("chmod 600") && !error.contains("two"),
            "{error}"
        );
    }

    #[test]
    fn a_key_that_is_no_line_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["", "a b", "a\nB=1", "a'b", "é"] {
            let result = store(&dir.path().join("secret.env"), "A", &Secret::new(text));
            assert!(matches!(result, Err(SecretFileError::NotALine)), "{text:?}");
        }
    }
}
