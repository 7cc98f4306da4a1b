//! Pictures of PDF pages: each coding of images, compared pixel by pixel with the formulas that the fixtures were made by.

use std::ops::ControlFlow;

use extract::picture::{PagePicture, PictureKind, page_picture, page_pictures};
use extract::{Format, Limits};
use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder};

use crate::build::{pdf, stream, zlib};

pub(crate) const WIDTH: u32 = 101;
pub(crate) const HEIGHT: u32 = 70;

// The same formulas are in tests/fixtures/make.py.
pub(crate) fn is_black(x: u32, y: u32) -> bool {
    (x / 3 + y / 5).is_multiple_of(4) || (x as i32 - 50).pow(2) + (y as i32 - 35).pow(2) < 150 || x == y
}

pub(crate) fn black_or_white(x: u32, y: u32) -> u8 {
    if is_black(x, y) { 0 } else { 255 }
}

pub(crate) fn colour(x: u32, y: u32) -> [u8; 3] {
    [(x * 2) as u8, (y * 3) as u8, (255 - x - y) as u8]
}

pub(crate) fn brightness(x: u32, y: u32) -> u8 {
    let [red, green, blue] = colour(x, y).map(u32::from);
    ((red * 77 + green * 150 + blue * 29 + 128) >> 8) as u8
}

pub(crate) fn grey(x: u32, y: u32) -> u8 {
    (x + y * 2) as u8
}

/// Two letters in turn: a frame and a cross.
fn letters(x: u32, y: u32) -> u8 {
    let (row, column) = (y.wrapping_sub(1) / 12, x.wrapping_sub(2) / 10);
    let (v, u) = (y.wrapping_sub(1) % 12, x.wrapping_sub(2) % 10);
    if x < 2 || y < 1 || row >= 5 || column >= 9 || u >= 8 || v >= 10 {
        return 255;
    }
    let frame = u == 0 || u == 7 || v == 0 || v == 9;
    let cross = u == v || (v <= 7 && u == 7 - v);
    if if (row + column).is_multiple_of(2) { frame } else { cross } { 0 } else { 255 }
}

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn each_pixel<const N: usize>(of: impl Fn(u32, u32) -> [u8; N]) -> Vec<u8> {
    (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y))).flat_map(|(x, y)| of(x, y)).collect()
}

/// A page that shows one image, with the matrix, the rotation and more content that are asked for.
struct Scan<'a> {
    image: &'a str,
    data: &'a [u8],
    place: &'a str,
    rotate: u32,
    more: &'a str,
    globals: Option<&'a [u8]>,
}

impl Scan<'_> {
    fn bytes(&self) -> Vec<u8> {
        let content = stream("", format!("q {} cm /I Do Q {}", self.place, self.more).as_bytes());
        let size = format!("/Type/XObject/Subtype/Image/Width {WIDTH}/Height {HEIGHT}");
        let image = stream(&format!("{size}{}", self.image), self.data);
        // Also a profile of three colours, for those who ask for one.
        let globals = stream("/N 3", self.globals.unwrap_or_default());
        let page = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 {WIDTH} {HEIGHT}]/Rotate {}/Resources<</XObject<</I 6 0 R>>/Font<</F 3 0 R>>>>/Contents 5 0 R>>",
            self.rotate
        );
        pdf(
            &[
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
                b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
                page.as_bytes(),
                &content,
                &image,
                &globals,
            ],
            "",
        )
    }
}

const WHOLE: &str = "101 0 0 70 0 0";

fn scan<'a>(image: &'a str, data: &'a [u8]) -> Scan<'a> {
    Scan { image, data, place: WHOLE, rotate: 0, more: "", globals: None }
}

pub(crate) fn pixels(picture: &PagePicture) -> image::GrayImage {
    let decoded = image::load_from_memory(&picture.png).expect("a PNG");
    assert_eq!(decoded.color(), image::ColorType::L8);
    assert_eq!((decoded.width(), decoded.height()), (picture.width, picture.height));
    decoded.into_luma8()
}

fn first_page(bytes: &[u8]) -> PagePicture {
    page_picture(Format::Pdf, bytes, 1, &Limits::default()).unwrap()
}

/// Every pixel is what the formula says, or as near as `off`.
#[track_caller]
pub(crate) fn compare(picture: &PagePicture, off: u8, expected: impl Fn(u32, u32) -> u8) {
    let image = pixels(picture);
    for (x, y, pixel) in image.enumerate_pixels() {
        let wanted = expected(x, y);
        assert!(pixel.0[0].abs_diff(wanted) <= off, "{x}, {y}: {} instead of {wanted}", pixel.0[0]);
    }
}

