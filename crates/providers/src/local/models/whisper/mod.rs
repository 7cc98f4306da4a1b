//! Whisper: writes down what is said in a recording.

mod decoder;
mod mel;
mod tokens;
mod windows;
mod writing;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::{
    Audio, ProviderErrorKind, ProviderFuture, TranscribeInput, TranscribeLimits, Transcriber, Transcript,
    TranscriptSegment,
};
use rten::ThreadPool;
use rten_tensor::Tensor;

use super::files::ModelKind;
use super::messages::{ModelAnswer, ModelRequest};
use super::process::{ModelProcess, ModelPrograms};
use super::run::LoadedNetwork;
use decoder::{SoundMemory, TextMemory, TokenDecoder};
use mel::{FRAMES, MelSpectrum, PITCHES, SAMPLE_RATE};
use tokens::SpeechVocabulary;

const NAME: &str = "local";

/// A window of 30 seconds takes about five; a slow, busy machine gets much more.
const PATIENCE: Duration = Duration::from_secs(300);

/// Above this, and where the words are unlikely, nothing was said.
const NO_SPEECH: f32 = 0.6;
const UNLIKELY: f32 = -1.0;

/// A window whose words end this long before it does, though somebody speaks on, is continued from there.
const UNHEARD_MS: u64 = 3_000;
const MIN_HEARD_MS: u64 = 5_000;

/// Transcribes with a Whisper model of an extra, in a child process.
#[derive(Debug, Clone)]
pub struct SpeechModel {
    process: ModelProcess,
    model: String,
}

impl SpeechModel {
    /// `folder` holds the files of the extra, `model` is its name in the catalogue.
    pub fn new(programs: &ModelPrograms, folder: &Path, model: &str) -> SpeechModel {
        let process = ModelProcess::new(NAME, programs, ModelKind::Speech, folder, PATIENCE);
        SpeechModel { process, model: model.to_owned() }
    }
}

