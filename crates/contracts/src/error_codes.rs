//! The one table of public error codes: what each means, which HTTP status carries it, whether trying again can help.

use model::ErrorCode;

/// What went wrong in the large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Credentials, origins, sessions, sockets.
    Transport,
    /// The caller's arguments, or a path it may not have.
    Input,
    /// The index and its state directory.
    Index,
    /// A file that could not be turned into text.
    Ingestion,
    /// A service that the server calls.
    Provider,
    /// The call itself: cut short, or broken by us.
    Call,
}

impl ErrorKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Transport => "transport",
            ErrorKind::Input => "input",
            ErrorKind::Index => "index",
            ErrorKind::Ingestion => "ingestion",
            ErrorKind::Provider => "provider",
            ErrorKind::Call => "call",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorRow {
    pub code: ErrorCode,
    pub kind: ErrorKind,
    /// For doors that speak HTTP statuses; a tool failure over MCP is a result, with status 200.
    pub http_status: u16,
    pub meaning: &'static str,
}

impl ErrorRow {
    pub fn retryable(self) -> bool {
        self.code.retryable()
    }
}

/// One row per code, in the order of the dir2mcp specification, section 14, with ours behind.
pub const ERROR_CODES: &[ErrorRow] = &[
    row(ErrorCode::Unauthorized, ErrorKind::Transport, 401, "The token is missing or wrong."),
    row(ErrorCode::ForbiddenOrigin, ErrorKind::Transport, 403, "The Origin header is not on the allowlist."),
    row(
        ErrorCode::SessionNotFound,
        ErrorKind::Transport,
        404,
        "The session is unknown or has expired; initialize again.",
    ),
    row(ErrorCode::BindFailed, ErrorKind::Transport, 500, "The server could not listen on its address."),
    row(ErrorCode::TlsConfigInvalid, ErrorKind::Transport, 500, "The certificate or key could not be used."),
    row(ErrorCode::RateLimitExceeded, ErrorKind::Transport, 429, "Too many requests; wait and try again."),
    row(ErrorCode::MissingField, ErrorKind::Input, 400, "A required argument is absent."),
    row(
        ErrorCode::InvalidField,
        ErrorKind::Input,
        400,
        "An argument is unknown, of the wrong type or not acceptable.",
    ),
    row(ErrorCode::InvalidRange, ErrorKind::Input, 400, "A number is outside its allowed range."),
    row(ErrorCode::Forbidden, ErrorKind::Input, 403, "The path or its content is withheld by policy."),
    row(ErrorCode::PathOutsideRoot, ErrorKind::Input, 403, "The path leaves the root directory."),
    row(ErrorCode::FileNotFound, ErrorKind::Input, 404, "There is no such file."),
    row(
        ErrorCode::DocTypeUnsupported,
        ErrorKind::Input,
        415,
        "This kind of document has no text or no such view, or the path names a folder, a FIFO or another thing that is no file.",
    ),
    row(ErrorCode::ConfigInvalid, ErrorKind::Index, 500, "The configuration has an error."),
    row(ErrorCode::StoreCorrupt, ErrorKind::Index, 500, "The index is damaged."),
    row(ErrorCode::IndexVersionMismatch, ErrorKind::Index, 500, "The index was made by a newer version."),
    row(ErrorCode::IndexNotReady, ErrorKind::Index, 503, "There is no index yet; try again in a moment."),
    row(ErrorCode::ExtractFailed, ErrorKind::Ingestion, 422, "No text could be taken from the file."),
    row(ErrorCode::OcrFailed, ErrorKind::Ingestion, 502, "Text recognition failed."),
    row(ErrorCode::TranscribeFailed, ErrorKind::Ingestion, 502, "Transcription failed."),
    row(ErrorCode::AnnotateFailed, ErrorKind::Ingestion, 502, "Annotation failed."),
    row(ErrorCode::FileTooLarge, ErrorKind::Ingestion, 413, "The file exceeds the size limit."),
    row(ErrorCode::BinarySkipped, ErrorKind::Ingestion, 415, "The file is binary."),
    row(ErrorCode::MistralAuth, ErrorKind::Provider, 502, "Mistral refused the key."),
    row(
        ErrorCode::MistralRateLimit,
        ErrorKind::Provider,
        503,
        "Mistral limits the rate; wait and try again.",
    ),
    row(ErrorCode::MistralFailed, ErrorKind::Provider, 502, "A call to Mistral failed."),
    row(ErrorCode::ElevenlabsAuth, ErrorKind::Provider, 502, "ElevenLabs refused the key."),
    row(
        ErrorCode::ElevenlabsRateLimit,
        ErrorKind::Provider,
        503,
        "ElevenLabs limits the rate; wait and try again.",
    ),
    row(ErrorCode::ElevenlabsFailed, ErrorKind::Provider, 502, "A call to ElevenLabs failed."),
    row(
        ErrorCode::LimitExceeded,
        ErrorKind::Input,
        413,
        "A limit of the operator refuses what was asked for.",
    ),
    row(ErrorCode::Conflict, ErrorKind::Call, 409, "The same work is under way already."),
    row(
        ErrorCode::SemanticNotAvailable,
        ErrorKind::Input,
        400,
        "Search by meaning is switched off for these tools.",
    ),
    row(ErrorCode::Cancelled, ErrorKind::Call, 499, "The caller cancelled the call."),
    row(ErrorCode::Timeout, ErrorKind::Call, 504, "The call took longer than its tool allows."),
    row(ErrorCode::InternalError, ErrorKind::Call, 500, "The server made a mistake; its log says more."),
    row(
        ErrorCode::ForbiddenHost,
        ErrorKind::Transport,
        403,
        "The Host header does not name this server; add the name to server.allowed_hosts.",
    ),
    row(ErrorCode::NotFound, ErrorKind::Transport, 404, "Nothing is served at this path."),
    row(
        ErrorCode::MethodNotAllowed,
        ErrorKind::Transport,
        405,
        "This path does not take that HTTP method; the Allow header names those it takes.",
    ),
    row(ErrorCode::RequestTooLarge, ErrorKind::Transport, 413, "The request body exceeds the limit."),
    row(
        ErrorCode::SessionLimitReached,
        ErrorKind::Transport,
        503,
        "Too many sessions are open; wait as long as Retry-After says.",
    ),
    row(ErrorCode::Stopping, ErrorKind::Transport, 503, "The server is stopping; connect again in a moment."),
    row(
        ErrorCode::RootInaccessible,
        ErrorKind::Index,
        500,
        "The directory to serve cannot be read (command line only).",
    ),
    row(
        ErrorCode::IngestFailed,
        ErrorKind::Index,
        500,
        "The index cannot be written or brought up to date (command line only).",
    ),
    row(ErrorCode::NotRunning, ErrorKind::Call, 503, "No server runs for the directory (command line only)."),
    row(ErrorCode::Unhealthy, ErrorKind::Call, 500, "A check of `doctor` failed (command line only)."),
];

