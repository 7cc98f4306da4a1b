//! Documents that are cut, flipped, nested or made of noise: each gives text or a reason, and never a panic.

use std::ops::ControlFlow;

use extract::archive::{Entry, Mode, members};
use extract::{Diagnostic, Extraction, Format, Limits, extract, sniff};
use proptest::prelude::*;

use crate::build::{docx, file, gzip, odf, pages, pptx, read, tar, xlsx, zip};

/// Small enough for a test to meet each of them.
fn tight() -> Limits {
    Limits {
        max_output_chars: 100_000,
        max_units: 500,
        max_members: 200,
        max_member_bytes: 4 << 20,
        max_total_bytes: 8 << 20,
        max_steps: 5_000_000,
        max_time: None,
        ..Limits::default()
    }
}

/// What must hold of every extraction.
fn check(extraction: &Extraction, limits: &Limits) {
    assert!(!extraction.diagnostics.contains(&Diagnostic::Failed), "a reader panicked: {extraction:?}");
    assert_eq!(extraction.units.is_empty(), extraction.skip.is_some(), "{:?}", extraction.skip);
    let chars: u64 = extraction.units.iter().map(|unit| unit.text.chars().count() as u64).sum();
    assert!(chars <= limits.max_output_chars);
    assert!(extraction.units.len() <= limits.max_units as usize);
    for unit in &extraction.units {
        assert!(!unit.text.is_empty() && !unit.text.contains(['\r', '\0', '\u{202e}']));
    }
    if let Some(reason) = &extraction.skip {
        assert!(reason.to_string().len() > 10);
    }
}

/// Reads bytes as whatever they may be taken for.
pub(crate) fn try_all(name: &str, bytes: &[u8]) {
    let limits = tight();
    if let Some(format) = sniff(name, bytes) {
        try_one(format, name, bytes, &limits);
    }
    if let Some(format) = Format::from_name(name) {
        try_one(format, name, bytes, &limits);
    }
}

fn try_one(format: Format, name: &str, bytes: &[u8], limits: &Limits) {
    if !format.is_archive() {
        return check(&extract(format, name, bytes, limits), limits);
    }
    let mut given = 0;
    let mut visit = |entry: Entry| {
        given += 1;
        if let Entry::Member { path, .. } = entry {
            assert!(model::RelPath::parse(&path).is_ok(), "{path}");
        }
        ControlFlow::Continue(())
    };
    let walked = members(format, name, bytes, limits, Mode::Deep, &mut visit);
    assert!(walked.entries <= limits.max_members && given <= walked.entries);
}

/// One sound file of each format.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let paragraph = "<w:p><w:r><w:t>some words in a paragraph</w:t></w:r></w:p>";
    let rows = "<sheetData><row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1'><v>2</v></c></row></sheetData>";
    let mut rtf = br"{\rtf1\ansi some {\b bold} words\par \u8211? more\par}".to_vec();
    rtf.extend(b"{\\*\\x y}");
    vec![
        ("a.docx", docx(&paragraph.repeat(3))),
        ("a.pptx", pptx(&["<p:sp><p:txBody><a:p><a:r><a:t>slide</a:t></a:r></a:p></p:txBody></p:sp>"], "")),
        ("a.xlsx", xlsx(rows, &["text"])),
        ("a.odt", odf("text", "<text:h>Head</text:h><text:p>words</text:p>")),
        ("a.ods", odf("spreadsheet", "<table:table table:name='S'><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>")),
        ("a.odp", odf("presentation", "<draw:page><text:p>x</text:p></draw:page>")),
        ("a.rtf", rtf),
        ("a.html", b"<html><title>t</title><body><h1>a</h1><table><tr><td>1<td>2</table><pre>x</pre><a href=x>y</a>&amp;".to_vec()),
        ("a.eml", b"Subject: s\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\nContent-Transfer-Encoding: base64\r\nContent-Type: text/html\r\n\r\nPHA+aGk=\r\n--b--".to_vec()),
        ("a.mbox", b"From a\nSubject: s\n\nx\n\nFrom b\n\ny\n".to_vec()),
        ("a.csv", b"a,\"b\nc\",d\n1,2,3\n".to_vec()),
        ("a.ipynb", br#"{"cells":[{"cell_type":"code","source":["x"],"outputs":[{"text":"y"}]}]}"#.to_vec()),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nhi\n".to_vec()),
        ("a.md", b"# a\nb\n```\n# c\n```\n".to_vec()),
        ("a.pdf", pages(&["BT /F 12 Tf 50 700 Td (Hello) Tj [(a) -300 (b)] TJ ET", "q 1 0 0 1 0 0 cm BT /F 9 Tf (x) ' ET Q"])),
        ("a.zip", zip(&[file("a.txt", "text"), file("b/c.txt", "more")])),
        ("a.tar", tar(&[("a.txt", b'0', b"text"), ("l", b'2', b"")])),
        ("a.tar.gz", gzip(&tar(&[("a.txt", b'0', b"text")]))),
        ("a.tar.zst", zstd::encode_all(tar(&[("a.txt", b'0', b"text")]).as_slice(), 3).unwrap()),
    ]
}

