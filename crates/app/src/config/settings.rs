//! Resolved settings: plain fields, checked against each other, for `wire` to hand out.
#![allow(
    dead_code,
    reason = "resolved and checked whole; providers, media and payments read theirs once they exist"
)]

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use contracts::repo::Limits;
use engine::Weights;
use engine::repo::{RepoView, ViewError};
use model::DocType;

use super::combine::Values;
use super::error::{Problem, Problems};
use super::keys::{Key, SERVED_TOOL_SETS, Spec, TOOL_SETS};
use super::nearest::nearest;
use super::options::Origin;
use super::value::format_duration;
use crate::print::safe;

/// The effective configuration.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The directory that is indexed: absolute, links resolved.
    pub root: PathBuf,
    /// Where the index lives: absolute, perhaps not there yet.
    pub state_dir: PathBuf,
    pub config_file: Option<PathBuf>,
    pub server: Server,
    pub ingest: Ingest,
    pub chunking: Chunking,
    pub rag: Rag,
    pub security: Security,
    pub models: Models,
    pub secrets: SecretSettings,
    pub x402: X402,
    pub repo: Repo,
    pub weights: Weights,
    pub output: Output,
}

/// What the repository tools show and keep.
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    pub data_dir: PathBuf,
    pub limits: Limits,
    pub view: Arc<RepoView>,
    pub semantic: bool,
    /// What the folder itself says about them could be read.
    pub is_sound: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Output {
    /// One JSON object per line instead of text.
    pub json: bool,
    pub quiet: bool,
    /// Never ask, even on a terminal.
    pub non_interactive: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub listen: Listen,
    pub mcp_path: String,
    pub protocol_version: String,
    pub tls: Option<Tls>,
    pub public: bool,
    pub read_only: bool,
    /// Sets of tools at the endpoint and on stdio; never empty.
    pub tools: Vec<String>,
    pub tool_names: ToolNames,
    pub allowed_hosts: Vec<String>,
    pub session_inactivity_timeout: Duration,
    pub session_max_lifetime: Option<Duration>,
    pub max_sessions: usize,
    /// Per address, when public.
    pub rate_limit: Option<RateLimit>,
    pub trusted_proxies: Vec<Cidr>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listen {
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tls {
    pub cert_file: PathBuf,
    pub key_file: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolNames {
    Dotted,
    Underscore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimit {
    pub requests_per_second: u32,
    pub burst: u32,
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    pub address: IpAddr,
    pub prefix: u8,
}

#[derive(Debug, Clone)]
pub(crate) struct Ingest {
    pub gitignore: bool,
    pub pdf: PdfMode,
    pub images: ImageMode,
    pub audio: AudioMode,
    pub audio_cache: bool,
    pub archives: ArchiveMode,
    pub follow_symlinks: bool,
    pub max_file_bytes: u64,
    pub max_bytes_by_type: BTreeMap<DocType, u64>,
    pub watch: bool,
    /// 0 takes as many as there are cores.
    pub threads: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PdfMode {
    Off,
    Ocr,
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageMode {
    Off,
    OcrAuto,
    OcrOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AudioMode {
    Off,
    Auto,
    On,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveMode {
    Off,
    Shallow,
    Deep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunking {
    pub max_chars: usize,
    pub overlap_chars: usize,
    pub min_chars: usize,
    pub code_max_lines: usize,
    pub code_overlap_lines: usize,
    pub transcript_segment_ms: u64,
    pub transcript_overlap_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Rag {
    pub generate_answer: bool,
    pub k_default: usize,
    pub system_prompt: String,
    pub max_context_chars: usize,
    pub oversample_factor: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Security {
    pub auth: Auth,
    pub allowed_origins: Vec<String>,
    pub path_excludes: Vec<String>,
    pub secret_patterns: SecretPatterns,
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
pub(crate) struct SecretPatterns {
    /// The built-in rules apply.
    pub builtin: bool,
    pub custom: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Models {
    pub embed: Provider,
    pub ocr: Provider,
    pub stt: SttProvider,
    pub mistral_base_url: String,
    pub chat_model: String,
    pub embed_text_model: String,
    pub embed_code_model: String,
    pub ocr_model: String,
    pub stt_mistral_model: String,
    pub stt_mistral_timestamps: bool,
    pub elevenlabs_base_url: String,
    /// As the API names it: `scribe` stands for `scribe_v1`.
    pub stt_elevenlabs_model: String,
    pub stt_elevenlabs_timestamps: bool,
    pub tts_voice_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    /// What this machine offers, today the built-in.
    Auto,
    Builtin,
    Mistral,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SttProvider {
    Mistral,
    Elevenlabs,
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

#[derive(Debug, Clone)]
pub(crate) struct X402 {
    pub mode: X402Mode,
    pub facilitator_url: String,
    pub facilitator_token_file: Option<PathBuf>,
    pub resource_base_url: String,
    pub tools_call_enabled: bool,
    pub price: String,
    pub network: String,
    pub scheme: String,
    pub asset: String,
    pub pay_to: String,
    pub bazaar_enabled: bool,
    pub bazaar_description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum X402Mode {
    Off,
    On,
    Required,
}

/// What is not a key of the table.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    pub root: PathBuf,
    pub state_dir: PathBuf,
    pub config_file: Option<PathBuf>,
    pub output: Output,
    pub weights: Weights,
    /// The repository tools are all that is served.
    pub repo_alone: bool,
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
        let mut check = Check { values, problems, warnings };
        let mut security = check.security();
        let mut ingest = ingest(values);
        let repo = check.repo(&surroundings);
        if surroundings.repo_alone {
            // The index is theirs alone, so it holds what they show: git's own rules do not decide that.
            if !values.is_explicit(Key::IngestGitignore) {
                ingest.gitignore = false;
            }
            ingest.max_file_bytes = ingest.max_file_bytes.min(repo.limits.max_file_bytes);
            security.path_excludes.extend(repo.view.exclude_globs.iter().cloned());
        }
        Settings {
            server: check.server(&security.auth, surroundings.force_insecure),
            ingest,
            chunking: check.chunking(),
            rag: rag(values),
            security,
            models: check.models(),
            secrets: secrets(values, &surroundings.state_dir),
            x402: check.x402(),
            repo,
            root: surroundings.root,
            state_dir: surroundings.state_dir,
            config_file: surroundings.config_file,
            output: surroundings.output,
            weights: surroundings.weights,
        }
    }
}

struct Check<'a> {
    values: &'a Values,
    problems: &'a mut Problems,
    warnings: &'a mut Vec<String>,
}

impl Check<'_> {
    fn repo(&mut self, surroundings: &Surroundings) -> Repo {
        let values = self.values;
        let limits = Limits {
            max_file_bytes: values.int(Key::RepoMaxFileBytes),
            max_open_lines: values.int(Key::RepoMaxOpenLines) as u32,
            max_total_bytes_per_response: values.int(Key::RepoMaxTotalBytes),
            max_search_hits: values.int(Key::RepoMaxSearchHits) as u32,
            max_references: values.int(Key::RepoMaxReferences) as u32,
            max_bundle_files: values.int(Key::RepoMaxBundleFiles) as u32,
        };
        let view = |extensions: &[String], globs: &[String]| {
            let python = values.bool(Key::RepoPythonEnabled);
            RepoView::new(extensions.to_vec(), globs.to_vec(), limits.max_file_bytes, python)
        };
        let (extensions, globs) =
            (values.list(Key::RepoIncludeExtensions), values.list(Key::RepoExcludeGlobs));
        let view = view(extensions, globs).unwrap_or_else(|error| {
            let key = match error {
                ViewError::Extension(_) => Key::RepoIncludeExtensions,
                ViewError::Glob(_) => Key::RepoExcludeGlobs,
            };
            self.problem(key, error.to_string());
            view(&[], &[]).expect("nothing is always a view")
        });
        let data_dir = match values.text(Key::RepoDataDir) {
            "" => surroundings.state_dir.clone(),
            given => given.into(),
        };
        if data_dir == surroundings.root {
            self.problem(Key::RepoDataDir, "the data directory cannot be the root directory itself");
        }
        Repo {
            data_dir,
            limits,
            view: Arc::new(view),
            semantic: values.bool(Key::RepoSemanticEnabled),
            is_sound: surroundings.repo_sound,
        }
    }

    fn server(&mut self, auth: &Auth, force_insecure: bool) -> Server {
        let values = self.values;
        let public = values.bool(Key::ServerPublic);
        let listen = self.listen(public);
        let exposed = public || !listen.is_loopback();
        let tls = self.tls();
        if *auth == Auth::None && exposed && !force_insecure {
            self.problem(
                Key::SecurityAuthMode,
                "without a token, everyone who reaches this machine could read the directory; drop \
                 \"none\", or insist with --force-insecure",
            );
        } else if *auth == Auth::None && exposed {
            self.warnings.push(format!("{listen} is open to everyone who can reach it: there is no token"));
        } else if exposed && tls.is_none() {
            self.warnings.push(format!(
                "the token travels unencrypted to {listen}; give --tls-cert and --tls-key, or put a proxy in front"
            ));
        }
        let inactivity = match values.duration(Key::ServerSessionInactivityTimeout) {
            Duration::ZERO => Duration::from_secs(24 * 3600),
            timeout => timeout,
        };
        let lifetime = Some(values.duration(Key::ServerSessionMaxLifetime)).filter(|limit| !limit.is_zero());
        if let Some(lifetime) = lifetime.filter(|limit| *limit < inactivity) {
            self.problem(
                Key::ServerSessionMaxLifetime,
                format!(
                    "{} is shorter than server.session_inactivity_timeout ({}), which could then never apply",
                    format_duration(lifetime),
                    format_duration(inactivity)
                ),
            );
        }
        let rps = values.int(Key::ServerRateLimitRps) as u32;
        let burst = values.int(Key::ServerRateLimitBurst) as u32;
        Server {
            mcp_path: self.mcp_path(),
            protocol_version: values.text(Key::ServerProtocolVersion).into(),
            tls,
            public,
            read_only: values.bool(Key::ServerReadOnly),
            tools: self.tools(),
            tool_names: match values.text(Key::ServerToolNames) {
                "underscore" => ToolNames::Underscore,
                _ => ToolNames::Dotted,
            },
            allowed_hosts: self.allowed_hosts(),
            session_inactivity_timeout: inactivity,
            session_max_lifetime: lifetime,
            max_sessions: values.int(Key::ServerMaxSessions) as usize,
            rate_limit: (rps > 0 && burst > 0).then_some(RateLimit { requests_per_second: rps, burst }),
            trusted_proxies: self.trusted_proxies(),
            listen,
        }
    }

    /// `--public` opens a local address to the outside, and leaves alone what was named on purpose.
    fn listen(&mut self, public: bool) -> Listen {
        let text = self.values.text(Key::ServerListen);
        let Some(mut listen) = Listen::parse(text) else {
            self.problem(Key::ServerListen, "expected an address and a port, such as 127.0.0.1:8080");
            return Listen { host: "127.0.0.1".into(), port: 0 };
        };
        let by_flag = matches!(self.values.origin(Key::ServerListen), Origin::Flag(_));
        if public && !by_flag && listen.is_loopback() {
            listen.host = "0.0.0.0".into();
        }
        listen
    }

    fn mcp_path(&mut self) -> String {
        let text = self.values.text(Key::ServerMcpPath);
        let path = text.trim_end_matches('/');
        let legal = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
        let dots = path.split('/').any(|part| matches!(part, "." | ".."));
        if !path.starts_with('/')
            || path.contains("//")
            || dots
            || !path.chars().all(legal)
            || path.len() > 200
        {
            self.problem(Key::ServerMcpPath, "expected a path such as /mcp");
        }
        path.into()
    }

    fn tls(&mut self) -> Option<Tls> {
        let values = self.values;
        let file = |key| Some(PathBuf::from(values.text(key))).filter(|path| !path.as_os_str().is_empty());
        let files = (file(Key::ServerTlsCertFile), file(Key::ServerTlsKeyFile));
        let named_now = [Key::ServerTlsCertFile, Key::ServerTlsKeyFile]
            .into_iter()
            .any(|key| matches!(values.origin(key), Origin::Flag(_) | Origin::Env { .. }));
        let switched_off = values.is_explicit(Key::ServerTlsEnabled) && !values.bool(Key::ServerTlsEnabled);
        match files {
            _ if switched_off && !named_now => None,
            (Some(cert_file), Some(key_file)) => Some(Tls { cert_file, key_file }),
            (None, None) if !values.bool(Key::ServerTlsEnabled) => None,
            (cert, _) => {
                let missing = if cert.is_none() { Key::ServerTlsCertFile } else { Key::ServerTlsKeyFile };
                self.problem(missing, "TLS needs both a certificate and a key: --tls-cert and --tls-key");
                None
            }
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for name in self.values.list(Key::ServerTools) {
            let name = name.to_lowercase();
            if !TOOL_SETS.contains(&name.as_str()) {
                let hint = nearest(&name, TOOL_SETS.iter().copied())
                    .map_or(format!("; known: {}", TOOL_SETS.join(", ")), |near| {
                        format!("; did you mean {near}?")
                    });
                self.problem(Key::ServerTools, format!("unknown set of tools \"{}\"{hint}", safe(&name)));
            } else if !SERVED_TOOL_SETS.contains(&name.as_str()) {
                self.problem(Key::ServerTools, format!("the set of tools {name} is not available yet"));
            } else if !tools.contains(&name) {
                tools.push(name);
            }
        }
        if self.values.list(Key::ServerTools).is_empty() {
            self.problem(Key::ServerTools, "name at least one set of tools");
        }
        tools
    }

    fn allowed_hosts(&mut self) -> Vec<String> {
        let mut hosts = Vec::new();
        for host in self.values.list(Key::ServerAllowedHosts) {
            let legal = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
            if host.is_empty() || !host.chars().all(legal) {
                self.problem(
                    Key::ServerAllowedHosts,
                    "expected names such as search.example.com, with or without a port",
                );
            } else {
                hosts.push(host.to_lowercase());
            }
        }
        hosts
    }

    fn trusted_proxies(&mut self) -> Vec<Cidr> {
        let mut ranges = Vec::new();
        for text in self.values.list(Key::ServerTrustedProxies) {
            match Cidr::parse(text) {
                Some(range) => ranges.push(range),
                None => self.problem(Key::ServerTrustedProxies, "expected addresses such as 10.0.0.0/8"),
            }
        }
        ranges
    }

    fn security(&mut self) -> Security {
        let patterns = self.values.list(Key::SecuritySecretPatterns);
        Security {
            auth: self.auth(),
            allowed_origins: self.allowed_origins(),
            path_excludes: self.values.list(Key::SecurityPathExcludes).to_vec(),
            secret_patterns: SecretPatterns {
                builtin: patterns.iter().any(|pattern| pattern == "default"),
                custom: patterns.iter().filter(|pattern| *pattern != "default").cloned().collect(),
            },
        }
    }

    fn auth(&mut self) -> Auth {
        let values = self.values;
        let file = Some(PathBuf::from(values.text(Key::SecurityAuthTokenFile)))
            .filter(|path| !path.as_os_str().is_empty());
        let by_flag = matches!(values.origin(Key::SecurityAuthMode), Origin::Flag(_));
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

    fn chunking(&mut self) -> Chunking {
        let size = |key| self.values.int(key) as usize;
        let chunking = Chunking {
            max_chars: size(Key::ChunkingMaxChars),
            overlap_chars: size(Key::ChunkingOverlapChars),
            min_chars: size(Key::ChunkingMinChars),
            code_max_lines: size(Key::ChunkingCodeMaxLines),
            code_overlap_lines: size(Key::ChunkingCodeOverlapLines),
            transcript_segment_ms: self.values.int(Key::ChunkingTranscriptSegmentMs),
            transcript_overlap_ms: self.values.int(Key::ChunkingTranscriptOverlapMs),
        };
        for (small, large) in [
            (Key::ChunkingOverlapChars, Key::ChunkingMaxChars),
            (Key::ChunkingMinChars, Key::ChunkingMaxChars),
            (Key::ChunkingCodeOverlapLines, Key::ChunkingCodeMaxLines),
            (Key::ChunkingTranscriptOverlapMs, Key::ChunkingTranscriptSegmentMs),
        ] {
            let (less, more) = (self.values.int(small), self.values.int(large));
            if less >= more {
                self.problem(small, format!("{less} is not smaller than {} ({more})", Spec::of(large).path));
            }
        }
        chunking
    }

    fn models(&mut self) -> Models {
        let values = self.values;
        let text = |key| values.text(key).to_string();
        let provider = |key| match values.text(key) {
            "builtin" => Provider::Builtin,
            "mistral" => Provider::Mistral,
            _ => Provider::Auto,
        };
        Models {
            embed: provider(Key::EmbedProvider),
            ocr: provider(Key::OcrProvider),
            stt: match values.text(Key::SttProvider) {
                "elevenlabs" => SttProvider::Elevenlabs,
                _ => SttProvider::Mistral,
            },
            mistral_base_url: self.url(Key::MistralBaseUrl),
            chat_model: text(Key::MistralChatModel),
            embed_text_model: text(Key::MistralEmbedTextModel),
            embed_code_model: text(Key::MistralEmbedCodeModel),
            ocr_model: text(Key::MistralOcrModel),
            stt_mistral_model: text(Key::SttMistralModel),
            stt_mistral_timestamps: values.bool(Key::SttMistralTimestamps),
            elevenlabs_base_url: self.url(Key::SttElevenlabsBaseUrl),
            stt_elevenlabs_model: match values.text(Key::SttElevenlabsModel) {
                "scribe" => "scribe_v1".into(),
                model => model.into(),
            },
            stt_elevenlabs_timestamps: values.bool(Key::SttElevenlabsTimestamps),
            tts_voice_id: text(Key::TtsElevenlabsVoiceId),
        }
    }

    fn x402(&mut self) -> X402 {
        let values = self.values;
        let text = |key| values.text(key).to_string();
        let mode = match values.text(Key::X402Mode) {
            "on" => X402Mode::On,
            "required" => X402Mode::Required,
            _ => X402Mode::Off,
        };
        let mut valid = true;
        if !is_caip2(values.text(Key::X402Network)) {
            self.problem(Key::X402Network, "expected a CAIP-2 network such as eip155:8453");
            valid = false;
        }
        if !is_price(values.text(Key::X402Price)) {
            self.problem(Key::X402Price, "expected a price such as 1000 (smallest units) or 0.001");
            valid = false;
        }
        let x402 = X402 {
            mode,
            facilitator_url: self.url(Key::X402FacilitatorUrl),
            facilitator_token_file: Some(PathBuf::from(values.text(Key::X402FacilitatorTokenFile)))
                .filter(|path| !path.as_os_str().is_empty()),
            resource_base_url: self.url(Key::X402ResourceBaseUrl),
            tools_call_enabled: values.bool(Key::X402ToolsCallEnabled),
            price: text(Key::X402Price),
            network: text(Key::X402Network),
            scheme: text(Key::X402Scheme),
            asset: text(Key::X402Asset),
            pay_to: text(Key::X402PayTo),
            bazaar_enabled: values.bool(Key::X402BazaarEnabled),
            bazaar_description: text(Key::X402BazaarDescription),
        };
        if mode != X402Mode::Off && valid {
            self.problem(Key::X402Mode, "payments (x402) are not available yet; use off");
        } else if mode == X402Mode::Off && values.bool(Key::X402Enabled) {
            self.warnings.push("x402.enabled has no effect: x402.mode decides, and it is off".into());
        }
        x402
    }

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
        self.problems.push(Problem::at(place, format!("{}: {message}", Spec::of(key).path)));
    }
}

fn ingest(values: &Values) -> Ingest {
    Ingest {
        gitignore: values.bool(Key::IngestGitignore),
        pdf: match values.text(Key::IngestPdfMode) {
            "off" => PdfMode::Off,
            "auto" => PdfMode::Auto,
            _ => PdfMode::Ocr,
        },
        images: match values.text(Key::IngestImagesMode) {
            "off" => ImageMode::Off,
            "ocr_on" => ImageMode::OcrOn,
            _ => ImageMode::OcrAuto,
        },
        audio: match values.text(Key::IngestAudioMode) {
            "off" => AudioMode::Off,
            "on" => AudioMode::On,
            _ => AudioMode::Auto,
        },
        audio_cache: values.bool(Key::IngestAudioCache),
        archives: match values.text(Key::IngestArchivesMode) {
            "off" => ArchiveMode::Off,
            "shallow" => ArchiveMode::Shallow,
            _ => ArchiveMode::Deep,
        },
        follow_symlinks: values.bool(Key::IngestFollowSymlinks),
        max_file_bytes: values.int(Key::IngestMaxFileMb) << 20,
        max_bytes_by_type: values
            .sizes(Key::IngestMaxFileMbByType)
            .iter()
            .map(|(doc_type, megabytes)| (*doc_type, megabytes << 20))
            .collect(),
        watch: values.bool(Key::IngestWatch),
        threads: values.int(Key::IngestThreads) as usize,
    }
}

fn rag(values: &Values) -> Rag {
    Rag {
        generate_answer: values.bool(Key::RagGenerateAnswer),
        k_default: values.int(Key::RagKDefault) as usize,
        system_prompt: values.text(Key::RagSystemPrompt).into(),
        max_context_chars: values.int(Key::RagMaxContextChars) as usize,
        oversample_factor: values.int(Key::RagOversampleFactor) as usize,
    }
}

fn secrets(values: &Values, state_dir: &Path) -> SecretSettings {
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

impl Listen {
    /// Reads `host:port` or `[v6]:port`.
    pub(crate) fn parse(text: &str) -> Option<Listen> {
        let (host, port) = text.rsplit_once(':')?;
        let host = match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.filter(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())?,
            None => host,
        };
        let name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if host.is_empty() || !(host.parse::<IpAddr>().is_ok() || host.chars().all(name)) {
            return None;
        }
        // `::1:80` could mean two things.
        if host.contains(':') && !text.starts_with('[') {
            return None;
        }
        Some(Listen { host: host.into(), port: port.parse().ok()? })
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Cidr {
    /// Reads `10.0.0.0/8`, or an address that stands for itself.
    pub(crate) fn parse(text: &str) -> Option<Cidr> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.trim().parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= longest)?,
            None => longest,
        };
        Some(Cidr { address, prefix })
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// A chain identifier: a namespace and a reference, as CAIP-2 has them.
fn is_caip2(text: &str) -> bool {
    let Some((namespace, reference)) = text.split_once(':') else { return false };
    (1..=32).contains(&namespace.len())
        && namespace.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && (1..=128).contains(&reference.len())
        && reference.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// Whole smallest units, or a decimal amount.
fn is_price(text: &str) -> bool {
    let digits =
        |part: &str| !part.is_empty() && part.len() <= 30 && part.chars().all(|c| c.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::options::Layer;
    use crate::config::options::{Setting, read_text};

    struct Resolved {
        settings: Settings,
        problems: Vec<String>,
        warnings: Vec<String>,
    }

    /// Resolves flags given as `key=value`, with a leading `!` for the file instead.
    fn resolve_with(pairs: &[&str], force_insecure: bool) -> Resolved {
        let mut problems = Problems::default();
        let (mut file, mut flags) = (Layer::new(), Layer::new());
        for pair in pairs {
            let (path, text) = pair.trim_start_matches('!').split_once('=').unwrap();
            let spec = Spec::find(path).unwrap();
            let flag = spec.flag.first().copied().unwrap_or("--x");
            let (layer, origin): (&mut Layer, _) = match pair.starts_with('!') {
                true => (&mut file, Origin::File { path: "/r/c.yaml".into(), line: 1 }),
                false => (&mut flags, Origin::Flag(flag)),
            };
            let setting: Option<Setting> = read_text(spec, text, &origin, Path::new("/r"), &mut problems);
            layer.extend(setting);
        }
        let values = Values::combine([file, flags]);
        let mut warnings = Vec::new();
        let surroundings = Surroundings {
            root: "/r".into(),
            state_dir: "/s".into(),
            config_file: None,
            output: Output { json: false, quiet: false, non_interactive: true },
            weights: Weights::default(),
            repo_alone: false,
            repo_sound: true,
            force_insecure,
        };
        let settings = Settings::resolve(&values, surroundings, &mut problems, &mut warnings);
        Resolved { settings, problems: problems.messages(), warnings }
    }

    fn resolve(pairs: &[&str]) -> Resolved {
        resolve_with(pairs, false)
    }

    #[test]
    fn d081_d169_to_d180_defaults_of_the_specification() {
        let Resolved { settings: s, problems, warnings } = resolve(&[]);
        assert!(problems.is_empty() && warnings.is_empty(), "{problems:?} {warnings:?}");
        // D170
        assert_eq!(s.models.chat_model, "mistral-small-2506");
        assert_eq!(s.models.embed_text_model, "mistral-embed");
        assert_eq!(s.models.embed_code_model, "codestral-embed");
        assert_eq!(s.models.ocr_model, "mistral-ocr-latest");
        // D171
        assert!(s.rag.generate_answer);
        assert_eq!((s.rag.k_default, s.rag.max_context_chars, s.rag.oversample_factor), (10, 20_000, 5));
        assert_eq!(
            s.rag.system_prompt,
            "You are a retrieval-augmented assistant.\nUse citations and never invent sources.\n"
        );
        // D172
        assert!(s.ingest.gitignore && s.ingest.audio_cache && !s.ingest.follow_symlinks);
        assert_eq!(
            (s.ingest.pdf, s.ingest.images, s.ingest.audio, s.ingest.archives),
            (PdfMode::Ocr, ImageMode::OcrAuto, AudioMode::Auto, ArchiveMode::Deep)
        );
        assert_eq!(s.ingest.max_file_bytes, 20 << 20);
        // D173
        let chunking = Chunking {
            max_chars: 2500,
            overlap_chars: 250,
            min_chars: 200,
            code_max_lines: 200,
            code_overlap_lines: 30,
            transcript_segment_ms: 30_000,
            transcript_overlap_ms: 5000,
        };
        assert_eq!(s.chunking, chunking);
        // D174, with the alias that the API wants spelled out
        assert_eq!(s.models.stt, SttProvider::Mistral);
        assert_eq!(s.models.stt_mistral_model, "voxtral-mini-latest");
        assert_eq!(s.models.stt_elevenlabs_model, "scribe_v1");
        assert!(s.models.stt_mistral_timestamps && s.models.stt_elevenlabs_timestamps);
        // D175
        assert_eq!(s.x402.mode, X402Mode::Off);
        assert!(!s.x402.tools_call_enabled && !s.x402.bazaar_enabled);
        assert_eq!((s.x402.price.as_str(), s.x402.network.as_str()), ("0.001", "eip155:8453"));
        assert_eq!(s.x402.scheme, "exact");
        // D176
        assert_eq!(s.server.listen.to_string(), "127.0.0.1:0");
        assert_eq!((s.server.mcp_path.as_str(), s.server.protocol_version.as_str()), ("/mcp", "2025-11-25"));
        assert!(s.server.tls.is_none() && !s.server.public);
        assert_eq!(s.server.session_inactivity_timeout, Duration::from_secs(24 * 3600));
        assert_eq!(s.server.session_max_lifetime, None);
        // D177
        assert_eq!(s.secrets.provider, SecretProvider::Auto);
        assert_eq!(
            s.secrets.keychain,
            KeychainEntry { service: "dir2mcp".into(), account: "default".into() }
        );
        assert_eq!(s.secrets.file, Path::new("/s/secret.env"));
        // D178
        assert_eq!(
            s.security.auth,
            Auth::Auto { token_env: "DIR2MCP_AUTH_TOKEN".into(), keychain: None, token_file: None }
        );
        assert_eq!(s.security.allowed_origins, ["http://localhost", "http://127.0.0.1"]);
        // D179, and the folders of section 7.1
        for exclude in [
            "**/.git/**",
            "**/node_modules/**",
            "**/.dir2mcp/**",
            "**/.env",
            "**/*.pem",
            "**/*.key",
            "**/id_rsa",
            "**/dist/**",
            "**/build/**",
            "**/.venv/**",
        ] {
            assert!(s.security.path_excludes.iter().any(|known| known == exclude), "{exclude}");
        }
        // D180, tuned as the specification's own notes advise
        assert_eq!(s.security.secret_patterns, SecretPatterns { builtin: true, custom: vec![] });
        // Ours
        assert_eq!(s.server.tools, ["dir2mcp"]);
        assert_eq!(s.server.rate_limit, Some(RateLimit { requests_per_second: 60, burst: 20 }));
        assert!(s.ingest.watch);
    }

    #[test]
    fn d021_public_opens_the_address_and_keeps_the_port() {
        let listen = |pairs: &[&str]| resolve(pairs).settings.server.listen.to_string();
        assert_eq!(listen(&["server.public=true"]), "0.0.0.0:0");
        assert_eq!(listen(&["server.public=true", "!server.listen=127.0.0.1:8087"]), "0.0.0.0:8087");
        assert_eq!(listen(&["server.public=true", "!server.listen=192.168.1.5:80"]), "192.168.1.5:80");
        assert_eq!(listen(&["server.public=true", "server.listen=127.0.0.1:9"]), "127.0.0.1:9");
        assert_eq!(listen(&["server.listen=[::1]:9"]), "[::1]:9");
    }

    #[test]
    fn case_5_public_without_a_token_needs_insistence() {
        let pairs = ["server.public=true", "security.auth.mode=none"];
        let refused = resolve(&pairs);
        assert_eq!(refused.problems.len(), 1);
        assert!(refused.problems[0].contains("--force-insecure"), "{:?}", refused.problems);
        let insisted = resolve_with(&pairs, true);
        assert!(insisted.problems.is_empty() && insisted.warnings[0].contains("no token"));
        // An outside address is public whether or not the word was used.
        assert_eq!(resolve(&["server.listen=0.0.0.0:80", "security.auth.mode=none"]).problems.len(), 1);
        assert!(resolve(&["security.auth.mode=none"]).problems.is_empty());
        let plain = resolve(&["server.public=true"]);
        assert!(plain.problems.is_empty() && plain.warnings[0].contains("unencrypted"));
    }

    #[test]
    fn d023_tls_needs_both_files() {
        let tls = resolve(&["server.tls.cert_file=c", "server.tls.key_file=k"]).settings.server.tls;
        assert_eq!(tls, Some(Tls { cert_file: "/r/c".into(), key_file: "/r/k".into() }));
        for half in ["server.tls.cert_file=c", "server.tls.key_file=k", "!server.tls.enabled=true"] {
            assert_eq!(resolve(&[half]).problems.len(), 1, "{half}");
        }
        let off = ["!server.tls.enabled=false", "!server.tls.cert_file=c", "!server.tls.key_file=k"];
        assert_eq!(resolve(&off).settings.server.tls, None);
        let on_again = ["!server.tls.enabled=false", "server.tls.cert_file=c", "server.tls.key_file=k"];
        assert!(resolve(&on_again).settings.server.tls.is_some());
    }

    #[test]
    fn d118_d119_session_times() {
        let server = resolve(&["server.session_inactivity_timeout=0"]).settings.server;
        assert_eq!(server.session_inactivity_timeout, Duration::from_secs(24 * 3600));
        let server = resolve(&["server.session_inactivity_timeout=1m", "server.session_max_lifetime=1h"])
            .settings
            .server;
        assert_eq!(server.session_max_lifetime, Some(Duration::from_secs(3600)));
        let problems = resolve(&["server.session_max_lifetime=5s"]).problems;
        assert!(
            problems[0].contains("5s is shorter than server.session_inactivity_timeout (24h)"),
            "{problems:?}"
        );
    }

    #[test]
    fn d184_d185_sources_of_the_token() {
        let auth = |pairs: &[&str]| resolve(pairs).settings.security.auth;
        let env = || "DIR2MCP_AUTH_TOKEN".to_string();
        assert_eq!(
            auth(&["!security.auth.token_file=t"]),
            Auth::Auto { token_env: env(), keychain: None, token_file: Some("/r/t".into()) }
        );
        assert_eq!(
            auth(&["!security.auth.token_env=MY_TOKEN"]),
            Auth::Auto { token_env: "MY_TOKEN".into(), keychain: None, token_file: None }
        );
        assert_eq!(
            auth(&["!security.auth.mode=file", "!security.auth.token_file=t"]),
            Auth::File { path: "/r/t".into(), flag: false }
        );
        assert_eq!(
            auth(&["!security.auth.token_file=t", "security.auth.mode=auto"]),
            Auth::Auto { token_env: env(), keychain: None, token_file: None }
        );
        assert!(matches!(auth(&["!secrets.provider=keychain"]), Auth::Auto { keychain: Some(_), .. }));
        assert_eq!(auth(&["!security.auth.mode=none", "!security.auth.token_file=t"]), Auth::None);
        assert_eq!(resolve(&["!security.auth.mode=file"]).problems.len(), 1);
        assert_eq!(resolve(&["!security.auth.token_env=abc.def-ghi"]).problems.len(), 1);
    }

    #[test]
    fn d024_d195_payments_are_checked_then_declined() {
        let problem = |pairs: &[&str]| resolve(pairs).problems.join("\n");
        assert!(problem(&["x402.mode=on"]).contains("not available yet"));
        assert!(problem(&["x402.mode=required"]).contains("not available yet"));
        let wrong = problem(&["x402.mode=on", "x402.route_policy.tools_call.network=mainnet"]);
        assert!(wrong.contains("CAIP-2") && !wrong.contains("not available yet"), "{wrong}");
        assert!(problem(&["x402.route_policy.tools_call.price=-1"]).contains("price"));
        assert!(problem(&["x402.facilitator_url=file:///etc/passwd"]).contains("facilitator_url"));
        assert!(problem(&["x402.facilitator_url=https://user:pw@h"]).contains("facilitator_url"));
        assert!(resolve(&["!x402.enabled=true"]).warnings[0].contains("x402.mode decides"));
        for network in ["eip155:8453", "eip155:84532", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"] {
            assert!(is_caip2(network));
        }
        for network in ["", ":", "eip155", "EIP155:1", "eip155:", "eip155:1:2", "eip155:a b"] {
            assert!(!is_caip2(network), "{network}");
        }
        for price in ["", ".", "1.", ".1", "1e3", "0x1", "1 ", "1.2.3"] {
            assert!(!is_price(price), "{price}");
        }
    }

    #[test]
    fn addresses_and_paths_are_checked() {
        for listen in ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:99999", "::1:80", "a b:80", "http://x:80"]
        {
            assert_eq!(resolve(&[&format!("server.listen={listen}")]).problems.len(), 1, "{listen}");
        }
        for path in ["", "/", "mcp", "/a b", "/a?x", "/a//b", "/a/../b", "//evil"] {
            assert_eq!(resolve(&[&format!("server.mcp_path={path}")]).problems.len(), 1, "{path}");
        }
        assert_eq!(resolve(&["server.mcp_path=/a/b/"]).settings.server.mcp_path, "/a/b");
        for origin in ["*", "null", "localhost", "http://", "http://a/path", "http://a b", "://x"] {
            assert_eq!(
                resolve(&[&format!("security.allowed_origins={origin}")]).problems.len(),
                1,
                "{origin}"
            );
        }
        for range in ["x", "10.0.0.0/33", "::1/129", "10.0.0.0/"] {
            assert_eq!(resolve(&[&format!("server.trusted_proxies={range}")]).problems.len(), 1, "{range}");
        }
        assert_eq!(Cidr::parse("::1").unwrap().to_string(), "::1/128");
        assert_eq!(resolve(&["server.allowed_hosts=https://x"]).problems.len(), 1);
        assert_eq!(resolve(&["mistral.base_url=ftp://x"]).problems.len(), 1);
    }

    #[test]
    fn sets_of_tools_are_known_and_served() {
        assert!(resolve(&["server.tools=dirmcp"]).problems[0].contains("did you mean dir2mcp?"));
        assert!(resolve(&["server.tools=smart"]).problems[0].contains("not available yet"));
        assert_eq!(resolve(&["server.tools=repo"]).settings.server.tools, ["repo"]);
        assert_eq!(resolve(&["server.tools=dir2mcp,DIR2MCP"]).settings.server.tools, ["dir2mcp"]);
        assert!(resolve(&["server.tools=,"]).problems[0].contains("at least one"));
    }

    #[test]
    fn chunk_sizes_fit_together() {
        assert_eq!(resolve(&["chunking.overlap_chars=2500"]).problems.len(), 1);
        assert_eq!(resolve(&["chunking.code.max_lines=30"]).problems.len(), 1);
    }
}
