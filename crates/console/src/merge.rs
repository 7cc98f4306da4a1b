//! Three versions of a text become one, or the places where a person has to choose.
//!
//! The differences are found by `similar`; its own merge has no deadline, and texts that differ in every line take it minutes. So the
//! regions are put together here from two comparisons that end in time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dir2mcp_http::Refusal;
use http::Request;
use model::{ErrorCode, Failure};
use serde::Deserialize;
use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::ConsoleParts;
use crate::answer::{answered, refused};

/// The longest text of the three.
pub(crate) const MAX_TEXT_BYTES: usize = 1 << 20;

/// Three texts as JSON, where some characters take six bytes.
pub(crate) const MAX_BODY_BYTES: usize = 3 * 2 * MAX_TEXT_BYTES + 1024;

/// After this, what was not compared yet counts as different.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MergeRequest {
    base: Option<String>,
    theirs: String,
    mine: String,
}

/// A stretch of lines, and who changed it.
#[derive(Debug, PartialEq, Eq)]
struct Hunk<'t> {
    kind: HunkKind,
    base: &'t [&'t str],
    theirs: &'t [&'t str],
    mine: &'t [&'t str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HunkKind {
    Same,
    /// Only mine differs from the base.
    Mine,
    Theirs,
    /// Both made the same change.
    Both,
    Conflict,
}

pub(crate) async fn serve(State(_): State<Arc<ConsoleParts>>, request: Request<Body>) -> Response {
    let Ok(body) = to_bytes(request.into_body(), usize::MAX).await else {
        return Refusal::body_broken().into_response();
    };
    let merged = tokio::task::spawn_blocking(move || merge(&body)).await;
    answered(
        merged.unwrap_or_else(|_| Err(Failure::new(ErrorCode::InternalError, "the texts cannot be merged"))),
    )
}

fn merge(body: &[u8]) -> Result<Value, Failure> {
    let request: MergeRequest = serde_json::from_slice(body)
        .map_err(|_| refused("the body must be {\"base\": …, \"theirs\": …, \"mine\": …}"))?;
    let texts = [request.base.as_deref().unwrap_or_default(), &request.theirs, &request.mine];
    if texts.iter().any(|text| text.len() > MAX_TEXT_BYTES) {
        let message = format!("a text has more than {MAX_TEXT_BYTES} bytes");
        return Err(Failure::new(ErrorCode::FileTooLarge, message));
    }
    let [base, theirs, mine] = texts.map(lines);
    let hunks = match request.base {
        Some(_) => three_way(&base, &theirs, &mine, PATIENCE),
        None => two_way(&theirs, &mine, PATIENCE),
    };
    let conflicts = hunks.iter().filter(|hunk| hunk.kind == HunkKind::Conflict).count();
    let ends = |text: &str| text.is_empty() || text.ends_with('\n');
    let merged = (conflicts == 0).then(|| {
        let taken: Vec<&str> = hunks.iter().flat_map(Hunk::taken).copied().collect();
        let mut text = taken.join("\n");
        // The end follows whoever changed it.
        let end = match request.base.as_deref().map(ends) {
            Some(base) if base == ends(&request.mine) => ends(&request.theirs),
            _ => ends(&request.mine),
        };
        if end && !taken.is_empty() {
            text.push('\n');
        }
        text
    });
    Ok(json!({
        "clean": conflicts == 0,
        "conflicts": conflicts,
        "merged": merged,
        "final_newline": { "theirs": ends(&request.theirs), "mine": ends(&request.mine) },
        "hunks": hunks.iter().map(Hunk::json).collect::<Vec<Value>>(),
    }))
}

fn lines(text: &str) -> Vec<&str> {
    match text.strip_suffix('\n').unwrap_or(text) {
        "" if text.is_empty() => Vec::new(),
        body => body.split('\n').collect(),
    }
}

