//! Pictures of pages: by the page's own image where one covers it, else by rendering.

use super::content::{PlacedImage, Shown};
use super::file::{File, Locked};
use super::font::Fonts;
use super::unread::{cover, is_garbage, letters};
use super::{Page, image, pages, show};
use crate::format::Format;
use crate::limits::Meter;
use crate::picture::{PagePicture, PictureKind, Raster, Rendering, Turn, no_page};
use crate::sink::{Halt, Outcome, broken, encrypted};

/// An image that covers this share of the page is the page.
const WHOLE: f64 = 0.85;
/// An image of which less than this share is on the page shows more than the page does.
const ON_PAGE: f64 = 0.9;
/// Other images are specks if they cover less than this share.
const SPECK: f64 = 0.002;
/// Letters over the image that may be missing in the picture: a stamp, which the text layer has.
const MOST_OVER: usize = 200;
/// Drawn pieces that may be missing in the picture: a frame.
const MOST_STROKES: u32 = 50;
/// How far an image may lean, as a share of its side: more than a degree is drawn as it stands.
const LEAN: f64 = 0.02;
/// More dots for each inch than this bring no more letters: 600 are made 300.
const ENOUGH_DOTS: f64 = 300.0;
/// Pixels that are longer one way than the other by more than this are made square.
const SQUARE: f64 = 1.25;

/// A PDF whose pages are asked for. It is parsed once.
pub(crate) struct PdfPictures<'a> {
    bytes: &'a [u8],
    file: File<'a>,
    pages: Vec<Page>,
    fonts: Fonts,
    /// Opened when the first page has to be rendered.
    rendering: Option<Rendering>,
}

impl<'a> PdfPictures<'a> {
    pub(crate) fn open(bytes: &'a [u8], meter: &'a Meter) -> Outcome<PdfPictures<'a>> {
        let file = File::open(bytes, meter)?;
        if file.unlock()? == Locked::ByPassword {
            return Err(encrypted(Format::Pdf));
        }
        let pages = pages(&file, meter)?;
        if pages.is_empty() {
            return broken("it has no pages");
        }
        Ok(PdfPictures { bytes, file, pages, fonts: Fonts::default(), rendering: None })
    }

    pub(crate) fn page(&mut self, page: u32) -> Outcome<PagePicture> {
        let index = page.checked_sub(1).map(|index| index as usize);
        let wanted = index.and_then(|index| self.pages.get(index)).ok_or_else(|| no_page(page))?;
        match own_image(wanted, &self.file, &mut self.fonts) {
            Ok(Some(raster)) => {
                let most = self.file.meter.limits().max_picture_pixels;
                return raster.within(most).into_picture(PictureKind::OwnImage);
            }
            // What cannot be taken out may still be drawn.
            Ok(None) | Err(Halt::Broken(_)) => {}
            Err(other) => return Err(other),
        }
        let rendering = match self.rendering.take() {
            Some(rendering) => rendering,
            None => Rendering::open(self.bytes)?,
        };
        self.rendering.insert(rendering).page(page, self.pages.len(), self.file.meter)
    }
}

/// The image that is the page, upright.
fn own_image(page: &Page, file: &File<'_>, fonts: &mut Fonts) -> Outcome<Option<Raster>> {
    let shown = show(page, file, fonts)?;
    let Some(placed) = covering(&shown, page.area()) else { return Ok(None) };
    let Some(stream) = &placed.stream else { return Ok(None) };
    let Some(turn) = turn(placed) else { return Ok(None) };
    let Some(raster) = image::read(stream, placed.black, file)? else { return Ok(None) };
    let [a, b, c, d, ..] = placed.matrix.0;
    let inches = |x: f64, y: f64| x.hypot(y) / 72.0;
    let across = f64::from(raster.width) / inches(a, b);
    let down = f64::from(raster.height) / inches(c, d);
    Ok(Some(shaped(raster, across, down).turned(turn)))
}

