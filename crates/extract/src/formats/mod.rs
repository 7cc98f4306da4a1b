//! One file per format. A new one is a file and a line in [`READERS`].

mod csv;
mod docx;
mod eml;
mod entities;
mod epub;
mod html;
mod ipynb;
mod md;
mod numbers;
mod odf;
mod odp;
mod ods;
mod odt;
mod old_office;
mod ooxml;
mod pdf;
mod picture;
mod pptx;
mod rtf;
mod subtitles;
mod txt;
mod xls;
mod xlsx;

pub use csv::row_lines;
pub use md::headings;
pub(crate) use pdf::PdfPictures;

use crate::format::Format;
use crate::sink::{Outcome, Sink};

/// Reads bytes of a format and gives its units to the sink.
pub(crate) type Reader = fn(&[u8], &mut Sink) -> Outcome;

/// Every format that is read, and those that are only recognised.
const READERS: &[(Format, Reader)] = &[
    (Format::Pdf, pdf::read),
    (Format::Docx, docx::read),
    (Format::Pptx, pptx::read),
    (Format::Xlsx, xlsx::read),
    (Format::Xlsb, old_office::refuse),
    (Format::Xls, xls::read),
    (Format::Doc, old_office::refuse),
    (Format::Ppt, old_office::refuse),
    (Format::Msg, old_office::refuse),
    (Format::Ps, old_office::refuse),
    (Format::Odt, odt::read),
    (Format::Ods, ods::read),
    (Format::Odp, odp::read),
    (Format::Rtf, rtf::read),
    (Format::Epub, epub::read),
    (Format::Html, html::read),
    (Format::Eml, eml::read),
    (Format::Mbox, eml::read_mailbox),
    (Format::Csv, csv::read),
    (Format::Tsv, csv::read_tabs),
    (Format::Ipynb, ipynb::read),
    (Format::Srt, subtitles::read),
    (Format::Vtt, subtitles::read),
    (Format::Md, md::read),
    (Format::Txt, txt::read),
    (Format::Png, picture::read),
    (Format::Jpeg, picture::read),
    (Format::Gif, picture::read),
    (Format::Webp, picture::read),
    (Format::Bmp, picture::read),
    (Format::Tiff, picture::read),
];

pub(crate) fn reader(format: Format) -> Reader {
    READERS.iter().find(|(known, _)| *known == format).map_or(txt::no_document, |(_, reader)| *reader)
}
