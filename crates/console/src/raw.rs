//! The bytes of a file, to be saved: always as an attachment that no browser shows or runs.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use model::{ContentHash, ErrorCode, Failure};

use crate::ConsoleParts;
use crate::answer::{call, refusal};
use crate::assets::names;
use crate::folders::last;
use crate::parameters::Parameters;
use crate::source::{Asker, ViewedSource};

/// More is not given out at once.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

struct RawFile {
    name: String,
    bytes: Vec<u8>,
    content_hash: ContentHash,
}

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Parts) -> Response {
    let file = match read(&state, &request).await {
        Ok(file) => file,
        Err(failure) => return refusal(&failure).into_response(),
    };
    let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", file.content_hash.to_hex())) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let known = request.headers.get(IF_NONE_MATCH);
    let mut response = match known.is_some_and(|known| names(known, &tag)) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(file.bytes)),
    };
    let headers = response.headers_mut();
    headers.insert(ETAG, tag);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_DISPOSITION, disposition(&file.name));
    response
}

async fn read(state: &ConsoleParts, request: &Parts) -> Result<RawFile, Failure> {
    let asker = Asker::of(&request.extensions);
    let given = Parameters::read(request.uri.query(), &["source", "path", "version"])?;
    let source = ViewedSource::find(state, &asker, given.required("source")?)?;
    let path = engine::invisible(given.required("path")?).into_owned();
    let call = call(asker.caller);
    match source {
        ViewedSource::Folder { engine, .. } => {
            let raw = engine.raw_document(&call, &path, MAX_BYTES).await?;
            let name = last(&raw.rel_path).to_owned();
            Ok(RawFile { name, bytes: raw.bytes, content_hash: raw.content_hash })
        }
        ViewedSource::Project { project, files, .. } => {
            let path = format!("/{}", path.trim_start_matches('/'));
            let bytes = match given.number("version", i64::MAX as u64)? {
                Some(version) => files.version_content(&call, &project, &path, version as i64).await?.bytes,
                None => files.read(&call, &project, &path, 0, -1).await?.bytes,
            };
            if bytes.len() as u64 > MAX_BYTES {
                let message =
                    format!("the file has {} bytes; at most {MAX_BYTES} are given out", bytes.len());
                return Err(Failure::new(ErrorCode::FileTooLarge, message));
            }
            let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
            Ok(RawFile { name: last(&path).to_owned(), bytes, content_hash })
        }
    }
}

/// The name in a form that no name can break out of (RFC 6266, RFC 8187).
fn disposition(name: &str) -> HeaderValue {
    let mut text = String::from("attachment; filename*=UTF-8''");
    for byte in engine::visible(name).bytes().take(500) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => text.push(char::from(byte)),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_header() {
        let shown = disposition("<img src=x onerror=alert(1)>\"; filename=a.exe\r\n.txt");
        let shown = shown.to_str().unwrap();
        assert!(shown.starts_with("attachment; filename*=UTF-8''%3Cimg%20src%3Dx"), "{shown}");
        assert!(!shown.contains(['"', '<', '\r', '\n']), "{shown}");
        assert_eq!(disposition("Ü.txt").to_str().unwrap(), "attachment; filename*=UTF-8''%C3%9C.txt");
    }
}
