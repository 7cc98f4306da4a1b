//! Content streams: runs the operators that move and show text, and notes where each character lands.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::file::File;
use super::font::{Font, Fonts};
use super::object::{Dict, Lexer, Object, Stream};
use super::strings::text_string;
use crate::sink::{Halt, Outcome};

/// A character on the page.
#[derive(Debug, Clone)]
pub(super) struct Glyph {
    /// Where it begins and ends on its baseline.
    pub(super) start: (f32, f32),
    pub(super) end: (f32, f32),
    pub(super) size: f32,
    /// Which way its line runs, in degrees from 0 to 359: 0 is to the right, 90 is up. Text that leans by less than
    /// [`STRAIGHT`] degrees is straight.
    pub(super) angle: u16,
    /// Its part of [`Shown::text`].
    pub(super) text: Range<u32>,
    /// It is there for searching and not drawn.
    pub(super) hidden: bool,
}

/// An image on the page.
#[derive(Debug, Clone)]
pub(super) struct PlacedImage {
    /// The object; none for an image within the content stream.
    pub(super) stream: Option<Rc<Stream>>,
    /// Where the unit square lands.
    pub(super) matrix: Matrix,
    /// How much of [`Shown::text`] came before it, and lies under it.
    pub(super) text_before: u32,
    /// A stencil would be painted black here.
    pub(super) black: bool,
}

/// What a page shows, in the order of showing.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) glyphs: Vec<Glyph>,
    pub(super) text: String,
    /// Characters whose meaning the font does not tell.
    pub(super) unknown: u32,
    /// The first [`MOST_IMAGES`] images.
    pub(super) images: Vec<PlacedImage>,
    /// Pieces of lines, curves and rectangles that were painted.
    pub(super) strokes: u32,
}

impl Shown {
    /// The characters of a glyph.
    pub(super) fn part(&self, glyph: &Glyph) -> &str {
        &self.text[glyph.text.start as usize..glyph.text.end as usize]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix(pub(super) [f64; 6]);

impl Matrix {
    pub(super) const ONE: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// First this, then the other.
    pub(super) fn then(&self, other: &Matrix) -> Matrix {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.0, other.0);
        Matrix([
            a * g + b * i,
            a * h + b * j,
            c * g + d * i,
            c * h + d * j,
            e * g + f * i + k,
            e * h + f * j + l,
        ])
    }

    pub(super) fn apply(&self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }

    /// The lower left corner of what a rectangle becomes.
    pub(super) fn corner(&self, [left, bottom, right, top]: [f64; 4]) -> (f64, f64) {
        let corners = [(left, bottom), (right, bottom), (left, top), (right, top)];
        corners
            .iter()
            .map(|(x, y)| self.apply(*x, *y))
            .fold((f64::INFINITY, f64::INFINITY), |(left, bottom), (x, y)| (left.min(x), bottom.min(y)))
    }

    pub(super) fn of(object: &Object) -> Option<Matrix> {
        let numbers: Vec<f64> = object.array()?.iter().filter_map(Object::number).collect();
        Some(Matrix(numbers.try_into().ok()?))
    }
}

#[derive(Clone)]
struct State {
    ctm: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
    hidden: bool,
    black: bool,
}

pub(super) struct Interpreter<'f, 'a> {
    file: &'f File<'a>,
    fonts: &'f mut Fonts,
    /// Fonts by name, for the resources that are in use.
    named: HashMap<Vec<u8>, Option<Rc<Font>>>,
    state: State,
    saved: Vec<State>,
    text: Matrix,
    line: Matrix,
    /// The spacing of letters is another than the text before had.
    respaced: bool,
    /// Texts that replace what is shown, from nested marks; `Some("")` once the text is given.
    actual: Vec<Option<String>>,
    /// Pieces of the path that is being made.
    pieces: u32,
    pub(super) shown: Shown,
}

/// Forms within forms; a dozen is more than any program writes.
const MOST_FORMS: u32 = 12;
const MOST_SAVED: usize = 512;
const MOST_GLYPHS: usize = 2_000_000;
/// A scan may be stored in strips, but not in this many.
const MOST_IMAGES: usize = 4096;
/// A blank that moves the text by less than this, in sizes of the font, separates no words.
const NO_BLANK: f64 = 0.08;
/// Scanned pages lie askew by a few degrees.
const STRAIGHT: f64 = 10.0;

impl<'f, 'a> Interpreter<'f, 'a> {
    pub(super) fn new(file: &'f File<'a>, fonts: &'f mut Fonts, ctm: Matrix) -> Interpreter<'f, 'a> {
        let state = State {
            ctm,
            font: None,
            size: 0.0,
            char_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
            hidden: false,
            black: true,
        };
        Interpreter {
            file,
            fonts,
            named: HashMap::new(),
            state,
            saved: Vec::new(),
            text: Matrix::ONE,
            line: Matrix::ONE,
            respaced: false,
            actual: Vec::new(),
            pieces: 0,
            shown: Shown::default(),
        }
    }

