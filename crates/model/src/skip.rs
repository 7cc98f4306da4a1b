//! Why a file was left out. Every file that is not searchable has one of these recorded.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Capability, ErrorCode, Failure};

/// Stored as its code and its facts (`documents.reason_code`, `reason_json`); the sentence is made when somebody is shown
/// it. The names of variants and fields are part of the state format: a test holds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum SkipReason {
    /// No text representation is made for this type (yet): binaries, archives, media.
    Unsupported {
        doc_type: String,
    },
    TooLarge {
        size: u64,
        limit: u64,
    },
    /// The content matched a secret rule; the rule is named, the match never.
    Secret {
        rule: String,
        /// Where in the text, counted from 1.
        line: u32,
    },
    /// A symbolic link that the policy does not follow, or that leaves the root.
    Symlink,
    /// FIFO, socket or device.
    Special {
        kind: String,
    },
    NameNotUtf8,
    PathTooDeep,
    /// The content says binary although the name said text.
    Binary,
    /// A format that is known but not read; the hint says what to do.
    OldFormat {
        format: String,
        hint: String,
    },
    /// Needs a password.
    Encrypted {
        format: String,
    },
    /// So broken that nothing could be read.
    Damaged {
        format: String,
        detail: String,
    },
    /// Built to exhaust whoever opens it, or more than the limits allow.
    Refused {
        format: String,
        detail: String,
    },
    /// Read to the end, and there is no text in it.
    NoText {
        format: String,
    },
    /// The reading took longer than a document may.
    TookTooLong {
        format: String,
    },
    /// An archive that was read up to a fault or a bound; the members before it are kept.
    PartlyRead {
        format: String,
        detail: String,
        members: u32,
    },
    /// A member of an archive that is left out.
    Member {
        detail: String,
    },
    /// A setting leaves this kind of document out.
    SwitchedOff {
        doc_type: String,
        setting: String,
    },
    /// It was written to whenever it was read.
    KeptChanging,
    /// The system did not give its bytes.
    Unreadable {
        error: String,
    },
    /// It could not be looked at or extracted, through no fault of its own; the next attempt may succeed.
    NotTried {
        detail: String,
    },
    /// Only a recogniser or a transcriber can read it, and none is set up.
    NoReader {
        doc_type: String,
        needs: Capability,
    },
    /// A recogniser or a transcriber will read it when its turn comes.
    Waiting {
        doc_type: String,
        needs: Capability,
    },
    /// A recogniser or a transcriber has read it and found no text.
    NothingRecognized {
        doc_type: String,
        needs: Capability,
        provider: String,
    },
    /// A recogniser or a transcriber could not read it. It is tried again with another provider or model.
    NotRecognized {
        needs: Capability,
        provider: String,
        detail: String,
    },
    /// As a version before state format 4 recorded it: a code and a sentence.
    Recorded {
        code: String,
        sentence: String,
    },
}

