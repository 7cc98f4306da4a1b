//! The tags of a web page: their names, their attributes, and what kind of element they begin.

use crate::formats::entities::unescape;

pub(super) struct Tag<'h> {
    pub(super) name: String,
    pub(super) closing: bool,
    pub(super) empty: bool,
    attributes: &'h str,
}

impl<'h> Tag<'h> {
    /// A tag at the beginning of `html`, and what follows it.
    pub(super) fn parse(html: &'h str) -> Option<(Tag<'h>, &'h str)> {
        let inner = html.strip_prefix('<')?;
        let (closing, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
        if !inner.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return None;
        }
        let bytes = inner.as_bytes();
        let name_end =
            bytes.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
        let name_end = name_end.unwrap_or(bytes.len());
        let mut at = name_end;
        let mut quote = None;
        let mut before = 0u8;
        while let Some(byte) = bytes.get(at) {
            match (quote, byte) {
                (None, b'>') => break,
                // A quote counts only after `=`, or an apostrophe would swallow the page.
                (None, b'"' | b'\'') if before == b'=' => quote = Some(*byte),
                (Some(open), byte) if open == *byte => quote = None,
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                before = *byte;
            }
            at += 1;
        }
        let attributes = &inner[name_end..at];
        let name = &inner[..name_end];
        let name = name.rsplit_once(':').map_or(name, |(_, local)| local).to_ascii_lowercase();
        let tag = Tag { name, closing, empty: attributes.trim_end().ends_with('/'), attributes };
        Some((tag, inner.get(at + 1..).unwrap_or_default()))
    }

    pub(super) fn attr(&self, wanted: &str) -> Option<String> {
        let mut rest = self.attributes.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/'));
            let end = end.unwrap_or(rest.len());
            let name = &rest[..end];
            rest = rest[end..].trim_ascii_start();
            let mut value = "";
            if let Some(after) = rest.strip_prefix('=') {
                let after = after.trim_ascii_start();
                let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
                (value, rest) = match quote {
                    Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
                    None => {
                        let end = after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len());
                        after.split_at(end)
                    }
                };
            }
            if name.eq_ignore_ascii_case(wanted) {
                return Some(unescape(value));
            }
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if end == 0 && value.is_empty() {
                // A stray sign.
                let mut characters = rest.chars();
                characters.next();
                rest = characters.as_str();
            }
        }
        None
    }

    pub(super) fn is_hidden(&self) -> bool {
        let attributes = self.attributes;
        if !attributes.contains("hidden") && !attributes.contains("none") {
            return false;
        }
        self.attr("hidden").is_some_and(|value| value != "until-found")
            || self.attr("aria-hidden").is_some_and(|value| value == "true")
            || self
                .attr("style")
                .is_some_and(|style| style.replace(' ', "").to_ascii_lowercase().contains("display:none"))
    }
}

/// The text before `</name`, and what follows that tag.
pub(super) fn raw<'h>(rest: &'h str, name: &str) -> (&'h str, &'h str) {
    let bytes = rest.as_bytes();
    for at in memchr::memmem::find_iter(bytes, "</") {
        let end = at + 2 + name.len();
        if bytes.get(at + 2..end).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
            let after = rest[end..].find('>').map_or("", |close| &rest[end + close + 1..]);
            return (&rest[..at], after);
        }
    }
    (rest, "")
}

pub(super) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "source"
            | "track"
            | "wbr"
    )
}

pub(super) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "head"
            | "header"
            | "hgroup"
            | "hr"
            | "html"
            | "legend"
            | "option"
            | "p"
            | "section"
            | "summary"
            | "tbody"
            | "tfoot"
            | "thead"
    )
}
