//! Mail: the headers that people know, the text, and what is attached as far as it can be read. One message or a box of them.
//!
//! The text of an attachment follows that of its message, below a line with its name. Archives are listed by name only.

use std::rc::Rc;

use encoding_rs::Encoding;
use model::Pointer;

use crate::diagnostic::Diagnostic;
use crate::extraction::Unit;
use crate::format::{Format, sniff};
use crate::formats::{self, html};
use crate::limits::Limit;
use crate::raw_text::{Extracted, raw_text};
use crate::sink::{Halt, Outcome, Sink};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    sink.parts = 1;
    message(bytes, 1, sink)
}

pub(super) fn read_mailbox(bytes: &[u8], sink: &mut Sink) -> Outcome {
    // A message begins with a line `From …` at the beginning or after an empty line.
    let mut starts: Vec<usize> = Vec::new();
    if bytes.starts_with(b"From ") {
        starts.push(0);
    }
    for at in memchr::memmem::find_iter(bytes, b"\nFrom ") {
        if bytes[..at].ends_with(b"\n") || bytes[..at].ends_with(b"\n\r") {
            starts.push(at + 1);
        }
    }
    if starts.is_empty() {
        return read(bytes, sink);
    }
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(bytes.len());
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        sink.parts = number;
        let body = &bytes[*start..end];
        let first_line = memchr::memchr(b'\n', body).map_or(body.len(), |at| at + 1);
        message(&body[first_line..], number, sink)?;
    }
    Ok(())
}

fn message(bytes: &[u8], number: u32, sink: &mut Sink) -> Outcome {
    let mut out = String::new();
    let subject = write_message(bytes, &mut out, sink)?;
    if number == 1
        && let Some(subject) = &subject
    {
        sink.title(subject);
    }
    sink.unit(Pointer::Message { message: number }, subject.as_deref(), &out)
}

/// What is left to do, so that messages within messages need no recursion.
struct Part<'a> {
    bytes: std::borrow::Cow<'a, [u8]>,
    depth: u32,
    /// The whole of a message, with headers worth showing.
    is_message: bool,
}

/// Writes headers and text; gives the subject.
fn write_message(bytes: &[u8], out: &mut String, sink: &mut Sink) -> Outcome<Option<String>> {
    let mut subject = None;
    let mut todo = vec![Part { bytes: bytes.into(), depth: 0, is_message: true }];
    while let Some(part) = todo.pop() {
        sink.meter.spend(10 + part.bytes.len() as u64 / 64)?;
        let (headers, body) = split(&part.bytes);
        if part.is_message {
            for name in ["Subject", "From", "To", "Cc", "Date"] {
                if let Some(value) = headers.get(name) {
                    let value = decode_words(&value);
                    out.push_str(&format!("{name}: {value}\n"));
                    if name == "Subject" && part.depth == 0 {
                        subject = Some(value);
                    }
                }
            }
            out.push('\n');
        }
        let kind = headers.kind();
        let name = headers.file_name(&kind);
        let media = kind.media.as_str();
        let attached = headers.get("Content-Disposition").is_some_and(|value| {
            value.trim_start().get(..10).is_some_and(|word| word.eq_ignore_ascii_case("attachment"))
        });
        if let Some(boundary) = kind.boundary.as_deref().filter(|_| media.starts_with("multipart/")) {
            if part.depth >= sink.meter.limits().max_depth.saturating_mul(4) {
                continue;
            }
            let mut parts = multipart(body, boundary);
            if media == "multipart/alternative" {
                // The last that we can read is the richest, the plain one reads best.
                let plain = |part: &[u8]| split(part).0.kind().media == "text/plain";
                let best = parts.iter().copied().find(|part| plain(part)).or(parts.last().copied());
                parts = best.into_iter().collect();
            }
            for inner in parts.into_iter().rev() {
                todo.push(Part { bytes: inner.to_vec().into(), depth: part.depth + 1, is_message: false });
            }
        } else if media == "message/rfc822" {
            if part.depth < sink.meter.limits().max_depth {
                let inner = headers.transfer(body).into_owned();
                todo.push(Part { bytes: inner.into(), depth: part.depth + 1, is_message: true });
            }
        } else if (media == "text/plain" || media == "text/html" || media.is_empty()) && !attached {
            let text = charset(&headers.transfer(body), kind.charset.as_deref());
            if media == "text/html" {
                out.push_str(&html::convert(&text, &sink.meter)?.text());
            } else {
                out.push_str(&text);
            }
            out.push_str("\n\n");
        } else if let Some(name) = name {
            let content = headers.transfer(body);
            if media.starts_with("text/") || media == "application/json" {
                out.push_str(&format!("Attachment: {name}\n"));
                out.push_str(&charset(&content, kind.charset.as_deref()));
                out.push_str("\n\n");
                continue;
            }
            match sniff(&name, &content) {
                Some(Format::Eml) if part.depth < sink.meter.limits().max_depth => {
                    out.push_str(&format!("Attachment: {name}\n"));
                    let inner = content.into_owned().into();
                    todo.push(Part { bytes: inner, depth: part.depth + 1, is_message: true });
                }
                format => write_attachment(&name, media, format, &content, out, sink),
            }
        }
    }
    Ok(subject)
}

