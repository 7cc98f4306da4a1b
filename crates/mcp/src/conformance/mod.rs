//! What the official conformance suite looks for on a server: tools, prompts, resources, tasks and subscriptions.
//!
//! Mounted beside the product's tools in a hidden test mode, one file per group. The names and the answers are the
//! suite's (`@modelcontextprotocol/conformance`); none of this is reachable in normal operation.

mod changes;
mod content;
mod prompts;
mod questions;
mod resources;
mod rounds;
mod tasks;

use std::collections::HashMap;

use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use changes::Changes;
use rounds::Rounds;

/// Shared by all sessions: a task made in one request is asked for in another.
pub(crate) struct Fixtures {
    groups: HashMap<String, Group>,
    changes: Changes,
    rounds: Rounds,
    tasks: TaskManager,
}

#[derive(Clone, Copy)]
enum Group {
    Content,
    Questions,
    Rounds,
    Tasks,
    Changes,
}

impl Fixtures {
    pub(crate) fn new() -> Fixtures {
        let groups = all_tools().map(|(group, tool)| (tool.name.into_owned(), group)).collect();
        Fixtures { groups, changes: Changes::new(), rounds: Rounds::new(), tasks: TaskManager::new() }
    }

    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        #[expect(deprecated, reason = "the legacy scenarios set a log level")]
        ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build()
    }

    pub(crate) fn tools(&self) -> Vec<Tool> {
        all_tools().map(|(_, tool)| tool).collect()
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.groups.contains_key(tool)
    }

    pub(crate) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.groups.get(request.name.as_ref()) {
            Some(Group::Content) => content::call(&request, context).await,
            Some(Group::Questions) => questions::call(&request, context).await,
            Some(Group::Rounds) => self.rounds.call(&request, context).await,
            Some(Group::Tasks) => tasks::call(&self.tasks, &request, context).await,
            Some(Group::Changes) => Ok(self.changes.call(&request.name)),
            None => Err(ErrorData::invalid_params("unknown tool", None)),
        }
    }

    pub(crate) fn prompts(&self) -> Vec<Prompt> {
        prompts::list()
    }

    pub(crate) fn prompt(&self, request: GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request)
    }

    pub(crate) fn resources(&self) -> Vec<Resource> {
        resources::list()
    }

    pub(crate) fn resource_templates(&self) -> Vec<ResourceTemplate> {
        resources::templates()
    }

    pub(crate) fn read(&self, uri: &str) -> Option<ResourceContents> {
        resources::read(uri)
    }

    pub(crate) async fn listen(&self, context: SubscriptionContext) {
        self.changes.listen(context).await;
    }

    pub(crate) fn tasks(&self) -> &TaskManager {
        &self.tasks
    }
}

fn all_tools() -> impl Iterator<Item = (Group, Tool)> {
    [
        (Group::Content, content::tools()),
        (Group::Questions, questions::tools()),
        (Group::Rounds, rounds::tools()),
        (Group::Tasks, tasks::tools()),
        (Group::Changes, changes::tools()),
    ]
    .into_iter()
    .flat_map(|(group, tools)| tools.into_iter().map(move |tool| (group, tool)))
}

/// A tool that takes `properties`, all strings and all required.
fn tool(name: &'static str, description: &'static str, properties: &[&str]) -> Tool {
    let fields: JsonObject =
        properties.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    schema_tool(name, description, json!({ "type": "object", "properties": fields, "required": properties }))
}

fn schema_tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    Tool::new(name, description, object(schema))
}

fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn argument<'a>(request: &'a CallToolRequestParams, name: &str) -> Option<&'a Value> {
    request.arguments.as_ref()?.get(name)
}

fn string_argument<'a>(request: &'a CallToolRequestParams, name: &str) -> &'a str {
    argument(request, name).and_then(Value::as_str).unwrap_or_default()
}

/// A question for the client, from its JSON; the shapes are constants of this folder.
fn question(request: Value) -> Result<InputRequest, ErrorData> {
    serde_json::from_value(request).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn elicitation(message: &str, properties: Value) -> Result<InputRequest, ErrorData> {
    let required: Vec<&String> =
        properties.as_object().map(|fields| fields.keys().collect()).unwrap_or_default();
    question(json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": message,
            "requestedSchema": { "type": "object", "properties": properties, "required": required },
        },
    }))
}

/// What the user filled in, if the form was accepted.
fn accepted<'a>(responses: Option<&'a InputResponses>, key: &str) -> Option<&'a Value> {
    let response = responses?.get(key)?;
    (response.get("action")?.as_str()? == "accept").then(|| response.get("content")).flatten()
}
