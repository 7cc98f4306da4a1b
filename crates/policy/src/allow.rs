//! `security.allow`: what the owner looked at and found to be no secret, by path or by line.

use model::RelPath;
use sha2::{Digest, Sha256};

use crate::deny::Excludes;
use crate::policy::PolicyError;

/// What a line's digest begins with in the configuration.
const LINE: &str = "sha256:";

/// Fewer digits than these could be met by chance, or made to.
const LEAST_DIGITS: usize = 16;

/// The compiled list.
#[derive(Debug)]
pub(crate) struct AllowList {
    paths: Excludes,
    /// Hex digits that the SHA-256 of a line begins with.
    lines: Vec<String>,
}

impl AllowList {
    /// Reads globs of paths, as in `security.path_excludes`, and digests of lines: `sha256:` and at least 16 hex digits.
    pub(crate) fn new(entries: &[String]) -> Result<AllowList, PolicyError> {
        let (lines, paths): (Vec<&String>, Vec<&String>) =
            entries.iter().partition(|entry| entry.starts_with(LINE));
        let digits = |entry: &String| {
            let digits = entry[LINE.len()..].to_ascii_lowercase();
            let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if hex && (LEAST_DIGITS..=64).contains(&digits.len()) {
                Ok(digits)
            } else {
                Err(PolicyError::Allow { entry: entry.clone() })
            }
        };
        let lines = lines.into_iter().map(digits).collect::<Result<_, _>>()?;
        let paths: Vec<String> = paths.into_iter().cloned().collect();
        let paths = Excludes::new(&paths).map_err(|error| match error {
            PolicyError::Glob { pattern, .. } => PolicyError::Allow { entry: pattern },
            other => other,
        })?;
        Ok(AllowList { paths, lines })
    }

    pub(crate) fn allows_path(&self, path: &RelPath) -> bool {
        self.paths.check(path, false).is_err()
    }

    /// The line without its line end, as `sed -n 14p FILE | tr -d '\n' | sha256sum` sees it.
    pub(crate) fn allows_line(&self, line: &[u8]) -> bool {
        if self.lines.is_empty() {
            return false;
        }
        let digest: String = Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect();
        self.lines.iter().any(|allowed| digest.starts_with(allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_lines() {
        // printf 'token = x' | sha256sum
        let digest = "sha256:8b1d4d5f0000";
        assert!(matches!(AllowList::new(&[digest.to_owned()]), Err(PolicyError::Allow { .. })), "too short");
        assert!(AllowList::new(&["sha256:zzzzzzzzzzzzzzzzzzzz".to_owned()]).is_err());
        assert!(AllowList::new(&["a[".to_owned()]).is_err());
        let hex: String = Sha256::digest(b"token = x").iter().map(|byte| format!("{byte:02X}")).collect();
        let allowed = AllowList::new(&["docs/**".to_owned(), format!("sha256:{}", &hex[..20])]).unwrap();
        assert!(allowed.allows_line(b"token = x") && !allowed.allows_line(b"token = y"));
        let path = |text: &str| RelPath::from_walk(text).unwrap();
        assert!(allowed.allows_path(&path("docs/config.rst")) && !allowed.allows_path(&path("src/a.py")));
    }
}
