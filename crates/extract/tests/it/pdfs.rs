//! PDF: text, order, encodings, and files that are broken or built to hurt.

use extract::{Diagnostic, Limits};

use crate::build::{lines, pages, pdf, read, read_within, stream, zlib};

#[test]
fn text_by_page() {
    let bytes = pages(&[
        "BT /F 12 Tf 50 700 Td (Hello) Tj 0 -14 Td (wor\\154d) Tj ET",
        "",
        "BT /F 9 Tf 1 0 0 1 50 700 Tm <746872656520> Tj ET",
    ]);
    let extraction = read("a.pdf", &bytes);
    assert_eq!(lines(&extraction), ["page 1: Hello/world", "page 3: three"]);
    assert_eq!(extraction.parts, 3);
    assert_eq!(extraction.diagnostics, [Diagnostic::PagesWithoutText { pages: 1, of: 3 }]);
}

#[test]
fn words_by_kerning_and_by_place() {
    let content = "BT /F 10 Tf 50 700 Td [(Ta) 60 (ble) -300 (of) -40 (ten)] TJ 200 0 Td (far) Tj ET \
        BT /F 10 Tf 50 650 Td (one) Tj ET BT /F 10 Tf 68.5 650 Td (two) Tj ET";
    assert_eq!(lines(&read("a.pdf", &pages(&[content]))), ["page 1: Table often  far//one two"]);
}

#[test]
fn blanks_that_ghostscript_writes_as_spacing() {
    let apart = "BT /F 10 Tf 50 700 Td (memor) Tj 2.78 Tc [(ya) 278] TJ 0 Tc (llocation) Tj ET";
    let closed = "BT /F 10 Tf 50 680 Td (libr) Tj -2.48 Tw (ar y) Tj ET";
    let wide = "BT /F 10 Tf 3 Tc 0 Tw 50 660 Td (HEADING) Tj 80 0 Td (OF) Tj ET";
    let content = [apart, closed, wide].join(" ");
    let expected = ["page 1: memory allocation//library//HEADING OF"];
    assert_eq!(lines(&read("a.pdf", &pages(&[&content]))), expected);
}

