//! Which pages of a PDF have to be recognised.

use extract::Extraction;
use model::SkipReason;

use crate::build::{pdf, read, stream, zlib};

const PROSE: &str = "The keeper of the lighthouse writes a line each night. When the lamp is lit and the sea is still he \
    counts the ships that pass, and for each of them he makes a mark beside the date in the long book that lies open.";

/// Pages of content in Helvetica, with a small grey image `I` at hand.
fn document(contents: &[&str]) -> Extraction {
    let image = stream(
        "/Type/XObject/Subtype/Image/Width 2/Height 2/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/FlateDecode",
        &zlib(&[0, 80, 160, 240]),
    );
    let kids: String = (0..contents.len()).map(|index| format!("{} 0 R ", 5 + index * 2)).collect();
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!(
            "<</Type/Pages/Kids[{kids}]/Count {}/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R/U 4 0 R>>/XObject<</I {} 0 R>>>>>>",
            contents.len(),
            5 + contents.len() * 2
        )
        .into_bytes(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec(),
        // A font that does not say what its glyphs mean.
        b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType2>>]>>".to_vec(),
    ];
    for (index, content) in contents.iter().enumerate() {
        objects.push(format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R>>", 6 + index * 2).into_bytes());
        objects.push(stream("", content.as_bytes()));
    }
    objects.push(image);
    let objects: Vec<&[u8]> = objects.iter().map(Vec::as_slice).collect();
    read("a.pdf", &pdf(&objects, ""))
}

const WHOLE: &str = "q 600 0 0 800 0 0 cm /I Do Q";

/// Text in lines that fit the page.
fn shown(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        if lines.last().is_some_and(|line| line.len() > 60) {
            lines.push(String::new());
        }
        lines.last_mut().unwrap().push_str(&format!("{word} "));
    }
    let lines: String = lines.iter().map(|line| format!("({}) Tj T* ", line.trim_end())).collect();
    format!("BT /F 9 Tf 12 TL 20 700 Td {lines}ET")
}

#[track_caller]
fn unread(content: &str, expected: bool) {
    // Beside a page of prose, so that the document itself has text.
    let extraction = document(&[&shown(PROSE), content]);
    let pages: &[u32] = if expected { &[2] } else { &[] };
    assert_eq!(extraction.unread_pages, pages, "{content}");
}

#[test]
fn a_good_text_layer_is_read() {
    unread(&shown(PROSE), false);
    unread(&shown("A short page."), false);
    unread("", false);
    let figure = "q 300 0 0 300 100 100 cm /I Do Q";
    unread(&format!("{figure} {}", shown(PROSE)), false);
    // A slide: a picture behind all of it, and text enough.
    unread(&format!("{WHOLE} {}", shown(&PROSE.repeat(2))), false);
}

#[test]
fn scans_are_unread() {
    unread(WHOLE, true);
    unread("q 60 0 0 80 100 100 cm /I Do Q", true);
    // In strips.
    let strips: String = (0..8).map(|strip| format!("q 600 0 0 100 0 {} cm /I Do Q ", strip * 100)).collect();
    unread(&strips, true);
    unread(&format!("{strips} {}", shown("Page 7")), true);
    // A dot is no scan.
    unread("q 3 0 0 3 100 100 cm /I Do Q", false);
    let inline = "q 600 0 0 800 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q";
    unread(inline, true);
    let extraction = document(&[WHOLE, WHOLE]);
    assert_eq!((extraction.parts, extraction.unread_pages), (2, vec![1, 2]));
    assert_eq!(extraction.skip, Some(SkipReason::NoText { format: "pdf".to_owned() }));
}

#[test]
fn a_stamp_over_a_scan_is_no_text_layer() {
    unread(&format!("{WHOLE} {}", shown("Digitized by the library, page 7 of 12")), true);
    // The stamp stays searchable.
    let extraction = document(&[&format!("{WHOLE} {}", shown("CONFIDENTIAL"))]);
    assert_eq!(extraction.unread_pages, [1]);
    assert_eq!(extraction.units[0].text, "CONFIDENTIAL");
}

#[test]
fn a_scan_that_was_recognised_is_read() {
    unread(&format!("{WHOLE} {}", shown("A few words").replace("BT", "BT 3 Tr")), false);
    // Text under the image.
    unread(&format!("{} {WHOLE}", shown("A few words")), false);
}

#[test]
fn outlines_and_unknown_glyphs_are_unread() {
    unread(&"10 10 m 20 20 30 30 40 40 c f ".repeat(40), true);
    // A frame around an empty page.
    unread("0 0 600 800 re S 10 10 580 780 re S", false);
    // What only clips is not drawn.
    unread(&"10 10 20 20 re W n ".repeat(60), false);
    let glyphs: String = (1..200).map(|glyph| format!("{glyph:04x}")).collect();
    unread(&format!("BT /U 9 Tf 20 700 Td <{glyphs}> Tj ET"), true);
}

#[test]
fn letters_that_make_no_words_are_unread() {
    let shift = |one: char| match one {
        'a'..='z' => char::from((one as u8 - b'a' + 3) % 26 + b'a'),
        other => other,
    };
    let shifted: String = PROSE.chars().map(shift).collect();
    unread(&shown(&shifted), true);
}
