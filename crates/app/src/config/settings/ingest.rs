//! What is indexed and how it is cut.

use std::collections::BTreeMap;
use std::time::Duration;

use model::DocType;

use super::SettingsCheck;
use crate::config::combine::Values;
use crate::config::keys::{Key, KeySpec};

#[derive(Debug, Clone)]
pub(crate) struct IngestSettings {
    pub gitignore: bool,
    pub pdf: PdfMode,
    pub images: ImageMode,
    pub audio: AudioMode,
    /// A rebuild takes transcripts over.
    pub audio_cache: bool,
    /// This command has scans and recordings read again.
    pub reread: bool,
    pub archives: ArchiveMode,
    pub follow_symlinks: bool,
    pub max_file_bytes: u64,
    pub max_bytes_by_type: BTreeMap<DocType, u64>,
    /// Globs that keep files out of the index and nothing else.
    pub excludes: Vec<String>,
    pub watch: bool,
    /// 0 takes as many as there are cores.
    pub threads: usize,
    pub read_timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PdfMode {
    Off,
    Ocr,
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageMode {
    Off,
    OcrAuto,
    OcrOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AudioMode {
    Off,
    Auto,
    On,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveMode {
    Off,
    Shallow,
    Deep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunking {
    pub max_chars: usize,
    pub overlap_chars: usize,
    pub min_chars: usize,
    pub code_max_lines: usize,
    pub code_overlap_lines: usize,
    pub transcript_segment_ms: u64,
    pub transcript_overlap_ms: u64,
}

impl SettingsCheck<'_> {
    pub(super) fn chunking(&mut self) -> Chunking {
        let size = |key| self.values.int(key) as usize;
        let chunking = Chunking {
            max_chars: size(Key::ChunkingMaxChars),
            overlap_chars: size(Key::ChunkingOverlapChars),
            min_chars: size(Key::ChunkingMinChars),
            code_max_lines: size(Key::ChunkingCodeMaxLines),
            code_overlap_lines: size(Key::ChunkingCodeOverlapLines),
            transcript_segment_ms: self.values.int(Key::ChunkingTranscriptSegmentMs),
            transcript_overlap_ms: self.values.int(Key::ChunkingTranscriptOverlapMs),
        };
        for (small, large) in [
            (Key::ChunkingOverlapChars, Key::ChunkingMaxChars),
            (Key::ChunkingMinChars, Key::ChunkingMaxChars),
            (Key::ChunkingCodeOverlapLines, Key::ChunkingCodeMaxLines),
            (Key::ChunkingTranscriptOverlapMs, Key::ChunkingTranscriptSegmentMs),
        ] {
            let (less, more) = (self.values.int(small), self.values.int(large));
            if less >= more {
                self.problem(
                    small,
                    format!("{less} is not smaller than {} ({more})", KeySpec::of(large).path),
                );
            }
        }
        chunking
    }
}

pub(super) fn ingest(values: &Values) -> IngestSettings {
    IngestSettings {
        gitignore: values.bool(Key::IngestGitignore),
        pdf: match values.text(Key::IngestPdfMode) {
            "off" => PdfMode::Off,
            "auto" => PdfMode::Auto,
            _ => PdfMode::Ocr,
        },
        images: match values.text(Key::IngestImagesMode) {
            "off" => ImageMode::Off,
            "ocr_on" => ImageMode::OcrOn,
            _ => ImageMode::OcrAuto,
        },
        audio: match values.text(Key::IngestAudioMode) {
            "off" => AudioMode::Off,
            "on" => AudioMode::On,
            _ => AudioMode::Auto,
        },
        audio_cache: values.bool(Key::IngestAudioCache),
        reread: false,
        archives: match values.text(Key::IngestArchivesMode) {
            "off" => ArchiveMode::Off,
            "shallow" => ArchiveMode::Shallow,
            _ => ArchiveMode::Deep,
        },
        follow_symlinks: values.bool(Key::IngestFollowSymlinks),
        max_file_bytes: values.int(Key::IngestMaxFileMb) << 20,
        max_bytes_by_type: values
            .sizes(Key::IngestMaxFileMbByType)
            .iter()
            .map(|(doc_type, megabytes)| (*doc_type, megabytes << 20))
            .collect(),
        excludes: Vec::new(),
        watch: values.bool(Key::IngestWatch),
        threads: values.int(Key::IngestThreads) as usize,
        read_timeout: match values.duration(Key::IngestReadTimeout) {
            Duration::ZERO => Duration::from_secs(30),
            timeout => timeout,
        },
    }
}
