//! The product's MCP server with the fixtures around it: what the suite asks for by name is answered by them, everything
//! else by the product.

use std::borrow::Cow;
use std::future::{Future, Ready};
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use mcp::{Direct, McpServer};
use model::Caller;
use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::fixtures::Fixtures;

/// Cheap to clone; every session and every stateless request gets a clone.
#[derive(Clone)]
pub(crate) struct ConformanceServer {
    product: McpServer,
    fixtures: Arc<Fixtures>,
}

impl ConformanceServer {
    pub(crate) fn new(product: McpServer) -> ConformanceServer {
        ConformanceServer { product, fixtures: Arc::new(Fixtures::new()) }
    }

    /// Whether a method exists for this peer because of the fixtures.
    fn adds(method: &str, modern: bool) -> bool {
        match method {
            "prompts/list"
            | "prompts/get"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "completion/complete" => true,
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => !modern,
            "subscriptions/listen" | "tasks/get" | "tasks/update" | "tasks/cancel" => modern,
            _ => false,
        }
    }

    fn require(method: &'static str, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if ConformanceServer::adds(method, is_modern(context)) {
            return Ok(());
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {method}"), None))
    }

    /// Says who answers, as the product does in the results of the revision without a handshake.
    fn identify(&self, meta: &mut Option<MetaObject>, context: &RequestContext<RoleServer>) {
        if is_modern(context)
            && let Ok(identity) = serde_json::to_value(self.product.get_info().server_info)
        {
            meta.get_or_insert_default().insert("io.modelcontextprotocol/serverInfo".to_owned(), identity);
        }
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::NO_INITIALIZE.as_str())
}

/// Lists keep the product's notes on how long they hold; only their items are added.
macro_rules! with_items {
    ($list:expr, $field:ident, $items:expr) => {{
        let mut result = $list?;
        result.$field.extend($items);
        Ok(result)
    }};
}

impl ServerHandler for ConformanceServer {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.product.get_info();
        info.capabilities = self.fixtures.capabilities();
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.product.supported_protocol_versions()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.product.initialize(request, context).await?;
        result.capabilities = self.fixtures.capabilities();
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut result = self.product.discover(context).await?;
        result.capabilities = self.fixtures.capabilities();
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        with_items!(self.product.list_tools(request, context).await, tools, self.fixtures.tools())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.product
            .get_tool(name)
            .or_else(|| self.fixtures.tools().into_iter().find(|tool| tool.name == name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.fixtures.has(&request.name) {
            return self.product.call_tool(request, context).await;
        }
        let mut response = self.fixtures.call(request, &context).await?;
        match &mut response {
            CallToolResponse::Complete(result) => self.identify(&mut result.meta, &context),
            CallToolResponse::InputRequired(result) => self.identify(&mut result.meta, &context),
            CallToolResponse::Task(result) => self.identify(&mut result.meta, &context),
            _ => {}
        }
        Ok(response)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        if !is_modern(&context) {
            return Ok(ListPromptsResult::with_all_items(self.fixtures.prompts()));
        }
        with_items!(self.product.list_prompts(request, context).await, prompts, self.fixtures.prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut response = self.fixtures.prompt(request)?;
        match &mut response {
            GetPromptResponse::Complete(result) => self.identify(&mut result.meta, &context),
            GetPromptResponse::InputRequired(result) => self.identify(&mut result.meta, &context),
            _ => {}
        }
        Ok(response)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !is_modern(&context) {
            return Ok(ListResourcesResult::with_all_items(self.fixtures.resources()));
        }
        with_items!(self.product.list_resources(request, context).await, resources, self.fixtures.resources())
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.fixtures.resource_templates();
        if !is_modern(&context) {
            return Ok(ListResourceTemplatesResult::with_all_items(templates));
        }
        let list = self.product.list_resource_templates(request, context).await;
        with_items!(list, resource_templates, templates)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(contents) = self.fixtures.read(&request.uri) else {
            let data = serde_json::json!({ "uri": request.uri });
            return Err(ErrorData::resource_not_found("resource not found", Some(data)));
        };
        let mut result = ReadResourceResult::new(vec![contents]);
        if is_modern(&context) {
            result = result.with_ttl_ms(300_000).with_cache_scope(CacheScope::Public);
        }
        self.identify(&mut result.meta, &context);
        Ok(result.into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut result = CompleteResult::default();
        self.identify(&mut result.meta, &context);
        Ok(result)
    }

    #[expect(deprecated, reason = "deprecated by 2026-07-28, part of the older revisions")]
    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        ConformanceServer::require("logging/setLevel", &context)
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        ConformanceServer::require("resources/subscribe", &context)
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        ConformanceServer::require("resources/unsubscribe", &context)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.fixtures.listen(context).await;
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        ConformanceServer::require("tasks/get", &context)?;
        let mut result = GetTaskResult::new(self.fixtures.tasks().get_task(&request.task_id)?);
        self.identify(&mut result.meta, &context);
        Ok(result)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        ConformanceServer::require("tasks/update", &context)?;
        self.fixtures.tasks().update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        ConformanceServer::require("tasks/cancel", &context)?;
        self.fixtures.tasks().cancel_task(&request.task_id)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if ConformanceServer::adds(&request.method, is_modern(&context)) {
            let message = format!("invalid parameters for {}", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        self.product.on_custom_request(request, context).await
    }
}

/// Every call takes the library's way, where the fixtures are.
impl Direct for ConformanceServer {
    fn direct(
        &self,
        _: &HeaderMap,
        _: &Value,
        _: &mut Map<String, Value>,
        _: &Caller,
        _: CancellationToken,
    ) -> Option<impl Future<Output = Option<Bytes>> + Send> {
        None::<Ready<Option<Bytes>>>
    }
}
