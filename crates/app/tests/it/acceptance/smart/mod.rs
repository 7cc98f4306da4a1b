//! The smart tools, as a client of shared folders sees them.

mod indexing;
mod limits;
mod operations;
mod previews;
mod roots;
mod searching;

use serde_json::{Value, json};
use testkit::build::{paragraphs as docx, text_pages as pdf};
use testkit::{Client, Era, Folder, Server, StdioServer};

use super::program;

/// A server of the smart tools alone, on standard input.
pub(super) fn smart(folder: &Folder) -> StdioServer {
    smart_with(folder, &[])
}

fn smart_with(folder: &Folder, flags: &[&str]) -> StdioServer {
    program(folder).stdio(&[&["--tools", "smart"], flags].concat()).connect(Era::Legacy)
}

/// The same over HTTP.
fn served(folder: &Folder, flags: &[&str]) -> Server {
    program(folder).serve(&[&["--tools", "smart"], flags].concat())
}

/// Brings a folder's index up to date, so that everything in it is found.
pub(super) fn indexed(client: &mut dyn Client, root: &str) -> Value {
    client.expect("indexFolder", json!({ "root": root }))
}

/// The paths that a search finds, relative to the folder.
fn found(client: &mut dyn Client, folder: &Folder, arguments: Value) -> Vec<String> {
    let answer = client.expect("searchFiles", arguments);
    items(&answer, folder)
}

fn items(answer: &Value, folder: &Folder) -> Vec<String> {
    let root = format!("{}/", folder.path().display());
    let path = |item: &Value| item["path"].as_str().unwrap().trim_start_matches(&root).to_owned();
    answer["items"].as_array().unwrap().iter().map(path).collect()
}

/// The code of a call that fails.
fn refused(client: &mut dyn Client, tool: &str, arguments: Value) -> String {
    let reply = client.call(tool, arguments.clone());
    assert!(reply.is_error(), "{tool} {arguments}: {}", reply.result);
    let error = &reply.structured()["error"];
    assert!(!error["message"].as_str().unwrap().is_empty());
    assert_eq!(reply.structured()["mcp_version"], "v1.0.0");
    error["code"].as_str().unwrap().to_owned()
}

/// White space counts as one blank.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A presentation with one text per slide.
fn pptx(slides: &[&str]) -> Vec<u8> {
    let shape =
        |text: &&str| format!("<p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>");
    let slides: Vec<String> = slides.iter().map(shape).collect();
    testkit::build::pptx(&slides.iter().map(String::as_str).collect::<Vec<_>>(), "")
}
