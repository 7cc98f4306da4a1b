//! Resolved settings: plain fields, checked against each other, for `wire` to hand out.
#![allow(
    dead_code,
    reason = "resolved and checked whole; providers, media and payments read theirs once they exist"
)]

mod files;
mod ingest;
mod models;
mod repo;
mod security;
mod server;
mod workspace;
mod x402;

use std::fmt;
use std::path::PathBuf;

use engine::Weights;

use super::combine::Values;
use super::error::{Problem, Problems};
use super::keys::{Key, KeySpec};

pub(crate) use files::{FilesAuth, FilesBackend, FilesEmbedding, FilesSettings};
pub(crate) use ingest::{ArchiveMode, AudioMode, Chunking, ImageMode, IngestSettings, PdfMode};
pub(crate) use models::{Models, ProviderChoice, Rag};
pub(crate) use repo::RepoSettings;
pub(crate) use security::{Auth, KeychainEntry, SecretProvider, SecretSettings, Security};
pub(crate) use server::{Listen, ServerSettings, ToolNameStyle};
pub(crate) use workspace::{SmartSettings, WorkspaceSettings};
pub(crate) use x402::X402;

/// The effective configuration.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The directory that is indexed: absolute, links resolved.
    pub root: PathBuf,
    /// Where the index lives: absolute, perhaps not there yet.
    pub state_dir: PathBuf,
    pub config_file: Option<PathBuf>,
    /// The user's own configuration directory, perhaps not there.
    pub user_config_dir: Option<PathBuf>,
    pub server: ServerSettings,
    pub ingest: IngestSettings,
    pub chunking: Chunking,
    pub rag: Rag,
    pub security: Security,
    pub models: Models,
    pub secrets: SecretSettings,
    pub x402: X402,
    pub repo: RepoSettings,
    pub workspace: WorkspaceSettings,
    pub smart: SmartSettings,
    pub files: FilesSettings,
    pub weights: Weights,
    pub output: OutputSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputSettings {
    /// One JSON object per line instead of text.
    pub json: bool,
    pub quiet: bool,
    /// Never ask, even on a terminal.
    pub non_interactive: bool,
}

/// What is not a key of the table.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    pub root: PathBuf,
    pub state_dir: PathBuf,
    pub config_file: Option<PathBuf>,
    pub user_config_dir: Option<PathBuf>,
    pub output: OutputSettings,
    pub weights: Weights,
    /// The repository tools are all that is served.
    pub repo_alone: bool,
    /// They are, in a state directory that other tools may use at other times.
    pub repo_apart: bool,
    /// Only the smart tools are served, and no folder was named.
    pub roots_missing: bool,
    /// `repo_mcp.toml` could be read, or is not there.
    pub repo_sound: bool,
    /// Only the flag says this: a file that came with a folder must not.
    pub force_insecure: bool,
}

impl Settings {
    /// Turns values into settings and collects everything that does not fit together.
    pub(crate) fn resolve(
        values: &Values,
        surroundings: Surroundings,
        problems: &mut Problems,
        warnings: &mut Vec<String>,
    ) -> Settings {
        let mut check = SettingsCheck { values, problems, warnings };
        let mut security = check.security();
        let mut ingest = ingest::ingest(values);
        let repo = check.repo(&surroundings);
        if surroundings.repo_alone {
            // The index is theirs alone, so it holds what they show: git's own rules do not decide that.
            if !values.is_explicit(Key::IngestGitignore) {
                ingest.gitignore = false;
            }
            ingest.max_file_bytes = ingest.max_file_bytes.min(repo.limits.max_file_bytes);
            // What their globs leave out is not indexed; it can still be opened by its name.
            ingest.excludes.clone_from(&repo.view.exclude_globs);
            if !values.is_explicit(Key::SecurityPathExcludes) {
                security.path_excludes.retain(|glob| !policy::IGNORED_FOLDERS.contains(&glob.as_str()));
            }
        }
        let workspace = check.workspace(surroundings.roots_missing);
        let server = check.server(&security.auth, surroundings.force_insecure);
        let files = check.files(&server, &surroundings.state_dir);
        Settings {
            server,
            files,
            ingest,
            chunking: check.chunking(),
            rag: models::rag(values),
            security,
            models: check.models(),
            secrets: security::secrets(values, &surroundings.state_dir),
            x402: check.x402(),
            repo,
            workspace,
            smart: workspace::smart(values),
            root: surroundings.root,
            state_dir: surroundings.state_dir,
            config_file: surroundings.config_file,
            user_config_dir: surroundings.user_config_dir,
            output: surroundings.output,
            weights: surroundings.weights,
        }
    }
}

struct SettingsCheck<'a> {
    values: &'a Values,
    problems: &'a mut Problems,
    warnings: &'a mut Vec<String>,
}

impl SettingsCheck<'_> {
    /// An http or https address without a password in it, or nothing where nothing is the default.
    fn url(&mut self, key: Key) -> String {
        let text = self.values.text(key).trim_end_matches('/');
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let legal = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{}|@".contains(c);
        let fine =
            rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(legal));
        if !fine && !text.is_empty() {
            self.problem(key, "expected an address such as https://api.example.com");
        }
        text.into()
    }

    fn problem(&mut self, key: Key, message: impl fmt::Display) {
        let place = self.values.origin(key).clone();
        self.problems.push(Problem::at(place, format!("{}: {message}", KeySpec::of(key).path)));
    }
}

#[cfg(test)]
mod tests;
