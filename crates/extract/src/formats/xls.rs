//! Excel workbooks before 2007: records of the BIFF stream, cell by cell.

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::container::cfb::{self, Cfb, u16_at, u32_at};
use crate::formats::numbers::{NumberFormat, show};
use crate::sink::{Outcome, Sink, broken, encrypted};
use crate::table::RowBlocks;

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let stream = if bytes.starts_with(cfb::SIGNATURE) {
        let file = Cfb::open(bytes, &sink.meter)?;
        if file.has("EncryptedPackage") {
            return Err(encrypted(sink.format));
        }
        match file.stream("Workbook", &sink.meter)? {
            Some(stream) => stream,
            None => file.stream("Book", &sink.meter)?.unwrap_or_default(),
        }
    } else {
        // Before compound files the stream was the file.
        bytes.to_vec()
    };
    if !matches!(u16_at(&stream, 0), 0x0809 | 0x0409 | 0x0209 | 0x0009) {
        return broken("it holds no workbook");
    }
    let book = Book::read(&stream, sink)?;
    if book.sheets.is_empty() {
        // One sheet and nothing else, as the oldest versions write.
        sink.parts = 1;
        return sheet(&stream, 0, "Sheet1", &book, sink);
    }
    for (name, offset) in &book.sheets {
        sink.parts += 1;
        let done = sheet(&stream, *offset, name, &book, sink);
        sink.tolerate(&format!("sheet '{name}'"), done)?;
    }
    Ok(())
}

struct Book {
    sheets: Vec<(String, usize)>,
    strings: Vec<String>,
    formats: Vec<NumberFormat>,
    since_1904: bool,
    /// BIFF8, which has its strings in UTF-16; older ones have them in a code page.
    unicode: bool,
    encoding: &'static Encoding,
}

/// The records from an offset on: kind, content, and where the next one begins.
fn records(stream: &[u8], mut at: usize) -> impl Iterator<Item = (u16, &[u8], usize)> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(stream, at.checked_add(2)?));
        let kind = stream.get(at..at + 4).map(|head| u16_at(head, 0))?;
        let content = stream.get(at + 4..(at + 4 + length).min(stream.len()))?;
        at += 4 + length;
        Some((kind, content, at))
    })
}

impl Book {
    fn read(stream: &[u8], sink: &mut Sink) -> Outcome<Book> {
        let mut book = Book {
            sheets: Vec::new(),
            strings: Vec::new(),
            formats: Vec::new(),
            since_1904: false,
            unicode: u16_at(stream, 4) >= 0x0600,
            encoding: WINDOWS_1252,
        };
        let mut codes: Vec<(u32, String)> = Vec::new();
        for (kind, content, next) in records(stream, 0) {
            sink.meter.spend(1)?;
            match kind {
                0x000A => break,
                0x002F => return Err(encrypted(sink.format)),
                0x0022 => book.since_1904 = u16_at(content, 0) == 1,
                0x0042 => book.encoding = code_page(u16_at(content, 0)),
                0x0085 if content.len() > 8 && content[5] == 0 => {
                    let name = book.string(&content[6..], 1);
                    book.sheets.push((name, u32_at(content, 0) as usize));
                }
                0x041E => {
                    let code = book.string(content.get(2..).unwrap_or_default(), 2);
                    codes.push((u16_at(content, 0).into(), code));
                }
                0x00E0 => {
                    let id = u32::from(u16_at(content, 2));
                    let code = codes.iter().find(|(known, _)| *known == id).map(|(_, code)| code.as_str());
                    book.formats.push(NumberFormat::of(id, code));
                }
                0x00FC => {
                    let more = records(stream, next).take_while(|(kind, ..)| *kind == 0x003C);
                    let pieces = std::iter::once(content).chain(more.map(|(_, piece, _)| piece)).collect();
                    book.strings = shared_strings(pieces, sink)?;
                }
                _ => {}
            }
        }
        Ok(book)
    }