/// Writes the text of an attached document; its name alone where it has no text that can be read here.
fn write_attachment(
    name: &str,
    media: &str,
    format: Option<Format>,
    content: &[u8],
    out: &mut String,
    sink: &mut Sink,
) {
    let has_room = (out.len() as u64) < sink.meter.limits().max_output_chars;
    let units = match format {
        _ if !has_room => Vec::new(),
        Some(format) if format.is_archive() || matches!(format, Format::Eml | Format::Mbox) => Vec::new(),
        Some(format) => {
            let mut inner = Sink::new(format, Rc::clone(&sink.meter));
            // A damaged attachment costs itself only. Where the work or the time is used up, the next part notices.
            let refused = matches!(
                formats::reader(format)(content, &mut inner),
                Err(Halt::Skip(_) | Halt::Limit(Limit::Ratio))
            );
            if refused { Vec::new() } else { inner.units }
        }
        None if media.starts_with("image/") => Vec::new(),
        None => {
            let text = text_of(content);
            vec![Unit { pointer: Pointer::Document, title: None, text }]
        }
    };
    let has_several = units.len() > 1;
    let mut is_read = false;
    for unit in units.iter().filter(|unit| !unit.text.trim().is_empty()) {
        let place = if has_several { format!(", {}", unit.pointer) } else { String::new() };
        out.push_str(&format!("Attachment: {name}{place}\n{}\n\n", unit.text));
        is_read = true;
    }
    if !is_read {
        out.push_str(&format!("Attachment: {name}\n"));
        sink.note(Diagnostic::Attachment { name: name.to_owned() });
    }
}

struct Headers(Vec<(String, String)>);

struct ContentType {
    media: String,
    boundary: Option<String>,
    charset: Option<String>,
    name: Option<String>,
}

/// Headers and body.
fn split(bytes: &[u8]) -> (Headers, &[u8]) {
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        let line = match line {
            [head @ .., b'\r', b'\n'] | [head @ .., b'\n'] => head,
            whole => whole,
        };
        rest = after;
        if line.is_empty() {
            break;
        }
        let text = text_of(line);
        if text.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(text.trim());
            }
        } else if let Some((name, value)) = text.split_once(':') {
            if headers.len() < 1000 {
                headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        } else if headers.is_empty() {
            // No headers at all: all of it is text.
            return (Headers(headers), bytes);
        }
    }
    (Headers(headers), rest)
}

impl Headers {
    fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }

    fn kind(&self) -> ContentType {
        let value = self.get("Content-Type").unwrap_or_default();
        let media = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        ContentType {
            media,
            boundary: parameter(&value, "boundary"),
            charset: parameter(&value, "charset"),
            name: parameter(&value, "name"),
        }
    }

    fn file_name(&self, kind: &ContentType) -> Option<String> {
        let given = self.get("Content-Disposition").and_then(|value| parameter(&value, "filename"));
        given.or_else(|| kind.name.clone()).map(|name| decode_words(&name)).filter(|name| !name.is_empty())
    }

    /// The body without its transfer encoding.
    fn transfer<'b>(&self, body: &'b [u8]) -> std::borrow::Cow<'b, [u8]> {
        match self.get("Content-Transfer-Encoding").unwrap_or_default().to_ascii_lowercase().trim() {
            "base64" => base64(body).into(),
            "quoted-printable" => quoted_printable(body, false).into(),
            _ => body.into(),
        }
    }
}

/// A parameter of a header's value, also in the forms of RFC 2231: with a charset, and in numbered pieces.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
    let mut charset_name = None;
    let mut rest = value;
    while let Some((_, after)) = rest.split_once(';') {
        let after = after.trim_start();
        let Some((name, more)) = after.split_once('=') else { break };
        let name = name.trim().to_ascii_lowercase();
        let more = more.trim_start();
        let value;
        if let Some(quoted) = more.strip_prefix('"') {
            let end = quoted.find('"').unwrap_or(quoted.len());
            value = &quoted[..end];
            rest = quoted.get(end + 1..).unwrap_or_default();
        } else {
            let end = more.find(';').unwrap_or(more.len());
            value = more[..end].trim();
            rest = &more[end..];
        }
        if name == wanted {
            return Some(value.to_owned());
        }
        if let Some(form) = name.strip_prefix(wanted).filter(|form| form.starts_with('*')) {
            let number = form.trim_matches('*').parse().unwrap_or(0);
            let mut bytes = value.as_bytes().to_vec();
            if form.ends_with('*') {
                // `utf-8'en'%C3%A9`, where the first piece names the charset.
                let mut parts = value.splitn(3, '\'');
                let mut encoded = value;
                if let (Some(charset), Some(_), Some(rest)) = (parts.next(), parts.next(), parts.next()) {
                    charset_name = Some(charset);
                    encoded = rest;
                }
                bytes = quoted_printable(encoded.replace('%', "=").as_bytes(), false);
            }
            pieces.push((number, bytes));
        }
    }
    pieces.sort_by_key(|(number, _)| *number);
    let bytes: Vec<u8> = pieces.into_iter().flat_map(|(_, bytes)| bytes).collect();
    (!bytes.is_empty()).then(|| charset(&bytes, charset_name))
}

