//! The tools that use providers: what they return, and what they say when a provider is missing or fails.

use std::sync::Arc;

use model::{ChatModel, ProviderErrorKind, Providers, Reranker, Speaker};
use serde_json::json;
use testkit::{ChatStep, Folder, ScriptedChat, ScriptedReranker, ScriptedSpeaker};

use crate::world::{call, expect, registry, without_providers};

pub(crate) fn folder() -> Folder {
    Folder::from(
        "
        //- invoice.md
        Invoice 7781 of Kystfisk for cod: 920 crowns, due on 30 April. Contact: billing@kystfisk.example
        //- leave.md
        Everyone has 28 days of annual leave.
        ",
    )
}

pub(crate) fn chatting(chat: &Arc<ScriptedChat>) -> Providers {
    Providers { chat: Some(Arc::clone(chat) as Arc<dyn ChatModel>), ..without_providers() }
}

pub(crate) fn error_of(result: &contracts::ToolResult) -> (String, String) {
    assert!(result.is_error, "{:?}", result.content);
    let error = &result.structured["error"];
    (error["code"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn d165_ask_audio_returns_the_answer_and_a_recording() {
    let speaker: Arc<dyn Speaker> = Arc::new(ScriptedSpeaker::default());
    let folder = folder();
    let registry = registry(&folder, Providers { speaker: Some(speaker), ..without_providers() });
    let arguments =
        json!({"question": "how many days of annual leave?", "voice_id": "anna", "format": "wav"});
    let result = call(&registry, "dir2mcp.ask_audio", arguments).await;
    assert!(!result.is_error && result.content[0].contains("28 days"), "{:?}", result.content);
    let [audio] = &result.audio[..] else { panic!("one recording") };
    assert_eq!(audio.media_type, "audio/wav");
    let sound = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &audio.data).unwrap();
    let spoken = String::from_utf8(sound).unwrap();
    assert!(spoken.starts_with("audio/wav anna: ") && spoken.contains("28 days"), "{spoken}");
    assert!(!spoken.contains("leave.md:L"), "citations are not read aloud: {spoken}");
    assert!(result.structured["citations"][0]["rel_path"] == "leave.md");
}

#[tokio::test]
async fn d108_without_a_voice_ask_audio_names_the_setting_and_ask_works() {
    let folder = folder();
    let registry_without = registry(&folder, without_providers());
    let result = call(&registry_without, "dir2mcp.ask_audio", json!({"question": "annual leave"})).await;
    let (code, message) = error_of(&result);
    assert!(code == "CONFIG_INVALID" && message.contains("tts.provider"), "{code}: {message}");
    let answer = expect(&registry_without, "dir2mcp.ask", json!({"question": "annual leave"})).await;
    assert!(answer["answer"].as_str().unwrap().contains("28 days"));
    drop(registry_without);

    let speaker: Arc<dyn Speaker> = Arc::new(ScriptedSpeaker { fails: true });
    let registry = registry(&folder, Providers { speaker: Some(speaker), ..without_providers() });
    let result = call(&registry, "dir2mcp.ask_audio", json!({"question": "annual leave"})).await;
    assert!(!result.is_error && result.audio.is_empty());
    assert!(result.content[0].contains("28 days"), "{:?}", result.content);
    assert!(result.content[1].contains("ELEVENLABS_AUTH"), "{:?}", result.content);
}

#[tokio::test]
async fn s025_s026_s027_a_model_summarises_snippets_and_counts_its_tokens() {
    let folder = folder();
    let chat = Arc::new(ScriptedChat::saying("- Cod costs 920 crowns (invoice.md) https://evil.example/x"));
    let registry = registry(&folder, chatting(&chat));
    let path = folder.path().join("invoice.md");
    let long =
        format!("Cod costs 920 crowns. Write to jane@kystfisk.example. {}", "More words. ".repeat(400));
    let arguments = json!({
        "query": "price of cod", "style": "table", "max_tokens": 5000,
        "results": [{"path": path, "snippet": long}],
    });
    let done = expect(&registry, "summarizeResults", arguments.clone()).await;
    assert_eq!(done["summary"], "- Cod costs 920 crowns (invoice.md) (link removed)");
    assert!(
        done["tokens_used"]["prompt"].as_u64() > Some(0)
            && done["tokens_used"]["completion"].as_u64() > Some(0)
    );
    let request = &chat.requests()[0];
    assert_eq!(request.max_tokens, Some(800));
    assert!(request.system.contains("table"), "{}", request.system);
    let prompt = &request.messages[0].text;
    assert!(!prompt.contains("jane@") && prompt.chars().count() < 1_600, "{} {prompt}", prompt.len());
    assert!(!prompt.contains("due on 30 April"), "only what the caller sends is read");
    let outside = json!({"query": "x", "results": [{"path": "/etc/passwd", "snippet": "root"}]});
    assert_eq!(error_of(&call(&registry, "summarizeResults", outside).await).0, "FORBIDDEN");
}

#[tokio::test]
async fn s028_s029_a_model_that_fails_is_llm_upstream() {
    let folder = folder();
    let fails = || ChatStep::Fail(ProviderErrorKind::Unreachable { reason: "connection refused".into() });
    let chat = Arc::new(ScriptedChat::saying("no JSON").then([fails(), fails()]));
    let registry = registry(&folder, chatting(&chat));
    let path = folder.path().join("invoice.md");
    let results = json!({"query": "cod", "results": [{"path": path, "snippet": "Cod costs 920 crowns."}]});
    for (tool, arguments) in [
        ("summarizeResults", results),
        ("rewriteQuery", json!({"query": "cod"})),
        ("rewriteQuery", json!({"query": "cod"})),
    ] {
        assert_eq!(error_of(&call(&registry, tool, arguments).await).0, "LLM_UPSTREAM", "{tool}");
    }
}

#[tokio::test]
async fn s029_a_model_rewrites_a_question() {
    let reply = "{\"fts\": \"vendor AND\\n contract\", \"exts\": [\"PPTX\", \".docx\", \"../x\"], \"years\": [\"2021\", \"soon\"], \"notes\": \"paired\"}";
    let chat = Arc::new(ScriptedChat::saying(reply));
    let folder = folder();
    let registry = registry(&folder, chatting(&chat));
    let done =
        expect(&registry, "rewriteQuery", json!({"query": "vendor X contracts from 2021 in ppt or docx"}))
            .await;
    assert_eq!(done["fts"], "vendor AND contract");
    assert_eq!(done["filters"], json!({"exts": [".pptx", ".docx"], "years": ["2021"]}));
    assert_eq!(done["notes"], "paired");
}

#[tokio::test]
async fn repo_tools_ask_no_provider() {
    let folder = Folder::empty();
    for number in 0..30 {
        folder.write(&format!("{number}.md"), format!("The harbour fee of port {number} is paid here.\n"));
    }
    let chat = Arc::new(ScriptedChat::saying("never"));
    let reranker = Arc::new(ScriptedReranker::liking("port 12 "));
    let providers =
        Providers { reranker: Some(Arc::clone(&reranker) as Arc<dyn Reranker>), ..chatting(&chat) };
    let registry = registry(&folder, providers);
    expect(&registry, "repo.search", json!({"query": "what does the harbour fee cost"})).await;
    let budget = json!({"max_files": 3, "max_total_lines": 60});
    expect(&registry, "repo.build_context_bundle", json!({"prompt": "harbour fee", "budget": budget})).await;
    assert!(reranker.requests().is_empty() && chat.requests().is_empty());
    let found = expect(&registry, "searchFiles", json!({"query": "what does the harbour fee cost"})).await;
    assert!(found["items"][0]["path"].as_str().unwrap().ends_with("/12.md"), "{found}");
    let found = expect(&registry, "dir2mcp.search", json!({"query": "what does the harbour fee cost"})).await;
    assert_eq!(found["hits"][0]["rel_path"], "12.md");
    assert!(!reranker.requests().is_empty());
}
