//! XML as the office formats use it: names without prefixes, no DTD, no entities beyond the five, bounded depth.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use crate::limits::Meter;
use crate::sink::{Halt, Outcome, broken};

pub(crate) enum Token<'a> {
    Start(Tag<'a>),
    /// The name without its prefix.
    End(String),
    Text(Cow<'a, str>),
}

pub(crate) struct Tag<'a>(BytesStart<'a>);

impl Tag<'_> {
    /// The name without its prefix.
    pub(crate) fn name(&self) -> &str {
        let name = self.0.name().into_inner();
        name.rsplit_once(':').map_or(name, |(_, local)| local)
    }

    /// An attribute by its name without prefix; one without a prefix wins.
    pub(crate) fn attr(&self, name: &str) -> Option<String> {
        self.find(|key| key == name).or_else(|| self.prefixed(name))
    }

    /// An attribute that has a prefix, by its name without it: `id` finds `r:id`.
    pub(crate) fn prefixed(&self, name: &str) -> Option<String> {
        self.find(|key| key.rsplit_once(':').is_some_and(|(_, local)| local == name))
    }

    fn find(&self, wanted: impl Fn(&str) -> bool) -> Option<String> {
        let mut attributes = self.0.attributes();
        attributes.with_checks(false);
        let found = attributes.flatten().find(|attribute| wanted(attribute.key.into_inner()))?;
        Some(match found.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => value.into_owned(),
            // An undefined entity.
            Err(_) => found.value.clone().into_owned(),
        })
    }
}

/// Bytes of a part as text, in the encoding that their mark or their declaration names.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let (encoding, body) = match bytes {
        [0xEF, 0xBB, 0xBF, body @ ..] => (UTF_8, body),
        [0xFF, 0xFE, body @ ..] => (UTF_16LE, body),
        [0xFE, 0xFF, body @ ..] => (UTF_16BE, body),
        [b'<', 0, ..] => (UTF_16LE, bytes),
        [0, b'<', ..] => (UTF_16BE, bytes),
        _ => (declared(bytes).unwrap_or(UTF_8), bytes),
    };
    encoding.decode_without_bom_handling(body).0
}

/// As [`decode`], but what is UTF-8 already is not copied: a sheet may have a hundred megabytes.
pub(crate) fn decode_whole(bytes: Cow<'_, [u8]>) -> String {
    let is_plain = !matches!(&*bytes, [0xEF | 0xFE | 0xFF | 0, ..] | [b'<', 0, ..])
        && declared(&bytes).is_none_or(|encoding| encoding == UTF_8);
    match bytes {
        Cow::Owned(bytes) if is_plain => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => decode(error.as_bytes()).into_owned(),
        },
        other => decode(&other).into_owned(),
    }
}

fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let end = memchr::memmem::find(&bytes[..bytes.len().min(200)], b"?>")?;
    let declaration = std::str::from_utf8(&bytes[..end]).ok()?.strip_prefix("<?xml")?;
    let value = declaration.split_once("encoding=")?.1;
    let quote = value.chars().next()?;
    Encoding::for_label(value[1..].split(quote).next()?.as_bytes())
}

pub(crate) struct Xml<'a> {
    reader: Reader<&'a [u8]>,
    meter: &'a Meter,
    depth: usize,
}

/// An element that is being read.
pub(crate) struct Element {
    /// How deep its parent lies.
    outside: usize,
}