#[track_caller]
fn is_own(scan: &Scan<'_>, off: u8, expected: impl Fn(u32, u32) -> u8) {
    let picture = first_page(&scan.bytes());
    assert_eq!((picture.width, picture.height, picture.kind), (WIDTH, HEIGHT, PictureKind::OwnImage));
    compare(&picture, off, expected);
}

/// Rows of bits, 1 for white.
fn bits() -> Vec<u8> {
    let row = |y| {
        let mut row = vec![0u8; WIDTH.div_ceil(8) as usize];
        for x in (0..WIDTH).filter(|x| !is_black(*x, y)) {
            row[(x / 8) as usize] |= 0x80 >> (x % 8);
        }
        row
    };
    (0..HEIGHT).flat_map(row).collect()
}

const ONE_BIT: &str = "/ColorSpace/DeviceGray/BitsPerComponent 1";

#[test]
fn fax_codings() {
    let (group_4, group_3) = (fixture("page.g4"), fixture("page.g3"));
    let parameters =
        |more: &str| format!("{ONE_BIT}/Filter/CCITTFaxDecode/DecodeParms<</Columns 101/Rows 70{more}>>");
    is_own(&scan(&parameters("/K -1"), &group_4), 0, black_or_white);
    is_own(&scan(&parameters("/K 0/EndOfLine true"), &group_3), 0, black_or_white);
    let inverted = |x, y| 255 - black_or_white(x, y);
    is_own(&scan(&parameters("/K -1/BlackIs1 true"), &group_4), 0, inverted);
    let decoded = format!("{}/Decode[1 0]", parameters("/K -1"));
    is_own(&scan(&decoded, &group_4), 0, inverted);
    let stencil =
        "/ImageMask true/BitsPerComponent 1/Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns 101/Rows 70>>";
    is_own(&scan(stencil, &group_4), 0, black_or_white);
    // Two codings in a row, with a list of parameters.
    let packed = zlib(&group_4);
    let both =
        format!("{ONE_BIT}/Filter[/FlateDecode/CCITTFaxDecode]/DecodeParms[null<</K -1/Columns 101>>]");
    is_own(&scan(&both, &packed), 0, black_or_white);
}

#[test]
fn jbig2_with_and_without_shared_symbols() {
    let generic = fixture("page.jbig2");
    let filter = format!("{ONE_BIT}/Filter/JBIG2Decode");
    is_own(&scan(&filter, &generic), 0, black_or_white);
    let (text, symbols) = (fixture("text.jbig2"), fixture("symbols.jbig2"));
    let shared = format!("{filter}/DecodeParms<</JBIG2Globals 7 0 R>>");
    is_own(&Scan { globals: Some(&symbols), ..scan(&shared, &text) }, 0, letters);
}

#[test]
fn jpeg_2000() {
    is_own(&scan("/Filter/JPXDecode", &fixture("grey.jp2")), 0, grey);
    is_own(&scan("/Filter/JPXDecode", &fixture("colour.jp2")), 1, brightness);
    is_own(&scan("/ColorSpace/DeviceRGB/Filter/JPXDecode", &fixture("colour.j2k")), 1, brightness);
}

pub(crate) fn jpeg(kind: ExtendedColorType, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 98).write_image(pixels, WIDTH, HEIGHT, kind).unwrap();
    bytes
}

#[test]
fn jpeg_of_one_three_and_four_components() {
    let one = jpeg(ExtendedColorType::L8, &each_pixel(|x, y| [grey(x, y)]));
    is_own(&scan("/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/DCTDecode", &one), 4, grey);
    let inverted = "/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/DCTDecode/Decode[1 0]";
    is_own(&scan(inverted, &one), 4, |x, y| 255 - grey(x, y));
    let three = jpeg(ExtendedColorType::Rgb8, &each_pixel(colour));
    let rgb = "/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode";
    is_own(&scan(rgb, &three), 12, brightness);
    is_own(&scan(rgb, &fixture("progressive.jpeg")), 12, brightness);
    // Four components are drawn, since only the renderer knows when they are inverted.
    let four = "/ColorSpace/DeviceCMYK/BitsPerComponent 8/Filter/DCTDecode/Decode[1 0 1 0 1 0 1 0]";
    let picture = first_page(&scan(four, &fixture("cmyk.jpeg")).bytes());
    assert_eq!(picture.kind, PictureKind::Rendered);
}