/// The only image that counts on the page, if it is the page.
fn covering(shown: &Shown, area: [f64; 4]) -> Option<&PlacedImage> {
    let mut large = shown.images.iter().filter(|image| cover(&image.matrix, area) >= SPECK);
    let placed = large.next().filter(|image| cover(&image.matrix, area) >= WHOLE)?;
    let [a, b, c, d, ..] = placed.matrix.0;
    let [left, bottom, right, top] = area;
    let on_page = cover(&placed.matrix, area) * (right - left) * (top - bottom) / (a * d - b * c).abs();
    let over = letters(shown, |glyph| !glyph.hidden && glyph.text.start >= placed.text_before);
    let is_alone = large.next().is_none()
        && on_page >= ON_PAGE
        && over < MOST_OVER
        && shown.unknown == 0
        && shown.strokes < MOST_STROKES
        && (over == 0 || !is_garbage(shown));
    is_alone.then_some(placed)
}

/// How the image has to be turned; none if it leans.
fn turn(placed: &PlacedImage) -> Option<Turn> {
    let [a, b, c, d, ..] = placed.matrix.0;
    let leans = |long: f64, short: f64| short.abs() > long.abs() * LEAN;
    // The first row of an image is at the top of its square, where pages count upwards.
    if !leans(a, b) && !leans(d, c) {
        Some(Turn { transposed: false, mirrored: a < 0.0, upside_down: d < 0.0 })
    } else if !leans(b, a) && !leans(c, d) {
        Some(Turn { transposed: true, mirrored: c > 0.0, upside_down: b > 0.0 })
    } else {
        None
    }
}

/// Square pixels, and no more of them than help.
fn shaped(raster: Raster, across: f64, down: f64) -> Raster {
    let (width, height) = (raster.width, raster.height);
    let fewer = (across.min(down) / ENOUGH_DOTS).floor();
    let raster =
        if fewer >= 2.0 && fewer.is_finite() { raster.reduced(fewer.min(64.0) as u32) } else { raster };
    let ratio = across / down;
    // A page that is a hundred times as dense one way is damaged, not a fax.
    if (width, height) != (raster.width, raster.height) || !(0.1..=10.0).contains(&ratio) {
        return raster;
    }
    if ratio > SQUARE {
        raster.stretched(width, (f64::from(height) * ratio) as u32)
    } else if ratio < 1.0 / SQUARE {
        raster.stretched((f64::from(width) / ratio) as u32, height)
    } else {
        raster
    }
}

#[cfg(test)]
mod tests {
    use super::{Raster, shaped, turn};
    use crate::formats::pdf::content::{Matrix, PlacedImage};
    use crate::picture::Turn;

    #[test]
    fn directions() {
        let at = |[a, b, c, d]: [f64; 4]| {
            let matrix = Matrix([a, b, c, d, 0.0, 0.0]);
            turn(&PlacedImage { stream: None, matrix, text_before: 0, black: true })
        };
        let is = |transposed, mirrored, upside_down| Some(Turn { transposed, mirrored, upside_down });
        assert_eq!(at([600.0, 0.0, 0.0, 800.0]), is(false, false, false));
        assert_eq!(at([600.0, 5.0, -5.0, 800.0]), is(false, false, false), "a scan that was straightened");
        assert_eq!(at([-600.0, 0.0, 0.0, -800.0]), is(false, true, true));
        // A quarter turn to the left: the first row runs upwards at the left edge.
        assert_eq!(at([0.0, 800.0, -600.0, 0.0]), is(true, false, true));
        // A quarter turn to the right: the first row runs downwards at the right edge.
        assert_eq!(at([0.0, -800.0, 600.0, 0.0]), is(true, true, false));
        assert_eq!(at([500.0, 300.0, -300.0, 500.0]), None);
        assert_eq!(at([f64::NAN; 4]), is(false, false, false));
    }

    #[test]
    fn square_pixels() {
        let raster =
            |width: u32, height: u32| Raster { width, height, pixels: vec![0; (width * height) as usize] };
        let size = |raster: Raster| (raster.width, raster.height);
        assert_eq!(size(shaped(raster(100, 100), 300.0, 300.0)), (100, 100));
        assert_eq!(size(shaped(raster(100, 100), 600.0, 610.0)), (50, 50));
        assert_eq!(size(shaped(raster(100, 50), 204.0, 98.0)), (100, 104));
        assert_eq!(size(shaped(raster(50, 100), 98.0, 204.0)), (104, 100));
        assert_eq!(size(shaped(raster(50, 100), f64::NAN, 1.0)), (50, 100));
    }
}
