//! The objects of a PDF and the reading of them from bytes.

use std::ops::Range;
use std::rc::Rc;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Object {
    Null,
    Bool(bool),
    Number(f64),
    String(Vec<u8>),
    Name(Rc<[u8]>),
    Array(Vec<Object>),
    Dict(Dict),
    Stream(Rc<Stream>),
    Ref(u32),
    /// An operator of a content stream, or a word of the file's structure.
    Word(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Dict(pub(super) Vec<(Rc<[u8]>, Object)>);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stream {
    pub(super) dict: Dict,
    /// Where its bytes are in the file, still encoded.
    pub(super) range: Range<usize>,
    /// The object's number, which encryption needs.
    pub(super) number: u32,
    pub(super) generation: u16,
}

impl Dict {
    pub(super) fn get(&self, key: &str) -> Option<&Object> {
        self.0.iter().find(|(known, _)| &**known == key.as_bytes()).map(|(_, value)| value)
    }
}

impl Object {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Object::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn integer(&self) -> Option<i64> {
        self.number().map(|number| number as i64)
    }

    pub(super) fn name(&self) -> Option<&[u8]> {
        match self {
            Object::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        self.name() == Some(name.as_bytes())
    }

    pub(super) fn array(&self) -> Option<&[Object]> {
        match self {
            Object::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The dictionary, that of a stream included.
    pub(super) fn dict(&self) -> Option<&Dict> {
        match self {
            Object::Dict(dict) => Some(dict),
            Object::Stream(stream) => Some(&stream.dict),
            _ => None,
        }
    }

    pub(super) fn string(&self) -> Option<&[u8]> {
        match self {
            Object::String(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Replaces each string within the object. How deep that goes, the lexer has bounded.
    pub(super) fn change_strings(&mut self, change: &mut impl FnMut(&[u8]) -> Vec<u8>) {
        match self {
            Object::String(bytes) => *bytes = change(bytes),
            Object::Array(items) => items.iter_mut().for_each(|item| item.change_strings(change)),
            Object::Dict(dict) => dict.0.iter_mut().for_each(|(_, value)| value.change_strings(change)),
            _ => {}
        }
    }
}

/// Reads objects one after the other.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

/// Arrays and dictionaries within each other; real files need five.
const MOST_NESTING: u32 = 64;

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Lexer<'a> {
        Lexer { bytes, at: at.min(bytes.len()) }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'\0' | b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' => self.at += 1,
                b'%' => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                }
                _ => break,
            }
        }
    }

    /// Takes a word if it is next.
    pub(super) fn word(&mut self, word: &str) -> bool {
        self.blanks();
        let found = self.bytes[self.at..].starts_with(word.as_bytes());
        if found {
            self.at += word.len();
        }
        found
    }

    /// An unsigned number.
    pub(super) fn integer(&mut self) -> Option<u64> {
        self.blanks();
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        (self.at > start).then_some(value)
    }

    /// The next object of the file's structure, where `1 0 R` is a reference.
    pub(super) fn object(&mut self) -> Option<Object> {
        self.read(0, true)
    }

    /// The next operand or operator of a content stream, where there are no references.
    pub(super) fn token(&mut self) -> Option<Object> {
        self.read(0, false)
    }

    fn read(&mut self, depth: u32, references: bool) -> Option<Object> {
        self.blanks();
        match self.peek()? {
            b'0'..=b'9' if references => {
                let back = self.at;
                if let Some(reference) = self.reference() {
                    return Some(reference);
                }
                self.at = back;
                Some(Object::Number(self.number()))
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => Some(Object::Number(self.number())),
            b'/' => {
                self.at += 1;
                Some(Object::Name(self.name()))
            }
            b'(' => {
                self.at += 1;
                Some(Object::String(self.literal()))
            }
            b'<' if self.bytes.get(self.at + 1) == Some(&b'<') => {
                self.at += 2;
                Some(Object::Dict(self.dict(depth, references)))
            }
            b'<' => {
                self.at += 1;
                Some(Object::String(self.hexadecimal()))
            }
            b'[' => {
                self.at += 1;
                Some(Object::Array(self.array(depth, references)))
            }
            b']' | b')' | b'{' | b'}' => {
                self.at += 1;
                Some(Object::Word(Vec::new()))
            }
            b'>' => {
                self.at += if self.bytes.get(self.at + 1) == Some(&b'>') { 2 } else { 1 };
                Some(Object::Word(b">>".to_vec()))
            }
            _ => {
                let start = self.at;
                while self.peek().is_some_and(is_regular) {
                    self.at += 1;
                }
                Some(match &self.bytes[start..self.at] {
                    b"true" => Object::Bool(true),
                    b"false" => Object::Bool(false),
                    b"null" => Object::Null,
                    word => Object::Word(word.to_vec()),
                })
            }
        }
    }

    fn reference(&mut self) -> Option<Object> {
        let number = u32::try_from(self.integer()?).ok()?;
        self.peek().filter(|byte| !is_regular(*byte))?;
        self.integer()?;
        self.blanks();
        if self.peek()? != b'R' || self.bytes.get(self.at + 1).is_some_and(|byte| is_regular(*byte)) {
            return None;
        }
        self.at += 1;
        Some(Object::Ref(number))
    }

    /// A number as lenient readers take it: `--5`, `4.`, `1.2.3` all occur.
    fn number(&mut self) -> f64 {
        let mut negative = false;
        while let Some(sign @ (b'+' | b'-')) = self.peek() {
            negative |= sign == b'-';
            self.at += 1;
        }
        let mut value = 0f64;
        let mut scale = 0f64;
        while let Some(byte) = self.peek() {
            match byte {
                b'0'..=b'9' => {
                    let digit = f64::from(byte - b'0');
                    if scale == 0.0 {
                        value = value * 10.0 + digit;
                    } else {
                        value += digit * scale;
                        scale /= 10.0;
                    }
                }
                b'.' if scale == 0.0 => scale = 0.1,
                b'.' | b'-' => {}
                _ => break,
            }
            self.at += 1;
        }
        if negative { -value } else { value }
    }

    fn name(&mut self) -> Rc<[u8]> {
        let start = self.at;
        let mut escaped = false;
        while let Some(byte) = self.peek().filter(|byte| is_regular(*byte)) {
            escaped |= byte == b'#';
            self.at += 1;
        }
        let raw = &self.bytes[start..self.at];
        if !escaped {
            return raw.into();
        }
        let mut name = Vec::with_capacity(raw.len());
        let mut rest = raw;
        while let [byte, after @ ..] = rest {
            rest = after;
            if let (b'#', [high, low, after @ ..]) = (byte, after)
                && let (Some(high), Some(low)) = (hex(*high), hex(*low))
            {
                name.push(high << 4 | low);
                rest = after;
                continue;
            }
            name.push(*byte);
        }
        name.into()
    }

    fn literal(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut depth = 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => depth += 1,
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                b'\\' => {
                    if let Some(byte) = self.escape() {
                        out.push(byte);
                    }
                    continue;
                }
                _ => {}
            }
            out.push(byte);
        }
        out
    }

    fn escape(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'0'..=b'7' => {
                let mut value = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                    value = value * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                value as u8
            }
            // The line goes on.
            b'\r' => {
                self.at += usize::from(self.peek() == Some(b'\n'));
                return None;
            }
            b'\n' => return None,
            other => other,
        })
    }

    fn hexadecimal(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut high = None;
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'>' {
                break;
            }
            let Some(digit) = hex(byte) else { continue };
            match high.take() {
                Some(high) => out.push(high << 4 | digit),
                None => high = Some(digit),
            }
        }
        out.extend(high.map(|high| high << 4));
        out
    }

    fn array(&mut self, depth: u32, references: bool) -> Vec<Object> {
        let mut items = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None => break,
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                // The end of something around it: the bracket is missing.
                Some(b'>') => break,
                _ if depth >= MOST_NESTING => self.at += 1,
                _ => match self.read(depth + 1, references) {
                    Some(Object::Word(word)) if matches!(&*word, b"endobj" | b"endstream") => break,
                    Some(Object::Word(_)) => {}
                    Some(item) => items.push(item),
                    None => break,
                },
            }
        }
        items
    }

    pub(super) fn dict(&mut self, depth: u32, references: bool) -> Dict {
        let mut dict = Dict::default();
        loop {
            self.blanks();
            match self.peek() {
                None => break,
                Some(b'>') => {
                    self.at += if self.bytes.get(self.at + 1) == Some(&b'>') { 2 } else { 1 };
                    break;
                }
                Some(b'/') if depth < MOST_NESTING => {
                    self.at += 1;
                    let key = self.name();
                    match self.read(depth + 1, references) {
                        // A key without a value at the end.
                        Some(Object::Word(word)) if word == b">>" => break,
                        Some(Object::Word(word)) if word == b"endobj" => break,
                        Some(value) => dict.0.push((key, value)),
                        None => break,
                    }
                }
                Some(byte) if is_regular(byte) && depth < MOST_NESTING => {
                    if let Some(Object::Word(word)) = self.read(depth + 1, references)
                        && matches!(&*word, b"endobj" | b"stream" | b"endstream")
                    {
                        self.at -= word.len();
                        break;
                    }
                }
                Some(_) => self.at += 1,
            }
        }
        dict
    }
}

