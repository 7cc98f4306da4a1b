//! The one table of configuration keys. The defaults, the file reader, the environment, `config print`, the
//! template of `config init` and the reference page all read it, so none of them can disagree.

use std::borrow::Cow;

use contracts::repo::RESPONSE_LIMITS as LIMITS;
use providers::{cohere, elevenlabs, mistral, openai};

use super::reach::Reach;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
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
    /// A list of folders; relative ones as for [`KeyKind::Path`].
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
pub(crate) struct KeySpec {
    pub key: Key,
    /// The name in the file, its sections joined by dots.
    pub path: &'static str,
    pub kind: KeyKind,
    pub preset: Preset,
    /// Which values a file inside the served folder may set only once the user trusts it.
    pub reach: Reach,
    /// Further environment names, tried before the systematic one.
    pub other_env: &'static [&'static str],
    /// The flag of `dir2mcp up`, if there is one.
    pub flag: &'static [&'static str],
    pub doc: &'static str,
}

impl KeySpec {
    pub(crate) fn of(key: Key) -> &'static KeySpec {
        &TABLE[key as usize]
    }

    pub(crate) fn find(path: &str) -> Option<&'static KeySpec> {
        TABLE.iter().find(|spec| spec.path == path)
    }

    /// The environment names, the first one set wins. The version is the file's own; `DIR2MCP_VERSION` is
    /// what images call the program's. The file store is configured by files and flags alone, as its specification has it.
    pub(crate) fn env_names(&self) -> impl Iterator<Item = Cow<'static, str>> {
        let systematic = format!("DIR2MCP_{}", self.path.replace('.', "_").to_uppercase());
        let has_one = self.key != Key::Version && !self.path.starts_with("files.");
        let systematic = has_one.then_some(Cow::Owned(systematic));
        self.other_env.iter().map(|name| Cow::Borrowed(*name)).chain(systematic)
    }

    /// True where a variable or flag adds to the list below it. Someone who allows one more origin does not
    /// mean to lock the local ones out, and someone who excludes one more folder does not mean to open the others.
    pub(crate) fn adds(&self) -> bool {
        matches!(self.key, Key::SecurityAllowedOrigins | Key::SecurityPathExcludes)
    }

    pub(crate) fn expected(&self) -> String {
        match self.kind {
            KeyKind::Bool => "true or false".into(),
            KeyKind::Int { min, max } if min == max => min.to_string(),
            KeyKind::Int { min, max } => format!("a whole number from {min} to {max}"),
            KeyKind::Text => "a text".into(),
            KeyKind::Path => "a file path".into(),
            KeyKind::Choice(choices) => format!("one of {}", choices.join(", ")),
            KeyKind::List => "a list of texts".into(),
            KeyKind::Paths => "a list of folders".into(),
            KeyKind::Duration => "a duration such as 30m, 24h, 500ms or 0".into(),
            KeyKind::Sizes => "megabytes by document type, such as pdf: 50".into(),
            KeyKind::Secret => "a text such as ${MISTRAL_API_KEY}".into(),
        }
    }
}

