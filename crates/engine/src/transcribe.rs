//! Transcribing a recording on demand: now, and not when its turn comes in the background.

use std::sync::Arc;

use ingest::{DocumentDesk, LoadedDocument, TranscribeWish};
use model::{DocType, ErrorCode, Failure, Transcriber, Transcript};

use crate::call::Call;
use crate::engine::Engine;
use crate::open_file::unsupported;
use crate::shared::SharedEngine;

/// Told how many milliseconds of a recording are done.
pub type TranscribeProgress = Arc<dyn Fn(u64) + Send + Sync>;

#[derive(Clone)]
pub struct TranscribeRequest {
    /// As the caller wrote it.
    pub path: String,
    /// As ISO 639-1; the model finds out where none is given.
    pub language: Option<String>,
    pub timestamps: bool,
    /// Also where there is a transcript already.
    pub again: bool,
    pub progress: Option<TranscribeProgress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscribeReport {
    pub rel_path: String,
    pub transcript: Transcript,
    /// It was made now, and not found.
    pub transcribed: bool,
    /// It can be searched.
    pub indexed: bool,
}

impl Engine {
    /// The transcript of a recording: the one that is kept where it is what was asked for, else a new one, which is kept and
    /// can be searched at once. Two who ask for the same recording pay for it once.
    pub async fn transcribe(
        &self,
        call: &Call,
        request: TranscribeRequest,
    ) -> Result<TranscribeReport, Failure> {
        let shared = Arc::clone(&self.shared);
        let path = request.path.clone();
        let (desk, document) = call.blocking(move |_| shared.recording(&path)).await?;
        let turn = tokio::select! {
            biased;
            failure = call.ended() => return Err(failure),
            turn = desk.turns.take(document.content_hash) => turn,
        };
        let known = {
            let (desk, document, request) = (Arc::clone(&desk), Arc::clone(&document), request.clone());
            call.blocking(move |_| {
                let kept = desk.kept(&document.content_hash)?.transcript;
                let Some(transcript) = kept.filter(|kept| fits(kept, &request)) else { return Ok(None) };
                let row = desk.index.document(document.path.as_str())?;
                let indexed = row.is_some_and(|row| {
                    row.content_hash == Some(document.content_hash) && row.reason.is_none()
                });
                Ok(Some(report(&document, transcript, false, indexed)))
            })
            .await?
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let transcriber = self.shared.providers.transcriber.clone().ok_or_else(no_transcriber)?;
        let transcript = tokio::select! {
            biased;
            failure = call.ended() => return Err(failure),
            transcript = make(transcriber.as_ref(), &desk, &document, &request) => transcript?,
        };
        let shared = Arc::clone(&self.shared);
        // It is paid for: it is kept also where the caller is gone.
        let keep = call.detached();
        keep.blocking(move |_| {
            let _turn = turn;
            let indexed = shared.is_writer() && desk.put_transcript(&document, &transcript)?;
            if indexed {
                shared.after_reading();
            }
            Ok(report(&document, transcript, true, indexed))
        })
        .await
    }
}

impl SharedEngine {
    /// A recording with its bytes.
    fn recording(&self, path: &str) -> Result<(Arc<DocumentDesk>, Arc<LoadedDocument>), Failure> {
        let path = self.located(path)?;
        let desk = self.desk()?;
        let document = desk.load(&path).map_err(|failure| self.with_suggestions(failure, path.as_str()))?;
        match document.doc_type() {
            DocType::Audio => Ok((Arc::new(desk), Arc::new(document))),
            other => Err(unsupported(&path, other, "is no recording")),
        }
    }
}

async fn make(
    transcriber: &dyn Transcriber,
    desk: &DocumentDesk,
    document: &Arc<LoadedDocument>,
    request: &TranscribeRequest,
) -> Result<Transcript, Failure> {
    let wish = TranscribeWish {
        language: request.language.as_deref(),
        timestamps: request.timestamps,
        on_progress: request.progress.as_deref().map(|told| told as &(dyn Fn(u64) + Send + Sync)),
    };
    ingest::transcribe(transcriber, &desk.options.reader, document, wish)
        .await
        .map_err(|error| error.failure(ErrorCode::TranscribeFailed))
}

/// Whether a transcript is what is asked for.
fn fits(kept: &Transcript, request: &TranscribeRequest) -> bool {
    let same_language = match (&request.language, &kept.language) {
        (Some(wanted), Some(known)) => wanted.eq_ignore_ascii_case(known),
        (Some(_), None) => false,
        (None, _) => true,
    };
    !request.again && same_language && (kept.has_times || !request.timestamps)
}

fn report(
    document: &LoadedDocument,
    transcript: Transcript,
    transcribed: bool,
    indexed: bool,
) -> TranscribeReport {
    TranscribeReport { rel_path: document.path.as_str().to_owned(), transcript, transcribed, indexed }
}

fn no_transcriber() -> Failure {
    Failure::new(ErrorCode::TranscribeFailed, "no transcriber is set up")
        .hint("Add one with `dir2mcp extras add speech`, or set stt.provider.")
}
