//! Rich Text Format: groups, control words and bytes in code pages, read without a stack of calls.

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::sections::Sections;
use crate::sink::{Outcome, Sink, broken};
use crate::table::Row;

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let Some(start) = memchr::memmem::find(bytes, b"{\\rtf") else {
        return broken("it does not begin with {\\rtf");
    };
    let mut reader = Reader::new();
    let done = reader.run(&bytes[start..], sink);
    reader.end_paragraph(sink)?;
    reader.end_table();
    if let Some(title) = reader.title.take() {
        sink.title(&title);
    }
    reader.sections.flush(sink)?;
    done
}

/// What a group inherits from the one around it.
#[derive(Clone, Copy)]
struct Group {
    skip: bool,
    /// In the document's title.
    title: bool,
    /// How many bytes repeat a character that was given in Unicode before them.
    fallback: usize,
    encoding: &'static Encoding,
    hidden: bool,
}

struct Reader {
    group: Group,
    outer: Vec<Group>,
    encoding: &'static Encoding,
    /// Code pages by font number.
    fonts: Vec<(i32, &'static Encoding)>,
    font: i32,
    in_fonts: bool,
    text: String,
    bytes: Vec<u8>,
    high: Option<u16>,
    to_skip: usize,
    level: Option<u32>,
    rows: Vec<Row>,
    row: Row,
    in_table: bool,
    title: Option<String>,
    sections: Sections,
}

impl Reader {
    fn new() -> Reader {
        let group = Group { skip: false, title: false, fallback: 1, encoding: WINDOWS_1252, hidden: false };
        Reader {
            group,
            outer: Vec::new(),
            encoding: WINDOWS_1252,
            fonts: Vec::new(),
            font: 0,
            in_fonts: false,
            text: String::new(),
            bytes: Vec::new(),
            high: None,
            to_skip: 0,
            level: None,
            rows: Vec::new(),
            row: Row::new(),
            in_table: false,
            title: None,
            sections: Sections::default(),
        }
    }

    fn run(&mut self, bytes: &[u8], sink: &mut Sink) -> Outcome {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            sink.meter.spend(1)?;
            at += 1;
            match byte {
                b'{' => {
                    self.end_bytes();
                    sink.meter.nesting(self.outer.len())?;
                    self.outer.push(self.group);
                    self.to_skip = 0;
                }
                b'}' => {
                    self.end_bytes();
                    match self.outer.pop() {
                        Some(group) => self.group = group,
                        None => break,
                    }
                    if self.outer.len() <= 1 {
                        self.in_fonts = false;
                    }
                    self.to_skip = 0;
                    if self.outer.is_empty() {
                        break;
                    }
                }
                b'\\' => at = self.control(bytes, at, sink)?,
                b'\r' | b'\n' => {}
                other => self.byte(*other),
            }
        }
        self.end_bytes();
        Ok(())
    }

    /// A control word or sign; gives where the text goes on.
    fn control(&mut self, bytes: &[u8], at: usize, sink: &mut Sink) -> Outcome<usize> {
        let rest = bytes.get(at..).unwrap_or_default();
        let letters = rest.iter().take(40).take_while(|byte| byte.is_ascii_alphabetic()).count();
        if letters == 0 {
            return Ok(self.sign(rest, at));
        }
        let word = std::str::from_utf8(&rest[..letters]).unwrap_or_default();
        let mut end = letters;
        let negative = rest.get(end) == Some(&b'-');
        end += usize::from(negative);
        let digits = rest[end..].iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
        let number =
            std::str::from_utf8(&rest[end..end + digits]).ok().and_then(|text| text.parse::<i64>().ok());
        let number = number.map(|number| if negative { -number } else { number });
        end += digits;
        // One blank after a word belongs to it.
        end += usize::from(rest.get(end) == Some(&b' '));
        if word == "bin" {
            let skip = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
            return Ok(at.saturating_add(end).saturating_add(skip).min(bytes.len()));
        }
        if word != "u" {
            self.end_bytes();
        }
        self.word(word, number, sink)?;
        Ok(at + end)
    }