impl Hunk<'_> {
    /// The lines of the merged text.
    fn taken(&self) -> &[&str] {
        match self.kind {
            HunkKind::Theirs => self.theirs,
            _ => self.mine,
        }
    }

    fn json(&self) -> Value {
        let kind = match self.kind {
            HunkKind::Same => return json!({ "kind": "same", "lines": self.mine }),
            HunkKind::Mine => "mine",
            HunkKind::Theirs => "theirs",
            HunkKind::Both => "both",
            HunkKind::Conflict => "conflict",
        };
        json!({ "kind": kind, "base": self.base, "theirs": self.theirs, "mine": self.mine })
    }
}

/// For each line of `from` the line of `to` that is the same one, if there is one.
fn matches(from: &[&str], to: &[&str], patience: Duration) -> Vec<Option<usize>> {
    let mut found = vec![None; from.len()];
    let deadline = Some(Instant::now() + patience);
    for op in capture_diff_slices_deadline(Algorithm::Patience, from, to, deadline) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for at in 0..len {
                found[old_index + at] = Some(new_index + at);
            }
        }
    }
    found
}

fn three_way<'t>(
    base: &'t [&'t str],
    theirs: &'t [&'t str],
    mine: &'t [&'t str],
    patience: Duration,
) -> Vec<Hunk<'t>> {
    let (in_theirs, in_mine) = (matches(base, theirs, patience), matches(base, mine, patience));
    let mut hunks = Vec::new();
    let (mut b, mut t, mut m) = (0, 0, 0);
    loop {
        let stable = (b..base.len())
            .take_while(|at| in_theirs[*at] == Some(t + at - b) && in_mine[*at] == Some(m + at - b))
            .count();
        if stable > 0 {
            let same = &mine[m..m + stable];
            hunks.push(Hunk { kind: HunkKind::Same, base: same, theirs: same, mine: same });
            (b, t, m) = (b + stable, t + stable, m + stable);
        }
        if b == base.len() && t == theirs.len() && m == mine.len() {
            return hunks;
        }
        // Up to the next line that all three have.
        let next = (b..base.len()).find_map(|at| Some((at, in_theirs[at]?, in_mine[at]?)));
        let (next_b, next_t, next_m) = next.unwrap_or((base.len(), theirs.len(), mine.len()));
        let (was, other, own) = (&base[b..next_b], &theirs[t..next_t], &mine[m..next_m]);
        let kind = match () {
            () if other == own => HunkKind::Both,
            () if was == other => HunkKind::Mine,
            () if was == own => HunkKind::Theirs,
            () => HunkKind::Conflict,
        };
        hunks.push(Hunk { kind, base: was, theirs: other, mine: own });
        (b, t, m) = (next_b, next_t, next_m);
    }
}

