//! Pages that are drawn: text as outlines, several pictures, fonts that do not say what their glyphs mean.

use std::sync::Arc;

use hayro::hayro_interpret::InterpreterSettings;
use hayro::hayro_syntax::{LoadPdfError, Pdf};
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};

use super::raster::{Raster, grey};
use super::{PagePicture, PictureKind, no_page, too_many_pixels};
use crate::format::Format;
use crate::limits::Meter;
use crate::sink::{Outcome, broken, encrypted};

/// What recognisers read well without being slow.
const DOTS_PER_INCH: f32 = 200.0;

/// Where a page is so large that it would have too many pixels, fewer of them are drawn for each inch, down to this many.
const LEAST_DOTS_PER_INCH: f32 = 36.0;

/// A PDF as the renderer knows it.
pub(crate) struct Rendering {
    pdf: Pdf,
}

impl Rendering {
    pub(crate) fn open(bytes: &[u8]) -> Outcome<Rendering> {
        match Pdf::new(bytes.to_vec()) {
            Ok(pdf) => Ok(Rendering { pdf }),
            Err(LoadPdfError::Decryption(_)) => Err(encrypted(Format::Pdf)),
            Err(LoadPdfError::Invalid) => broken("the renderer does not understand it"),
        }
    }

    /// One of `of` pages. A renderer that counts others would draw the wrong one.
    pub(crate) fn page(&self, page: u32, of: usize, meter: &Meter) -> Outcome<PagePicture> {
        let pages = self.pdf.pages();
        if pages.len() != of {
            return broken(format!("the renderer finds {} pages and the reader {of}", pages.len()));
        }
        let index = page.checked_sub(1).map(|index| index as usize);
        let shown = index.and_then(|index| pages.get(index)).ok_or_else(|| no_page(page))?;
        let (width, height) = shown.render_dimensions();
        let scale = scale(width, height, meter.limits().max_picture_pixels)?;
        let settings = PixmapSettings { x_scale: scale, y_scale: scale, bg_color: WHITE };
        let cache = RenderCache::new();
        let pixmap = render(shown, &cache, &built_in(), &RenderSettings::default(), &settings);
        let (width, height) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
        // The background is opaque, so the colours are what they are.
        let pixels = pixmap.data().iter().map(|pixel| grey(pixel.r, pixel.g, pixel.b)).collect();
        Raster { width, height, pixels }.into_picture(PictureKind::Rendered)
    }
}

/// Pixels for each point of the page.
fn scale(width: f32, height: f32, most_pixels: u64) -> Outcome<f32> {
    let is_sound = |side: f32| side.is_finite() && side > 0.0;
    if !is_sound(width) || !is_sound(height) {
        return broken("the page has no area");
    }
    let fitting = (most_pixels as f32 / (width * height)).sqrt();
    // The renderer counts pixels in 16 bits.
    let counted = 65_000.0 / width.max(height);
    let scale = (DOTS_PER_INCH / 72.0).min(fitting).min(counted);
    if scale < LEAST_DOTS_PER_INCH / 72.0 {
        return too_many_pixels(
            (width * DOTS_PER_INCH / 72.0) as u64,
            (height * DOTS_PER_INCH / 72.0) as u64,
        );
    }
    Ok(scale.max(1.0 / width.min(height)))
}

/// The fonts and character maps that every PDF may use are built in: nothing is looked up outside.
fn built_in() -> InterpreterSettings {
    InterpreterSettings {
        cmap_resolver: Arc::new(hayro_cmap::load_embedded),
        ..InterpreterSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn pages_of_every_size() {
        let most = 40_000_000;
        assert!((scale(595.0, 842.0, most).unwrap() - 200.0 / 72.0).abs() < 0.001);
        let poster = scale(3000.0, 5000.0, most).unwrap();
        assert!((3000.0 * poster) * (5000.0 * poster) < 40_100_000.0 && poster > 1.0, "{poster}");
        for (width, height) in [(0.0, 1.0), (f32::NAN, 1.0), (1e9, 1e9), (1.0, f32::INFINITY), (-5.0, 9.0)] {
            assert!(scale(width, height, most).is_err(), "{width} by {height}");
        }
    }
}
