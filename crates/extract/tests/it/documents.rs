//! What comes out of sound documents of each format.

use extract::{Diagnostic, Format};
use model::SkipReason;

use crate::build::{self, docx, docx_with, file, lines, odf, pptx, read, relations, xlsx, zip};

#[test]
fn word_sections_lists_tables_links_and_notes() {
    let body = "<w:p><w:r><w:t xml:space='preserve'>Before </w:t></w:r><w:r><w:t>all &amp; sundry</w:t></w:r></w:p>\
        <w:p><w:pPr><w:pStyle w:val='Mine'/></w:pPr><w:r><w:t>Scope</w:t></w:r></w:p>\
        <w:p><w:r><w:t>See</w:t></w:r><w:hyperlink r:id='l'><w:r><w:t> here</w:t></w:r></w:hyperlink>\
          <w:r><w:footnoteReference w:id='2'/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>\
        <w:p><w:pPr><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>one</w:t></w:r></w:p>\
        <w:p><w:pPr><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>two</w:t></w:r></w:p>\
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p>\
          <w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>";
    let rels = relations(&[("l", "hyperlink", "https://x.example/a b"), ("f", "footnotes", "footnotes.xml")]);
    let notes = "<w:footnotes><w:footnote w:id='0' w:type='separator'><w:p/></w:footnote>\
        <w:footnote w:id='2'><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let bytes = docx_with(body, &[("word/_rels/document.xml.rels", &rels), ("word/footnotes.xml", notes)]);
    let extraction = read("a.docx", &bytes);
    assert_eq!(extraction.skip, None);
    assert_eq!(
        lines(&extraction),
        [
            "section 1: Before all & sundry",
            "section 'Scope': # Scope//See [here](https://x.example/a%20b)[^2]//- one/- two//| a | b c |",
            "section 'Footnotes': [^2]: A note.",
        ]
    );
    assert_eq!(extraction.units[1].title.as_deref(), Some("Scope"));
}

#[test]
fn word_pages_where_word_says_them() {
    let body = "<w:p><w:r><w:t>one</w:t><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>";
    assert_eq!(lines(&read("a.docx", &docx(body))), ["page 1, section 1: one", "page 2, section 2: two"]);
}

#[test]
fn slides_in_the_order_of_the_show_with_notes() {
    let shape = |kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvPr><p:ph type='{kind}'/></p:nvPr><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    let first = shape("title", "Plan") + &shape("body", "Point one") + &shape("sldNum", "1");
    let table = "<a:tbl><a:tr><a:tc><a:p><a:r><a:t>x</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>y</a:t></a:r></a:p></a:tc></a:tr></a:tbl>";
    let notes = shape("sldImg", "no") + &shape("body", "Say this.");
    let extraction = read("a.pptx", &pptx(&[&first, table], &notes));
    assert_eq!(
        lines(&extraction),
        ["slide 1: # Plan//Point one", "slide 1 notes: Say this.", "slide 2: | x | y |"]
    );
    assert_eq!((extraction.parts, extraction.units[1].title.as_deref()), (2, Some("Plan")));
}

#[test]
fn sheets_with_their_rows() {
    let sheet = "<sheetData><row r='2'><c r='A2' t='s'><v>0</v></c><c r='C2'><v>1.5</v></c></row>\
        <row r='3'><c r='A3' s='1'><v>45352</v></c><c r='B3' t='b'><v>1</v></c><c r='C3' t='inlineStr'><is><t>in|line</t></is></c>\
        <c r='D3'><f>SUM(C2)</f></c></row></sheetData>";
    let extraction = read("a.xlsx", &xlsx(sheet, &["Name"]));
    assert_eq!(
        lines(&extraction),
        ["sheet 'Q2' rows 2-3: | Name | | 1.5 |/| 2024-03-01 | TRUE | in\\|line | =SUM(C2) |"]
    );
}

#[test]
fn a_sheet_of_many_rows_comes_in_blocks() {
    let rows: String = (1..=120).map(|n| format!("<row r='{n}'><c r='A{n}'><v>{n}</v></c></row>")).collect();
    let extraction = read("a.xlsx", &xlsx(&format!("<sheetData>{rows}</sheetData>"), &[]));
    let places: Vec<String> = extraction.units.iter().map(|unit| unit.pointer.to_string()).collect();
    assert_eq!(places, ["sheet 'Q2' rows 1-50", "sheet 'Q2' rows 51-100", "sheet 'Q2' rows 101-120"]);
}

