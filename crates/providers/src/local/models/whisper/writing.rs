//! From scores to words: which token comes next, under the rules that Whisper was trained with, and whether the result is
//! to be trusted.

use std::io::Write;

use super::decoder::{SoundMemory, TextMemory, TokenDecoder};
use super::tokens::SpeechVocabulary;

/// More tokens than are said in 30 seconds.
const MAX_TOKENS: usize = 224;

/// The first word begins within the first second.
const MAX_FIRST_TIME: u32 = 50;

/// A text that can be packed better than this repeats itself.
const MAX_REPETITION: f32 = 2.4;

const MIN_LIKELIHOOD: f32 = -1.0;

/// The second attempt takes less likely words too, which ends repetitions.
const SECOND_TEMPERATURE: f32 = 0.4;

/// What was written down of one window.
pub(super) struct Writing {
    pub(super) tokens: Vec<u32>,
    /// Mean logarithm of the tokens' probabilities.
    pub(super) likelihood: f32,
}

impl Writing {
    fn is_trusted(&self, vocabulary: &SpeechVocabulary) -> bool {
        self.likelihood >= MIN_LIKELIHOOD && repetition(&vocabulary.text(&self.tokens)) <= MAX_REPETITION
    }
}

/// Writes down a window, a second time where the first is not to be trusted.
pub(super) fn write(
    decoder: &TokenDecoder,
    vocabulary: &SpeechVocabulary,
    first: &[f32],
    text: &TextMemory,
    sound: &SoundMemory,
) -> Result<Writing, String> {
    let attempt = |temperature| write_once(decoder, vocabulary, first, text.clone(), sound, temperature);
    let greedy = attempt(0.0)?;
    if greedy.is_trusted(vocabulary) {
        return Ok(greedy);
    }
    let second = attempt(SECOND_TEMPERATURE)?;
    let worse = |writing: &Writing| {
        let repetition = repetition(&vocabulary.text(&writing.tokens));
        (repetition > MAX_REPETITION, -writing.likelihood)
    };
    let (one, other) = (worse(&greedy), worse(&second));
    let greedy_is_worse = one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).is_gt();
    Ok(if greedy_is_worse { second } else { greedy })
}

fn write_once(
    decoder: &TokenDecoder,
    vocabulary: &SpeechVocabulary,
    first: &[f32],
    mut text: TextMemory,
    sound: &SoundMemory,
    temperature: f32,
) -> Result<Writing, String> {
    let mut tokens: Vec<u32> = Vec::new();
    let mut scores = first.to_vec();
    let (mut sum, mut count) = (0.0, 0);
    // The same recording gives the same text.
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    loop {
        follow_rules(&mut scores, &tokens, vocabulary);
        let token = if temperature > 0.0 { chance.pick(&scores, temperature) } else { best(&scores) };
        sum += scores[token as usize] - log_sum_exp(&scores);
        count += 1;
        if token == vocabulary.end {
            break;
        }
        tokens.push(token);
        if tokens.len() == MAX_TOKENS {
            break;
        }
        scores = decoder.next(&mut text, sound, token)?;
    }
    Ok(Writing { tokens, likelihood: sum / count as f32 })
}

/// Takes away the tokens that cannot come next: times come in pairs around what is said, and go forward.
fn follow_rules(scores: &mut [f32], tokens: &[u32], vocabulary: &SpeechVocabulary) {
    let (first_time, end) = (vocabulary.first_time as usize, vocabulary.end as usize);
    for token in &vocabulary.never {
        forbid(scores, *token as usize, *token as usize + 1);
    }
    if tokens.is_empty() {
        for token in &vocabulary.not_first {
            forbid(scores, *token as usize, *token as usize + 1);
        }
        forbid(scores, 0, first_time);
        forbid(scores, first_time + MAX_FIRST_TIME as usize + 1, scores.len());
        return;
    }
    let is_time = |back: usize| {
        tokens
            .len()
            .checked_sub(back)
            .and_then(|at| tokens.get(at))
            .is_none_or(|token| vocabulary.is_time(*token))
    };
    if is_time(1) {
        if is_time(2) {
            // Something was begun: now it is said.
            forbid(scores, first_time, scores.len());
        } else {
            // Something was ended: the next one begins, or all is said.
            forbid(scores, 0, end);
        }
    }
    if let Some(last) = tokens.iter().rev().find(|token| vocabulary.is_time(**token)) {
        // What begins may begin when the last one ended; what ends lasts at least a moment.
        let next = if is_time(1) && !is_time(2) { *last } else { *last + 1 };
        forbid(scores, first_time, next as usize);
    }
    // Where a time is likelier than any single word, it is a time, whichever.
    let (words, times) = scores.split_at(first_time);
    if log_sum_exp(times) > words.iter().copied().fold(f32::NEG_INFINITY, f32::max) {
        forbid(scores, 0, first_time);
    }
}

