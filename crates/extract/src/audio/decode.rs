//! From the packets of a recording to the samples of one channel.

use std::io::{self, Cursor};
use std::ops::ControlFlow;

use model::SkipReason;
use symphonia::core::codecs::audio::well_known::CODEC_ID_OPUS;
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream, MediaSourceStreamOptions, ReadOnlySource};
use symphonia::core::meta::MetadataOptions;

use super::resample::Resampler;
use super::{CHUNK_SAMPLES, RecordingInfo, SAMPLE_RATE};
use crate::format::Format;
use crate::limits::Meter;
use crate::sink::{Halt, Outcome, broken};

/// Recordings one after the other in one file.
const MOST_LINKS: u32 = 1000;

/// A recording whose first packet has not been read.
pub(super) struct Recording<'a> {
    reader: Box<dyn FormatReader + 'a>,
    track: u32,
    parameters: AudioCodecParameters,
    info: RecordingInfo,
    meter: &'a Meter,
}

impl<'a> Recording<'a> {
    pub(super) fn open(
        format: Format,
        name: &str,
        bytes: &'a [u8],
        meter: &'a Meter,
    ) -> Outcome<Recording<'a>> {
        if bytes.len() as u64 > meter.limits().max_input_bytes {
            let (size, limit) = (bytes.len() as u64, meter.limits().max_input_bytes);
            return Err(Halt::Skip(SkipReason::TooLarge { size, limit }));
        }
        if !format.is_recording() {
            return Err(Halt::Skip(SkipReason::Unsupported { doc_type: format.to_string() }));
        }
        let mut hint = Hint::new();
        hint.with_extension(model::filetype::extension(name).unwrap_or(format.as_str()));
        let probe = |source: Box<dyn MediaSource + 'a>| {
            let stream = MediaSourceStream::new(source, MediaSourceStreamOptions::default());
            let (options, notes) = (FormatOptions::default(), MetadataOptions::default());
            symphonia::default::get_probe().probe(&hint, stream, options, notes)
        };
        let reader = match probe(Box::new(Cursor::new(bytes))) {
            Ok(reader) => reader,
            // One that is cut off has no end to look at, which its reader does where it can.
            Err(error) => probe(Box::new(ReadOnlySource::new(bytes))).map_err(|_| fault(error))?,
        };
        let Some((track, parameters, info)) = sound(&*reader) else {
            return broken("there is no sound in it");
        };
        Ok(Recording { reader, track, parameters, info, meter })
    }

    pub(super) fn info(self) -> RecordingInfo {
        self.info
    }

    pub(super) fn decode(
        mut self,
        visit: &mut dyn FnMut(&[f32]) -> ControlFlow<()>,
    ) -> Outcome<Option<RecordingInfo>> {
        let mut decoder = self.decoder()?;
        let mut out = Chunks { meter: self.meter, waiting: Vec::new(), given: 0, visit };
        let mut resampler: Option<Resampler> = None;
        let (mut interleaved, mut mono): (Vec<f32>, Vec<f32>) = (Vec::new(), Vec::new());
        let most = self.meter.limits().max_recording_seconds.saturating_mul(u64::from(SAMPLE_RATE));
        let mut links = 0;
        while out.samples() < most {
            self.meter.spend(16)?;
            let packet = match self.reader.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => break,
                Err(Error::ResetRequired) if links < MOST_LINKS => {
                    links += 1;
                    let Some((track, parameters, _)) = sound(&*self.reader) else { break };
                    (self.track, self.parameters) = (track, parameters);
                    decoder = self.decoder()?;
                    continue;
                }
                // It is cut off or damaged from here on; what was heard counts.
                Err(_) => {
                    self.info.damaged_packets += 1;
                    break;
                }
            };
            if packet.track_id != self.track {
                continue;
            }
            let decoded = match decoder.decode(&packet) {
                Ok(decoded) => decoded,
                Err(Error::DecodeError(_) | Error::IoError(_)) => {
                    self.info.damaged_packets = self.info.damaged_packets.saturating_add(1);
                    continue;
                }
                Err(Error::ResetRequired) => {
                    decoder.reset();
                    continue;
                }
                Err(_) => break,
            };
            let (rate, channels) = (decoded.spec().rate(), decoded.spec().channels().count());
            if channels == 0 || decoded.frames() == 0 {
                continue;
            }
            self.meter.spend(decoded.frames() as u64 / 16)?;
            interleaved.resize(decoded.samples_interleaved(), 0.0);
            decoded.copy_to_slice_interleaved(&mut interleaved);
            mono.clear();
            mono.extend(interleaved.chunks_exact(channels).map(mixed));
            if resampler.as_ref().is_none_or(|resampler| resampler.rate() != rate) {
                if let Some(last) = resampler.take() {
                    last.finish(&mut out.waiting);
                }
                resampler = Some(Resampler::new(rate)?);
                (self.info.sample_rate, self.info.channels) = (rate, channels as u32);
            }
            if let Some(resampler) = &mut resampler {
                resampler.push(&mono, &mut out.waiting)?;
            }
            if out.give(false).is_break() {
                return Ok(None);
            }
        }
        if let Some(last) = resampler {
            last.finish(&mut out.waiting);
        }
        if out.samples() == 0 {
            return broken("nothing in it could be decoded");
        }
        let left = usize::try_from(most.saturating_sub(out.given)).unwrap_or(usize::MAX);
        out.waiting.truncate(left);
        match out.give(true) {
            ControlFlow::Continue(()) => Ok(Some(out.ended(self.info))),
            ControlFlow::Break(()) => Ok(None),
        }
    }

    fn decoder(&self) -> Outcome<Box<dyn AudioDecoder>> {
        if !self.info.decodable {
            let hint =
                "save it as WAV, FLAC, MP3, M4A or Ogg Vorbis, or name a provider that takes it as it is"
                    .to_owned();
            return Err(Halt::Skip(SkipReason::OldFormat { format: self.info.codec.clone(), hint }));
        }
        let options = AudioDecoderOptions::default();
        symphonia::default::get_codecs().make_audio_decoder(&self.parameters, &options).map_err(fault)
    }
}

