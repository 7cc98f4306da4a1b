//! A file as the page shows it: its text by lines in colours, a document by its pages, Markdown as a tree, a table as rows.

mod lines;
mod markdown;
mod parts;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::{DocumentView, Engine, Language, TenantFiles, ViewedText};
use http::header::{ETAG, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use model::{Caller, DocType, ErrorCode, Failure, Pointer, RepType, filetype};
use serde_json::{Map, Value, json};

use crate::ConsoleParts;
use crate::answer::{call, json_response, refusal};
use crate::assets::names;
use crate::documents::reason_json;
use crate::folders::{first_page, last, listing};
use crate::me::EDIT_BYTES;
use crate::parameters::Parameters;
use crate::source::{Asker, ViewedSource};

/// Lines of one answer.
pub(crate) const MAX_LINES: usize = 20_000;

/// Text of one answer.
pub(crate) const MAX_TEXT_BYTES: usize = 2 << 20;

/// Longer Markdown is shown as text.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// Then a text is shown without colours.
const COLOUR_TIME: Duration = Duration::from_secs(2);

/// Declarations of one file.
const MAX_OUTLINE: usize = 5000;

/// Which part of a file is asked for.
#[derive(Debug, Clone, Default)]
struct Wanted {
    from: Option<usize>,
    lines: Option<usize>,
    part: Option<u32>,
}

/// What is shown, before it is worded: where it came from does not matter any more.
struct Shown {
    path: String,
    doc_type: DocType,
    text: Option<ViewedText>,
    /// A text that is edited here keeps its bytes; what is shown is made harmless.
    is_document: bool,
    fields: Map<String, Value>,
}

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Parts) -> Response {
    match view(&state, &request).await {
        Ok(response) => response,
        Err(failure) => refusal(&failure).into_response(),
    }
}

async fn view(state: &ConsoleParts, request: &Parts) -> Result<Response, Failure> {
    let asker = Asker::of(&request.extensions);
    let query = request.uri.query().unwrap_or_default();
    let known = ["source", "path", "from", "lines", "page", "t", "version"];
    let given = Parameters::read(Some(query), &known)?;
    let source = ViewedSource::find(state, &asker, given.required("source")?)?;
    let path = engine::invisible(given.required("path")?).into_owned();
    let most = u64::from(u32::MAX);
    let wanted = Wanted {
        from: given.number("from", most)?.map(|from| (from as usize).max(1)),
        lines: given.number("lines", most)?.map(|lines| (lines as usize).clamp(1, MAX_LINES)),
        part: given.number("page", most)?.map(|part| part as u32),
    };
    // Where a recording begins to play is the page's business.
    given.number("t", most)?;
    let version = given.number("version", i64::MAX as u64)?.map(|version| version as i64);
    let shown = match source {
        ViewedSource::Folder { name, engine } => {
            match in_folder(&engine, asker.caller, &name, &path).await? {
                Found::Entries(entries) => return Ok(json_response(entries)),
                Found::Document(shown) => *shown,
            }
        }
        ViewedSource::Project { name, project, files } => {
            in_project(&files, asker.caller, (&name, &project), &path, version).await?
        }
    };
    let tag = tag(&shown, query, state.version);
    if request.headers.get(IF_NONE_MATCH).is_some_and(|known| names(known, &tag)) {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        response.headers_mut().insert(ETAG, tag);
        return Ok(response);
    }
    let mut response = json_response(worded(shown, wanted).await?);
    response.headers_mut().insert(ETAG, tag);
    Ok(response)
}

/// Changes with everything that the answer depends on.
fn tag(shown: &Shown, query: &str, version: &str) -> HeaderValue {
    let mut hash = blake3::Hasher::new();
    for part in [query, version, &Value::Object(shown.fields.clone()).to_string()] {
        hash.update(part.as_bytes());
        hash.update(b"\0");
    }
    // Recognised and transcribed texts appear while the bytes stay as they are.
    hash.update(shown.text.as_ref().map_or(b"", |text| text.text.as_bytes()));
    let digest = hash.finalize().to_hex();
    HeaderValue::try_from(format!("\"{}\"", &digest[..32])).unwrap_or(HeaderValue::from_static("\"\""))
}

enum Found {
    /// A folder or an archive.
    Entries(Value),
    Document(Box<Shown>),
}

