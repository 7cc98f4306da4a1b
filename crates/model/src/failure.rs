//! The one error that callers see: a public code, a sentence, and whether trying again can help.

use serde::{Deserialize, Serialize};

crate::document::named!(
    /// The canonical codes of the dir2mcp specification, section 14, and the few it lacks.
    ErrorCode {
        Unauthorized = "UNAUTHORIZED",
        ForbiddenOrigin = "FORBIDDEN_ORIGIN",
        SessionNotFound = "SESSION_NOT_FOUND",
        BindFailed = "BIND_FAILED",
        TlsConfigInvalid = "TLS_CONFIG_INVALID",
        RateLimitExceeded = "RATE_LIMIT_EXCEEDED",
        MissingField = "MISSING_FIELD",
        InvalidField = "INVALID_FIELD",
        InvalidRange = "INVALID_RANGE",
        Forbidden = "FORBIDDEN",
        PathOutsideRoot = "PATH_OUTSIDE_ROOT",
        FileNotFound = "FILE_NOT_FOUND",
        DocTypeUnsupported = "DOC_TYPE_UNSUPPORTED",
        ConfigInvalid = "CONFIG_INVALID",
        StoreCorrupt = "STORE_CORRUPT",
        IndexVersionMismatch = "INDEX_VERSION_MISMATCH",
        IndexNotReady = "INDEX_NOT_READY",
        ExtractFailed = "EXTRACT_FAILED",
        OcrFailed = "OCR_FAILED",
        TranscribeFailed = "TRANSCRIBE_FAILED",
        AnnotateFailed = "ANNOTATE_FAILED",
        FileTooLarge = "FILE_TOO_LARGE",
        BinarySkipped = "BINARY_SKIPPED",
        MistralAuth = "MISTRAL_AUTH",
        MistralRateLimit = "MISTRAL_RATE_LIMIT",
        MistralFailed = "MISTRAL_FAILED",
        ElevenlabsAuth = "ELEVENLABS_AUTH",
        ElevenlabsRateLimit = "ELEVENLABS_RATE_LIMIT",
        ElevenlabsFailed = "ELEVENLABS_FAILED",
        /// A limit of the operator's refuses what was asked for.
        LimitExceeded = "LIMIT_EXCEEDED",
        /// Somebody else is at it.
        Conflict = "CONFLICT",
        /// Search by meaning is switched off.
        SemanticNotAvailable = "SEMANTIC_NOT_AVAILABLE",
        /// The call was cancelled by its caller.
        Cancelled = "CANCELLED",
        /// The call took longer than its tool's limit.
        Timeout = "TIMEOUT",
        /// Ours to mend; the message says nothing of the inside.
        InternalError = "INTERNAL_ERROR",
        /// The Host header does not name this server.
        ForbiddenHost = "FORBIDDEN_HOST",
        /// Nothing is served at the path.
        NotFound = "NOT_FOUND",
        MethodNotAllowed = "METHOD_NOT_ALLOWED",
        RequestTooLarge = "REQUEST_TOO_LARGE",
        SessionLimitReached = "SESSION_LIMIT_REACHED",
        /// The server is about to end.
        Stopping = "STOPPING",
        /// The directory to serve cannot be read.
        RootInaccessible = "ROOT_INACCESSIBLE",
        /// The index cannot be written.
        IngestFailed = "INGEST_FAILED",
        /// No server runs for the directory.
        NotRunning = "NOT_RUNNING",
        /// `doctor` found something that needs mending.
        Unhealthy = "UNHEALTHY",
    }
);

impl ErrorCode {
    /// Whether the same call may succeed later without a change.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            ErrorCode::IndexNotReady
                | ErrorCode::RateLimitExceeded
                | ErrorCode::Conflict
                | ErrorCode::MistralRateLimit
                | ErrorCode::ElevenlabsRateLimit
                | ErrorCode::MistralFailed
                | ErrorCode::ElevenlabsFailed
                | ErrorCode::Timeout
                | ErrorCode::Cancelled
                | ErrorCode::SessionLimitReached
                | ErrorCode::Stopping
        )
    }
}

/// What a failed engine call says. Rendered by each contract in its own shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    pub code: ErrorCode,
    pub message: String,
    /// What to do about it, where there is more to say than the message does.
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), hint: None }
    }

    pub fn hint(self, hint: impl Into<String>) -> Failure {
        Failure { hint: Some(hint.into()), ..self }
    }

    pub fn retryable(&self) -> bool {
        self.code.retryable()
    }
}