#[test]
fn samples_are_sound() {
    for (name, bytes) in samples() {
        let format = sniff(name, &bytes).unwrap();
        assert_eq!(Some(format), Format::from_name(name));
        if !format.is_archive() {
            let extraction = read(name, &bytes);
            assert_eq!(extraction.skip, None, "{name}");
        }
    }
}

#[test]
fn cut_at_every_length() {
    for (name, bytes) in samples() {
        for length in 0..bytes.len() {
            try_all(name, &bytes[..length]);
        }
    }
}

#[test]
fn every_byte_changed() {
    for (name, bytes) in samples() {
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            // One change for each place, of each kind in turn.
            changed[at] = [0, bytes[at] ^ 0x01, 0xFF, bytes[at] ^ 0x80][at % 4];
            try_all(name, &changed);
        }
    }
}

#[test]
fn every_file_under_every_name() {
    let limits = tight();
    for (_, bytes) in samples() {
        for format in Format::all() {
            let name = format!("x.{format}");
            try_all(&name, &bytes);
            try_one(format, &name, &bytes, &limits);
        }
    }
}

fn refused(name: &str, bytes: &[u8]) -> String {
    let extraction = read(name, bytes);
    check(&extraction, &Limits::default());
    extraction.skip.unwrap_or_else(|| panic!("{name} was read: {:?}", extraction.units)).to_string()
}

#[test]
fn entities_are_never_expanded() {
    let laughs = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">]><w:document><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>";
    let outside = laughs.replace("<!ENTITY a \"ha\">", "<!ENTITY a SYSTEM \"file:///etc/passwd\">");
    for text in [laughs, &outside] {
        let bytes = zip(&[file("[Content_Types].xml", "<Types/>"), file("word/document.xml", text)]);
        assert!(refused("a.docx", &bytes).contains("entities"));
        assert!(refused("a.odt", &odf_raw(text)).contains("entities"));
    }
}

fn odf_raw(content: &str) -> Vec<u8> {
    let mut mimetype = file("mimetype", "application/vnd.oasis.opendocument.text");
    mimetype.packed = false;
    zip(&[mimetype, file("content.xml", content)])
}

#[test]
fn a_thousand_levels_end() {
    let deep = |open: &str| open.repeat(100_000);
    refused("a.docx", &docx(&deep("<w:tbl>")));
    refused("a.docx", &docx(&deep("<w:p>")));
    refused("a.xlsx", &xlsx(&deep("<row>"), &[]));
    refused("a.odt", &odf("text", &deep("<text:list>")));
    refused("a.odp", &odf("presentation", &deep("<draw:g>")));
    refused("a.rtf", format!("{{\\rtf1 {}", deep("{")).as_bytes());
    refused("a.ipynb", deep("[").as_bytes());
    try_all("a.html", deep("<div><table><tr><td><ul><li>").as_bytes());
    try_all("a.html", deep("<nav>").as_bytes());
    let mut mail = "x".to_owned();
    for level in 0..1000 {
        mail =
            format!("Content-Type: multipart/mixed; boundary=b{level}\n\n--b{level}\n{mail}\n--b{level}--\n");
    }
    try_all("a.eml", mail.as_bytes());
}