#[test]
fn samples_of_every_depth_and_colour() {
    let flate = |image: &str, plain: &[u8], off: u8, expected: fn(u32, u32) -> u8| {
        let image = format!("{image}/Filter/FlateDecode");
        is_own(&scan(&image, &zlib(plain)), off, expected);
    };
    flate(ONE_BIT, &bits(), 0, black_or_white);
    let space = |space: &str, bits: u32| format!("/ColorSpace{space}/BitsPerComponent {bits}");
    let grey_8 = each_pixel(|x, y| [grey(x, y)]);
    flate(&space("/DeviceGray", 8), &grey_8, 0, grey);
    flate(&space("[/CalGray<</WhitePoint[1 1 1]>>]", 8), &grey_8, 0, grey);
    flate(&space("/DeviceGray", 16), &each_pixel(|x, y| [grey(x, y), 77]), 0, grey);
    let packed = |per_byte: usize, bits: u32| -> Vec<u8> {
        let row = |row: &[u8]| -> Vec<u8> {
            row.chunks(per_byte)
                .map(|part| {
                    let whole =
                        part.iter().fold(0u32, |byte, pixel| byte << bits | u32::from(pixel >> (8 - bits)));
                    (whole << (bits * (per_byte - part.len()) as u32)) as u8
                })
                .collect()
        };
        grey_8.chunks(WIDTH as usize).flat_map(row).collect()
    };
    flate(&space("/DeviceGray", 4), &packed(2, 4), 0, |x, y| (grey(x, y) >> 4) * 17);
    flate(&space("/DeviceGray", 2), &packed(4, 2), 0, |x, y| (grey(x, y) >> 6) * 85);
    let rgb = each_pixel(colour);
    flate(&space("/DeviceRGB", 8), &rgb, 0, brightness);
    flate(&space("[/ICCBased 7 0 R]", 8), &rgb, 0, brightness);
    let cmyk = each_pixel(|x, y| [0, 0, 0, 255 - grey(x, y)]);
    flate(&space("/DeviceCMYK", 8), &cmyk, 1, grey);
    // The colours of a palette, here from bright to dark.
    let table: String = (0..=255u8).map(|value| format!("{0:02x}{0:02x}{0:02x}", 255 - value)).collect();
    let indexed = space(&format!("[/Indexed/DeviceRGB 255<{table}>]"), 8);
    flate(&indexed, &grey_8, 0, |x, y| 255 - grey(x, y));
    let two = space("[/Indexed/DeviceGray 1<FF00>]", 1);
    flate(&two, &bits(), 0, |x, y| 255 - black_or_white(x, y));
    // Rows that tell only what changed from the row above.
    let mut predicted = Vec::new();
    let mut above = vec![0u8; WIDTH as usize];
    for row in grey_8.chunks(WIDTH as usize) {
        predicted.push(2);
        predicted.extend(row.iter().zip(&above).map(|(now, before)| now.wrapping_sub(*before)));
        above = row.to_vec();
    }
    let up = format!("{}/DecodeParms<</Predictor 12/Columns 101>>", space("/DeviceGray", 8));
    flate(&up, &predicted, 0, grey);
}

#[test]
fn pages_are_upright() {
    let data = zlib(&bits());
    let image = format!("{ONE_BIT}/Filter/FlateDecode");
    let at = |x: i64, y: i64| black_or_white(x as u32, y as u32);
    let (width, height) = (i64::from(WIDTH), i64::from(HEIGHT));
    // A page that is turned to the right when it is shown: the left edge is on top.
    let turned: [(u32, &dyn Fn(i64, i64) -> u8); 4] = [
        (0, &|x, y| at(x, y)),
        (90, &|x, y| at(y, height - 1 - x)),
        (180, &|x, y| at(width - 1 - x, height - 1 - y)),
        (270, &|x, y| at(width - 1 - y, x)),
    ];
    for (rotate, expected) in turned {
        let picture = first_page(&Scan { rotate, ..scan(&image, &data) }.bytes());
        assert_eq!(picture.kind, PictureKind::OwnImage, "{rotate}");
        compare(&picture, 0, |x, y| expected(x.into(), y.into()));
    }
    // A scanner that scans upside down and says so by the matrix.
    let picture = first_page(&Scan { place: "-101 0 0 -70 101 70", ..scan(&image, &data) }.bytes());
    assert_eq!(picture.kind, PictureKind::OwnImage);
    compare(&picture, 0, |x, y| black_or_white(WIDTH - 1 - x, HEIGHT - 1 - y));
}

/// What the renderer draws is what the image is, where the page says so.
#[test]
fn a_rendered_page_looks_like_its_image() {
    let (left, right) = ("50.5 0 0 70 0 0", "50.5 0 0 70 50.5 0");
    let data = zlib(&each_pixel(|x, y| [grey(x, y)]));
    let image = "/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/FlateDecode";
    let both = Scan { place: left, more: &format!("q {right} cm /I Do Q"), ..scan(image, &data) };
    let picture = first_page(&both.bytes());
    assert_eq!(picture.kind, PictureKind::Rendered, "two images");
    // 200 dots for each inch of 72 points.
    assert_eq!((picture.width, picture.height), (280, 194));
    let drawn = pixels(&picture);
    for (x, y) in [(5, 5), (70, 100), (130, 180), (145, 5), (210, 100), (275, 190)] {
        let along = f64::from(x) / 280.0 * 2.0 % 1.0;
        let expected = grey((along * 101.0) as u32, (f64::from(y) / 194.0 * 70.0) as u32);
        assert!(
            drawn.get_pixel(x, y).0[0].abs_diff(expected) < 12,
            "{x}, {y}: {:?} {expected}",
            drawn.get_pixel(x, y)
        );
    }
}

