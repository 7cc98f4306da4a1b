//! Answers by a chat model: what it gets to read, how its answer is checked, and what happens when it fails.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{AnswerSettings, AskAnswer, AskRequest, Call, Engine, EngineConfig, OpenRequest, OpenSelection};
use model::{ChatModel, ErrorCode, ProviderErrorKind, Providers, Reranker, Span};
use testkit::{ChatStep, Folder, NoMeaning, ScriptedChat, ScriptedReranker};

use crate::world::{config, index, query, search};

const NOT_IN_SOURCES: &str = "(not in the sources)";

fn open_with(folder: &Folder, settings: AnswerSettings, providers: Providers) -> Engine {
    let config = EngineConfig { answers: settings, ..config(folder.path(), &folder.state()) };
    let engine = Engine::open(config, providers).unwrap_or_else(|error| panic!("{error}"));
    index(&engine);
    engine
}

fn with_chat(folder: &Folder, chat: &Arc<ScriptedChat>) -> Engine {
    let chat: Arc<dyn ChatModel> = Arc::clone(chat) as Arc<dyn ChatModel>;
    let providers = Providers { chat: Some(chat), ..Providers::only(NoMeaning.into()) };
    open_with(
        folder,
        AnswerSettings { system_prompt: "Be brief.".into(), ..AnswerSettings::default() },
        providers,
    )
}

async fn ask(engine: &Engine, question: &str) -> AskAnswer {
    let request = AskRequest { search: query(question).into(), answer: true, on_text: None };
    engine.ask(&Call::cli("test"), request).await.unwrap()
}

fn leave() -> Folder {
    Folder::from(
        "
        //- leave.md
        Everyone has 28 days of annual leave. Five days may be carried over.
        //- owners.md
        Pieter Maas owns the Benelux target for annual revenue.
        ",
    )
}

#[tokio::test]
async fn d106_d113_a_model_answers_from_the_passages_and_is_checked() {
    let folder = leave();
    let chat = Arc::new(ScriptedChat::by(|request| {
        // The numbers depend on the ranking, so the model reads them from the prompt as a model would.
        let prompt = &request.messages[0].text;
        let number = if prompt.find("leave.md") < prompt.find("owners.md") { 1 } else { 2 };
        ChatStep::Say(format!(
            "Everyone has 28 days of annual leave [{number}]. Managers have 40 days [{number}]. More is in the handbook [9]."
        ))
    }));
    let engine = with_chat(&folder, &chat);
    let answer = ask(&engine, "how many days of annual leave?").await;
    let text = answer.answer.unwrap();
    assert!(text.starts_with("Everyone has 28 days of annual leave [leave.md:L1-L1]."), "{text}");
    assert!(text.contains("Managers have 40 days [leave.md:L1-L1]. (not in the sources)"), "{text}");
    assert!(text.contains("More is in the handbook.") && !text.contains("[9]"), "{text}");
    assert_eq!(answer.citations.len(), 1);
    let request = &chat.requests()[0];
    assert!(request.system.starts_with("Be brief."), "{}", request.system);
    assert!(request.messages[0].text.contains("| [leave.md:L1-L1]"), "{}", request.messages[0].text);
}

#[tokio::test]
async fn d113_the_answer_streams_as_checked_sentences() {
    let folder = leave();
    let chat = Arc::new(ScriptedChat::saying(
        "Everyone has 28 days [1][2]. Five days may be carried over. The end [7].",
    ));
    let engine = with_chat(&folder, &chat);
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = {
        let heard = Arc::clone(&heard);
        Arc::new(move |text: &str| heard.lock().unwrap().push(text.to_owned()))
    };
    let request = AskRequest {
        search: query("how many days of annual leave?").into(),
        answer: true,
        on_text: Some(sink),
    };
    let answer = engine.ask(&Call::cli("test"), request).await.unwrap();
    let heard = heard.lock().unwrap();
    assert!(heard.len() >= 2, "{heard:?}");
    assert_eq!(heard.concat().trim(), answer.answer.unwrap(), "what was told is what is answered");
}

