//! The MCP server: answers the protocol's methods from a [`ToolService`].

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use contracts::{CallContext, CallRefused, ToolInfo, ToolResult, ToolService};
use futures::FutureExt;
use model::{Caller, TenantId};
use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::negotiate::{self, PeerDialect};
use crate::progress;

const NAME: &str = "dir2mcp";
const TITLE: &str = "dir2mcp: Directory RAG MCP Server";

/// Adds what only revision 2026-07-28 knows: for how long an answer holds, for whom, and who gave it.
macro_rules! cacheable {
    ($server:expr, $dialect:expr, $result:expr) => {{
        let mut result = $result;
        if $dialect.modern {
            result = result.with_ttl_ms($server.ttl_ms()).with_cache_scope(CacheScope::Public);
        }
        $server.identify(&mut result.meta, $dialect);
        result
    }};
}

/// Cheap to clone; every session and every stateless request gets a clone.
#[derive(Clone)]
pub struct McpServer {
    inner: Arc<ServerState>,
}

#[derive(Debug, Clone)]
pub struct McpOptions {
    pub server_version: String,
    pub caller: CallerSource,
    /// Whose files of the store the parent process sees.
    pub stdio_tenant: Option<TenantId>,
    /// Serve this revision only.
    pub protocol: Option<ProtocolVersion>,
    /// How long a client may keep the lists and the discovery answer.
    pub list_ttl: Duration,
}

impl McpOptions {
    pub fn new(server_version: impl Into<String>, caller: CallerSource) -> McpOptions {
        McpOptions {
            server_version: server_version.into(),
            caller,
            stdio_tenant: None,
            protocol: None,
            list_ttl: Duration::from_secs(300),
        }
    }
}

/// Where the identity behind a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerSource {
    /// The parent process.
    Stdio,
    /// A [`Caller`] that the HTTP server left in the extensions of the request.
    Http,
}

struct ServerState {
    tools: Arc<dyn ToolService>,
    options: McpOptions,
    versions: Cow<'static, [ProtocolVersion]>,
    /// Who answers, as results of 2026-07-28 say it.
    identity: Value,
    /// Rendered once: the list stays the same, byte for byte, for as long as the server runs.
    listed: Vec<Tool>,
}

impl McpServer {
    pub fn new(tools: Arc<dyn ToolService>, options: McpOptions) -> McpServer {
        let listed = tools.tools().iter().map(publish).collect();
        let versions = match options.protocol.clone() {
            Some(only) => Cow::Owned(vec![only]),
            None => Cow::Borrowed(negotiate::versions()),
        };
        let identity = json!({ "name": NAME, "title": TITLE, "version": options.server_version });
        McpServer { inner: Arc::new(ServerState { tools, options, versions, identity, listed }) }
    }

    fn implementation(&self) -> Implementation {
        Implementation::new(NAME, &self.inner.options.server_version).with_title(TITLE)
    }

