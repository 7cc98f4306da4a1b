//! The one table of public codes: what each means, what kind of fault it is, which HTTP status carries it, and whether
//! trying again can help. `docs/errors.md` is made from it.

use std::fmt;

/// A public code and all that is published about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorRow {
    pub code: ErrorCode,
    /// As it is written in answers.
    pub name: &'static str,
    pub kind: ErrorKind,
    /// For routes that speak HTTP statuses; a tool failure over MCP is a result, with status 200.
    pub http_status: u16,
    /// Whether the same call may succeed later without a change.
    pub retryable: bool,
    pub meaning: &'static str,
}

/// What went wrong in the large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Credentials, origins, sessions, sockets.
    Transport,
    /// The caller's arguments, or a path it may not have.
    Input,
    /// The index and its state directory.
    Index,
    /// A file that could not be turned into text, or was left out.
    Ingestion,
    /// The tenants' file store.
    Store,
    /// A service that the server calls.
    Provider,
    /// The call itself: cut short, or broken by a bug of ours.
    Call,
}

impl ErrorKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Transport => "transport",
            ErrorKind::Input => "input",
            ErrorKind::Index => "index",
            ErrorKind::Ingestion => "ingestion",
            ErrorKind::Store => "store",
            ErrorKind::Provider => "provider",
            ErrorKind::Call => "call",
        }
    }
}

/// How a call to a provider failed, as far as its public code tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProviderFault {
    /// The key was refused.
    Auth,
    /// The provider asks for fewer calls.
    RateLimit,
    /// Everything else: unreachable, refused, or an answer that makes no sense.
    Failed,
}

macro_rules! retryable {
    (retry) => {
        true
    };
    (final) => {
        false
    };
}

/// Declares the codes, a row each: name in the source, public name, kind, HTTP status, `retry` or `final`, meaning.
/// A provider is one line and has three codes, named after it.
macro_rules! error_codes {
    (
        specified { $($variant:ident $name:literal $kind:ident $status:literal $retry:ident $meaning:literal;)+ }
        providers { $($provider:ident $provider_name:literal $spoken:literal;)+ }
        further { $($more:ident $more_name:literal $more_kind:ident $more_status:literal $more_retry:ident $more_meaning:literal;)+ }
    ) => {
        /// A public code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $variant,)+
            /// A service that the server calls failed; the published name begins with the provider's.
            Provider(Provider, ProviderFault),
            $(#[doc = $more_meaning] $more,)+
        }

        /// The services that can be called.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Provider {
            $($provider,)+
        }

        /// One row per code, in the order of the dir2mcp specification, section 14, with ours behind.
        pub const ERROR_CODES: &[ErrorRow] = &[
            $(row(ErrorCode::$variant, $name, ErrorKind::$kind, $status, retryable!($retry), $meaning),)+
            $(
                provider_row(
                    Provider::$provider,
                    ProviderFault::Auth,
                    concat!($provider_name, "_AUTH"),
                    concat!($spoken, " refused the key."),
                ),
                provider_row(
                    Provider::$provider,
                    ProviderFault::RateLimit,
                    concat!($provider_name, "_RATE_LIMIT"),
                    concat!($spoken, " limits the rate; wait and try again."),
                ),
                provider_row(
                    Provider::$provider,
                    ProviderFault::Failed,
                    concat!($provider_name, "_FAILED"),
                    concat!($spoken, " failed to answer."),
                ),
            )+
            $(row(ErrorCode::$more, $more_name, ErrorKind::$more_kind, $more_status, retryable!($more_retry), $more_meaning),)+
        ];

        impl ErrorCode {
            /// Where its row is in [`ERROR_CODES`].
            fn position(self) -> usize {
                #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
                enum Specified { $($variant,)+ Count }
                #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
                enum Counted { $($provider,)+ Count }
                enum Further { $($more,)+ }
                let further = Specified::Count as usize + 3 * Counted::Count as usize;
                match self {
                    $(ErrorCode::$variant => Specified::$variant as usize,)+
                    $(ErrorCode::Provider(Provider::$provider, fault) => {
                        Specified::Count as usize + 3 * Counted::$provider as usize + fault as usize
                    })+
                    $(ErrorCode::$more => further + Further::$more as usize,)+
                }
            }
        }
    };
}

