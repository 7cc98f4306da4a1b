//! A registry over a folder, with the providers that a test wants.

use std::sync::Arc;

use contracts::repo::{RepoConfig, RepoLimits};
use contracts::smart::{MinuteLimits, SmartConfig};
use contracts::{CallContext, Contract, Registry, Services, ToolNames, ToolResult, ToolService};
use engine::{Engine, EngineConfig, FileView, Workspace};
use model::{Caller, IndexMode, Providers};
use serde_json::Value;
use testkit::{Folder, NoMeaning};
use tokio_util::sync::CancellationToken;

pub(crate) fn without_providers() -> Providers {
    Providers::only(NoMeaning.into())
}

/// All tools over an indexed folder.
pub(crate) fn registry(folder: &Folder, providers: Providers) -> Registry {
    let config = EngineConfig::minimal(folder.path(), &folder.state());
    let engine = Engine::open(config, providers).unwrap_or_else(|error| panic!("{error}"));
    engine.index_now(IndexMode::Incremental, Arc::new(|_| {})).unwrap_or_else(|error| panic!("{error}"));
    let redactor = Arc::clone(engine.redactor());
    let workspace = Arc::new(Workspace::new(Arc::new(engine), Vec::new()));
    let view = FileView::new(vec![".md".into()], Vec::new(), (1 << 20, 1 << 20), true);
    let view = Arc::new(view.unwrap_or_else(|error| panic!("{error}")));
    let services = Services {
        workspace,
        repo: RepoConfig {
            data_dir: folder.state(),
            view,
            semantic: false,
            chunk_lines: 200,
            chunk_overlap: 30,
            limits: RepoLimits::default(),
        },
        smart: SmartConfig {
            data_dir: None,
            preview_bytes: 2048,
            audit_queries: false,
            limits: MinuteLimits { search_files: 60, open_file: 30, summarize_results: 20, stdio: false },
            redactor,
        },
        k_default: 10,
        files: None,
    };
    let contracts = [Contract::DIR2MCP, Contract::REPO, Contract::SMART];
    Registry::new(&services, &contracts, ToolNames::Dotted).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) async fn call(registry: &Registry, tool: &str, arguments: Value) -> ToolResult {
    let context = CallContext {
        caller: Caller::stdio(),
        cancel: CancellationToken::new(),
        progress: None,
        request_id: None,
    };
    let arguments = arguments.as_object().cloned();
    registry.call(tool, arguments, context).await.unwrap_or_else(|error| panic!("{error}"))
}

/// What a call returns that must succeed.
pub(crate) async fn expect(registry: &Registry, tool: &str, arguments: Value) -> Value {
    let result = call(registry, tool, arguments).await;
    assert!(!result.is_error, "{tool}: {:?}", result.content);
    result.structured.as_ref().clone()
}
