//! Puts the parts together: the only file that names concrete providers, stores and servers in one breath.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use contracts::repo::RepoTools;
use contracts::{Contract, Registry, RegistryError, Rooms, ToolNames};
use dir2mcp_http::{Auth, HttpConfig, Mount, Network, RateLimit, SecretToken, TlsFiles};
use engine::repo::{Repo, RepoConfig};
use engine::smart::{FurtherRoot, Roots, Smart, SmartConfig};
use engine::state_dir::{self, StateDirError};
use engine::{
    ChunkOptions, DocumentProcesses, DocumentReader, Engine, EngineConfig, EngineError, InProcess,
    IngestRules, Metrics, ModelNames,
};
use mcp::{CallerSource, McpOptions, McpServer};
use model::{DocType, Embedder, IndexKind};
use policy::{Confinement, PolicyConfig, Redactor, SecretPatterns};
use providers::local::TableEmbedder;

use crate::config::settings::{self, SttProvider};
use crate::config::{Settings, files};
use crate::memory;
use crate::secrets::token::Token;
use crate::vitals::Vitals;
use crate::workspace::{self, Found, Place};

/// Whether the root holds files of this type that would be indexed.
pub(crate) fn holds(settings: &Settings, doc_type: DocType) -> bool {
    let place = Place::primary(settings);
    engine::holds(&place.root, policy_config(settings, &place), place.gitignore, doc_type)
}

/// Takes the state directory for the root, before anything is read from it or written to it.
pub(crate) fn claim_state(settings: &Settings) -> Result<(), StateDirError> {
    state_dir::claim(&settings.root, &settings.state_dir)?;
    state_dir::claim(&settings.root, &settings.repo.data_dir)
}

/// Opens the engine that these settings describe.
pub(crate) fn open_engine(settings: &Settings) -> Result<Arc<Engine>, EngineError> {
    open(settings, &Place::primary(settings), false)
}

/// The same, for a look at what is there.
pub(crate) fn open_engine_for_reading(settings: &Settings) -> Result<Arc<Engine>, EngineError> {
    open(settings, &Place::primary(settings), true)
}

/// Opens all roots of the workspace. A further one that cannot be opened is told of and left out.
pub(crate) fn open_roots(settings: &Settings) -> Result<Arc<Roots>, EngineError> {
    let primary = open_engine(settings)?;
    let further = workspace::further(settings).into_iter().map(|(path, found)| match found {
        Found::Own(place) => match open(settings, &place, false) {
            Ok(engine) => FurtherRoot::Open { path, engine },
            Err(error) => FurtherRoot::Away { path, why: error.to_string() },
        },
        Found::Same(real) => FurtherRoot::Same { path, real },
        Found::Within(real) => FurtherRoot::Within { path, real },
        Found::Away(why) => FurtherRoot::Away { path, why },
    });
    Ok(Arc::new(Roots::new(primary, further.collect())))
}

fn open(settings: &Settings, place: &Place, read_only: bool) -> Result<Arc<Engine>, EngineError> {
    let embedder: Arc<dyn Embedder> = Arc::new(TableEmbedder);
    policy::set_read_deadline(settings.ingest.read_timeout);
    let config = EngineConfig {
        root: place.root.clone(),
        state_dir: place.state_dir.clone(),
        rules: ingest_rules(settings, place),
        watch: settings.ingest.watch,
        threads: threads(settings.ingest.threads),
        reader: reader(),
        oversample: settings.rag.oversample_factor,
        weights: settings.weights,
        generate_answer: settings.rag.generate_answer,
        models: model_names(settings, embedder.as_ref()),
        metrics: metrics(),
        read_only,
    };
    Ok(Arc::new(Engine::open(config, embedder)?))
}

