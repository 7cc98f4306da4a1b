//! `dir2mcp.stats`: how far indexing got and what models are in use (dir2mcp specification, section 15.6).

use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, Stats};
use model::{ErrorCode, PriceClass};
use serde_json::{Value, json};

use super::schema::{STT_PROVIDERS, stt_provider};
use crate::text::one_line;
use crate::tool::{ContractFrame, Tool, ToolOutput, ToolSpec};

/// The protocol version that the specification is written for; what a session speaks is negotiated.
pub const PROTOCOL_VERSION: &str = "2025-11-25";

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.stats",
    title: "Stats",
    description: "Status of the index: whether indexing runs, how many files the last job scanned, indexed, skipped \
                  (unchanged files included) or failed, and which models are in use.",
    input,
    output,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(10),
    read_only: true,
    idempotent: true,
    price: PriceClass::Free,
};

pub(super) fn tool(frame: &ContractFrame, engine: &Arc<Engine>) -> Tool {
    let engine = Arc::clone(engine);
    Tool::new(frame, SPEC, move |invocation| {
        let engine = Arc::clone(&engine);
        async move {
            let stats = engine.stats(&invocation.call).await?;
            Ok(render(&stats))
        }
    })
}

fn input() -> Value {
    json!({ "type": "object", "additionalProperties": false })
}

fn output() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "root": { "type": "string" },
            "state_dir": { "type": "string" },
            "protocol_version": { "type": "string" },
            "indexing": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "job_id": { "type": "string" },
                    "running": { "type": "boolean" },
                    "mode": { "type": "string", "enum": ["incremental", "full"] },
                    "scanned": { "type": "integer" },
                    "indexed": { "type": "integer" },
                    "skipped": { "type": "integer" },
                    "deleted": { "type": "integer" },
                    "representations": { "type": "integer" },
                    "chunks_total": { "type": "integer" },
                    "embedded_ok": { "type": "integer" },
                    "errors": { "type": "integer" }
                },
                "required": ["job_id", "running", "mode", "scanned", "indexed", "skipped", "deleted", "representations", "chunks_total", "embedded_ok", "errors"]
            },
            "models": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "embed_text": { "type": "string" },
                    "embed_code": { "type": "string" },
                    "ocr": { "type": "string" },
                    "stt_provider": { "type": "string", "enum": STT_PROVIDERS },
                    "stt_model": { "type": "string" },
                    "chat": { "type": "string" }
                },
                "required": ["embed_text", "embed_code", "ocr", "stt_provider", "stt_model", "chat"]
            }
        },
        "required": ["root", "state_dir", "protocol_version", "indexing", "models"]
    })
}

fn render(stats: &Stats) -> ToolOutput {
    let indexing = &stats.indexing;
    let models = &stats.models;
    let state = if indexing.running { "Indexing is running" } else { "Indexing is complete" };
    // A second run over an unchanged folder indexes nothing: its zero must not read as an empty index.
    let mut text = format!(
        "{state} ({}): {} files are searchable in {} chunks, {} are not searchable. This job looked at {} files: {} \
         indexed, {} unchanged, {} left out, {} deleted, {} errors. Root: {}.",
        indexing.mode,
        indexing.searchable,
        indexing.chunks_total,
        indexing.not_searchable,
        indexing.scanned,
        indexing.indexed,
        indexing.unchanged,
        indexing.skipped.saturating_sub(indexing.unchanged),
        indexing.deleted,
        indexing.errors,
        one_line(&stats.root),
    );
    for note in &indexing.notes {
        text.push_str(&format!(" Note: {}", one_line(note)));
    }
    ToolOutput::new(
        text,
        json!({
            "root": stats.root,
            "state_dir": stats.state_dir,
            "protocol_version": PROTOCOL_VERSION,
            "indexing": {
                "job_id": indexing.job_id,
                "running": indexing.running,
                "mode": indexing.mode.as_str(),
                "scanned": indexing.scanned,
                "indexed": indexing.indexed,
                "skipped": indexing.skipped,
                "deleted": indexing.deleted,
                "representations": indexing.representations,
                "chunks_total": indexing.chunks_total,
                "embedded_ok": indexing.embedded_ok,
                "errors": indexing.errors,
            },
            "models": {
                "embed_text": models.embed_text,
                "embed_code": models.embed_code,
                "ocr": models.ocr,
                "stt_provider": stt_provider(&models.stt_provider),
                "stt_model": models.stt_model,
                "chat": models.chat,
            },
        }),
    )
}

#[cfg(test)]
mod tests {
    use engine::ModelNames;
    use model::{IndexMode, Progress};

    use super::*;
    use crate::arguments::Schema;

    #[test]
    fn d157_no_arguments_are_allowed() {
        let schema = Schema::compile(input()).unwrap();
        assert!(schema.check(&json!({}), SPEC.out_of_range).is_ok());
        let refused = schema.check(&json!({"unexpected": true}), SPEC.out_of_range).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidField);
        assert_eq!(refused.message, "unknown argument \"unexpected\"; this tool takes no arguments");
    }

    #[test]
    fn d158_the_counters_and_models() {
        let stats = Stats {
            root: "/data/repo".into(),
            state_dir: "/data/repo/.dir2mcp".into(),
            indexing: Progress {
                job_id: "job_1".into(),
                running: true,
                mode: IndexMode::Incremental,
                scanned: 9,
                indexed: 5,
                skipped: 3,
                deleted: 1,
                representations: 5,
                chunks_total: 12,
                embedded_ok: 12,
                errors: 1,
                unchanged: 2,
                searchable: 40,
                not_searchable: 3,
                read: 0,
                to_read: None,
                ..Progress::nothing()
            },
            models: ModelNames {
                embed_text: "mistral-embed".into(),
                embed_code: "codestral-embed".into(),
                ocr: "mistral-ocr-latest".into(),
                stt_provider: "mistral".into(),
                stt_model: "voxtral-mini-latest".into(),
                chat: "mistral-small-2506".into(),
            },
        };
        let output = render(&stats);
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
        insta::assert_snapshot!("stats_text", output.content[0]);
        assert_eq!(output.structured["protocol_version"], "2025-11-25");
    }
}