async fn in_folder(engine: &Engine, caller: Caller, source: &str, path: &str) -> Result<Found, Failure> {
    let asking = call(caller.clone());
    let inside = path.trim_matches('/');
    let entries = |kind: &'static str| {
        let caller = caller.clone();
        async move {
            let mut found = listing(engine, caller, source, first_page(inside.to_owned())).await?;
            found["kind"] = json!(kind);
            found["name"] = json!(last(inside));
            Ok::<Value, Failure>(found)
        }
    };
    if inside.is_empty() {
        return entries("folder").await.map(Found::Entries);
    }
    let view = match engine.view_document(&asking, path).await {
        Ok(view) => view,
        Err(failure) if failure.code != ErrorCode::Forbidden => {
            return entries("folder").await.map(Found::Entries).map_err(|_| failure);
        }
        Err(failure) => return Err(failure),
    };
    if view.doc_type == DocType::Archive {
        let mut found =
            entries("archive").await.unwrap_or_else(|_| json!({ "kind": "archive", "entries": [] }));
        let fields = about(source, &view);
        found.as_object_mut().into_iter().for_each(|found| {
            for (name, value) in &fields {
                found.entry(name.clone()).or_insert_with(|| value.clone());
            }
        });
        return Ok(Found::Entries(found));
    }
    let fields = about(source, &view);
    let DocumentView { rel_path, doc_type, text, .. } = view;
    let text = text.ok();
    let is_document = text.as_ref().is_some_and(|text| !text.units.is_empty());
    Ok(Found::Document(Box::new(Shown { path: rel_path, doc_type, text, is_document, fields })))
}

