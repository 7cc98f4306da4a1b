//! The one table of configuration keys. The defaults, the file reader, the environment, `config print`, the
//! template of `config init` and the reference page all read it, so none of them can disagree.

use std::borrow::Cow;

use contracts::repo::RESPONSE_LIMITS as LIMITS;

use super::reach::Reach;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int {
        min: u64,
        max: u64,
    },
    Text,
    /// A file; a relative one starts at the config file's folder, or at the current one for flags and variables.
    Path,
    Choice(&'static [&'static str]),
    /// Texts; one comma-separated text in a variable or flag.
    List,
    /// A list of folders; relative ones as for [`Kind::Path`].
    Paths,
    /// A text such as `30m`; `0` stands for none.
    Duration,
    /// Megabytes by document type, `pdf=50,image=10` in a variable.
    Sizes,
    /// Printed as `****`, wherever it comes from.
    Secret,
}

/// A default, in the form a constant can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preset {
    Bool(bool),
    Int(u64),
    Text(&'static str),
    List(&'static [&'static str]),
    /// The default path excludes, which `policy` owns.
    PathExcludes,
    /// What the repository tools show unless told otherwise, which `engine` owns.
    IncludeExtensions,
    ExcludeGlobs,
    /// No value: an empty map, or a secret that is looked for in its own sources.
    Empty,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Spec {
    pub key: Key,
    /// The name in the file, its sections joined by dots.
    pub path: &'static str,
    pub kind: Kind,
    pub preset: Preset,
    /// Which values a file inside the served folder may set only once the user trusts it.
    pub reach: Reach,
    /// Further environment names, tried before the systematic one.
    pub other_env: &'static [&'static str],
    /// The flag of `dir2mcp up`, if there is one.
    pub flag: &'static [&'static str],
    pub doc: &'static str,
}

impl Spec {
    pub(crate) fn of(key: Key) -> &'static Spec {
        &TABLE[key as usize]
    }

    pub(crate) fn find(path: &str) -> Option<&'static Spec> {
        TABLE.iter().find(|spec| spec.path == path)
    }

    /// The environment names, the first one set wins. The version is the file's own; `DIR2MCP_VERSION` is
    /// what images call the program's.
    pub(crate) fn env_names(&self) -> impl Iterator<Item = Cow<'static, str>> {
        let systematic = format!("DIR2MCP_{}", self.path.replace('.', "_").to_uppercase());
        let systematic = (self.key != Key::Version).then_some(Cow::Owned(systematic));
        self.other_env.iter().map(|name| Cow::Borrowed(*name)).chain(systematic)
    }

    /// True where a variable or flag adds to the list below it. Someone who allows one more origin does not
    /// mean to lock the local ones out, and someone who excludes one more folder does not mean to open the others.
    pub(crate) fn adds(&self) -> bool {
        matches!(self.key, Key::SecurityAllowedOrigins | Key::SecurityPathExcludes)
    }

    pub(crate) fn expected(&self) -> String {
        match self.kind {
            Kind::Bool => "true or false".into(),
            Kind::Int { min, max } if min == max => min.to_string(),
            Kind::Int { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Text => "a text".into(),
            Kind::Path => "a file path".into(),
            Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
            Kind::List => "a list of texts".into(),
            Kind::Paths => "a list of folders".into(),
            Kind::Duration => "a duration such as 30m, 24h, 500ms or 0".into(),
            Kind::Sizes => "megabytes by document type, such as pdf: 50".into(),
            Kind::Secret => "a text such as ${MISTRAL_API_KEY}".into(),
        }
    }
}

/// Names that mean something although no key has them.
pub(crate) const OTHER_ENV: &[&str] = &[
    "DIR2MCP_DIR",
    "DIR2MCP_CONFIG",
    "DIR2MCP_STATE_DIR",
    "DIR2MCP_AUTH_TOKEN",
    "DIR2MCP_VERSION",
    "DIR2MCP_X402_FACILITATOR_TOKEN",
];

