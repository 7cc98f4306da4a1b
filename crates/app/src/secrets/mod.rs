//! Keys and tokens: where they are looked for, where they are kept, and that they are never shown.
//!
//! The order is the dir2mcp specification's, section 16.1.1: an explicit variable, the OS keychain, a file,
//! a value typed for this session only.

pub(crate) mod file;
pub(crate) mod keychain;
pub(crate) mod token;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use secrecy::{ExposeSecret, SecretString};

use crate::config::Environment;
use crate::config::combine::Values;
use crate::config::keys::Key;
use crate::config::options::ValueOrigin;
use crate::config::settings::{SecretProvider, SecretSettings};

use keychain::Keychain;

/// A text that prints as `****` and is overwritten in memory when nobody needs it any more.
#[derive(Clone)]
pub(crate) struct Secret(SecretString);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Secret {
        Secret(SecretString::from(text.into()))
    }

    /// The text itself, for the one place that needs it.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// For the client of the service that it is the key of.
    pub(crate) fn shared(&self) -> SecretString {
        self.0.clone()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

/// The secrets there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SecretName {
    MistralApiKey,
    /// Where transcription has a key of its own.
    MistralSttApiKey,
    ElevenlabsApiKey,
    OpenaiApiKey,
    CohereApiKey,
    AuthToken,
}

impl SecretName {
    pub(crate) const ALL: [SecretName; 6] = [
        SecretName::MistralApiKey,
        SecretName::MistralSttApiKey,
        SecretName::ElevenlabsApiKey,
        SecretName::OpenaiApiKey,
        SecretName::CohereApiKey,
        SecretName::AuthToken,
    ];

    /// Its variable, and its name in the keychain and in the secrets file.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            SecretName::MistralApiKey | SecretName::MistralSttApiKey => "MISTRAL_API_KEY",
            SecretName::ElevenlabsApiKey => "ELEVENLABS_API_KEY",
            SecretName::OpenaiApiKey => "OPENAI_API_KEY",
            SecretName::CohereApiKey => "COHERE_API_KEY",
            SecretName::AuthToken => "DIR2MCP_AUTH_TOKEN",
        }
    }

    /// The service that takes it, as the configuration names it.
    pub(crate) fn provider(self) -> Option<&'static str> {
        match self {
            SecretName::MistralApiKey | SecretName::MistralSttApiKey => Some("mistral"),
            SecretName::ElevenlabsApiKey => Some("elevenlabs"),
            SecretName::OpenaiApiKey => Some("openai"),
            SecretName::CohereApiKey => Some("cohere"),
            SecretName::AuthToken => None,
        }
    }

    /// The key of the config file that may hold it, most fitting first.
    fn keys(self) -> &'static [Key] {
        match self {
            SecretName::MistralApiKey => &[Key::MistralApiKey],
            SecretName::MistralSttApiKey => &[Key::SttMistralApiKey, Key::MistralApiKey],
            SecretName::ElevenlabsApiKey => &[Key::SttElevenlabsApiKey],
            SecretName::OpenaiApiKey => &[Key::OpenaiApiKey],
            SecretName::CohereApiKey => &[Key::CohereApiKey],
            SecretName::AuthToken => &[],
        }
    }
}

/// Where a secret was found. Safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SecretSource {
    Env {
        name: String,
        /// It is in a dotenv file, which may have come with the folder.
        dotenv: bool,
    },
    Keychain,
    File {
        path: PathBuf,
    },
    Session,
}