    /// A string with a length of one or two bytes before it.
    fn string(&self, bytes: &[u8], width: usize) -> String {
        let length = if width == 1 {
            usize::from(bytes.first().copied().unwrap_or(0))
        } else {
            usize::from(u16_at(bytes, 0))
        };
        let rest = bytes.get(width..).unwrap_or_default();
        if !self.unicode {
            let body = &rest[..length.min(rest.len())];
            return self.encoding.decode_without_bom_handling(body).0.into_owned();
        }
        let mut pieces = Pieces { pieces: vec![rest], piece: 0, at: 0 };
        let flags = pieces.byte().unwrap_or(0);
        pieces.characters(length, flags & 1 != 0)
    }

    fn number(&self, style: u16, number: f64) -> String {
        show(number, self.formats.get(usize::from(style)).copied().unwrap_or_default(), self.since_1904)
    }
}

/// The bytes of a record and of those that continue it.
struct Pieces<'a> {
    pieces: Vec<&'a [u8]>,
    piece: usize,
    at: usize,
}

impl Pieces<'_> {
    fn byte(&mut self) -> Option<u8> {
        loop {
            let piece = self.pieces.get(self.piece)?;
            if let Some(byte) = piece.get(self.at) {
                self.at += 1;
                return Some(*byte);
            }
            self.piece += 1;
            self.at = 0;
        }
    }

    fn word(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    fn double_word(&mut self) -> Option<u32> {
        Some(u32::from(self.word()?) | u32::from(self.word()?) << 16)
    }

    fn skip(&mut self, mut bytes: usize) {
        while bytes > 0 && self.piece < self.pieces.len() {
            let left = self.pieces[self.piece].len() - self.at;
            if bytes < left {
                self.at += bytes;
                return;
            }
            bytes -= left;
            self.piece += 1;
            self.at = 0;
        }
    }

    /// Characters of one or two bytes. Each continuation says again which.
    fn characters(&mut self, count: usize, mut wide: bool) -> String {
        let mut units: Vec<u16> = Vec::with_capacity(count.min(1024));
        while units.len() < count {
            let Some(piece) = self.pieces.get(self.piece) else { break };
            if self.at >= piece.len() {
                self.piece += 1;
                self.at = 0;
                match self.byte() {
                    Some(flags) => wide = flags & 1 != 0,
                    None => break,
                }
                continue;
            }
            match if wide { self.word() } else { self.byte().map(u16::from) } {
                Some(unit) => units.push(unit),
                None => break,
            }
        }
        String::from_utf16_lossy(&units)
    }
}

fn shared_strings(pieces: Vec<&[u8]>, sink: &Sink) -> Outcome<Vec<String>> {
    let mut pieces = Pieces { pieces, piece: 0, at: 0 };
    let mut strings = Vec::new();
    pieces.skip(4);
    let count = pieces.double_word().unwrap_or(0);
    for _ in 0..count {
        sink.meter.spend(1)?;
        let (Some(length), Some(flags)) = (pieces.word(), pieces.byte()) else { break };
        let runs = if flags & 8 != 0 { pieces.word().unwrap_or(0) } else { 0 };
        let extra = if flags & 4 != 0 { pieces.double_word().unwrap_or(0) } else { 0 };
        strings.push(pieces.characters(usize::from(length), flags & 1 != 0));
        pieces.skip(usize::from(runs) * 4);
        pieces.skip(extra as usize);
    }
    Ok(strings)
}