    fn sign(&mut self, rest: &[u8], at: usize) -> usize {
        match rest.first() {
            Some(b'\'') => {
                let digits = rest.get(1..3).and_then(|two| std::str::from_utf8(two).ok());
                if let Some(byte) = digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
                    self.byte(byte);
                    return at + 3;
                }
                at + 1
            }
            Some(b'*') => {
                // A reader that does not know what follows may leave it out, and this one does.
                self.group.skip = true;
                at + 1
            }
            Some(b'~') => {
                self.push(" ");
                at + 1
            }
            Some(b'_') => {
                self.push("-");
                at + 1
            }
            Some(byte @ (b'{' | b'}' | b'\\')) => {
                self.byte(*byte);
                at + 1
            }
            Some(b'\n' | b'\r') => {
                self.push("\n");
                at + 1
            }
            Some(_) => at + 1,
            None => at,
        }
    }

    fn word(&mut self, word: &str, number: Option<i64>, sink: &mut Sink) -> Outcome {
        match word {
            "par" | "sect" if !self.group.skip => self.end_paragraph(sink)?,
            "page" if !self.group.skip => {
                self.end_paragraph(sink)?;
                self.sections.page_break(sink)?;
            }
            "pard" if !self.group.skip => {
                self.level = None;
                self.in_table = false;
            }
            "intbl" => self.in_table = true,
            "outlinelevel" => {
                self.level = number.and_then(|level| u32::try_from(level).ok()).filter(|level| *level < 9);
            }
            "cell" | "nestcell" if !self.group.skip => {
                let cell = std::mem::take(&mut self.text);
                self.row.push(cell);
            }
            "row" | "nestrow" if !self.group.skip => {
                let row = std::mem::take(&mut self.row);
                self.rows.push(row);
            }
            "line" => self.push("\n"),
            "tab" => self.push("\t"),
            "emdash" => self.push("—"),
            "endash" => self.push("–"),
            "bullet" => self.push("• "),
            "lquote" => self.push("‘"),
            "rquote" => self.push("’"),
            "ldblquote" => self.push("“"),
            "rdblquote" => self.push("”"),
            "emspace" | "enspace" | "qmspace" => self.push(" "),
            "v" => self.group.hidden = number != Some(0),
            "plain" => self.group.hidden = false,
            "uc" => {
                self.group.fallback = number.and_then(|count| usize::try_from(count).ok()).unwrap_or(1).min(8)
            }
            "u" => {
                // Signed sixteen bits.
                let unit = (number.unwrap_or(0) & 0xFFFF) as u16;
                self.unicode(unit);
                self.to_skip = self.group.fallback;
            }
            "ansicpg" => {
                self.encoding = code_page(number.unwrap_or(1252));
                self.group.encoding = self.encoding;
            }
            "mac" => self.group.encoding = encoding_rs::MACINTOSH,
            "fonttbl" => {
                self.in_fonts = true;
                self.group.skip = true;
            }
            "f" => {
                self.font = number.and_then(|font| i32::try_from(font).ok()).unwrap_or(0);
                if !self.in_fonts {
                    let known = self.fonts.iter().find(|(font, _)| *font == self.font);
                    self.group.encoding = known.map_or(self.encoding, |(_, encoding)| *encoding);
                }
            }
            "fcharset" if self.in_fonts && self.fonts.len() < 10_000 => {
                let encoding = charset(number.unwrap_or(1)).unwrap_or(self.encoding);
                self.fonts.push((self.font, encoding));
            }
            "title" if self.outer.len() >= 2 => {
                self.group.skip = false;
                self.group.title = true;
            }
            // Groups that hold no text of the document.
            "colortbl" | "stylesheet" | "info" | "pict" | "object" | "themedata" | "datastore"
            | "listtable" | "listoverridetable" | "rsidtbl" | "generator" | "xmlnstbl" | "latentstyles"
            | "fldinst" | "filetbl" | "revtbl" | "bkmkstart" | "bkmkend" | "listtext" | "pntext"
            | "nonshppict" | "colorschememapping" | "mmathPr" | "atnid" | "atndate" | "private" => {
                self.group.skip = true;
            }
            // These follow `\*` and do hold text.
            "shptxt" | "footnote" | "annotation" | "fldrslt" | "shprslt" | "shpinst" => {
                self.group.skip = self.group.skip && !matches!(word, "shptxt" | "annotation" | "shpinst");
            }
            _ => {}
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8) {
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return;
        }
        self.bytes.push(byte);
    }

    /// Bytes gathered since the last control word, as text in the font's charset.
    fn end_bytes(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let text = self.group.encoding.decode_without_bom_handling(&bytes).0.into_owned();
        self.push(&text);
    }

    fn unicode(&mut self, unit: u16) {
        self.end_bytes();
        let units: Vec<u16> = self.high.take().into_iter().chain([unit]).collect();
        if units.len() == 1 && (0xD800..0xDC00).contains(&unit) {
            self.high = Some(unit);
            return;
        }
        // Symbol fonts live in the private area.
        if !(0xF000..=0xF0FF).contains(&unit) {
            let text = String::from_utf16_lossy(&units);
            self.push(&text);
        }
    }

    fn push(&mut self, text: &str) {
        if self.group.title {
            self.title.get_or_insert_default().push_str(text);
        } else if !self.group.skip && !self.group.hidden {
            self.text.push_str(text);
        }
    }

    fn end_paragraph(&mut self, sink: &mut Sink) -> Outcome {
        if self.in_table {
            self.text.push(' ');
            return Ok(());
        }
        self.end_table();
        let text = std::mem::take(&mut self.text);
        match self.level {
            Some(level) => self.sections.heading(level + 1, &text, sink)?,
            None => self.sections.paragraph(&text),
        }
        Ok(())
    }

    fn end_table(&mut self) {
        let row = std::mem::take(&mut self.row);
        if !row.is_empty() {
            self.rows.push(row);
        }
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.sections.table(&rows);
        }
    }
}

fn code_page(number: i64) -> &'static Encoding {
    let label = match number {
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        10_000 => "macintosh".to_owned(),
        65_001 => "utf-8".to_owned(),
        866 => "ibm866".to_owned(),
        other => format!("windows-{other}"),
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252)
}

/// The code page of a Windows charset number; none for the system's own.
fn charset(number: i64) -> Option<&'static Encoding> {
    Some(code_page(match number {
        0 => 1252,
        77 => 10_000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    }))
}