error_codes! {
    specified {
        Unauthorized "UNAUTHORIZED" Transport 401 final "The token is missing or wrong.";
        ForbiddenOrigin "FORBIDDEN_ORIGIN" Transport 403 final "The Origin header is not on the allowlist.";
        SessionNotFound "SESSION_NOT_FOUND" Transport 404 final
            "The session is unknown or has expired; initialize again.";
        BindFailed "BIND_FAILED" Transport 500 final "The server could not listen on its address.";
        TlsConfigInvalid "TLS_CONFIG_INVALID" Transport 500 final "The certificate or key could not be used.";
        RateLimitExceeded "RATE_LIMIT_EXCEEDED" Transport 429 retry "Too many requests; wait and try again.";
        MissingField "MISSING_FIELD" Input 400 final "A required argument is absent.";
        InvalidField "INVALID_FIELD" Input 400 final "An argument is unknown, of the wrong type or not acceptable.";
        InvalidRange "INVALID_RANGE" Input 400 final "A number is outside its allowed range.";
        Forbidden "FORBIDDEN" Input 403 final "The path or its content is withheld by policy.";
        PathOutsideRoot "PATH_OUTSIDE_ROOT" Input 403 final "The path leaves the root directory.";
        FileNotFound "FILE_NOT_FOUND" Input 404 final "There is no such file.";
        DocTypeUnsupported "DOC_TYPE_UNSUPPORTED" Input 415 final
            "This kind of document has no text or no such view, or the path names a folder, a FIFO or another thing that is no file.";
        ConfigInvalid "CONFIG_INVALID" Index 500 final "The configuration has an error.";
        StoreCorrupt "STORE_CORRUPT" Index 500 final "The index is damaged.";
        IndexVersionMismatch "INDEX_VERSION_MISMATCH" Index 500 final "The index was made by a newer version.";
        IndexNotReady "INDEX_NOT_READY" Index 503 retry "There is no index yet; try again in a moment.";
        ExtractFailed "EXTRACT_FAILED" Ingestion 422 final "No text could be taken from the file.";
        OcrFailed "OCR_FAILED" Ingestion 502 final "Text recognition failed.";
        TranscribeFailed "TRANSCRIBE_FAILED" Ingestion 502 final "Transcription failed.";
        AnnotateFailed "ANNOTATE_FAILED" Ingestion 502 final "Annotation failed.";
        FileTooLarge "FILE_TOO_LARGE" Ingestion 413 final "The file exceeds the size limit.";
        BinarySkipped "BINARY_SKIPPED" Ingestion 415 final "The file is binary.";
    }
    providers {
        Mistral "MISTRAL" "Mistral";
        Elevenlabs "ELEVENLABS" "ElevenLabs";
        Other "PROVIDER" "Another provider";
    }
    further {
        LimitExceeded "LIMIT_EXCEEDED" Input 413 final "A limit of the operator refuses what was asked for.";
        Conflict "CONFLICT" Call 409 retry "The same work is under way already.";
        SemanticNotAvailable "SEMANTIC_NOT_AVAILABLE" Input 400 final
            "Search by meaning is switched off for these tools.";
        Cancelled "CANCELLED" Call 499 retry "The caller cancelled the call.";
        Timeout "TIMEOUT" Call 504 retry "The call took longer than its tool allows.";
        InternalError "INTERNAL_ERROR" Call 500 final "The server made a mistake; its log says more.";
        ForbiddenHost "FORBIDDEN_HOST" Transport 403 final
            "The Host header does not name this server; add the name to server.allowed_hosts.";
        NotFound "NOT_FOUND" Transport 404 final
            "Nothing is there: no page of the server at this address, or no file of the store at this path.";
        MethodNotAllowed "METHOD_NOT_ALLOWED" Transport 405 final
            "This path does not take that HTTP method; the Allow header names those it takes.";
        RequestTooLarge "REQUEST_TOO_LARGE" Transport 413 final "The request body exceeds the limit.";
        SessionLimitReached "SESSION_LIMIT_REACHED" Transport 503 retry
            "Too many sessions are open; wait as long as Retry-After says.";
        Stopping "STOPPING" Transport 503 retry "The server is stopping; connect again in a moment.";
        RootInaccessible "ROOT_INACCESSIBLE" Index 500 final "The directory to serve cannot be read.";
        IngestFailed "INGEST_FAILED" Index 500 final
            "The index cannot be written or brought up to date: no space is left, or no permission.";
        NotRunning "NOT_RUNNING" Call 503 final "No server runs for the directory (command line only).";
        Unhealthy "UNHEALTHY" Call 500 final "A check of `doctor` or `store check` failed (command line only).";
        ExtraFailed "EXTRA_FAILED" Call 500 final "An extra could not be added or removed (command line only).";
        SymlinkSkipped "SYMLINK_SKIPPED" Ingestion 415 final
            "A symbolic link that is not followed, or leads out of the root (reason of a file).";
        SpecialFile "SPECIAL_FILE" Ingestion 415 final "A FIFO, socket or device (reason of a file).";
        NameNotUtf8 "NAME_NOT_UTF8" Ingestion 415 final "The file name is not UTF-8 (reason of a file).";
        PathTooDeep "PATH_TOO_DEEP" Ingestion 415 final "The path is too long to open (reason of a file).";
        Encrypted "ENCRYPTED" Ingestion 415 final "The document needs a password (reason of a file).";
        ContentRefused "CONTENT_REFUSED" Ingestion 415 final
            "The document is built to exhaust its reader, or exceeds the limits (reason of a file).";
        NoText "NO_TEXT" Ingestion 415 final "The document holds no text; a scan needs OCR (reason of a file).";
        TextPending "TEXT_PENDING" Ingestion 503 retry
            "The text of a picture, a scan or a recording is being made in the background (reason of a file).";
        AlreadyExists "ALREADY_EXISTS" Store 409 final "Something is at the destination already (file store).";
        IsDirectory "IS_DIRECTORY" Store 409 final "The path names a directory, not a file (file store).";
        NotDirectory "NOT_DIRECTORY" Store 409 final "A parent of the path is a file (file store).";
        InvalidPath "INVALID_PATH" Store 400 final "The project or the path is not acceptable (file store).";
        InvalidOffset "INVALID_OFFSET" Store 400 final "An offset, a length, a depth or the mode is not acceptable (file store).";
        InvalidQuery "INVALID_QUERY" Store 400 final
            "The query is empty, or an argument that has no code of its own is not acceptable (file store).";
        NotEmpty "NOT_EMPTY" Store 409 final "The directory holds files; delete it recursively (file store).";
        PermissionDenied "PERMISSION_DENIED" Store 403 final "The caller has no key, or the operation is not allowed (file store).";
        PayloadTooLarge "PAYLOAD_TOO_LARGE" Store 413 final "The content, or the file it would make, exceeds its limit (file store).";
        QuotaExceeded "QUOTA_EXCEEDED" Store 507 final "The project or the tenant has no room for it (file store).";
        RateLimited "RATE_LIMITED" Store 429 retry "The tenant calls too often; wait as long as the message says (file store).";
        ResourceBusy "RESOURCE_BUSY" Store 503 retry "Another change of the project is under way, or the store cannot be reached (file store).";
        SearchBackendError "SEARCH_BACKEND_ERROR" Store 503 retry "Neither words nor meaning can be searched at the moment (file store).";
        PreconditionFailed "PRECONDITION_FAILED" Store 412 final "The file is not the one that the caller expected (file store).";
        MemberSkipped "MEMBER_SKIPPED" Ingestion 415 final "A member of an archive that is left out (reason of a file).";
    }
}

