//! Whisper's vocabulary: pieces of text, languages, times.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;

/// What the file `generation.json` says of the tokens with a meaning of their own.
#[derive(Debug, Deserialize)]
struct Generation {
    decoder_start_token_id: u32,
    eos_token_id: u32,
    no_timestamps_token_id: u32,
    lang_to_id: BTreeMap<String, u32>,
    task_to_id: HashMap<String, u32>,
    #[serde(default)]
    suppress_tokens: Vec<u32>,
    #[serde(default)]
    begin_suppress_tokens: Vec<u32>,
}

pub(super) struct SpeechVocabulary {
    /// The bytes of each piece of text.
    pieces: Vec<Vec<u8>>,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) transcribe: u32,
    pub(super) no_speech: u32,
    /// Tokens from here on are times, in steps of 20 ms.
    pub(super) first_time: u32,
    /// ISO 639-1 codes and their tokens.
    languages: Vec<(String, u32)>,
    /// Never written: signs for music, brackets and the like.
    pub(super) never: HashSet<u32>,
    /// Never written first.
    pub(super) not_first: HashSet<u32>,
}

impl SpeechVocabulary {
    pub(super) fn read(vocabulary: &[u8], generation: &[u8]) -> Result<SpeechVocabulary, String> {
        let words: HashMap<String, u32> =
            serde_json::from_slice(vocabulary).map_err(|error| format!("vocabulary.json: {error}"))?;
        let generation: Generation =
            serde_json::from_slice(generation).map_err(|error| format!("generation.json: {error}"))?;
        let bytes = bytes_of_letters();
        let mut pieces = vec![Vec::new(); words.len()];
        for (word, id) in words {
            if let Some(piece) = pieces.get_mut(id as usize) {
                *piece = word.chars().filter_map(|letter| bytes.get(&letter).copied()).collect();
            }
        }
        let without_times = generation.no_timestamps_token_id;
        let languages = generation
            .lang_to_id
            .into_iter()
            .map(|(name, token)| (name.trim_matches(['<', '|', '>']).to_owned(), token));
        let transcribe = generation.task_to_id.get("transcribe").copied();
        let mut never: HashSet<u32> = generation.suppress_tokens.into_iter().collect();
        never.insert(without_times);
        Ok(SpeechVocabulary {
            pieces,
            start: generation.decoder_start_token_id,
            end: generation.eos_token_id,
            transcribe: transcribe.ok_or("generation.json: there is no task to transcribe")?,
            no_speech: without_times - 1,
            first_time: without_times + 1,
            languages: languages.collect(),
            never,
            not_first: generation.begin_suppress_tokens.into_iter().collect(),
        })
    }

    pub(super) fn is_time(&self, token: u32) -> bool {
        token >= self.first_time
    }

    /// Milliseconds from the beginning of the window.
    pub(super) fn time(&self, token: u32) -> u64 {
        u64::from(token - self.first_time) * 20
    }

    pub(super) fn language(&self, code: &str) -> Option<u32> {
        self.languages.iter().find(|(known, _)| known == code).map(|(_, token)| *token)
    }

    pub(super) fn languages(&self) -> impl Iterator<Item = (&str, u32)> {
        self.languages.iter().map(|(code, token)| (code.as_str(), *token))
    }

    /// The text of tokens; those that are not text are passed over.
    pub(super) fn text(&self, tokens: &[u32]) -> String {
        let bytes: Vec<u8> = tokens
            .iter()
            .filter(|token| **token < self.end)
            .filter_map(|token| self.pieces.get(*token as usize))
            .flatten()
            .copied()
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The vocabulary is written as text, with a visible letter for each byte: printable ones mean themselves, the others follow
/// from U+0100 on.
fn bytes_of_letters() -> HashMap<char, u8> {
    let mut letters = HashMap::with_capacity(256);
    let mut others = 0;
    for byte in 0..=u8::MAX {
        let means_itself = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let letter = if means_itself {
            char::from(byte)
        } else {
            others += 1;
            char::from_u32(0xFF + others).unwrap_or_default()
        };
        letters.insert(letter, byte);
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_text() {
        let vocabulary = r#"{"Hello": 0, "Ġworld": 1, "Ã": 2, "¼": 3, "ber": 4}"#;
        let generation = r#"{"decoder_start_token_id": 6, "eos_token_id": 5, "no_timestamps_token_id": 11,
            "lang_to_id": {"<|de|>": 8, "<|en|>": 7}, "task_to_id": {"transcribe": 9, "translate": 12},
            "suppress_tokens": [3], "begin_suppress_tokens": [1, 5], "max_length": 448}"#;
        let read = SpeechVocabulary::read(vocabulary.as_bytes(), generation.as_bytes()).unwrap();
        assert_eq!(read.text(&[0, 1, 5, 7, 2, 3, 4]), "Hello worldüber");
        // A letter that is cut in two is no reason to fail.
        assert_eq!(read.text(&[2]), "\u{FFFD}");
        assert_eq!((read.language("de"), read.language("xx")), (Some(8), None));
        assert!(!read.is_time(11) && read.is_time(12) && read.time(62) == 1_000);
        assert!(read.never.contains(&11) && read.never.contains(&3));
        assert!(SpeechVocabulary::read(b"{", generation.as_bytes()).is_err());
    }

    #[test]
    fn every_byte_has_a_letter() {
        let letters = bytes_of_letters();
        assert_eq!(letters.len(), 256);
        assert_eq!((letters[&'Ġ'], letters[&'Ċ'], letters[&'A'], letters[&'ÿ']), (b' ', b'\n', b'A', 0xFF));
    }
}
