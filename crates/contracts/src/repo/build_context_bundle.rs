//! `repo.build_context_bundle`: the lines a task needs, with citations and reasons (repo specification, section 11.7).

use std::sync::Arc;
use std::time::Duration;

use engine::{Bundle, BundleRequest, BundleSelection, BundleSkipped, BundleTask, KeepBundle};
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::schema::not_blank;
use super::search::{MODES, retrieval, rounded};
use super::{RepoContext, RepoLimits, incomplete, output};
use crate::arguments::{typed, whole};
use crate::text::visible;
use crate::tool::{Invocation, ToolOutput, ToolSpec};
use crate::way_out::visible_value;

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.build_context_bundle",
    title: "Build a context bundle",
    description: "For a task in plain words: the excerpts of the repository that it needs, aligned to whole functions and \
                  classes, within a budget of files and lines, each with a citation and the reason why it was chosen. No \
                  model; the same task over the same files gives the same bundle.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(120),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

const DEFAULT_FILES: u32 = 8;
const DEFAULT_LINES: u64 = 400;
const MAX_LINES: u64 = 20_000;

/// Candidates left out that are shown.
const MAX_SKIPPED: usize = 20;

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "prompt": { "type": "string", "minLength": 1, "description": "The task, in plain words or with names from the code." },
            "budget": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "max_files": { "type": "integer", "minimum": 1, "default": DEFAULT_FILES },
                    "max_total_lines": { "type": "integer", "minimum": 1, "default": DEFAULT_LINES }
                }
            },
            "strategy": { "type": "string", "enum": ["hybrid"], "default": "hybrid", "description": "Words and symbols." },
            "retrieval_mode": {
                "type": "string",
                "enum": MODES,
                "default": "bm25",
                "description": "hybrid and semantic must be switched on by the operator."
            },
            "include_tests": {
                "type": "boolean",
                "description": "Whether tests may be chosen; unless given, when the prompt speaks of tests."
            }
        },
        "required": ["prompt"]
    })
}

fn schema() -> Value {
    let excerpt = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string" },
            "start_line": { "type": "integer" },
            "end_line": { "type": "integer" },
            "excerpt": { "type": "string" },
            "rationale": { "type": "string" },
            "why_selected": { "type": "object" },
            "score": { "type": "number" },
            "source_query": { "type": "string" }
        },
        "required": ["path", "start_line", "end_line", "excerpt", "rationale", "why_selected", "score", "source_query"]
    });
    json!({
        "type": "object",
        "properties": {
            "bundle_id": { "type": "string" },
            "prompt_fingerprint": { "type": "string" },
            "strategy": { "type": "string" },
            "retrieval_mode": { "type": "string" },
            "selections": { "type": "array", "items": excerpt },
            "citations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "selection_index": { "type": "integer" },
                        "path": { "type": "string" },
                        "start_line": { "type": "integer" },
                        "end_line": { "type": "integer" }
                    },
                    "required": ["selection_index", "path", "start_line", "end_line"]
                }
            },
            "totals": {
                "type": "object",
                "properties": {
                    "selected_files": { "type": "integer" },
                    "selected_lines": { "type": "integer" },
                    "truncated": { "type": "boolean" }
                },
                "required": ["selected_files", "selected_lines", "truncated"]
            },
            "why_not_selected": { "type": "object" },
            "audit": { "type": "object" }
        },
        "required": [
            "bundle_id", "prompt_fingerprint", "strategy", "selections", "citations", "totals", "why_not_selected", "audit"
        ]
    })
}

/// The arguments of a bundle, from a call or the command line.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleArguments {
    pub prompt: String,
    #[serde(default)]
    pub budget: BundleBudget,
    pub strategy: Option<String>,
    pub retrieval_mode: Option<String>,
    pub include_tests: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleBudget {
    #[serde(default, deserialize_with = "whole")]
    pub max_files: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    pub max_total_lines: Option<u64>,
}

impl BundleArguments {
    /// The request for the engine, which keeps nothing; more files than the limit are refused, never cut.
    pub fn request(&self, limits: &RepoLimits) -> Result<BundleRequest, Failure> {
        let most = u64::from(limits.max_bundle_files);
        let files = self.budget.max_files.unwrap_or(u64::from(DEFAULT_FILES.min(limits.max_bundle_files)));
        if files > most {
            let message = format!("budget.max_files {files} exceeds max_bundle_files ({most})");
            return Err(Failure::new(ErrorCode::LimitExceeded, message).hint(format!("Use at most {most}.")));
        }
        let task = BundleTask {
            prompt: not_blank(self.prompt.clone(), "prompt")?,
            max_files: files as usize,
            max_lines: self.budget.max_total_lines.unwrap_or(DEFAULT_LINES).min(MAX_LINES) as usize,
            include_tests: self.include_tests,
            hits: limits.max_search_hits as usize,
        };
        Ok(BundleRequest { task, retrieval: retrieval(self.mode()), keep: None })
    }

    fn mode(&self) -> &str {
        self.retrieval_mode.as_deref().unwrap_or(MODES[0])
    }
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: BundleArguments = typed(invocation.arguments)?;
    let mut request = arguments.request(&context.limits)?;
    context.permitted(request.retrieval)?;
    let kept = arguments.clone();
    let render = move |bundle: &Bundle| {
        let json =
            serde_json::to_string_pretty(&visible_value(&bundle_json(&kept, bundle))).unwrap_or_default();
        (json, visible(&bundle_markdown(&kept.prompt, bundle)))
    };
    request.keep = Some(KeepBundle { dir: context.config.data_dir.clone(), render: Box::new(render) });
    let answer = context.engine.bundle(&invocation.call, &context.config.view, request).await?;
    let mut warnings = incomplete(answer.is_complete);
    if let Some(error) = answer.not_kept {
        warnings.push(format!("last_bundle.json and last_bundle.md could not be written: {error}"));
    }
    Ok(output(bundle_json(&arguments, &answer.bundle), warnings))
}

