//! Web pages as Markdown: headings, paragraphs, lists, tables and links of the main text. No scripts, no menus.

mod tag;

use std::ops::Range;

use encoding_rs::Encoding;

use self::tag::{Tag, is_block, is_void, raw};
use crate::formats::entities::unescape;
use crate::formats::txt;
use crate::limits::Meter;
use crate::sections::Sections;
use crate::sink::{Outcome, Sink};
use crate::table::Row;

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let text = decode(bytes, sink)?;
    let page = convert(&text, &sink.meter)?;
    if let Some(title) = &page.title {
        sink.title(title);
    }
    let mut sections = Sections::default();
    page.write(&mut sections, sink)?;
    sections.flush(sink)
}

/// The text in the charset that the page names, else in the one it looks like.
fn decode(bytes: &[u8], sink: &mut Sink) -> Outcome<String> {
    let marked = matches!(bytes, [0xEF, 0xBB, 0xBF, ..] | [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
    if !marked
        && std::str::from_utf8(bytes).is_err()
        && let Some(encoding) = declared(bytes)
    {
        let (text, _, lossy) = encoding.decode(bytes);
        if !lossy {
            return Ok(text.into_owned());
        }
    }
    txt::decode(bytes, sink)
}

/// `<meta charset="…">`, or the same within a content type.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2048)]).to_ascii_lowercase();
    let rest = head.split_once("charset=")?.1.trim_start_matches(['"', '\'', ' ']);
    Encoding::for_label(rest.split(['"', '\'', ' ', '>', ';', '/']).next()?.as_bytes())
}

#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) title: Option<String>,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Heading(u32, String),
    Paragraph(String),
    Item(usize, String),
    Code(String),
    Table(Vec<Row>),
}

impl Page {
    pub(super) fn write(&self, sections: &mut Sections, sink: &mut Sink) -> Outcome {
        for piece in &self.pieces {
            match piece {
                Piece::Heading(level, text) => sections.heading(*level, text, sink)?,
                Piece::Paragraph(text) => sections.paragraph(text),
                Piece::Item(indent, text) => sections.item(*indent, text),
                Piece::Code(text) => sections.verbatim(&format!("```\n{}\n```\n\n", text.trim_matches('\n'))),
                Piece::Table(rows) => sections.table(rows),
            }
        }
        Ok(())
    }

    /// All of it as one text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Table(rows) => rows.iter().for_each(|row| crate::table::push_row(&mut text, row)),
                Piece::Heading(_, line) | Piece::Paragraph(line) | Piece::Code(line) => text.push_str(line),
                Piece::Item(_, line) => {
                    text.push_str("- ");
                    text.push_str(line);
                }
            }
            text.push_str("\n\n");
        }
        text
    }
}

/// Reads a page. Where a `main` element holds most of the text, the rest is furniture.
pub(super) fn convert(html: &str, meter: &Meter) -> Outcome<Page> {
    let (mut page, main) = Converter::new(meter).run(html)?;
    if let Some(main) = main
        && length(&page.pieces[main.clone()]) * 2 >= length(&page.pieces)
    {
        page.pieces = page.pieces.drain(main).collect();
    }
    Ok(page)
}

/// How much text there is.
fn length(pieces: &[Piece]) -> usize {
    let of = |piece: &Piece| match piece {
        Piece::Heading(_, text) | Piece::Paragraph(text) | Piece::Item(_, text) | Piece::Code(text) => {
            text.len()
        }
        Piece::Table(rows) => rows.iter().flatten().map(String::len).sum(),
    };
    pieces.iter().map(of).sum()
}

struct Converter<'m> {
    meter: &'m Meter,
    page: Page,
    /// The text of the block that is open.
    line: String,
    heading: Option<u32>,
    lists: usize,
    in_item: bool,
    pre: usize,
    links: Vec<(usize, String)>,
    tables: Vec<(Vec<Row>, Row, bool)>,
    /// The pieces within the `main` element: where it began first and ended last.
    main: (Option<usize>, Option<usize>),
    /// Elements that were found not to end; looking again for each of them would take the square of the time.
    endless: Vec<String>,
}