fn sheet(stream: &[u8], offset: usize, name: &str, book: &Book, sink: &mut Sink) -> Outcome {
    let mut rows = Rows { blocks: RowBlocks::new(Some(name)), number: 0, cells: Vec::new() };
    // A formula's text is in the record after it.
    let mut waiting: Option<(u16, u16)> = None;
    let mut depth = 0u32;
    for (kind, content, _) in records(stream, offset) {
        sink.meter.spend(1)?;
        let (row, column, style) = (u16_at(content, 0), u16_at(content, 2), u16_at(content, 4));
        let text = match kind {
            // Charts within a sheet have a beginning and an end of their own.
            0x0809 | 0x0409 | 0x0209 | 0x0009 => {
                depth += 1;
                continue;
            }
            0x000A => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
                continue;
            }
            0x00FD => book.strings.get(u32_at(content, 6) as usize).cloned().unwrap_or_default(),
            0x0203 => book.number(style, f64_at(content, 6)),
            0x027E => book.number(style, rk(u32_at(content, 6))),
            0x00BD => {
                let cells = content.get(4..content.len().saturating_sub(2)).unwrap_or_default();
                for (index, cell) in cells.chunks_exact(6).enumerate() {
                    let shown = book.number(u16_at(cell, 0), rk(u32_at(cell, 2)));
                    let column = column.saturating_add(u16::try_from(index).unwrap_or(u16::MAX));
                    rows.cell(row, column, shown, sink)?;
                }
                continue;
            }
            0x0204 | 0x00D6 => book.string(content.get(6..).unwrap_or_default(), 2),
            0x0205 if content.get(7) == Some(&0) => {
                if content.get(6) == Some(&1) { "TRUE" } else { "FALSE" }.to_owned()
            }
            0x0006 | 0x0206 | 0x0406 => {
                waiting = Some((row, column));
                match content.get(6..14) {
                    Some([0, .., 0xFF, 0xFF]) => continue,
                    Some([1, _, value, .., 0xFF, 0xFF]) => {
                        if *value == 1 { "TRUE" } else { "FALSE" }.to_owned()
                    }
                    Some([.., 0xFF, 0xFF]) => continue,
                    _ => book.number(style, f64_at(content, 6)),
                }
            }
            0x0207 | 0x0007 => {
                if let Some((row, column)) = waiting.take() {
                    rows.cell(row, column, book.string(content, 2), sink)?;
                }
                continue;
            }
            _ => continue,
        };
        rows.cell(row, column, text, sink)?;
    }
    rows.end_row(sink)?;
    rows.blocks.flush(sink)
}

struct Rows {
    blocks: RowBlocks,
    number: u16,
    cells: Vec<(u32, String)>,
}

impl Rows {
    fn cell(&mut self, row: u16, column: u16, text: String, sink: &mut Sink) -> Outcome {
        sink.meter.spend(1)?;
        if row != self.number {
            self.end_row(sink)?;
            self.number = row;
        }
        self.cells.push((column.into(), text));
        Ok(())
    }

    fn end_row(&mut self, sink: &mut Sink) -> Outcome {
        self.cells.sort_by_key(|(column, _)| *column);
        self.blocks.sparse(u32::from(self.number) + 1, &self.cells, sink)?;
        self.cells.clear();
        Ok(())
    }
}

fn f64_at(bytes: &[u8], at: usize) -> f64 {
    let eight = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok());
    eight.map_or(0.0, f64::from_le_bytes)
}

/// A number in four bytes: an integer or the upper half of a float, perhaps times a hundred.
fn rk(word: u32) -> f64 {
    let number = if word & 2 != 0 {
        f64::from(word.cast_signed() >> 2)
    } else {
        f64::from_bits(u64::from(word & !3) << 32)
    };
    if word & 1 != 0 { number / 100.0 } else { number }
}

fn code_page(number: u16) -> &'static Encoding {
    let label = match number {
        10_000 => "macintosh".to_owned(),
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        other => format!("windows-{other}"),
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252)
}

#[cfg(test)]
mod tests {
    use super::{Pieces, rk};

    #[test]
    fn packed_numbers() {
        assert_eq!(rk(0x3FF0_0000), 1.0);
        assert_eq!(rk(123 << 2 | 2), 123.0);
        assert_eq!(rk(12_345 << 2 | 3), 123.45);
        assert_eq!(rk((-5i32 << 2).cast_unsigned() | 2), -5.0);
    }

    #[test]
    fn strings_go_on_in_the_next_record() {
        let mut pieces = Pieces { pieces: vec![b"ab", b"\x01c\0d\0", b"\0e"], piece: 0, at: 0 };
        assert_eq!(pieces.characters(5, false), "abcde");
    }
}