#[tokio::test]
async fn an_answer_without_a_supported_sentence_falls_back_and_says_so() {
    let folder = leave();
    let chat = Arc::new(ScriptedChat::saying("Zebulon Quux gives 99 days [5]."));
    let engine = with_chat(&folder, &chat);
    let answer = ask(&engine, "how many days of annual leave?").await;
    let text = answer.answer.unwrap();
    assert!(
        text.starts_with("Extractive answer (no sentence of the answer that scripted-chat wrote"),
        "{text}"
    );
    assert!(text.contains("> Everyone has 28 days of annual leave."), "{text}");
    assert!(!text.contains("Zebulon"), "{text}");
}

#[tokio::test]
async fn a_model_that_finds_no_answer_is_believed() {
    let folder = leave();
    let chat = Arc::new(ScriptedChat::saying("NO ANSWER IN THE SOURCES"));
    let engine = with_chat(&folder, &chat);
    let answer = ask(&engine, "how many days of annual leave?").await;
    assert!(answer.answer.unwrap().starts_with("Nothing in this folder answers that"));
    assert!(answer.citations.is_empty() && !answer.hits.is_empty());
}

#[tokio::test]
async fn an_answer_that_was_cut_says_so() {
    let folder = leave();
    let chat = Arc::new(
        ScriptedChat::saying("").then([ChatStep::SayCut("Everyone has 28 days [1][2]. Five".into())]),
    );
    let engine = with_chat(&folder, &chat);
    let text = ask(&engine, "how many days of annual leave?").await.answer.unwrap();
    assert!(text.ends_with("(The answer ends here because the model was allowed no more tokens.)"), "{text}");
}

#[tokio::test]
async fn d106_where_the_provider_fails_the_passages_answer_and_the_remedy_is_named() {
    let folder = leave();
    let unreachable = ProviderErrorKind::Unreachable { reason: "connection refused".into() };
    let chat = Arc::new(ScriptedChat::saying("").then([
        ChatStep::Fail(ProviderErrorKind::Auth),
        ChatStep::Fail(ProviderErrorKind::RateLimited { after: Some(Duration::from_secs(2)) }),
        ChatStep::SayThenFail("Everyone has 28".into(), unreachable),
    ]));
    let engine = with_chat(&folder, &chat);
    for (problem, remedy) in [
        ("mistral: the key was not accepted", "doctor"),
        ("mistral: too many requests", "Wait"),
        ("mistral: no answer: connection refused", "Check the network"),
    ] {
        let answer = ask(&engine, "how many days of annual leave?").await;
        let text = answer.answer.unwrap();
        let first = text.lines().next().unwrap();
        assert!(first.starts_with("Extractive answer (the chat model failed:"), "{first}");
        assert!(first.contains(problem) && first.contains(remedy), "{first}");
        assert!(text.contains("> Everyone has 28 days of annual leave."), "{text}");
    }
}

#[tokio::test]
async fn d114_search_only_and_switched_off_generation_ask_no_model() {
    let folder = leave();
    let chat = Arc::new(ScriptedChat::saying("never"));
    let engine = with_chat(&folder, &chat);
    let request = AskRequest { search: query("annual leave").into(), answer: false, on_text: None };
    let answer = engine.ask(&Call::cli("test"), request).await.unwrap();
    assert!(answer.answer.is_none() && !answer.citations.is_empty());
    drop(engine);
    let providers =
        Providers { chat: Some(chat.clone() as Arc<dyn ChatModel>), ..Providers::only(NoMeaning.into()) };
    let engine =
        open_with(&folder, AnswerSettings { generate: false, ..AnswerSettings::default() }, providers);
    assert!(ask(&engine, "annual leave").await.answer.is_none());
    assert!(chat.requests().is_empty());
}

