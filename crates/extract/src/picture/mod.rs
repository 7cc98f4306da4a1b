//! Pictures of pages for those who recognise text: a page of a PDF or an image file becomes a grey PNG, upright and bounded
//! in size.
//!
//! A scanned page is taken by its own image, pixel for pixel; any other page is rendered. The bytes may be hostile: a worker
//! process calls this.

mod bitmap;
mod image_file;
mod raster;
mod render;
mod tiff_pages;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use model::SkipReason;
use serde::{Deserialize, Serialize};

pub(crate) use bitmap::{Bitmap, ColorModel};
pub(crate) use image_file::{jpeg_components, read_jpeg};
pub(crate) use raster::{Raster, Turn};
pub(crate) use render::Rendering;

use crate::format::Format;
use crate::formats::PdfPictures;
use crate::limits::{Limit, Limits, Meter};
use crate::sink::{Halt, Outcome, broken};
use image_file::ImageFile;

/// A page as a recogniser gets it: a PNG of one grey byte for each pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePicture {
    pub png: Vec<u8>,
    pub width: u32,
    pub height: u32,
    pub kind: PictureKind,
}

/// Where the pixels of a page come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PictureKind {
    /// The image that the page shows, or the file is.
    OwnImage,
    /// The page was drawn for this.
    Rendered,
}

/// One page, counted from 1.
pub fn page_picture(
    format: Format,
    bytes: &[u8],
    page: u32,
    limits: &Limits,
) -> Result<PagePicture, SkipReason> {
    let mut found = None;
    page_pictures(format, bytes, &[page], limits, &mut |_, picture| {
        found = Some(picture);
        ControlFlow::Break(())
    });
    found.unwrap_or_else(|| Err(reason(format, no_page(page))))
}

/// The pages asked for, one after the other, until `visit` breaks off. The document is parsed once; the limits hold for each
/// page.
pub fn page_pictures(
    format: Format,
    bytes: &[u8],
    pages: &[u32],
    limits: &Limits,
    visit: &mut dyn FnMut(u32, Result<PagePicture, SkipReason>) -> ControlFlow<()>,
) {
    let meter = Meter::new(limits);
    let mut source = match guarded(|| PictureSource::open(format, bytes, &meter)) {
        Ok(source) => source,
        Err(halt) => {
            let reason = reason(format, halt);
            for page in pages {
                if visit(*page, Err(reason.clone())).is_break() {
                    return;
                }
            }
            return;
        }
    };
    for page in pages {
        meter.restart();
        let picture = guarded(|| source.page(*page)).map_err(|halt| reason(format, halt));
        if visit(*page, picture).is_break() {
            return;
        }
    }
}

/// How many pages an image file has; none can be read where this is 0.
pub(crate) fn count(format: Format, bytes: &[u8]) -> u32 {
    match format {
        Format::Tiff => tiff_pages::pages(bytes).len() as u32,
        _ => u32::from(format.is_picture()),
    }
}

enum PictureSource<'a> {
    Pdf(Box<PdfPictures<'a>>),
    File(ImageFile<'a>),
}

impl<'a> PictureSource<'a> {
    fn open(format: Format, bytes: &'a [u8], meter: &'a Meter) -> Outcome<PictureSource<'a>> {
        if bytes.len() as u64 > meter.limits().max_input_bytes {
            let (size, limit) = (bytes.len() as u64, meter.limits().max_input_bytes);
            return Err(Halt::Skip(SkipReason::TooLarge { size, limit }));
        }
        match format {
            Format::Pdf => Ok(PictureSource::Pdf(Box::new(PdfPictures::open(bytes, meter)?))),
            _ if format.is_picture() => Ok(PictureSource::File(ImageFile::new(format, bytes, meter))),
            _ => Err(Halt::Skip(SkipReason::Unsupported { doc_type: format.to_string() })),
        }
    }

    fn page(&mut self, page: u32) -> Outcome<PagePicture> {
        match self {
            PictureSource::Pdf(pdf) => pdf.page(page),
            PictureSource::File(file) => file.page(page),
        }
    }
}

/// The decoders are tested not to panic; the libraries they use cannot be proved to.
fn guarded<T>(run: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| broken("the reader failed on it"))
}

pub(crate) fn no_page(page: u32) -> Halt {
    Halt::Broken(format!("it has no page {page}"))
}

/// A picture that would take more than it may.
pub(crate) fn too_many_pixels<T>(width: u64, height: u64) -> Outcome<T> {
    broken_as(format!("a picture of {width} by {height} pixels takes more memory than a document may"))
}

fn broken_as<T>(detail: String) -> Outcome<T> {
    Err(Halt::Skip(SkipReason::Refused { format: String::new(), detail }))
}

fn reason(format: Format, halt: Halt) -> SkipReason {
    let format = format.to_string();
    match halt {
        Halt::Skip(SkipReason::Refused { detail, .. }) => SkipReason::Refused { format, detail },
        Halt::Skip(reason) => reason,
        Halt::Limit(Limit::Time | Limit::Steps) => SkipReason::TookTooLong { format },
        Halt::Limit(limit) => SkipReason::Refused { format, detail: limit.to_string() },
        Halt::Broken(detail) => SkipReason::Damaged { format, detail },
    }
}
