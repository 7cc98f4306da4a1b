//! The page and its files, which the program carries; and the same from a folder, for work on the page.

use std::path::{Component, Path};
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dir2mcp_http::Refusal;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};

use crate::{CONSOLE, ConsoleParts};

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The page itself.
const PAGE: &str = "index.html";

/// The longest name of a file that is looked up.
const MAX_NAME: usize = 200;

/// Each file's entity tag, made once.
static TAGS: LazyLock<Vec<HeaderValue>> =
    LazyLock::new(|| EMBEDDED.iter().map(|(_, bytes)| tag(bytes)).collect());

/// The files of the page, by their paths below `web/`.
pub fn asset_names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}

struct Asset {
    bytes: Bytes,
    tag: HeaderValue,
    media_type: HeaderValue,
}

/// Answers with the page where a browser asks for a document, and as if nothing were there to everybody else: an MCP client
/// that looks for other things at these paths must not get a page for an answer.
pub(crate) async fn page(State(state): State<Arc<ConsoleParts>>, request: Request<Body>) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match is_read && wants_document(request.headers()) {
        true => found(&state, PAGE, &request),
        false => Refusal::no_such_path().into_response(),
    }
}

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Request<Body>) -> Response {
    let name = request.uri().path().strip_prefix(CONSOLE).and_then(|rest| rest.strip_prefix('/'));
    let name = name.unwrap_or_default().to_owned();
    found(&state, &name, &request)
}

fn found(state: &ConsoleParts, name: &str, request: &Request<Body>) -> Response {
    let Some(asset) = asset(state.folder.as_deref(), name) else {
        return Refusal::no_such_path().into_response();
    };
    let known = request.headers().get(IF_NONE_MATCH);
    let mut response = match known.is_some_and(|known| names(known, &asset.tag)) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => {
            let mut response = Response::new(Body::from(asset.bytes));
            response.headers_mut().insert(CONTENT_TYPE, asset.media_type);
            response
        }
    };
    response.headers_mut().insert(ETAG, asset.tag);
    response
}

/// Whether a list of entity tags, or `*`, names this one.
pub(crate) fn names(list: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(list), Ok(tag)) = (list.to_str(), tag.to_str()) else { return false };
    list.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
}

fn asset(folder: Option<&Path>, name: &str) -> Option<Asset> {
    let media_type = HeaderValue::from_static(media_type(name)?);
    let (bytes, tag) = match folder {
        Some(folder) => {
            let bytes = Bytes::from(from_folder(folder, name)?);
            let tag = tag(&bytes);
            (bytes, tag)
        }
        None => {
            let at = EMBEDDED.iter().position(|(known, _)| *known == name)?;
            (Bytes::from_static(EMBEDDED[at].1), TAGS[at].clone())
        }
    };
    Some(Asset { bytes, tag, media_type })
}

#[allow(clippy::disallowed_methods, reason = "the developer's own copy of the page, not a user's file")]
fn from_folder(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && name.len() <= MAX_NAME).then(|| std::fs::read(folder.join(name)).ok()).flatten()
}

/// Only what a page is made of.
fn media_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        _ => return None,
    })
}

fn tag(bytes: &[u8]) -> HeaderValue {
    let digest = blake3::hash(bytes).to_hex();
    HeaderValue::try_from(format!("\"{}\"", &digest[..32])).unwrap_or(HeaderValue::from_static("\"\""))
}

fn wants_document(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("text/html")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_documents_get_the_page() {
        let asks = |accept: &'static str| {
            wants_document(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
        };
        assert!(asks("text/html,application/xhtml+xml,*/*;q=0.8") && asks("Text/HTML; q=1"));
        assert!(!asks("*/*") && !asks("application/json, text/event-stream"));
        assert!(!wants_document(&HeaderMap::new()));
    }

    #[test]
    fn a_folder_gives_its_own_files_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let web = dir.path().join("web");
        std::fs::create_dir_all(web.join("lib")).unwrap();
        for (name, text) in [("web/lib/a.js", "1"), ("web/secret.token", "s"), ("outside.js", "2")] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let read = |name: &str| asset(Some(&web), name).map(|asset| asset.bytes);
        assert_eq!(read("lib/a.js").as_deref(), Some(&b"1"[..]));
        for bad in ["../outside.js", "/etc/a.js", "lib/../../outside.js", "secret.token", "", "none.js"] {
            assert!(read(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn tags_are_compared() {
        let tag = tag(b"x");
        let list = |text: String| HeaderValue::try_from(text).unwrap();
        assert!(names(&list(format!("\"a\", W/{}", tag.to_str().unwrap())), &tag));
        assert!(names(&list("*".into()), &tag) && !names(&list("\"a\"".into()), &tag));
    }
}