/// A page is told where the program that wrote the file says where pages end, and none is told where it does not.
#[test]
fn s004_pages_of_open_documents_are_true_or_not_told() {
    let styles = "<office:automatic-styles>\
        <style:style style:name='P1' style:family='paragraph' style:parent-style-name='Chapter'/>\
        <style:style style:name='P2' style:family='paragraph'><style:paragraph-properties fo:break-after='page'/></style:style>\
        <style:style style:name='P3' style:family='paragraph' style:master-page-name='Wide'/>\
        <style:style style:name='Chapter'><style:paragraph-properties fo:break-before='page'/></style:style>\
        </office:automatic-styles>";
    let body = "<office:body><office:text text:use-soft-page-breaks='true'>\
        <text:p text:style-name='P1'>first</text:p><text:p>over <text:soft-page-break/>two pages</text:p>\
        <text:p text:style-name='P1'>third</text:p><text:p text:style-name='P2'>still third</text:p>\
        <table:table><table:table-row><table:table-cell><text:p>cell</text:p></table:table-cell></table:table-row>\
        <text:soft-page-break/></table:table><text:p>fifth</text:p><text:p text:style-name='P3'>sixth</text:p>\
        </office:text></office:body>";
    let page_of = |content: &str| -> Vec<String> {
        let extraction = read("a.odt", &odf("text", content));
        extraction
            .units
            .iter()
            .map(|unit| format!("{}: {}", unit.pointer, unit.text.replace('\n', "/")))
            .collect()
    };
    assert_eq!(
        page_of(&format!("{styles}{body}")),
        [
            "page 1, section 1: first//over two pages",
            "page 3, section 2: third//still third",
            "page 4, section 3: | cell |",
            "page 5, section 4: fifth",
            "page 6, section 5: sixth"
        ]
    );
    let unknown = format!("{styles}{body}").replace("soft-page-break", "other");
    assert!(page_of(&unknown).iter().all(|place| place.starts_with("section ")), "{:?}", page_of(&unknown));
}

#[test]
fn open_documents() {
    let text = "<text:h text:outline-level='1'>Head</text:h><text:p>a<text:s text:c='2'/>b<text:tab/>c \
        <text:a xlink:href='https://x.example'>link</text:a><text:note><text:note-citation>1</text:note-citation>\
        <text:note-body><text:p>Noted.</text:p></text:note-body></text:note></text:p>\
        <text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>";
    assert_eq!(
        lines(&read("a.odt", &odf("text", text))),
        [
            "section 'Head': # Head//a  b\tc [link](https://x.example)[^1]//- item",
            "section 'Notes': [^1]: Noted."
        ]
    );
    let sheet = "<table:table table:name='S'><table:table-row table:number-rows-repeated='3'><table:table-cell/></table:table-row>\
        <table:table-row><table:table-cell table:number-columns-repeated='2'><text:p>x</text:p></table:table-cell>\
        <table:table-cell table:number-columns-repeated='16000'/></table:table-row></table:table>";
    assert_eq!(lines(&read("a.ods", &odf("spreadsheet", sheet))), ["sheet 'S' rows 4-4: | x | x |"]);
    let slide = "<draw:page draw:name='p'><draw:frame presentation:class='title'><draw:text-box><text:p>T</text:p></draw:text-box>\
        </draw:frame><draw:frame><draw:text-box><text:p>body</text:p></draw:text-box></draw:frame>\
        <presentation:notes><draw:frame><draw:text-box><text:p>note</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>";
    assert_eq!(
        lines(&read("a.odp", &odf("presentation", slide))),
        ["slide 1: # T/body", "slide 1 notes: note"]
    );
}

#[test]
fn rich_text() {
    let rtf = br"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}{\info{\title My title}}
{\*\generator x;}\pard Caf\'e9 \u8211? dash\par {\f1\'cf\'f0} \b bold\b0\par
\trowd\intbl one\cell two\cell\row\pard after{\v hidden}\par}";
    let extraction = read("a.rtf", rtf);
    assert_eq!(lines(&extraction), ["section 1: Café – dash//Пр bold//| one | two |//after"]);
    assert_eq!(extraction.title.as_deref(), Some("My title"));
}