impl SkipReason {
    pub fn code(&self) -> ErrorCode {
        match self {
            SkipReason::Unsupported { .. } => ErrorCode::DocTypeUnsupported,
            SkipReason::TooLarge { .. } => ErrorCode::FileTooLarge,
            SkipReason::Secret { .. } => ErrorCode::Forbidden,
            SkipReason::Symlink => ErrorCode::SymlinkSkipped,
            SkipReason::Special { .. } => ErrorCode::SpecialFile,
            SkipReason::NameNotUtf8 => ErrorCode::NameNotUtf8,
            SkipReason::PathTooDeep => ErrorCode::PathTooDeep,
            SkipReason::Binary => ErrorCode::BinarySkipped,
            SkipReason::OldFormat { .. } => ErrorCode::DocTypeUnsupported,
            SkipReason::Encrypted { .. } => ErrorCode::Encrypted,
            SkipReason::Damaged { .. } => ErrorCode::ExtractFailed,
            SkipReason::Refused { .. } => ErrorCode::ContentRefused,
            SkipReason::NoText { .. } => ErrorCode::NoText,
            SkipReason::TookTooLong { .. } => ErrorCode::Timeout,
            SkipReason::PartlyRead { .. } => ErrorCode::ExtractFailed,
            SkipReason::Member { .. } => ErrorCode::MemberSkipped,
            SkipReason::SwitchedOff { .. } => ErrorCode::DocTypeUnsupported,
            SkipReason::KeptChanging => ErrorCode::ExtractFailed,
            SkipReason::Unreadable { .. } => ErrorCode::ExtractFailed,
            SkipReason::NotTried { .. } => ErrorCode::ExtractFailed,
            SkipReason::NoReader { doc_type, .. } if doc_type == "pdf" => ErrorCode::NoText,
            SkipReason::NoReader { .. } => ErrorCode::DocTypeUnsupported,
            SkipReason::Waiting { .. } => ErrorCode::TextPending,
            SkipReason::NothingRecognized { .. } => ErrorCode::NoText,
            SkipReason::NotRecognized { needs: Capability::Stt, .. } => ErrorCode::TranscribeFailed,
            SkipReason::NotRecognized { .. } => ErrorCode::OcrFailed,
            SkipReason::Recorded { code, .. } => ErrorCode::parse(code).unwrap_or(ErrorCode::ExtractFailed),
        }
    }

    /// What a version before state format 4 stored: `CODE: sentence`.
    pub fn from_recorded(text: &str) -> SkipReason {
        let (code, sentence) = match text.split_once(": ") {
            Some((code, sentence)) if ErrorCode::parse(code).is_some() => (code, sentence),
            _ => (ErrorCode::ExtractFailed.as_str(), text),
        };
        SkipReason::Recorded { code: code.to_owned(), sentence: sentence.to_owned() }
    }

    /// The file should have had a text, and something went wrong while it was read. Everything else is left out on
    /// purpose.
    pub fn is_failure(&self) -> bool {
        if let SkipReason::Recorded { .. } = self {
            return matches!(self.code(), ErrorCode::ExtractFailed | ErrorCode::Timeout);
        }
        matches!(
            self,
            SkipReason::Damaged { .. }
                | SkipReason::TookTooLong { .. }
                | SkipReason::PartlyRead { .. }
                | SkipReason::KeptChanging
                | SkipReason::Unreadable { .. }
                | SkipReason::NotTried { .. }
                | SkipReason::NotRecognized { .. }
        )
    }

    /// What a caller is told who asks for such a file.
    pub fn failure(&self, path: &str) -> Failure {
        let code = match self {
            SkipReason::NotRecognized { .. } | SkipReason::Waiting { .. } => self.code(),
            _ if self.is_failure() => ErrorCode::ExtractFailed,
            SkipReason::Binary => ErrorCode::BinarySkipped,
            SkipReason::TooLarge { .. } => ErrorCode::FileTooLarge,
            SkipReason::Secret { .. } => ErrorCode::Forbidden,
            _ => ErrorCode::DocTypeUnsupported,
        };
        Failure::new(code, format!("{path}: {}", Sentence(self)))
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), Sentence(self))
    }
}

