//! Questions with paid models: how often a service is asked, and who answers.

use serde_json::json;
use testkit::Folder;
use testkit::standins::{Fault, StandIn};

use super::{program, wait_read, with_mistral};

const FILES: &str = "//- windmill.md\n# Windmill\n\nThe windmill was built in 1893 by Jan Visser.\n\
                     //- harbour.md\n# Harbour\n\nThe harbour froze in the winter of 1963.\n";

#[test]
fn a_question_costs_one_call_and_a_repeated_one_none() {
    let (folder, openai) = (Folder::from(FILES), StandIn::openai());
    let server = program(&folder)
        .env("OPENAI_API_KEY", openai.key())
        .env("OPENAI_BASE_URL", &openai.url())
        .env("DIR2MCP_OPENAI_EMBED_MODEL", "text-embedding-3-small")
        .serve(&[]);
    wait_read(&server);
    let before = openai.counts().embed_calls;
    let ask = || {
        server.expect("dir2mcp.search", json!({ "query": "who built the mill?", "k": 1, "index": "text" }))
    };
    let first = ask();
    assert_eq!(openai.counts().embed_calls, before + 1);
    assert_eq!(ask()["hits"], first["hits"]);
    assert_eq!(openai.counts().embed_calls, before + 1);
}

#[test]
fn a_question_costs_one_call_for_each_model_whose_vectors_may_answer() {
    let (folder, mistral) = (Folder::from(FILES), StandIn::mistral());
    let server = with_mistral(&folder, &mistral).serve(&[]);
    wait_read(&server);
    let calls = |arguments: serde_json::Value| {
        let before = mistral.counts().embed_calls;
        server.expect("dir2mcp.search", arguments);
        mistral.counts().embed_calls - before
    };
    let question = json!({ "query": "who built the mill?", "k": 1 });
    assert_eq!(calls(question.clone()), 1, "there is no code");
    assert_eq!(calls(question), 0, "the same again");
    // With code there are vectors of a second model.
    folder.write("mill.py", "def grind(corn):\n    return corn.flour\n");
    wait_until_found(&server, "grind", "mill.py");
    let about = |words: &str, index: &str| json!({ "query": words, "k": 1, "index": index });
    assert_eq!(calls(about("how is corn ground?", "text")), 1);
    assert_eq!(calls(about("what becomes of corn?", "code")), 1);
    assert_eq!(calls(about("where does flour come from?", "auto")), 2, "one for each model");
    assert_eq!(calls(about("where does flour come from?", "auto")), 0);
}

/// Waits until a file is found by a word and has its vector.
fn wait_until_found(server: &testkit::Server, word: &str, file: &str) {
    server.poll("the new file", |client| {
        use testkit::Client;
        let found = client.expect("dir2mcp.search", json!({ "query": word, "k": 3 }));
        let is_found = found["hits"].as_array()?.iter().any(|hit| hit["rel_path"] == file);
        let indexing = &client.expect("dir2mcp.stats", json!({}))["indexing"];
        (is_found && indexing["embedded_ok"] == indexing["chunks_total"]).then_some(())
    });
}

#[test]
fn the_vectors_of_one_service_answer_until_those_of_another_are_complete() {
    let (folder, mistral, openai) = (Folder::from(FILES), StandIn::mistral(), StandIn::openai());
    let server = with_mistral(&folder, &mistral).serve(&[]);
    wait_read(&server);
    server.stop().expect(0);
    // The other service takes its time with the passages.
    openai.always(Some(Fault::WaitAtGate));
    let both = with_mistral(&folder, &mistral)
        .env("OPENAI_API_KEY", openai.key())
        .env("OPENAI_BASE_URL", &openai.url())
        .env("DIR2MCP_OPENAI_EMBED_MODEL", "text-embedding-3-small")
        .env("DIR2MCP_EMBED_PROVIDER", "openai")
        .env("DIR2MCP_CHAT_PROVIDER", "builtin");
    let server = both.serve(&[]);
    server.wait_indexed();
    let told = server.wait_for_event("services").to_string();
    assert!(told.contains("questions to its former vectors"), "{told}");
    openai.wait_until(|counts| counts.requests > 0);
    let before = mistral.counts().embed_calls;
    let found = server.expect("dir2mcp.search", json!({ "query": "who built the mill?", "k": 2 }));
    assert_eq!(mistral.counts().embed_calls, before + 1, "{found}");
    openai.always(None);
    openai.open_gate();
    wait_read(&server);
    let (before, asked) = (mistral.counts().embed_calls, openai.counts().embed_calls);
    server.expect("dir2mcp.search", json!({ "query": "when did the harbour freeze?", "k": 2 }));
    assert_eq!((mistral.counts().embed_calls, openai.counts().embed_calls), (before, asked + 1));
    server.stop().expect(0);
    // Another model of the same service.
    openai.close_gate();
    openai.always(Some(Fault::WaitAtGate));
    let larger = both.env("DIR2MCP_OPENAI_EMBED_MODEL", "text-embedding-3-large").serve(&[]);
    larger.wait_indexed();
    // The service keeps the question waiting until its time is up; it was sent all the same.
    let question = larger.poll("the question to be sent", |client| {
        use testkit::Client;
        client.expect("dir2mcp.search", json!({ "query": "what froze?", "k": 2 }));
        openai.requests().into_iter().rfind(|request| request.json()["input"][0] == "what froze?")
    });
    assert_eq!(question.json()["model"], "text-embedding-3-small");
}

