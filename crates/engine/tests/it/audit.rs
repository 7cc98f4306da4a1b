//! Every call is counted and leaves one line, however it ends.

use std::sync::Arc;

use engine::{AuditNote, AuditTrail, AuditVerdict, AuditWait, Call, Workspace};
use model::{ErrorCode, Failure, PriceClass};
use serde_json::{Map, Value, json};
use testkit::Folder;

use crate::world::open;

struct Book {
    folder: Folder,
    workspace: Workspace,
    trail: AuditTrail,
}

fn book(wait: AuditWait) -> Book {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n");
    let engine = Arc::new(open(folder.path(), &folder.state()));
    let workspace = Workspace::new(Arc::clone(&engine), Vec::new());
    let log = workspace.audit_log(&folder.state(), engine.redactor());
    Book { folder, workspace, trail: AuditTrail { log, wait, names_caller: true, names_price: true } }
}

impl Book {
    async fn enter(&self, work: impl Future<Output = Result<(), Failure>>) {
        let call = Call::cli("test.call");
        let metadata = json!({ "k": 3 }).as_object().cloned().unwrap();
        let note = AuditNote { request_id: "7".into(), price_class: PriceClass::Standard, metadata };
        let word = |outcome: Result<(), Failure>| {
            let error_code = outcome.err().map(|failure| failure.code.as_str().to_owned());
            ((), AuditVerdict { error_code, is_blocked: false, metadata: Map::new() })
        };
        self.workspace.calls().run(&call, &self.trail, note, work, word).await;
    }

    fn lines(&self) -> Vec<Value> {
        let text = self.folder.read(".dir2mcp/audit.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How often the outcome was counted.
    fn counted(&self, outcome: &str) -> usize {
        let row = format!("dir2mcp_tool_calls_total{{tool=\"test.call\",outcome=\"{outcome}\"}} ");
        let page = self.workspace.metrics_page("0");
        page.lines().find_map(|line| line.strip_prefix(&row)).map_or(0, |count| count.parse().unwrap())
    }
}

#[tokio::test]
async fn a_call_that_was_answered_has_its_line() {
    let book = book(AuditWait::Written);
    book.enter(async { Ok(()) }).await;
    book.enter(async { Err(Failure::new(ErrorCode::FileNotFound, "no such file")) }).await;
    let lines = book.lines();
    assert_eq!(lines.len(), 2);
    let mut first = lines[0].clone();
    assert!(first["duration_ms"].as_u64().is_some());
    first["duration_ms"] = json!(0);
    assert_eq!(
        first.to_string(),
        r#"{"timestamp":"2026-03-01T12:00:00.000Z","request_id":"7","tool":"test.call","ok":true,"blocked":false,"error_code":null,"duration_ms":0,"caller":"cli","price_class":"standard","metadata":{"k":3}}"#
    );
    assert_eq!((&lines[1]["ok"], &lines[1]["error_code"]), (&json!(false), &json!("FILE_NOT_FOUND")));
    assert_eq!((book.counted("ok"), book.counted("FILE_NOT_FOUND")), (1, 1));
}

#[tokio::test]
async fn a_call_whose_client_is_gone_is_recorded_as_cancelled() {
    let book = book(AuditWait::Queued);
    tokio::select! {
        biased;
        () = book.enter(std::future::pending()) => unreachable!("it has no end"),
        () = async {} => {}
    }
    book.workspace.shutdown();
    assert_eq!(book.lines()[0]["error_code"], "CANCELLED");
    assert_eq!(book.counted("CANCELLED"), 1);
}

#[tokio::test]
async fn nothing_that_was_queued_is_lost_at_shutdown() {
    let book = book(AuditWait::Queued);
    for _ in 0..3000 {
        book.enter(async { Ok(()) }).await;
    }
    book.workspace.shutdown();
    assert_eq!(book.lines().len(), 3000);
}
