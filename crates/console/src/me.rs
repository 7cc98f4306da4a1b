//! Who the caller is to this server, and what it is served: what the page shows depends on it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::request::Parts;
use serde_json::{Value, json};

use crate::answer::json_response;
use crate::source::{Asker, root_name};
use crate::view::{MAX_LINES, MAX_TEXT_BYTES};
use crate::{ConsoleParts, UPLOAD_BYTES, merge, raw};

/// Larger files are not edited in a page.
pub(crate) const EDIT_BYTES: u64 = 1 << 20;

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Parts) -> Response {
    let asker = Asker::of(&request.extensions);
    let roots: Vec<Value> = match asker.is_guest {
        true => Vec::new(),
        false => {
            let root = |(number, engine): (usize, &Arc<engine::Engine>)| {
                let path = engine.root();
                let name = path.file_name().map_or("/".into(), |name| name.to_string_lossy());
                json!({ "source": root_name(number), "name": name, "path": path.to_string_lossy(), "read_only": true })
            };
            state.workspace.engines().iter().enumerate().map(root).collect()
        }
    };
    let contracts: Vec<Value> = state
        .contracts
        .iter()
        .filter(|contract| !asker.is_guest || contract.name == "files")
        .map(|contract| json!({ "name": contract.name, "path": contract.path, "chosen": contract.is_chosen }))
        .collect();
    let identity = asker.caller.identity.as_ref().map(|identity| identity.as_str().to_owned());
    json_response(json!({
        "version": state.version,
        "instance": state.live.instance(),
        "caller": identity,
        "auth": if state.token.is_some() { "bearer" } else { "none" },
        "guest": asker.is_guest,
        "mcp": { "path": state.mcp_path, "contracts": contracts },
        "roots": roots,
        "store": store(&state, &asker),
        "chat": state.chat.as_ref().map(|(provider, model)| json!({ "provider": provider, "model": model })),
        "limits": {
            "view_lines": MAX_LINES,
            "view_bytes": MAX_TEXT_BYTES,
            "colour_bytes": engine::MAX_COLOURED_BYTES,
            "raw_bytes": raw::MAX_BYTES,
            "edit_bytes": EDIT_BYTES,
            "merge_bytes": merge::MAX_TEXT_BYTES,
        },
    }))
}

/// What the caller may do in the store; nothing where it has no files there.
fn store(state: &ConsoleParts, asker: &Asker) -> Value {
    match (&state.files, asker.caller.tenant) {
        (Some(files), Some(_)) => {
            let limits = &files.config().limits;
            json!({
                "writable": true,
                "max_file_bytes": limits.max_file_bytes,
                "upload_bytes": limits.max_payload_bytes.min(limits.max_file_bytes).min(UPLOAD_BYTES as u64),
                "projects_path": "/api/files/projects",
            })
        }
        _ => Value::Null,
    }
}
