//! Questions with paid models: how often a service is asked, and who answers.

use serde_json::json;
use testkit::Folder;
use testkit::standins::StandIn;

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
