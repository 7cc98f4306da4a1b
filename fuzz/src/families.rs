//! The families: what one input means in each.

use extract::Format;

use crate::build::{File, file, gzip, pdf, relations, stream, zip};
use crate::cfb::cfb;
use crate::check::{document, picture, recording};

pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) variants: usize,
    pub(crate) run: fn(usize, &[u8]),
}

pub(crate) const ALL: &[Family] = &[
    Family { name: "pdf", variants: 4, run: read_pdf },
    Family { name: "office", variants: OFFICE.len() + PARTS.len(), run: read_office },
    Family { name: "xls", variants: 5, run: read_xls },
    Family { name: "rtf", variants: 1, run: |_, bytes| document("x.rtf", bytes) },
    Family { name: "html", variants: 1, run: |_, bytes| document("x.html", bytes) },
    Family { name: "mail", variants: 2, run: |variant, bytes| document(["x.eml", "x.mbox"][variant], bytes) },
    Family { name: "text", variants: TEXTS.len(), run: |variant, bytes| document(TEXTS[variant], bytes) },
    Family { name: "archive", variants: 6, run: read_archive },
    Family { name: "picture", variants: PICTURES.len() + IMAGES.len(), run: see },
    Family { name: "audio", variants: SOUNDS.len(), run: |variant, bytes| recording(SOUNDS[variant], bytes) },
    Family { name: "redact", variants: 2, run: redact },
    Family { name: "patterns", variants: 2, run: crate::patterns::check },
    #[cfg(feature = "lang")]
    Family { name: "lang", variants: 256, run: outline },
    #[cfg(feature = "query")]
    Family { name: "query", variants: 1, run: ask },
    #[cfg(feature = "http")]
    Family { name: "headers", variants: 4, run: crate::headers::check },
    #[cfg(feature = "mcp")]
    Family { name: "messages", variants: 3, run: crate::messages::check },
    #[cfg(feature = "config")]
    Family { name: "configuration", variants: 4, run: crate::configuration::check },
];

pub(crate) const PICTURES: [Format; 7] =
    [Format::Pdf, Format::Png, Format::Jpeg, Format::Gif, Format::Webp, Format::Bmp, Format::Tiff];
pub(crate) const SOUNDS: [Format; 7] =
    [Format::Wav, Format::Mp3, Format::Flac, Format::Ogg, Format::M4a, Format::Aac, Format::Aiff];
/// Codings of an image on a page of a PDF.
pub(crate) const IMAGES: [&str; 6] = [
    "/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns 101/Rows 70>>",
    "/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/CCITTFaxDecode/DecodeParms<</K 0/Columns 101/EndOfLine true>>",
    "/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/JBIG2Decode",
    "/Filter/JPXDecode",
    "/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode",
    "/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/FlateDecode",
];

pub(crate) const OFFICE: [&str; 7] = ["x.docx", "x.pptx", "x.xlsx", "x.odt", "x.ods", "x.odp", "x.epub"];
pub(crate) const TEXTS: [&str; 7] = ["x.csv", "x.tsv", "x.ipynb", "x.srt", "x.vtt", "x.md", "x.txt"];

/// Image files and PDFs, and images in a sound PDF.
fn see(variant: usize, bytes: &[u8]) {
    let Some(coding) = variant.checked_sub(PICTURES.len()) else {
        return picture(PICTURES[variant], bytes);
    };
    let content = stream("", b"101 0 0 70 0 0 cm /I Do");
    let image = stream(&format!("/Subtype/Image/Width 101/Height 70{}", IMAGES[coding]), bytes);
    let objects: [&[u8]; 5] = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 101 70]/Resources<</XObject<</I 5 0 R>>>>>>",
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>",
        &content,
        &image,
    ];
    picture(Format::Pdf, &pdf(&objects, ""));
}

/// Whole files, and pieces in a sound file: a page's content, a map of characters, an object.
fn read_pdf(variant: usize, bytes: &[u8]) {
    if variant == 0 {
        return document("x.pdf", bytes);
    }
    let plain = stream("", b"BT /F 12 Tf 50 700 Td (Hello) Tj <0001> Tj ET");
    let piece = stream("", bytes);
    let font: &[u8] = match variant {
        2 => b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode 6 0 R>>",
        3 => bytes,
        _ => b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    };
    let content = if variant == 1 { &piece } else { &plain };
    let objects: [&[u8]; 6] = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[4 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>/XObject<</X 6 0 R>>>>>>",
        font,
        b"<</Type/Page/Parent 2 0 R/Contents 5 0 R>>",
        content,
        &piece,
    ];
    document("x.pdf", &pdf(&objects, ""));
}

/// The parts that hold text, each in a package that leads to it.
pub(crate) const PARTS: [(&str, &str); 12] = [
    ("x.docx", "word/document.xml"),
    ("x.docx", "word/styles.xml"),
    ("x.docx", "word/numbering.xml"),
    ("x.pptx", "ppt/slides/slide1.xml"),
    ("x.xlsx", "xl/worksheets/sheet1.xml"),
    ("x.xlsx", "xl/sharedStrings.xml"),
    ("x.xlsx", "xl/styles.xml"),
    ("x.odt", "content.xml"),
    ("x.ods", "content.xml"),
    ("x.odp", "content.xml"),
    ("x.epub", "chapter.xhtml"),
    ("x.epub", "content.opf"),
];

