//! Language models: whole and streamed answers, schemas, and servers that do not understand everything.

use std::sync::Mutex;

use model::{AnswerSchema, Capability, ChatMessage, ChatModel, ChatRequest, ChatRole, ProviderErrorKind};
use serde_json::json;
use std::sync::Arc;
use testkit::standins::{Fault, StandIn};

use crate::world::{World, is_pending};

fn question(text: &str) -> ChatRequest {
    let message = ChatMessage { role: ChatRole::User, text: text.to_owned() };
    ChatRequest { system: "Be brief.".to_owned(), messages: vec![message], ..ChatRequest::default() }
}

fn both(world: &World) -> Vec<(StandIn, Arc<dyn ChatModel>)> {
    let (mistral, openai) = (StandIn::mistral(), StandIn::openai());
    let chats =
        [world.mistral(&mistral).chat("mistral-small-latest"), world.openai(&openai).chat("gpt-4o-mini")];
    [mistral, openai].into_iter().zip(chats).collect()
}

#[tokio::test]
async fn d106_an_answer_at_once_or_piece_by_piece() {
    let world = World::new();
    for (stand_in, chat) in both(&world) {
        stand_in.say(["The keeper is Ada.", "The keeper is Ada."]);
        let whole = chat.chat(&question("Who?"), None).await.unwrap();
        assert_eq!(whole.text, "The keeper is Ada.");
        assert!(whole.tokens_in > 0 && whole.tokens_out > 0 && !whole.is_cut);

        let pieces = Mutex::new(Vec::new());
        let on_text = |piece: &str| pieces.lock().unwrap().push(piece.to_owned());
        let streamed = chat.chat(&question("Who?"), Some(&on_text)).await.unwrap();
        assert_eq!(streamed, whole, "{}", chat.provider());
        assert_eq!(pieces.into_inner().unwrap(), ["The ", "keeper ", "is ", "Ada."]);
        let sent = stand_in.last_request().json();
        assert_eq!(sent["messages"][0], json!({ "role": "system", "content": "Be brief." }));
        assert_eq!(sent["messages"][1], json!({ "role": "user", "content": "Who?" }));
    }
    let used = world.used();
    assert!(
        used.iter().all(|(_, _, capability, used)| *capability == Capability::Chat && used.tokens_out > 0)
    );
    assert_eq!(used.len(), 4);
}

#[tokio::test]
async fn an_answer_that_is_cut_says_so() {
    let world = World::new();
    for (stand_in, chat) in both(&world) {
        stand_in.answer_chat(|_| "word ".repeat(100));
        let request = ChatRequest { max_tokens: Some(5), ..question("?") };
        assert!(chat.chat(&request, None).await.unwrap().is_cut);
        assert!(chat.chat(&request, Some(&|_| ())).await.unwrap().is_cut);
    }
}

#[tokio::test]
async fn a_schema_is_sent_along() {
    let world = World::new();
    for (stand_in, chat) in both(&world) {
        let schema = json!({ "type": "object", "properties": { "total": { "type": "number" } } });
        let answer_schema = AnswerSchema { name: "invoice".into(), schema: schema.clone() };
        stand_in.say(["{\"total\": 3}"]);
        let request = ChatRequest { schema: Some(answer_schema), ..question("?") };
        assert_eq!(chat.chat(&request, None).await.unwrap().text, "{\"total\": 3}");
        let format = &stand_in.last_request().json()["response_format"];
        assert_eq!(format["type"], "json_schema");
        assert_eq!(format["json_schema"]["name"], "invoice");
        assert_eq!(format["json_schema"]["schema"], schema);
        assert_eq!(format["json_schema"]["strict"], false, "it has optional properties");
    }
}

#[tokio::test]
async fn a_server_that_lacks_something_is_asked_without_it() {
    let (world, stand_in) = (World::new(), StandIn::local_openai());
    let chat = world.openai(&stand_in).chat("local");
    let request = ChatRequest {
        max_tokens: Some(50),
        schema: Some(AnswerSchema { name: "x".into(), schema: json!({ "type": "object" }) }),
        ..question("?")
    };
    stand_in.then([
        Fault::Refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.".into()),
        Fault::Refuse("'temperature' does not support 0 with this model".into()),
        Fault::Refuse("response_format is not supported".into()),
    ]);
    stand_in.say(["{}", "{}"]);
    assert_eq!(chat.chat(&request, None).await.unwrap().text, "{}");
    let sent = stand_in.last_request().json();
    assert_eq!((&sent["max_completion_tokens"], sent.get("temperature")), (&json!(50), None));
    assert!(sent["messages"][0]["content"].as_str().unwrap().contains("JSON Schema"));
    assert_eq!(stand_in.counts().requests, 4);
    chat.chat(&request, None).await.unwrap();
    assert_eq!(stand_in.counts().requests, 5, "it remembers");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer() {
    let world = World::new();
    for (stand_in, chat) in both(&world) {
        stand_in.answer_chat(|_| "a long answer ".repeat(50));
        stand_in.then([Fault::CutOff]);
        let seen = Mutex::new(String::new());
        let on_text = |piece: &str| seen.lock().unwrap().push_str(piece);
        let error = chat.chat(&question("?"), Some(&on_text)).await.unwrap_err();
        assert!(matches!(error.kind, ProviderErrorKind::Unreachable { .. }), "{error}");
        assert!(seen.into_inner().unwrap().starts_with("a long answer"), "what came was passed on");
        assert_eq!(stand_in.counts().requests, 1, "the caller has seen a part of it");
    }
}

#[tokio::test]
async fn wrong_shapes_are_bad_answers() {
    let world = World::new();
    for (stand_in, chat) in both(&world) {
        for fault in [Fault::WrongShape, Fault::NotJson] {
            stand_in.then([fault.clone(), fault]);
            for on_text in [None, Some(&(|_: &str| ()) as &(dyn Fn(&str) + Send + Sync))] {
                let error = chat.chat(&question("?"), on_text).await.unwrap_err();
                assert!(matches!(error.kind, ProviderErrorKind::BadAnswer { .. }), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn dropping_an_answer_ends_the_request() {
    let (world, stand_in) = (World::new(), StandIn::openai());
    let chat = world.openai(&stand_in).chat("m");
    for on_text in [None, Some(&(|_: &str| ()) as &(dyn Fn(&str) + Send + Sync))] {
        stand_in.then([Fault::Hang]);
        let request = question("?");
        let mut answer = chat.chat(&request, on_text);
        let before = stand_in.counts();
        // Polled once, so that the request is sent.
        assert!(is_pending(&mut answer));
        stand_in.wait_until(|counts| counts.requests > before.requests);
        drop(answer);
        stand_in.wait_until(|counts| counts.abandoned > before.abandoned);
    }
}