#[test]
fn columns_are_read_one_after_the_other() {
    let mut content =
        "BT /F 14 Tf 120 760 Td (A heading that reaches over both of the columns) Tj ET ".to_owned();
    for index in 0..8 {
        let y = 700 - index * 14;
        // Row by row, as some programs write.
        content += &format!("BT /F 10 Tf 50 {y} Td (left column line number {index} here) Tj ET ");
        content += &format!("BT /F 10 Tf 320 {y} Td (right column line number {index} here) Tj ET ");
    }
    let extraction = read("a.pdf", &pages(&[&content]));
    let text = &extraction.units[0].text;
    let places: Vec<usize> = [
        "A heading",
        "left column line number 0",
        "left column line number 7",
        "right column line number 0",
        "right column line number 7",
    ]
    .iter()
    .map(|line| text.find(line).unwrap_or_else(|| panic!("{line} in {text}")))
    .collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn tables_are_read_row_by_row() {
    let mut content = String::new();
    for index in 0..8 {
        let y = 700 - index * 14;
        content += &format!(
            "BT /F 10 Tf 50 {y} Td (item{index}) Tj 150 0 Td (price{index}) Tj 150 0 Td (sum{index}) Tj ET "
        );
    }
    let extraction = read("a.pdf", &pages(&[&content]));
    assert!(
        extraction.units[0].text.starts_with("item0  price0  sum0\nitem1  price1"),
        "{}",
        extraction.units[0].text
    );
}

#[test]
fn cut_words_ligatures_and_bold_by_twice() {
    let content = "BT /F 10 Tf 50 700 Td (an ex-) Tj 0 -12 Td (ample) Tj ET \
        BT /F 10 Tf 50 600 Td (bold) Tj ET BT /F 10 Tf 50.3 600 Td (bold) Tj ET";
    assert_eq!(lines(&read("a.pdf", &pages(&[content]))), ["page 1: an example//bold"]);
}

fn with_font(font: &str, more: &[&[u8]], content: &str) -> Vec<u8> {
    let content = stream("", content.as_bytes());
    let mut objects: Vec<&[u8]> = vec![
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
        font.as_bytes(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents 5 0 R>>",
        &content,
    ];
    objects.extend(more);
    pdf(&objects, "")
}

#[test]
fn encodings() {
    let differences =
        "<</Type/Font/Subtype/Type1/BaseFont/X/Encoding<</Differences[1/f_i/eacute/uni20AC 65/B]>>>>";
    let bytes = with_font(differences, &[], "BT /F 10 Tf 50 700 Td <01020341> Tj ET");
    assert_eq!(lines(&read("a.pdf", &bytes)), ["page 1: fié€B"]);

    let map = b"1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0001> <0003> <0041> endbfrange";
    let unicode = stream("/Filter/FlateDecode", &zlib(map));
    let composite =
        "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode 6 0 R/DescendantFonts[7 0 R]>>";
    let descendant = b"<</Type/Font/Subtype/CIDFontType2/W[1[500 600] 3 3 700]>>";
    let bytes = with_font(composite, &[&unicode, descendant], "BT /F 10 Tf 50 700 Td <000100020003> Tj ET");
    assert_eq!(lines(&read("a.pdf", &bytes)), ["page 1: ABC"]);

    let japanese = "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/90ms-RKSJ-H/DescendantFonts[6 0 R]>>";
    let bytes = with_font(
        japanese,
        &[b"<</Type/Font/Subtype/CIDFontType0>>"],
        "BT /F 10 Tf 50 700 Td <93FA967B> Tj ET",
    );
    assert_eq!(lines(&read("a.pdf", &bytes)), ["page 1: 日本"]);

    let unknown = "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[6 0 R]>>";
    let bytes =
        with_font(unknown, &[b"<</Type/Font/Subtype/CIDFontType0>>"], "BT /F 10 Tf 50 700 Td <0001> Tj ET");
    assert_eq!(read("a.pdf", &bytes).diagnostics[0], Diagnostic::UnknownGlyphs { page: 1, count: 1 });
}

#[test]
fn actual_text_and_forms() {
    let form = stream(
        "/Type/XObject/Subtype/Form/Matrix[1 0 0 1 0 -50]/Resources<</Font<</G 3 0 R>>>>",
        b"BT /G 10 Tf 50 700 Td (in a form) Tj ET",
    );
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";
    let content = stream("", b"/Span<</ActualText(real)>>BDC BT /F 10 Tf 50 700 Td (fake) Tj ET EMC /X Do");
    let bytes = pdf(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
            font.as_bytes(),
            b"<</Type/Page/Resources<</Font<</F 3 0 R>>/XObject<</X 6 0 R>>>>/Contents 5 0 R>>",
            &content,
            &form,
        ],
        "",
    );
    assert_eq!(lines(&read("a.pdf", &bytes)), ["page 1: real//in a form"]);
}

#[test]
fn turned_pages_and_turned_text() {
    let content = "BT /F 10 Tf 0 1 -1 0 300 100 Tm (upwards) Tj ET";
    assert_eq!(lines(&read("a.pdf", &pages(&[content]))), ["page 1: upwards"]);
}

#[test]
fn broken_tables_are_replaced_by_looking() {
    let bytes = pages(&["BT /F 12 Tf 50 700 Td (found) Tj ET"]);
    let wanted = ["page 1: found"];
    // No table at all, one that points nowhere, junk before the file.
    let table = bytes.windows(6).rposition(|six| six == b"xref\n0").unwrap();
    assert_eq!(lines(&read("a.pdf", &bytes[..table])), wanted);
    let shifted = bytes.windows(9).rposition(|nine| nine == b"startxref").unwrap();
    let mut wrong = bytes[..shifted].to_vec();
    wrong.extend(b"startxref\n7\n%%EOF");
    assert_eq!(lines(&read("a.pdf", &wrong)), wanted);
    let mut late = b"junk\xFF\n".to_vec();
    late.extend(&bytes);
    assert_eq!(lines(&read("a.pdf", &late)), wanted);
}

#[test]
fn cycles_end() {
    let kids = pdf(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[2 0 R 3 0 R]>>",
            b"<</Type/Pages/Kids[2 0 R]>>",
        ],
        "",
    );
    assert!(read("a.pdf", &kids).skip.is_some());
    let form = stream("/Subtype/Form/Resources 4 0 R", b"/X Do /X Do BT /F 9 Tf 9 9 Td (x) Tj ET");
    let content = stream("", b"/X Do");
    let recursive = pdf(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]>>",
            b"<</Type/Page/Resources 4 0 R/Contents 5 0 R>>",
            b"<</XObject<</X 6 0 R>>/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>",
            &content,
            &form,
        ],
        "",
    );
    assert_eq!(lines(&read("a.pdf", &recursive)), ["page 1: x"]);
    let length = pdf(&[b"<</Type/Catalog/Pages 2 0 R>>", b"<</Length 2 0 R>>stream\nabc\nendstream"], "");
    assert!(read("a.pdf", &length).skip.is_some());
    let references = pdf(&[b"2 0 R", b"3 0 R", b"2 0 R"], "");
    assert!(read("a.pdf", &references).skip.is_some());
    let mut previous = pages(&["BT /F 12 Tf 50 700 Td (x) Tj ET"]);
    let at = previous.windows(6).rposition(|six| six == b"xref\n0").unwrap();
    let place = previous.windows(7).rposition(|seven| seven == b"trailer").unwrap();
    previous.splice(place + 10..place + 10, format!("/Prev {at} ").bytes());
    assert_eq!(lines(&read("a.pdf", &previous)), ["page 1: x"]);
}