#[tokio::test]
async fn what_goes_to_a_model_is_redacted_and_keeps_to_its_room() {
    let folder = Folder::empty();
    folder.write(
        "team.md",
        "The team lead for annual leave is reached at lead@company.example or +47 22 33 44 55.\n",
    );
    for number in 0..20 {
        folder.write(&format!("leave{number}.md"), format!("Annual leave note {number}. ").repeat(40));
    }
    let chat = Arc::new(ScriptedChat::saying("NO ANSWER IN THE SOURCES"));
    let providers =
        Providers { chat: Some(chat.clone() as Arc<dyn ChatModel>), ..Providers::only(NoMeaning.into()) };
    let settings = AnswerSettings { max_context_chars: 3_000, ..AnswerSettings::default() };
    let engine = open_with(&folder, settings, providers);
    ask(&engine, "who is the team lead for annual leave of jane@company.example?").await;
    let prompt = &chat.requests()[0].messages[0].text;
    assert!(!prompt.contains("@company.example") && !prompt.contains("22 33 44"), "{prompt}");
    assert!(prompt.contains("[EMAIL]"), "{prompt}");
    assert!(prompt.chars().count() < 3_000 + 400, "{} characters", prompt.chars().count());
}

#[tokio::test]
async fn a_cancelled_question_ends_while_the_model_thinks() {
    let folder = leave();
    let chat = Arc::new(ScriptedChat::saying("").then([ChatStep::Hang]));
    let engine = Arc::new(with_chat(&folder, &chat));
    let call = Call::cli("test");
    let cancel = call.cancel.clone();
    let waiting = {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            let request = AskRequest { search: query("annual leave").into(), answer: true, on_text: None };
            engine.ask(&call, request).await.map(|_| ())
        })
    };
    while chat.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    assert_eq!(waiting.await.unwrap().unwrap_err().code, ErrorCode::Cancelled);
}

fn with_reranker(folder: &Folder, reranker: &Arc<ScriptedReranker>) -> Engine {
    let reranker = Arc::clone(reranker) as Arc<dyn Reranker>;
    let providers = Providers { reranker: Some(reranker), ..Providers::only(NoMeaning.into()) };
    open_with(folder, AnswerSettings::default(), providers)
}

fn harbours() -> Folder {
    let folder = Folder::empty();
    for number in 0..40 {
        folder.write(
            &format!("{number:02}.md"),
            format!(
                "The harbour fee of port {number} is paid in the harbour office. Contact: me@port.example\n"
            ),
        );
    }
    folder.write("33.md", "The harbour fee is waived for museum ships in the harbour.\n");
    folder
}

#[tokio::test]
async fn a_reranker_orders_a_fixed_number_of_passages_again() {
    let folder = harbours();
    let reranker = Arc::new(ScriptedReranker::liking("museum"));
    let engine = with_reranker(&folder, &reranker);
    let request = |k: usize| model::Query { k, ..query("what does the harbour fee cost") };
    let all = engine.search(&Call::cli("test"), request(30).into()).await.unwrap();
    assert_eq!(all.hits[0].rel_path, "33.md");
    assert!(all.hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "scores go on falling");
    for k in [1, 3, 10] {
        let fewer = engine.search(&Call::cli("test"), request(k).into()).await.unwrap();
        let paths = |hits: &[model::Hit]| hits.iter().map(|hit| hit.rel_path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&fewer.hits), paths(&all.hits[..k]), "the order does not depend on k");
    }
    let asked = reranker.requests();
    assert_eq!(asked.len(), 1, "the same passages are judged once");
    assert_eq!(asked[0].1.len(), 25);
    assert!(!asked[0].1.iter().any(|text| text.contains("me@port.example")), "passages are redacted");
}