impl<'m> Converter<'m> {
    fn new(meter: &'m Meter) -> Converter<'m> {
        Converter {
            meter,
            page: Page::default(),
            line: String::new(),
            heading: None,
            lists: 0,
            in_item: false,
            pre: 0,
            links: Vec::new(),
            tables: Vec::new(),
            main: (None, None),
            endless: Vec::new(),
        }
    }

    /// The page, and which of its pieces are the main ones.
    fn run(mut self, html: &str) -> Outcome<(Page, Option<Range<usize>>)> {
        let mut rest = html;
        while !rest.is_empty() {
            self.meter.spend(1)?;
            let Some(at) = rest.find('<') else {
                self.text(rest);
                break;
            };
            self.text(&rest[..at]);
            rest = &rest[at..];
            if let Some(comment) = rest.strip_prefix("<!--") {
                rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            } else if let Some(inner) = rest.strip_prefix("<![CDATA[") {
                let end = inner.find("]]>").unwrap_or(inner.len());
                self.text(&inner[..end]);
                rest = inner.get(end + 3..).unwrap_or_default();
            } else if rest.starts_with("<!") || rest.starts_with("<?") {
                rest = rest.find('>').map_or("", |end| &rest[end + 1..]);
            } else if let Some((tag, after)) = Tag::parse(rest) {
                rest = after;
                rest = self.tag(&tag, rest)?;
            } else {
                self.text("<");
                rest = &rest[1..];
            }
        }
        self.end_block();
        while let Some((mut rows, row, _)) = self.tables.pop() {
            rows.push(row);
            self.page.pieces.push(Piece::Table(rows));
        }
        let main = match self.main {
            (Some(start), Some(end)) => Some(start..end),
            _ => None,
        };
        Ok((self.page, main))
    }

    /// Handles a tag and gives what follows it, or what follows its element if that is left out.
    fn tag<'h>(&mut self, tag: &Tag<'_>, rest: &'h str) -> Outcome<&'h str> {
        let name = tag.name.as_str();
        if !tag.closing {
            match name {
                "title" if self.page.title.is_none() && self.tables.is_empty() => {
                    let (inner, after) = raw(rest, "title");
                    let title = unescape(inner).split_whitespace().collect::<Vec<_>>().join(" ");
                    self.page.title = Some(title).filter(|title| !title.is_empty());
                    return Ok(after);
                }
                "script" | "style" | "textarea" | "xmp" | "title" | "iframe" | "noembed" | "noframes" => {
                    return Ok(raw(rest, name).1);
                }
                "nav" | "svg" | "template" | "object" | "canvas" | "select" | "datalist" | "dialog" => {
                    return self.leave_out(name, rest);
                }
                _ if !is_void(name) && tag.is_hidden() => return self.leave_out(name, rest),
                _ => {}
            }
        }
        match (name, tag.closing) {
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                self.end_block();
                self.heading = name[1..].parse().ok();
            }
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", true) => self.end_block(),
            ("a", false) => {
                let address = tag.attr("href").unwrap_or_default();
                self.links.push((self.line.len(), address));
            }
            ("a", true) => {
                if let Some((start, address)) = self.links.pop() {
                    let scheme = address.split(':').next().unwrap_or_default().to_ascii_lowercase();
                    if !address.is_empty()
                        && !address.starts_with('#')
                        && !matches!(scheme.as_str(), "javascript" | "data" | "vbscript")
                    {
                        crate::formats::ooxml::link(&mut self.line, start, address.trim());
                    }
                }
            }
            ("br", _) => self.line.push('\n'),
            ("img", _) => {
                if let Some(alt) = tag.attr("alt").filter(|alt| !alt.trim().is_empty()) {
                    self.text(&format!(" {} ", alt.trim()));
                }
            }
            ("pre", false) => {
                self.end_block();
                self.pre += 1;
            }
            ("pre", true) => {
                self.end_block();
                self.pre = self.pre.saturating_sub(1);
            }
            ("ul" | "ol" | "menu", closing) => {
                self.end_block();
                self.lists = if closing { self.lists.saturating_sub(1) } else { (self.lists + 1).min(64) };
                self.in_item = closing && self.lists > 0;
            }
            ("li", closing) => {
                self.end_block();
                self.in_item = !closing;
            }
            ("table", false) => {
                self.end_block();
                if self.tables.len() < 16 {
                    self.tables.push((Vec::new(), Vec::new(), false));
                }
            }
            ("table", true) => {
                self.end_cell();
                if let Some((mut rows, row, _)) = self.tables.pop() {
                    rows.push(row);
                    match self.tables.is_empty() {
                        true => self.page.pieces.push(Piece::Table(rows)),
                        // A table in a cell is how old pages are laid out.
                        false => rows.into_iter().flatten().for_each(|cell| {
                            self.line.push(' ');
                            self.line.push_str(&cell);
                        }),
                    }
                }
            }
            ("tr", _) => {
                self.end_cell();
                if let Some((rows, row, _)) = self.tables.last_mut()
                    && !row.is_empty()
                {
                    let row = std::mem::take(row);
                    rows.push(row);
                }
            }
            ("td" | "th", closing) => {
                self.end_cell();
                if let Some((.., open)) = self.tables.last_mut() {
                    *open = !closing;
                }
            }
            ("main", closing) => {
                self.end_block();
                let at = self.page.pieces.len();
                match self.main {
                    (None, _) if !closing => self.main = (Some(at), None),
                    (Some(start), _) if closing => self.main = (Some(start), Some(at)),
                    _ => {}
                }
            }
            _ if is_block(name) => self.end_block(),
            _ => {}
        }
        Ok(rest)
    }