/// Names that still work, each with a warning.
pub(crate) const OLD_ENV: &[(&str, Key)] =
    &[("DIR2MCP_SESSION_TIMEOUT", Key::ServerSessionInactivityTimeout)];

/// Names that comparable set-ups export and that change nothing here.
pub(crate) const UNUSED_ENV: &[&str] = &["DIR2MCP_HEALTH_CHECK_INTERVAL"];

/// Newest first; a test holds them equal to what the MCP server serves.
pub(crate) const PROTOCOL_VERSIONS: &[&str] = &["2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"];

macro_rules! keys {
    ($(
        $(#[doc = $doc:literal])+
        $key:ident $path:literal: $kind:expr, $preset:expr, $reach:expr $(, env $($env:literal)+)? $(, flag $flag:literal)? ;
    )+) => {
        /// A configuration key; the discriminant is its row.
        #[allow(clippy::enum_variant_names, reason = "a key is called what the file calls it")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) enum Key { $($key),+ }

        /// In the order of the file. Keys of one section stand together.
        pub(crate) const TABLE: &[Spec] = &[$(Spec {
            key: Key::$key,
            path: $path,
            kind: $kind,
            preset: $preset,
            reach: $reach,
            other_env: &[$($($env),+)?],
            flag: &[$($flag)?],
            doc: concat!($($doc),+),
        }),+];
    };
}

use Kind::{Bool, Choice, Duration, Int, List, Path, Paths, Secret, Sizes, Text};
use Reach::{
    Address, Change, Exceptions, False, FewerItems, Larger, LargerOrZero, MoreItems, Never, Ranked,
    Reference, True,
};

keys! {
    /// Layout version of this file.
    Version "version": Int { min: 1, max: 1 }, Preset::Int(1), Never;

    /// Key for the Mistral API. Better kept in the environment, the keychain or the secrets file than here.
    MistralApiKey "mistral.api_key": Secret, Preset::Empty, Reference, env "MISTRAL_API_KEY";
    /// Where the Mistral API is.
    MistralBaseUrl "mistral.base_url": Text, Preset::Text("https://api.mistral.ai"), Change, env "MISTRAL_BASE_URL";
    /// Model that words answers.
    MistralChatModel "mistral.chat_model": Text, Preset::Text("mistral-small-2506"), Change,
        env "DIR2MCP_CHAT_MODEL", flag "--chat-model";
    /// Model that embeds text.
    MistralEmbedTextModel "mistral.embed_text_model": Text, Preset::Text("mistral-embed"), Change,
        env "DIR2MCP_EMBED_MODEL_TEXT", flag "--embed-model-text";
    /// Model that embeds code.
    MistralEmbedCodeModel "mistral.embed_code_model": Text, Preset::Text("codestral-embed"), Change,
        env "DIR2MCP_EMBED_MODEL_CODE", flag "--embed-model-code";
    /// Model that reads PDFs and images.
    MistralOcrModel "mistral.ocr_model": Text, Preset::Text("mistral-ocr-latest"), Change;

    /// Who embeds: auto takes what is built in.
    EmbedProvider "embed.provider": Choice(&["auto", "builtin", "mistral"]), Preset::Text("auto"), Ranked(&[&["builtin"], &["auto"], &["mistral"]]);

    /// Who reads PDFs and images.
    OcrProvider "ocr.provider": Choice(&["auto", "builtin", "mistral"]), Preset::Text("auto"), Ranked(&[&["builtin"], &["auto"], &["mistral"]]);

    /// Word an answer from the passages found; when false, `ask` lists passages only.
    RagGenerateAnswer "rag.generate_answer": Bool, Preset::Bool(true), Never;
    /// Passages returned when a call names no number.
    RagKDefault "rag.k_default": Int { min: 1, max: 50 }, Preset::Int(10), Never;
    /// Instruction given to the model that words answers.
    RagSystemPrompt "rag.system_prompt": Text, Preset::Text(
        "You are a retrieval-augmented assistant.\nUse citations and never invent sources.\n"), Change;
    /// Most characters of context given to that model.
    RagMaxContextChars "rag.max_context_chars": Int { min: 200, max: 2_000_000 }, Preset::Int(20_000), Larger;
    /// Candidates fetched for each passage wanted, so that filters and deletions leave enough.
    RagOversampleFactor "rag.oversample_factor": Int { min: 1, max: 100 }, Preset::Int(5), Never;

    /// Obey .gitignore files, also outside of git repositories. A .ignore file outranks them.
    IngestGitignore "ingest.gitignore": Bool, Preset::Bool(true), False;
    /// PDF files.
    IngestPdfMode "ingest.pdf.mode": Choice(&["off", "ocr", "auto"]), Preset::Text("ocr"), Ranked(&[&["off"], &["ocr", "auto"]]);
    /// Images.
    IngestImagesMode "ingest.images.mode": Choice(&["off", "ocr_auto", "ocr_on"]), Preset::Text("ocr_auto"), Ranked(&[&["off"], &["ocr_auto"], &["ocr_on"]]);
    /// Audio files; auto transcribes only where the credentials are there.
    IngestAudioMode "ingest.audio.mode": Choice(&["off", "auto", "on"]), Preset::Text("auto"), Ranked(&[&["off"], &["auto"], &["on"]]);
    /// Keep transcripts, so that none is paid for twice.
    IngestAudioCache "ingest.audio.cache": Bool, Preset::Bool(true), Never;
    /// Archives.
    IngestArchivesMode "ingest.archives.mode": Choice(&["off", "shallow", "deep"]), Preset::Text("deep"), Ranked(&[&["off"], &["shallow"], &["deep"]]);
    /// Follow symbolic links that stay below the root.
    IngestFollowSymlinks "ingest.follow_symlinks": Bool, Preset::Bool(false), Never;
    /// Largest file indexed, in megabytes.
    IngestMaxFileMb "ingest.max_file_mb": Int { min: 1, max: 16_384 }, Preset::Int(20), Larger;
    /// The same for single document types, such as `pdf: 50`.
    IngestMaxFileMbByType "ingest.max_file_mb_by_type": Sizes, Preset::Empty, Larger;
    /// Notice changed files while the server runs.
    IngestWatch "ingest.watch": Bool, Preset::Bool(true), Never;
    /// Threads that index; 0 takes as many as there are cores.
    IngestThreads "ingest.threads": Int { min: 0, max: 1024 }, Preset::Int(0), Never;
    /// How long one file may take to be opened or read where that can hang: network drives, FUSE, cloud placeholders.
    IngestReadTimeout "ingest.read_timeout": Duration, Preset::Text("30s"), Never;

    /// Longest chunk of prose, in characters.
    ChunkingMaxChars "chunking.max_chars": Int { min: 200, max: 100_000 }, Preset::Int(2500), Never;
    /// Characters that neighbouring chunks share.
    ChunkingOverlapChars "chunking.overlap_chars": Int { min: 0, max: 50_000 }, Preset::Int(250), Never;
    /// Shortest chunk that stands alone.
    ChunkingMinChars "chunking.min_chars": Int { min: 0, max: 100_000 }, Preset::Int(200), Never;
    /// Longest chunk of code, in lines.
    ChunkingCodeMaxLines "chunking.code.max_lines": Int { min: 1, max: 10_000 }, Preset::Int(200), Never;
    /// Lines that neighbouring windows of code share.
    ChunkingCodeOverlapLines "chunking.code.overlap_lines": Int { min: 0, max: 5_000 }, Preset::Int(30), Never;
    /// Length of a transcript window, in milliseconds.
    ChunkingTranscriptSegmentMs "chunking.transcript.segment_ms": Int { min: 1000, max: 3_600_000 },
        Preset::Int(30_000), Never;
    /// Milliseconds that neighbouring windows share.
    ChunkingTranscriptOverlapMs "chunking.transcript.overlap_ms": Int { min: 0, max: 1_800_000 },
        Preset::Int(5000), Never;

    /// Who transcribes audio.
    SttProvider "stt.provider": Choice(&["mistral", "elevenlabs"]), Preset::Text("mistral"), Change;
    /// Key for Mistral transcription, where it differs from mistral.api_key.
    SttMistralApiKey "stt.mistral.api_key": Secret, Preset::Empty, Reference;
    /// Mistral transcription model.
    SttMistralModel "stt.mistral.model": Text, Preset::Text("voxtral-mini-latest"), Change;
    /// Ask for times, which citations into audio need.
    SttMistralTimestamps "stt.mistral.timestamps": Bool, Preset::Bool(true), Never;
    /// Key for the ElevenLabs API.
    SttElevenlabsApiKey "stt.elevenlabs.api_key": Secret, Preset::Empty, Reference, env "ELEVENLABS_API_KEY";
    /// Where the ElevenLabs API is.
    SttElevenlabsBaseUrl "stt.elevenlabs.base_url": Text, Preset::Text("https://api.elevenlabs.io"), Change,
        env "ELEVENLABS_BASE_URL";
    /// ElevenLabs transcription model.
    SttElevenlabsModel "stt.elevenlabs.model": Text, Preset::Text("scribe"), Change;
    /// Ask for times, which citations into audio need.
    SttElevenlabsTimestamps "stt.elevenlabs.timestamps": Bool, Preset::Bool(true), Never;

    /// Voice that reads answers aloud.
    TtsElevenlabsVoiceId "tts.elevenlabs.voice_id": Text, Preset::Text("JBFqnCBsd6RMkjVDRZzb"), Change,
        env "ELEVENLABS_VOICE_ID";

    /// Follows from x402.mode, which decides.
    X402Enabled "x402.enabled": Bool, Preset::Bool(false), Change;
    /// Payments for calls.
    X402Mode "x402.mode": Choice(&["off", "on", "required"]), Preset::Text("off"), Change, flag "--x402";
    /// Facilitator that verifies and settles payments.
    X402FacilitatorUrl "x402.facilitator_url": Text, Preset::Text(""), Change, flag "--x402-facilitator-url";
    /// File with the facilitator's bearer token.
    X402FacilitatorTokenFile "x402.facilitator_token_file": Path, Preset::Text(""), Change,
        flag "--x402-facilitator-token-file";
    /// Public base URL named in payment requirements.
    X402ResourceBaseUrl "x402.resource_base_url": Text, Preset::Text(""), Change, flag "--x402-resource-base-url";
    /// Charge for tools/call.
    X402ToolsCallEnabled "x402.route_policy.tools_call.enabled": Bool, Preset::Bool(false), Change,
        env "DIR2MCP_X402_TOOLS_CALL_ENABLED", flag "--x402-tools-call-enabled";
    /// Price of a call: a whole number is in the asset's smallest unit.
    X402Price "x402.route_policy.tools_call.price": Text, Preset::Text("0.001"), Change,
        env "DIR2MCP_X402_PRICE_ATOMIC" "DIR2MCP_X402_PRICE", flag "--x402-price";
    /// Network, as a CAIP-2 identifier.
    X402Network "x402.route_policy.tools_call.network": Text, Preset::Text("eip155:8453"), Change,
        env "DIR2MCP_X402_NETWORK", flag "--x402-network";
    /// Payment scheme.
    X402Scheme "x402.route_policy.tools_call.scheme": Choice(&["exact", "upto"]), Preset::Text("exact"), Change,
        env "DIR2MCP_X402_SCHEME", flag "--x402-scheme";
    /// Asset that is paid.
    X402Asset "x402.route_policy.tools_call.asset": Text, Preset::Text(""), Change,
        env "DIR2MCP_X402_ASSET", flag "--x402-asset";
    /// Account that is paid.
    X402PayTo "x402.route_policy.tools_call.pay_to": Text, Preset::Text(""), Change,
        env "DIR2MCP_X402_PAY_TO", flag "--x402-pay-to";
    /// Announce the paid tools to discovery services.
    X402BazaarEnabled "x402.bazaar.enabled": Bool, Preset::Bool(false), Change;
    /// What the announcement says.
    X402BazaarDescription "x402.bazaar.metadata.description": Text, Preset::Text(""), Change;

    /// Address to listen on; port 0 takes a free one.
    ServerListen "server.listen": Text, Preset::Text("127.0.0.1:0"), Address, flag "--listen";
    /// Path of the MCP endpoint.
    ServerMcpPath "server.mcp_path": Text, Preset::Text("/mcp"), Never, flag "--mcp-path";
    /// MCP version named in connection details; clients may negotiate another.
    ServerProtocolVersion "server.protocol_version": Choice(PROTOCOL_VERSIONS), Preset::Text("2025-11-25"), Never;
    /// Serve HTTPS.
    ServerTlsEnabled "server.tls.enabled": Bool, Preset::Bool(false), False;
    /// Certificate chain, PEM.
    ServerTlsCertFile "server.tls.cert_file": Path, Preset::Text(""), Change, flag "--tls-cert";
    /// Private key, PEM.
    ServerTlsKeyFile "server.tls.key_file": Path, Preset::Text(""), Change, flag "--tls-key";
    /// Let other machines in: listens on 0.0.0.0 and insists on a token.
    ServerPublic "server.public": Bool, Preset::Bool(false), True, flag "--public";
    /// Refuse every tool that could write, now and later.
    ServerReadOnly "server.read_only": Bool, Preset::Bool(false), False, flag "--read-only";
    /// Sets of tools shown at the MCP endpoint: dir2mcp, repo, cleats, files, smart.
    ServerTools "server.tools": List, Preset::List(&["dir2mcp"]), MoreItems, flag "--tools";
    /// Tool names listed with dots, or with underscores for hosts that refuse dots; calls may use either.
    ServerToolNames "server.tool_names": Choice(&["dotted", "underscore"]), Preset::Text("dotted"), Never,
        flag "--tool-names";
    /// Names accepted in the Host header, beside localhost and IP addresses.
    ServerAllowedHosts "server.allowed_hosts": List, Preset::List(&[]), MoreItems;
    /// A session ends after this long without a request.
    ServerSessionInactivityTimeout "server.session_inactivity_timeout": Duration, Preset::Text("24h"), LargerOrZero,
        env "DIR2MCP_SESSION_INACTIVITY_TIMEOUT";
    /// A session ends after this long in any case; 0 means never.
    ServerSessionMaxLifetime "server.session_max_lifetime": Duration, Preset::Text("0"), LargerOrZero,
        env "DIR2MCP_SESSION_MAX_LIFETIME";
    /// Most sessions at one time.
    ServerMaxSessions "server.max_sessions": Int { min: 1, max: 1_000_000 }, Preset::Int(10_000), Larger;
    /// Requests per second from one address, when public; 0 switches the limit off.
    ServerRateLimitRps "server.rate_limit.rps": Int { min: 0, max: 1_000_000 }, Preset::Int(60), LargerOrZero,
        env "DIR2MCP_RATE_LIMIT_RPS";
    /// Requests from one address at once, when public; 0 switches the limit off.
    ServerRateLimitBurst "server.rate_limit.burst": Int { min: 0, max: 1_000_000 }, Preset::Int(20), LargerOrZero,
        env "DIR2MCP_RATE_LIMIT_BURST";
    /// Proxies whose X-Forwarded-For is believed, such as 127.0.0.1 for one on this machine; without any, the header is ignored.
    ServerTrustedProxies "server.trusted_proxies": List, Preset::List(&[]), MoreItems,
        env "DIR2MCP_TRUSTED_PROXIES";

    /// Where the repository tools keep their audit log and the last bundle: `.repo_mcp` when they are served alone, else
    /// the state directory.
    RepoDataDir "repo.data_dir": Path, Preset::Text(""), Change, flag "--data-dir";
    /// Largest file the repository tools show, in bytes.
    RepoMaxFileBytes "repo.limits.max_file_bytes": Int { min: 1, max: LIMITS[0].2 }, Preset::Int(LIMITS[0].1), Never,
        flag "--max-file-bytes";
    /// Most lines of one `repo.open_file`.
    RepoMaxOpenLines "repo.limits.max_open_lines": Int { min: 1, max: LIMITS[1].2 }, Preset::Int(LIMITS[1].1), Never,
        flag "--max-open-lines";
    /// Most bytes of one response of the repository tools.
    RepoMaxTotalBytes "repo.limits.max_total_bytes_per_response": Int { min: 1, max: LIMITS[2].2 },
        Preset::Int(LIMITS[2].1), Never, flag "--max-total-bytes-per-response";
    /// Most hits of one `repo.search`, and most files of one listing.
    RepoMaxSearchHits "repo.limits.max_search_hits": Int { min: 1, max: LIMITS[3].2 }, Preset::Int(LIMITS[3].1), Never,
        flag "--max-search-hits";
    /// Most references or definitions of one answer.
    RepoMaxReferences "repo.limits.max_references": Int { min: 1, max: LIMITS[4].2 }, Preset::Int(LIMITS[4].1), Never,
        flag "--max-references";
    /// Most files of one bundle.
    RepoMaxBundleFiles "repo.limits.max_bundle_files": Int { min: 1, max: LIMITS[5].2 }, Preset::Int(LIMITS[5].1), Never,
        flag "--max-bundle-files";
    /// Extensions that the repository tools index and search; replaces the default.
    RepoIncludeExtensions "repo.index.include_extensions": List, Preset::IncludeExtensions, Never,
        flag "--include-extensions";
    /// Globs that the repository tools leave out; replaces the default.
    RepoExcludeGlobs "repo.index.exclude_globs": List, Preset::ExcludeGlobs, Never, flag "--exclude-globs";
    /// Outlines of Python files.
    RepoPythonEnabled "repo.adapters.python_enabled": Bool, Preset::Bool(true), Never, flag "--python-adapter-enabled";
    /// Let `repo.search` and bundles look for meanings too; off, no vector is ever looked at.
    RepoSemanticEnabled "repo.semantic.enabled": Bool, Preset::Bool(false), Never, flag "--semantic";

    /// Folders that the smart tools serve beside the root directory, each with an index of its own.
    WorkspaceRoots "workspace.roots": Paths, Preset::List(&[]), MoreItems, flag "--roots";

    /// Largest preview and snippet of the smart tools, in bytes.
    SmartPreviewBytes "smart.preview_bytes": Int { min: 1024, max: 2048 }, Preset::Int(2048), Larger;
    /// Keep the text of queries, redacted, in the audit log of the smart tools.
    SmartAuditQueries "smart.audit_queries": Bool, Preset::Bool(false), True;
    /// Calls of `searchFiles` by one client within a minute; 0 switches the limit off.
    SmartSearchFiles "smart.rate_limits.search_files": Int { min: 0, max: 1_000_000 }, Preset::Int(60), LargerOrZero;
    /// The same for `openFile`.
    SmartOpenFile "smart.rate_limits.open_file": Int { min: 0, max: 1_000_000 }, Preset::Int(30), LargerOrZero;
    /// The same for `summarizeResults`.
    SmartSummarizeResults "smart.rate_limits.summarize_results": Int { min: 0, max: 1_000_000 }, Preset::Int(20), LargerOrZero;
    /// Let the limits hold for the client on standard input, too.
    SmartLimitStdio "smart.rate_limits.stdio": Bool, Preset::Bool(false), False;

    /// Where keys are looked for after the environment.
    SecretsProvider "secrets.provider": Choice(&["auto", "keychain", "file", "env", "session"]),
        Preset::Text("auto"), Ranked(&[&["env", "session"], &["file"], &["auto"], &["keychain"]]);
    /// Service name of the keychain entries.
    SecretsKeychainService "secrets.keychain.service": Text, Preset::Text("dir2mcp"), Change;
    /// Account name of the keychain entries.
    SecretsKeychainAccount "secrets.keychain.account": Text, Preset::Text("default"), Change;
    /// File with NAME=value lines, in the state directory unless said otherwise.
    SecretsFilePath "secrets.file.path": Path, Preset::Text(".dir2mcp/secret.env"), Change;
    /// Permissions that file must have.
    SecretsFileMode "secrets.file.mode": Choice(&["0600", "600"]), Preset::Text("0600"), Never;

    /// Who may call: auto makes a bearer token, none lets everyone in, file reads the token from token_file.
    SecurityAuthMode "security.auth.mode": Choice(&["auto", "none", "file"]), Preset::Text("auto"), Ranked(&[&["auto"], &["file"], &["none"]]), flag "--auth";
    /// File with the bearer token.
    SecurityAuthTokenFile "security.auth.token_file": Path, Preset::Text(""), Change;
    /// Variable with the bearer token.
    SecurityAuthTokenEnv "security.auth.token_env": Text, Preset::Text("DIR2MCP_AUTH_TOKEN"), Change;
    /// Web origins that may call; without a port, any port. The variable and the flag add to the list.
    SecurityAllowedOrigins "security.allowed_origins": List,
        Preset::List(&["http://localhost", "http://127.0.0.1"]), MoreItems,
        env "DIR2MCP_ALLOWED_ORIGINS", flag "--allowed-origins";
    /// Paths never indexed nor opened (globs), beside the fixed list of key files that no setting can relax. Adds to the
    /// default; `!` before a glob takes one back.
    SecurityPathExcludes "security.path_excludes": List, Preset::PathExcludes, Exceptions;
    /// Regular expressions that hold a file back; `default` stands for the built-in rules.
    SecuritySecretPatterns "security.secret_patterns": List, Preset::List(&["default"]), FewerItems;
    /// How much the built-in rules hold back: default, or strict, which takes short and guessable passwords and examples too.
    SecuritySecretLevel "security.secret_level": Choice(&["default", "strict"]), Preset::Text("default"), Ranked(&[&["strict"], &["default"]]);
    /// What the secret rules let pass: globs of paths, and lines by their digest (`sha256:` and 16 hex digits or more).
    SecurityAllow "security.allow": List, Preset::List(&[]), MoreItems;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_are_where_their_key_says() {
        for (row, spec) in TABLE.iter().enumerate() {
            assert_eq!(spec.key as usize, row);
        }
    }

    #[test]
    fn names_are_unique_and_sections_stand_together() {
        let mut paths = BTreeSet::new();
        let mut env = BTreeSet::new();
        let mut seen = Vec::<&str>::new();
        for spec in TABLE {
            assert!(paths.insert(spec.path), "{}", spec.path);
            for name in spec.env_names() {
                assert!(env.insert(name.to_string()), "{name}");
            }
            assert!(!spec.doc.trim().is_empty());
            let section = spec.path.split('.').next().unwrap();
            if seen.last() != Some(&section) {
                assert!(!seen.contains(&section), "{section} is split");
                seen.push(section);
            }
        }
        for spec in TABLE {
            let inside = format!("{}.", spec.path);
            assert!(!TABLE.iter().any(|other| other.path.starts_with(&inside)), "{} has children", spec.path);
        }
        for name in OTHER_ENV.iter().chain(UNUSED_ENV).chain(OLD_ENV.iter().map(|(name, _)| name)) {
            assert!(!env.contains(*name), "{name}");
        }
    }
}