/// The bundle as the tool answers it.
pub fn bundle_json(arguments: &BundleArguments, bundle: &Bundle) -> Value {
    let selections: Vec<Value> = bundle.selections.iter().map(selection_json).collect();
    let citations: Vec<Value> = bundle
        .selections
        .iter()
        .enumerate()
        .map(|(at, selection)| {
            json!({
                "selection_index": at,
                "path": selection.path,
                "start_line": selection.start_line,
                "end_line": selection.end_line,
            })
        })
        .collect();
    let fingerprint = hex(&Sha256::digest(arguments.prompt.as_bytes()));
    let totals = json!({
        "selected_files": bundle.files(),
        "selected_lines": bundle.lines(),
        "truncated": !bundle.skipped.is_empty(),
    });
    // The same selections for the same prompt are the same bundle, whatever was searched on the way.
    let identity = json!({ "prompt_fingerprint": fingerprint, "selections": selections, "totals": totals });
    json!({
        "bundle_id": hex(&Sha256::digest(identity.to_string().as_bytes())),
        "prompt_fingerprint": fingerprint,
        "strategy": "hybrid",
        "retrieval_mode": arguments.mode(),
        "selections": selections,
        "citations": citations,
        "totals": totals,
        "why_not_selected": why_not(bundle),
        "audit": {
            "search_queries": bundle.queries,
            "dedupe_counts": { "before": bundle.found, "after": bundle.distinct },
            "budget_enforcement": bundle.skipped.iter().take(MAX_SKIPPED).map(note).collect::<Vec<_>>(),
        },
    })
}

fn selection_json(selection: &BundleSelection) -> Value {
    let why = &selection.why;
    let symbols: Vec<Value> =
        why.symbols.iter().map(|(kind, name)| json!({ "kind": kind, "name": name })).collect();
    json!({
        "path": selection.path,
        "start_line": selection.start_line,
        "end_line": selection.end_line,
        "excerpt": selection.excerpt,
        "rationale": why.rationale(),
        "why_selected": {
            "matched_terms": why.matched_terms,
            "definition_match": !why.defines.is_empty(),
            "defines": why.defines,
            "symbols": symbols,
            "is_part": why.is_part,
            "whole_file": why.whole_file,
        },
        "score": rounded(selection.score),
        "source_query": selection.source_query,
    })
}

fn why_not(bundle: &Bundle) -> Value {
    let skipped = &bundle.skipped;
    let count = |reason: &str| skipped.iter().filter(|each| each.reason.as_str() == reason).count();
    let top: Vec<Value> = skipped
        .iter()
        .take(MAX_SKIPPED)
        .map(|each| {
            json!({
                "path": each.path,
                "start_line": each.start_line,
                "end_line": each.end_line,
                "reason": each.reason.as_str(),
                "score": rounded(each.score),
            })
        })
        .collect();
    json!({
        "total_skipped_candidates": skipped.len() + bundle.weak,
        "reason_counts": {
            "file_budget": count("file_budget"),
            "line_budget": count("line_budget"),
            "zero_lines": count("zero_lines"),
            "other": bundle.weak,
        },
        "top_skipped": top,
    })
}

fn note(skipped: &BundleSkipped) -> String {
    let BundleSkipped { reason, path, start_line, end_line, .. } = skipped;
    format!("skipped_{}:{path}:{start_line}-{end_line}", reason.as_str())
}

/// The bundle as a page that a person can paste.
pub fn bundle_markdown(prompt: &str, bundle: &Bundle) -> String {
    let (files, lines) = (bundle.files(), bundle.lines());
    let mut page = format!("# Context bundle\n\n{}\n\n", quoted(prompt));
    page.push_str(&format!(
        "{files} file{}, {lines} line{}.\n",
        if files == 1 { "" } else { "s" },
        if lines == 1 { "" } else { "s" }
    ));
    for selection in &bundle.selections {
        let BundleSelection { path, start_line, end_line, excerpt, why, .. } = selection;
        let fence = fence(excerpt);
        let language = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let language = if language.bytes().all(|byte| byte.is_ascii_alphanumeric()) { language } else { "" };
        page.push_str(&format!(
            "\n## {}:{start_line}-{end_line}\n\n{}\n\n{fence}{language}\n{excerpt}\n{fence}\n",
            visible(path).replace('\n', " "),
            visible(&why.rationale()),
        ));
    }
    if bundle.selections.is_empty() {
        page.push_str("\nNothing in the repository matches.\n");
    }
    if !bundle.skipped.is_empty() {
        page.push_str("\n## Left out\n\n");
        for skipped in bundle.skipped.iter().take(MAX_SKIPPED) {
            let BundleSkipped { reason, path, start_line, end_line, .. } = skipped;
            let path = visible(path).replace('\n', " ");
            page.push_str(&format!("- {path}:{start_line}-{end_line} ({})\n", reason.as_str()));
        }
    }
    page
}

fn quoted(prompt: &str) -> String {
    visible(prompt.trim()).lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// Longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_hold_what_they_surround() {
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("a ```` b"), "`````");
    }

    #[test]
    fn c44_more_files_than_the_limit_are_refused() {
        let mut arguments = BundleArguments { prompt: "x".into(), ..BundleArguments::default() };
        arguments.budget.max_files = Some(21);
        let refused = arguments.request(&RepoLimits::default()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::LimitExceeded);
        assert!(refused.message.contains("max_bundle_files"));
    }
}