    /// Skips to the end of an element, counting those of the same name within it.
    fn leave_out<'h>(&mut self, name: &str, mut rest: &'h str) -> Outcome<&'h str> {
        let whole = rest;
        if self.endless.iter().any(|known| known == name) {
            return Ok(whole);
        }
        let mut depth = 1u32;
        while let Some(at) = rest.find('<') {
            self.meter.spend(1)?;
            rest = &rest[at..];
            if let Some(comment) = rest.strip_prefix("<!--") {
                rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
                continue;
            }
            match Tag::parse(rest) {
                Some((tag, after)) => {
                    rest = after;
                    if matches!(tag.name.as_str(), "script" | "style") && !tag.closing {
                        rest = raw(rest, &tag.name).1;
                    }
                    if tag.name == name {
                        depth = if tag.closing { depth - 1 } else { depth + u32::from(!tag.empty) };
                        if depth == 0 {
                            return Ok(rest);
                        }
                    }
                }
                None => rest = &rest[1..],
            }
        }
        // It never ends: better its text than none.
        self.endless.push(name.to_owned());
        Ok(whole)
    }

    fn text(&mut self, raw: &str) {
        if raw.is_empty() {
            return;
        }
        let text = unescape(raw);
        if self.pre > 0 {
            self.line.push_str(&text);
            return;
        }
        let mut blank = self.line.is_empty() || self.line.ends_with([' ', '\n']);
        for character in text.chars() {
            if character.is_ascii_whitespace() {
                if !blank {
                    self.line.push(' ');
                }
                blank = true;
            } else {
                self.line.push(character);
                blank = false;
            }
        }
    }

    fn end_block(&mut self) {
        self.links.clear();
        // In a table a block is a word of its cell.
        if !self.tables.is_empty() {
            if !self.line.is_empty() && !self.line.ends_with(' ') {
                self.line.push(' ');
            }
            self.heading = None;
            return;
        }
        let line = std::mem::take(&mut self.line);
        let heading = self.heading.take();
        if line.trim().is_empty() {
            return;
        }
        self.page.pieces.push(if let Some(level) = heading {
            Piece::Heading(level, line)
        } else if self.pre > 0 {
            Piece::Code(line)
        } else if self.in_item && self.lists > 0 {
            Piece::Item(self.lists - 1, line)
        } else {
            Piece::Paragraph(line.lines().map(str::trim).collect::<Vec<_>>().join("\n"))
        });
    }

    fn end_cell(&mut self) {
        self.links.clear();
        if let Some((_, row, open)) = self.tables.last_mut() {
            let line = std::mem::take(&mut self.line);
            if *open || !line.trim().is_empty() {
                row.push(line.trim().to_owned());
            }
            *open = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::convert;
    use crate::limits::{Limits, Meter};

    #[track_caller]
    fn gives(html: &str, text: &str) {
        let page = convert(html, &Meter::new(&Limits::default())).unwrap();
        assert_eq!(page.text().trim(), text);
    }

    #[test]
    fn blocks_links_and_tables() {
        gives("<p>a <b>bold</b>\n word<p>next<br>line", "a bold word\n\nnext\nline");
        gives("<p>See <a href='/x y'>the\n page</a>, <a href='#t'>top</a>.", "See [the page](/x%20y), top.");
        gives("<ul><li>one<li>two<ul><li>three</ul></ul>", "- one\n\n- two\n\n- three");
        gives("<table><tr><th>a<th>b<tr><td>1<td><p>2</p><p>3</table>", "| a | b |\n| 1 | 2 3 |");
        gives("<pre>a\n  b</pre>c", "a\n  b\n\nc");
        gives("1 < 2 and <3", "1 < 2 and <3");
    }

    #[test]
    fn furniture_is_left_out() {
        gives("<script>if (a<b) '</p>'</script><style>p{}</style><nav>menu<nav>x</nav></nav>text", "text");
        gives("<div hidden>no</div><p style='display: none'>no</p>yes<!-- no --><![CDATA[ and]]>", "yes and");
        gives(
            "<header>site</header><main><p>the text of the page</main><footer>f</footer>",
            "the text of the page",
        );
        // An element that never ends is text.
        gives("<nav>all <p>there is", "all\n\nthere is");
    }

    #[test]
    fn titles() {
        let page = convert("<title>A &amp;\n B</title><body>x", &Meter::new(&Limits::default())).unwrap();
        assert_eq!((page.title.as_deref(), page.text().trim()), (Some("A & B"), "x"));
    }
}
