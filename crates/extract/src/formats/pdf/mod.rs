//! PDF: the text layer, page by page, and pictures of the pages that have none. Nothing is run, nothing outside is asked.

mod accents;
mod cff;
mod cmap;
mod composite_font;
mod content;
mod crypt;
mod file;
mod filter;
mod font;
mod font_program;
mod glyph_names;
mod image;
mod layout;
mod object;
mod picture;
mod predefined;
mod right_to_left;
mod simple_font;
mod strings;
mod tables;
mod truetype;
mod unread;

use std::collections::HashSet;
use std::rc::Rc;

use model::Pointer;

use crate::diagnostic::Diagnostic;
use crate::limits::{Limit, Meter};
use crate::sink::{Halt, Outcome, Sink, broken, encrypted};
use content::{Interpreter, Matrix, Shown};
use file::{File, Locked, is_type};
use font::Fonts;
use object::{Dict, Object};

pub(crate) use picture::PdfPictures;

/// Pages that may unpack to more than their share before the document is refused. Each costs 16 MiB or more.
const MOST_TIGHT_PAGES: u32 = 16;

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let meter = sink.meter.clone();
    let file = File::open(bytes, &meter)?;
    if file.unlock()? == Locked::ByPassword {
        return Err(encrypted(sink.format));
    }
    title(&file, sink)?;
    let pages = pages(&file, &meter)?;
    if pages.is_empty() {
        return broken("it has no pages");
    }
    sink.parts = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    let mut fonts = Fonts::default();
    let mut empty = 0;
    let mut tight = 0;
    for (index, page) in pages.iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let shown = show(page, &file, &mut fonts);
        // A page of equal lines may be packed as tightly as a bomb: it alone is left out, unless there are many.
        if let Err(Halt::Limit(limit @ Limit::Ratio)) = shown
            && tight < MOST_TIGHT_PAGES
        {
            tight += 1;
            sink.note(Diagnostic::Stopped { limit });
            continue;
        }
        let Some(shown) = sink.tolerate(&format!("page {number}"), shown)? else { continue };
        if shown.unknown > 0 {
            sink.note(Diagnostic::UnknownGlyphs { page: number, count: shown.unknown });
        }
        if unread::is_unread(&shown, page.area()) {
            sink.unread_pages.push(number);
        }
        let text = layout::text(&shown);
        empty += u32::from(text.trim().is_empty());
        let heading = text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
        sink.unit(Pointer::Page { page: number }, heading.as_deref(), &text)?;
    }
    if tight > 0 && sink.units.is_empty() {
        return Err(Limit::Ratio.into());
    }
    if empty > 0 && !sink.units.is_empty() {
        let of = sink.parts;
        sink.note(Diagnostic::PagesWithoutText { pages: empty, of });
    }
    Ok(())
}

fn title(file: &File<'_>, sink: &mut Sink) -> Outcome {
    let Some(info) = file.trailer.borrow().get("Info").cloned() else { return Ok(()) };
    let info = file.resolve(&info)?;
    let Some(info) = info.dict() else { return Ok(()) };
    if let Some(title) = file.value(info, "Title")?
        && let Some(bytes) = title.string()
    {
        sink.title(&strings::text_string(bytes));
    }
    Ok(())
}

/// A page with what it inherits.
struct Page {
    dict: Rc<Object>,
    resources: Option<Rc<Object>>,
    media: Option<[f64; 4]>,
    rotate: i64,
}

/// What a page is without a size of its own.
const LETTER: [f64; 4] = [0.0, 0.0, 612.0, 792.0];

impl Page {
    /// What turns the page as it is shown.
    fn turned(&self) -> Matrix {
        match self.rotate.rem_euclid(360) {
            90 => Matrix([0.0, -1.0, 1.0, 0.0, 0.0, 0.0]),
            180 => Matrix([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0]),
            270 => Matrix([0.0, 1.0, -1.0, 0.0, 0.0, 0.0]),
            _ => Matrix::ONE,
        }
    }

    /// The page's own size, where it has a sound one.
    fn sound_media(&self) -> Option<[f64; 4]> {
        self.media.filter(|[left, bottom, right, top]| right - left > 1.0 && top - bottom > 1.0)
    }

    /// What is visible, turned as it is shown: left, bottom, right and top.
    fn area(&self) -> [f64; 4] {
        let [left, bottom, right, top] = self.sound_media().unwrap_or(LETTER);
        let turned = self.turned();
        let (one, other) = (turned.apply(left, bottom), turned.apply(right, top));
        [one.0.min(other.0), one.1.min(other.1), one.0.max(other.0), one.1.max(other.1)]
    }
}