    /// The specification fixes what the handshake declares: tools, and that their list does not change.
    ///
    /// Revision 2026-07-28 has cacheable lists of prompts and resources too, and the conformance suite reads them of
    /// every server. There they are declared, and empty.
    fn capabilities(&self, modern: bool) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::default();
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(false);
        capabilities.tools = Some(tools);
        if modern {
            capabilities.prompts = Some(PromptsCapability::default());
            capabilities.resources = Some(ResourcesCapability::default());
        }
        capabilities
    }

    /// Whether a method exists for this peer, whatever its parameters.
    fn serves(&self, method: &str, modern: bool) -> bool {
        match method {
            "tools/list" | "tools/call" | "server/discover" => true,
            "initialize" | "ping" => !modern,
            "prompts/list"
            | "prompts/get"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read" => modern,
            _ => false,
        }
    }

    fn require(
        &self,
        method: &'static str,
        context: &RequestContext<RoleServer>,
    ) -> Result<PeerDialect, ErrorData> {
        let dialect = PeerDialect::of(context);
        if self.serves(method, dialect.modern) { Ok(dialect) } else { Err(method_not_found(method)) }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        match self.inner.options.caller {
            CallerSource::Stdio => Caller::stdio().of_tenant(self.inner.options.stdio_tenant),
            CallerSource::Http => context
                .extensions
                .get::<http::request::Parts>()
                .and_then(|parts| parts.extensions.get::<Caller>().cloned())
                .unwrap_or_else(Caller::unknown),
        }
    }

    fn ttl_ms(&self) -> u64 {
        u64::try_from(self.inner.options.list_ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// Says who answers, in the results of the revision that has no handshake to say it in.
    fn identify(&self, meta: &mut Option<MetaObject>, dialect: PeerDialect) {
        if dialect.modern {
            let identity = self.inner.identity.clone();
            meta.get_or_insert_default().insert("io.modelcontextprotocol/serverInfo".to_owned(), identity);
        }
    }

    async fn run_and_render(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        dialect: PeerDialect,
    ) -> Result<CallToolResult, ErrorData> {
        let caller = self.caller(context);
        let CallToolRequestParams { name, arguments, .. } = request;
        let call = progress::reporting(context, dialect, |progress| {
            let context = CallContext {
                caller,
                cancel: context.ct.clone(),
                progress,
                request_id: Some(context.id.to_string()),
            };
            self.run(&name, arguments, context)
        });
        match call.await {
            Some(Ok(result)) => Ok(render(result, dialect)),
            Some(Err(CallRefused::UnknownTool(name))) => Err(unknown_tool(&name)),
            Some(Err(CallRefused::BadArguments(why))) => Err(ErrorData::invalid_params(why, None)),
            None => Err(ErrorData::internal_error("the tool failed unexpectedly", None)),
        }
    }

    /// Runs one of the tools. A panic would leave the request without an answer, and the client waiting: it is `None`.
    pub(crate) async fn run(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        context: CallContext,
    ) -> Option<Result<ToolResult, CallRefused>> {
        let call = AssertUnwindSafe(async { self.inner.tools.call(name, arguments, context).await });
        call.catch_unwind().await.ok()
    }

    /// Whether calls of this tool in this revision need nothing of what only the long way knows.
    pub(crate) fn serves_directly(&self, revision: &ProtocolVersion, tool: &str) -> bool {
        self.inner.versions.contains(revision) && self.inner.tools.has(tool)
    }

    pub(crate) fn identity(&self) -> &Value {
        &self.inner.identity
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let handshake = negotiate::newest_with_handshake(&self.inner.versions);
        ServerConfig::new(self.capabilities(false))
            .with_protocol_version(handshake.cloned().unwrap_or_default())
            .with_server_info(self.implementation())
            .with_instructions(self.inner.tools.instructions())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.inner.versions.clone()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        if !PeerDialect::new(&result.protocol_version).structured {
            result.server_info.title = None;
        }
        negotiate::remember(&context.peer, request, &result.protocol_version);
        Ok(result)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut result = DiscoverResult::new(self.inner.versions.to_vec(), self.capabilities(true))
            .with_server_info(self.implementation())
            .with_ttl_ms(self.ttl_ms())
            .with_cache_scope(CacheScope::Public);
        result.instructions = Some(self.inner.tools.instructions());
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request)?;
        let dialect = PeerDialect::of(&context);
        let tools = self.inner.listed.iter().map(|tool| translate(tool, dialect)).collect();
        Ok(cacheable!(self, dialect, ListToolsResult::with_all_items(tools)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.inner.listed.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let dialect = PeerDialect::of(&context);
        let mut result = self.run_and_render(request, &context, dialect).await?;
        self.identify(&mut result.meta, dialect);
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let dialect = self.require("prompts/list", &context)?;
        only_page(request)?;
        Ok(cacheable!(self, dialect, ListPromptsResult::with_all_items(Vec::new())))
    }

    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.require("prompts/get", &context)?;
        Err(ErrorData::invalid_params("unknown prompt", None))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let dialect = self.require("resources/list", &context)?;
        only_page(request)?;
        Ok(cacheable!(self, dialect, ListResourcesResult::with_all_items(Vec::new())))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let dialect = self.require("resources/templates/list", &context)?;
        only_page(request)?;
        Ok(cacheable!(self, dialect, ListResourceTemplatesResult::with_all_items(Vec::new())))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.require("resources/read", &context)?;
        let data = json!({ "uri": request.uri });
        Err(ErrorData::resource_not_found("resource not found", Some(data)))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(method_not_found("completion/complete"))
    }

    #[expect(deprecated, reason = "deprecated by 2026-07-28, part of the older revisions")]
    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(method_not_found("logging/setLevel"))
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(method_not_found("resources/subscribe"))
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(method_not_found("resources/unsubscribe"))
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        None
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        context.cancelled().await;
        Ok(())
    }

    async fn get_task(
        &self,
        _: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Err(method_not_found("tasks/get"))
    }

    async fn update_task(&self, _: UpdateTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Err(method_not_found("tasks/update"))
    }

    async fn cancel_task(&self, _: CancelTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Err(method_not_found("tasks/cancel"))
    }

    /// Everything the typed methods did not take: unknown methods, and known ones whose parameters did not parse.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if self.serves(&request.method, PeerDialect::of(&context).modern) {
            let message = format!("invalid parameters for {}", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(method_not_found(shown(&request.method)))
    }
}

fn publish(info: &ToolInfo) -> Tool {
    let mut annotations = ToolAnnotations::new().read_only(info.read_only).idempotent(info.idempotent);
    if info.read_only {
        annotations = annotations.destructive(false);
    }
    Tool::new(info.name.clone(), info.description, info.input_schema.clone())
        .with_title(info.title)
        .with_raw_output_schema(info.output_schema.clone())
        .with_annotations(annotations.open_world(false))
}

/// The tool without what the peer's revision does not know.
fn translate(tool: &Tool, dialect: PeerDialect) -> Tool {
    let mut tool = tool.clone();
    if !dialect.structured {
        tool.title = None;
        tool.output_schema = None;
    }
    if !dialect.annotated {
        tool.annotations = None;
    }
    tool
}

fn render(result: ToolResult, dialect: PeerDialect) -> CallToolResult {
    // Revision 2024-11-05 knows no audio.
    let audio = if dialect.annotated { result.audio } else { Vec::new() };
    let spoken = audio.into_iter().map(|audio| ContentBlock::audio(audio.data, audio.media_type));
    let content = result.content.into_iter().map(ContentBlock::text).chain(spoken).collect();
    let mut rendered =
        if result.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    // Before 2026-07-28 structured content is an object or absent.
    if dialect.structured && (dialect.modern || result.structured.is_object()) {
        rendered.structured_content = Some(Arc::unwrap_or_clone(result.structured));
    }
    rendered
}

/// Every list fits on one page, so there is no cursor that could be right.
fn only_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) if !cursor.is_empty() => Err(ErrorData::invalid_params("unknown cursor", None)),
        _ => Ok(()),
    }
}

fn unknown_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("unknown tool: {}", shown(name)), None)
}

fn method_not_found(method: impl Into<Cow<'static, str>>) -> ErrorData {
    let method = method.into();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {method}"), None)
}

/// A name of the client's, short enough to repeat.
fn shown(name: &str) -> String {
    name.chars().take(128).collect()
}