fn read_office(variant: usize, bytes: &[u8]) {
    match OFFICE.get(variant) {
        Some(name) => document(name, bytes),
        None => {
            let (name, part) = PARTS[variant - OFFICE.len()];
            document(name, &package(name, part, bytes));
        }
    }
}

fn package(name: &str, part: &str, bytes: &[u8]) -> Vec<u8> {
    let types = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>";
    let odf = |kind: &str| vec![file("mimetype", format!("application/vnd.oasis.opendocument.{kind}"))];
    let mut files: Vec<File> = match name {
        "x.docx" => vec![
            file("[Content_Types].xml", types),
            file(
                "word/document.xml",
                "<w:document><w:body><w:p><w:pPr><w:pStyle w:val='A'/><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p></w:body></w:document>",
            ),
        ],
        "x.pptx" => vec![
            file("[Content_Types].xml", types),
            file(
                "ppt/presentation.xml",
                "<p:presentation><p:sldIdLst><p:sldId id='256' r:id='r1'/></p:sldIdLst></p:presentation>",
            ),
            file("ppt/_rels/presentation.xml.rels", relations(&[("r1", "slide", "slides/slide1.xml")])),
        ],
        "x.xlsx" => vec![
            file("[Content_Types].xml", types),
            file(
                "xl/workbook.xml",
                "<workbook><sheets><sheet name='S' sheetId='1' r:id='s'/></sheets></workbook>",
            ),
            file("xl/_rels/workbook.xml.rels", relations(&[("s", "worksheet", "worksheets/sheet1.xml")])),
            file(
                "xl/worksheets/sheet1.xml",
                "<worksheet><sheetData><row r='1'><c r='A1' t='s' s='1'><v>0</v></c><c r='B1' s='1'><v>45000.5</v></c></row></sheetData></worksheet>",
            ),
        ],
        "x.odt" => odf("text"),
        "x.ods" => odf("spreadsheet"),
        "x.odp" => odf("presentation"),
        _ => vec![
            file("mimetype", "application/epub+zip"),
            file(
                "META-INF/container.xml",
                "<container><rootfiles><rootfile full-path='content.opf' media-type='application/oebps-package+xml'/></rootfiles></container>",
            ),
            file(
                "content.opf",
                "<package><manifest><item id='c' href='chapter.xhtml' media-type='application/xhtml+xml'/></manifest><spine><itemref idref='c'/></spine></package>",
            ),
            file("chapter.xhtml", "<html><body><h1>t</h1><p>x</p></body></html>"),
        ],
    };
    files.retain(|file| file.name != part.as_bytes());
    files.push(file(part, bytes));
    for file in &mut files {
        file.packed = false;
    }
    zip(&files)
}

fn read_xls(variant: usize, bytes: &[u8]) {
    match variant {
        0 => document("x.xls", bytes),
        1 => document("x.xls", &cfb("Workbook", bytes)),
        2 => document("x.xls", &cfb("Book", bytes)),
        3 => document("x.doc", &cfb("WordDocument", bytes)),
        _ => document("x.msg", &cfb("__substg1.0_1000001F", bytes)),
    }
}

fn read_archive(variant: usize, bytes: &[u8]) {
    match variant {
        0 => document("x.zip", bytes),
        1 => document("x.tar", bytes),
        2 => document("x.tar.gz", bytes),
        3 => document("x.tar.zst", bytes),
        4 => document("x.tar.gz", &gzip(bytes)),
        _ => document("x.tar.zst", &zstd::encode_all(bytes, 1).unwrap_or_default()),
    }
}

fn redact(variant: usize, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if variant == 0 {
        let once = policy::redact(&text).into_owned();
        assert!(once.len() <= text.len() * 2 + 8);
        assert_eq!(policy::redact(&once), once, "blanked again");
    } else if let Some((start, rest)) = bytes.split_first() {
        let text = String::from_utf8_lossy(rest);
        let start = usize::from(*start);
        policy::redact_window(&text, start..start + 64);
    }
}

#[cfg(feature = "lang")]
fn outline(variant: usize, bytes: &[u8]) {
    const NAMES: [&str; 20] = [
        "x.py", "x.rs", "x.js", "x.ts", "x.tsx", "x.go", "x.java", "x.c", "x.cpp", "x.cs", "x.rb", "x.php",
        "x.kt", "x.swift", "x.scala", "x.sh", "x.lua", "x.sql", "x.html", "x.css",
    ];
    let text = String::from_utf8_lossy(bytes).replace('\r', "\n");
    let Some(language) = lang::Language::from_path(NAMES[variant % NAMES.len()]) else { return };
    let parsed = lang::parse(language, &text, &lang::OutlineLimits::default());
    lang::boundaries(&parsed);
}

#[cfg(feature = "query")]
fn ask(_: usize, bytes: &[u8]) {
    let query = String::from_utf8_lossy(bytes);
    let read = retrieve::operators::Operators::read(&query);
    retrieve::parse::Parsed::new(&read.text);
    let understood = retrieve::understand(&query, 2026);
    retrieve::understand::fts(&understood);
    // What is written as a filter is one, or is refused.
    if let Ok(filter) = retrieve::CompiledFilter::new(&model::Filter::default())
        && let Ok(filter) = filter.with(&read)
    {
        filter.admits("src/a.rs", model::DocType::Code);
    }
}
