//! The schemas that several tools share (dir2mcp specification, section 15.1).

use serde_json::{Value, json};

/// Who transcribes: the two of the specification, those it does not know, and nobody.
pub(super) const STT_PROVIDERS: [&str; 6] =
    ["mistral", "elevenlabs", "openai", "local", "command", NO_PROVIDER];
const NO_PROVIDER: &str = "none";

/// A transcriber by the name that the schema has for it. A model that runs here may have a name of its own.
pub(super) fn stt_provider(name: &str) -> &'static str {
    if name.is_empty() || name == "off" {
        return NO_PROVIDER;
    }
    STT_PROVIDERS.into_iter().find(|known| *known == name).unwrap_or("local")
}

/// The file that a tool works on.
pub(super) fn rel_path(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "description": description })
}

/// The recording that a tool works on.
pub(super) fn recording() -> Value {
    rel_path("Path of the audio file relative to the indexed directory.")
}

/// Where a hit or a slice is in its document.
pub(super) fn span() -> Value {
    json!({
        "type": "object",
        "oneOf": [
            {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "kind": { "const": "lines" },
                    "start_line": { "type": "integer" },
                    "end_line": { "type": "integer" }
                },
                "required": ["kind", "start_line", "end_line"]
            },
            {
                "type": "object",
                "additionalProperties": false,
                "properties": { "kind": { "const": "page" }, "page": { "type": "integer" } },
                "required": ["kind", "page"]
            },
            {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "kind": { "const": "time" },
                    "start_ms": { "type": "integer" },
                    "end_ms": { "type": "integer" }
                },
                "required": ["kind", "start_ms", "end_ms"]
            }
        ]
    })
}

pub(super) fn hit() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "chunk_id": { "type": "integer" },
            "rel_path": { "type": "string" },
            "doc_type": { "type": "string" },
            "rep_type": { "type": "string" },
            "score": { "type": "number", "description": "From 0 to 1; comparable within one answer." },
            "snippet": { "type": "string", "description": "The part of the hit that shows the match." },
            "span": { "$ref": "#/definitions/Span" }
        },
        "required": ["chunk_id", "rel_path", "score", "snippet", "span"]
    })
}

/// Adds the named definitions at the end of an output schema.
pub(super) fn with_definitions(mut schema: Value, names: &[&str]) -> Value {
    let definition = |name: &str| match name {
        "Hit" => hit(),
        _ => span(),
    };
    let definitions = names.iter().map(|name| ((*name).to_owned(), definition(name))).collect();
    schema["definitions"] = Value::Object(definitions);
    schema
}

pub(super) fn k() -> Value {
    json!({
        "type": "integer", "minimum": 1, "maximum": 50, "default": 10,
        "description": "How many hits to return."
    })
}

pub(super) fn index() -> Value {
    json!({
        "type": "string", "enum": ["auto", "text", "code", "both"], "default": "auto",
        "description": "Where to look: text (documents), code, or both. auto looks in both and prefers text, or code when the query or the filters are about code; index_used in the result says where the hits come from."
    })
}

pub(super) fn path_prefix() -> Value {
    json!({
        "type": "string",
        "description": "Only files whose relative path starts with this text, e.g. src/ or docs/guide."
    })
}

pub(super) fn glob() -> Value {
    json!({
        "type": "string",
        "description": "Only files whose relative path matches this gitignore-style glob: * stays within a path segment, ** crosses segments, a pattern without / matches file names at any depth. E.g. *.rs, src/**/*.ts, {a,b}.md."
    })
}

pub(super) fn doc_types() -> Value {
    json!({
        "type": "array", "items": { "type": "string" },
        "description": "Only these document types: code, text, md, data, html, pdf, image, audio, archive."
    })
}
