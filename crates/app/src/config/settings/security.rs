//! Who may call, what is held back, and where keys are kept.

use std::path::{Path, PathBuf};

use policy::SecretLevel;

use super::SettingsCheck;
use crate::config::combine::Values;
use crate::config::error::Problem;
use crate::config::keys::Key;
use crate::config::options::ValueOrigin;

#[derive(Debug, Clone)]
pub(crate) struct Security {
    pub auth: Auth,
    pub allowed_origins: Vec<String>,
    pub path_excludes: Vec<String>,
    pub secret_patterns: SecretPatternSettings,
    pub secret_level: SecretLevel,
    /// Paths and lines that the secret rules let pass.
    pub allow: Vec<String>,
}

/// Where the bearer token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Auth {
    /// The variable `token_env`, else the keychain where the configuration names it, else `token_file`, else
    /// `secret.token` in the state directory.
    Auto {
        token_env: String,
        keychain: Option<KeychainEntry>,
        token_file: Option<PathBuf>,
    },
    None,
    /// This file and nothing else. `flag` says that `--auth` named it.
    File {
        path: PathBuf,
        flag: bool,
    },
}

/// Under which names the keychain holds our secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeychainEntry {
    pub service: String,
    pub account: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretPatternSettings {
    /// The built-in rules apply.
    pub builtin: bool,
    pub custom: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct SecretSettings {
    pub provider: SecretProvider,
    pub keychain: KeychainEntry,
    pub file: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretProvider {
    Auto,
    Keychain,
    File,
    Env,
    Session,
}

impl SettingsCheck<'_> {
    pub(super) fn security(&mut self) -> Security {
        self.rules();
        let patterns = self.values.list(Key::SecuritySecretPatterns);
        Security {
            auth: self.auth(),
            allowed_origins: self.allowed_origins(),
            path_excludes: self.values.list(Key::SecurityPathExcludes).to_vec(),
            secret_patterns: SecretPatternSettings {
                builtin: patterns.iter().any(|pattern| pattern == "default"),
                custom: patterns.iter().filter(|pattern| *pattern != "default").cloned().collect(),
            },
            secret_level: match self.values.text(Key::SecuritySecretLevel) {
                "strict" => SecretLevel::Strict,
                _ => SecretLevel::Default,
            },
            allow: self.values.list(Key::SecurityAllow).to_vec(),
        }
    }

    /// Globs and expressions that mean nothing are said here, not when the index is opened.
    fn rules(&mut self) {
        let values = self.values;
        if let Err(error) = policy::Excludes::new(values.list(Key::SecurityPathExcludes)) {
            self.problem_of(Key::SecurityPathExcludes, error);
        }
        let own: Vec<String> = values
            .list(Key::SecuritySecretPatterns)
            .iter()
            .filter(|pattern| *pattern != "default")
            .cloned()
            .collect();
        if !own.is_empty()
            && let Err(error) = policy::Redactor::new(&policy::SecretPatterns::Custom(own))
        {
            self.problem_of(Key::SecuritySecretPatterns, error);
        }
    }

    /// A problem that names its key itself.
    fn problem_of(&mut self, key: Key, error: policy::PolicyError) {
        let place = self.values.origin(key).clone();
        self.problems.push(Problem::at(place, error.to_string()));
    }

    fn auth(&mut self) -> Auth {
        let values = self.values;
        let file = Some(PathBuf::from(values.text(Key::SecurityAuthTokenFile)))
            .filter(|path| !path.as_os_str().is_empty());
        let by_flag = matches!(values.origin(Key::SecurityAuthMode), ValueOrigin::Flag(_));
        match (values.text(Key::SecurityAuthMode), file) {
            ("none", _) => Auth::None,
            ("file", Some(path)) => Auth::File { path, flag: by_flag },
            ("file", None) => {
                self.problem(Key::SecurityAuthMode, "file needs security.auth.token_file");
                Auth::None
            }
            (_, file) => {
                let token_env = values.text(Key::SecurityAuthTokenEnv);
                let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if token_env.is_empty() || !token_env.chars().all(legal) {
                    self.problem(
                        Key::SecurityAuthTokenEnv,
                        "expected the name of a variable, such as DIR2MCP_AUTH_TOKEN, never the token",
                    );
                }
                // `--auth auto` asks for the automatic token although the file names another.
                let token_file = file.filter(|_| !by_flag);
                let keychain =
                    (values.text(Key::SecretsProvider) == "keychain").then(|| keychain_entry(values));
                Auth::Auto { token_env: token_env.into(), keychain, token_file }
            }
        }
    }

    fn allowed_origins(&mut self) -> Vec<String> {
        let mut origins = Vec::new();
        for text in self.values.list(Key::SecurityAllowedOrigins) {
            let origin = text.trim_end_matches('/').to_lowercase();
            let host = origin.split_once("://").filter(|(scheme, _)| {
                scheme.starts_with(|c: char| c.is_ascii_lowercase())
                    && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            });
            let legal = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
            match host {
                Some((_, host)) if !host.is_empty() && host.chars().all(legal) => origins.push(origin),
                _ => self
                    .problem(Key::SecurityAllowedOrigins, "expected origins such as https://app.example.com"),
            }
        }
        origins
    }
}

pub(super) fn secrets(values: &Values, state_dir: &Path) -> SecretSettings {
    SecretSettings {
        provider: match values.text(Key::SecretsProvider) {
            "keychain" => SecretProvider::Keychain,
            "file" => SecretProvider::File,
            "env" => SecretProvider::Env,
            "session" => SecretProvider::Session,
            _ => SecretProvider::Auto,
        },
        keychain: keychain_entry(values),
        // The default names the usual state directory and means the actual one.
        file: if values.is_explicit(Key::SecretsFilePath) {
            values.text(Key::SecretsFilePath).into()
        } else {
            state_dir.join("secret.env")
        },
    }
}

fn keychain_entry(values: &Values) -> KeychainEntry {
    KeychainEntry {
        service: values.text(Key::SecretsKeychainService).into(),
        account: values.text(Key::SecretsKeychainAccount).into(),
    }
}
