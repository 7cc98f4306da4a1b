//! Puts the parts together: the only file that names concrete providers, stores and servers in one breath.

use std::path::PathBuf;
use std::sync::Arc;

use contracts::repo::RepoTools;
use contracts::{Contract, Registry, RegistryError, ToolNames};
use dir2mcp_http::{Auth, HttpConfig, Network, RateLimit, SecretToken, TlsFiles};
use engine::repo::{Repo, RepoConfig};
use engine::{
    ChunkOptions, DocumentProcesses, DocumentReader, Engine, EngineConfig, EngineError, InProcess, ModelNames,
};
use mcp::{CallerSource, McpOptions, McpServer};
use model::{Embedder, IndexKind};
use policy::{Confinement, PolicyConfig, SecretPatterns};
use providers::local::TableEmbedder;

use crate::config::Settings;
use crate::config::settings::{self, SttProvider};
use crate::memory;
use crate::secrets::token::Token;

/// Opens the engine that these settings describe.
pub(crate) fn open_engine(settings: &Settings) -> Result<Arc<Engine>, EngineError> {
    open(settings, false)
}

/// The same, for a look at what is there.
pub(crate) fn open_engine_for_reading(settings: &Settings) -> Result<Arc<Engine>, EngineError> {
    open(settings, true)
}

fn open(settings: &Settings, read_only: bool) -> Result<Arc<Engine>, EngineError> {
    let embedder: Arc<dyn Embedder> = Arc::new(TableEmbedder);
    let config = EngineConfig {
        root: settings.root.clone(),
        state_dir: settings.state_dir.clone(),
        policy: policy_config(settings),
        gitignore: settings.ingest.gitignore,
        watch: settings.ingest.watch,
        threads: threads(settings.ingest.threads),
        chunking: chunk_options(&settings.chunking),
        reader: reader(),
        pdf: settings.ingest.pdf != settings::PdfMode::Off,
        archives: match settings.ingest.archives {
            settings::ArchiveMode::Off => None,
            settings::ArchiveMode::Shallow => Some(engine::ArchiveMode::Shallow),
            settings::ArchiveMode::Deep => Some(engine::ArchiveMode::Deep),
        },
        oversample: settings.rag.oversample_factor,
        weights: settings.weights,
        generate_answer: settings.rag.generate_answer,
        models: model_names(settings, embedder.as_ref()),
        read_only,
    };
    Ok(Arc::new(Engine::open(config, embedder)?))
}

/// The MCP server of the chosen tools over an engine.
pub(crate) fn mcp_server(
    settings: &Settings,
    engine: &Arc<Engine>,
    caller: CallerSource,
    fixtures: bool,
) -> Result<McpServer, RegistryError> {
    let repo = repo_tools(settings, engine);
    server_of(&chosen(settings, engine), settings, engine, &repo, McpOptions { fixtures, ..options(caller) })
}

/// What is served over HTTP, by path: the chosen tools at the endpoint, and other contracts below it.
pub(crate) fn mounts(
    settings: &Settings,
    engine: &Arc<Engine>,
    fixtures: bool,
) -> Result<Vec<(String, McpServer)>, RegistryError> {
    let repo = repo_tools(settings, engine);
    let serve = |contracts: &[Contract], fixtures| {
        let options = McpOptions { fixtures, ..options(CallerSource::Http) };
        server_of(contracts, settings, engine, &repo, options)
    };
    let path = &settings.server.mcp_path;
    let mut mounts = vec![(path.clone(), serve(&chosen(settings, engine), fixtures)?)];
    if settings.repo.is_sound {
        mounts.push((format!("{path}/{}", Contract::Repo.as_str()), serve(&[Contract::Repo], false)?));
    }
    Ok(mounts)
}

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

fn server_of(
    contracts: &[Contract],
    settings: &Settings,
    engine: &Arc<Engine>,
    repo: &RepoTools,
    options: McpOptions,
) -> Result<McpServer, RegistryError> {
    let names = match settings.server.tool_names {
        settings::ToolNames::Dotted => ToolNames::Dotted,
        settings::ToolNames::Underscore => ToolNames::Underscore,
    };
    let registry = Registry::new(engine, Some(repo), contracts, names)?;
    Ok(McpServer::new(Arc::new(registry), options))
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

pub(crate) fn http_config(settings: &Settings, token: &Token) -> HttpConfig {
    let server = &settings.server;
    HttpConfig {
        listen: server.listen.to_string(),
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
        rate_limit: server
            .rate_limit
            .map(|limit| RateLimit { per_second: limit.requests_per_second, burst: limit.burst }),
        trusted_proxies: server
            .trusted_proxies
            .iter()
            .filter_map(|range| Network::new(range.address, range.prefix))
            .collect(),
        after_burst: memory::give_back,
        ..HttpConfig::default()
    }
}

/// What the running server may touch: its root and its certificate to read, its state directory to write. Nothing else
/// is needed once the configuration and the token are read.
pub(crate) fn confinement(settings: &Settings) -> Confinement {
    let tls = settings.server.tls.iter().flat_map(|tls| [tls.cert_file.clone(), tls.key_file.clone()]);
    Confinement {
        read: std::iter::once(settings.root.clone()).chain(tls).collect(),
        write: vec![settings.state_dir.clone(), settings.repo.data_dir.clone()],
        run: programs(),
    }
}

/// Who digs the text out of documents: children of this program, which may do nothing else.
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

fn policy_config(settings: &Settings) -> PolicyConfig {
    let patterns = &settings.security.secret_patterns;
    let mut path_excludes = settings.security.path_excludes.clone();
    // The deny floor knows the usual state directories; one of another name inside the root holds the same secrets.
    for own in [&settings.state_dir, &settings.repo.data_dir] {
        if let Ok(inside) = own.strip_prefix(&settings.root) {
            let inside = globset::escape(&inside.to_string_lossy());
            path_excludes.extend([inside.clone(), format!("{inside}/**")]);
        }
    }
    PolicyConfig {
        path_excludes,
        secret_patterns: match (patterns.builtin, patterns.custom.as_slice()) {
            (true, []) => SecretPatterns::Default,
            (true, own) => SecretPatterns::Extended(own.to_vec()),
            (false, own) => SecretPatterns::Custom(own.to_vec()),
        },
        max_file_bytes: settings.ingest.max_file_bytes,
        max_bytes_by_type: settings.ingest.max_bytes_by_type.clone(),
        follow_symlinks: settings.ingest.follow_symlinks,
    }
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