/// The parts between the boundaries.
fn multipart<'b>(body: &'b [u8], boundary: &str) -> Vec<&'b [u8]> {
    const MOST: usize = 1000;
    if boundary.is_empty() {
        return Vec::new();
    }
    let mark = [b"--", boundary.as_bytes()].concat();
    let mut parts = Vec::new();
    let mut start = None;
    for at in memchr::memmem::find_iter(body, &mark) {
        if at > 0 && body[at - 1] != b'\n' {
            continue;
        }
        if let Some(start) = start {
            parts.push(body.get(start..at).unwrap_or_default());
        }
        let after = &body[at + mark.len()..];
        if after.starts_with(b"--") || parts.len() >= MOST {
            return parts;
        }
        start = memchr::memchr(b'\n', after).map(|end| at + mark.len() + end + 1);
    }
    // The end is missing: the file was cut.
    parts.extend(start.and_then(|start| body.get(start..)));
    parts
}

fn text_of(bytes: &[u8]) -> String {
    match raw_text(bytes.to_vec()) {
        Extracted::Text(rep) => rep.text,
        Extracted::Skip(_) => String::new(),
    }
}

fn charset(bytes: &[u8], label: Option<&str>) -> String {
    let named = label.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    match named {
        Some(encoding) if encoding != encoding_rs::UTF_8 => encoding.decode(bytes).0.into_owned(),
        _ => text_of(bytes),
    }
}

/// `=?utf-8?Q?caf=C3=A9?=` and its kind, in a header.
fn decode_words(value: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    let mut after_word = false;
    while let Some(at) = rest.find("=?") {
        let word = rest[at + 2..].splitn(4, '?').collect::<Vec<_>>();
        let [charset_name, form, text, tail] = word.as_slice() else { break };
        let Some(after) = tail.strip_prefix('=') else {
            out.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            after_word = false;
            continue;
        };
        // Blanks between two such words are not part of the text.
        if !(after_word && rest[..at].trim().is_empty()) {
            out.push_str(&rest[..at]);
        }
        let bytes = match form.to_ascii_lowercase().as_str() {
            "b" => base64(text.as_bytes()),
            _ => quoted_printable(text.as_bytes(), true),
        };
        out.push_str(&charset(&bytes, charset_name.split('*').next()));
        rest = after;
        after_word = true;
    }
    out.push_str(rest);
    out
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    let (mut word, mut bits) = (0u32, 0u32);
    for byte in bytes {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        word = word << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    out
}

fn quoted_printable(bytes: &[u8], underscores: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'=' => match after {
                [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] => rest = after,
                [high, low, after @ ..] => match (hex(*high), hex(*low)) {
                    (Some(high), Some(low)) => {
                        out.push(high << 4 | low);
                        rest = after;
                    }
                    _ => out.push(b'='),
                },
                _ => {}
            },
            b'_' if underscores => out.push(b' '),
            other => out.push(*other),
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::{base64, decode_words, parameter, quoted_printable};

    #[test]
    fn words_in_headers() {
        assert_eq!(decode_words("=?utf-8?Q?caf=C3=A9_=?= =?utf-8?B?w6k=?= x"), "café é x");
        assert_eq!(decode_words("=?ISO-8859-1?q?Gr=FC=DFe?="), "Grüße");
        assert_eq!(decode_words("a =? b"), "a =? b");
    }

    #[test]
    fn transfer_encodings() {
        assert_eq!(base64(b"aGVs\r\nbG8="), b"hello");
        assert_eq!(quoted_printable(b"a=3Db=\r\nc=zz", false), b"a=bc=zz");
    }

    #[test]
    fn parameters() {
        let value = "text/plain; charset=utf-8; name=\"a; b.txt\"; filename*=utf-8''%C3%A9.txt";
        assert_eq!(parameter(value, "charset").as_deref(), Some("utf-8"));
        assert_eq!(parameter(value, "name").as_deref(), Some("a; b.txt"));
        assert_eq!(parameter(value, "filename").as_deref(), Some("é.txt"));
        let pieces = "attachment; filename*0*=utf-8''a%20; filename*1=b.txt";
        assert_eq!(parameter(pieces, "filename").as_deref(), Some("a b.txt"));
        let unordered = "attachment; filename*1=\"b'c.txt\"; filename*0*=iso-8859-1''Gr%FC";
        assert_eq!(parameter(unordered, "filename").as_deref(), Some("Grüb'c.txt"));
    }
}