impl<'a> Xml<'a> {
    pub(crate) fn new(text: &'a str, meter: &'a Meter) -> Xml<'a> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        config.allow_dangling_amp = true;
        Xml { reader, meter, depth: 0 }
    }

    /// The next token, or `None` at the end.
    pub(crate) fn next(&mut self) -> Outcome<Option<Token<'a>>> {
        loop {
            self.meter.spend(1)?;
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(error) => return broken(format!("XML: {error}")),
            };
            return Ok(Some(match event {
                Event::Start(tag) | Event::Empty(tag) => {
                    self.depth += 1;
                    self.meter.nesting(self.depth)?;
                    Token::Start(Tag(tag))
                }
                Event::End(tag) => {
                    self.depth = self.depth.saturating_sub(1);
                    let name = tag.name().into_inner();
                    Token::End(name.rsplit_once(':').map_or(name, |(_, local)| local).to_owned())
                }
                Event::Text(text) => Token::Text(text.into_inner()),
                Event::CData(text) => Token::Text(text.into_inner()),
                Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                    Ok(Some(character)) => Token::Text(Cow::Owned(character.to_string())),
                    Ok(None) => Token::Text(Cow::Borrowed(match &*reference.into_inner() {
                        "lt" => "<",
                        "gt" => ">",
                        "amp" => "&",
                        "quot" => "\"",
                        "apos" => "'",
                        _ => continue,
                    })),
                    Err(_) => continue,
                },
                // Entities are the only use of a DTD in these formats, and only attackers have that use.
                Event::DocType(declaration) if declaration.contains("<!ENTITY") => {
                    return Err(Halt::Skip(model::SkipReason::Refused {
                        format: "XML".into(),
                        detail: "it declares entities, which no office program does".into(),
                    }));
                }
                Event::DocType(_) | Event::Comment(_) | Event::PI(_) | Event::Decl(_) => continue,
                Event::Eof => return Ok(None),
            }));
        }
    }

    /// The element that has just begun, for [`Xml::next_in`].
    pub(crate) fn element(&self) -> Element {
        Element { outside: self.depth.saturating_sub(1) }
    }

    /// The next token within an element, its children's included; `None` once the element has ended.
    pub(crate) fn next_in(&mut self, element: &Element) -> Outcome<Option<Token<'a>>> {
        let token = self.next()?;
        Ok(token.filter(|_| self.depth > element.outside))
    }

    /// Reads to the end of the element that has just begun.
    pub(crate) fn skip(&mut self) -> Outcome {
        let element = self.element();
        while self.next_in(&element)?.is_some() {}
        Ok(())
    }

    /// The text of the element that has just begun, its children's included.
    pub(crate) fn text(&mut self) -> Outcome<String> {
        let element = self.element();
        let mut text = String::new();
        while let Some(token) = self.next_in(&element)? {
            if let Token::Text(more) = token {
                text.push_str(&more);
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, Xml, decode};
    use crate::limits::{Limit, Limits, Meter};
    use crate::sink::{Halt, Outcome};

    fn text(xml: &str) -> Outcome<String> {
        let meter = Meter::new(&Limits::default());
        let mut xml = Xml::new(xml, &meter);
        let mut out = String::new();
        while let Some(token) = xml.next()? {
            match token {
                Token::Start(tag) => {
                    out += &format!("<{}", tag.name());
                    out += &tag.attr("id").map(|id| format!(" {id}")).unwrap_or_default();
                    out.push('>');
                }
                Token::End(_) => out.push_str("</>"),
                Token::Text(text) => out.push_str(&text),
            }
        }
        Ok(out)
    }

    #[test]
    fn names_text_and_references() {
        let xml =
            "<?xml version='1.0'?><w:a r:id='1' id='a&amp;2'>x &lt;&#65;&nope; <b/><![CDATA[<&]]></w:a>";
        assert_eq!(text(xml).unwrap(), "<a a&2>x <A <b></><&</>");
    }

    #[test]
    fn entities_are_refused_and_depth_is_bounded() {
        let laughs = "<!DOCTYPE a [<!ENTITY b \"ha\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        assert!(matches!(text(laughs), Err(Halt::Skip(_))));
        let xxe = "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>";
        assert!(matches!(text(xxe), Err(Halt::Skip(_))));
        assert_eq!(text(&"<a>".repeat(1000)), Err(Halt::Limit(Limit::Nesting)));
    }

    #[test]
    fn encodings() {
        assert_eq!(decode(b"\xEF\xBB\xBF<a/>"), "<a/>");
        let utf16: Vec<u8> = "<a>é</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&utf16), "<a>é</a>");
        assert_eq!(
            decode(b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9</a>"),
            "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>"
        );
    }
}
