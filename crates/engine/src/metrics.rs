//! What was called how often, how long it took, and how much is indexed: numbers for a Prometheus server, without a name
//! or a word from the files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::WallClock;

use crate::engine::Engine;

/// Upper ends of the ranges of call times, in seconds.
const RANGES: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// The calls of one process.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    calls: Mutex<BTreeMap<&'static str, ToolCounts>>,
}

/// The calls of one tool.
#[derive(Debug, Default, Clone)]
struct ToolCounts {
    /// By their end: `ok`, or the code of a failure.
    by_outcome: BTreeMap<&'static str, u64>,
    within: [u64; RANGES.len()],
    count: u64,
    seconds: f64,
}

impl Metrics {
    pub(crate) fn record(&self, tool: &'static str, outcome: &'static str, took: Duration) {
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = all.entry(tool).or_default();
        *calls.by_outcome.entry(outcome).or_default() += 1;
        let seconds = took.as_secs_f64();
        for (within, range) in calls.within.iter_mut().zip(RANGES) {
            *within += u64::from(seconds <= range);
        }
        calls.count += 1;
        calls.seconds += seconds;
    }
}

impl Metrics {
    /// The page that a Prometheus server reads, in the text format 0.0.4.
    pub(crate) fn page(&self, engines: &[Arc<Engine>], version: &str, clock: &dyn WallClock) -> String {
        let mut page = MetricsPage::default();
        page.family("dir2mcp_build_info", "gauge", "The version that runs.");
        page.row("dir2mcp_build_info", &[("version", version)], 1.0);
        if !engines.is_empty() {
            let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
            page.calls(&calls);
        }
        page.indices(engines);
        page.process(clock);
        page.text
    }
}

#[derive(Default)]
struct MetricsPage {
    text: String,
}

impl MetricsPage {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn row(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{open}{label}=\"{value}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    fn calls(&mut self, calls: &BTreeMap<&'static str, ToolCounts>) {
        let name = "dir2mcp_tool_calls_total";
        self.family(name, "counter", "Tool calls by tool and outcome (ok, or an error code).");
        for (tool, calls) in calls {
            for (outcome, count) in &calls.by_outcome {
                self.row(name, &[("tool", tool), ("outcome", outcome)], *count as f64);
            }
        }
        let name = "dir2mcp_tool_call_seconds";
        self.family(name, "histogram", "How long tool calls took.");
        for (tool, calls) in calls {
            let bucket = format!("{name}_bucket");
            for (within, range) in calls.within.iter().zip(RANGES) {
                self.row(&bucket, &[("tool", tool), ("le", &range.to_string())], *within as f64);
            }
            self.row(&bucket, &[("tool", tool), ("le", "+Inf")], calls.count as f64);
            self.row(&format!("{name}_sum"), &[("tool", tool)], calls.seconds);
            self.row(&format!("{name}_count"), &[("tool", tool)], calls.count as f64);
        }
    }

    /// Roots are shown by their number, never by their path.
    fn indices(&mut self, engines: &[Arc<Engine>]) {
        let counts: Vec<_> =
            engines.iter().map(|engine| engine.shared.index().counts().unwrap_or_default()).collect();
        self.family("dir2mcp_documents", "gauge", "Documents in the index, by root and status.");
        for (root, counts) in counts.iter().enumerate() {
            for (status, count) in &counts.by_status {
                let labels = [("root", root.to_string()), ("status", status.as_str().to_owned())];
                let labels = [(labels[0].0, labels[0].1.as_str()), (labels[1].0, labels[1].1.as_str())];
                self.row("dir2mcp_documents", &labels, *count as f64);
            }
        }
        self.family("dir2mcp_chunks", "gauge", "Searchable passages, by root.");
        for (root, counts) in counts.iter().enumerate() {
            self.row("dir2mcp_chunks", &[("root", &root.to_string())], counts.chunks as f64);
        }
        self.family(
            "dir2mcp_indexing_running",
            "gauge",
            "1 while a pass over the root's files is under way.",
        );
        for (root, engine) in engines.iter().enumerate() {
            let running = u8::from(engine.progress().running);
            self.row("dir2mcp_indexing_running", &[("root", &root.to_string())], running.into());
        }
    }

    #[allow(clippy::disallowed_methods, reason = "what the kernel says of this process, not a user's file")]
    fn process(&mut self, clock: &dyn WallClock) {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = resident.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
        if let Some(kilobytes) = kilobytes {
            let name = "process_resident_memory_bytes";
            self.family(name, "gauge", "Memory of this process.");
            self.row(name, &[], kilobytes * 1024.0);
        }
        let name = "dir2mcp_time_seconds";
        self.family(name, "gauge", "The clock of this process, in seconds since 1970.");
        self.row(name, &[], clock.since_1970().as_secs_f64().floor());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s039_calls_in_the_text_format() {
        let metrics = Metrics::default();
        metrics.record("searchFiles", "ok", Duration::from_millis(3));
        metrics.record("searchFiles", "FORBIDDEN", Duration::from_secs(60));
        let mut page = MetricsPage::default();
        page.calls(&metrics.calls.lock().unwrap());
        for line in [
            "# TYPE dir2mcp_tool_calls_total counter",
            "dir2mcp_tool_calls_total{tool=\"searchFiles\",outcome=\"FORBIDDEN\"} 1",
            "dir2mcp_tool_calls_total{tool=\"searchFiles\",outcome=\"ok\"} 1",
            "dir2mcp_tool_call_seconds_bucket{tool=\"searchFiles\",le=\"0.005\"} 1",
            "dir2mcp_tool_call_seconds_bucket{tool=\"searchFiles\",le=\"+Inf\"} 2",
            "dir2mcp_tool_call_seconds_sum{tool=\"searchFiles\"} 60.003",
        ] {
            assert!(page.text.lines().any(|known| known == line), "{line} in {}", page.text);
        }
    }
}