/// Names that mean something although no key has them.
pub(crate) const OTHER_ENV: &[&str] = &[
    "DIR2MCP_DIR",
    "DIR2MCP_CONFIG",
    "DIR2MCP_STATE_DIR",
    "DIR2MCP_AUTH_TOKEN",
    "DIR2MCP_CONSOLE_DIR",
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
        pub(crate) const TABLE: &[KeySpec] = &[$(KeySpec {
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

use KeyKind::{Bool, Choice, Duration, Int, List, Path, Paths, Secret, Sizes, Text};
use Reach::{
    Address, Change, Exceptions, False, FewerItems, Larger, LargerOrZero, MoreItems, Never, Ranked,
    Reference, True,
};

keys! {
    /// Layout version of this file.
    Version "version": Int { min: 1, max: 1 }, Preset::Int(1), Never;

    /// Key for the Mistral API. Better kept in the environment, the keychain or the secrets file than here.
    MistralApiKey "mistral.api_key": Secret, Preset::Empty, Reference, env "MISTRAL_API_KEY";
    /// Base URL of the Mistral API.
    MistralBaseUrl "mistral.base_url": Text, Preset::Text(mistral::BASE_URL), Change, env "MISTRAL_BASE_URL";
    /// Mistral chat model that writes answers.
    MistralChatModel "mistral.chat_model": Text, Preset::Text(mistral::CHAT_MODEL), Change,
        env "DIR2MCP_CHAT_MODEL", flag "--chat-model";
    /// Mistral embedding model for text.
    MistralEmbedTextModel "mistral.embed_text_model": Text, Preset::Text(mistral::EMBED_TEXT_MODEL), Change,
        env "DIR2MCP_EMBED_MODEL_TEXT", flag "--embed-model-text";
    /// Mistral embedding model for code.
    MistralEmbedCodeModel "mistral.embed_code_model": Text, Preset::Text(mistral::EMBED_CODE_MODEL), Change,
        env "DIR2MCP_EMBED_MODEL_CODE", flag "--embed-model-code";
    /// Mistral OCR model for PDFs and images.
    MistralOcrModel "mistral.ocr_model": Text, Preset::Text(mistral::OCR_MODEL), Change;

    /// Key for the OpenAI API, or for another server that speaks it. A server of your own may need none.
    OpenaiApiKey "openai.api_key": Secret, Preset::Empty, Reference, env "OPENAI_API_KEY";
    /// Base URL of the OpenAI API, or of a server that speaks it, such as http://127.0.0.1:11434/v1 for Ollama.
    OpenaiBaseUrl "openai.base_url": Text, Preset::Text(openai::BASE_URL), Change, env "OPENAI_BASE_URL";
    /// Chat model that writes answers.
    OpenaiChatModel "openai.chat_model": Text, Preset::Text(openai::CHAT_MODEL), Change;
    /// Embedding model for text and code.
    OpenaiEmbedModel "openai.embed_model": Text, Preset::Text(openai::EMBED_MODEL), Change;
    /// Numbers in a vector of openai.embed_model; 0 means what the model is known for.
    OpenaiEmbedDimensions "openai.embed_dimensions": Int { min: 0, max: 16_384 }, Preset::Int(0), Never;
    /// Transcription model.
    OpenaiSttModel "openai.stt_model": Text, Preset::Text(openai::STT_MODEL), Change;
    /// Model that reads answers aloud.
    OpenaiTtsModel "openai.tts_model": Text, Preset::Text(openai::TTS_MODEL), Change;
    /// Voice of openai.tts_model.
    OpenaiTtsVoice "openai.tts_voice": Text, Preset::Text(openai::VOICE), Change;

    /// Key for the Cohere API, or for another server that speaks it.
    CohereApiKey "cohere.api_key": Secret, Preset::Empty, Reference, env "COHERE_API_KEY";
    /// Base URL of the Cohere API, or of a server that speaks it.
    CohereBaseUrl "cohere.base_url": Text, Preset::Text(cohere::BASE_URL), Change, env "COHERE_BASE_URL";
    /// Model that compares passages with the question.
    CohereRerankModel "cohere.rerank_model": Text, Preset::Text(cohere::RERANK_MODEL), Change;
    /// How the server wants to be asked: Cohere's v2, v1 as llama.cpp and Jina have it, or tei (text-embeddings-inference).
    CohereRerankApi "cohere.rerank_api": Choice(&["v2", "v1", "tei"]), Preset::Text("v2"), Change;

    /// A name for what these programs compute. Change it when their results change, so that files are read again.
    CommandModel "command.model": Text, Preset::Text("command"), Never;
    /// How long one run of a program may take.
    CommandTimeout "command.timeout": Duration, Preset::Text("60s"), Never;
    /// Program, and its arguments, that turns texts into vectors (embed.provider: command).
    CommandEmbed "command.embed": List, Preset::List(&[]), Change;
    /// Numbers in a vector of command.embed.
    CommandEmbedDimensions "command.embed_dimensions": Int { min: 0, max: 16_384 }, Preset::Int(0), Never;
    /// Program, and its arguments, that reads the text in a picture; `{file}` stands for the picture's file (ocr.provider: command).
    CommandOcr "command.ocr": List, Preset::List(&[]), Change;
    /// Program, and its arguments, that transcribes a recording; `{file}` stands for its file (stt.provider: command).
    CommandStt "command.stt": List, Preset::List(&[]), Change;

    /// Hosts that providers may be reached at. If empty, the hosts of the base URLs above.
    ProvidersAllowedHosts "providers.allowed_hosts": List, Preset::List(&[]), Change;

    /// Folder of the local models that `dir2mcp extras` fetched [default: dir2mcp/extras in the user's data directory].
    ExtrasDir "extras.dir": Path, Preset::Text(""), Change;

    /// Paid requests per day, over all providers; 0 means no limit. Beyond it providers pause until the next day (UTC).
    LimitsSpendCallsPerDay "limits.spend.calls_per_day": Int { min: 0, max: 1_000_000_000 }, Preset::Int(0), LargerOrZero;
    /// Paid pages of OCR per day; 0 means no limit.
    LimitsSpendPagesPerDay "limits.spend.pages_per_day": Int { min: 0, max: 1_000_000_000 }, Preset::Int(0), LargerOrZero;

    /// Who makes the vectors. auto: mistral or openai if there is a key, else the built-in table.
    EmbedProvider "embed.provider": Choice(&["auto", "builtin", "mistral", "openai", "command"]), Preset::Text("auto"),
        Ranked(&[&["builtin"], &["auto"], &["mistral", "openai", "command"]]);

    /// Who writes answers. auto: mistral or openai if there is a key, else builtin, which quotes the sentences that answer.
    ChatProvider "chat.provider": Choice(&["auto", "builtin", "mistral", "openai"]), Preset::Text("auto"),
        Ranked(&[&["builtin"], &["auto"], &["mistral", "openai"]]);

    /// Who reads the text in images and scanned pages. auto: mistral if there is a key, else Tesseract, else the ocr extra.
    OcrProvider "ocr.provider": Choice(&["auto", "off", "local", "tesseract", "mistral", "command"]), Preset::Text("auto"),
        Ranked(&[&["off"], &["local", "tesseract"], &["auto"], &["mistral", "command"]]);
    /// Languages for Tesseract, as it names them, such as eng+deu [default: those that are installed].
    OcrLanguage "ocr.language": Text, Preset::Text(""), Never;
    /// The Tesseract program [default: found on the PATH].
    OcrTesseractPath "ocr.tesseract_path": Path, Preset::Text(""), Change;

    /// Who puts passages in order once more. auto: cohere if there is a key, else the rerank extra, else off.
    RerankProvider "rerank.provider": Choice(&["auto", "off", "local", "cohere"]), Preset::Text("auto"),
        Ranked(&[&["off"], &["local"], &["auto"], &["cohere"]]);

    /// Write an answer from the passages found; if false, `ask` only lists them.
    RagGenerateAnswer "rag.generate_answer": Bool, Preset::Bool(true), Never;
    /// Number of passages returned if the call does not say.
    RagKDefault "rag.k_default": Int { min: 1, max: 50 }, Preset::Int(10), Never;
    /// System prompt for the chat model.
    RagSystemPrompt "rag.system_prompt": Text, Preset::Text(
        "You are a retrieval-augmented assistant.\nUse citations and never invent sources.\n"), Change;
    /// Maximum characters of context given to the chat model.
    RagMaxContextChars "rag.max_context_chars": Int { min: 200, max: 2_000_000 }, Preset::Int(20_000), Larger;
    /// Candidates fetched per requested passage, so that enough are left after filters and deletions.
    RagOversampleFactor "rag.oversample_factor": Int { min: 1, max: 100 }, Preset::Int(5), Never;

    /// Obey .gitignore files, inside and outside of git repositories. A .ignore file takes precedence.
    IngestGitignore "ingest.gitignore": Bool, Preset::Bool(true), False;
    /// How PDF files are read.
    IngestPdfMode "ingest.pdf.mode": Choice(&["off", "ocr", "auto"]), Preset::Text("ocr"), Ranked(&[&["off"], &["ocr", "auto"]]);
    /// How images are read.
    IngestImagesMode "ingest.images.mode": Choice(&["off", "ocr_auto", "ocr_on"]), Preset::Text("ocr_auto"), Ranked(&[&["off"], &["ocr_auto"], &["ocr_on"]]);
    /// How audio files are read; auto transcribes them only if credentials are present.
    IngestAudioMode "ingest.audio.mode": Choice(&["off", "auto", "on"]), Preset::Text("auto"), Ranked(&[&["off"], &["auto"], &["on"]]);
    /// A rebuild takes transcripts over, so that each recording is paid for once; false has them made again.
    IngestAudioCache "ingest.audio.cache": Bool, Preset::Bool(true), Never;
    /// How deep archives are read.
    IngestArchivesMode "ingest.archives.mode": Choice(&["off", "shallow", "deep"]), Preset::Text("deep"), Ranked(&[&["off"], &["shallow"], &["deep"]]);
    /// Follow symbolic links that stay below the root.
    IngestFollowSymlinks "ingest.follow_symlinks": Bool, Preset::Bool(false), Never;
    /// Maximum size of an indexed file, in megabytes.
    IngestMaxFileMb "ingest.max_file_mb": Int { min: 1, max: 16_384 }, Preset::Int(20), Larger;
    /// The same by document type, such as `pdf: 50`.
    IngestMaxFileMbByType "ingest.max_file_mb_by_type": Sizes, Preset::Empty, Larger;
    /// Watch for changed files while the server runs.
    IngestWatch "ingest.watch": Bool, Preset::Bool(true), Never;
    /// Number of indexing threads; 0 means one per core.
    IngestThreads "ingest.threads": Int { min: 0, max: 1024 }, Preset::Int(0), Never;
    /// How long opening or reading one file may take where it can hang: network drives, FUSE, cloud placeholders.
    IngestReadTimeout "ingest.read_timeout": Duration, Preset::Text("30s"), Never;

    /// Maximum length of a prose chunk, in characters.
    ChunkingMaxChars "chunking.max_chars": Int { min: 200, max: 100_000 }, Preset::Int(2500), Never;
    /// Overlap of neighbouring prose chunks, in characters.
    ChunkingOverlapChars "chunking.overlap_chars": Int { min: 0, max: 50_000 }, Preset::Int(250), Never;
    /// Minimum length of a separate chunk, in characters.
    ChunkingMinChars "chunking.min_chars": Int { min: 0, max: 100_000 }, Preset::Int(200), Never;
    /// Maximum length of a code chunk, in lines.
    ChunkingCodeMaxLines "chunking.code.max_lines": Int { min: 1, max: 10_000 }, Preset::Int(200), Never;
    /// Overlap of neighbouring code chunks, in lines.
    ChunkingCodeOverlapLines "chunking.code.overlap_lines": Int { min: 0, max: 5_000 }, Preset::Int(30), Never;
    /// Length of a transcript window, in milliseconds.
    ChunkingTranscriptSegmentMs "chunking.transcript.segment_ms": Int { min: 1000, max: 3_600_000 },
        Preset::Int(30_000), Never;
    /// Overlap of neighbouring transcript windows, in milliseconds.
    ChunkingTranscriptOverlapMs "chunking.transcript.overlap_ms": Int { min: 0, max: 1_800_000 },
        Preset::Int(5000), Never;

    /// Who transcribes recordings. auto: mistral, elevenlabs or openai if there is a key, else the speech extra.
    SttProvider "stt.provider": Choice(&["auto", "off", "local", "mistral", "elevenlabs", "openai", "command"]),
        Preset::Text("auto"), Ranked(&[&["off"], &["local"], &["auto"], &["mistral", "elevenlabs", "openai", "command"]]);
    /// Language of the recordings, as ISO 639-1, such as en; empty lets the model find out.
    SttLanguage "stt.language": Text, Preset::Text(""), Never;
    /// Key for Mistral transcription, if different from mistral.api_key.
    SttMistralApiKey "stt.mistral.api_key": Secret, Preset::Empty, Reference;
    /// Mistral transcription model.
    SttMistralModel "stt.mistral.model": Text, Preset::Text(mistral::STT_MODEL), Change;
    /// Request timestamps, which citations into audio need.
    SttMistralTimestamps "stt.mistral.timestamps": Bool, Preset::Bool(true), Never;
    /// Key for the ElevenLabs API.
    SttElevenlabsApiKey "stt.elevenlabs.api_key": Secret, Preset::Empty, Reference, env "ELEVENLABS_API_KEY";
    /// Base URL of the ElevenLabs API.
    SttElevenlabsBaseUrl "stt.elevenlabs.base_url": Text, Preset::Text(elevenlabs::BASE_URL), Change,
        env "ELEVENLABS_BASE_URL";
    /// ElevenLabs transcription model.
    SttElevenlabsModel "stt.elevenlabs.model": Text, Preset::Text("scribe"), Change;
    /// Request timestamps, which citations into audio need.
    SttElevenlabsTimestamps "stt.elevenlabs.timestamps": Bool, Preset::Bool(true), Never;

    /// Who reads answers aloud. auto: elevenlabs or openai if there is a key, else local (the program espeak-ng), else off.
    TtsProvider "tts.provider": Choice(&["auto", "off", "local", "elevenlabs", "openai"]), Preset::Text("auto"),
        Ranked(&[&["off"], &["local"], &["auto"], &["elevenlabs", "openai"]]);
    /// ElevenLabs model that reads answers aloud.
    TtsElevenlabsModel "tts.elevenlabs.model": Text, Preset::Text(elevenlabs::TTS_MODEL), Change;
    /// ElevenLabs voice that reads answers aloud.
    TtsElevenlabsVoiceId "tts.elevenlabs.voice_id": Text, Preset::Text(elevenlabs::VOICE), Change,
        env "ELEVENLABS_VOICE_ID";

    /// Derived from x402.mode.
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
    /// Announce paid tools to discovery services.
    X402BazaarEnabled "x402.bazaar.enabled": Bool, Preset::Bool(false), Change;
    /// Text of the announcement.
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
    /// Accept other machines: listen on 0.0.0.0 and require a token.
    ServerPublic "server.public": Bool, Preset::Bool(false), True, flag "--public";
    /// The web page of this server: on, off, or auto: on where only this machine reaches it, or where TLS protects it.
    ServerConsole "server.console": Choice(&["auto", "on", "off"]), Preset::Text("auto"),
        Ranked(&[&["off"], &["auto"], &["on"]]), flag "--console";
    /// Refuse every tool that could write.
    ServerReadOnly "server.read_only": Bool, Preset::Bool(false), False, flag "--read-only";
    /// Sets of tools served at the MCP endpoint: dir2mcp, repo, files, smart.
    ServerTools "server.tools": List, Preset::List(&["dir2mcp"]), MoreItems, flag "--tools";
    /// How tool names are listed: dotted, or with underscores for clients that refuse dots. Calls may use either.
    ServerToolNames "server.tool_names": Choice(&["dotted", "underscore"]), Preset::Text("dotted"), Never,
        flag "--tool-names";
    /// Names accepted in the Host header, besides localhost and IP addresses.
    ServerAllowedHosts "server.allowed_hosts": List, Preset::List(&[]), MoreItems;
    /// A session ends after this long without a request.
    ServerSessionInactivityTimeout "server.session_inactivity_timeout": Duration, Preset::Text("24h"), LargerOrZero,
        env "DIR2MCP_SESSION_INACTIVITY_TIMEOUT";
    /// A session ends after this long even if it is in use; 0 means never.
    ServerSessionMaxLifetime "server.session_max_lifetime": Duration, Preset::Text("0"), LargerOrZero,
        env "DIR2MCP_SESSION_MAX_LIFETIME";
    /// Maximum number of open sessions.
    ServerMaxSessions "server.max_sessions": Int { min: 1, max: 1_000_000 }, Preset::Int(10_000), Larger;
    /// Requests per second from one address if the server is public; 0 disables the limit.
    ServerRateLimitRps "server.rate_limit.rps": Int { min: 0, max: 1_000_000 }, Preset::Int(60), LargerOrZero,
        env "DIR2MCP_RATE_LIMIT_RPS";
    /// Burst of requests from one address if the server is public; 0 disables the limit.
    ServerRateLimitBurst "server.rate_limit.burst": Int { min: 0, max: 1_000_000 }, Preset::Int(20), LargerOrZero,
        env "DIR2MCP_RATE_LIMIT_BURST";
    /// Proxies whose X-Forwarded-For header is trusted, such as 127.0.0.1 for one on this machine. If empty, the header is ignored.
    ServerTrustedProxies "server.trusted_proxies": List, Preset::List(&[]), MoreItems,
        env "DIR2MCP_TRUSTED_PROXIES";

    /// Where the repository tools keep their audit log and the last bundle: `.repo_mcp` when they are served alone, else
    /// the state directory.
    RepoDataDir "repo.data_dir": Path, Preset::Text(""), Change, flag "--data-dir";
    /// Maximum size of a file that the repository tools show, in bytes.
    RepoMaxFileBytes "repo.limits.max_file_bytes": Int { min: 1, max: LIMITS[0].2 }, Preset::Int(LIMITS[0].1), Never,
        flag "--max-file-bytes";
    /// Maximum lines per `repo.open_file` call.
    RepoMaxOpenLines "repo.limits.max_open_lines": Int { min: 1, max: LIMITS[1].2 }, Preset::Int(LIMITS[1].1), Never,
        flag "--max-open-lines";
    /// Maximum size of a response of the repository tools, in bytes.
    RepoMaxTotalBytes "repo.limits.max_total_bytes_per_response": Int { min: 1, max: LIMITS[2].2 },
        Preset::Int(LIMITS[2].1), Never, flag "--max-total-bytes-per-response";
    /// Maximum hits per `repo.search` and files per listing.
    RepoMaxSearchHits "repo.limits.max_search_hits": Int { min: 1, max: LIMITS[3].2 }, Preset::Int(LIMITS[3].1), Never,
        flag "--max-search-hits";
    /// Maximum references or definitions per answer.
    RepoMaxReferences "repo.limits.max_references": Int { min: 1, max: LIMITS[4].2 }, Preset::Int(LIMITS[4].1), Never,
        flag "--max-references";
    /// Maximum files per bundle.
    RepoMaxBundleFiles "repo.limits.max_bundle_files": Int { min: 1, max: LIMITS[5].2 }, Preset::Int(LIMITS[5].1), Never,
        flag "--max-bundle-files";
    /// Extensions that the repository tools index and search, instead of the default ones.
    RepoIncludeExtensions "repo.index.include_extensions": List, Preset::IncludeExtensions, Never,
        flag "--include-extensions";
    /// Globs that the repository tools leave out, instead of the default ones.
    RepoExcludeGlobs "repo.index.exclude_globs": List, Preset::ExcludeGlobs, Never, flag "--exclude-globs";
    /// Whether to read outlines of Python files.
    RepoPythonEnabled "repo.adapters.python_enabled": Bool, Preset::Bool(true), Never, flag "--python-adapter-enabled";
    /// Let `repo.search` and bundles search by meaning as well; if off, vectors are never used.
    RepoSemanticEnabled "repo.semantic.enabled": Bool, Preset::Bool(false), Never, flag "--semantic";

    /// Further folders that the smart tools serve, each with its own index.
    WorkspaceRoots "workspace.roots": Paths, Preset::List(&[]), MoreItems, flag "--roots";

    /// Maximum size of previews and snippets of the smart tools, in bytes.
    SmartPreviewBytes "smart.preview_bytes": Int { min: 1024, max: 2048 }, Preset::Int(2048), Larger;
    /// Write the text of queries, redacted, to the audit log of the smart tools.
    SmartAuditQueries "smart.audit_queries": Bool, Preset::Bool(false), True;
    /// Calls of `searchFiles` per client and minute; 0 disables the limit.
    SmartSearchFiles "smart.rate_limits.search_files": Int { min: 0, max: 1_000_000 }, Preset::Int(60), LargerOrZero;
    /// The same for `openFile`.
    SmartOpenFile "smart.rate_limits.open_file": Int { min: 0, max: 1_000_000 }, Preset::Int(30), LargerOrZero;
    /// The same for `summarizeResults`.
    SmartSummarizeResults "smart.rate_limits.summarize_results": Int { min: 0, max: 1_000_000 }, Preset::Int(20), LargerOrZero;
    /// Apply these limits to the client on standard input, too.
    SmartLimitStdio "smart.rate_limits.stdio": Bool, Preset::Bool(false), False;

    /// Serve the tools of the file store: at `/mcp/files`, under `/api/files`, and wherever `files` is among the sets of tools.
    FilesEnabled "files.enabled": Bool, Preset::Bool(true), True;
    /// The database of the file store [default: files.sqlite in the state directory].
    FilesPath "files.path": Path, Preset::Text(""), Change;
    /// Where files are kept: embedded, or in PostgreSQL for any number of server processes.
    FilesBackend "files.backend": Choice(&["sqlite", "postgres"]), Preset::Text("sqlite"), Change;
    /// Address of the PostgreSQL database, such as postgres://user:password@host/database.
    FilesPostgresUrl "files.postgres.url": Secret, Preset::Empty, Change;
    /// Address of a replica that reads may go to.
    FilesPostgresReadUrl "files.postgres.read_url": Secret, Preset::Empty, Change;
    /// Schemas that tenants are spread over.
    FilesPostgresBuckets "files.postgres.buckets": Int { min: 1, max: 4096 }, Preset::Int(1), Change;
    /// Connections that this server keeps to PostgreSQL, at most; as many again to a replica.
    FilesPostgresPoolSize "files.postgres.pool_size": Int { min: 2, max: 1000 }, Preset::Int(10), Larger;
    /// Address of the Redis server that keeps credentials for background work.
    FilesRedisUrl "files.redis.url": Secret, Preset::Empty, Change;
    /// Whose files a caller sees. single: all who may use the server share them. keys: each key of `dir2mcp keys add` has its
    /// own, and no other credential has any. passthrough: any bearer token has its own. auto: single on this machine, keys
    /// where others can reach the server.
    FilesAuth "files.auth": Choice(&["auto", "single", "keys", "passthrough"]), Preset::Text("auto"), Change;
    /// Name of the key whose files the client on standard input sees [default: those of `single`].
    FilesStdioKey "files.stdio_key": Text, Preset::Text(""), Change;
    /// Let a project be wiped by deleting its root.
    FilesAllowRootWipe "files.allow_root_wipe": Bool, Preset::Bool(false), True;
    /// Maximum size of the content of one write, in bytes.
    FilesMaxPayloadBytes "files.max_payload_bytes": Int { min: 1, max: 1_000_000_000 }, Preset::Int(2_000_000), Larger;
    /// Maximum size of a file, in bytes.
    FilesMaxFileBytes "files.max_file_bytes": Int { min: 1, max: 1_000_000_000 }, Preset::Int(10_000_000), Larger;
    /// Maximum size of all files of a project, in bytes.
    FilesMaxProjectBytes "files.max_project_bytes": Int { min: 1, max: 1_000_000_000_000_000 }, Preset::Int(100_000_000), Larger;
    /// Maximum size of all files of a tenant, in bytes; 0 means no limit.
    FilesMaxTenantBytes "files.max_tenant_bytes": Int { min: 0, max: 1_000_000_000_000_000 }, Preset::Int(0), LargerOrZero;
    /// Entries of a list if the call does not say.
    FilesListLimitDefault "files.list_limit_default": Int { min: 1, max: 1_000_000 }, Preset::Int(256), Never;
    /// Maximum entries of a list.
    FilesListLimitMax "files.list_limit_max": Int { min: 1, max: 1_000_000 }, Preset::Int(1024), Larger;
    /// How long a change waits for another one of the same project, in milliseconds.
    FilesLockTimeoutMs "files.lock_timeout_ms": Int { min: 1, max: 600_000 }, Preset::Int(3000), Larger;
    /// Days that deleted files are kept.
    FilesDeleteRetentionDays "files.delete_retention_days": Int { min: 0, max: 36_500 }, Preset::Int(30), Larger;
    /// Former contents of a file that are kept whatever their age.
    FilesVersionsKept "files.versions_kept": Int { min: 0, max: 10_000 }, Preset::Int(3), Larger;
    /// Days that former contents of files are kept, however many there are.
    FilesVersionRetentionDays "files.version_retention_days": Int { min: 0, max: 36_500 }, Preset::Int(7), Larger;
    /// Days that the log of calls goes back.
    FilesCallRetentionDays "files.call_retention_days": Int { min: 0, max: 36_500 }, Preset::Int(30), Larger;
    /// Calls per second of one tenant; 0 means no limit.
    FilesRateLimitPerSecond "files.rate_limit.per_second": Int { min: 0, max: 1_000_000 }, Preset::Int(0), LargerOrZero;
    /// Calls of one tenant at once, before they wait.
    FilesRateLimitBurst "files.rate_limit.burst": Int { min: 1, max: 1_000_000 }, Preset::Int(20), Larger;
    /// Let files be searched.
    FilesSearchEnabled "files.search.enabled": Bool, Preset::Bool(true), True;
    /// Passages that a search returns if the call does not say.
    FilesSearchLimitDefault "files.search.limit_default": Int { min: 1, max: 1000 }, Preset::Int(5), Never;
    /// Maximum passages of a search.
    FilesSearchLimitMax "files.search.limit_max": Int { min: 1, max: 1000 }, Preset::Int(20), Larger;
    /// Candidates by meaning.
    FilesSearchVectorCandidates "files.search.vector_candidates": Int { min: 1, max: 10_000 }, Preset::Int(30), Larger;
    /// Candidates by words.
    FilesSearchBm25Candidates "files.search.bm25_candidates": Int { min: 1, max: 10_000 }, Preset::Int(30), Larger;
    /// Model that puts candidates in order once more, with the caller's key.
    FilesSearchRerankModel "files.search.rerank.model": Text, Preset::Text("rerank-v3.5"), Change;
    /// Address of a Cohere-compatible rerank service, such as https://api.cohere.com/v2/rerank; empty uses none.
    FilesSearchRerankEndpoint "files.search.rerank.endpoint": Text, Preset::Text(""), Change;
    /// How long that service may take, in milliseconds.
    FilesSearchRerankTimeoutMs "files.search.rerank.timeout_ms": Int { min: 1, max: 600_000 }, Preset::Int(6000), Larger;
    /// Weight of meaning in the score, where nothing reranks.
    FilesSearchSemanticWeight "files.search.fallback.semantic_weight": Text, Preset::Text("0.65"), Change;
    /// Weight of words in the score, where nothing reranks.
    FilesSearchLexicalWeight "files.search.fallback.lexical_weight": Text, Preset::Text("0.35"), Change;
    /// Address of a service that embeds files with the caller's key, such as https://api.openai.com/v1; empty embeds by the
    /// built-in model.
    FilesEmbeddingEndpoint "files.embedding.endpoint": Text, Preset::Text(""), Change;
    /// Model of that service.
    FilesEmbeddingModel "files.embedding.model": Text, Preset::Text("text-embedding-3-small"), Change;
    /// Length of its vectors.
    FilesEmbeddingDimensions "files.embedding.dimensions": Int { min: 1, max: 16_000 }, Preset::Int(1536), Change;
    /// Workers that index files in the background.
    FilesIndexWorkers "files.index.workers": Int { min: 1, max: 256 }, Preset::Int(2), Larger;
    /// Files that a worker takes at once.
    FilesIndexBatchSize "files.index.batch_size": Int { min: 1, max: 10_000 }, Preset::Int(20), Larger;
    /// How often indexing a file is tried.
    FilesIndexRetryMax "files.index.retry_max": Int { min: 1, max: 1000 }, Preset::Int(5), Larger;
    /// Pause before the second try, in milliseconds; each further one is longer.
    FilesIndexRetryBackoffMs "files.index.retry_backoff_ms": Int { min: 1, max: 3_600_000 }, Preset::Int(1000), Never;
    /// Seconds in which 95 of 100 changes are to be found; `/metrics` tells how long it takes.
    FilesIndexSloP95Seconds "files.index.slo_p95_seconds": Int { min: 1, max: 86_400 }, Preset::Int(30), Never;
    /// Secrets that encrypt credentials for background work, as `1:secret,2:secret`; the highest number encrypts, all decrypt.
    FilesSecurityEncryptionKeks "files.security.encryption_keks": Secret, Preset::Empty, Change;
    /// What the names of these credentials begin with in Redis.
    FilesSecurityCredentialCachePrefix "files.security.credential_cache_prefix": Text, Preset::Text("mcp:files:cred"), Change;
    /// Seconds after which such a credential is forgotten.
    FilesSecurityCredentialCacheTtlSeconds "files.security.credential_cache_ttl_seconds": Int { min: 1, max: 86_400 },
        Preset::Int(300), Larger;

    /// Where keys are looked for after the environment.
    SecretsProvider "secrets.provider": Choice(&["auto", "keychain", "file", "env", "session"]),
        Preset::Text("auto"), Ranked(&[&["env", "session"], &["file"], &["auto"], &["keychain"]]);
    /// Service name of the keychain entries.
    SecretsKeychainService "secrets.keychain.service": Text, Preset::Text("dir2mcp"), Change;
    /// Account name of the keychain entries.
    SecretsKeychainAccount "secrets.keychain.account": Text, Preset::Text("default"), Change;
    /// File with NAME=value lines; by default in the state directory.
    SecretsFilePath "secrets.file.path": Path, Preset::Text(".dir2mcp/secret.env"), Change;
    /// Permissions that file must have.
    SecretsFileMode "secrets.file.mode": Choice(&["0600", "600"]), Preset::Text("0600"), Never;

    /// Who may call: auto creates a bearer token, none admits everyone, file reads the token from token_file.
    SecurityAuthMode "security.auth.mode": Choice(&["auto", "none", "file"]), Preset::Text("auto"), Ranked(&[&["auto"], &["file"], &["none"]]), flag "--auth";
    /// File with the bearer token.
    SecurityAuthTokenFile "security.auth.token_file": Path, Preset::Text(""), Change;
    /// Variable with the bearer token.
    SecurityAuthTokenEnv "security.auth.token_env": Text, Preset::Text("DIR2MCP_AUTH_TOKEN"), Change;
    /// Web origins that may call; without a port, any port. The variable and the flag add to the list.
    SecurityAllowedOrigins "security.allowed_origins": List,
        Preset::List(&["http://localhost", "http://127.0.0.1"]), MoreItems,
        env "DIR2MCP_ALLOWED_ORIGINS", flag "--allowed-origins";
    /// Globs of paths that are never indexed or opened, besides the fixed list of key files that no setting lifts. Adds to the
    /// default; `!` in front of a glob removes it.
    SecurityPathExcludes "security.path_excludes": List, Preset::PathExcludes, Exceptions;
    /// Regular expressions for secrets: a file that matches one is left out. `default` stands for the built-in rules.
    SecuritySecretPatterns "security.secret_patterns": List, Preset::List(&["default"]), FewerItems;
    /// How strict the built-in secret rules are: strict also covers short and guessable passwords, and examples.
    SecuritySecretLevel "security.secret_level": Choice(&["default", "strict"]), Preset::Text("default"), Ranked(&[&["strict"], &["default"]]);
    /// Exceptions from the secret rules: globs of paths, and single lines by digest (`sha256:` and at least 16 hex digits).
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
