//! Documents whose text has to be dug out, honest and hostile.

use serde_json::json;
use testkit::{Client, Era, Folder};

use super::{program, serve};

/// A PDF with one line of text per page.
pub(super) fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects: Vec<String> = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".into(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".into(),
    ];
    let mut kids = Vec::new();
    for text in pages {
        let content = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
        let resources = "<< /Font << /F1 3 0 R >> >>";
        let contents = objects.len();
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {contents} 0 R /Resources {resources} >>"
        ));
        kids.push(format!("{} 0 R", objects.len()));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), kids.len());
    let mut file = String::from("%PDF-1.4\n");
    let mut table = String::new();
    for (number, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    let (start, count) = (file.len(), objects.len() + 1);
    file.push_str(&format!(
        "xref\n0 {count}\n0000000000 65535 f \n{table}trailer << /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    ));
    file.into_bytes()
}

/// A zip file whose members are stored as they are.
pub(super) fn zip(members: &[(&str, &str)]) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
            })
        })
    };
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in members {
        let at = file.len() as u32;
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(crc(text.as_bytes()).to_le_bytes());
        common.extend((text.len() as u32).to_le_bytes());
        common.extend((text.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(text.as_bytes());
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = file.len() as u32;
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend((members.len() as u16).to_le_bytes());
    file.extend((members.len() as u16).to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

pub(super) fn docx(paragraphs: &[&str]) -> Vec<u8> {
    let body: String =
        paragraphs.iter().map(|text| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")).collect();
    let main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument";
    zip(&[
        (
            "[Content_Types].xml",
            &format!(
                "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\
                 <Override PartName=\"/word/document.xml\" ContentType=\"{main}\"/></Types>"
            ),
        ),
        (
            "_rels/.rels",
            &format!(
                "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
                 <Relationship Id=\"r1\" Type=\"{office}\" Target=\"word/document.xml\"/></Relationships>"
            ),
        ),
        (
            "word/document.xml",
            &format!(
                "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\">\
                 <w:body>{body}</w:body></w:document>"
            ),
        ),
    ])
}

#[test]
fn documents_are_found_cited_and_opened() {
    let folder = Folder::empty();
    folder.write(
        "report.pdf",
        pdf(&["The lighthouse was built in 1893.", "The windmill belongs to the miller."]),
    );
    folder.write("letter.docx", docx(&["Dear keeper,", "the zeppelin arrives on Tuesday."]));
    folder.write("note.rtf", r"{\rtf1\ansi The quokka smiles.}");
    let server = serve(&folder);
    for (query, path, span, selection) in [
        ("windmill", "report.pdf", json!({ "kind": "page", "page": 2 }), json!({ "page": 2 })),
        (
            "zeppelin",
            "letter.docx",
            json!({ "kind": "lines", "start_line": 1, "end_line": 3 }),
            json!({ "start_line": 1, "end_line": 3 }),
        ),
        (
            "quokka",
            "note.rtf",
            json!({ "kind": "lines", "start_line": 1, "end_line": 1 }),
            json!({ "start_line": 1, "end_line": 1 }),
        ),
    ] {
        let found = server.expect("dir2mcp.search", json!({ "query": query }));
        let hit = &found["hits"][0];
        assert_eq!((hit["rel_path"].as_str(), &hit["span"]), (Some(path), &span), "{found}");
        let mut arguments = selection;
        arguments["rel_path"] = json!(path);
        let opened = server.expect("dir2mcp.open_file", arguments);
        assert!(opened["content"].as_str().unwrap().contains(hit["snippet"].as_str().unwrap()), "{opened}");
        assert_eq!(opened["span"], span);
    }
    let first = server.expect("dir2mcp.open_file", json!({ "rel_path": "report.pdf" }));
    assert_eq!(first["span"], json!({ "kind": "page", "page": 1 }), "a document begins with its first page");
    let beyond =
        server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "report.pdf", "page": 3 }));
    assert_eq!(beyond.code(), Some("INVALID_RANGE"));
}

#[test]
fn a_secret_inside_a_document_holds_it_back() {
    let folder = Folder::empty();
    // A fixture, not a key.
    let fixture = ["AKIA", "FAKEFAKEFAKE", "FAKE"].concat();
    folder.write("keys.docx", docx(&[&format!("the pelican uses {fixture}")]));
    let server = serve(&folder);
    assert_eq!(server.expect("dir2mcp.search", json!({ "query": "pelican" }))["hits"], json!([]));
    let opened = server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "keys.docx" }));
    assert_eq!(opened.code(), Some("FORBIDDEN"));
}

/// One bad file costs one document: whatever the bytes, each file is indexed or skipped with a reason.
#[test]
fn damaged_documents_have_a_reason_each() {
    let folder = Folder::empty();
    folder.write("plain.md", "The otter swims.\n");
    let sources = [("pdf", pdf(&["one", "two", "three"])), ("docx", docx(&["one", "two"]))];
    let mut count = 1;
    for (ending, bytes) in &sources {
        for (number, cut) in (0..bytes.len()).step_by(bytes.len() / 40).enumerate() {
            folder.write(&format!("cut/{number}.{ending}"), &bytes[..cut]);
            let mut flipped = bytes.clone();
            flipped[cut] ^= 0x55;
            folder.write(&format!("flipped/{number}.{ending}"), &flipped);
            count += 2;
        }
        folder.write(&format!("wrong.{}", if *ending == "pdf" { "docx" } else { "pdf" }), bytes);
        count += 1;
    }
    folder.write("cycle.pdf", b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [2 0 R] /Count 1 >> endobj\ntrailer << /Root 1 0 R >>\n".as_slice());
    let deep = format!("<w:document>{}</w:document>", "<w:p>".repeat(50_000));
    folder.write("deep.docx", zip(&[("[Content_Types].xml", "<Types/>"), ("word/document.xml", &deep)]));
    count += 2;
    let server = serve(&folder);
    assert_eq!(
        server.expect("dir2mcp.search", json!({ "query": "otter" }))["hits"][0]["rel_path"],
        "plain.md"
    );
    let listed = server.expect("dir2mcp.list_files", json!({ "limit": 500 }));
    let files = listed["files"].as_array().unwrap();
    assert_eq!(files.len(), count);
    assert!(files.iter().all(|file| file["status"] == "ok" || file["status"] == "skipped"), "{listed}");
    assert_eq!(
        program(&folder)
            .run(&["status", "--skipped"])
            .expect(0)
            .stdout
            .lines()
            .filter(|line| line.contains("skipped"))
            .count(),
        files.iter().filter(|file| file["status"] == "skipped").count()
    );
    let whole = files.iter().filter(|file| file["status"] == "ok").count();
    assert!(whole > 40, "most damage leaves text that can be read: {whole} of {count}");
}
