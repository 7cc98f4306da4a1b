//! `repo.status`: what is served, how far the index is, which limits hold (repo specification, section 11.1).

use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, Failure, PriceClass};
use serde_json::{Value, json};

use super::{RepoContext, incomplete, output};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.status",
    title: "Status",
    description: "What this repository server covers: root, state of the index, number of indexed files, languages with \
                  outlines, limits and effective configuration.",
    input: || json!({ "type": "object", "additionalProperties": false, "properties": {} }),
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(15),
    read_only: true,
    idempotent: true,
    price: PriceClass::Free,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "repo_root": { "type": "string" },
            "data_dir": { "type": "string" },
            "index_status": { "type": "string", "enum": ["not_indexed", "ready", "schema_mismatch"] },
            "last_refresh_timestamp": { "type": ["string", "null"] },
            "indexed_file_count": { "type": "integer" },
            "enabled_adapters": { "type": "array", "items": { "type": "string" } },
            "limits_summary": { "type": "object", "additionalProperties": { "type": "integer" } },
            "chunking_summary": { "type": "object" },
            "effective_config": { "type": "object" },
            "semantic_available": { "type": "boolean" },
            "semantic_model_status": { "type": "string" }
        },
        "required": ["repo_root", "index_status", "indexed_file_count", "enabled_adapters", "limits_summary"]
    })
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let (limits, config) = (context.limits, &context.config);
    let view = &config.view;
    let status = context.engine.status(&invocation.call, view, config.data_dir.clone()).await?;
    let result = json!({
        "repo_root": status.root,
        "data_dir": status.data_dir,
        "index_status": if status.is_built || !status.is_running { "ready" } else { "not_indexed" },
        "last_refresh_timestamp": status.last_refresh,
        "indexed_file_count": status.files,
        "enabled_adapters": status.adapters,
        "limits_summary": {
            "max_file_bytes": limits.max_file_bytes,
            "max_open_lines": limits.max_open_lines,
            "max_total_bytes_per_response": limits.max_total_bytes_per_response,
            "max_search_hits": limits.max_search_hits,
            "max_references": limits.max_references,
            "max_bundle_files": limits.max_bundle_files,
        },
        "chunking_summary": {
            "lines": config.chunk_lines,
            "overlap_lines": config.chunk_overlap,
            "source_code": "parted between declarations; windows of lines where there are none",
        },
        "effective_config": {
            "include_extensions": view.include_extensions,
            "exclude_globs": view.exclude_globs,
            "adapters": { "python_enabled": view.python },
            "semantic": { "enabled": config.semantic },
        },
        "semantic_available": config.semantic,
        "semantic_model_status": if config.semantic { "built-in" } else { "off" },
    });
    Ok(output(result, incomplete(!status.is_running)))
}
