//! Tools that return each kind of content, report progress, or only show a schema.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

use super::{schema_tool, string_argument, text, tool};

/// One red pixel.
pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";
/// Eight samples of silence.
const WAV: &str = "UklGRjQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YRAAAAAAAAAAAAAAAAAAAAAAAAAA";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_simple_text", "Returns a text", &[]),
        tool("test_image_content", "Returns an image", &[]),
        tool("test_audio_content", "Returns a sound", &[]),
        tool("test_embedded_resource", "Returns an embedded resource", &[]),
        tool("test_multiple_content_types", "Returns a text, an image and a resource", &[]),
        tool("test_error_handling", "Always fails", &[]),
        tool("test_tool_with_progress", "Reports progress three times", &[]),
        json_schema_2020_12_tool(),
        schema_tool(
            "test_custom_header",
            "Takes an argument that is repeated in an HTTP header",
            json!({
                "type": "object",
                "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
                "required": ["region"],
            }),
        ),
    ]
}

pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let content = match request.name.as_ref() {
        "test_simple_text" => vec![ContentBlock::text("This is a simple text response for testing.")],
        "test_image_content" => vec![ContentBlock::image(PNG, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => {
            let resource =
                ResourceContents::text("This is an embedded resource content.", "test://embedded-resource");
            vec![ContentBlock::resource(resource.with_mime_type("text/plain"))]
        }
        "test_multiple_content_types" => {
            let resource =
                ResourceContents::text(r#"{"test":"data","value":123}"#, "test://mixed-content-resource");
            vec![
                ContentBlock::text("Multiple content types test:"),
                ContentBlock::image(PNG, "image/png"),
                ContentBlock::resource(resource.with_mime_type("application/json")),
            ]
        }
        "test_error_handling" => {
            let message = "This tool intentionally returns an error for testing";
            return Ok(CallToolResult::error(vec![ContentBlock::text(message)]).into());
        }
        "test_tool_with_progress" => return with_progress(context).await,
        "test_custom_header" => vec![ContentBlock::text(string_argument(request, "region"))],
        name => vec![ContentBlock::text(format!("{name} was called"))],
    };
    Ok(CallToolResult::success(content).into())
}

async fn with_progress(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let token = context.meta.get_progress_token();
    for step in [0.0, 50.0, 100.0] {
        if let Some(token) = token.clone() {
            let report = ProgressNotificationParam::new(token, step).with_total(100.0);
            let _ = context.peer.notify_progress(report).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(text("Progress was reported"))
}

fn json_schema_2020_12_tool() -> Tool {
    schema_tool(
        "json_schema_2020_12_tool",
        "Tool with JSON Schema 2020-12 features",
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                },
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        }),
    )
}
