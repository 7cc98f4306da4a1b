//! The web console in a process: what it is told of the configuration, and where its page is read from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use console::{ConsoleParts, LiveEvents, ServedContract, ServedModel, SignInCodes};
use contracts::{Contract, Registry};
use dir2mcp_http::Route;
use engine::Workspace;
use mcp::streamable::Streamable;
use model::Capability;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{AS_JSON_RPC, FilesDoor, is_chosen};
use crate::capabilities::{Assignment, Lack};
use crate::commands::connect::client_snippets;
use crate::config::settings::ProviderChoice;
use crate::config::{Loaded, Settings};
use crate::print::connection::ConnectionNote;
use crate::secrets::token::KeptToken;

/// Where `dir2mcp console` leaves codes for the server that runs.
pub(crate) fn sign_in_folder(state_dir: &Path) -> PathBuf {
    state_dir.join("sign-in")
}

/// Where the files of the page are read from instead of the program, for work on them. Not from a `.env` of the folder.
pub(super) fn assets_folder() -> Option<PathBuf> {
    std::env::var_os("DIR2MCP_CONSOLE_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// What the console is made of before the routes are.
pub(crate) struct ConsoleDoor {
    pub(crate) live: Arc<LiveEvents>,
    pub(crate) codes: Arc<SignInCodes>,
    token: Option<SecretString>,
    models: Vec<ServedModel>,
    chat: Option<(String, String)>,
    clients: Arc<dyn Fn() -> Value + Send + Sync>,
}

impl ConsoleDoor {
    /// `None` where the console is switched off.
    pub(crate) fn new(
        loaded: &Loaded,
        workspace: &Workspace,
        token: &KeptToken,
        connection: &ConnectionNote,
    ) -> Option<ConsoleDoor> {
        let settings = &loaded.settings;
        if !settings.server.console {
            return None;
        }
        let models = loaded.capabilities.all().map(|assignment| served_model(assignment, workspace));
        let providers = workspace.primary().map(|engine| engine.providers());
        let chat = providers.and_then(|providers| providers.chat.as_ref());
        let chat =
            chat.map(|chat| (loaded.capabilities.chat.provider.as_str().to_owned(), chat.model().to_owned()));
        let snippets = client_snippets(settings, connection);
        Some(ConsoleDoor {
            live: LiveEvents::new(env!("CARGO_PKG_VERSION")),
            codes: Arc::new(SignInCodes::default().with_folder(sign_in_folder(&settings.state_dir))),
            token: token.secret.as_ref().map(|secret| SecretString::from(secret.expose())),
            models: models.into_iter().collect(),
            chat,
            clients: Arc::new(move || snippets.clone()),
        })
    }

    pub(super) fn routes(
        self,
        settings: &Settings,
        workspace: &Arc<Workspace>,
        files: Option<&FilesDoor>,
        tools: Registry,
        streamable: &Streamable,
    ) -> Vec<Route> {
        let live = Arc::clone(&self.live);
        workspace.calls().watch(Arc::new(move |call| live.call_ended(&call)));
        if let Some(door) = files {
            let live = Arc::clone(&self.live);
            door.files.watch(Arc::new(move |change| live.file_changed(&change)));
        }
        let mcp_path = &settings.server.mcp_path;
        let served = |contract: &&Contract| {
            contract.is_available()
                && (**contract != Contract::FILES || files.is_some())
                && (**contract != Contract::REPO || settings.repo.is_sound)
        };
        let contracts = Contract::all().iter().filter(served).map(|contract| {
            let is_chosen = is_chosen(settings, *contract);
            let name = contract.as_str();
            let path = if is_chosen { mcp_path.clone() } else { format!("{mcp_path}/{name}") };
            ServedContract { name, path, is_chosen }
        });
        let streamable = streamable.clone();
        let parts = ConsoleParts {
            workspace: Arc::clone(workspace),
            files: files.map(|door| Arc::clone(&door.files)),
            folder_tools: workspace.primary().is_some().then_some(tools),
            contracts: contracts.collect(),
            mcp_path: mcp_path.clone(),
            token: self.token,
            codes: self.codes,
            live: self.live,
            version: env!("CARGO_PKG_VERSION"),
            chat: self.chat,
            models: self.models,
            sessions: Arc::new(move || sessions(&streamable)),
            clients: self.clients,
            folder: assets_folder(),
            wording: AS_JSON_RPC,
        };
        console::routes(parts, &[mcp_path])
    }
}

fn served_model(assignment: &Assignment, workspace: &Workspace) -> ServedModel {
    let providers = workspace.primary().map(|engine| engine.providers());
    let model = providers.and_then(|providers| match assignment.capability {
        Capability::Embed => Some(providers.embedding.model(model::IndexKind::Text).to_owned()),
        // Without a model answers are made of the passages themselves.
        Capability::Chat => {
            Some(providers.chat.as_ref().map_or("extractive", |chat| chat.model()).to_owned())
        }
        Capability::Ocr => providers.recognizer.as_ref().map(|one| one.model().to_owned()),
        Capability::Stt => providers.transcriber.as_ref().map(|one| one.model().to_owned()),
        Capability::Rerank => providers.reranker.as_ref().map(|one| one.model().to_owned()),
        Capability::Tts => None,
    });
    let provider = assignment.usable();
    let detail = assignment.lacks.as_ref().map(|lack| match lack {
        Lack::Secret(name) => format!("{} is not set", name.variable()),
        Lack::Means(sentence) => sentence.clone(),
    });
    ServedModel {
        capability: assignment.capability.as_str(),
        provider: (provider != ProviderChoice::Off).then(|| provider.as_str().to_owned()),
        model,
        detail,
    }
}

/// The open sessions of MCP clients.
fn sessions(streamable: &Streamable) -> Value {
    const SHOWN: usize = 50;
    let seen = streamable.sessions_seen(SHOWN);
    let list: Vec<Value> = seen
        .newest
        .iter()
        .map(|session| {
            json!({
                "client": session.client,
                "caller": session.owner,
                "age_s": session.age.as_secs(),
                "idle_s": session.idle.as_secs(),
            })
        })
        .collect();
    json!({ "open": seen.open, "awake": seen.awake, "max": seen.max, "list": list })
}