#[test]
fn glyph_numbers_of_a_collection_are_characters() {
    let font =
        "<</Type/Font/Subtype/Type0/BaseFont/Ryumin-Light/Encoding/Identity-H/DescendantFonts[6 0 R]>>";
    for (ordering, codes, text) in [
        ("Japan1", "0CD40E8A", "日本"),
        ("GB1", "11CF", "中"),
        ("Korea1", "0CE0", "한"),
        ("CNS1", "0295", "中"),
        ("Identity", "0CD4", ""),
    ] {
        let descendant = format!(
            "<</Type/Font/Subtype/CIDFontType0/CIDSystemInfo<</Registry(Adobe)/Ordering({ordering})>>>>"
        );
        let bytes =
            with_font(font, &[descendant.as_bytes()], &format!("BT /F 10 Tf 50 700 Td <{codes}> Tj ET"));
        let found = lines(&read("a.pdf", &bytes)).join("");
        assert!(found.contains(text) && found.is_empty() == text.is_empty(), "{ordering}: {found}");
    }
}

#[test]
fn shapes_of_arabic_are_letters_in_the_order_of_reading() {
    let map = b"1 begincodespacerange <00> <FF> endcodespacerange \
        4 beginbfchar <01> <FEE1> <02> <FEFC> <03> <FEB3> <04> <0041> endbfchar";
    let font = "<</Type/Font/Subtype/Type1/BaseFont/X/ToUnicode 6 0 R>>";
    let bytes = with_font(font, &[&stream("", map)], "BT /F 10 Tf 50 700 Td <0102032004> Tj ET");
    assert_eq!(lines(&read("a.pdf", &bytes)), ["page 1: A \u{633}\u{644}\u{627}\u{645}"]);
}

#[test]
fn text_at_any_angle() {
    let content = "BT /F 10 Tf 50 700 Td (upright) Tj ET \
        BT /F 10 Tf 0.866 0.5 -0.5 0.866 100 300 Tm (turned by thirty) Tj 0 -12 Td (degrees) Tj ET \
        BT /F 10 Tf 0 1 -1 0 300 300 Tm (upwards) Tj ET";
    let expected = ["page 1: upright//upwards//turned by thirty/degrees"];
    assert_eq!(lines(&read("a.pdf", &pages(&[content]))), expected);
}

#[test]
fn accents_join_the_letters_below_them() {
    let font = "<</Type/Font/Subtype/Type1/BaseFont/X/Encoding<</Differences[1/dieresis/dotlessi/acute]>>>>";
    let content = "BT /F 10 Tf 50 700 Td [(vielf) <01> 444 (altig Mar) <03> 305 <02> (a)] TJ ET";
    assert_eq!(lines(&read("a.pdf", &with_font(font, &[], content))), ["page 1: vielfältig María"]);
}

