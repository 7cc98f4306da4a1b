//! Where the search begins: one sound input for each variant.

use std::io;
use std::path::Path;

use crate::build::{docx, file, gzip, odf, pages, pptx, tar, xlsx, zip, zlib};
use crate::families::{Family, OFFICE, PARTS, PICTURES, TEXTS};

pub(crate) fn write(family: &Family, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (index, (variant, bytes)) in seeds(family.name).into_iter().enumerate() {
        let mut input = vec![variant as u8];
        input.extend(bytes);
        std::fs::write(folder.join(format!("seed-{index:02}")), input)?;
    }
    Ok(())
}

fn seeds(family: &str) -> Vec<(usize, Vec<u8>)> {
    let text = |text: &str| text.as_bytes().to_vec();
    match family {
        "pdf" => vec![
            (0, pages(&["BT /F 12 Tf 50 700 Td (Hello) Tj [(a) -300 (b)] TJ ET", "q 1 0 0 1 0 0 cm BT /F 9 Tf (x) ' ET Q"])),
            (1, text("q 1 0 0 1 72 720 cm BT /F 12 Tf 14 TL 1 0 0 1 0 0 Tm (Hello \\(you\\)) Tj T* <48656C6C6F> Tj [(a) -300 (b)] TJ 0 -14 Td (x) ' 1 2 (y) \" ET /X Do Q\nBI /W 1 /H 1 /BPC 8 /CS /G ID x EI")),
            (2, text("/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n2 beginbfchar <0001> <0041> <0002> <00660069> endbfchar\n1 beginbfrange <0003> <0010> <0061> endbfrange\n1 beginbfrange <0011> <0012> [<0030> <0031>] endbfrange\nendcmap end end")),
            (3, text("<</Type/Font/Subtype/TrueType/BaseFont/A+B/FirstChar 32/LastChar 34/Widths[250 300 400]/Encoding<</Type/Encoding/BaseEncoding/MacRomanEncoding/Differences[32/space/A 65/fi/uni0041]>>/FontDescriptor<</Flags 4/MissingWidth 500>>/ToUnicode 6 0 R>>")),
        ],
        "office" => office(),
        "xls" => {
            let record = |kind: u16, body: &[u8]| {
                let mut out = kind.to_le_bytes().to_vec();
                out.extend((body.len() as u16).to_le_bytes());
                out.extend(body);
                out
            };
            // BIFF8: globals with one sheet and one string, then the sheet.
            let begin = record(0x809, &[0, 6, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            let strings = record(0xFC, &[1, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, b'h', b'e', b'l', b'l', b'o']);
            let end = record(0x0A, &[]);
            let sheet_at = (begin.len() + 4 + 9 + strings.len() + end.len()) as u32;
            let mut sheet = sheet_at.to_le_bytes().to_vec();
            sheet.extend([0, 0, 1, 0, b'S']);
            let mut book = [begin, record(0x85, &sheet), strings, end.clone()].concat();
            book.extend(record(0x809, &[0, 6, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
            book.extend(record(0xFD, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
            book.extend(record(0x203, &[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]));
            book.extend(record(0x27E, &[1, 0, 0, 0, 0, 0, 2, 0, 0, 0]));
            book.extend(end);
            vec![(0, crate::cfb::cfb("Workbook", &book)), (1, book.clone()), (2, book), (3, text("words")), (4, text("w\0o\0"))]
        }
        "rtf" => vec![
            (0, text("{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fcharset204 A;}}{\\info{\\title T}}\\f0 some {\\b bold} words\\par \\u8211? more\\'e4\\par{\\*\\x y}\\trowd\\cellx1 a\\cell b\\cell\\row{\\pict 00ff}{\\field{\\*\\fldinst HYPERLINK \"x\"}{\\fldrslt y}}\\bin3 abc}")),
        ],
        "html" => vec![
            (0, text("<!doctype html><html><head><meta charset=utf-8><title>t</title><script>x</script></head><body><nav>n</nav><main><h1>a</h1><table><tr><td colspan=2>1<td>2</table><pre>x</pre><ul><li>i<ol><li>j</ol></ul><a href='x'>y</a>&amp;&#x41;<!-- c --><img alt=q></main></body>")),
        ],
        "mail" => vec![
            (0, text("Subject: =?utf-8?q?s=C3=A4?=\r\nFrom: a@b.c\r\nContent-Type: multipart/mixed; boundary=\"b\"\r\n\r\n--b\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nx=E4=\r\ny\r\n--b\r\nContent-Transfer-Encoding: base64\r\nContent-Type: text/html\r\n\r\nPHA+aGk=\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: i\r\n\r\nz\r\n--b--")),
            (1, text("From a Mon\nSubject: s\n\nx\n>From y\n\nFrom b Tue\n\ny\n")),
        ],
        "text" => vec![
            (0, text("a,\"b\nc\",d\n1,2,\"\"\"3\"\n")),
            (1, text("a\tb\n1\t2\n")),
            (2, text(r##"{"cells":[{"cell_type":"code","source":["x\n"],"outputs":[{"text":"y"},{"data":{"text/plain":["z"]}}]},{"cell_type":"markdown","source":"# h"}],"metadata":{},"nbformat":4}"##)),
            (3, text("1\n00:00:01,000 --> 00:00:02,000\n<i>hi</i>\n\n2\n00:00:03,000 --> 00:00:04,000\nyou\n")),
            (4, text("WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000 align:start\n<v A>hi\n")),
            (5, text("---\ntitle: t\n---\n# a\nb\n```\n# c\n```\nSetext\n===\n| a | b |\n|---|---|\n| 1 | 2 |\n")),
            (6, b"\xFF\xFEw\0o\0r\0d\0s\0".to_vec()),
        ]
        .into_iter()
        .filter(|(variant, _)| *variant < TEXTS.len())
        .collect(),
        "archive" => {
            let inner = tar(&[("a.txt", b'0', b"text"), ("../b", b'0', b"x"), ("l", b'2', b""), ("d/", b'5', b"")]);
            let nested = zip(&[file("a.txt", "text"), file("b/c.zip", zip(&[file("d", "more")])), file("../e", "x")]);
            let zst = zstd::encode_all(inner.as_slice(), 3).unwrap_or_default();
            vec![(0, nested), (1, inner.clone()), (2, gzip(&inner)), (3, zst), (4, inner.clone()), (5, inner)]
        }
        "picture" => {
            let mut all: Vec<(usize, Vec<u8>)> = ["page.g4", "page.g3", "page.jbig2", "grey.jp2", "progressive.jpeg"]
                .iter()
                .enumerate()
                .map(|(index, name)| (PICTURES.len() + index, fixture(name)))
                .collect();
            all.push((PICTURES.len() + 5, zlib(&[7; 101 * 70 * 3])));
            all.extend(["pages.tiff", "fax.tiff", "jpeg.tiff"].map(|name| (6, fixture(name))));
            all.extend(["progressive.jpeg", "cmyk.jpeg"].map(|name| (2, fixture(name))));
            all.push((0, pages(&["BT /F 12 Tf 50 700 Td (Hello) Tj ET 10 10 m 50 50 90 10 100 100 c f"])));
            all.push((3, b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;".to_vec()));
            all
        }
        "audio" => [(1, "tone.mp3"), (2, "tone.flac"), (3, "tone.ogg"), (3, "tone.opus"), (4, "tone.m4a"), (4, "tone.alac.m4a"), (5, "tone.aac"), (6, "tone.aiff")]
            .map(|(variant, name)| (variant, fixture(name)))
            .to_vec(),
        "redact" => vec![
            (0, text("Jane <jane@example.com>, Tel. +49 (0)30 1234567 or 555-123-4567 ext. 8; password: hunter2; 4111 1111 1111 1111")),
            (0, text("Authorization: Bearer abcdef123456 postgres://a:b@c.de/x?token=y jane (at) example (dot) com 2021-05-03 192.0.2.1")),
            (1, text("\u{5}jane@example.com 030/1234567")),
        ],
        "patterns" => vec![
            (0, text("# notes\n*.o\n!keep.o\n/target/\ndocs/**/*.txt\n[[:alpha:]]?x\\ \na/**\nfoo[!a-c]\nsrc/docs/deep/a.txt")),
            (0, text("**/node_modules/\r\n\\!bang\n\u{ef}\na/node_modules")),
            (1, text("**/private/**\n*.{key,pem}\ndist/\n[a-z]*\nhome/private/a.key")),
        ],
        "lang" => ["class A(B):\n  def f(self, x=1): return g(x)\n", "use a::b; impl<T> X for Y { fn f(&self) -> u8 { g() } }", "import x from 'y'; class A extends B { f() { return `a${b}` } }", "package a; func (x *T) F() {}", "#include <a>\nint f(void) { return 0; }"]
            .iter()
            .zip([0, 1, 2, 5, 7])
            .map(|(source, variant)| (variant, text(source)))
            .collect(),
        "headers" => vec![
            (0, text("localhost:8080")),
            (0, text("[::1]:80")),
            (0, text("a.example:8443\nevil@localhost")),
            (1, text("http://localhost:5173")),
            (1, text("https://a.example\nnull")),
            (2, text("1.1.1.1, 198.51.100.1, 10.9.9.9")),
            (2, text("[2001:db8::1]:443\n198.51.100.1:5000, ::ffff:10.0.0.1")),
            (3, text("Bearer alpha")),
            (3, text("bEARER   alpha \nBasic YWxwaGE=")),
        ],
        "messages" => {
            let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"q":[1,-2.5e3,"\u00e9",null]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"}}}"#;
            let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"t","version":"1"}}}"#;
            let steering = "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: x\nAccept: application/json, text/event-stream";
            vec![
                (0, text(call)),
                (0, text(r#"{"a":{"a":1},"b":[[],{}],"a ":"\ud83d\ude00"}"#)),
                (1, text(hello)),
                (1, text(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)),
                (1, text(r#"{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"m"}}"#)),
                (2, format!("{steering}\n\n{call}").into_bytes()),
                (2, format!("Accept: application/json\n\n{hello}").into_bytes()),
                (2, text("MCP-Session-Id: sess_x\nMCP-Protocol-Version: 2025-11-25\n\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}")),
                (2, text("MCP-Protocol-Version: 2026-07-28\nMcp-Method: server/discover\n\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"server/discover\"}")),
            ]
        }
        "configuration" => vec![
            (0, include_bytes!("../../crates/app/tests/it/specification.yaml").to_vec()),
            (0, text("version: 1\nrag:\n  k_default: 5\nserver:\n  listen: \"127.0.0.1:0\"\nsecurity:\n  path_excludes: [a, '*.key']\n")),
            (1, text("export MISTRAL_API_KEY='a b' # note\nOPENAI_API_KEY=\"x\\ny\"\nDIR2MCP_DIR=/etc\n")),
            (2, text("[index]\ninclude = [\"src/**\"]\nexclude = []\n[limits]\nmax_file_bytes = 1000\n")),
            (3, text("rag.k_default\n7\nrag: # why\n  k_default: 5 # because\n")),
            (3, text("security.path_excludes\na, b\nsecurity:\n  path_excludes:\n    - x\n")),
        ],
        _ => vec![
            (0, text("contracts about \"vendor X\" from 2019-2021 in ppt or docx ext:pdf -draft path:src lang:rust since 2020")),
            (0, text("parse_header http::Server what is *.docx last year")),
        ],
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/extract/tests/fixtures");
    std::fs::read(folder.join(name)).expect("the fixtures of the tests are there")
}

fn office() -> Vec<(usize, Vec<u8>)> {
    let rows = "<sheetData><row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' t='inlineStr'><is><t>q</t></is></c><c r='C1'><f>A1</f><v>2</v></c></row></sheetData><mergeCells><mergeCell ref='A1:B2'/></mergeCells>";
    let slide = "<p:sp><p:txBody><a:p><a:r><a:t>slide</a:t></a:r></a:p></p:txBody></p:sp>";
    let word = "<w:p><w:pPr><w:pStyle w:val='H1'/></w:pPr><w:r><w:t xml:space='preserve'>some words</w:t><w:tab/><w:br/></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>";
    let table = "<table:table table:name='S'><table:table-row table:number-rows-repeated='2'><table:table-cell table:number-columns-repeated='3' office:value-type='float' office:value='1'><text:p>x</text:p></table:table-cell></table:table-row></table:table>";
    let whole = [
        docx(word),
        pptx(&[slide], slide),
        xlsx(rows, &["text"]),
        odf(
            "text",
            "<office:body><office:text><text:h text:outline-level='1'>Head</text:h><text:p>words<text:s text:c='3'/><text:tab/></text:p></office:text></office:body>",
        ),
        odf("spreadsheet", table),
        odf("presentation", "<draw:page draw:name='p'><text:p>x</text:p></draw:page>"),
        zip(&[file("mimetype", "application/epub+zip")]),
    ];
    let parts = [
        format!("<w:document><w:body>{word}</w:body></w:document>"),
        "<w:styles><w:style w:styleId='A'><w:name w:val='heading 1'/><w:basedOn w:val='B'/></w:style></w:styles>".into(),
        "<w:numbering><w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:numFmt w:val='decimal'/></w:lvl></w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></w:numbering>".into(),
        format!("<p:sld><p:spTree>{slide}</p:spTree></p:sld>"),
        format!("<worksheet>{rows}</worksheet>"),
        "<sst><si><t>a</t></si><si><r><t>b</t></r><rPh><t>c</t></rPh></si></sst>".into(),
        "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='yyyy\\-mm\\-dd'/></numFmts><cellXfs><xf numFmtId='0'/><xf numFmtId='164'/></cellXfs></styleSheet>".into(),
        "<office:document-content><office:body><office:text><text:list><text:list-item><text:p>words</text:p></text:list-item></text:list></office:text></office:body></office:document-content>".into(),
        format!("<office:document-content>{table}</office:document-content>"),
        "<office:document-content><draw:page draw:name='p'><text:p>x</text:p><presentation:notes><text:p>n</text:p></presentation:notes></draw:page></office:document-content>".into(),
        "<html><head><title>t</title></head><body><h1>a</h1><p>b</p></body></html>".into(),
        "<package><metadata><dc:title>T</dc:title></metadata><manifest><item id='c' href='chapter.xhtml' media-type='application/xhtml+xml'/></manifest><spine><itemref idref='c'/></spine></package>".into(),
    ];
    assert_eq!((whole.len(), parts.len()), (OFFICE.len(), PARTS.len()));
    let parts = parts.into_iter().map(String::into_bytes);
    whole.into_iter().chain(parts).enumerate().collect()
}
