//! The bearer token: found where the configuration says, or made once and kept in `secret.token`.

use std::io;
use std::path::{Path, PathBuf};

use super::keychain::{Keychain, KeychainError};
use super::{Secret, SecretName};
use crate::config::settings::Auth;
use crate::config::{Environment, files};
use crate::print::safe;

/// A token and where it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptToken {
    /// Absent when the server asks for no token.
    pub secret: Option<Secret>,
    pub source: TokenSource,
}

/// Safe to show; the words of `connection.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// Ours, in the state directory.
    SecretToken {
        path: PathBuf,
    },
    Env {
        name: String,
    },
    /// The user's own file. `flag` says that `--auth` named it.
    File {
        path: PathBuf,
        flag: bool,
    },
    Keychain,
    None,
}

impl TokenSource {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            TokenSource::SecretToken { .. } => "secret.token",
            TokenSource::Env { .. } => "env",
            TokenSource::File { .. } => "file",
            TokenSource::Keychain => "keychain",
            TokenSource::None => "none",
        }
    }

    /// The file that holds the token.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            TokenSource::SecretToken { path } | TokenSource::File { path, .. } => Some(path),
            TokenSource::Env { .. } | TokenSource::Keychain | TokenSource::None => None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("cannot read the token file {0}: {error}", safe(&path.to_string_lossy()))]
    Read { path: PathBuf, error: io::Error },
    #[error("cannot keep a token in {0}: {error}", safe(&path.to_string_lossy()))]
    Write { path: PathBuf, error: io::Error },
    #[error("{0} must hold one line with the token: visible characters, no blanks", safe(place))]
    NotAToken { place: String },
    #[error(transparent)]
    Keychain(#[from] KeychainError),
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
}

