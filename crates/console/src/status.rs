//! How the server is: what is indexed and what is not, how fast, by whom it is asked, and with which models.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use engine::{CountedReason, Engine};
use http::request::Parts;
use model::{Failure, SkipReason};
use serde_json::{Value, json};

use crate::ConsoleParts;
use crate::answer::{answered, call, time_text};
use crate::live::{RANGES_MS, ToolTimes};
use crate::source::{Asker, root_name};

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Parts) -> Response {
    answered(status(&state, &Asker::of(&request.extensions)).await)
}

async fn status(state: &ConsoleParts, asker: &Asker) -> Result<Value, Failure> {
    let live = &state.live;
    let mut roots = Vec::new();
    for (number, engine) in state.workspace.engines().iter().enumerate() {
        roots.push(root(state, asker, number, engine).await?);
    }
    let uptime = live.uptime().as_secs();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let started = now.map_or(0, |now| now.as_secs().saturating_sub(uptime)) as i64;
    let models: Vec<Value> = state
        .models
        .iter()
        .map(|model| {
            json!({
                "capability": model.capability,
                "provider": model.provider,
                "model": model.model,
                "state": if model.provider.is_some() { "ready" } else { "off" },
                "detail": model.detail,
            })
        })
        .collect();
    Ok(json!({
        "instance": live.instance(),
        "version": state.version,
        "pid": std::process::id(),
        "started_at": time_text(started),
        "uptime_s": uptime,
        "memory_bytes": memory(),
        "roots": roots,
        "indexing_rate": live.indexing_rate(),
        "tools": live.tool_times().iter().map(tool).collect::<Vec<Value>>(),
        "recent_calls": live.recent_calls(),
        "models": models,
        "sessions": (state.sessions)(),
        "streams": live.streams(),
    }))
}

async fn root(state: &ConsoleParts, asker: &Asker, number: usize, engine: &Engine) -> Result<Value, Failure> {
    let call = call(asker.caller.clone());
    let counted = engine.count_documents(&call).await?;
    let stats = engine.stats(&call).await?;
    let progress = &stats.indexing;
    let holder = engine.held_by();
    let ignored: Vec<Value> = progress
        .ignored
        .iter()
        .map(|one| json!({ "rule": one.rule.to_string(), "files": one.files, "folders": one.folders }))
        .collect();
    let documents: Vec<Value> = counted
        .by_type
        .iter()
        .map(|(doc_type, status, count)| {
            json!({ "doc_type": doc_type.as_str(), "status": status.as_str(), "count": count })
        })
        .collect();
    Ok(json!({
        "source": root_name(number),
        "path": stats.root,
        "state_dir": stats.state_dir,
        "writer": { "here": holder.is_none(), "who": holder },
        "built": engine.is_built(),
        "damage": engine.damage(),
        "progress": state.live.progress_json(progress),
        "documents": documents,
        "reasons": counted.reasons.iter().map(reason).collect::<Vec<Value>>(),
        "ignored": ignored,
        "notes": progress.notes,
    }))
}

fn reason(reason: &CountedReason) -> Value {
    let (label, remedy) = match reason.label.split_once("; ") {
        Some((label, remedy)) => (label, Some(remedy)),
        None => (reason.label.as_str(), None),
    };
    let secret = SkipReason::Secret { rule: String::new(), line: 1 };
    let is_secret = reason.code == secret.code() && label.starts_with("secret rule");
    let remedy = remedy
        .or_else(|| is_secret.then_some("if it is no secret, name the path or the line in security.allow"));
    json!({ "code": reason.code.as_str(), "label": label, "count": reason.count, "remedy": remedy })
}

fn tool(tool: &ToolTimes) -> Value {
    let mut counts = [0usize; RANGES_MS.len() + 1];
    for time in &tool.times {
        let range = RANGES_MS.iter().position(|most| *time <= *most as f64).unwrap_or(RANGES_MS.len());
        counts[range] += 1;
    }
    let ends = RANGES_MS.iter().map(|most| json!(most)).chain([Value::Null]);
    let buckets: Vec<Value> =
        ends.zip(counts).map(|(most, count)| json!({ "le_ms": most, "count": count })).collect();
    json!({
        "tool": tool.tool,
        "calls": tool.times.len(),
        "errors": tool.errors,
        "p50_ms": share(&tool.times, 0.5),
        "p95_ms": share(&tool.times, 0.95),
        "buckets": buckets,
    })
}

/// The time within which this share of the calls ended.
fn share(times: &[f64], share: f64) -> Option<f64> {
    let at = ((times.len() as f64 * share).ceil() as usize).saturating_sub(1);
    times.get(at).map(|time| (time * 10.0).round() / 10.0)
}

#[allow(clippy::disallowed_methods, reason = "what the kernel says of this process, not a user's file")]
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(resident.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_ranges_and_shares() {
        let shown = tool(&ToolTimes { tool: "t", errors: 1, times: vec![0.5, 2.0, 3.0, 9000.0] });
        assert_eq!(shown["buckets"][0], json!({ "le_ms": 1, "count": 1 }));
        assert_eq!(shown["buckets"][1], json!({ "le_ms": 5, "count": 2 }));
        assert_eq!(shown["buckets"][9], json!({ "le_ms": null, "count": 1 }));
        assert_eq!((&shown["p50_ms"], &shown["p95_ms"]), (&json!(2.0), &json!(9000.0)));
        assert_eq!(share(&[], 0.5), None);
    }
}