/// The row of a code.
pub fn error_row(code: ErrorCode) -> ErrorRow {
    // The table is in the order of the enum; a test holds it so.
    ERROR_CODES[code as usize]
}

/// The tables as Markdown, for the reference page: every code, then the words that two contracts have of their own.
pub fn error_codes_markdown() -> String {
    let mut page = all_codes();
    page.push_str(
        "\n## Codes of the `repo` and `smart` tools\n\nTheir specifications have words of their own for some of these.\n\n\
         | tools | code | stands for |\n|---|---|---|\n",
    );
    for (tools, word) in [
        ("repo", crate::repo::public_code as fn(ErrorCode) -> &'static str),
        ("smart", crate::smart::public_code),
    ] {
        let mut words: Vec<&str> = ErrorCode::ALL.iter().map(|code| word(*code)).collect();
        words.sort_unstable();
        words.dedup();
        for own in words {
            let meant: Vec<String> = ErrorCode::ALL
                .iter()
                .filter(|code| word(**code) == own && code.as_str() != own)
                .map(|code| format!("`{code}`"))
                .collect();
            let meant = match meant.len() {
                0 => continue,
                // The word for whatever has no word of its own.
                16.. => "every other code".to_owned(),
                _ => meant.join(", "),
            };
            page.push_str(&format!("| {tools} | `{own}` | {meant} |\n"));
        }
    }
    page.push_str(
        "\nThe audit log of the `repo` tools names two refusals more exactly: `POLICY_BLOCKED` (a limit of the operator) and \
         `RESPONSE_TOO_LARGE` (the answer exceeds `max_total_bytes_per_response`).\n",
    );
    page
}

fn all_codes() -> String {
    let mut page = String::from("| code | kind | HTTP | retryable | meaning |\n|---|---|---|---|---|\n");
    for row in ERROR_CODES {
        let retryable = if row.retryable() { "yes" } else { "no" };
        let kind = row.kind.as_str();
        page.push_str(&format!(
            "| `{}` | {kind} | {} | {retryable} | {} |\n",
            row.code, row.http_status, row.meaning
        ));
    }
    page
}

const fn row(code: ErrorCode, kind: ErrorKind, http_status: u16, meaning: &'static str) -> ErrorRow {
    ErrorRow { code, kind, http_status, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d137_d138_d139_d140_d141_every_code_has_its_row() {
        let listed: Vec<ErrorCode> = ERROR_CODES.iter().map(|row| row.code).collect();
        assert_eq!(listed, ErrorCode::ALL);
        for code in ErrorCode::ALL {
            assert_eq!(error_row(*code).code, *code);
        }
        assert!(ERROR_CODES.iter().all(|row| (400..600).contains(&row.http_status)));
        let specified = "UNAUTHORIZED FORBIDDEN_ORIGIN SESSION_NOT_FOUND BIND_FAILED TLS_CONFIG_INVALID \
            MISSING_FIELD INVALID_FIELD INVALID_RANGE FORBIDDEN PATH_OUTSIDE_ROOT FILE_NOT_FOUND \
            DOC_TYPE_UNSUPPORTED CONFIG_INVALID STORE_CORRUPT INDEX_VERSION_MISMATCH INDEX_NOT_READY \
            EXTRACT_FAILED OCR_FAILED TRANSCRIBE_FAILED ANNOTATE_FAILED FILE_TOO_LARGE BINARY_SKIPPED \
            MISTRAL_AUTH MISTRAL_RATE_LIMIT MISTRAL_FAILED ELEVENLABS_AUTH ELEVENLABS_RATE_LIMIT \
            ELEVENLABS_FAILED";
        for code in specified.split_whitespace() {
            assert!(ErrorCode::parse(code).is_some(), "{code}");
        }
    }

    #[test]
    fn the_reference_page_is_current() {
        let page = error_codes_markdown();
        assert!(
            include_str!("../../../docs/errors.md").ends_with(&page),
            "docs/errors.md should end with:\n{page}"
        );
        assert_eq!(all_codes().lines().count(), ERROR_CODES.len() + 2);
        assert!(page.contains("| `INDEX_NOT_READY` | index | 503 | yes |"));
    }
}
