//! The one table of operations: the server, the description and its test read it, so none of them can disagree.

use http::Method;

/// What can be asked for at one path by one method.
pub(super) struct Operation {
    pub(super) method: Method,
    /// Below [`super::API_PATH`].
    pub(super) path: &'static str,
    pub(super) answers: ApiAnswer,
    pub(super) summary: &'static str,
    /// In the query of the URL.
    pub(super) parameters: &'static [ApiParameter],
    pub(super) body: ApiBody,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiAnswer {
    /// A tool of the contract; its answer is the body.
    Tool(&'static str),
    /// The same, but the body is the `content` of its answer.
    Content(&'static str),
    Projects,
    Calls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiBody {
    None,
    /// The content of a file.
    Text,
    /// The arguments of the tool.
    Json,
}

pub(super) struct ApiParameter {
    pub(super) name: &'static str,
    pub(super) kind: ApiKind,
    pub(super) is_required: bool,
    pub(super) meaning: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiKind {
    Text,
    Whole,
    Switch,
}

const fn parameter(
    name: &'static str,
    kind: ApiKind,
    is_required: bool,
    meaning: &'static str,
) -> ApiParameter {
    ApiParameter { name, kind, is_required, meaning }
}

const PROJECT: ApiParameter = parameter("project", ApiKind::Text, true, "The project.");
const PATH: ApiParameter = parameter("path", ApiKind::Text, true, "A file, absolute within the project.");
const ANY_PATH: ApiParameter =
    parameter("path", ApiKind::Text, false, "Absolute within the project; absent is its root.");
const KEY: ApiParameter =
    parameter("idempotency_key", ApiKind::Text, false, "The same change under the same key happens once.");
const LIMIT: ApiParameter = parameter("limit", ApiKind::Whole, false, "Most items.");
const OFFSET: ApiParameter = parameter("offset", ApiKind::Whole, false, "First byte.");

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        method: Method::GET,
        path: "/stat",
        answers: ApiAnswer::Tool("file_stat"),
        summary: "What is at a path.",
        parameters: &[PROJECT, ANY_PATH],
        body: ApiBody::None,
    },
    Operation {
        method: Method::GET,
        path: "/content",
        answers: ApiAnswer::Content("file_read"),
        summary: "The content of a file. Its ETag is the digest of the whole file.",
        parameters: &[
            PROJECT,
            PATH,
            OFFSET,
            parameter("length", ApiKind::Whole, false, "Bytes; -1 is all to the end."),
        ],
        body: ApiBody::None,
    },
    Operation {
        method: Method::PUT,
        path: "/content",
        answers: ApiAnswer::Tool("file_write"),
        summary: "Writes a file; the body becomes all of it unless mode says otherwise. If-Match and If-None-Match: * are heeded.",
        parameters: &[
            PROJECT,
            PATH,
            parameter("mode", ApiKind::Text, false, "TRUNCATE (default), APPEND or OVERWRITE."),
            OFFSET,
            KEY,
        ],
        body: ApiBody::Text,
    },
    Operation {
        method: Method::DELETE,
        path: "/content",
        answers: ApiAnswer::Tool("file_delete"),
        summary: "Deletes a file or, recursively, a directory. If-Match is heeded.",
        parameters: &[
            PROJECT,
            PATH,
            parameter("recursive", ApiKind::Switch, false, "Delete all files of a directory."),
            KEY,
        ],
        body: ApiBody::None,
    },
    Operation {
        method: Method::POST,
        path: "/rename",
        answers: ApiAnswer::Tool("file_rename"),
        summary: "Moves a file or a directory.",
        parameters: &[],
        body: ApiBody::Json,
    },
    Operation {
        method: Method::GET,
        path: "/list",
        answers: ApiAnswer::Tool("file_list"),
        summary: "The files and directories below a path.",
        parameters: &[
            PROJECT,
            ANY_PATH,
            parameter("depth", ApiKind::Whole, false, "Levels below the path."),
            LIMIT,
        ],
        body: ApiBody::None,
    },
    Operation {
        method: Method::GET,
        path: "/search",
        answers: ApiAnswer::Tool("file_search"),
        summary: "Passages that answer a query; project * searches all projects.",
        parameters: &[
            PROJECT,
            parameter("query", ApiKind::Text, true, "What to look for."),
            parameter("path_prefix", ApiKind::Text, false, "What paths begin with."),
            LIMIT,
        ],
        body: ApiBody::None,
    },
    Operation {
        method: Method::GET,
        path: "/versions",
        answers: ApiAnswer::Tool("file_versions"),
        summary: "The former contents of a file.",
        parameters: &[PROJECT, PATH],
        body: ApiBody::None,
    },
    Operation {
        method: Method::GET,
        path: "/version",
        answers: ApiAnswer::Content("file_version_read"),
        summary: "A former content of a file.",
        parameters: &[
            PROJECT,
            PATH,
            parameter("version", ApiKind::Whole, true, "Its number in the list of versions."),
        ],
        body: ApiBody::None,
    },
    Operation {
        method: Method::POST,
        path: "/restore",
        answers: ApiAnswer::Tool("file_restore"),
        summary: "Makes a former content of a file its present one.",
        parameters: &[],
        body: ApiBody::Json,
    },
    Operation {
        method: Method::GET,
        path: "/projects",
        answers: ApiAnswer::Projects,
        summary: "The projects of the caller, with their files and bytes.",
        parameters: &[],
        body: ApiBody::None,
    },
    Operation {
        method: Method::GET,
        path: "/calls",
        answers: ApiAnswer::Calls,
        summary: "The caller's own calls, newest first, without the contents of files.",
        parameters: &[
            parameter("tool", ApiKind::Text, false, "Only calls of this tool."),
            parameter("caller", ApiKind::Text, false, "Only calls by this caller."),
            parameter("failed_only", ApiKind::Switch, false, "Only calls that failed."),
            parameter("from", ApiKind::Text, false, "Not before this time, RFC 3339."),
            parameter("to", ApiKind::Text, false, "Before this time, RFC 3339."),
            parameter("offset", ApiKind::Whole, false, "Calls to pass over."),
            LIMIT,
        ],
        body: ApiBody::None,
    },
];