/// What is indexed of a root. The chosen tools have no part in it: they share the index.
pub(crate) fn ingest_rules(settings: &Settings, place: &Place) -> IngestRules {
    IngestRules {
        policy: policy_config(settings, place),
        gitignore: place.gitignore,
        pdf: settings.ingest.pdf != settings::PdfMode::Off,
        archives: match settings.ingest.archives {
            settings::ArchiveMode::Off => None,
            settings::ArchiveMode::Shallow => Some(engine::ArchiveMode::Shallow),
            settings::ArchiveMode::Deep => Some(engine::ArchiveMode::Deep),
        },
        chunking: chunk_options(&settings.chunking),
    }
}

/// The MCP server of the chosen tools over the roots.
pub(crate) fn mcp_server(
    settings: &Settings,
    roots: &Arc<Roots>,
    caller: CallerSource,
    fixtures: bool,
) -> Result<McpServer, RegistryError> {
    let rooms = rooms(settings, roots);
    let contracts = chosen(settings, &rooms.engine);
    let registry = Registry::new(&rooms, &contracts, tool_names(settings))?;
    Ok(McpServer::new(Arc::new(registry), McpOptions { fixtures, ..options(caller) }))
}

/// What the contracts stand on.
pub(crate) fn rooms(settings: &Settings, roots: &Arc<Roots>) -> Rooms {
    let engine = Arc::clone(&roots.engines()[0]);
    Rooms {
        repo: repo_tools(settings, &engine),
        smart: Smart::new(Arc::clone(roots), smart_config(settings, Some(settings.state_dir.clone()))),
        k_default: settings.rag.k_default,
        engine,
    }
}

/// The server of the smart tools where no folder is configured: it says so to every call.
pub(crate) fn server_without_roots(settings: &Settings, caller: CallerSource) -> McpServer {
    let smart = Smart::new(Arc::new(Roots::none()), smart_config(settings, None));
    McpServer::new(Arc::new(Registry::smart(&smart, tool_names(settings))), options(caller))
}

fn smart_config(settings: &Settings, data_dir: Option<PathBuf>) -> SmartConfig {
    SmartConfig {
        data_dir,
        preview_bytes: settings.smart.preview_bytes,
        audit_queries: settings.smart.audit_queries,
        limits: settings.smart.limits,
        redactor: redactor(settings),
    }
}

/// What is served over HTTP, by path: the chosen tools at the endpoint, and other contracts below it.
pub(crate) fn mounts(
    settings: &Settings,
    roots: &Arc<Roots>,
    fixtures: bool,
) -> Result<Vec<Mount<McpServer>>, RegistryError> {
    let rooms = rooms(settings, roots);
    let path = &settings.server.mcp_path;
    let chosen = chosen(settings, &rooms.engine);
    let version = || vec![("mcp_version", contracts::smart::MCP_VERSION)];
    let mut mounts = Vec::new();
    let mut mount = |path: String, contracts: &[Contract], fixtures| -> Result<(), RegistryError> {
        let headers = || if contracts.contains(&Contract::Smart) { version() } else { Vec::new() };
        let options = McpOptions { fixtures, ..options(CallerSource::Http) };
        let registry = Registry::new(&rooms, contracts, tool_names(settings))?;
        // Hosts that refuse dots ask for the other spelling by the URL, whatever the configuration says.
        for (variant, names) in NAMES_BY_URL {
            let server = McpServer::new(Arc::new(registry.respelled(*names)), options.clone());
            mounts.push(Mount { path: path.clone(), variant: Some(variant), server, headers: headers() });
        }
        let server = McpServer::new(Arc::new(registry), options);
        mounts.push(Mount { path, variant: None, server, headers: headers() });
        Ok(())
    };
    mount(path.clone(), &chosen, fixtures)?;
    if settings.repo.is_sound {
        mount(format!("{path}/{}", Contract::Repo.as_str()), &[Contract::Repo], false)?;
    }
    mount(format!("{path}/{}", Contract::Smart.as_str()), &[Contract::Smart], false)?;
    Ok(mounts)
}

/// How a URL asks for a spelling of the tools' names.
const NAMES_BY_URL: &[(&str, ToolNames)] =
    &[("names=underscore", ToolNames::Underscore), ("names=dotted", ToolNames::Dotted)];

