//! The alert rules and the dashboard of the file store: `promtool` accepts the rules and finds that they fire when they should, and
//! both name figures that there are.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::process::{exists, run, workspace};
use crate::tools;

pub(crate) fn check() -> Result<(), String> {
    if !exists("promtool") {
        tools::apt("prometheus")?;
    }
    let folder = workspace().join("docs/operations");
    run(Command::new("promtool").args(["check", "rules", "alerts.yml"]).current_dir(&folder))?;
    run(Command::new("promtool").args(["test", "rules", "alerts.test.yml"]).current_dir(&folder))?;

    let read =
        |path: &str| fs::read_to_string(workspace().join(path)).map_err(|error| format!("{path}: {error}"));
    let known = figures(&read("crates/filestore/src/metrics.rs")?);
    for page in ["docs/operations/alerts.yml", "docs/operations/dashboard.json", "docs/operations/README.md"]
    {
        let text = read(page)?;
        if page.ends_with(".json") {
            serde_json::from_str::<Value>(&text).map_err(|error| format!("{page}: {error}"))?;
        }
        let unknown: Vec<String> =
            figures(&text).into_iter().filter(|name| !is_known(&known, name)).collect();
        if !unknown.is_empty() {
            return Err(format!(
                "{page} names figures that the server does not have: {}",
                unknown.join(", ")
            ));
        }
    }
    Ok(())
}

/// All names that begin as the figures of the file store do.
fn figures(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    words.filter(|word| word.starts_with("mcp_files_") && !word.ends_with('_')).map(str::to_owned).collect()
}

/// Histograms are asked for by their parts.
fn is_known(known: &BTreeSet<String>, name: &str) -> bool {
    let parts = ["_bucket", "_sum", "_count"];
    known.contains(name)
        || parts.iter().any(|part| name.strip_suffix(part).is_some_and(|whole| known.contains(whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_and_parts_of_histograms_are_theirs() {
        let known = figures("page.histogram(\"mcp_files_lock_wait_ms\", mcp_files_queue)");
        assert_eq!(known.len(), 2);
        assert!(is_known(&known, "mcp_files_lock_wait_ms_bucket") && is_known(&known, "mcp_files_queue"));
        assert!(!is_known(&known, "mcp_files_other"));
    }
}