#[test]
fn books_in_the_order_of_the_spine() {
    let mut mimetype = file("mimetype", "application/epub+zip");
    mimetype.packed = false;
    let package = "<package><metadata><dc:title>Book</dc:title></metadata><manifest><item id='b' href='two%20b.xhtml'/>\
        <item id='a' href='one.xhtml'/></manifest><spine><itemref idref='a'/><itemref idref='b'/></spine></package>";
    let bytes = zip(&[
        mimetype,
        file(
            "META-INF/container.xml",
            "<container><rootfiles><rootfile full-path='E/p.opf'/></rootfiles></container>",
        ),
        file("E/p.opf", package),
        file("E/two b.xhtml", "<html><body><h1>Two</h1><p>second</p></body></html>"),
        file("E/one.xhtml", "<html><body><h1>One</h1><p>first</p></body></html>"),
    ]);
    let extraction = read("a.epub", &bytes);
    assert_eq!(lines(&extraction), ["section 'One': # One//first", "section 'Two': # Two//second"]);
    assert_eq!(extraction.title.as_deref(), Some("Book"));
}

#[test]
fn web_pages() {
    let html = "<html><head><title>T</title></head><body><nav>menu</nav><h1>A</h1><p>x <a href='b.html'>b</a><h2>B</h2>y</body>";
    assert_eq!(
        lines(&read("a.html", html.as_bytes())),
        ["section 'A': # A//x [b](b.html)", "section 'B': ## B//y"]
    );
    let old = b"<meta charset=windows-1251><p>\xCF\xF0\xE8\xE2\xE5\xF2";
    assert_eq!(lines(&read("a.htm", old)), ["section 1: Привет"]);
}

#[test]
fn what_is_attached_to_mail_is_read() {
    let inner = build::mail("Inner", "deepest", &[("deep.md", b"# Depth")]);
    let archive = build::zip(&[build::file("a.txt", "zipped")]);
    let eml = build::mail(
        "Plans",
        "See below.",
        &[
            ("plan.pdf", &build::text_pages(&["first page", "second page"])),
            ("note.docx", &build::paragraphs(&["a paragraph"])),
            ("script.py", b"def attached(): pass"),
            ("inner.eml", &inner),
            ("all.zip", &archive),
            ("logo.png", b"\x89PNG\r\n\x1a\n\0\0"),
            ("broken.docx", b"PK\x03\x04nonsense"),
        ],
    );
    let extraction = read("a.eml", &eml);
    assert_eq!(
        lines(&extraction),
        [
            "message 1: Subject: Plans/From: Ann <ann@example.org>//See below.//Attachment: plan.pdf, page 1/first page//\
          Attachment: plan.pdf, page 2/second page//Attachment: note.docx/a paragraph//\
          Attachment: script.py/def attached(): pass//Attachment: inner.eml/Subject: Inner/From: Ann <ann@example.org>//\
          deepest//Attachment: deep.md/# Depth//Attachment: all.zip/Attachment: logo.png/Attachment: broken.docx"
        ]
    );
    let unread: Vec<String> = extraction.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(unread.len(), 3, "{unread:?}");
}

#[test]
fn mail() {
    let eml = "Subject: =?utf-8?Q?Caf=C3=A9?=\r\nFrom: Ann <ann@example.org>\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n\
        --B\r\nContent-Type: multipart/alternative; boundary=C\r\n\r\n--C\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=FC=DFe\r\n--C\r\nContent-Type: text/html\r\n\r\n<p>no</p>\r\n--C--\r\n\
        --B\r\nContent-Type: application/pdf; name=plan.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n--B--\r\n";
    let extraction = read("a.eml", eml.as_bytes());
    assert_eq!(
        lines(&extraction),
        ["message 1: Subject: Café/From: Ann <ann@example.org>//Grüße//Attachment: plan.pdf"]
    );
    assert_eq!(extraction.diagnostics, [Diagnostic::Attachment { name: "plan.pdf".into() }]);
    let mbox = "From a@example.org Mon\nSubject: One\n\nfirst\n>From here\n\nFrom b@example.org Tue\nSubject: Two\n\nsecond\n";
    let extraction = read("a.mbox", mbox.as_bytes());
    assert_eq!(
        lines(&extraction),
        ["message 1: Subject: One//first/>From here", "message 2: Subject: Two//second"]
    );
}

