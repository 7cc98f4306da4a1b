//! `repo.outline`: the declarations of one file (repo specification, sections 10.3 and 11.4).

use std::sync::Arc;
use std::time::Duration;

use engine::FileStructure;
use model::{ErrorCode, Failure, PriceClass, Symbol};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{RepoContext, output, schema};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.outline",
    title: "Outline a file",
    description: "The declarations of one source file, nested and conditional ones included, with signature, line range, \
                  first documentation line and scope. A file that does not parse has an empty list, and a warning says why.",
    input,
    output: result,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(30),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": schema::path()
        },
        "required": ["path"]
    })
}

fn result() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string" },
            "language": { "type": "string", "description": "lexical where there is no outline." },
            "symbols": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "kind": { "type": "string" },
                        "name": { "type": "string", "description": "With the names of the declarations around it." },
                        "signature": { "type": "string" },
                        "start_line": { "type": "integer" },
                        "end_line": { "type": "integer" },
                        "doc": { "type": ["string", "null"] },
                        "parent_symbol": { "type": ["string", "null"] },
                        "scope_kind": { "type": "string", "enum": ["module", "class", "function"] },
                        "is_conditional": { "type": "boolean" },
                        "decl_context": { "type": ["string", "null"] }
                    },
                    "required": ["kind", "name", "signature", "start_line", "end_line"]
                }
            }
        },
        "required": ["path", "language", "symbols"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let structure = context.engine.outline(&invocation.call, &context.config.view, arguments.path).await?;
    let warnings = structure.shortfall.iter().cloned().collect();
    Ok(output(outline_json(&structure), warnings))
}

/// The outline as the tool answers it.
pub fn outline_json(structure: &FileStructure) -> Value {
    json!({
        "path": structure.path,
        "language": structure.language.unwrap_or("lexical"),
        "symbols": structure.symbols.iter().map(symbol_json).collect::<Vec<_>>(),
    })
}

fn symbol_json(symbol: &Symbol) -> Value {
    json!({
        "kind": symbol.kind.as_str(),
        "name": symbol.qualified,
        "signature": symbol.signature,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "doc": symbol.doc,
        "parent_symbol": symbol.parent,
        "scope_kind": symbol.scope_kind.as_str(),
        "is_conditional": symbol.is_conditional,
        "decl_context": symbol.decl_context,
    })
}
