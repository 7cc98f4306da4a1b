//! Annotating and transcribing through the registry.

use std::sync::Arc;

use model::{ProviderErrorKind, Providers, Transcriber};
use serde_json::{Value, json};
use testkit::{ChatStep, ScriptedChat, ScriptedTranscriber, recording};

use crate::providers::{chatting, error_of, folder};
use crate::world::{call, expect, registry, without_providers};

fn invoice_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "number": {"type": "integer"},
            "seller": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            "total": {"type": "number"}
        },
        "required": ["number", "seller", "total"]
    })
}

#[tokio::test]
async fn d161_d162_d097_annotate_validates_stores_and_indexes() {
    let reply =
        "Here it is:\n```json\n{\"number\": 7781, \"seller\": {\"name\": \"Kystfisk\"}, \"total\": 920}\n```";
    let chat = Arc::new(ScriptedChat::saying(reply));
    let folder = folder();
    let registry = registry(&folder, chatting(&chat));
    let arguments = json!({"rel_path": "invoice.md", "schema_json": invoice_schema()});
    let done = expect(&registry, "dir2mcp.annotate", arguments).await;
    assert_eq!(
        done["annotation_json"],
        json!({"number": 7781, "seller": {"name": "Kystfisk"}, "total": 920})
    );
    assert_eq!((&done["stored"], &done["flattened_indexed"]), (&json!(true), &json!(true)));
    assert_eq!(done["annotation_text_preview"], "number: 7781\nseller.name: Kystfisk\ntotal: 920");
    let request = &chat.requests()[0];
    assert_eq!(request.schema.as_ref().unwrap().schema, invoice_schema());
    let prompt = &request.messages[0].text;
    assert!(prompt.contains("| Invoice 7781") && !prompt.contains("billing@"), "{prompt}");
    let found = expect(&registry, "dir2mcp.search", json!({"query": "seller.name Kystfisk"})).await;
    let is_annotation = |hit: &&Value| hit["rep_type"] == "annotation_text";
    assert!(found["hits"].as_array().unwrap().iter().any(|hit| is_annotation(&hit)), "{found}");
}

#[tokio::test]
async fn d161_a_wrong_annotation_is_corrected_once() {
    let wrong = ChatStep::Say("{\"number\": \"7781\", \"total\": 920}".into());
    let right =
        ChatStep::Say("{\"number\": 7781, \"seller\": {\"name\": \"Kystfisk\"}, \"total\": 920}".into());
    let chat = Arc::new(ScriptedChat::saying("never").then([wrong.clone(), right, wrong.clone(), wrong]));
    let folder = folder();
    let registry = registry(&folder, chatting(&chat));
    let arguments =
        json!({"rel_path": "invoice.md", "schema_json": invoice_schema(), "index_flattened_text": false});
    let done = expect(&registry, "dir2mcp.annotate", arguments.clone()).await;
    assert_eq!(done["flattened_indexed"], false);
    let requests = chat.requests();
    assert_eq!(requests.len(), 2);
    let told = &requests[1].messages[2].text;
    assert!(told.contains("seller") && told.contains("/number"), "{told}");
    let (code, message) = error_of(&call(&registry, "dir2mcp.annotate", arguments).await);
    assert!(code == "ANNOTATE_FAILED" && message.contains("also after a correction"), "{message}");
}

#[tokio::test]
async fn d140_annotate_says_what_is_missing_or_failed() {
    let folder = folder();
    let registry_without = registry(&folder, without_providers());
    let arguments = json!({"rel_path": "invoice.md", "schema_json": {"type": "object"}});
    let (code, message) = error_of(&call(&registry_without, "dir2mcp.annotate", arguments.clone()).await);
    assert!(code == "ANNOTATE_FAILED" && message.contains("chat.provider"), "{message}");
    drop(registry_without);
    let chat = Arc::new(ScriptedChat::saying("x").then([ChatStep::Fail(ProviderErrorKind::Auth)]));
    let registry = registry(&folder, chatting(&chat));
    let (code, _) = error_of(&call(&registry, "dir2mcp.annotate", arguments).await);
    assert_eq!(code, "MISTRAL_AUTH");
    let bad = json!({"rel_path": "invoice.md", "schema_json": {"type": "nothing"}});
    assert_eq!(error_of(&call(&registry, "dir2mcp.annotate", bad).await).0, "INVALID_FIELD");
    let outside = json!({"rel_path": "../x.md", "schema_json": {}});
    assert_eq!(error_of(&call(&registry, "dir2mcp.annotate", outside).await).0, "PATH_OUTSIDE_ROOT");
}

fn talk() -> Vec<u8> {
    recording(&[
        (0, 10_000, "Welcome to the harbour radio."),
        (10_000, 20_000, "The ferry to Torsoy leaves at twenty past four."),
        (20_000, 25_000, "Goodbye."),
    ])
}

#[tokio::test]
async fn d159_d160_d163_d164_a_recording_is_transcribed_once_and_asked() {
    let folder = folder();
    folder.write("talk.wav", talk());
    let transcriber = ScriptedTranscriber::new("scribe").shared();
    let heard = Arc::clone(&transcriber) as Arc<dyn Transcriber>;
    let registry = registry(&folder, Providers { transcriber: Some(heard), ..without_providers() });
    let arguments = json!({"rel_path": "talk.wav", "question": "when does the ferry to Torsoy leave?"});
    let answer = expect(&registry, "dir2mcp.transcribe_and_ask", arguments.clone()).await;
    assert!(answer["answer"].as_str().unwrap().contains("twenty past four"), "{answer}");
    assert_eq!(answer["citations"][0]["span"]["kind"], "time", "{answer}");
    assert_eq!(answer["transcript_provider"], "scripted");
    assert_eq!(answer["transcript_model"], "scribe");
    let made = transcriber.requests().len();
    assert_eq!(made, 1, "indexing or the call made the transcript, not both");
    let again = expect(&registry, "dir2mcp.transcribe_and_ask", arguments).await;
    assert_eq!(again["transcribed"], false);
    let known = expect(&registry, "dir2mcp.transcribe", json!({"rel_path": "talk.wav"})).await;
    assert_eq!((&known["provider"], &known["indexed"]), (&json!("local"), &json!(true)));
    assert_eq!(known["segments"][1]["start_ms"], 10_000);
    assert_eq!(transcriber.requests().len(), made);
    let arguments = json!({"rel_path": "talk.wav", "language": "no", "retranscribe": true});
    expect(&registry, "dir2mcp.transcribe", arguments).await;
    assert_eq!(transcriber.requests().len(), made + 1);
}

#[tokio::test]
async fn d140_without_a_transcriber_the_tools_name_the_setting_and_the_extra() {
    let folder = folder();
    folder.write("talk.wav", talk());
    let registry = registry(&folder, without_providers());
    for (tool, arguments) in [
        ("dir2mcp.transcribe", json!({"rel_path": "talk.wav"})),
        ("dir2mcp.transcribe_and_ask", json!({"rel_path": "talk.wav", "question": "what?"})),
    ] {
        let (code, message) = error_of(&call(&registry, tool, arguments).await);
        assert_eq!(code, "TRANSCRIBE_FAILED");
        assert!(message.contains("stt.provider") && message.contains("extras add speech"), "{message}");
    }
    let (code, _) = error_of(&call(&registry, "dir2mcp.transcribe", json!({"rel_path": "leave.md"})).await);
    assert_eq!(code, "DOC_TYPE_UNSUPPORTED");
}
