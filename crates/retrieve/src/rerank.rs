//! Orders the best passages again, by a model that reads each of them beside the question.
//!
//! The model always judges the same number of passages, so the first `k` hits do not change when a caller asks for more.
//! Judged passages swap places and each place keeps its score: scores still fall from first to last, and passages that
//! were not judged stay behind those that were.

use std::fmt;
use std::sync::Arc;

use model::ProviderError;

use crate::answer::stretched;
use crate::fuse::Scored;
use crate::parse::Parsed;

/// Passages that are judged.
pub const DEPTH: usize = 25;

/// What parts two passages that had the same score.
const STEP: f32 = 1e-6;

/// Characters of a passage that a model judges it by: more than most of these models read.
const JUDGED_CHARS: usize = 2_000;

/// Asks how well each passage answers a question.
#[derive(Clone)]
pub struct RerankStage(pub Arc<dyn Fn(&str, &[String]) -> Result<Vec<f32>, ProviderError> + Send + Sync>);

impl fmt::Debug for RerankStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RerankStage")
    }
}

/// Judges the first passages and blends that with the order they have, one to one. Where the model fails the order stays, and
/// the failure is returned. What is asked for by its name or word for word is not judged: there the letters decide.
pub(crate) fn rerank(
    ranked: &mut [Scored],
    parsed: &Parsed,
    question: &str,
    stage: &RerankStage,
) -> Option<ProviderError> {
    let depth = ranked.len().min(DEPTH);
    if depth < 2 || parsed.is_symbol || !parsed.phrases.is_empty() {
        return None;
    }
    let texts: Vec<String> = ranked[..depth].iter().map(judged_text).collect();
    let judged = match (stage.0)(question, &texts) {
        Ok(scores) if scores.len() == depth && scores.iter().all(|score| score.is_finite()) => {
            stretched(&scores)
        }
        Ok(scores) => {
            let reason = format!(
                "{} usable scores for {depth} passages",
                scores.iter().filter(|s| s.is_finite()).count()
            );
            let kind = model::ProviderErrorKind::BadAnswer { reason };
            return Some(ProviderError::new("rerank", kind));
        }
        Err(error) => return Some(error),
    };
    let places: Vec<f32> = ranked[..depth].iter().map(|scored| scored.score).collect();
    let own = stretched(&places);
    let mut order: Vec<usize> = (0..depth).collect();
    // Stable: equals keep the order they had.
    order.sort_by(|a, b| (own[*b] + judged[*b]).total_cmp(&(own[*a] + judged[*a])));
    let mut moved: Vec<Scored> = order.iter().map(|at| ranked[*at].clone()).collect();
    for (scored, score) in moved.iter_mut().zip(places) {
        scored.score = score;
    }
    ranked[..depth].clone_from_slice(&moved);
    // Equal scores would leave the order to whoever sorts by them.
    for at in 1..ranked.len() {
        let below = if at < depth { ranked[at - 1].score - STEP } else { ranked[at - 1].score };
        ranked[at].score = ranked[at].score.min(below).max(0.0);
    }
    None
}

/// The headings above a passage and its text.
fn judged_text(scored: &Scored) -> String {
    let chunk = &scored.chunk;
    let heading = crate::caption::heading_at(chunk, 0);
    let mut text: String = heading.titles.iter().map(|(_, title)| format!("{title}\n")).collect();
    text.push_str(&chunk.text);
    if let Some((cut, _)) = text.char_indices().nth(JUDGED_CHARS) {
        text.truncate(cut);
    }
    text
}
