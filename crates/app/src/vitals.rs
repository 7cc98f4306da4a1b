//! What the HTTP server tells operators of the roots: whether they can be searched yet, and the numbers behind
//! `/metrics`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use engine::{TenantFiles, Workspace};
use model::Usage;
use providers::meter::{CostEntry, CostLedger};

pub(crate) struct WorkspaceVitals {
    pub workspace: Arc<Workspace>,
    /// Where what was paid for is written down.
    pub costs: PathBuf,
    pub files: Option<Arc<TenantFiles>>,
}

impl dir2mcp_http::Vitals for WorkspaceVitals {
    fn is_ready(&self) -> bool {
        self.workspace.is_built()
    }

    fn metrics(&self) -> String {
        let mut page = self.workspace.metrics_page(env!("CARGO_PKG_VERSION"));
        // What cannot be read is left out; `dir2mcp costs` says why.
        page.push_str(&cost_rows(&CostLedger::read(&self.costs).unwrap_or_default()));
        page.extend(self.files.as_ref().map(|files| files.metrics_page()));
        page
    }
}

/// What was paid for, over all days: counters of a Prometheus server only grow.
fn cost_rows(entries: &[CostEntry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    type Amount = fn(&Usage) -> f64;
    let families: [(&str, &str, Amount); 6] = [
        ("calls", "Requests to paid providers.", |used| used.calls as f64),
        ("pages", "Pages that paid providers have read.", |used| used.pages as f64),
        ("audio_seconds", "Recordings that paid providers have transcribed.", |used| {
            used.audio_ms as f64 / 1000.0
        }),
        ("input_tokens", "Tokens sent to paid providers.", |used| used.tokens_in as f64),
        ("output_tokens", "Tokens written by paid providers.", |used| used.tokens_out as f64),
        ("characters", "Characters that paid providers have read aloud.", |used| used.characters as f64),
    ];
    let mut text = String::new();
    for (name, help, amount) in families {
        let name = format!("dir2mcp_provider_{name}_total");
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        let mut rows: Vec<(String, f64)> = Vec::new();
        for entry in entries {
            let labels = format!(
                "provider=\"{}\",model=\"{}\",capability=\"{}\"",
                escaped(&entry.provider),
                escaped(&entry.model),
                entry.capability.as_str()
            );
            let value = amount(&entry.used);
            match rows.iter_mut().find(|(known, _)| *known == labels) {
                Some((_, sum)) => *sum += value,
                None => rows.push((labels, value)),
            }
        }
        for (labels, value) in rows.iter().filter(|(_, value)| *value > 0.0) {
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use model::Capability;

    use super::*;

    #[test]
    fn what_was_paid_for_is_summed_over_days() {
        let entry = |day: &str, calls| CostEntry {
            day: day.into(),
            provider: "mistral".into(),
            model: "mistral-embed".into(),
            capability: Capability::Embed,
            used: Usage { calls, tokens_in: 10, ..Usage::default() },
        };
        let page = cost_rows(&[entry("2026-01-01", 2), entry("2026-01-02", 3)]);
        let labels = "{provider=\"mistral\",model=\"mistral-embed\",capability=\"embed\"}";
        for line in [
            "# TYPE dir2mcp_provider_calls_total counter".to_owned(),
            format!("dir2mcp_provider_calls_total{labels} 5"),
            format!("dir2mcp_provider_input_tokens_total{labels} 20"),
        ] {
            assert!(page.lines().any(|known| known == line), "{line} in {page}");
        }
        assert!(!page.contains("pages_total{"), "{page}");
        assert_eq!(cost_rows(&[]), "");
    }
}
