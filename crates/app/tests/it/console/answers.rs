//! Questions: hits first, then the answer as it is written, and nothing goes on once nobody listens.

use serde_json::{Value, json};
use testkit::{Folder, Request};

use super::{Events, post, serve};

fn question(body: &Value) -> Request {
    Request::new("POST", "/console/ask").header("Content-Type", "application/json").body(body.to_string())
}

#[test]
fn an_answer_comes_with_its_hits_and_citations() {
    let folder = Folder::from(
        "//- guide.md\n# Windmill\n\nThe windmill was built in 1893 by the village.\n//- b.md\nNothing.\n",
    );
    let server = serve(&folder);
    let mut events =
        Events::open(&server, question(&json!({ "question": "When was the windmill built?", "k": 5 })));
    let (_, name, hits) = events.next().unwrap();
    assert_eq!((name.as_str(), &hits["hits"][0]["rel_path"]), ("hits", &json!("guide.md")));
    let mut citations = Vec::new();
    let done = loop {
        let (_, name, data) = events.next().unwrap();
        match name.as_str() {
            "citation" => citations.push(data),
            "delta" => {}
            "done" => break data,
            other => panic!("{other}: {data}"),
        }
    };
    assert!(done["answer"].as_str().unwrap().contains("1893"), "{done}");
    assert_eq!((&done["extractive"], &done["indexing_complete"]), (&json!(true), &json!(true)));
    assert_eq!((&citations[0]["n"], &citations[0]["rel_path"]), (&json!(1), &json!("guide.md")));
    assert!(citations[0]["text"].as_str().unwrap().starts_with("[guide.md:L"), "{citations:?}");
    assert_eq!(done["citations"].as_array().unwrap().len(), citations.len());
}

#[test]
fn questions_that_cannot_be_asked() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    for body in [json!([]), json!({}), json!({ "question": 1 }), json!({ "question": "x", "mode": "answer" })]
    {
        assert_eq!(post(&server, "/console/ask", &body).status, 400, "{body}");
    }
    let mut events = Events::open(&server, question(&json!({ "question": "x", "k": 9999 })));
    let (_, name, data) = events.next().unwrap();
    assert_eq!((name.as_str(), &data["retryable"]), ("error", &json!(false)), "{data}");
    let long = json!({ "question": "x".repeat(70_000) });
    assert_eq!(post(&server, "/console/ask", &long).status, 413);
}