impl Transcriber for SpeechModel {
    fn provider(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> TranscribeLimits {
        TranscribeLimits { takes_files: false, bytes: 0, requests: 1 }
    }

    fn transcribe<'a>(&'a self, input: TranscribeInput<'a>) -> ProviderFuture<'a, Transcript> {
        Box::pin(async move {
            let Audio::Samples(samples) = input.audio else {
                let reason = "it takes samples, not files".to_owned();
                return Err(self.process.error(ProviderErrorKind::Refused { reason }));
            };
            let body: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
            let request = ModelRequest::Transcribe { language: input.language.map(str::to_owned) };
            let (sender, mut progress) = tokio::sync::mpsc::unbounded_channel();
            let mut answer = std::pin::pin!(self.process.ask(request, body, Some(sender)));
            let answer = loop {
                tokio::select! {
                    biased;
                    Some(done) = progress.recv() => {
                        if let Some(on_progress) = input.on_progress {
                            on_progress(done);
                        }
                    }
                    answer = &mut answer => break answer?,
                }
            };
            match answer {
                ModelAnswer::Transcript(transcript) => {
                    let named =
                        Transcript { provider: NAME.to_owned(), model: self.model.clone(), ..transcript };
                    Ok(if input.timestamps { named } else { without_times(named) })
                }
                other => Err(self.process.unexpected(other)),
            }
        })
    }
}

fn without_times(transcript: Transcript) -> Transcript {
    let texts: Vec<String> = transcript.segments.into_iter().map(|segment| segment.text).collect();
    let segment = TranscriptSegment { text: texts.join(" "), ..TranscriptSegment::default() };
    Transcript { has_times: false, segments: vec![segment], ..transcript }
}

/// The model itself, in the child.
pub(super) struct SpeechReader {
    encoder: LoadedNetwork,
    decoder: TokenDecoder,
    vocabulary: SpeechVocabulary,
    spectrum: MelSpectrum,
}

impl SpeechReader {
    pub(super) fn load(
        encoder: Vec<u8>,
        decoder: Vec<u8>,
        vocabulary: &[u8],
        generation: &[u8],
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<SpeechReader, String> {
        Ok(SpeechReader {
            encoder: LoadedNetwork::load("encoder.onnx", encoder, pool.clone())?,
            decoder: TokenDecoder::new(LoadedNetwork::load("decoder.onnx", decoder, pool)?)?,
            vocabulary: SpeechVocabulary::read(vocabulary, generation)?,
            spectrum: MelSpectrum::new(),
        })
    }

    /// Says after each window how many milliseconds are done.
    pub(super) fn transcribe(
        &self,
        samples: &[f32],
        language: Option<&str>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Transcript, String> {
        let mut language = match language {
            None => None,
            Some(code) => {
                let token = self.vocabulary.language(code);
                let token = token.ok_or_else(|| format!("this model does not know the language {code:?}"))?;
                Some((code.to_owned(), token))
            }
        };
        let mut segments: Vec<TranscriptSegment> = Vec::new();
        let mut start = 0;
        while start < samples.len() {
            let end = windows::window_end(samples, start);
            let window = &samples[start..end];
            let heard =
                if windows::is_silent(window) { Vec::new() } else { self.window(window, &mut language)? };
            // Sometimes the model stops listening before the window ends.
            let last = heard.last().map_or(0, |segment: &TranscriptSegment| segment.end_ms);
            let unheard = &window[samples_of(last).min(window.len())..];
            let is_cut_short = (MIN_HEARD_MS..milliseconds(window.len()).saturating_sub(UNHEARD_MS))
                .contains(&last)
                && windows::goes_on(unheard, window);
            let offset = milliseconds(start);
            segments.extend(heard.into_iter().map(|segment| TranscriptSegment {
                start_ms: segment.start_ms + offset,
                end_ms: segment.end_ms + offset,
                ..segment
            }));
            start = if is_cut_short { start + samples_of(last) } else { end };
            progress(milliseconds(start));
        }
        Ok(Transcript {
            language: language.map(|(code, _)| code),
            duration_ms: milliseconds(samples.len()),
            has_times: true,
            segments,
            ..Transcript::default()
        })
    }

    /// What is said in a window, with times from its beginning. Finds out the language where it is not known yet.
    fn window(
        &self,
        window: &[f32],
        language: &mut Option<(String, u32)>,
    ) -> Result<Vec<TranscriptSegment>, String> {
        let features = Tensor::from_data(&[1, PITCHES, FRAMES], self.spectrum.features(window));
        let states = self.encoder.run_one(features.into())?;
        let (first, mut text, sound) = self.decoder.begin(states, self.vocabulary.start)?;
        let no_speech = probability(&first, self.vocabulary.no_speech);
        let (code, token) = match language {
            Some((code, token)) => (code.clone(), *token),
            None => likeliest_language(&first, &self.vocabulary),
        };
        let scores = self.prompt(&mut text, &sound, token)?;
        let writing = writing::write(&self.decoder, &self.vocabulary, &scores, &text, &sound)?;
        if no_speech > NO_SPEECH && writing.likelihood < UNLIKELY {
            return Ok(Vec::new());
        }
        // A window in which something was said decides for the whole recording.
        language.get_or_insert((code, token));
        Ok(segments(&writing.tokens, &self.vocabulary, milliseconds(window.len())))
    }

    fn prompt(&self, text: &mut TextMemory, sound: &SoundMemory, language: u32) -> Result<Vec<f32>, String> {
        self.decoder.next(text, sound, language)?;
        self.decoder.next(text, sound, self.vocabulary.transcribe)
    }
}

fn likeliest_language(scores: &[f32], vocabulary: &SpeechVocabulary) -> (String, u32) {
    let score = |token: u32| scores.get(token as usize).copied().unwrap_or(f32::NEG_INFINITY);
    let likeliest =
        vocabulary.languages().max_by(|(_, one), (_, other)| score(*one).total_cmp(&score(*other)));
    likeliest.map_or_else(Default::default, |(code, token)| (code.to_owned(), token))
}

fn probability(scores: &[f32], token: u32) -> f32 {
    scores.get(token as usize).map_or(0.0, |score| (score - writing::log_sum_exp(scores)).exp())
}

/// Tokens to segments: a time, text, a time.
fn segments(tokens: &[u32], vocabulary: &SpeechVocabulary, length_ms: u64) -> Vec<TranscriptSegment> {
    let mut segments: Vec<TranscriptSegment> = Vec::new();
    let mut begin = 0;
    let mut words = Vec::new();
    let mut close = |words: &mut Vec<u32>, start_ms: u64, end_ms: u64| {
        let text = vocabulary.text(words).trim().to_owned();
        words.clear();
        if !text.is_empty() {
            let end_ms = end_ms.min(length_ms).max(start_ms);
            segments.push(TranscriptSegment { start_ms, end_ms, text, speaker: None });
        }
    };
    for token in tokens {
        if vocabulary.is_time(*token) {
            let time = vocabulary.time(*token);
            close(&mut words, begin, time);
            begin = time;
        } else {
            words.push(*token);
        }
    }
    close(&mut words, begin, length_ms);
    segments
}

fn milliseconds(samples: usize) -> u64 {
    (samples * 1_000 / SAMPLE_RATE) as u64
}

fn samples_of(milliseconds: u64) -> usize {
    milliseconds as usize * SAMPLE_RATE / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_segments() {
        let words = r#"{"a": 0, "Ġb": 1}"#;
        let generation = r#"{"decoder_start_token_id": 3, "eos_token_id": 2, "no_timestamps_token_id": 9,
            "lang_to_id": {}, "task_to_id": {"transcribe": 7}}"#;
        let vocabulary = SpeechVocabulary::read(words.as_bytes(), generation.as_bytes()).unwrap();
        let found = segments(&[10, 0, 1, 60, 60, 1, 1, 110, 160, 0], &vocabulary, 4_000);
        let found: Vec<_> =
            found.iter().map(|segment| (segment.start_ms, segment.end_ms, segment.text.as_str())).collect();
        assert_eq!(found, [(0, 1_000, "a b"), (1_000, 2_000, "b b"), (3_000, 4_000, "a")]);
    }
}