/// Finds the token, and makes one in `secret.token` where nothing else is named. Warnings never hold it.
pub(crate) fn resolve(
    auth: &Auth,
    state_dir: &Path,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<KeptToken, TokenError> {
    match auth {
        Auth::None => Ok(KeptToken { secret: None, source: TokenSource::None }),
        Auth::File { path, flag } => from_file(path, *flag, warnings),
        Auth::Auto { token_env, keychain, token_file } => {
            if let Some(variable) = environment.get(token_env) {
                let secret = one_token(variable.value)
                    .ok_or_else(|| TokenError::NotAToken { place: format!("the variable {token_env}") })?;
                warn_if_short(&secret, token_env, warnings);
                return Ok(KeptToken {
                    secret: Some(secret),
                    source: TokenSource::Env { name: token_env.clone() },
                });
            }
            let keychain = keychain.as_ref().and_then(|entry| Keychain::find(environment, entry));
            if let Some(keychain) = keychain
                && let Some(secret) = keychain.lookup(SecretName::AuthToken.variable())?
            {
                let secret = one_token(secret.expose())
                    .ok_or_else(|| TokenError::NotAToken { place: "the keychain's entry".into() })?;
                return Ok(KeptToken { secret: Some(secret), source: TokenSource::Keychain });
            }
            match token_file {
                Some(path) => from_file(path, false, warnings),
                None => own(&state_dir.join("secret.token"), warnings),
            }
        }
    }
}

/// Reads a token that the configuration or `connection.json` names, for `connect --show-token`.
pub(crate) fn read(path: &Path) -> Result<Secret, TokenError> {
    let file = files::read(path).map_err(|error| TokenError::Read { path: path.into(), error })?;
    one_token(&file.text).ok_or_else(|| TokenError::NotAToken { place: path.to_string_lossy().into_owned() })
}

fn from_file(path: &Path, flag: bool, warnings: &mut Vec<String>) -> Result<KeptToken, TokenError> {
    let file = files::read(path).map_err(|error| TokenError::Read { path: path.into(), error })?;
    let place = path.to_string_lossy().into_owned();
    if file.is_shared() {
        warnings.push(format!(
            "the token file {} may be read by others (mode {:04o}); run: chmod 600 {0}",
            safe(&place),
            file.mode
        ));
    }
    let secret = one_token(&file.text).ok_or_else(|| TokenError::NotAToken { place: place.clone() })?;
    warn_if_short(&secret, &place, warnings);
    Ok(KeptToken { secret: Some(secret), source: TokenSource::File { path: path.into(), flag } })
}

/// Our own token. One that others can read was not made by us, or is no secret any more: a folder from
/// elsewhere may well bring a `.dir2mcp/secret.token` that its author knows.
fn own(path: &Path, warnings: &mut Vec<String>) -> Result<KeptToken, TokenError> {
    let source = TokenSource::SecretToken { path: path.into() };
    let failed = |error| TokenError::Write { path: path.into(), error };
    match files::read_if_present(path) {
        Ok(Some(file)) if !file.is_shared() => {
            let place = path.to_string_lossy().into_owned();
            let secret = one_token(&file.text).ok_or(TokenError::NotAToken { place })?;
            return Ok(KeptToken { secret: Some(secret), source });
        }
        Ok(Some(file)) => {
            warnings.push(format!(
                "{} could be read by others (mode {:04o}), so a new token takes its place",
                safe(&path.to_string_lossy()),
                file.mode
            ));
            let secret = fresh()?;
            files::write(path, &format!("{}\n", secret.expose()), 0o600).map_err(failed)?;
            return Ok(KeptToken { secret: Some(secret), source });
        }
        Ok(None) => {}
        Err(error) => return Err(TokenError::Read { path: path.into(), error }),
    }
    if let Some(folder) = path.parent() {
        files::prepare_state_dir(folder).map_err(failed)?;
    }
    let secret = fresh()?;
    if files::write_new(path, &format!("{}\n", secret.expose()), 0o600).map_err(failed)? {
        return Ok(KeptToken { secret: Some(secret), source });
    }
    // Another process was faster; its token is the token.
    Ok(KeptToken { secret: Some(read(path)?), source })
}

/// 32 random bytes, as 64 hexadecimal digits.
fn fresh() -> Result<Secret, TokenError> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(TokenError::Random)?;
    Ok(Secret::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// A token that an HTTP header can carry.
fn one_token(text: &str) -> Option<Secret> {
    let token = text.trim();
    let fits = !token.is_empty() && token.len() <= 4096 && token.chars().all(|c| c.is_ascii_graphic());
    fits.then(|| Secret::new(token))
}

fn warn_if_short(secret: &Secret, place: &str, warnings: &mut Vec<String>) {
    if secret.expose().len() < 16 {
        warnings.push(format!("the token in {} is short enough to be guessed", safe(place)));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn auto() -> Auth {
        Auth::Auto { token_env: "DIR2MCP_AUTH_TOKEN".into(), keychain: None, token_file: None }
    }

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn find(auth: &Auth, dir: &Path, env: &[(&str, &str)]) -> (Result<KeptToken, TokenError>, Vec<String>) {
        let mut warnings = Vec::new();
        (resolve(auth, dir, &Environment::of(env), &mut warnings), warnings)
    }

    #[test]
    fn d057_d065_the_token_is_made_once_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join(".dir2mcp");
        let (token, warnings) = find(&auto(), &state, &[]);
        let token = token.unwrap();
        let path = state.join("secret.token");
        assert_eq!(token.source, TokenSource::SecretToken { path: path.clone() });
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.len(), 65);
        assert!(text[..64].chars().all(|c| c.is_ascii_hexdigit()) && text.ends_with('\n'));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(warnings.is_empty());
        assert_eq!(find(&auto(), &state, &[]).0.unwrap(), token);
    }

    #[test]
    fn a_token_that_others_could_read_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret.token");
        std::fs::write(&path, "known-to-the-author-of-this-folder\n").unwrap();
        chmod(&path, 0o644);
        let (token, warnings) = find(&auto(), dir.path(), &[]);
        assert_eq!(token.unwrap().secret.unwrap().expose().len(), 64);
        assert!(warnings[0].contains("a new token takes its place"));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn d184_the_variable_wins_over_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (token, _) = find(&auto(), dir.path(), &[("DIR2MCP_AUTH_TOKEN", "from-the-environment")]);
        let token = token.unwrap();
        assert_eq!(token.secret.unwrap().expose(), "from-the-environment");
        assert_eq!(token.source.word(), "env");
        assert!(!dir.path().join("secret.token").exists());
        let (named, _) = find(
            &Auth::Auto { token_env: "MINE".into(), keychain: None, token_file: Some("/none".into()) },
            dir.path(),
            &[("MINE", "a-token-of-my-own")],
        );
        assert_eq!(named.unwrap().source, TokenSource::Env { name: "MINE".into() });
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn d167_the_keychain_comes_after_the_variable_and_before_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let bin = super::super::keychain::tests::fake_tool(dir.path(), "from-the-keychain");
        let path = ("PATH", bin.to_str().unwrap());
        let entry = super::super::keychain::tests::entry();
        let auth =
            Auth::Auto { token_env: "T".into(), keychain: Some(entry), token_file: Some("/none".into()) };
        let token = find(&auth, dir.path(), &[path]).0.unwrap();
        assert_eq!(
            (token.secret.unwrap().expose(), token.source),
            ("from-the-keychain", TokenSource::Keychain)
        );
        let token = find(&auth, dir.path(), &[path, ("T", "from-the-environment")]).0.unwrap();
        assert_eq!(token.source.word(), "env");
        assert!(find(&auth, dir.path(), &[]).0.is_err(), "without a keychain, the file that is named");
    }

    #[test]
    fn d053_a_token_file_must_be_there_with_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tok");
        let auth = Auth::File { path: path.clone(), flag: true };
        assert!(matches!(find(&auth, dir.path(), &[]).0, Err(TokenError::Read { .. })));
        for bad in ["", "\n", "two lines of\ntext", "a b"] {
            std::fs::write(&path, bad).unwrap();
            let error = find(&auth, dir.path(), &[]).0.unwrap_err();
            assert!(matches!(error, TokenError::NotAToken { .. }), "{bad:?}");
            assert!(bad.trim().is_empty() || !error.to_string().contains(bad), "{error}");
        }
        std::fs::write(&path, "a-token-of-my-own\r\n").unwrap();
        chmod(&path, 0o640);
        let (token, warnings) = find(&auth, dir.path(), &[("DIR2MCP_AUTH_TOKEN", "x")]);
        let token = token.unwrap();
        assert_eq!((token.secret.unwrap().expose(), token.source.word()), ("a-token-of-my-own", "file"));
        assert!(warnings[0].contains("chmod 600") && !warnings[0].contains("a-token-of-my-own"));
        chmod(&path, 0o600);
        assert!(find(&auth, dir.path(), &[]).1.is_empty());
    }

    #[test]
    fn a_broken_own_token_is_reported_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret.token");
        std::fs::write(&path, "").unwrap();
        chmod(&path, 0o600);
        assert!(matches!(find(&auto(), dir.path(), &[]).0, Err(TokenError::NotAToken { .. })));
    }

    #[test]
    fn no_token_when_nobody_needs_one() {
        let (token, _) = find(&Auth::None, Path::new("/none"), &[]);
        assert_eq!(token.unwrap(), KeptToken { secret: None, source: TokenSource::None });
    }
}
