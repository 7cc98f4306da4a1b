//! Puts the parts together: the only place that names concrete providers, stores and servers in one breath.

mod console;
mod machine;
mod models;
mod publication;
mod store;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use contracts::files::FilesConfig;
use contracts::repo::RepoConfig;
use contracts::smart::SmartConfig;
use contracts::{Contract, Registry, RegistryError, Services, ToolNames};
use dir2mcp_http::{
    Anonymous, Authenticate, BearerTokens, Cors, HttpConfig, HttpError, HttpSite, Network, RateLimit,
    Refusal, Route, SecretToken, Shutdown, TlsFiles, Wording,
};
use engine::state_dir::{self, StateDirError};
use engine::{
    AnswerSettings, ChunkOptions, DocumentProcesses, DocumentReader, Engine, EngineConfig, EngineError,
    FurtherRoot, InProcess, IngestRules, PublishedProject, SystemClock, Workspace,
};
use mcp::streamable::{self, Endpoint, Streamable, StreamableConfig, Variant};
use mcp::{CallerSource, McpOptions, McpServer};
use model::{Capability, DocType, EmbeddingProvider, Providers, TenantId};
use policy::{Confinement, PolicyConfig, Redactor, SecretPatterns};
use providers::local::TableEmbedder;

use crate::api;
use crate::cli::ProjectArgs;
use crate::config::settings;
use crate::config::{Loaded, Settings, files};
use crate::exit::Exit;
use crate::memory;
use crate::secrets::token::KeptToken;
use crate::vitals::WorkspaceVitals;
use crate::workspace::{self, FoundRoot, RootPlace};

pub(crate) use console::{ConsoleDoor, sign_in_folder};
pub(crate) use machine::{capabilities, extras};
pub(crate) use models::{costs, local_provider, models_of, probe};
pub(crate) use publication::{failed, project_feed};
use store::StoredKeys;
pub(crate) use store::{FilesDoor, single_tenant, tenant_of_key};

/// Whether the root holds files of this type that would be indexed.
pub(crate) fn holds(settings: &Settings, doc_type: DocType) -> bool {
    let place = RootPlace::primary(settings);
    engine::holds(&place.root, policy_config(settings, &place), place.gitignore, doc_type)
}

/// Takes the state directory for the root, before anything is read from it or written to it.
pub(crate) fn claim_state(settings: &Settings) -> Result<(), StateDirError> {
    state_dir::claim(&settings.root, &settings.state_dir)?;
    state_dir::claim(&settings.root, &settings.repo.data_dir)
}

/// Opens the engine that these settings describe.
pub(crate) fn open_engine(loaded: &Loaded) -> Result<Arc<Engine>, Exit> {
    let providers = models::providers(loaded)?;
    Ok(open(loaded, providers, &RootPlace::primary(&loaded.settings), false, None)?)
}

/// The same, for a look at what is there, which takes no provider.
pub(crate) fn open_engine_for_reading(loaded: &Loaded) -> Result<Arc<Engine>, EngineError> {
    let providers = Providers::only(EmbeddingProvider::from(TableEmbedder));
    open(loaded, providers, &RootPlace::primary(&loaded.settings), true, None)
}

/// Opens what a server serves: the roots of the workspace, or a published project instead of them.
pub(crate) fn open_served(
    loaded: &Loaded,
    published: &ProjectArgs,
    warn: &dyn Fn(&str),
) -> Result<Arc<Workspace>, Exit> {
    match published.project {
        Some(_) => publication::open_project(loaded, published, warn),
        None => open_roots(loaded),
    }
}

/// Opens all roots of the workspace. A further one that cannot be opened is told of and left out.
pub(crate) fn open_roots(loaded: &Loaded) -> Result<Arc<Workspace>, Exit> {
    let settings = &loaded.settings;
    let providers = models::providers(loaded)?;
    let primary = open(loaded, providers.clone(), &RootPlace::primary(settings), false, None)?;
    let further = workspace::further(settings).into_iter().map(|(path, found)| match found {
        FoundRoot::Own(place) => match open(loaded, providers.clone(), &place, false, None) {
            Ok(engine) => FurtherRoot::Open { path, engine },
            Err(error) => FurtherRoot::Away { path, why: error.to_string() },
        },
        FoundRoot::Same(real) => FurtherRoot::Same { path, real },
        FoundRoot::Within(real) => FurtherRoot::Within { path, real },
        FoundRoot::Away(why) => FurtherRoot::Away { path, why },
    });
    Ok(Arc::new(Workspace::new(primary, further.collect())))
}