impl SecretSource {
    /// The word that the config snapshot records.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            SecretSource::Env { .. } => "env",
            SecretSource::Keychain => "keychain",
            SecretSource::File { .. } => "file",
            SecretSource::Session => "session",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundSecret {
    pub secret: Secret,
    pub source: SecretSource,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    #[error(transparent)]
    File(#[from] file::SecretFileError),
    #[error(transparent)]
    Keychain(#[from] keychain::KeychainError),
}

/// Looks secrets up, each when it is first wanted: asking a keychain may cost a second, or a dialogue.
pub(crate) struct SecretSources {
    settings: SecretSettings,
    given: BTreeMap<SecretName, FoundSecret>,
    /// Values in the config file itself, weaker than the keychain.
    written: BTreeMap<SecretName, FoundSecret>,
    keychain: Option<Keychain>,
    /// The keychain did not answer.
    silent: AtomicBool,
    session: Mutex<BTreeMap<SecretName, Secret>>,
}

impl SecretSources {
    pub(crate) fn new(
        settings: &SecretSettings,
        values: &Values,
        environment: &Environment,
    ) -> SecretSources {
        let (mut given, mut written) = (BTreeMap::new(), BTreeMap::new());
        for name in SecretName::ALL {
            let variable = match name {
                // The token decides who is let in, so the folder's own dotenv file has no say in it.
                SecretName::AuthToken => environment.get(name.variable()),
                _ => environment.get_key(name.variable()),
            };
            if let Some(variable) = variable {
                let source =
                    SecretSource::Env { name: name.variable().into(), dotenv: variable.dotenv.is_some() };
                given.insert(name, FoundSecret { secret: Secret::new(variable.value.trim()), source });
            }
            for key in name.keys().iter().rev() {
                let Some(credential) = values.credential(*key) else { continue };
                let secret = credential.secret.clone();
                let variable = match (values.origin(*key), &credential.variable) {
                    (ValueOrigin::Env { name, .. }, _) => Some(name),
                    (_, variable) => variable.as_ref(),
                };
                let dotenv = match values.origin(*key) {
                    ValueOrigin::Env { dotenv, .. } => dotenv.is_some(),
                    _ => credential.variable.as_ref().is_some_and(|name| environment.get(name).is_none()),
                };
                match (variable, values.origin(*key)) {
                    (Some(variable), _) => {
                        let source = SecretSource::Env { name: variable.clone(), dotenv };
                        // A key of its own for transcription beats the general variable.
                        let found = FoundSecret { secret, source };
                        if *key == Key::SttMistralApiKey || !given.contains_key(&name) {
                            given.insert(name, found);
                        }
                    }
                    (None, ValueOrigin::File { path, .. }) => {
                        let source = SecretSource::File { path: path.clone() };
                        written.insert(name, FoundSecret { secret, source });
                    }
                    (None, _) => {}
                }
            }
        }
        let keychain = Keychain::find(environment, &settings.keychain);
        let silent = AtomicBool::new(false);
        SecretSources {
            settings: settings.clone(),
            given,
            written,
            keychain,
            silent,
            session: Mutex::default(),
        }
    }

    pub(crate) fn get(&self, name: SecretName) -> Result<Option<FoundSecret>, SecretError> {
        if let Some(found) = self.given.get(&name) {
            return Ok(Some(found.clone()));
        }
        self.in_keychain(name)
    }

    fn in_keychain(&self, name: SecretName) -> Result<Option<FoundSecret>, SecretError> {
        let provider = self.settings.provider;
        if matches!(provider, SecretProvider::Auto | SecretProvider::Keychain)
            && let Some(keychain) = &self.keychain
            && !self.silent.load(Ordering::Relaxed)
        {
            match keychain.lookup(name.variable()) {
                Ok(Some(secret)) => return Ok(Some(FoundSecret { secret, source: SecretSource::Keychain })),
                Ok(None) => {}
                // Nobody asked for the keychain, so one that does not answer is merely not there, and not asked again.
                Err(_) if provider == SecretProvider::Auto => self.silent.store(true, Ordering::Relaxed),
                Err(error) => return Err(error.into()),
            }
        }
        self.without_keychain(name)
    }

    /// Like [`SecretSources::get`], but asks the keychain only where the configuration names it.
    pub(crate) fn get_quickly(&self, name: SecretName) -> Result<Option<FoundSecret>, SecretError> {
        match self.settings.provider {
            SecretProvider::Keychain => self.get(name),
            _ if self.given.contains_key(&name) => Ok(self.given.get(&name).cloned()),
            _ => self.without_keychain(name),
        }
    }

    /// The same, without keys of dotenv files: those may have come with the folder, so that they do not decide that its
    /// texts are sent somewhere.
    pub(crate) fn get_of_the_user(&self, name: SecretName) -> Result<Option<FoundSecret>, SecretError> {
        match self.given.get(&name) {
            Some(FoundSecret { source: SecretSource::Env { dotenv: true, .. }, .. }) => {
                match self.settings.provider {
                    SecretProvider::Keychain => self.in_keychain(name),
                    _ => self.without_keychain(name),
                }
            }
            _ => self.get_quickly(name),
        }
    }

    fn without_keychain(&self, name: SecretName) -> Result<Option<FoundSecret>, SecretError> {
        if let Some(found) = self.written.get(&name) {
            return Ok(Some(found.clone()));
        }
        // The bearer token has files of its own: security.auth.token_file and secret.token.
        if matches!(self.settings.provider, SecretProvider::Auto | SecretProvider::File)
            && name != SecretName::AuthToken
            && let Some(secret) = file::lookup(&self.settings.file, name.variable())?
        {
            let source = SecretSource::File { path: self.settings.file.clone() };
            return Ok(Some(FoundSecret { secret, source }));
        }
        let session =
            self.session.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&name).cloned();
        Ok(session.map(|secret| FoundSecret { secret, source: SecretSource::Session }))
    }

    /// What is wrong with the secrets file although nothing has been looked for in it yet.
    pub(crate) fn warning(&self) -> Option<String> {
        let used = matches!(self.settings.provider, SecretProvider::Auto | SecretProvider::File);
        let error = file::lookup(&self.settings.file, SecretName::MistralApiKey.variable()).err()?;
        used.then(|| format!("{error}; until then no key is taken from it"))
    }

    /// Keeps a secret in memory until the process ends.
    pub(crate) fn keep_for_session(&self, name: SecretName, secret: Secret) {
        self.session.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(name, secret);
    }

    /// Keeps a secret in the secrets file.
    pub(crate) fn keep_in_file(
        &self,
        name: SecretName,
        secret: &Secret,
    ) -> Result<SecretSource, SecretError> {
        file::store(&self.settings.file, name.variable(), secret)?;
        Ok(SecretSource::File { path: self.settings.file.clone() })
    }

    /// The keychain, where the machine has a tool for it.
    pub(crate) fn keychain(&self) -> Option<&Keychain> {
        self.keychain.as_ref()
    }

    /// The source of every secret, for the snapshot: `unset` where there is none.
    pub(crate) fn words(&self) -> Vec<(&'static str, &'static str)> {
        SecretName::ALL
            .into_iter()
            .filter(|name| *name != SecretName::MistralSttApiKey)
            .map(|name| {
                let found = match name {
                    // Only where the configuration names the keychain is the token looked for there.
                    SecretName::AuthToken => self.get_quickly(name),
                    _ => self.get(name),
                };
                let word = match found {
                    Ok(Some(found)) => found.source.word(),
                    Ok(None) => "unset",
                    Err(_) => "unreadable",
                };
                (name.variable(), word)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::error::Problems;
    use crate::config::yaml;

    fn sources(
        file: &Path,
        provider: SecretProvider,
        env: &[(&str, &str)],
        yaml_text: &str,
    ) -> SecretSources {
        let environment = Environment::of(env);
        let (mut problems, mut warnings) = (Problems::default(), Vec::new());
        let config = yaml::read(Path::new("/c.yaml"), yaml_text, &environment, &mut problems, &mut warnings);
        let variables = environment.layer(Path::new("/"), &mut problems, &mut warnings);
        let settings = SecretSettings { provider, keychain: keychain::tests::entry(), file: file.into() };
        SecretSources::new(&settings, &Values::combine([config.layer, variables]), &environment)
    }

    #[test]
    fn secrets_print_as_stars() {
        let secret = Secret::new("canary");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "**** **** Some(****)");
    }

    #[test]
    fn d167_env_then_keychain_then_file_then_session() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret.env");
        let bin = keychain::tests::fake_tool(dir.path(), "from-keychain");
        let path = bin.to_str().unwrap();
        let name = SecretName::MistralApiKey;
        let get = |sources: &SecretSources| {
            let found = sources.get(name).unwrap();
            found.map(|found| (found.secret.expose().to_string(), found.source.word()))
        };

        let none = sources(&file, SecretProvider::Auto, &[], "");
        assert_eq!(get(&none), None);
        none.keep_for_session(name, Secret::new("from-session"));
        assert_eq!(get(&none), Some(("from-session".into(), "session")));
        none.keep_in_file(name, &Secret::new("from-file")).unwrap();
        assert_eq!(get(&none), Some(("from-file".into(), "file")));
        let with_keychain = sources(&file, SecretProvider::Auto, &[("PATH", path)], "");
        assert_eq!(get(&with_keychain), Some(("from-keychain".into(), "keychain")));
        let env = [("PATH", path), ("MISTRAL_API_KEY", "from-env"), ("OTHER", "from-other")];
        let with_env = sources(&file, SecretProvider::Auto, &env, "mistral: {api_key: '${OTHER}'}");
        assert_eq!(get(&with_env), Some(("from-env".into(), "env")));

        let referenced = sources(
            &file,
            SecretProvider::Auto,
            &[("PATH", path), ("OTHER", "x")],
            "mistral: {api_key: '${OTHER}'}",
        );
        assert_eq!(
            referenced.get(name).unwrap().unwrap().source,
            SecretSource::Env { name: "OTHER".into(), dotenv: false }
        );
        let written = sources(&file, SecretProvider::File, &[], "mistral: {api_key: plain}");
        assert_eq!(get(&written), Some(("plain".into(), "file")));

        assert_eq!(get(&sources(&file, SecretProvider::File, &[("PATH", path)], "")).unwrap().1, "file");
        assert_eq!(get(&sources(&file, SecretProvider::Env, &[("PATH", path)], "")), None);
        assert_eq!(get(&sources(&file, SecretProvider::Session, &[("PATH", path)], "")), None);
        assert_eq!(get(&sources(&file, SecretProvider::Keychain, &[], "")), None);
    }

    #[test]
    fn transcription_may_have_its_own_key() {
        let file = Path::new("/none/secret.env");
        let env = [("MISTRAL_API_KEY", "general"), ("STT_KEY", "special")];
        let both = sources(file, SecretProvider::Env, &env, "stt: {mistral: {api_key: '${STT_KEY}'}}");
        let get = |name| both.get(name).unwrap().unwrap().secret.expose().to_string();
        assert_eq!(get(SecretName::MistralSttApiKey), "special");
        assert_eq!(get(SecretName::MistralApiKey), "general");
        let one = sources(file, SecretProvider::Env, &env, "");
        assert_eq!(one.get(SecretName::MistralSttApiKey).unwrap().unwrap().secret.expose(), "general");
    }

    #[test]
    fn d168_words_name_sources_only() {
        let sources = sources(
            Path::new("/none/secret.env"),
            SecretProvider::Auto,
            &[("MISTRAL_API_KEY", "canary")],
            "",
        );
        assert_eq!(
            sources.words(),
            [
                ("MISTRAL_API_KEY", "env"),
                ("ELEVENLABS_API_KEY", "unset"),
                ("OPENAI_API_KEY", "unset"),
                ("COHERE_API_KEY", "unset"),
                ("DIR2MCP_AUTH_TOKEN", "unset")
            ]
        );
    }
}