#[test]
fn d106_an_answer_is_written_by_the_chat_model_and_cites_the_file() {
    let (folder, mistral) = (Folder::from(FILES), StandIn::mistral());
    mistral.answer_chat(|_| "The windmill was built in 1893 [1].".to_owned());
    let program = with_mistral(&folder, &mistral);
    let server = program.serve(&[]);
    wait_read(&server);
    let answer = server.expect("dir2mcp.ask", json!({ "question": "When was the windmill built?" }));
    assert!(answer["answer"].as_str().unwrap().contains("[windmill.md:L"), "{answer}");
    assert_eq!(mistral.counts().chat_calls, 1);
    server.stop().expect(0);
    let told = program.run(&["ask", "When was the windmill built?"]).expect(0).stdout;
    assert!(told.contains("1893") && told.contains("[windmill.md:L"), "{told}");
}

#[test]
fn a_server_of_one_s_own_needs_no_key() {
    let (folder, own) = (Folder::from(FILES), StandIn::local_openai());
    own.answer_chat(|_| "It was built in 1893 [1].".to_owned());
    let server = program(&folder)
        .env("DIR2MCP_OPENAI_BASE_URL", &own.url())
        .env("DIR2MCP_OPENAI_CHAT_MODEL", "llama3.2")
        .env("DIR2MCP_OPENAI_EMBED_MODEL", "our-embedder")
        .env("DIR2MCP_OPENAI_EMBED_DIMENSIONS", "1536")
        .serve(&[]);
    wait_read(&server);
    let models = &server.expect("dir2mcp.stats", json!({}))["models"];
    assert_eq!((&models["embed_text"], &models["chat"]), (&json!("our-embedder"), &json!("llama3.2")));
    let answer = server.expect("dir2mcp.ask", json!({ "question": "When was the windmill built?" }));
    assert!(answer["answer"].as_str().unwrap().contains("1893"), "{answer}");
    assert!(own.counts().chat_calls > 0 && own.counts().embed_calls > 0);
    let costs = program(&folder).json(&["costs", "--json"]);
    assert_eq!(costs["entries"], json!([]), "what has no key costs nothing");
}

#[test]
fn passages_are_put_in_order_by_the_reranker() {
    let (folder, cohere) = (Folder::from(FILES), StandIn::cohere());
    let server =
        program(&folder).env("COHERE_API_KEY", cohere.key()).env("COHERE_BASE_URL", &cohere.url()).serve(&[]);
    wait_read(&server);
    let found = server.expect("dir2mcp.search", json!({ "query": "When did the harbour freeze?", "k": 2 }));
    assert_eq!(found["hits"][0]["rel_path"], "harbour.md", "{found}");
    assert!(cohere.counts().rerank_calls > 0);
}

#[test]
fn the_repository_tools_touch_no_service() {
    let (folder, mistral) = (Folder::from("//- src/retry.py\ndef retry():\n    pass\n"), StandIn::mistral());
    let program = with_mistral(&folder, &mistral);
    let mut client = program.stdio(&["--tools", "repo"]).connect(testkit::Era::Modern);
    use testkit::Client;
    let found = client.expect("repo.search", json!({ "query": "retry", "mode": "bm25", "top_k": 3 }));
    assert!(found.to_string().contains("src/retry.py"), "{found}");
    assert_eq!(mistral.counts().requests, 0);
}

#[test]
fn d041_the_template_of_the_specification_starts_with_and_without_a_key() {
    let template = include_str!("../specification.yaml");
    let folder = Folder::from(FILES);
    folder.write(".dir2mcp.yaml", template);
    let plain = program(&folder).flag("--trust-config");
    plain.serve(&["--non-interactive"]).wait_indexed();
    let mistral = StandIn::mistral();
    let server = with_mistral(&folder, &mistral).flag("--trust-config").serve(&["--non-interactive"]);
    wait_read(&server);
    assert!(mistral.counts().inputs > 0);
}