impl ErrorCode {
    /// All that is published about it.
    pub fn row(self) -> &'static ErrorRow {
        &ERROR_CODES[self.position()]
    }

    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Reads the public name, whatever its case.
    pub fn parse(name: &str) -> Option<ErrorCode> {
        ERROR_CODES.iter().find(|row| row.name.eq_ignore_ascii_case(name)).map(|row| row.code)
    }

    /// Whether the same call may succeed later without a change.
    pub fn retryable(self) -> bool {
        self.row().retryable
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const fn row(
    code: ErrorCode,
    name: &'static str,
    kind: ErrorKind,
    http_status: u16,
    retryable: bool,
    meaning: &'static str,
) -> ErrorRow {
    ErrorRow { code, name, kind, http_status, retryable, meaning }
}

const fn provider_row(
    provider: Provider,
    fault: ProviderFault,
    name: &'static str,
    meaning: &'static str,
) -> ErrorRow {
    let (http_status, retryable) = match fault {
        ProviderFault::Auth => (502, false),
        ProviderFault::RateLimit => (503, true),
        ProviderFault::Failed => (502, true),
    };
    row(ErrorCode::Provider(provider, fault), name, ErrorKind::Provider, http_status, retryable, meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d137_d138_d139_d140_d141_every_code_finds_its_row() {
        let mut names = std::collections::HashSet::new();
        for row in ERROR_CODES {
            assert_eq!(row.code.row(), row);
            assert_eq!(ErrorCode::parse(&row.name.to_lowercase()), Some(row.code));
            assert!(names.insert(row.name), "{} is listed twice", row.name);
            assert!((400..600).contains(&row.http_status), "{}", row.name);
        }
        let specified = "UNAUTHORIZED FORBIDDEN_ORIGIN SESSION_NOT_FOUND BIND_FAILED TLS_CONFIG_INVALID \
            MISSING_FIELD INVALID_FIELD INVALID_RANGE FORBIDDEN PATH_OUTSIDE_ROOT FILE_NOT_FOUND \
            DOC_TYPE_UNSUPPORTED CONFIG_INVALID STORE_CORRUPT INDEX_VERSION_MISMATCH INDEX_NOT_READY \
            EXTRACT_FAILED OCR_FAILED TRANSCRIBE_FAILED ANNOTATE_FAILED FILE_TOO_LARGE BINARY_SKIPPED \
            MISTRAL_AUTH MISTRAL_RATE_LIMIT MISTRAL_FAILED ELEVENLABS_AUTH ELEVENLABS_RATE_LIMIT \
            ELEVENLABS_FAILED";
        for code in specified.split_whitespace() {
            assert!(ErrorCode::parse(code).is_some(), "{code}");
        }
        let refused = ErrorCode::Provider(Provider::Elevenlabs, ProviderFault::RateLimit);
        assert_eq!((refused.as_str(), refused.retryable()), ("ELEVENLABS_RATE_LIMIT", true));
    }
}