    /// Forgets where the page's content left off, for what is drawn over it.
    pub(super) fn restart(&mut self, ctm: Matrix) {
        self.state.ctm = ctm;
        self.saved.clear();
        self.actual.clear();
    }

    pub(super) fn run(&mut self, bytes: &[u8], resources: &Dict, depth: u32) -> Outcome {
        let mut lexer = Lexer::new(bytes, 0);
        let mut operands: Vec<Object> = Vec::with_capacity(16);
        while let Some(token) = lexer.token() {
            self.file.meter.spend(1)?;
            let Object::Word(word) = token else {
                // Only the last ones count.
                if operands.len() >= 64 {
                    operands.drain(..32);
                }
                operands.push(token);
                continue;
            };
            if word == b"BI" {
                skip_image(&mut lexer);
                self.image(None);
            } else {
                self.operator(&word, &operands, resources, depth)?;
            }
            operands.clear();
        }
        Ok(())
    }

    fn operator(&mut self, word: &[u8], operands: &[Object], resources: &Dict, depth: u32) -> Outcome {
        let number = |index: usize| operands.get(index).and_then(Object::number).unwrap_or(0.0);
        match word {
            b"Tj" => self.show_one(operands.first())?,
            b"TJ" => self.show_all(operands.first())?,
            b"'" => {
                self.next_line(0.0, -self.state.leading);
                self.show_one(operands.first())?;
            }
            b"\"" => {
                self.state.word_space = number(0);
                self.space_letters(number(1));
                self.next_line(0.0, -self.state.leading);
                self.show_one(operands.get(2))?;
            }
            b"Td" => self.next_line(number(0), number(1)),
            b"TD" => {
                self.state.leading = -number(1);
                self.next_line(number(0), number(1));
            }
            b"T*" => self.next_line(0.0, -self.state.leading),
            b"Tm" if operands.len() >= 6 => {
                self.line = Matrix(std::array::from_fn(number));
                self.text = self.line;
            }
            b"BT" => {
                self.line = Matrix::ONE;
                self.text = Matrix::ONE;
            }
            b"Tf" => {
                self.state.size = number(1);
                if let Some(name) = operands.first().and_then(Object::name) {
                    self.state.font = self.font(name, resources)?;
                }
            }
            b"Tc" => self.space_letters(number(0)),
            b"Tw" => self.state.word_space = number(0),
            b"Tz" => self.state.scale = number(0) / 100.0,
            b"TL" => self.state.leading = number(0),
            b"Ts" => self.state.rise = number(0),
            b"Tr" => self.state.hidden = matches!(number(0) as i64, 3 | 7),
            b"m" | b"l" | b"c" | b"v" | b"y" | b"re" => self.pieces = self.pieces.saturating_add(1),
            b"f" | b"F" | b"f*" | b"B" | b"B*" | b"b" | b"b*" | b"S" | b"s" => {
                self.shown.strokes = self.shown.strokes.saturating_add(std::mem::take(&mut self.pieces));
            }
            b"n" => self.pieces = 0,
            b"g" => self.state.black = number(0) <= 0.0,
            b"rg" => self.state.black = (0..3).all(|index| number(index) <= 0.0),
            b"k" => self.state.black = number(3) >= 1.0,
            b"cs" | b"sc" | b"scn" => self.state.black = false,
            b"q" if self.saved.len() < MOST_SAVED => self.saved.push(self.state.clone()),
            b"Q" => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            b"cm" if operands.len() >= 6 => {
                self.state.ctm = Matrix(std::array::from_fn(number)).then(&self.state.ctm);
            }
            b"Do" => {
                if let Some(name) = operands.first().and_then(Object::name) {
                    self.form(name, resources, depth)?;
                }
            }
            b"BMC" if self.actual.len() < MOST_SAVED => self.actual.push(None),
            b"BDC" if self.actual.len() < MOST_SAVED => {
                let text = self.actual_text(operands.get(1), resources)?;
                self.actual.push(text);
            }
            b"EMC" => drop(self.actual.pop()),
            _ => {}
        }
        Ok(())
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line = Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(&self.line);
        self.text = self.line;
    }