/// The pages in their order. The tree is walked with a list of what is left, and no node twice.
fn pages(file: &File<'_>, meter: &Meter) -> Outcome<Vec<Page>> {
    let mut pages = Vec::new();
    let most = meter.limits().max_units as usize;
    let root = file.root()?;
    let top = root.as_deref().and_then(Object::dict).and_then(|root| root.get("Pages").cloned());
    let mut todo: Vec<(Object, Option<Rc<Object>>, Option<[f64; 4]>, i64)> = Vec::new();
    todo.extend(top.map(|top| (top, None, None, 0)));
    let mut seen: HashSet<u32> = HashSet::new();
    while let Some((node, resources, media, rotate)) = todo.pop() {
        meter.spend(10)?;
        if let Object::Ref(number) = node
            && !seen.insert(number)
        {
            continue;
        }
        let object = file.resolve(&node)?;
        let Some(dict) = object.dict() else { continue };
        let resources = file.value(dict, "Resources")?.or(resources);
        let media = match file.value(dict, "CropBox")?.or(file.value(dict, "MediaBox")?) {
            Some(found) => rectangle(&found, file)?.or(media),
            None => media,
        };
        let rotate = file.value(dict, "Rotate")?.and_then(|value| value.integer()).unwrap_or(rotate);
        match file.value(dict, "Kids")? {
            Some(kids) if !is_type(dict, "Page") => {
                let kids = kids.array().unwrap_or_default();
                if todo.len() + kids.len() > 10_000_000 {
                    return Err(Limit::Units.into());
                }
                todo.extend(kids.iter().rev().map(|kid| (kid.clone(), resources.clone(), media, rotate)));
            }
            _ if is_type(dict, "Pages") && dict.get("Contents").is_none() => {}
            _ => {
                if pages.len() >= most {
                    break;
                }
                pages.push(Page { dict: object.clone(), resources, media, rotate });
            }
        }
    }
    if pages.is_empty() {
        // No tree: the pages that there are, by their numbers.
        for number in file.find_all(|dict| is_type(dict, "Page"), most)? {
            let dict = file.resolve(&Object::Ref(number))?;
            let resources = match dict.dict() {
                Some(inner) => file.value(inner, "Resources")?,
                None => None,
            };
            pages.push(Page { dict, resources, media: None, rotate: 0 });
        }
    }
    Ok(pages)
}

fn rectangle(object: &Object, file: &File<'_>) -> Outcome<Option<[f64; 4]>> {
    let mut numbers = Vec::new();
    for item in object.array().unwrap_or_default().iter().take(4) {
        numbers.extend(file.resolve(item)?.number());
    }
    let [a, b, c, d] = numbers.as_slice() else { return Ok(None) };
    Ok(Some([a.min(*c), b.min(*d), a.max(*c), b.max(*d)]))
}

/// Runs a page's content.
fn show(page: &Page, file: &File<'_>, fonts: &mut Fonts) -> Outcome<Shown> {
    let Some(dict) = page.dict.dict() else { return Ok(Shown::default()) };
    let bytes = contents(dict, file)?;
    let turned = page.turned();
    let empty = Dict::default();
    let resources = page.resources.as_deref().and_then(Object::dict).unwrap_or(&empty);
    let mut interpreter = Interpreter::new(file, fonts, turned);
    let done = interpreter.run(&bytes, resources, 0);
    match done {
        Ok(()) => {}
        // What was shown before stays.
        Err(Halt::Broken(_)) => {}
        Err(other) => return Err(other),
    }
    annotations(dict, file, &mut interpreter, turned)?;
    let mut shown = interpreter.shown;
    if page.sound_media().is_some() {
        // Text outside of the page is not visible.
        let [left, bottom, right, top] = page.area();
        shown.glyphs.retain(|glyph| {
            let (x, y) = (f64::from(glyph.start.0), f64::from(glyph.start.1));
            x >= left - 3.0 && x <= right + 3.0 && y >= bottom - 3.0 && y <= top + 3.0
        });
    }
    Ok(shown)
}

/// The content streams of a page, as one.
fn contents(dict: &Dict, file: &File<'_>) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some(contents) = file.value(dict, "Contents")? else { return Ok(bytes) };
    let streams: Vec<Object> = match &*contents {
        Object::Array(all) => all.clone(),
        other => vec![other.clone()],
    };
    for stream in &streams {
        if let Object::Stream(stream) = &*file.resolve(stream)?
            && let Some(decoded) = file.decoded(stream)?
        {
            bytes.extend_from_slice(&decoded);
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

/// Filled-in form fields and notes written on the page.
fn annotations(
    dict: &Dict,
    file: &File<'_>,
    interpreter: &mut Interpreter<'_, '_>,
    turned: Matrix,
) -> Outcome {
    let Some(list) = file.value(dict, "Annots")? else { return Ok(()) };
    for item in list.array().unwrap_or_default().iter().take(10_000) {
        let annotation = file.resolve(item)?;
        let Some(annotation) = annotation.dict() else { continue };
        let kind = annotation.get("Subtype").and_then(Object::name).unwrap_or_default();
        let flags = annotation.get("F").and_then(Object::integer).unwrap_or(0);
        // Hidden, or not for showing.
        if !matches!(kind, b"Widget" | b"FreeText" | b"Stamp") || flags & 0b10_0010 != 0 {
            continue;
        }
        let Some(looks) = file.value(annotation, "AP")? else { continue };
        let Some(looks) = looks.dict() else { continue };
        let Some(normal) = file.value(looks, "N")? else { continue };
        let (Object::Stream(stream), Some(place)) = (&*normal, file.value(annotation, "Rect")?) else {
            continue;
        };
        let (Some([left, bottom, ..]), Some(own)) =
            (rectangle(&place, file)?, file.value(&stream.dict, "BBox")?)
        else {
            continue;
        };
        let Some(own) = rectangle(&own, file)? else { continue };
        let matrix = file.value(&stream.dict, "Matrix")?;
        let (own_left, own_bottom) =
            matrix.as_deref().and_then(Matrix::of).unwrap_or(Matrix::ONE).corner(own);
        let placed = Matrix([1.0, 0.0, 0.0, 1.0, left - own_left, bottom - own_bottom]);
        interpreter.restart(turned);
        interpreter.form_stream(stream, placed, &Dict::default(), 0)?;
    }
    Ok(())
}
