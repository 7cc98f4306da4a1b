//! Line 162: file tools in a pipe.

use serde_json::json;

use super::Case;

pub(super) const SETTINGS: &str = "";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f162_answers_feed_the_next_steps", |t| {
            t.put("/a", "piped text");
            let done = t.client_call(
                "pipe",
                json!({ "steps": [
                { "tool": "file_read", "arguments": { "project": "p", "path": "/a" } },
                { "tool": "file_write", "arguments": { "project": "p", "path": "/b" },
                  "inputs": { "/content": { "step": 0, "pointer": "/content" } } },
                { "tool": "file_stat", "arguments": { "project": "p", "path": "/b" } },
            ] }),
            );
            assert_eq!(done["completed"], true, "{done}");
            assert_eq!(done["results"][2]["output"]["size"], 10, "{done}");
            assert_eq!(t.read("/b"), "piped text");
        }),
        Case::new("f162_a_failed_step_is_the_last", |t| {
            let done = t.client_call(
                "pipe",
                json!({ "steps": [
                { "tool": "file_write", "arguments": { "project": "p", "path": "/a", "content": "x" } },
                { "tool": "file_read", "arguments": { "project": "p", "path": "/nope" } },
                { "tool": "file_delete", "arguments": { "project": "p", "path": "/a" } },
            ] }),
            );
            assert_eq!(
                (&done["completed"], done["results"].as_array().map(Vec::len)),
                (&json!(false), Some(2))
            );
            assert_eq!(done["results"][1]["output"]["code"], "NOT_FOUND", "{done}");
            assert!(t.exists("/a"));
        }),
        Case::new("f012_f162_a_pipe_has_the_rights_of_its_caller", |t| {
            t.put("/a", "mine");
            let mut other = t.stranger();
            let done = other.client_call(
                "pipe",
                json!({ "steps": [
                { "tool": "file_read", "arguments": { "project": "p", "path": "/a" } },
            ] }),
            );
            assert_eq!(done["results"][0]["output"]["code"], "NOT_FOUND", "{done}");
        }),
        Case::new("f162_pipes_are_bounded", |t| {
            let step = json!({ "tool": "file_stat", "arguments": { "project": "p" } });
            let many = vec![step; 1000];
            let reply = t.raw_call("pipe", json!({ "steps": many }));
            assert!(reply.error_code() == Some(-32602), "{reply:?}");
            let nested =
                t.raw_call("pipe", json!({ "steps": [{ "tool": "pipe", "arguments": { "steps": [] } }] }));
            assert_eq!(nested.result()["isError"], true, "{nested:?}");
            let none = t.raw_call("pipe", json!({ "steps": [] }));
            assert_eq!(none.error_code(), Some(-32602), "{none:?}");
        }),
    ]
}