fn open(
    loaded: &Loaded,
    providers: Providers,
    place: &RootPlace,
    read_only: bool,
    published: Option<PublishedProject>,
) -> Result<Arc<Engine>, EngineError> {
    let settings = &loaded.settings;
    policy::set_read_deadline(settings.ingest.read_timeout);
    let config = EngineConfig {
        root: place.root.clone(),
        state_dir: place.state_dir.clone(),
        published,
        rules: ingest_rules(settings, place),
        watch: settings.ingest.watch,
        threads: threads(settings.ingest.threads),
        reader: reader(),
        oversample: settings.rag.oversample_factor,
        weights: settings.weights,
        answers: AnswerSettings {
            generate: settings.rag.generate_answer,
            system_prompt: settings.rag.system_prompt.clone(),
            max_context_chars: settings.rag.max_context_chars,
        },
        models: models::names(loaded, &providers),
        clock: Arc::new(SystemClock),
        read_again: match (settings.ingest.reread, settings.ingest.audio_cache) {
            (true, _) => vec![Capability::Ocr, Capability::Stt],
            (false, false) => vec![Capability::Stt],
            (false, true) => Vec::new(),
        },
        read_only,
    };
    Ok(Arc::new(Engine::open(config, providers)?))
}

/// What is indexed of a root. The chosen tools have no part in it: they share the index.
pub(crate) fn ingest_rules(settings: &Settings, place: &RootPlace) -> IngestRules {
    IngestRules {
        policy: policy_config(settings, place),
        gitignore: place.gitignore,
        pdf: settings.ingest.pdf != settings::PdfMode::Off,
        images: settings.ingest.images != settings::ImageMode::Off,
        audio: settings.ingest.audio != settings::AudioMode::Off,
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
    workspace: &Arc<Workspace>,
    files: Option<&FilesDoor>,
    stdio_tenant: Option<TenantId>,
) -> Result<McpServer, RegistryError> {
    let contracts = chosen(settings, workspace);
    let services = services(settings, workspace, files);
    let registry = Registry::new(&services, &contracts, tool_names(settings))?;
    let options = McpOptions { stdio_tenant, ..options(CallerSource::Stdio) };
    Ok(McpServer::new(Arc::new(registry), options))
}

/// What the contracts are built on.
pub(crate) fn services(
    settings: &Settings,
    workspace: &Arc<Workspace>,
    files: Option<&FilesDoor>,
) -> Services {
    // Without a folder there is no place to keep a log.
    let data_dir = workspace.primary().map(|_| settings.state_dir.clone());
    Services {
        workspace: Arc::clone(workspace),
        repo: repo_config(settings),
        files: files.map(|door| FilesConfig { store: Arc::clone(&door.files), data_dir: data_dir.clone() }),
        smart: smart_config(settings, data_dir),
        k_default: settings.rag.k_default,
    }
}

/// The server of the smart tools where no folder is configured: it says so to every call.
pub(crate) fn server_without_roots(
    settings: &Settings,
    caller: CallerSource,
) -> Result<McpServer, RegistryError> {
    let workspace = Arc::new(Workspace::without_roots(Arc::new(SystemClock)));
    let services = services(settings, &workspace, None);
    let registry = Registry::new(&services, &[Contract::SMART], tool_names(settings))?;
    Ok(McpServer::new(Arc::new(registry), options(caller)))
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

/// What is served over HTTP: the chosen tools at the endpoint, other contracts below it, and the health checks.
pub(crate) fn site(
    settings: &Settings,
    workspace: &Arc<Workspace>,
    files: Option<&FilesDoor>,
    console: Option<ConsoleDoor>,
    shutdown: &Shutdown,
) -> Result<HttpSite, Exit> {
    let server = &settings.server;
    let streamable = Streamable::new(StreamableConfig {
        session_inactivity: server.session_inactivity_timeout,
        session_max_lifetime: server.session_max_lifetime,
        max_sessions: server.max_sessions,
        stopping: shutdown.stopping.clone(),
        stopped: shutdown.stopped.clone(),
        after_burst: tidy_up(workspace),
        ..StreamableConfig::default()
    })
    .map_err(|error| Exit::config(error.to_string()))?;
    let services = services(settings, workspace, files);
    let endpoint = |contracts: &[Contract]| -> Result<Endpoint<McpServer>, RegistryError> {
        let registry = Registry::new(&services, contracts, tool_names(settings))?;
        let serve = |registry: Registry| McpServer::new(Arc::new(registry), options(CallerSource::Http));
        // Hosts that refuse dots ask for the other spelling by the URL, whatever the configuration says.
        let mut variants =
            Vec::from_iter(NAMES_BY_URL.iter().map(|(query, names)| Variant {
                query: Some(query),
                server: serve(registry.respelled(*names)),
            }));
        variants.push(Variant { query: None, server: serve(registry) });
        let headers = contracts.iter().flat_map(|contract| contract.headers()).copied();
        Ok(streamable.endpoint(variants, headers.collect()))
    };
    let path = &server.mcp_path;
    let mut site = HttpSite::default()
        .vitals(Arc::new(WorkspaceVitals {
            workspace: Arc::clone(workspace),
            costs: models::ledger_path(settings),
            files: files.map(|door| Arc::clone(&door.files)),
        }))
        .wording(AS_JSON_RPC)
        .response_headers(streamable::RESPONSE_HEADERS)
        .route(mcp_route(settings, path.clone(), &chosen(settings, workspace), &endpoint)?);
    for contract in Contract::all().iter().filter(|contract| contract.has_endpoint()) {
        // What the folder says about the repository tools could not be read: then they are not served.
        let is_sound = *contract != Contract::REPO || settings.repo.is_sound;
        if is_sound && (*contract != Contract::FILES || files.is_some()) {
            site = site.route(mcp_route(
                settings,
                format!("{path}/{}", contract.as_str()),
                &[*contract],
                &endpoint,
            )?);
        }
    }
    if let Some(door) = files {
        let registry = Registry::new(&services, &[Contract::FILES], ToolNames::Dotted)?;
        let routes = api::files_routes(registry, Arc::clone(&door.files), store::route_limits(settings));
        site = routes.into_iter().fold(site, HttpSite::route);
    }
    if let Some(door) = console {
        // The page asks by the folder's own tools, also where others were chosen.
        let own_path = format!("{path}/{}", Contract::DIR2MCP.as_str());
        if !is_chosen(settings, Contract::DIR2MCP) {
            site = site.route(mcp_route(settings, own_path, &[Contract::DIR2MCP], &endpoint)?);
        }
        let tools = Registry::new(&services, &[Contract::DIR2MCP], ToolNames::Dotted)?;
        let routes = door.routes(settings, workspace, files, tools, &streamable);
        site = routes.into_iter().fold(site, HttpSite::route);
    }
    Ok(site.background(streamable.look_after_sessions()))
}

type MakeEndpoint<'a> = dyn Fn(&[Contract]) -> Result<Endpoint<McpServer>, RegistryError> + 'a;

fn mcp_route(
    settings: &Settings,
    path: String,
    contracts: &[Contract],
    endpoint: &MakeEndpoint<'_>,
) -> Result<Route, RegistryError> {
    let route = Route::new(path, endpoint(contracts)?);
    let route = route.wording(AS_JSON_RPC).endless_when(streamable::is_endless).cors(Cors {
        methods: streamable::METHODS,
        request_headers: streamable::REQUEST_HEADERS,
        request_header_prefix: Some(streamable::REQUEST_HEADER_PREFIX),
        response_headers: streamable::RESPONSE_HEADERS,
    });
    let route = match contracts.contains(&Contract::FILES) {
        true => route.limits(store::route_limits(settings)),
        false => route,
    };
    // Whoever has a key of the store only gets what the store has, never the folder's tools beside it.
    Ok(if contracts == [Contract::FILES] { route.admitting_guests() } else { route })
}

/// How the HTTP server's own refusals look to MCP clients.
const AS_JSON_RPC: Wording = |Refusal { status, code, message, retryable, .. }| {
    ("application/json", streamable::word_refusal(*status, *code, message, *retryable))
};

/// How a URL asks for a spelling of the tools' names.
const NAMES_BY_URL: &[(&str, ToolNames)] =
    &[("names=underscore", ToolNames::Underscore), ("names=dotted", ToolNames::Dotted)];

/// Whether the common endpoint serves a contract.
fn is_chosen(settings: &Settings, contract: Contract) -> bool {
    settings.server.tools.iter().any(|name| Contract::parse(name) == Some(contract))
}

/// The contracts of `server.tools`.
fn chosen(settings: &Settings, workspace: &Workspace) -> Vec<Contract> {
    let contracts: Vec<Contract> =
        settings.server.tools.iter().filter_map(|name| Contract::parse(name)).collect();
    if contracts.iter().any(|contract| contract.uses_outlines())
        && let Some(engine) = workspace.primary()
    {
        engine.want_outlines();
    }
    contracts
}

fn options(caller: CallerSource) -> McpOptions {
    McpOptions::new(env!("CARGO_PKG_VERSION"), caller)
}

fn tool_names(settings: &Settings) -> ToolNames {
    match settings.server.tool_names {
        settings::ToolNameStyle::Dotted => ToolNames::Dotted,
        settings::ToolNameStyle::Underscore => ToolNames::Underscore,
    }
}

/// The repository tools as these settings want them.
fn repo_config(settings: &Settings) -> RepoConfig {
    RepoConfig {
        data_dir: settings.repo.data_dir.clone(),
        view: Arc::clone(&settings.repo.view),
        semantic: settings.repo.semantic,
        chunk_lines: settings.chunking.code_max_lines,
        chunk_overlap: settings.chunking.code_overlap_lines,
        limits: settings.repo.limits,
    }
}

/// What an idle server does after a burst of work.
fn tidy_up(workspace: &Arc<Workspace>) -> Arc<dyn Fn() + Send + Sync> {
    let workspace = Arc::clone(workspace);
    Arc::new(move || {
        workspace.release_idle();
        memory::give_back();
    })
}

pub(crate) fn http_config(
    settings: &Settings,
    workspace: &Arc<Workspace>,
    files: Option<&FilesDoor>,
    token: &KeptToken,
    addresses: Vec<SocketAddr>,
) -> Result<HttpConfig, HttpError> {
    let server = &settings.server;
    let own: Box<dyn Authenticate> = match &token.secret {
        Some(secret) => Box::new(BearerTokens::one(SecretToken::new(secret.expose()))?),
        None => Box::new(Anonymous::default()),
    };
    let auth = Arc::new(StoredKeys::new(own, &settings.files, files));
    Ok(HttpConfig {
        listen: server.listen.to_string(),
        addresses,
        auth,
        public: server.public,
        // Decided with the settings: without --force-insecure they would not have resolved.
        allow_insecure: token.secret.is_none(),
        allowed_origins: settings.security.allowed_origins.clone(),
        allowed_hosts: server.allowed_hosts.clone(),
        tls: server
            .tls
            .as_ref()
            .map(|tls| TlsFiles { cert: tls.cert_file.clone(), key: tls.key_file.clone() }),
        max_connections: memory::max_connections(),
        rate_limit: server
            .rate_limit
            .map(|limit| RateLimit { per_second: limit.requests_per_second, burst: limit.burst }),
        trusted_proxies: server
            .trusted_proxies
            .iter()
            .filter_map(|range| Network::new(range.address, range.prefix))
            .collect(),
        after_burst: tidy_up(workspace),
        ..HttpConfig::default()
    })
}

/// What the running server may touch: its root and its certificate to read, its state directory to write, and what its
/// providers need. Nothing else is needed once the configuration and the keys are read.
pub(crate) fn confinement(loaded: &Loaded, published: &ProjectArgs) -> Confinement {
    let settings = &loaded.settings;
    let tls = settings.server.tls.iter().flat_map(|tls| [tls.cert_file.clone(), tls.key_file.clone()]);
    let mut confinement = Confinement {
        // A server of a published project has no folder, and may not read the one it was started in.
        read: workspace::folders(settings)
            .filter(|_| published.project.is_none())
            .chain(tls)
            .chain(console::assets_folder())
            .collect(),
        write: vec![settings.state_dir.clone(), settings.repo.data_dir.clone()]
            .into_iter()
            .chain(store::folder(settings))
            .collect(),
        run: programs(),
    };
    models::extend(&mut confinement, loaded);
    store::extend(&mut confinement, loaded);
    confinement
}

/// What extracts the text of documents: sandboxed child processes of this program.
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

fn policy_config(settings: &Settings, place: &RootPlace) -> PolicyConfig {
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
        transcript_segment_ms: chunking.transcript_segment_ms,
        transcript_overlap_ms: chunking.transcript_overlap_ms,
    }
}

fn threads(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(2, usize::from),
        chosen => chosen,
    }
}
