//! A folder of hostile and odd documents: each is indexed or has a reason, the server answers throughout, and nothing gets
//! out.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;
use testkit::build::{
    File, end_zip, epub, file, gzip, odf, pages, paragraphs, pdf, rows, slides, stream, tar, tar_entry,
    text_pages, xlsx, zip, zlib,
};
use testkit::{Client, Folder, Random};

use super::program;

/// The server and the processes that read for it, together.
const MOST_MEMORY: u64 = 1 << 30;

/// Sound documents, to be damaged.
fn sound() -> Vec<(&'static str, Vec<u8>)> {
    let words = "The keeper of the lighthouse writes a line each night. ".repeat(12);
    let page = format!("<!DOCTYPE html><html><body><h1>Log</h1><p>{words}</p></body></html>");
    let tarred = tar(&[("a.txt", b'0', b"alpha"), ("b/c.md", b'0', b"# Beta\n\ngamma\n")]);
    vec![
        ("pdf", text_pages(&["one", "two", "three"])),
        ("docx", paragraphs(&["one", "two"])),
        ("pptx", slides(&["one", "two"], "note")),
        ("xlsx", rows(&["one", "two", "three"])),
        ("odt", odf("text", "<text:h>Head</text:h><text:p>body</text:p>")),
        ("ods", odf("spreadsheet", "<table:table table:name='S'><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>")),
        ("epub", epub(&["first", "second"])),
        ("rtf", br"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\pard Caf\'e9 \u8211? dash\par \trowd\intbl one\cell\row}".to_vec()),
        ("html", page.into_bytes()),
        ("eml", b"From: a@example.org\nSubject: =?utf-8?q?caf=C3=A9?=\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nhello\n--x\nContent-Transfer-Encoding: base64\n\naGVsbG8gd29ybGQ=\n--x--\n".to_vec()),
        ("ipynb", br#"{"cells":[{"cell_type":"markdown","source":["x = 1"]},{"cell_type":"code","source":"y","outputs":[{"text":["z"]}]}]}"#.to_vec()),
        ("srt", b"1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:03,000 --> 00:00:04,000\nThere\n".to_vec()),
        ("zip", zip(&[file("a.txt", "alpha"), file("b/c.md", "# Beta\n\ngamma\n"), file("d.pdf", text_pages(&["delta"]))])),
        ("tar", tarred.clone()),
        ("tar.gz", gzip(&tarred)),
        ("tar.zst", zstd::encode_all(tarred.as_slice(), 3).unwrap()),
    ]
}

/// Files that were made to harm.
fn hostile() -> Vec<(String, Vec<u8>)> {
    let zeros = vec![0u8; 64 << 20];
    let laughs = {
        let mut dtd = String::from("<?xml version='1.0'?><!DOCTYPE l [<!ENTITY a0 'ha'>");
        for n in 1..12 {
            let before = format!("&a{};", n - 1).repeat(10);
            dtd += &format!("<!ENTITY a{n} '{before}'>");
        }
        dtd + "]><w:document><w:body><w:p><w:r><w:t>&a11;</w:t></w:r></w:p></w:body></w:document>"
    };
    let outside = "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>\
                   <w:document><w:body><w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:body></w:document>";
    let word = |document: String| {
        zip(&[file("[Content_Types].xml", "<Types/>"), file("word/document.xml", document)])
    };
    let mut nested = zip(&[file("core.txt", "the core")]);
    for _ in 0..1000 {
        nested = zip(&[file("n.zip", nested)]);
    }
    let mut packed = b"the core".to_vec();
    for _ in 0..200 {
        packed = gzip(&packed);
    }
    let mut overlap = Vec::new();
    let body = testkit::build::deflate(&vec![b'a'; 1 << 20]);
    {
        // Two thousand members, one body.
        let mut common = Vec::new();
        for short in [20u16, 0, 8, 0, 0x21] {
            common.extend(short.to_le_bytes());
        }
        for long in [0u32, body.len() as u32, 1 << 20] {
            common.extend(long.to_le_bytes());
        }
        common.extend([5, 0, 0, 0]);
        overlap.extend(b"PK\x03\x04");
        overlap.extend(&common);
        overlap.extend(b"a.txt");
        overlap.extend(&body);
        let mut directory = Vec::new();
        for _ in 0..2000 {
            directory.extend(b"PK\x01\x02\x14\x03");
            directory.extend(&common);
            directory.extend([0; 10]);
            directory.extend(0u32.to_le_bytes());
            directory.extend(b"a.txt");
        }
        end_zip(&mut overlap, &directory, 2000);
    }
    let mut leaf = zip(&[file("0.txt", zeros.as_slice())]);
    for _ in 0..4 {
        let copies: Vec<File> = (0..10).map(|n| file(&format!("{n}.zip"), leaf.clone())).collect();
        leaf = zip(&copies);
    }
    let mut liar = file("a.txt", "x");
    liar.claimed_size = Some(u32::MAX - 1);
    let mut huge_tar = Vec::new();
    tar_entry(&mut huge_tar, "huge.bin", b'0', b"", (8 << 30) - 1);
    let deep =
        |open: &str, close: &str, times: usize| format!("{}x{}", open.repeat(times), close.repeat(times));
    let objects = |all: &[&str]| pdf(&all.iter().map(|object| object.as_bytes()).collect::<Vec<_>>(), "");
    let bomb_page = {
        let content = zlib(&zlib(&zeros));
        let objects: Vec<Vec<u8>> = vec![
            b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
            b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/MediaBox[0 0 9 9]>>".to_vec(),
            stream("/Filter[/FlateDecode/FlateDecode]", &content),
        ];
        pdf(&objects.iter().map(Vec::as_slice).collect::<Vec<_>>(), "")
    };
    let form = {
        let content = stream("", b"/F Do");
        let own = stream(
            "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F 5 0 R>>>>",
            b"/F Do /F Do",
        );
        let objects: Vec<Vec<u8>> = vec![
            b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
            b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</F 5 0 R>>>>>>"
                .to_vec(),
            content,
            own,
        ];
        pdf(&objects.iter().map(Vec::as_slice).collect::<Vec<_>>(), "")
    };
    let many: Vec<File> = (0..25_000).map(|n| file(&format!("{n}"), "")).collect();
    let slip: Vec<File> = [
        "../../../../tmp/escape.txt",
        "/tmp/escape.txt",
        "..\\..\\escape.txt",
        "C:\\escape.txt",
        "a/../../escape.txt",
    ]
    .iter()
    .map(|name| file(name, "escaped"))
    .collect();
    let mut link = file("passwd", "/etc/passwd");
    link.mode = 0o120_777;
    let all: Vec<(&str, Vec<u8>)> = vec![
        ("laughs.docx", word(laughs.clone())),
        ("laughs.odt", zip(&[file("mimetype", "application/vnd.oasis.opendocument.text"), file("content.xml", laughs)])),
        ("xxe.docx", word(outside.to_owned())),
        ("xxe.svg", outside.into()),
        ("deep.docx", word(deep("<w:p>", "</w:p>", 200_000))),
        ("deep.odt", odf("text", &deep("<text:span>", "</text:span>", 100_000))),
        ("deep.html", format!("<!DOCTYPE html><html><body>{}", deep("<div>word ", "</div>", 100_000)).into()),
        ("deep.rtf", format!("{{\\rtf1 {}}}", deep("{", "}", 300_000)).into()),
        ("deep.ipynb", deep("[", "]", 100_000).into()),
        ("deep.json", deep("[", "]", 100_000).into()),
        ("deep.pdf", objects(&["<</Type/Catalog/Pages 2 0 R>>", &deep("[", "]", 200_000)])),
        ("nested.zip", nested),
        ("packed.gz", packed),
        ("overlap.zip", overlap),
        ("forest.zip", leaf),
        ("zeros.zip", zip(&[file("zeros.txt", zeros.as_slice())])),
        ("zeros.gz", gzip(&zeros)),
        ("zeros.tar.zst", zstd::encode_all(zeros.as_slice(), 3).unwrap()),
        ("zeros.docx", word(String::from_utf8(vec![b' '; 64 << 20]).unwrap())),
        ("liar.zip", zip(&[liar])),
        ("huge.tar", huge_tar),
        ("many.zip", zip(&many)),
        ("slip.zip", zip(&slip)),
        ("slip.tar", tar(&[("../../escape.txt", b'0', b"escaped"), ("/tmp/escape.txt", b'0', b"escaped")])),
        ("link.zip", zip(&[link, file("b.txt", "beta")])),
        ("links.tar", tar(&[("a", b'2', b""), ("b", b'1', b""), ("c", b'3', b""), ("d", b'6', b"")])),
        ("dimension.xlsx", xlsx("<dimension ref='A1:XFD1048576'/><sheetData><row r='1048576'><c r='XFD1048576'><v>1</v></c></row></sheetData>", &[])),
        ("cells.ods", odf("spreadsheet", "<table:table table:name='S'><table:table-row table:number-rows-repeated='1048576'><table:table-cell table:number-columns-repeated='16384'><text:p>x</text:p></table:table-cell></table:table-row></table:table>")),
        ("strings.xlsx", xlsx("<sheetData><row r='1'><c r='A1' t='s'><v>99999999999</v></c></row></sheetData>", &["a"])),
        ("cycle.pdf", objects(&["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R]/Count 9>>"])),
        ("itself.pdf", objects(&["1 0 R", "2 0 R"])),
        ("kids.pdf", objects(&["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 3 0 R]/Count 2147483647>>", "<</Type/Pages/Kids[2 0 R 3 0 R]>>"])),
        ("prev.pdf", b"%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer <</Size 1/Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF".to_vec()),
        ("length.pdf", b"%PDF-1.4\n1 0 obj <</Length 99999999999999>> stream\nx\nendstream endobj\ntrailer <</Root 1 0 R>>".to_vec()),
        ("form.pdf", form),
        ("bomb.pdf", bomb_page),
        ("operators.pdf", pages(&[&"q ".repeat(500_000), &"((((".repeat(100_000)])),
        ("locked.pdf", pdf(&[b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 0>>", b"<</Filter/Standard/V 2/R 3/O(x)/U(y)/P -4/Length 128>>"], "/Encrypt 3 0 R/ID[(a)(b)]")),
        ("office.doc", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec()),
        ("loop.xls", [b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec(), vec![0; 2048]].concat()),
        ("empty.pdf", Vec::new()),
        ("empty.docx", Vec::new()),
        ("empty.zip", Vec::new()),
        ("empty.tar.gz", Vec::new()),
        ("nothing.zip", zip(&[])),
        ("really-a-pdf.docx", text_pages(&["wrong name"])),
        ("really-a-zip.pdf", zip(&[file("a.txt", "alpha")])),
        ("really-a-zip.docx", zip(&[file("a.txt", "alpha")])),
        ("really-text.pdf", b"just a text".to_vec()),
        ("really-text.xlsx", b"just a text".to_vec()),
        ("really-docx.txt", paragraphs(&["wrong name"])),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR\x7F\xFF\xFF\xFF\x7F\xFF\xFF\xFF\x08\x06\0\0\0".to_vec()),
        ("mail.eml", format!("Content-Type: multipart/mixed; boundary=a\n\n{}", "--a\nContent-Type: multipart/mixed; boundary=a\n\n".repeat(5000)).into()),
        ("mail.mbox", "From a\n\n".repeat(100_000).into()),
        ("cues.srt", "1\n99999999:00:00,000 --> 00:00:00,000\n\n".repeat(50_000).into()),
    ];
    all.into_iter().map(|(name, bytes)| (format!("hostile/{name}"), bytes)).collect()
}

/// Resident bytes of a process and of the processes it started.
fn memory(id: u32) -> u64 {
    let resident = |id: u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB").to_owned();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
    };
    let mut children = BTreeSet::new();
    for thread in std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten() {
        let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(list.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    resident(id) + children.into_iter().map(resident).sum::<u64>()
}

/// Every file below a directory with its size, the state directory left out.
fn tree(top: &Path) -> BTreeSet<(String, u64)> {
    let mut found = BTreeSet::new();
    let mut todo = vec![top.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.file_name().is_some_and(|name| name == ".dir2mcp") {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                todo.push(path);
            } else {
                found.insert((path.to_string_lossy().into_owned(), entry.metadata().unwrap().len()));
            }
        }
    }
    found
}

#[test]
fn hundreds_of_hostile_documents_cost_themselves_only() {
    let folder = Folder::empty();
    folder.write("plain.md", "The otter swims.\n");
    let mut random = Random::new(7);
    let mut count = 1;
    for (ending, bytes) in sound() {
        for number in 0..18 {
            // Cut at places over the whole length, the last bytes included, and changed at any.
            let cut = bytes.len() * number / 18 + random.below(bytes.len() / 18 + 1);
            folder.write(&format!("cut/{number}.{ending}"), &bytes[..cut.min(bytes.len() - 1)]);
            let mut flipped = bytes.clone();
            for _ in 0..=number / 6 {
                let at = random.below(flipped.len());
                flipped[at] ^= 1 << random.below(8);
            }
            folder.write(&format!("flipped/{number}.{ending}"), &flipped);
            count += 2;
        }
    }
    for (name, bytes) in hostile() {
        folder.write(&name, bytes);
        count += 1;
    }
    assert!(count > 500, "{count}");
    let before = (tree(folder.path()), tree(folder.outside()));
    let server = program(&folder).serve(&[]);
    let mut most = 0;
    server.poll("the scan of hostile documents", |client| {
        most = most.max(memory(server.id()));
        // It answers while it reads them.
        let stats = client.expect("dir2mcp.stats", json!({}));
        let answer = client.expect("dir2mcp.search", json!({ "query": "otter", "k": 1 }));
        (stats["indexing"]["running"] == false && answer["indexing_complete"] == true).then_some(())
    });
    assert!(most < MOST_MEMORY, "{} MB", most >> 20);
    let found = server.expect("dir2mcp.search", json!({ "query": "otter" }));
    assert_eq!(found["hits"][0]["rel_path"], "plain.md");
    let mut rows = Vec::new();
    loop {
        let page = server.expect("dir2mcp.list_files", json!({ "limit": 5000, "offset": rows.len() }));
        let files = page["files"].as_array().unwrap();
        rows.extend(
            files.iter().map(|row| (row["rel_path"].as_str().unwrap().to_owned(), row["status"].clone())),
        );
        if files.is_empty() || rows.len() as u64 >= page["total"].as_u64().unwrap() {
            break;
        }
    }
    for (path, _) in tree(folder.path()) {
        let path = Path::new(&path).strip_prefix(folder.path()).unwrap().to_string_lossy().into_owned();
        let status = rows.iter().find(|(row, _)| *row == path).map(|(_, status)| status);
        assert!(status.is_some(), "{path} has no row");
    }
    let skipped = program(&folder).json(&["--json", "status", "--skipped"]);
    let reasons = skipped["files"].as_array().unwrap();
    let without: Vec<_> =
        reasons.iter().filter(|row| row["reason"].as_str().is_none_or(str::is_empty)).collect();
    assert!(without.is_empty(), "{without:?}");
    assert_eq!(reasons.len(), rows.iter().filter(|(_, status)| status != "ok").count());
    let shown = format!("{reasons:?}{found}");
    assert!(!shown.contains("root:x:0"), "no file of the system is shown");
    // Nothing written but the state; nothing escaped from an archive.
    assert_eq!((tree(folder.path()), tree(folder.outside())), before);
    assert!(!Path::new("/tmp/escape.txt").exists());
}
