//! An HTTP/1.1 request as a stand-in reads it, and the parts of a form.

use std::io::{self, BufRead};

use serde_json::Value;

/// A request that a stand-in got.
#[derive(Debug, Clone, Default)]
pub struct SeenRequest {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A field of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenField {
    pub name: String,
    pub file_name: Option<String>,
    pub media_type: Option<String>,
    pub value: Vec<u8>,
}

impl SeenRequest {
    /// The next request of a connection; nothing at its end.
    pub(super) fn read(stream: &mut impl BufRead) -> io::Result<Option<SeenRequest>> {
        let Some(first) = line(stream)? else { return Ok(None) };
        let mut words = first.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = SeenRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            ..SeenRequest::default()
        };
        while let Some(header) = line(stream)?.filter(|header| !header.is_empty()) {
            if let Some((name, value)) = header.split_once(':') {
                request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        if request.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = line(stream)?.unwrap_or_default();
                let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
                let start = request.body.len();
                request.body.resize(start + size, 0);
                stream.read_exact(&mut request.body[start..])?;
                line(stream)?;
                if size == 0 {
                    break;
                }
            }
        } else if let Some(length) = request.header("content-length") {
            request.body = vec![0; length.parse().map_err(io::Error::other)?];
            stream.read_exact(&mut request.body)?;
        }
        Ok(Some(request))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null where it is something else.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The fields of a form, in order.
    pub fn fields(&self) -> Vec<SeenField> {
        let kind = self.header("content-type").unwrap_or_default();
        let Some((_, boundary)) = kind.split_once("boundary=") else { return Vec::new() };
        let boundary = format!("--{}", boundary.trim().trim_matches('"'));
        parts(&self.body, boundary.as_bytes()).into_iter().filter_map(field).collect()
    }

    /// The text of a form's field.
    pub fn field(&self, name: &str) -> Option<String> {
        let field = self.fields().into_iter().find(|field| field.name == name)?;
        Some(String::from_utf8_lossy(&field.value).into_owned())
    }

    /// The file of a form.
    pub fn file(&self) -> Option<SeenField> {
        self.fields().into_iter().find(|field| field.file_name.is_some())
    }
}

fn line(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    if stream.read_line(&mut text)? == 0 {
        return Ok(None);
    }
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// What lies between the boundaries.
fn parts<'a>(body: &'a [u8], boundary: &[u8]) -> Vec<&'a [u8]> {
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(found) = find(&body[from..], boundary) {
        starts.push(from + found);
        from += found + boundary.len();
    }
    let between = starts.windows(2).map(|pair| &body[pair[0] + boundary.len()..pair[1]]);
    between.map(|part| part.strip_suffix(b"\r\n").unwrap_or(part)).collect()
}

fn field(part: &[u8]) -> Option<SeenField> {
    let end = find(part, b"\r\n\r\n")?;
    let mut field = SeenField { value: part[end + 4..].to_vec(), ..SeenField::default() };
    for header in String::from_utf8_lossy(&part[..end]).lines() {
        let Some((name, value)) = header.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-type") {
            field.media_type = Some(value.trim().to_owned());
        } else if name.eq_ignore_ascii_case("content-disposition") {
            let parameter = |wanted: &str| {
                let mut parameters =
                    value.split(';').filter_map(|parameter| parameter.trim().split_once('='));
                parameters
                    .find(|(name, _)| *name == wanted)
                    .map(|(_, value)| value.trim_matches('"').to_owned())
            };
            field.name = parameter("name")?;
            field.file_name = parameter("filename");
        }
    }
    Some(field)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
