//! The repository tools, as a client that starts them sees them.

mod audit;
mod bundles;
mod doors;
mod files;
mod index;
mod limits;
mod symbols;

use serde_json::Value;
use testkit::{Client, Era, Folder, StdioServer, ToolReply};

use super::{BINARY, program};

/// A server of the repository tools alone.
fn repo(folder: &Folder) -> StdioServer {
    repo_with(folder, &[])
}

fn repo_with(folder: &Folder, flags: &[&str]) -> StdioServer {
    program(folder).stdio(&[&["--tools", "repo"], flags].concat()).connect(Era::Legacy)
}

/// The result of a call that succeeds.
fn result(server: &mut StdioServer, tool: &str, arguments: Value) -> Value {
    let envelope = server.expect(&format!("repo.{tool}"), arguments.clone());
    assert_eq!(envelope["ok"], true, "{tool} {arguments}: {envelope}");
    envelope["result"].clone()
}

/// The envelope of any call.
fn envelope(server: &mut StdioServer, tool: &str, arguments: Value) -> Value {
    server.call(&format!("repo.{tool}"), arguments).structured().clone()
}

fn blocked(server: &mut StdioServer, tool: &str, arguments: Value) -> String {
    let reply: ToolReply = server.call(&format!("repo.{tool}"), arguments.clone());
    let answer = reply.structured();
    assert!(reply.is_error(), "{tool} {arguments}: {answer}");
    assert_eq!(answer["blocked"], true, "{tool} {arguments}: {answer}");
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["error"]["code"], "PATH_BLOCKED");
    assert!(!answer["result"]["hint"].as_str().unwrap().is_empty(), "{answer}");
    answer["result"]["reason"].as_str().unwrap().to_owned()
}

fn strings(rows: &Value, key: &str) -> Vec<String> {
    rows.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
}

fn service() -> Folder {
    Folder::from(
        "
        //- src/service.py
        import os
        from src.util import helper

        class Service(Base, metaclass=Meta):
            '''Runs items.

            Slowly.
            '''

            def run(self, item: str, retries: int = 2) -> bool:
                for attempt in range(retries):
                    if helper(item):
                        return True
                return False
        //- src/util.py
        LIMIT = 3

        def helper(item):
            '''Whether an item is short.'''
            return len(item) < LIMIT

        def windmill():
            return 'unrelated'
        //- tests/test_util.py
        from src.util import helper

        def test_helper():
            assert helper('a')
        //- README.md
        # Service

        The lighthouse retries every item.
        ",
    )
}