/// Without a base every difference is for a person to decide.
fn two_way<'t>(theirs: &'t [&'t str], mine: &'t [&'t str], patience: Duration) -> Vec<Hunk<'t>> {
    let in_mine = matches(theirs, mine, patience);
    let mut hunks = Vec::new();
    let (mut t, mut m) = (0, 0);
    loop {
        let stable = (t..theirs.len()).take_while(|at| in_mine[*at] == Some(m + at - t)).count();
        if stable > 0 {
            let same = &mine[m..m + stable];
            hunks.push(Hunk { kind: HunkKind::Same, base: same, theirs: same, mine: same });
            (t, m) = (t + stable, m + stable);
        }
        if t == theirs.len() && m == mine.len() {
            return hunks;
        }
        let next = (t..theirs.len()).find_map(|at| Some((at, in_mine[at]?)));
        let (next_t, next_m) = next.unwrap_or((theirs.len(), mine.len()));
        let (other, own) = (&theirs[t..next_t], &mine[m..next_m]);
        hunks.push(Hunk { kind: HunkKind::Conflict, base: &[], theirs: other, mine: own });
        (t, m) = (next_t, next_m);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(base: Option<&str>, theirs: &str, mine: &str) -> Value {
        merge(json!({ "base": base, "theirs": theirs, "mine": mine }).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn changes_in_different_places_are_merged() {
        let merged = asked(Some("a\nb\nc\nd\n"), "A\nb\nc\nd\n", "a\nb\nc\nD\ne\n");
        assert_eq!((&merged["clean"], &merged["merged"]), (&json!(true), &json!("A\nb\nc\nD\ne\n")));
        let kinds: Vec<&str> =
            merged["hunks"].as_array().unwrap().iter().filter_map(|hunk| hunk["kind"].as_str()).collect();
        assert_eq!(kinds, ["theirs", "same", "mine"]);
    }

    #[test]
    fn changes_in_one_place_are_a_conflict() {
        let merged = asked(Some("a\nb\nc\n"), "a\nX\nc\n", "a\nY\nc\n");
        assert_eq!(
            (&merged["clean"], &merged["conflicts"], &merged["merged"]),
            (&json!(false), &json!(1), &Value::Null)
        );
        assert_eq!(
            merged["hunks"][1],
            json!({ "kind": "conflict", "base": ["b"], "theirs": ["X"], "mine": ["Y"] })
        );
        assert_eq!(asked(Some("a\n"), "b\n", "b\n")["hunks"][0]["kind"], "both");
    }

    #[test]
    fn without_a_base_differences_are_conflicts() {
        let merged = asked(None, "a\nb\n", "a\nc\n");
        assert_eq!(merged["conflicts"], 1);
        assert_eq!(
            merged["hunks"][1],
            json!({ "kind": "conflict", "base": [], "theirs": ["b"], "mine": ["c"] })
        );
        assert_eq!(asked(None, "", "")["merged"], "");
    }

    #[test]
    fn the_end_of_the_file_is_kept() {
        assert_eq!(asked(Some("a\n"), "a\n", "a")["merged"], "a");
        assert_eq!(asked(Some("a\n"), "a", "a\n")["merged"], "a");
        assert_eq!(asked(Some("a"), "a", "a\n")["merged"], "a\n");
    }

    #[test]
    fn texts_without_a_common_line_end_in_time() {
        let text = |word: &str| (0..100_000).map(|n| format!("{word}{n}\n")).collect::<String>();
        let started = Instant::now();
        let merged = asked(Some(&text("a")), &text("b"), &text("c"));
        assert_eq!(merged["conflicts"], 1);
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert!(merge(br#"{"theirs":1}"#).is_err());
    }

    proptest! {
        /// Nothing of either side is lost, whatever the texts are.
        #[test]
        fn hunks_hold_all_lines(base in "[ab\n]{0,30}", theirs in "[ab\n]{0,30}", mine in "[ab\n]{0,30}") {
            let texts = [lines(&base), lines(&theirs), lines(&mine)];
            let hunks = three_way(&texts[0], &texts[1], &texts[2], PATIENCE);
            let all = |side: fn(&Hunk<'_>) -> Vec<String>| hunks.iter().flat_map(side).collect::<Vec<_>>();
            let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
            prop_assert_eq!(all(|hunk| hunk.theirs.iter().map(|line| (*line).to_owned()).collect()), owned(&texts[1]));
            prop_assert_eq!(all(|hunk| hunk.mine.iter().map(|line| (*line).to_owned()).collect()), owned(&texts[2]));
            prop_assert_eq!(all(|hunk| hunk.base.iter().map(|line| (*line).to_owned()).collect()), owned(&texts[0]));
        }

        /// Who changes nothing gets the other's text.
        #[test]
        fn an_unchanged_side_changes_nothing(base in "[ab\n]{0,30}", other in "[ab\n]{0,30}") {
            prop_assert_eq!(&asked(Some(&base), &other, &base)["merged"], &json!(other));
            prop_assert_eq!(&asked(Some(&base), &base, &other)["merged"], &json!(other));
        }
    }
}
