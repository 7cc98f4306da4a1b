//! The `dir2mcp.*` tools (dir2mcp specification, sections 12 to 15).

mod annotate;
mod ask;
mod ask_audio;
mod envelope;
mod filter;
mod hits;
mod list_files;
mod open_file;
mod rendered;
mod schema;
mod search;
mod stats;
mod transcribe;
mod transcribe_and_ask;

use crate::contract::{ContractSet, ServedRoots, Services};
use crate::registry::ToolNames;
use crate::tool::{ContractFrame, Tool};

pub(crate) use envelope::Bare;
pub use filter::parse_doc_types;
pub use stats::PROTOCOL_VERSION;

/// Changes with every published name, schema or description; the snapshot beside it shows how.
pub const SCHEMA_VERSION: u32 = 4;

/// The contract of the dir2mcp specification.
pub(crate) struct Dir2mcp;

impl ContractSet for Dir2mcp {
    fn name(&self) -> &'static str {
        "dir2mcp"
    }

    fn serves(&self) -> ServedRoots {
        ServedRoots::PrimaryRoot
    }

    fn instructions(&self, names: ToolNames) -> String {
        instructions(names)
    }

    /// A new tool is one file and one line here.
    fn tools(&self, services: &Services) -> Vec<Tool> {
        let Some(engine) = services.engine() else { return Vec::new() };
        let log = services.workspace.audit_log(engine.state_dir(), engine.redactor());
        let frame = ContractFrame::new(services, log, Bare).naming_callers().naming_prices();
        vec![
            search::tool(&frame, engine, services.k_default),
            ask::tool(&frame, engine, services.k_default),
            open_file::tool(&frame, engine),
            list_files::tool(&frame, engine),
            stats::tool(&frame, engine),
            transcribe::tool(&frame, engine),
            annotate::tool(&frame, engine),
            transcribe_and_ask::tool(&frame, engine, services.k_default),
            ask_audio::tool(&frame, engine, services.k_default),
        ]
    }
}

fn instructions(names: ToolNames) -> String {
    let name = |tool: &str| names.spell(&format!("dir2mcp.{tool}"));
    format!(
        " Start with {search} (code identifiers, file names or plain words; each hit has a path, a line span \
         and a snippet), then read the cited lines with {open}. {ask} answers a question from the best \
         passages. {list} shows what is there, with filters and paging; {stats} says how far indexing got. \
         {transcribe} writes down a recording, {annotate} extracts JSON of your schema from one document. \
         Paths are relative to the indexed directory. While indexing_complete is false, results cover the \
         files indexed so far.",
        search = name("search"),
        open = name("open_file"),
        ask = name("ask"),
        list = name("list_files"),
        stats = name("stats"),
        transcribe = name("transcribe"),
        annotate = name("annotate"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::arguments::Schema;
    use crate::tool::ToolSpec;
    use crate::tool::tests::listed;
    use envelope::or_failure;

    pub(super) fn specs() -> [ToolSpec; 9] {
        [
            search::SPEC,
            ask::SPEC,
            open_file::SPEC,
            list_files::SPEC,
            stats::SPEC,
            transcribe::SPEC,
            annotate::SPEC,
            transcribe_and_ask::SPEC,
            ask_audio::SPEC,
        ]
    }

    /// What `tools/list` shows, as one file that a reviewer reads. Whoever changes it raises
    /// [`SCHEMA_VERSION`].
    #[test]
    fn d130_d134_d135_d136_tools_list_snapshot() {
        let page = listed(SCHEMA_VERSION, &specs(), &or_failure);
        insta::assert_snapshot!("tools_list", page);
    }

    #[test]
    fn d129_d130_names_and_schemas_are_well_formed() {
        for spec in specs() {
            assert!(spec.name.starts_with("dir2mcp."));
            assert!(spec.name.len() <= 128);
            assert!(!spec.description.is_empty());
            for document in [(spec.input)(), (spec.output)()] {
                assert_eq!(document["type"], "object", "{}", spec.name);
                assert_eq!(document["additionalProperties"], false, "{}", spec.name);
                assert!(jsonschema::meta::is_valid(&document), "{}", spec.name);
                assert!(Schema::compile(document).is_ok(), "{}", spec.name);
            }
        }
    }

    /// The schemas are those of section 15, with descriptions added and nothing else; what is published of an output
    /// admits a failure besides.
    #[test]
    fn d142_to_d165_schemas_are_those_of_the_specification() {
        let specified: Value = serde_json::from_str(include_str!("specified_schemas.json")).unwrap();
        for spec in specs() {
            let tool = &specified[spec.name];
            assert_eq!(plain((spec.input)()).to_string(), tool["input"].to_string(), "{}", spec.name);
            assert_eq!(plain((spec.output)()).to_string(), tool["output"].to_string(), "{}", spec.name);
        }
    }

    /// Without descriptions, without the definitions, which section 15.1 leaves to the publisher, and without the
    /// transcribers that the specification does not know.
    fn plain(schema: Value) -> Value {
        match schema {
            Value::Array(list) if list.starts_with(&[json!("mistral"), json!("elevenlabs")]) => {
                json!(&list[..2])
            }
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .filter(|(key, value)| {
                        !(key == "description" && value.is_string()) && key != "definitions"
                    })
                    .map(|(key, value)| (key, plain(value)))
                    .collect(),
            ),
            Value::Array(list) => Value::Array(list.into_iter().map(plain).collect()),
            other => other,
        }
    }

    #[test]
    fn d142_d143_the_shared_definitions() {
        let specified: Value = serde_json::from_str(include_str!("specified_schemas.json")).unwrap();
        assert_eq!(plain(schema::span()).to_string(), specified["Span"].to_string());
        assert_eq!(plain(schema::hit()).to_string(), specified["Hit"].to_string());
    }

    /// Every property that a schema publishes is one that the tool reads.
    #[test]
    fn schemas_and_types_agree() {
        search::tests::reads_every_property(&(search::SPEC.input)());
        ask::tests::reads_every_property(&(ask::SPEC.input)());
        open_file::tests::reads_every_property(&(open_file::SPEC.input)());
        list_files::tests::reads_every_property(&(list_files::SPEC.input)());
        transcribe::tests::reads_every_property(&(transcribe::SPEC.input)());
        annotate::tests::reads_every_property(&(annotate::SPEC.input)());
        transcribe_and_ask::tests::reads_every_property(&(transcribe_and_ask::SPEC.input)());
        ask_audio::tests::reads_every_property(&(ask_audio::SPEC.input)());
    }

    /// A value for each property, as its schema wants it.
    pub(super) fn sample(input: &Value) -> Value {
        let properties = input["properties"].as_object().unwrap();
        let value = |schema: &Value| match schema["type"].as_str().unwrap() {
            "string" => schema.get("enum").map_or(json!("x"), |options| options[0].clone()),
            "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
            "array" => json!(["md"]),
            "boolean" => json!(true),
            "object" => json!({}),
            other => panic!("no sample of {other}"),
        };
        Value::Object(properties.iter().map(|(name, schema)| (name.clone(), value(schema))).collect())
    }
}