#[test]
fn what_is_more_than_one_image_is_rendered() {
    let data = zlib(&bits());
    let image = format!("{ONE_BIT}/Filter/FlateDecode");
    let kind = |scan: Scan<'_>| first_page(&scan.bytes()).kind;
    assert_eq!(kind(scan(&image, &data)), PictureKind::OwnImage);
    let text = format!("BT /F .3 Tf 1 1 Td ({}) Tj ET", "much text over the image ".repeat(20));
    assert_eq!(kind(Scan { more: &text, ..scan(&image, &data) }), PictureKind::Rendered);
    let hidden = text.replace("BT", "BT 3 Tr");
    assert_eq!(kind(Scan { more: &hidden, ..scan(&image, &data) }), PictureKind::OwnImage);
    let stamp = "BT /F 4 Tf 1 1 Td (Page 7) Tj ET";
    assert_eq!(kind(Scan { more: stamp, ..scan(&image, &data) }), PictureKind::OwnImage);
    let lines = "0 0 m 50 50 l S ".repeat(60);
    assert_eq!(kind(Scan { more: &lines, ..scan(&image, &data) }), PictureKind::Rendered);
    assert_eq!(kind(Scan { place: "50 0 0 35 0 0", ..scan(&image, &data) }), PictureKind::Rendered);
    // Half of it is outside of the page.
    assert_eq!(kind(Scan { place: "202 0 0 140 0 0", ..scan(&image, &data) }), PictureKind::Rendered);
    assert_eq!(kind(Scan { place: "80 40 -40 60 30 0", ..scan(&image, &data) }), PictureKind::Rendered);
    let masked = format!("{image}/Mask[0 0]");
    assert_eq!(kind(scan(&masked, &data)), PictureKind::Rendered);
}

#[test]
fn dense_scans_are_made_smaller() {
    let data = zlib(&each_pixel(|x, y| [grey(x, y)]));
    let image = "/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/FlateDecode";
    // 101 pixels on 10.1 points are 720 for each inch.
    let bytes = Scan { place: "10.1 0 0 7 0 0", ..scan(image, &data) }.bytes();
    let at = bytes.windows(11).position(|part| part == b"[0 0 101 70").unwrap();
    let mut page = bytes;
    // As long as before, so that the table stays right.
    page[at..at + 11].copy_from_slice(b"[0 0 010 07");
    let picture = first_page(&page);
    assert_eq!((picture.width, picture.height, picture.kind), (50, 35, PictureKind::OwnImage));
    compare(&picture, 2, |x, y| grey(x * 2, y * 2));
}

#[test]
fn several_pages_in_one_go() {
    let scan_bytes = scan("/Filter/JPXDecode", &fixture("grey.jp2")).bytes();
    let mut seen = Vec::new();
    page_pictures(Format::Pdf, &scan_bytes, &[1, 2, 0, 1], &Limits::default(), &mut |page, picture| {
        seen.push((page, picture.is_ok()));
        ControlFlow::Continue(())
    });
    assert_eq!(seen, [(1, true), (2, false), (0, false), (1, true)]);
    let mut count = 0;
    page_pictures(Format::Pdf, &scan_bytes, &[1, 1, 1], &Limits::default(), &mut |_, _| {
        count += 1;
        ControlFlow::Break(())
    });
    assert_eq!(count, 1);
}

#[test]
fn an_image_of_impossible_size_is_refused() {
    let image = "/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/FlateDecode";
    let bytes = scan(image, &zlib(b"x")).bytes();
    let text = bytes.windows(9).position(|part| part == b"Width 101").unwrap();
    let mut large = bytes.clone();
    large.splice(text + 6..text + 9, *b"4000000000");
    let limits = Limits::default();
    let refused = page_picture(Format::Pdf, &large, 1, &limits).unwrap_err().to_string();
    assert!(refused.starts_with("CONTENT_REFUSED"), "{refused}");
    // One that unpacks to more than it says it holds is drawn, or is not; it is never held whole.
    let bomb = scan(image, &zlib(&vec![0; 64 << 20])).bytes();
    let _ = page_picture(Format::Pdf, &bomb, 1, &limits);
}
