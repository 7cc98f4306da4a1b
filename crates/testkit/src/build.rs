//! Builders for documents and the containers they come in, sound ones and, with a little help, hostile ones.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

/// A member of a zip under construction.
pub struct File {
    pub name: Vec<u8>,
    pub body: Vec<u8>,
    /// What the directory says, where it lies.
    pub claimed_size: Option<u32>,
    /// The mode of Unix systems.
    pub mode: u32,
    pub packed: bool,
    pub flags: u16,
}

pub fn file(name: &str, body: impl Into<Vec<u8>>) -> File {
    File {
        name: name.as_bytes().to_vec(),
        body: body.into(),
        claimed_size: None,
        mode: 0o100_644,
        packed: true,
        flags: 0,
    }
}

pub fn zip(files: &[File]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for file in files {
        let start = out.len() as u32;
        let packed = if file.packed { deflate(&file.body) } else { file.body.clone() };
        let mut crc = flate2::Crc::new();
        crc.update(&file.body);
        let size = file.claimed_size.unwrap_or(file.body.len() as u32);
        let method = if file.packed { 8u16 } else { 0 };
        let mut common = Vec::new();
        for short in [20, file.flags, method, 0, 0x21] {
            common.extend(short.to_le_bytes());
        }
        for long in [crc.sum(), packed.len() as u32, size] {
            common.extend(long.to_le_bytes());
        }
        common.extend((file.name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(&file.name);
        out.extend(&packed);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((file.mode << 16).to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(&file.name);
    }
    end_zip(&mut out, &directory, files.len() as u16);
    out
}

pub fn end_zip(out: &mut Vec<u8>, directory: &[u8], count: u16) {
    let at = out.len() as u32;
    out.extend(directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0, 0]);
}

pub fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One entry of a tar: name, type flag, body.
pub fn tar(entries: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, flag, body) in entries {
        tar_entry(&mut out, name, *flag, body, body.len() as u64);
    }
    out.extend([0; 1024]);
    out
}

pub fn tar_entry(out: &mut Vec<u8>, name: &str, flag: u8, body: &[u8], size: u64) {
    let mut header = [0u8; 512];
    header[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[156] = flag;
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    out.extend(header);
    out.extend(body);
    out.extend(vec![0; body.len().next_multiple_of(512) - body.len()]);
}

const W: &str = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"";
const SHEET: &str = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
     xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
const SLIDE: &str = "xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" \
     xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" \
     xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
const TYPES: &str = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>";

/// A Word file with this body.
pub fn docx(body: &str) -> Vec<u8> {
    docx_with(body, &[])
}

pub fn docx_with(body: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let styles = format!(
        "<w:styles {W}><w:style w:styleId='H1'><w:name w:val='heading 1'/></w:style>\
         <w:style w:styleId='H2'><w:name w:val='heading 2'/></w:style>\
         <w:style w:styleId='Mine'><w:name w:val='mine'/><w:basedOn w:val='H1'/></w:style></w:styles>"
    );
    let document = format!("<w:document {W}><w:body>{body}</w:body></w:document>");
    let mut files = vec![
        file("[Content_Types].xml", TYPES),
        file("word/document.xml", document),
        file("word/styles.xml", styles),
    ];
    files.extend(more.iter().map(|(name, text)| file(name, *text)));
    zip(&files)
}

/// The relations of a part, by id, kind and target.
pub fn relations(all: &[(&str, &str, &str)]) -> String {
    let mut out = "<Relationships>".to_owned();
    for (id, kind, target) in all {
        let mode = if target.contains("://") { " TargetMode='External'" } else { "" };
        out += &format!(
            "<Relationship Id='{id}' Type='http://x/relationships/{kind}' Target='{target}'{mode}/>"
        );
    }
    out + "</Relationships>"
}

pub fn pptx(slides: &[&str], notes: &str) -> Vec<u8> {
    let ids: String =
        (1..=slides.len()).map(|n| format!("<p:sldId id='{}' r:id='r{n}'/>", 255 + n)).collect();
    let mut files = vec![
        file("[Content_Types].xml", TYPES),
        file(
            "ppt/presentation.xml",
            format!("<p:presentation><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"),
        ),
    ];
    let mut targets = Vec::new();
    for (index, slide) in slides.iter().enumerate() {
        // The names of the parts say nothing about their order.
        let part = slides.len() - index;
        targets.push((format!("r{}", index + 1), format!("slides/slide{part}.xml")));
        files.push(file(
            &format!("ppt/slides/slide{part}.xml"),
            format!("<p:sld><p:spTree>{slide}</p:spTree></p:sld>"),
        ));
        if index == 0 {
            let of_slide = relations(&[("n", "notesSlide", "../notesSlides/notesSlide1.xml")]);
            files.push(file(&format!("ppt/slides/_rels/slide{part}.xml.rels"), of_slide));
        }
    }
    let all: Vec<(&str, &str, &str)> =
        targets.iter().map(|(id, target)| (id.as_str(), "slide", target.as_str())).collect();
    files.push(file("ppt/_rels/presentation.xml.rels", relations(&all)));
    files.push(file("ppt/notesSlides/notesSlide1.xml", format!("<p:notes>{notes}</p:notes>")));
    zip(&files)
}

pub fn xlsx(sheet: &str, strings: &[&str]) -> Vec<u8> {
    xlsx_named("Q2", sheet, strings)
}

/// The same with a name for the sheet.
pub fn xlsx_named(name: &str, sheet: &str, strings: &[&str]) -> Vec<u8> {
    let shared: String = strings.iter().map(|text| format!("<si><t>{text}</t></si>")).collect();
    zip(&[
        file("[Content_Types].xml", TYPES),
        file(
            "xl/workbook.xml",
            format!("<workbook><sheets><sheet name='{name}' sheetId='1' r:id='s'/></sheets></workbook>"),
        ),
        file("xl/_rels/workbook.xml.rels", relations(&[("s", "worksheet", "worksheets/sheet1.xml")])),
        file("xl/worksheets/sheet1.xml", format!("<worksheet>{sheet}</worksheet>")),
        file("xl/sharedStrings.xml", format!("<sst>{shared}</sst>")),
        file(
            "xl/styles.xml",
            "<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>",
        ),
    ])
}

/// An OpenDocument file of a kind, with this content.
pub fn odf(kind: &str, content: &str) -> Vec<u8> {
    let mut mimetype = file("mimetype", format!("application/vnd.oasis.opendocument.{kind}"));
    mimetype.packed = false;
    zip(&[
        mimetype,
        file("content.xml", format!("<office:document-content>{content}</office:document-content>")),
    ])
}

/// A PDF of numbered objects, with a table at its end.
pub fn pdf(objects: &[&[u8]], trailer: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n".to_vec();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n", index + 1).bytes());
        out.extend(*object);
        out.extend(b"\nendobj\n");
    }
    let table = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    out.extend(
        format!(
            "trailer\n<</Size {} /Root 1 0 R {trailer}>>\nstartxref\n{table}\n%%EOF\n",
            objects.len() + 1
        )
        .bytes(),
    );
    out
}