#[test]
fn bombs_in_documents_are_refused() {
    let zeros = "<w:p>".to_owned() + &" ".repeat(64 << 20);
    assert!(refused("a.docx", &docx(&zeros)).starts_with("CONTENT_REFUSED"));
}

#[test]
fn a_sheet_of_two_billion_cells() {
    let far = "<dimension ref='A1:XFD1048576'/><sheetData><row r='1'><c r='A1'><v>1</v></c></row>\
        <row r='1048576'><c r='XFD1048576'><v>2</v></c></row></sheetData>";
    let extraction = read("a.xlsx", &xlsx(far, &[]));
    assert_eq!(extraction.units.len(), 1);
    assert_eq!(extraction.units[0].text, "| 1 |\n| 2 |");
    let repeated = "<table:table><table:table-row table:number-rows-repeated='2147483647'>\
        <table:table-cell table:number-columns-repeated='2147483647'><text:p>x</text:p></table:table-cell></table:table-row></table:table>";
    let extraction = read("a.ods", &odf("spreadsheet", repeated));
    let size: usize = extraction.units.iter().map(|unit| unit.text.len()).sum();
    assert!(size < 100_000, "{size}");
}

#[test]
fn output_is_bounded() {
    let limits = Limits { max_output_chars: 1000, ..Limits::default() };
    let paragraphs = "<w:p><w:r><w:t>some words in a paragraph</w:t></w:r></w:p>".repeat(1000);
    let bytes = docx(&paragraphs);
    let extraction = extract(Format::Docx, "a.docx", &bytes, &limits);
    check(&extraction, &limits);
    assert!(extraction.diagnostics.iter().any(|one| matches!(one, Diagnostic::Stopped { .. })));
    let limits = Limits { max_input_bytes: 10, ..Limits::default() };
    assert!(extract(Format::Docx, "a.docx", &bytes, &limits).skip.is_some());
}

fn name() -> impl Strategy<Value = String> {
    let formats: Vec<Format> = Format::all().collect();
    prop::sample::select(formats).prop_map(|format| format!("x.{format}"))
}

/// Pieces that the formats are made of, in any order.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "<w:p>",
        "</w:p>",
        "<a",
        "/>",
        "<![CDATA[",
        "]]>",
        "&amp;",
        "&#x",
        "<!--",
        "<td>",
        "<table>",
        "</table>",
        "{\\rtf1",
        "{",
        "}",
        "\\'",
        "\\u-1?",
        "\\bin99999",
        "\\*",
        "From ",
        "\n\n",
        "=?utf-8?q?=",
        "?=",
        "--b\n",
        "Content-Type: multipart/mixed; boundary=b\n",
        "1 0 obj",
        "<<",
        ">>",
        "stream\n",
        "endstream",
        "xref\n0 9\n",
        "trailer",
        "startxref\n9",
        "/Type/Page",
        "BT",
        "Tj",
        "(",
        ")",
        "[",
        "]",
        "%PDF-1.7",
        "PK\x03\x04",
        "PK\x05\x06",
        "00:00:01,000 --> 00:00:02,000",
        "\"",
        ",",
        "{\"cells\":[",
        "# ",
        "```",
        "ustar",
        "0",
        "9999999999",
        " ",
        "\t",
    ]);
    let piece = prop_oneof![
        4 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_under_any_name(name in name(), bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        try_all(&name, &bytes);
    }

    #[test]
    fn any_fragments_under_any_name(name in name(), bytes in fragments()) {
        try_all(&name, &bytes);
    }

    #[test]
    fn any_pdf_content(content in fragments()) {
        try_all("x.pdf", &pages(&[&String::from_utf8_lossy(&content)]));
    }

    #[test]
    fn any_office_xml(body in fragments()) {
        let body = String::from_utf8_lossy(&body);
        try_all("x.docx", &docx(&body));
        try_all("x.xlsx", &xlsx(&body, &[]));
        try_all("x.odt", &odf("text", &body));
    }

    #[test]
    fn damage_in_many_places(index in 0usize..19, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let (name, mut bytes) = samples().swap_remove(index);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        try_all(name, &bytes);
    }
}