/// The reason without its code.
struct Sentence<'a>(&'a SkipReason);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SkipReason::Unsupported { doc_type } => {
                write!(f, "no text is extracted from {doc_type} files")
            }
            SkipReason::TooLarge { size, limit } => {
                write!(f, "{size} bytes exceed the limit of {limit} (ingest.max_file_mb)")
            }
            SkipReason::Secret { rule, line } => write!(
                f,
                "line {line} matches the secret rule \"{rule}\"; if it is no secret, name the path or the line in security.allow"
            ),
            SkipReason::Symlink => f.write_str("a symbolic link is not followed (ingest.follow_symlinks)"),
            SkipReason::Special { kind } => write!(f, "a {kind} is never opened"),
            SkipReason::NameNotUtf8 => f.write_str("the file name is not UTF-8"),
            SkipReason::PathTooDeep => f.write_str("the path is too long to open"),
            SkipReason::Binary => f.write_str("the content is binary"),
            SkipReason::OldFormat { format, hint } => write!(f, "{format} files are not read; {hint}"),
            SkipReason::Encrypted { format } => {
                write!(f, "the {format} file needs a password; save a copy without one")
            }
            SkipReason::Damaged { format, detail } => write!(
                f,
                "the {format} file is damaged ({detail}); open it in its own program and save it again"
            ),
            SkipReason::Refused { format, detail } => write!(f, "the {format} file is refused: {detail}"),
            SkipReason::NoText { format } => {
                write!(f, "the {format} file holds no text; a scan needs OCR (ingest.pdf.mode)")
            }
            SkipReason::TookTooLong { format } => {
                write!(f, "reading the {format} file took longer than a document may; split it")
            }
            SkipReason::PartlyRead { format, detail, members } => {
                write!(
                    f,
                    "the {format} file was read up to a point ({detail}); {members} members were listed"
                )
            }
            SkipReason::Member { detail } => f.write_str(detail),
            SkipReason::SwitchedOff { doc_type, setting } => {
                write!(f, "{doc_type} files are left out by {setting}")
            }
            SkipReason::KeptChanging => f.write_str("the file kept changing while it was read"),
            SkipReason::Unreadable { error } => write!(f, "the file could not be read: {error}"),
            SkipReason::NotTried { detail } => f.write_str(detail),
            SkipReason::NoReader { doc_type, needs: Capability::Stt } => write!(
                f,
                "the {doc_type} file needs a transcriber; add one with `dir2mcp extras add speech`, or set stt.provider"
            ),
            SkipReason::NoReader { doc_type, .. } => write!(
                f,
                "the {doc_type} file needs OCR; add it with `dir2mcp extras add ocr`, install Tesseract, or set ocr.provider"
            ),
            SkipReason::Waiting { doc_type, needs: Capability::Stt } => {
                write!(f, "the {doc_type} file is waiting to be transcribed")
            }
            SkipReason::Waiting { doc_type, .. } => {
                write!(f, "the {doc_type} file is waiting for its text to be recognised")
            }
            SkipReason::NothingRecognized { doc_type, needs, provider } => {
                let what = if *needs == Capability::Stt { "speech" } else { "text" };
                write!(f, "{provider} found no {what} in the {doc_type} file")
            }
            SkipReason::NotRecognized { needs, provider, detail } => {
                let what = if *needs == Capability::Stt { "transcribe" } else { "recognise" };
                write!(
                    f,
                    "{provider} could not {what} it: {detail}; it is tried again with another {}.provider or model",
                    needs.as_str()
                )
            }
            SkipReason::Recorded { sentence, .. } => f.write_str(sentence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SkipReason;

    /// The stored facts and the sentence that is made of them. A changed name here is a changed state format.
    #[test]
    fn facts_as_they_are_stored_and_as_they_are_shown() {
        let rows = [
            (
                r#"{"why":"unsupported","doc_type":"audio"}"#,
                "DOC_TYPE_UNSUPPORTED: no text is extracted from audio files",
            ),
            (
                r#"{"why":"no_reader","doc_type":"image","needs":"ocr"}"#,
                "DOC_TYPE_UNSUPPORTED: the image file needs OCR; add it with `dir2mcp extras add ocr`, install Tesseract, or set ocr.provider",
            ),
            (
                r#"{"why":"no_reader","doc_type":"pdf","needs":"ocr"}"#,
                "NO_TEXT: the pdf file needs OCR; add it with `dir2mcp extras add ocr`, install Tesseract, or set ocr.provider",
            ),
            (
                r#"{"why":"no_reader","doc_type":"audio","needs":"stt"}"#,
                "DOC_TYPE_UNSUPPORTED: the audio file needs a transcriber; add one with `dir2mcp extras add speech`, or set stt.provider",
            ),
            (
                r#"{"why":"waiting","doc_type":"image","needs":"ocr"}"#,
                "TEXT_PENDING: the image file is waiting for its text to be recognised",
            ),
            (
                r#"{"why":"waiting","doc_type":"audio","needs":"stt"}"#,
                "TEXT_PENDING: the audio file is waiting to be transcribed",
            ),
            (
                r#"{"why":"nothing_recognized","doc_type":"audio","needs":"stt","provider":"local"}"#,
                "NO_TEXT: local found no speech in the audio file",
            ),
            (
                r#"{"why":"not_recognized","needs":"ocr","provider":"mistral","detail":"x"}"#,
                "OCR_FAILED: mistral could not recognise it: x; it is tried again with another ocr.provider or model",
            ),
            (
                r#"{"why":"too_large","size":9,"limit":5}"#,
                "FILE_TOO_LARGE: 9 bytes exceed the limit of 5 (ingest.max_file_mb)",
            ),
            (
                r#"{"why":"secret","rule":"aws","line":3}"#,
                "FORBIDDEN: line 3 matches the secret rule \"aws\"; if it is no secret, name the path or the line in security.allow",
            ),
            (
                r#"{"why":"symlink"}"#,
                "SYMLINK_SKIPPED: a symbolic link is not followed (ingest.follow_symlinks)",
            ),
            (r#"{"why":"special","kind":"FIFO"}"#, "SPECIAL_FILE: a FIFO is never opened"),
            (r#"{"why":"name_not_utf8"}"#, "NAME_NOT_UTF8: the file name is not UTF-8"),
            (r#"{"why":"path_too_deep"}"#, "PATH_TOO_DEEP: the path is too long to open"),
            (r#"{"why":"binary"}"#, "BINARY_SKIPPED: the content is binary"),
            (
                r#"{"why":"old_format","format":"doc","hint":"save it as docx"}"#,
                "DOC_TYPE_UNSUPPORTED: doc files are not read; save it as docx",
            ),
            (
                r#"{"why":"encrypted","format":"pdf"}"#,
                "ENCRYPTED: the pdf file needs a password; save a copy without one",
            ),
            (
                r#"{"why":"damaged","format":"pdf","detail":"x"}"#,
                "EXTRACT_FAILED: the pdf file is damaged (x); open it in its own program and save it again",
            ),
            (
                r#"{"why":"refused","format":"zip","detail":"x"}"#,
                "CONTENT_REFUSED: the zip file is refused: x",
            ),
            (
                r#"{"why":"no_text","format":"pdf"}"#,
                "NO_TEXT: the pdf file holds no text; a scan needs OCR (ingest.pdf.mode)",
            ),
            (
                r#"{"why":"took_too_long","format":"pdf"}"#,
                "TIMEOUT: reading the pdf file took longer than a document may; split it",
            ),
            (
                r#"{"why":"partly_read","format":"tar","detail":"x","members":2}"#,
                "EXTRACT_FAILED: the tar file was read up to a point (x); 2 members were listed",
            ),
            (r#"{"why":"member","detail":"a link"}"#, "MEMBER_SKIPPED: a link"),
            (
                r#"{"why":"switched_off","doc_type":"pdf","setting":"ingest.pdf.mode"}"#,
                "DOC_TYPE_UNSUPPORTED: pdf files are left out by ingest.pdf.mode",
            ),
            (r#"{"why":"kept_changing"}"#, "EXTRACT_FAILED: the file kept changing while it was read"),
            (r#"{"why":"unreadable","error":"x"}"#, "EXTRACT_FAILED: the file could not be read: x"),
            (r#"{"why":"not_tried","detail":"x"}"#, "EXTRACT_FAILED: x"),
            (r#"{"why":"recorded","code":"NO_TEXT","sentence":"x: y"}"#, "NO_TEXT: x: y"),
        ];
        for (facts, shown) in rows {
            let reason: SkipReason = serde_json::from_str(facts).unwrap();
            assert_eq!(serde_json::to_string(&reason).unwrap(), facts);
            assert_eq!(reason.to_string(), shown);
            assert_eq!(SkipReason::from_recorded(shown).to_string(), shown, "as older versions stored it");
        }
        assert_eq!(SkipReason::from_recorded("odd: text").to_string(), "EXTRACT_FAILED: odd: text");
    }
}