pub fn stream(entries: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("<</Length {} {entries}>>\nstream\n", bytes.len()).into_bytes();
    out.extend(bytes);
    out.extend(b"\nendstream");
    out
}

/// Pages of content streams, in Helvetica.
pub fn pages(contents: &[&str]) -> Vec<u8> {
    let kids: String = (0..contents.len()).map(|index| format!("{} 0 R ", 4 + index * 2)).collect();
    let mut objects: Vec<Vec<u8>> = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!(
            "<</Type/Pages/Kids[{kids}]/Count {}/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>>>",
            contents.len()
        )
        .into_bytes(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec(),
    ];
    for (index, content) in contents.iter().enumerate() {
        objects.push(format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R>>", 5 + index * 2).into_bytes());
        objects.push(stream("/Filter/FlateDecode", &zlib(content.as_bytes())));
    }
    let objects: Vec<&[u8]> = objects.iter().map(Vec::as_slice).collect();
    pdf(&objects, "")
}

/// A PDF with one line of text per page.
pub fn text_pages(lines: &[&str]) -> Vec<u8> {
    let contents: Vec<String> =
        lines.iter().map(|line| format!("BT /F 12 Tf 72 720 Td ({line}) Tj ET")).collect();
    pages(&contents.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The content of a page whose words are drawn: there is no text in it, and recognition may find some.
pub fn drawn_page() -> String {
    (0..60).map(|number| format!("{0} 100 m {0} 700 l S ", 10 * number)).collect()
}

/// A PDF of pages whose words are drawn.
pub fn drawn_pages(count: usize) -> Vec<u8> {
    let page = drawn_page();
    pages(&vec![page.as_str(); count])
}

/// A Word file of paragraphs.
pub fn paragraphs(all: &[&str]) -> Vec<u8> {
    let body: String = all.iter().map(|text| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")).collect();
    docx(&body)
}

/// A presentation with a line on each slide, and notes on the first.
pub fn slides(lines: &[&str], notes: &str) -> Vec<u8> {
    let shape = |text: &str| {
        format!(
            "<p:sp><p:nvPr><p:ph type='body'/></p:nvPr><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    let shapes: Vec<String> = lines.iter().map(|line| shape(line)).collect();
    pptx(&shapes.iter().map(String::as_str).collect::<Vec<_>>(), &shape(notes))
}

/// A workbook with one sheet, `Q2`, and a row for each line.
pub fn rows(lines: &[&str]) -> Vec<u8> {
    let rows: String = (1..=lines.len())
        .map(|row| format!("<row r='{row}'><c r='A{row}' t='s'><v>{}</v></c></row>", row - 1))
        .collect();
    xlsx(&format!("<sheetData>{rows}</sheetData>"), lines)
}

/// A book of chapters.
pub fn epub(chapters: &[&str]) -> Vec<u8> {
    let mut mimetype = file("mimetype", "application/epub+zip");
    mimetype.packed = false;
    let container = "<container><rootfiles><rootfile full-path='p.opf'/></rootfiles></container>";
    let (mut items, mut spine) = (String::new(), String::new());
    let mut files = vec![mimetype, file("META-INF/container.xml", container)];
    for (number, text) in chapters.iter().enumerate() {
        items += &format!("<item id='c{number}' href='c{number}.xhtml'/>");
        spine += &format!("<itemref idref='c{number}'/>");
        let chapter = format!("<html><body><h1>Chapter {number}</h1><p>{text}</p></body></html>");
        files.push(file(&format!("c{number}.xhtml"), chapter));
    }
    files.push(file(
        "p.opf",
        format!("<package><manifest>{items}</manifest><spine>{spine}</spine></package>"),
    ));
    zip(&files)
}

/// A Word file from a few marks of Markdown: `# ` and `## ` headings, every other line a paragraph.
pub fn document(text: &str) -> Vec<u8> {
    let body: String = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let (style, words) = match (line.strip_prefix("## "), line.strip_prefix("# ")) {
                (Some(words), _) => ("<w:pPr><w:pStyle w:val='H2'/></w:pPr>", words),
                (_, Some(words)) => ("<w:pPr><w:pStyle w:val='H1'/></w:pPr>", words),
                _ => ("", line),
            };
            format!("<w:p>{style}<w:r><w:t>{}</w:t></w:r></w:p>", escaped(words))
        })
        .collect();
    docx(&body)
}

/// A workbook of named sheets with rows of cells; what reads as a number is one. Texts are shared, as Excel writes them.
pub fn workbook(sheets: &[(String, Vec<Vec<String>>)]) -> Vec<u8> {
    let mut files = vec![file("[Content_Types].xml", TYPES)];
    let (mut list, mut targets, mut shared) = (String::new(), Vec::new(), Vec::new());
    for (index, (name, rows)) in sheets.iter().enumerate() {
        let number = index + 1;
        list += &format!("<sheet name='{}' sheetId='{number}' r:id='s{number}'/>", escaped(name));
        targets.push((format!("s{number}"), format!("worksheets/sheet{number}.xml")));
        let mut cell = |row: usize, column: usize, text: &String| {
            let place = format!("{}{row}", (b'A' + column as u8) as char);
            if text.parse::<f64>().is_ok() {
                return format!("<c r='{place}'><v>{text}</v></c>");
            }
            shared.push(format!("<si><t>{}</t></si>", escaped(text)));
            format!("<c r='{place}' t='s'><v>{}</v></c>", shared.len() - 1)
        };
        let rows: String = (1..)
            .zip(rows)
            .map(|(row, cells)| {
                let cells: String =
                    cells.iter().enumerate().map(|(column, text)| cell(row, column, text)).collect();
                format!("<row r='{row}'>{cells}</row>")
            })
            .collect();
        let sheet = format!("<worksheet {SHEET}><sheetData>{rows}</sheetData></worksheet>");
        files.push(file(&format!("xl/worksheets/sheet{number}.xml"), sheet));
    }
    let all: Vec<(&str, &str, &str)> =
        targets.iter().map(|(id, target)| (id.as_str(), "worksheet", target.as_str())).collect();
    files.push(file("xl/_rels/workbook.xml.rels", relations(&all)));
    files.push(file("xl/workbook.xml", format!("<workbook {SHEET}><sheets>{list}</sheets></workbook>")));
    files.push(file("xl/sharedStrings.xml", format!("<sst {SHEET}>{}</sst>", shared.concat())));
    zip(&files)
}

/// A presentation of slides with a title, a text and notes each.
pub fn deck(slides: &[(String, String, String)]) -> Vec<u8> {
    let shape = |kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvPr><p:ph type='{kind}'/></p:nvPr><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>",
            escaped(text)
        )
    };
    let mut files = vec![file("[Content_Types].xml", TYPES)];
    let (mut list, mut targets) = (String::new(), Vec::new());
    for (index, (title, text, notes)) in slides.iter().enumerate() {
        let number = index + 1;
        list += &format!("<p:sldId id='{}' r:id='r{number}'/>", 255 + number);
        targets.push((format!("r{number}"), format!("slides/slide{number}.xml")));
        let shapes = shape("title", title) + &shape("body", text);
        files.push(file(
            &format!("ppt/slides/slide{number}.xml"),
            format!("<p:sld {SLIDE}><p:spTree>{shapes}</p:spTree></p:sld>"),
        ));
        let of_slide = relations(&[("n", "notesSlide", &format!("../notesSlides/notesSlide{number}.xml"))]);
        files.push(file(&format!("ppt/slides/_rels/slide{number}.xml.rels"), of_slide));
        let notes = format!("<p:notes {SLIDE}>{}</p:notes>", shape("body", notes));
        files.push(file(&format!("ppt/notesSlides/notesSlide{number}.xml"), notes));
    }
    let all: Vec<(&str, &str, &str)> =
        targets.iter().map(|(id, target)| (id.as_str(), "slide", target.as_str())).collect();
    files.push(file("ppt/_rels/presentation.xml.rels", relations(&all)));
    files.push(file(
        "ppt/presentation.xml",
        format!("<p:presentation {SLIDE}><p:sldIdLst>{list}</p:sldIdLst></p:presentation>"),
    ));
    zip(&files)
}

/// A PDF of pages with several lines each.
pub fn printed(all: &[Vec<String>]) -> Vec<u8> {
    let page = |lines: &Vec<String>| -> String {
        let shown: String = lines
            .iter()
            .map(|line| {
                let line = line.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
                format!("({line}) Tj 0 -16 Td ")
            })
            .collect();
        format!("BT /F 12 Tf 72 720 Td {shown}ET")
    };
    let contents: Vec<String> = all.iter().map(page).collect();
    pages(&contents.iter().map(String::as_str).collect::<Vec<_>>())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&apos;")
}

/// A message with a text and attached files.
pub fn mail(subject: &str, text: &str, attached: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = format!(
        "Subject: {subject}\r\nFrom: Ann <ann@example.org>\r\nContent-Type: multipart/mixed; boundary=PART\r\n\r\n\
         --PART\r\nContent-Type: text/plain\r\n\r\n{text}\r\n"
    );
    for (name, bytes) in attached {
        out.push_str(&format!(
            "--PART\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n{}\r\n",
            base64(bytes)
        ));
    }
    out.push_str("--PART--\r\n");
    out.into_bytes()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word =
            three.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let six = (word >> (18 - 6 * digit)) & 63;
            out.push(if digit <= three.len() { char::from(DIGITS[six as usize]) } else { '=' });
        }
    }
    out
}