    fn font(&mut self, name: &[u8], resources: &Dict) -> Outcome<Option<Rc<Font>>> {
        if let Some(known) = self.named.get(name) {
            return Ok(known.clone());
        }
        let mut font = None;
        if let Some(fonts) = self.file.value(resources, "Font")?
            && let Some(fonts) = fonts.dict()
            && let Some((_, object)) = fonts.0.iter().find(|(known, _)| **known == *name)
        {
            font = match self.fonts.get(object, self.file) {
                Ok(font) => font,
                Err(Halt::Broken(_)) => None,
                Err(other) => return Err(other),
            };
        }
        self.named.insert(name.to_vec(), font.clone());
        Ok(font)
    }

    /// Runs a form: a content stream of its own within this one.
    fn form(&mut self, name: &[u8], resources: &Dict, depth: u32) -> Outcome {
        if depth >= MOST_FORMS {
            return Ok(());
        }
        let Some(objects) = self.file.value(resources, "XObject")? else { return Ok(()) };
        let found = objects.dict().and_then(|all| all.0.iter().find(|(known, _)| **known == *name));
        let Some((_, object)) = found else { return Ok(()) };
        if let Object::Stream(stream) = &*self.file.resolve(object)?
            && let Some(kind) = stream.dict.get("Subtype")
        {
            if kind.is_name("Form") {
                self.form_stream(stream, Matrix::ONE, resources, depth)?;
            } else if kind.is_name("Image") {
                self.image(Some(stream));
            }
        }
        Ok(())
    }

    fn image(&mut self, stream: Option<&Rc<Stream>>) {
        if self.shown.images.len() < MOST_IMAGES {
            self.shown.images.push(PlacedImage {
                stream: stream.cloned(),
                matrix: self.state.ctm,
                text_before: self.shown.text.len() as u32,
                black: self.state.black,
            });
        }
    }

    pub(super) fn form_stream(
        &mut self,
        stream: &Stream,
        placed: Matrix,
        resources: &Dict,
        depth: u32,
    ) -> Outcome {
        self.file.meter.spend(100)?;
        let Some(bytes) = self.file.decoded(stream)? else { return Ok(()) };
        let own = self.file.value(&stream.dict, "Resources")?;
        let own = own.as_deref().and_then(Object::dict).unwrap_or(resources);
        let matrix = self.file.value(&stream.dict, "Matrix")?;
        let matrix = matrix.as_deref().and_then(Matrix::of).unwrap_or(Matrix::ONE);
        let outside = self.state.clone();
        let saved = std::mem::take(&mut self.saved);
        let named = std::mem::take(&mut self.named);
        let (text, line) = (self.text, self.line);
        let marks = self.actual.len();
        self.state.ctm = matrix.then(&placed).then(&self.state.ctm);
        let done = self.run(&bytes, own, depth + 1);
        self.actual.truncate(marks);
        self.state = outside;
        self.saved = saved;
        self.named = named;
        (self.text, self.line) = (text, line);
        done
    }