pub(super) fn is_regular(byte: u8) -> bool {
    !matches!(
        byte,
        b'\0'
            | b'\t'
            | b'\n'
            | b'\x0C'
            | b'\r'
            | b' '
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'/'
            | b'%'
    )
}

pub(super) fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Lexer, Object};

    fn read(text: &str) -> Object {
        Lexer::new(text.as_bytes(), 0).object().unwrap()
    }

    #[test]
    fn objects() {
        assert_eq!(read("12 0 R"), Object::Ref(12));
        assert_eq!(read("12 0 X"), Object::Number(12.0));
        assert_eq!(read("-.5"), Object::Number(-0.5));
        assert_eq!(read("--5"), Object::Number(-5.0));
        assert_eq!(read("(a(b)\\)\\101\\\n\\n)"), Object::String(b"a(b))A\n".to_vec()));
        assert_eq!(read("<48 65 7>"), Object::String(b"Hep".to_vec()));
        assert_eq!(read("/A#20B"), Object::Name(b"A B".as_slice().into()));
        let dict = read("<< /A [1 2 0 R] /B << /C null >> % note\n/D true >>");
        assert_eq!(dict.dict().unwrap().0.len(), 3);
        assert_eq!(dict.dict().unwrap().get("A").unwrap().array().unwrap().len(), 2);
    }

    #[test]
    fn deep_and_broken_ones_end() {
        for text in ["[".repeat(100_000), "<<".repeat(100_000), "<</A".repeat(100_000), "(".repeat(9)] {
            Lexer::new(text.as_bytes(), 0).object();
        }
        assert_eq!(read("<</A>>").dict().unwrap().0.len(), 0);
    }
}
