//! Whether an HTML file is a page that people read, or source that people write.
//!
//! A saved page is mostly markup and scripts around a text: it is searched by its text. A template, a fragment or the
//! shell of a web application is source: what is looked for is the markup itself, by its own lines.

use memchr::memmem;

/// Less text than this is no page.
const LEAST_TEXT: usize = 400;

/// Signs of a template language.
const TEMPLATE: &[&[u8]] = &[b"{{", b"{%", b"{#", b"<%", b"<?php", b"<?=", b"[[${", b"<#"];

/// Elements whose content is not the page's text: programs, and what is shown as it was written.
const APART: &[(&[u8], &[u8])] = &[
    (b"<script", b"</script"),
    (b"<style", b"</style"),
    (b"<svg", b"</svg"),
    (b"<pre", b"</pre"),
    (b"<code", b"</code"),
    (b"<!--", b"-->"),
];

/// Whole pages with text and without the signs of a template. Bytes of a page in UTF-16 look like no page; they are
/// indexed as they are.
pub fn is_page(bytes: &[u8]) -> bool {
    let lower = bytes.to_ascii_lowercase();
    let page = without_preamble(&lower);
    if !page.starts_with(b"<!doctype html") && !page.starts_with(b"<html") {
        return false;
    }
    let mut text = 0;
    let mut rest = page;
    while let Some(at) = memchr::memchr3(b'<', b'{', b'[', rest) {
        text += visible(&rest[..at]);
        rest = &rest[at..];
        if TEMPLATE.iter().any(|mark| rest.starts_with(mark)) {
            return false;
        }
        if rest[0] != b'<' {
            rest = &rest[1..];
            continue;
        }
        let apart = APART.iter().find(|(open, _)| opens(rest, open));
        let end = match apart {
            Some((open, close)) => {
                let from = open.len();
                // The close tag itself is skipped as a tag.
                memmem::find(&rest[from..], close).map_or(rest.len(), |at| from + at)
            }
            None => memchr::memchr(b'>', rest).map_or(rest.len(), |at| at + 1),
        };
        // An attribute may hold a template's marks.
        if apart.is_none() && TEMPLATE.iter().any(|mark| memmem::find(&rest[..end], mark).is_some()) {
            return false;
        }
        rest = &rest[end..];
    }
    text + visible(rest) >= LEAST_TEXT
}

/// `<pre` opens an element of that name, `<prefix` does not.
fn opens(rest: &[u8], open: &[u8]) -> bool {
    rest.starts_with(open)
        && (open == b"<!--" || rest.get(open.len()).is_none_or(|next| !next.is_ascii_alphanumeric()))
}

/// Without a byte order mark, blanks, an XML declaration and comments.
fn without_preamble(mut bytes: &[u8]) -> &[u8] {
    bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    loop {
        bytes = bytes.trim_ascii_start();
        let close: &[u8] = if bytes.starts_with(b"<!--") {
            b"-->"
        } else if bytes.starts_with(b"<?xml") {
            b"?>"
        } else {
            return bytes;
        };
        match memmem::find(bytes, close) {
            Some(at) => bytes = &bytes[at + close.len()..],
            None => return b"",
        }
    }
}

fn visible(text: &[u8]) -> usize {
    text.iter().filter(|byte| !byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn pages_and_source() {
        let words = "The keeper of the lighthouse writes a line each night. ".repeat(12);
        let page = |body: &str| {
            format!("\u{feff}<?xml version='1.0'?><!-- x -->\n<!DOCTYPE html><html><body>{body}")
        };
        assert!(is_page(page(&format!("<p>{words}</p>")).as_bytes()));
        assert!(is_page(
            page(&format!("<p>{words}</p><pre>{{{{ x }}}}</pre><script>a={{{{}}}}</script>")).as_bytes()
        ));
        for source in [
            format!("<p>{words}</p>"),
            page("<div id=root></div>"),
            page(&format!("<p>{{{{ title }}}} {words}</p>")),
            page(&format!("{{% block x %}}{words}")),
            page(&format!("<a href='<?php x ?>'>{words}</a>")),
            page(&format!("<script>{words}</script>")),
            String::new(),
            "<html".into(),
            "<!-- never closed".into(),
        ] {
            assert!(!is_page(source.as_bytes()), "{source}");
        }
    }
}