#[test]
fn blanks_drawn_over_letters_separate_nothing() {
    let content = "BT /F 10 Tf 50 700 Td [(t) ( ) 278 (he loan)] TJ ET";
    assert_eq!(lines(&read("a.pdf", &pages(&[content]))), ["page 1: the loan"]);
}

#[test]
fn annotations_are_shown_in_their_places() {
    let looks = |x: u32, y: u32, text: &str| {
        let dict = format!(
            "/Subtype/Form/BBox[{x} {y} {} {}]/Matrix[1 0 0 1 -{x} -{y}]/Resources<</Font<</F 3 0 R>>>>",
            x + 100,
            y + 20
        );
        stream(&dict, format!("BT /F 10 Tf {x} {y} Td ({text}) Tj ET").as_bytes())
    };
    let (first, second) = (looks(50, 700, "first"), looks(50, 600, "second"));
    let bytes = pdf(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Annots[5 0 R 6 0 R]>>",
            b"<</Subtype/FreeText/Rect[50 700 150 720]/AP<</N 7 0 R>>>>",
            b"<</Subtype/FreeText/Rect[50 600 150 620]/AP<</N 8 0 R>>>>",
            &first,
            &second,
        ],
        "",
    );
    assert_eq!(lines(&read("a.pdf", &bytes)), ["page 1: first//second"]);
}

#[test]
fn a_page_packed_as_tightly_as_a_bomb_is_left_out_alone() {
    let tight = stream("/Filter/FlateDecode", &zlib(&vec![b' '; 40 << 20]));
    let plain = stream("", b"BT /F 10 Tf 50 700 Td (kept) Tj ET");
    let bytes = pdf(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R 4 0 R]>>",
            b"<</Type/Page/Contents 5 0 R>>",
            b"<</Type/Page/Contents 6 0 R/Resources<</Font<</F 7 0 R>>>>>>",
            &tight,
            &plain,
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ],
        "",
    );
    let extraction = read("a.pdf", &bytes);
    assert_eq!(lines(&extraction), ["page 2: kept"]);
    assert_eq!(extraction.diagnostics, [Diagnostic::Stopped { limit: extract::Limit::Ratio }]);
}

#[test]
fn bombs_in_streams_are_refused() {
    let twice = zlib(&zlib(&vec![b' '; 300 << 20]));
    let content = stream("/Filter[/FlateDecode/FlateDecode]", &twice);
    let bytes = pdf(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]>>",
            b"<</Type/Page/Contents 4 0 R>>",
            &content,
        ],
        "",
    );
    assert!(bytes.len() < 5000, "{}", bytes.len());
    let extraction = read("a.pdf", &bytes);
    assert!(extraction.skip.unwrap().to_string().starts_with("CONTENT_REFUSED"));
}

#[test]
fn deep_nesting_ends() {
    for deep in ["[".repeat(100_000), "<</A".repeat(100_000), "q ".repeat(100_000), "(".repeat(100_000)] {
        let content = stream("", deep.as_bytes());
        let bytes = pdf(
            &[
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Kids[3 0 R]>>",
                b"<</Type/Page/Contents 4 0 R>>",
                &content,
                deep.as_bytes(),
            ],
            "",
        );
        assert!(read("a.pdf", &bytes).skip.is_some());
    }
}

#[test]
fn work_is_bounded() {
    let content = "BT /F 1 Tf (x) Tj ET ".repeat(200_000);
    let limits = Limits { max_steps: 10_000, ..Limits::default() };
    let extraction = read_within("a.pdf", &pages(&[&content]), &limits);
    assert!(extraction.skip.unwrap().to_string().starts_with("TIMEOUT"));
}

#[test]
fn a_password_is_asked_for() {
    let bytes = pages(&["BT /F 12 Tf 50 700 Td (x) Tj ET"]);
    let text = bytes.windows(7).rposition(|seven| seven == b"trailer").unwrap();
    let mut locked = bytes.clone();
    let entry =
        format!("/Encrypt<</Filter/Standard/V 1/R 2/O<{}>/U<{}>/P -4>> ", "00".repeat(32), "00".repeat(32));
    locked.splice(text + 10..text + 10, entry.bytes());
    assert!(read("a.pdf", &locked).skip.unwrap().to_string().starts_with("ENCRYPTED"));
}