/// The contracts of `server.tools`.
fn chosen(settings: &Settings, engine: &Engine) -> Vec<Contract> {
    let contracts: Vec<Contract> =
        settings.server.tools.iter().filter_map(|name| Contract::parse(name)).collect();
    if contracts.contains(&Contract::Repo) {
        engine.want_outlines();
    }
    contracts
}

fn options(caller: CallerSource) -> McpOptions {
    McpOptions::new(env!("CARGO_PKG_VERSION"), caller)
}

fn tool_names(settings: &Settings) -> ToolNames {
    match settings.server.tool_names {
        settings::ToolNames::Dotted => ToolNames::Dotted,
        settings::ToolNames::Underscore => ToolNames::Underscore,
    }
}

/// The repository behind an engine, as these settings show it.
pub(crate) fn repo_tools(settings: &Settings, engine: &Arc<Engine>) -> RepoTools {
    let config = RepoConfig {
        data_dir: settings.repo.data_dir.clone(),
        view: Arc::clone(&settings.repo.view),
        semantic: settings.repo.semantic,
        chunk_lines: settings.chunking.code_max_lines,
        chunk_overlap: settings.chunking.code_overlap_lines,
    };
    RepoTools { repo: Repo::new(engine, config), limits: settings.repo.limits }
}

pub(crate) fn http_config(
    settings: &Settings,
    token: &Token,
    roots: &Arc<Roots>,
    addresses: Vec<SocketAddr>,
) -> HttpConfig {
    let server = &settings.server;
    HttpConfig {
        listen: server.listen.to_string(),
        addresses,
        mcp_path: server.mcp_path.clone(),
        auth: match &token.secret {
            Some(secret) => Auth::bearer(SecretToken::new(secret.expose())),
            None => Auth::None,
        },
        public: server.public,
        // Decided with the settings: without --force-insecure they would not have resolved.
        allow_insecure: token.secret.is_none(),
        allowed_origins: settings.security.allowed_origins.clone(),
        allowed_hosts: server.allowed_hosts.clone(),
        tls: server
            .tls
            .as_ref()
            .map(|tls| TlsFiles { cert: tls.cert_file.clone(), key: tls.key_file.clone() }),
        session_inactivity: server.session_inactivity_timeout,
        session_max_lifetime: server.session_max_lifetime,
        max_sessions: server.max_sessions,
        max_connections: memory::max_connections(),
        rate_limit: server
            .rate_limit
            .map(|limit| RateLimit { per_second: limit.requests_per_second, burst: limit.burst }),
        trusted_proxies: server
            .trusted_proxies
            .iter()
            .filter_map(|range| Network::new(range.address, range.prefix))
            .collect(),
        vitals: Arc::new(Vitals(Arc::clone(roots))),
        after_burst: memory::give_back,
        ..HttpConfig::default()
    }
}

/// What the running server may touch: its root and its certificate to read, its state directory to write. Nothing else
/// is needed once the configuration and the token are read.
pub(crate) fn confinement(settings: &Settings) -> Confinement {
    let tls = settings.server.tls.iter().flat_map(|tls| [tls.cert_file.clone(), tls.key_file.clone()]);
    Confinement {
        read: workspace::folders(settings).chain(tls).collect(),
        write: vec![settings.state_dir.clone(), settings.repo.data_dir.clone()],
        run: programs(),
    }
}

/// The counters of this process: all its engines share them.
fn metrics() -> Arc<Metrics> {
    static METRICS: std::sync::OnceLock<Arc<Metrics>> = std::sync::OnceLock::new();
    Arc::clone(METRICS.get_or_init(Arc::default))
}

/// Extracts the text of documents: children of this program, which may do nothing else.
fn reader() -> Arc<dyn DocumentReader> {
    match std::env::current_exe() {
        Ok(program) => Arc::new(DocumentProcesses::new(program, vec![WORKER_COMMAND.into()])),
        Err(error) => {
            tracing::warn!(%error, "documents are read by this process: it cannot find its own program");
            Arc::new(InProcess::default())
        }
    }
}

/// The hidden command that such a child runs.
pub(crate) const WORKER_COMMAND: &str = "read-documents";