/// What is known of a document besides its text.
fn about(source: &str, view: &DocumentView) -> Map<String, Value> {
    let (status, reason) = match &view.indexed {
        Some((status, reason)) => (Some(status.as_str()), reason.as_ref().map(reason_json)),
        None => (None, None),
    };
    let lack = view.text.as_ref().err().map(|failure| {
        json!({ "code": failure.code.as_str(), "message": contracts::failure_sentence(failure), "remedy": null })
    });
    let fields = json!({
        "source": source,
        "path": view.rel_path,
        "name": last(&view.rel_path),
        "doc_type": view.doc_type.as_str(),
        "content_hash": view.content_hash.map(|hash| hash.to_hex()),
        "size_bytes": view.size,
        "changed_since_indexed": view.changed_since_indexed,
        "status": status,
        "reason": reason.or(lack),
        "writable": false,
        "editable": false,
        "version": null,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

async fn in_project(
    files: &TenantFiles,
    caller: Caller,
    (source, project): (&str, &str),
    path: &str,
    version: Option<i64>,
) -> Result<Shown, Failure> {
    let asking = call(caller);
    let path = format!("/{}", path.trim_start_matches('/'));
    let (bytes, about_version) = match version {
        Some(version) => {
            let content = files.version_content(&asking, project, &path, version).await?;
            let at = contracts::files::store_time_text(Some(content.version.created_at));
            (content.bytes, json!({ "id": version, "replaced_at": at }))
        }
        None => {
            let slice = files.read(&asking, project, &path, 0, -1).await?;
            let at = contracts::files::store_time_text(Some(slice.updated_at));
            (slice.bytes, json!({ "id": null, "updated_at": at }))
        }
    };
    let content_hash = model::ContentHash(*blake3::hash(&bytes).as_bytes()).to_hex();
    let (size, kind) = (bytes.len() as u64, doc_type_of(&path));
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let is_media = matches!(kind, DocType::Image | DocType::Audio);
    let is_editable = version.is_none() && text.is_some() && size <= EDIT_BYTES && !is_media;
    let reason = text.is_none().then(|| {
        json!({ "code": ErrorCode::BinarySkipped.as_str(), "message": "the file is not text", "remedy": null })
    });
    let fields = json!({
        "source": source,
        "path": path,
        "name": last(&path),
        "doc_type": kind.as_str(),
        "content_hash": content_hash,
        "size_bytes": size,
        "changed_since_indexed": false,
        "status": null,
        "reason": reason,
        "writable": version.is_none(),
        "editable": is_editable,
        "version": about_version,
    });
    let Value::Object(fields) = fields else {
        return Err(Failure::new(ErrorCode::InternalError, "no fields"));
    };
    let text = text.map(|text| ViewedText {
        rep_type: RepType::RawText,
        title: None,
        text: text.replace("\r\n", "\n"),
        units: Vec::new(),
        parts: 0,
    });
    Ok(Shown { path, doc_type: kind, text, is_document: false, fields })
}

/// By the name alone, as the store knows nothing else of a file.
fn doc_type_of(path: &str) -> DocType {
    let name = last(path).to_ascii_lowercase();
    let kind = filetype::by_name(&name).or_else(|| filetype::by_extension(filetype::extension(&name)?));
    kind.and_then(|kind| kind.doc_type).unwrap_or(DocType::Text)
}

/// Puts the answer together off the async threads. Colours have a time of their own.
async fn worded(shown: Shown, wanted: Wanted) -> Result<Value, Failure> {
    let stop = Arc::new(AtomicUsize::new(0));
    let stopping = StopColours(Arc::clone(&stop));
    let timer = tokio::spawn(async move {
        tokio::time::sleep(COLOUR_TIME).await;
        drop(stopping);
    });
    let built = tokio::task::spawn_blocking(move || build(shown, &wanted, &stop)).await;
    timer.abort();
    built.map_err(|error| {
        tracing::error!(%error, "a view ended abnormally");
        Failure::new(ErrorCode::InternalError, "the file cannot be shown; see the server's log")
    })
}

/// Ends the colouring when its time is over, or when nobody waits for it any more.
struct StopColours(Arc<AtomicUsize>);

impl Drop for StopColours {
    fn drop(&mut self) {
        self.0.store(1, Ordering::SeqCst);
    }
}

fn build(shown: Shown, wanted: &Wanted, stop: &AtomicUsize) -> Value {
    let Shown { path, doc_type, text, is_document, mut fields } = shown;
    let media = matches!(doc_type, DocType::Image | DocType::Audio)
        .then(|| json!({ "type": media_type(&path), "bytes": fields.get("size_bytes") }));
    let rep_type = text.as_ref().map(|text| text.rep_type.as_str());
    fields.insert("rep_type".into(), json!(rep_type));
    let kind = match &text {
        None if doc_type == DocType::Image => "image",
        None if doc_type == DocType::Audio => "time",
        None => "none",
        Some(_) if doc_type == DocType::Image => "image",
        Some(text) if is_document => {
            match text.units.iter().all(|unit| matches!(unit.pointer, Pointer::Time { .. })) {
                true => "time",
                false => "pages",
            }
        }
        Some(_) if doc_type == DocType::Md => "markdown",
        Some(_) if table::separator(&path).is_some() => "table",
        Some(_) if doc_type == DocType::Code => "code",
        Some(_) => "text",
    };
    fields.insert("kind".into(), json!(kind));
    if let Some(media) = media {
        fields.insert("media".into(), media);
    }
    let Some(text) = text else {
        if kind == "time" {
            fields.insert("segments".into(), json!([]));
        }
        fields.insert("language".into(), Value::Null);
        return Value::Object(fields);
    };
    match kind {
        "time" => {
            fields.insert("segments".into(), parts::segments(&text.units));
            fields.insert("language".into(), Value::Null);
        }
        "pages" => {
            fields.insert("language".into(), Value::Null);
            fields.insert("title".into(), json!(text.title));
            fields.extend(parts::worded(&text, wanted.part, wanted.from));
        }
        _ => {
            plain(&mut fields, &path, &text.text, wanted, stop);
            if kind == "markdown" && wanted.from.is_none() && text.text.len() <= MAX_PAGE_BYTES {
                fields.insert("page".into(), markdown::tree(&text.text));
            }
            if let Some(separator) = table::separator(&path).filter(|_| kind == "table") {
                fields.insert("table".into(), table::rows(&text.text, separator, wanted.from.unwrap_or(1)));
            }
        }
    }
    Value::Object(fields)
}

/// Lines with their colours, and what they declare.
fn plain(fields: &mut Map<String, Value>, path: &str, text: &str, wanted: &Wanted, stop: &AtomicUsize) {
    // Before anything is measured: places in what is shown are places in what is sent.
    let text = engine::visible(text);
    let language = Language::detect(path, &text);
    let window = lines::Window::of(&text, wanted.from.unwrap_or(1), wanted.lines.unwrap_or(MAX_LINES));
    let pieces = language.and_then(|language| engine::colour(language, &text, stop));
    let tokens = pieces.map(|pieces| window.tokens(&pieces)).unwrap_or_default();
    fields.insert("language".into(), json!(language.map(Language::name)));
    fields.insert("classes".into(), if tokens.is_empty() { json!([]) } else { json!(engine::COLOURS) });
    fields.insert("tokens".into(), json!(tokens));
    fields.insert("lines".into(), window.json());
    let outline = engine::outline_of(path, &text);
    let (symbols, shortfall) = outline.map_or((Vec::new(), None), |found| (found.symbols, found.shortfall));
    let symbols: Vec<Value> = symbols
        .iter()
        .take(MAX_OUTLINE)
        .map(|symbol| {
            json!({
                "kind": symbol.kind.as_str(),
                "name": symbol.name,
                "signature": symbol.signature.chars().take(300).collect::<String>(),
                "start_line": symbol.start_line,
                "end_line": symbol.end_line,
                "depth": symbol.level,
            })
        })
        .collect();
    fields.insert("outline".into(), json!(symbols));
    fields.insert("outline_shortfall".into(), json!(shortfall));
}

/// What a browser may be told that the bytes are; they leave as a stream of octets all the same.
fn media_type(path: &str) -> &'static str {
    match filetype::extension(path).unwrap_or_default().to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "tif" | "tiff" => "image/tiff",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "m4a" | "mp4" | "aac" => "audio/mp4",
        "aif" | "aiff" => "audio/aiff",
        _ => "application/octet-stream",
    }
}