    fn actual_text(&self, properties: Option<&Object>, resources: &Dict) -> Outcome<Option<String>> {
        let found;
        let dict = match properties {
            Some(Object::Dict(dict)) => dict,
            Some(Object::Name(name)) => {
                let Some(all) = self.file.value(resources, "Properties")? else { return Ok(None) };
                let entry = all.dict().and_then(|all| all.0.iter().find(|(known, _)| known == name).cloned());
                let Some((_, object)) = entry else { return Ok(None) };
                found = self.file.resolve(&object)?;
                match found.dict() {
                    Some(dict) => dict,
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let text = dict.get("ActualText").and_then(Object::string);
        Ok(text.map(text_string).filter(|text| text.len() < 10_000))
    }

    fn show_all(&mut self, items: Option<&Object>) -> Outcome {
        for item in items.and_then(Object::array).unwrap_or_default() {
            match item {
                Object::Number(number) => {
                    let shift = -number / 1000.0 * self.state.size;
                    let vertical = self.state.font.as_ref().is_some_and(|font| font.vertical);
                    let (x, y) = if vertical { (0.0, shift) } else { (shift * self.state.scale, 0.0) };
                    self.text = Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(&self.text);
                }
                other => self.show(Some(other))?,
            }
        }
        self.respaced = false;
        Ok(())
    }

    fn show_one(&mut self, string: Option<&Object>) -> Outcome {
        self.show(string)?;
        self.respaced = false;
        Ok(())
    }

    fn space_letters(&mut self, space: f64) {
        self.respaced |= space != self.state.char_space;
        self.state.char_space = space;
    }

    fn show(&mut self, string: Option<&Object>) -> Outcome {
        let (Some(Object::String(bytes)), Some(font)) = (string, self.state.font.clone()) else {
            return Ok(());
        };
        self.file.meter.spend(bytes.len() as u64)?;
        let State { size, char_space, word_space, scale, rise, hidden, .. } = self.state;
        let device = self.text.then(&self.state.ctm);
        let [a, b, c, d, ..] = device.0;
        let height = (size * c.hypot(d)).abs();
        let stretch = a.hypot(b);
        let angle = if font.vertical { angle(-c, -d) } else { angle(a * size * scale, b * size * scale) };
        let mut x = 0.0;
        let mut y = 0.0;
        // Ghostscript writes the end of one word and the beginning of the next with the blank as their spacing.
        let mut letters = 0;
        if self.respaced && bytes.len() <= 4 {
            font.chars(bytes, |_| letters += 1);
        }
        let is_word_gap = letters == 2;
        let (actual, shown) = (&mut self.actual, &mut self.shown);
        font.chars(bytes, |one| {
            let width = f64::from(one.width) / 1000.0 * size;
            let blank = if one.is_blank { word_space } else { 0.0 };
            let start = device.apply(x, y + rise);
            // Spacing between letters belongs to them, or a widely set word falls apart.
            let of_letter = !one.is_blank && !is_word_gap;
            let letter = if of_letter { char_space.clamp(0.0, size.abs() * 0.4) } else { 0.0 };
            let end = if font.vertical {
                y -= size + char_space + blank;
                device.apply(x, y + rise)
            } else {
                let end = device.apply(x + (width + letter) * scale, y + rise);
                x += (width + char_space + blank) * scale;
                end
            };
            // The same program closes a word up by a blank that is drawn back over itself.
            if one.is_blank && blank < 0.0 && width + char_space + blank < size.abs() * NO_BLANK {
                return;
            }
            let replaced = actual.iter_mut().rev().find_map(Option::as_mut);
            let text: Option<Cow<'_, str>> = match replaced {
                Some(text) => Some(std::mem::take(text).into()),
                None => one.text,
            };
            match text {
                Some(text) if !text.is_empty() => {
                    let from = shown.text.len() as u32;
                    shown.text.push_str(&text);
                    shown.glyphs.push(Glyph {
                        start: (start.0 as f32, start.1 as f32),
                        end: (end.0 as f32, end.1 as f32),
                        size: if height > 0.0 { height } else { size.abs() * stretch } as f32,
                        angle,
                        text: from..shown.text.len() as u32,
                        hidden,
                    });
                }
                Some(_) => {
                    // A part of the glyph before it, which reaches to here.
                    if let Some(last) = shown.glyphs.last_mut() {
                        last.end = (end.0 as f32, end.1 as f32);
                    }
                }
                None => shown.unknown += 1,
            }
        });
        self.text = Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(&self.text);
        if self.shown.glyphs.len() > MOST_GLYPHS {
            return Err(crate::limits::Limit::OutputChars.into());
        }
        Ok(())
    }
}

/// The direction of a vector, in whole degrees.
fn angle(x: f64, y: f64) -> u16 {
    let degrees = y.atan2(x).to_degrees();
    let straight = (degrees / 90.0).round() * 90.0;
    let degrees = if (degrees - straight).abs() < STRAIGHT { straight } else { degrees };
    // A vector that is not a number points right.
    (degrees.round() as i32).rem_euclid(360) as u16
}

/// Goes past an image in the stream: `BI … ID bytes EI`.
fn skip_image(lexer: &mut Lexer<'_>) {
    let rest = &lexer.bytes[lexer.at..];
    let data = memchr::memmem::find(rest, b"ID").map_or(rest.len(), |at| at + 2);
    let mut from = data;
    while let Some(found) = rest.get(from..).and_then(|tail| memchr::memmem::find(tail, b"EI")) {
        let at = from + found;
        let before = at == 0 || rest[at - 1].is_ascii_whitespace();
        let after = rest.get(at + 2).is_none_or(|byte| byte.is_ascii_whitespace());
        // Pictures hold any bytes; after the end there is text.
        let sane = rest[at + 2..].iter().take(16).all(|byte| byte.is_ascii() && (*byte >= 9));
        if before && after && sane {
            lexer.at += at + 2;
            return;
        }
        from = at + 2;
    }
    lexer.at = lexer.bytes.len();
}