/// The track that is heard, and what is known of it.
fn sound(reader: &dyn FormatReader) -> Option<(u32, AudioCodecParameters, RecordingInfo)> {
    let track = reader.default_track(TrackType::Audio).or_else(|| reader.first_track(TrackType::Audio))?;
    let parameters = track.codec_params.as_ref()?.audio()?.clone();
    let known = symphonia::default::get_codecs().get_audio_decoder(parameters.codec);
    let codec = match known {
        Some(known) => known.codec.info.short_name.to_owned(),
        None if parameters.codec == CODEC_ID_OPUS => "opus".to_owned(),
        None => "such sound".to_owned(),
    };
    let by_frames = track.num_frames.zip(parameters.sample_rate).filter(|(_, rate)| *rate > 0);
    let duration_ms = match (track.time_base, track.duration) {
        (Some(base), Some(duration)) => {
            base.calc_duration(duration).and_then(|time| u64::try_from(time.as_millis()).ok())
        }
        _ => by_frames.map(|(frames, rate)| frames.saturating_mul(1000) / u64::from(rate)),
    };
    let info = RecordingInfo {
        codec,
        sample_rate: parameters.sample_rate.unwrap_or(0),
        channels: parameters.channels.as_ref().map_or(0, |channels| channels.count() as u32),
        duration_ms,
        decodable: known.is_some(),
        damaged_packets: 0,
    };
    Some((track.id, parameters, info))
}

/// Samples on their way out.
struct Chunks<'v> {
    meter: &'v Meter,
    waiting: Vec<f32>,
    given: u64,
    visit: &'v mut dyn FnMut(&[f32]) -> ControlFlow<()>,
}

impl Chunks<'_> {
    /// Given and waiting.
    fn samples(&self) -> u64 {
        self.given + self.waiting.len() as u64
    }

    fn give(&mut self, is_end: bool) -> ControlFlow<()> {
        let least = if is_end { 1 } else { CHUNK_SAMPLES };
        let mut taken = 0;
        while self.waiting.len() - taken >= least {
            let end = self.waiting.len().min(taken + CHUNK_SAMPLES);
            self.given += (end - taken) as u64;
            let more = (self.visit)(&self.waiting[taken..end]);
            taken = end;
            // The time that the other side took is its own.
            self.meter.restart();
            if more.is_break() {
                self.waiting.clear();
                return more;
            }
        }
        self.waiting.drain(..taken);
        ControlFlow::Continue(())
    }

    fn ended(&self, info: RecordingInfo) -> RecordingInfo {
        let duration_ms = Some(self.given * 1000 / u64::from(SAMPLE_RATE));
        RecordingInfo { duration_ms, ..info }
    }
}

/// The mean of all channels.
fn mixed(frame: &[f32]) -> f32 {
    let sum: f32 = frame.iter().sum();
    let mean = sum / frame.len() as f32;
    if mean.is_finite() { mean.clamp(-1.0, 1.0) } else { 0.0 }
}

fn fault(error: Error) -> Halt {
    match error {
        Error::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Halt::Broken("it ends too early, or is no recording".to_owned())
        }
        other => Halt::Broken(other.to_string()),
    }
}