#[tokio::test]
async fn a_reranker_that_fails_changes_nothing_and_is_named() {
    let folder = harbours();
    let without = with_reranker(&folder, &Arc::new(ScriptedReranker::liking("nothing at all")));
    let expected = search(&without, "what does the harbour fee cost").await.unwrap();
    drop(without);
    let engine = with_reranker(&folder, &Arc::new(ScriptedReranker::failing()));
    let found = search(&engine, "what does the harbour fee cost").await.unwrap();
    let paths = |hits: &[model::Hit]| hits.iter().map(|hit| hit.rel_path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&found.hits), paths(&expected.hits));
    let note = found.note.unwrap();
    assert!(note.contains("Reranking failed (cohere: too many requests") && note.contains("Wait"), "{note}");
}

#[tokio::test]
async fn names_and_phrases_are_not_judged() {
    let folder = harbours();
    let reranker = Arc::new(ScriptedReranker::liking("museum"));
    let engine = with_reranker(&folder, &reranker);
    search(&engine, "\"harbour fee\"").await.unwrap();
    search(&engine, "harbour_fee").await.unwrap();
    assert!(reranker.requests().is_empty());
}

/// The labelled questions with a model that answers faithfully where it was given the answer, adds a claim of its own, and
/// cites something that it was not given.
#[tokio::test]
async fn d112_citations_of_the_labelled_questions_are_of_retrieved_spans_and_open_to_their_text() {
    let folder = Folder::from(include_str!("../../../../eval/answers/corpus.txt"));
    let rows: Vec<Vec<&str>> = include_str!("../../../../eval/answers/questions.tsv")
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(rows.len() >= 120);
    let wanted: Arc<Mutex<String>> = Arc::default();
    let chat = {
        let wanted = Arc::clone(&wanted);
        Arc::new(ScriptedChat::by(move |request| {
            let answer = wanted.lock().unwrap().clone();
            let prompt = &request.messages[0].text;
            let held = prompt.split("<<<SOURCE ").skip(1).find_map(|source| {
                let number = source.split(' ').next()?;
                let text = source.split(">>>").nth(1)?.replace("\n| ", " ");
                text.contains(&answer).then(|| number.to_owned())
            });
            match held {
                Some(number) if !answer.is_empty() => ChatStep::Say(format!(
                    "It says: {answer} [{number}]. Zebulon Quux confirmed 8,812 of them [{number}]. See also [77] [x.md:L1-L2]."
                )),
                _ => ChatStep::Say("NO ANSWER IN THE SOURCES".into()),
            }
        }))
    };
    let engine = with_chat(&folder, &chat);
    let mut answered = 0;
    for row in &rows {
        let [_, question, _, expected] = row[..] else { panic!("{row:?}") };
        *wanted.lock().unwrap() = expected.to_owned();
        let answer = ask(&engine, question).await;
        let text = answer.answer.unwrap();
        let cited: Vec<_> = answer.hits.iter().map(model::Hit::citation).collect();
        assert!(answer.citations.iter().all(|citation| cited.contains(citation)), "{question}: {text}");
        if text.starts_with("Nothing in this folder answers that") {
            assert!(answer.citations.is_empty());
            continue;
        }
        answered += 1;
        assert!(text.contains(expected) && text.contains(NOT_IN_SOURCES), "{question}: {text}");
        assert!(!text.contains("[77]") && !text.contains("x.md"), "{question}: {text}");
        let citation = &answer.citations[0];
        let Span::Lines { start_line, end_line } = citation.span else { panic!("{citation}") };
        let opened = engine
            .open_file(
                &Call::cli("test"),
                OpenRequest {
                    rel_path: citation.rel_path.clone(),
                    selection: OpenSelection::Lines { start: start_line, end: end_line },
                    max_chars: 50_000,
                },
            )
            .await
            .unwrap();
        let opened = opened.content.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(opened.contains(expected), "{question}: {citation} opens to {opened}");
    }
    assert!(answered >= 100, "{answered} of 109 passages reached the model");
}