#[test]
fn tables_in_text() {
    let csv = "name,\"a \"\"b\"\"\"\n\"x\ny\",2\n";
    assert_eq!(lines(&read("a.csv", csv.as_bytes())), ["rows 1-2: | name | a \"b\" |/| x y | 2 |"]);
    assert_eq!(lines(&read("a.tsv", b"a\tb,c\n")), ["rows 1-1: | a | b,c |"]);
}

#[test]
fn notebooks() {
    let notebook = r##"{"metadata":{"kernelspec":{"language":"python"}},"cells":[
        {"cell_type":"markdown","source":["# Head\n","text"]},
        {"cell_type":"code","source":"print(1)","outputs":[{"text":["1\n"]},{"data":{"text/plain":"2","image/png":"x"}}]}]}"##;
    assert_eq!(
        lines(&read("a.ipynb", notebook.as_bytes())),
        ["cell 1: # Head/text", "cell 2: ```python/print(1)/```//1//2"]
    );
}

#[test]
fn subtitles_in_half_minutes() {
    let srt = "1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i>\n\n2\n00:00:03,000 --> 00:00:04,000\nthere\n\n3\n00:01:00,000 --> 00:01:01,500\nlater\n";
    assert_eq!(lines(&read("a.srt", srt.as_bytes())), ["00:01-00:04: Hello/there", "01:00-01:01: later"]);
    let vtt = "WEBVTT\n\nNOTE no\n\n00:01.000 --> 00:02.000 align:start\n<v Ann>Hi &amp; bye\n";
    assert_eq!(lines(&read("a.vtt", vtt.as_bytes())), ["00:01-00:02: Ann: Hi & bye"]);
}

#[test]
fn markdown_by_headings() {
    let extraction = read("a.md", b"intro\n\n# One\ntext\n## Two\nmore\n");
    assert_eq!(lines(&extraction), ["lines 1-2: intro", "lines 3-4: # One/text", "lines 5-6: ## Two/more"]);
    assert_eq!(extraction.units[2].title.as_deref(), Some("Two"));
}

#[test]
fn what_is_not_read_says_what_to_do() {
    let text = |name: &str, bytes: &[u8]| {
        read(name, bytes).skip.map(|reason| reason.to_string()).unwrap_or_default()
    };
    let doc = text("a.doc", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and then nothing");
    assert!(doc.starts_with("DOC_TYPE_UNSUPPORTED:") && doc.contains("convert-to docx"), "{doc}");
    assert!(text("a.pdf", b"%PDF-1.7 and nothing").starts_with("EXTRACT_FAILED:"));
    assert!(text("a.docx", b"not a zip").starts_with("EXTRACT_FAILED:"));
    assert!(text("a.docx", &docx("")).starts_with("NO_TEXT:"));
    assert!(text("a.txt", b"").starts_with("NO_TEXT:"));
    let mut locked = [file("[Content_Types].xml", "x"), file("word/document.xml", "x")];
    locked.iter_mut().for_each(|part| part.flags = 1);
    assert!(text("a.docx", &zip(&locked)).starts_with("ENCRYPTED:"));
}

#[test]
fn a_wrong_name_is_noted_and_the_content_read() {
    let extraction = read("a.pdf", &docx("<w:p><w:r><w:t>text</w:t></w:r></w:p>"));
    assert_eq!(extraction.format, Format::Docx);
    assert_eq!(extraction.diagnostics, [Diagnostic::WrongName { named: Format::Pdf, found: Format::Docx }]);
    assert_eq!(lines(&extraction), ["section 1: text"]);
    let extraction = extract::extract(Format::Zip, "a.zip", &zip(&[]), &extract::Limits::default());
    assert!(matches!(extraction.skip, Some(SkipReason::Unsupported { .. })));
}

#[test]
fn an_extraction_can_be_sent() {
    let extraction = read("a.pdf", &docx("<w:p><w:r><w:t>text</w:t></w:r></w:p>"));
    let json = serde_json::to_string(&extraction).unwrap();
    assert_eq!(serde_json::from_str::<extract::Extraction>(&json).unwrap(), extraction);
}