fn forbid(scores: &mut [f32], from: usize, to: usize) {
    let to = to.min(scores.len());
    if from < to {
        scores[from..to].fill(f32::NEG_INFINITY);
    }
}

pub(super) fn best(scores: &[f32]) -> u32 {
    let best = scores.iter().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
    best.map_or(0, |(token, _)| token as u32)
}

pub(super) fn log_sum_exp(scores: &[f32]) -> f32 {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if highest == f32::NEG_INFINITY {
        return highest;
    }
    highest + scores.iter().map(|score| (score - highest).exp()).sum::<f32>().ln()
}

/// How many times shorter a text gets when it is packed.
fn repetition(text: &str) -> f32 {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory cannot fail.
    let _ = packed.write_all(text.as_bytes());
    let packed = packed.finish().map_or(1, |bytes| bytes.len());
    text.len() as f32 / packed as f32
}

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    /// From 0 to 1.
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }

    fn pick(&mut self, scores: &[f32], temperature: f32) -> u32 {
        let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weight = |score: &f32| ((score - highest) / temperature).exp();
        let mut left = self.next() * scores.iter().map(weight).sum::<f32>();
        let picked = scores.iter().position(|score| {
            left -= weight(score);
            left < 0.0
        });
        picked.map_or_else(|| best(scores), |token| token as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> SpeechVocabulary {
        let words = r#"{"a": 0, "b": 1, "c": 2, "d": 3}"#;
        let generation = r#"{"decoder_start_token_id": 5, "eos_token_id": 4, "no_timestamps_token_id": 9,
            "lang_to_id": {"<|en|>": 6}, "task_to_id": {"transcribe": 7},
            "suppress_tokens": [3, 5, 6, 7, 8], "begin_suppress_tokens": [4]}"#;
        SpeechVocabulary::read(words.as_bytes(), generation.as_bytes()).unwrap()
    }

    /// Which tokens may follow, where all are equally likely.
    fn allowed(tokens: &[u32]) -> Vec<u32> {
        let mut scores = vec![0.0; 14];
        // Words are likelier than all times together, so that the last rule does not decide.
        scores[..5].fill(5.0);
        follow_rules(&mut scores, tokens, &vocabulary());
        (0..14).filter(|token| scores[*token as usize] > f32::NEG_INFINITY).collect()
    }

    #[test]
    fn times_come_in_pairs_and_go_forward() {
        assert_eq!(allowed(&[]), [10, 11, 12, 13]);
        assert_eq!(allowed(&[10]), [0, 1, 2, 4]);
        assert_eq!(allowed(&[10, 0]), [0, 1, 2, 4, 11, 12, 13]);
        assert_eq!(allowed(&[10, 0, 12]), [4, 12, 13]);
        assert_eq!(allowed(&[10, 0, 12, 12]), [0, 1, 2, 4]);
        assert_eq!(allowed(&[10, 0, 12, 12, 1]), [0, 1, 2, 4, 13]);
    }

    #[test]
    fn a_likely_time_is_taken_whichever_it_is() {
        let mut scores = vec![0.0; 14];
        follow_rules(&mut scores, &[10, 0], &vocabulary());
        assert!(best(&scores) >= 10);
    }

    #[test]
    fn repetitions_are_recognised() {
        assert!(repetition(&"the same words again ".repeat(20)) > MAX_REPETITION);
        assert!(repetition("The keeper of the lighthouse writes a line each night before he sleeps.") < 1.5);
    }

    #[test]
    fn the_second_attempt_is_the_same_every_time() {
        let scores: Vec<f32> = (0..50).map(|at| (at as f32 * 0.7).sin() * 3.0).collect();
        let picks = || {
            let mut chance = Chance(7);
            (0..20).map(|_| chance.pick(&scores, 0.4)).collect::<Vec<_>>()
        };
        assert_eq!(picks(), picks());
        assert!(picks().iter().any(|pick| *pick != picks()[0]));
        let certain = [f32::NEG_INFINITY, 3.0, f32::NEG_INFINITY];
        assert_eq!(Chance(9).pick(&certain, 0.4), 1);
        assert!((log_sum_exp(&[0.0, 0.0]) - 2f32.ln()).abs() < 1e-6);
    }
}