/// What starting such a child takes: the program and the libraries of the system.
fn programs() -> Vec<PathBuf> {
    let libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"];
    let libraries = libraries.into_iter().map(PathBuf::from);
    std::env::current_exe().into_iter().chain(libraries).filter(|path| path.exists()).collect()
}

/// What must not be shown: the built-in rules, and the operator's.
fn redactor(settings: &Settings) -> Arc<Redactor> {
    let own = Redactor::new(&secret_patterns(settings));
    // The engine was opened with the same patterns, so they can be read.
    let redactor = own.or_else(|_| Redactor::new(&SecretPatterns::Default));
    Arc::new(redactor.expect("the built-in rules can be read"))
}

fn secret_patterns(settings: &Settings) -> SecretPatterns {
    let patterns = &settings.security.secret_patterns;
    match (patterns.builtin, patterns.custom.as_slice()) {
        (true, []) => SecretPatterns::Default,
        (true, own) => SecretPatterns::Extended(own.to_vec()),
        (false, own) => SecretPatterns::Custom(own.to_vec()),
    }
}

fn policy_config(settings: &Settings, place: &Place) -> PolicyConfig {
    let mut path_excludes = settings.security.path_excludes.clone();
    // The deny floor knows the usual names; the same things under other names inside the root hold the same secrets.
    for own in own_files(settings).into_iter().chain(&place.without) {
        if let Ok(inside) = files::resolved(own).strip_prefix(&place.root) {
            let inside = globset::escape(&inside.to_string_lossy());
            path_excludes.extend([inside.clone(), format!("{inside}/**")]);
        }
    }
    PolicyConfig {
        path_excludes,
        index_excludes: settings.ingest.excludes.clone(),
        secret_patterns: secret_patterns(settings),
        secret_level: settings.security.secret_level,
        allow: settings.security.allow.clone(),
        max_file_bytes: settings.ingest.max_file_bytes,
        max_bytes_by_type: settings.ingest.max_bytes_by_type.clone(),
        follow_symlinks: settings.ingest.follow_symlinks,
    }
}

/// What belongs to the program, not to the folder: never served, wherever it lies.
fn own_files(settings: &Settings) -> Vec<&PathBuf> {
    let token = match &settings.security.auth {
        settings::Auth::Auto { token_file, .. } => token_file.as_ref(),
        settings::Auth::File { path, .. } => Some(path),
        settings::Auth::None => None,
    };
    let tls = settings.server.tls.as_ref().map(|tls| &tls.key_file);
    let named = [settings.config_file.as_ref(), settings.user_config_dir.as_ref(), token, tls];
    let always = [&settings.state_dir, &settings.repo.data_dir, &settings.secrets.file];
    always.into_iter().chain(named.into_iter().flatten()).collect()
}

fn chunk_options(chunking: &settings::Chunking) -> ChunkOptions {
    ChunkOptions {
        max_chars: chunking.max_chars,
        overlap_chars: chunking.overlap_chars,
        min_chars: chunking.min_chars,
        code_max_lines: chunking.code_max_lines,
        code_overlap_lines: chunking.code_overlap_lines,
    }
}

/// The names that `corpus.json` and `dir2mcp.stats` show: what is in use, not what could be.
fn model_names(settings: &Settings, embedder: &dyn Embedder) -> ModelNames {
    let models = &settings.models;
    let (stt_provider, stt_model) = match models.stt {
        SttProvider::Mistral => ("mistral", &models.stt_mistral_model),
        SttProvider::Elevenlabs => ("elevenlabs", &models.stt_elevenlabs_model),
    };
    ModelNames {
        embed_text: embedder.model(IndexKind::Text).to_owned(),
        embed_code: embedder.model(IndexKind::Code).to_owned(),
        ocr: models.ocr_model.clone(),
        stt_provider: stt_provider.to_owned(),
        stt_model: stt_model.clone(),
        chat: "extractive".to_owned(),
    }
}

fn threads(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(2, usize::from),
        chosen => chosen,
    }
}
