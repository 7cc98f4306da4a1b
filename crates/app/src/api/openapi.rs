//! The description of the API in OpenAPI 3.1, made of the table of operations and the schemas of the tools.

use contracts::{Registry, ToolInfo, ToolService};
use model::{ERROR_CODES, ErrorKind};
use serde_json::{Map, Value, json};

use super::API_PATH;
use super::operation::{ApiAnswer, ApiBody, ApiKind, ApiParameter, OPERATIONS, Operation};

pub(crate) fn document(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(format!("{API_PATH}{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_lowercase()] = described(operation, registry);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "dir2mcp file store",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Projects of text files that belong to the caller's key. The same operations as the MCP tools of the \
                            files contract, with the same error codes.",
            "license": { "name": "MIT OR Apache-2.0" }
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Failure": failure() }
        }
    })
}

fn described(operation: &Operation, registry: &Registry) -> Value {
    let tool = |name: &str| registry.tools().iter().find(|tool| tool.name == name);
    let name = match operation.answers {
        ApiAnswer::Tool(name) | ApiAnswer::Content(name) => name,
        ApiAnswer::Projects => "file_projects",
        ApiAnswer::Calls => "file_calls",
    };
    let answer = match operation.answers {
        ApiAnswer::Content(_) => json!({ "text/plain": { "schema": { "type": "string" } } }),
        ApiAnswer::Tool(name) => json!({ "application/json": { "schema": tool(name).map(output) } }),
        ApiAnswer::Projects | ApiAnswer::Calls => {
            json!({ "application/json": { "schema": { "type": "object" } } })
        }
    };
    let mut described = json!({
        "operationId": format!("{}_{name}", operation.method.as_str().to_lowercase()),
        "summary": operation.summary,
        "parameters": operation.parameters.iter().map(parameter).collect::<Vec<Value>>(),
        "responses": {
            "200": { "description": "Done.", "content": answer },
            "default": {
                "description": "Refused; the status is that of the code.",
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Failure" } } }
            }
        }
    });
    match (operation.body, tool(name)) {
        (ApiBody::Text, _) => {
            described["requestBody"] =
                json!({ "required": true, "content": { "text/plain": { "schema": { "type": "string" } } } });
        }
        (ApiBody::Json, Some(tool)) => {
            let schema = Value::Object((*tool.input_schema).clone());
            described["requestBody"] =
                json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        }
        _ => {}
    }
    described
}

/// What a success looks like; failures have a schema of their own.
fn output(tool: &ToolInfo) -> Value {
    let mut schema = (*tool.output_schema).clone();
    let required = schema.remove("anyOf").and_then(|any| any.pointer("/0/required").cloned());
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !["code", "message", "retryable", "hint"].contains(&name.as_str()));
    }
    schema.insert("required".into(), required.unwrap_or_else(|| json!([])));
    Value::Object(schema)
}

fn parameter(parameter: &ApiParameter) -> Value {
    let kind = match parameter.kind {
        ApiKind::Text => "string",
        ApiKind::Whole => "integer",
        ApiKind::Switch => "boolean",
    };
    json!({
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "description": parameter.meaning,
        "schema": { "type": kind }
    })
}

fn failure() -> Value {
    let of_store = ERROR_CODES.iter().filter(|row| row.kind == ErrorKind::Store);
    let codes: Vec<&str> = of_store.map(|row| row.name).chain(["NOT_FOUND"]).collect();
    json!({
        "type": "object",
        "properties": {
            "code": { "type": "string", "description": format!("Among others: {}.", codes.join(", ")) },
            "message": { "type": "string" },
            "retryable": { "type": "boolean", "description": "The same request may succeed later." }
        },
        "required": ["code", "message", "retryable"]
    })
}
