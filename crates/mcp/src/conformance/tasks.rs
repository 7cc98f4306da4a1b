//! Tools that run as tasks (`io.modelcontextprotocol/tasks`) when the client knows tasks.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::{accepted, argument, elicitation, rounds, schema_tool, string_argument, text, tool};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("greet", "Greets, at once", &["name"]),
        schema_tool(
            "slow_compute",
            "Waits for some seconds",
            json!({
                "type": "object",
                "properties": { "seconds": { "type": "number" }, "label": { "type": "string" } },
            }),
        ),
        tool("failing_job", "Fails after a second", &[]),
        tool("protocol_error_job", "Ends in a protocol error", &[]),
        tool("confirm_delete", "Asks before it goes on", &["filename"]),
        tool("multi_input", "Asks two things at once", &[]),
        tool("test_tool_with_task", "Asks first, then runs as a task", &[]),
    ]
}

pub(super) async fn call(
    tasks: &TaskManager,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let as_task = context.client_capabilities().is_some_and(|client| client.supports_tasks());
    let seconds = argument(request, "seconds").and_then(Value::as_f64).unwrap_or_default().clamp(0.0, 3600.0);
    let pause = Duration::from_secs_f64(seconds);
    match request.name.as_ref() {
        "greet" => return Ok(text(format!("Hello, {}!", string_argument(request, "name")))),
        "slow_compute" if !as_task => {
            tokio::time::sleep(pause).await;
            return Ok(text(format!("Computed for {seconds} s")));
        }
        _ if !as_task => {
            let required = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(required));
        }
        _ => {}
    }
    let filename = string_argument(request, "filename").to_owned();
    let job = match request.name.as_ref() {
        "slow_compute" => tasks.spawn(TaskOptions::new(), |task| {
            Box::pin(async move {
                tokio::select! {
                    () = tokio::time::sleep(pause) => done(format!("Computed for {seconds} s")),
                    () = task.cancelled() => Err(TaskExit::Cancelled),
                }
            })
        }),
        "failing_job" => tasks.spawn(TaskOptions::new(), |_| {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(CallToolResult::error(vec![ContentBlock::text("The job failed")]))
            })
        }),
        "protocol_error_job" => tasks.spawn(TaskOptions::new(), |_| {
            Box::pin(async { Err(ErrorData::internal_error("The job broke", None).into()) })
        }),
        "confirm_delete" => tasks.spawn(TaskOptions::new(), |task| {
            Box::pin(async move {
                let answer = confirm(&task, "confirm", &format!("Delete {filename}?")).await?;
                done(format!("Answer about {filename}: {answer}"))
            })
        }),
        "multi_input" => tasks.spawn(TaskOptions::new(), |task| {
            Box::pin(async move {
                let (first, second) =
                    tokio::try_join!(confirm(&task, "first", "First?"), confirm(&task, "second", "Second?"))?;
                done(format!("Answers: {first}, {second}"))
            })
        }),
        _ => match accepted(request.input_responses.as_ref(), "user_name")
            .and_then(|content| content.get("name"))
        {
            Some(name) => {
                let name = name.as_str().unwrap_or_default().to_owned();
                tasks.spawn(TaskOptions::new(), |_| Box::pin(async move { done(format!("Hello, {name}!")) }))
            }
            None => {
                let questions = InputRequests::from([("user_name".to_owned(), rounds::user_name()?)]);
                return Ok(InputRequiredResult::from_input_requests(questions).into());
            }
        },
    };
    Ok(CreateTaskResult::new(job).into())
}

fn done(message: String) -> Result<CallToolResult, TaskExit> {
    Ok(CallToolResult::success(vec![ContentBlock::text(message)]))
}

async fn confirm(task: &TaskContext, key: &str, message: &str) -> Result<Value, TaskExit> {
    let question = elicitation(message, json!({ "confirm": { "type": "boolean" } }))?;
    task.request_input(key, question).await
}
