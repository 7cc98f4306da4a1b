//! Archives: what is given, what is left out, and what is refused.

use std::ops::ControlFlow;

use extract::Limits;
use extract::archive::{Entry, MemberSkip, Mode, Walked, member, members};
use model::SkipReason;

use crate::build::{File, end_zip, file, gzip, tar, tar_entry, zip};

fn walk_within(name: &str, bytes: &[u8], mode: Mode, limits: &Limits) -> (Vec<String>, Walked) {
    let format = extract::sniff(name, bytes).unwrap();
    let mut found = Vec::new();
    let mut visit = |entry: Entry| {
        found.push(match entry {
            Entry::Member { path, bytes } => format!("{path} = {}", String::from_utf8_lossy(&bytes)),
            Entry::Archive { path, opened } => format!("{path} archive {opened}"),
            Entry::Skipped { name, reason } => format!("{name} skipped: {reason}"),
        });
        ControlFlow::Continue(())
    };
    let walked = members(format, name, bytes, limits, mode, &mut visit);
    (found, walked)
}

fn walk(name: &str, bytes: &[u8], mode: Mode) -> (Vec<String>, Walked) {
    walk_within(name, bytes, mode, &Limits::default())
}

fn refused(walked: &Walked) -> String {
    match &walked.refused {
        Some(reason @ SkipReason::Refused { .. }) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn d183_names_are_checked() {
    let long = "x".repeat(5000);
    let names = [
        "ok/a.txt",
        "../../etc/passwd",
        "/etc/passwd",
        "C:\\x",
        "\\\\host\\share",
        "a/../b",
        "sub\\c.txt",
        "",
        &long,
    ];
    let files: Vec<File> = names.iter().map(|name| file(name, "x")).collect();
    let (found, walked) = walk("a.zip", &zip(&files), Mode::Shallow);
    assert_eq!(walked.refused, None);
    let given: Vec<&String> = found.iter().filter(|line| line.contains(" = ")).collect();
    assert_eq!(given, ["ok/a.txt = x", "sub/c.txt = x"]);
    assert_eq!(found.iter().filter(|line| line.contains("leaves the archive")).count(), 2);
    assert_eq!(found.iter().filter(|line| line.contains("absolute")).count(), 3);
}

#[test]
fn links_and_devices_are_never_followed() {
    let mut link = file("link", "/etc/passwd");
    link.mode = 0o120_777;
    let (found, _) = walk("a.zip", &zip(&[link, file("b", "b")]), Mode::Shallow);
    assert!(found[0].contains("a link") && found[1] == "b = b", "{found:?}");
    let bytes = tar(&[
        ("l", b'2', b""),
        ("h", b'1', b""),
        ("d", b'3', b""),
        ("p", b'6', b""),
        ("dir/", b'5', b""),
        ("f", b'0', b"text"),
    ]);
    let (found, _) = walk("a.tar", &bytes, Mode::Shallow);
    assert_eq!(found.iter().filter(|line| line.contains("skipped")).count(), 4);
    assert_eq!(found.last().unwrap(), "f = text");
}

#[test]
fn d092_all_containers_give_the_same() {
    let plain = tar(&[("a/b.txt", b'0', b"hello")]);
    let wanted = vec!["a/b.txt = hello".to_owned()];
    assert_eq!(walk("x.tar", &plain, Mode::Deep).0, wanted);
    assert_eq!(walk("x.tar.gz", &gzip(&plain), Mode::Deep).0, wanted);
    assert_eq!(walk("x.tar.zst", &zstd::encode_all(plain.as_slice(), 3).unwrap(), Mode::Deep).0, wanted);
    assert_eq!(walk("x.zip", &zip(&[file("a/b.txt", "hello")]), Mode::Deep).0, wanted);
    assert_eq!(walk("dir/notes.txt.gz", &gzip(b"hello"), Mode::Deep).0, ["notes.txt = hello"]);
}

#[test]
fn long_names_of_tar() {
    let long = format!("deep/{}.txt", "n".repeat(150));
    let pax = format!("{} path={long}\n", long.len() + 10);
    let mut bytes = Vec::new();
    tar_entry(&mut bytes, "pax", b'x', pax.as_bytes(), pax.len() as u64);
    tar_entry(&mut bytes, "short", b'0', b"1", 1);
    tar_entry(&mut bytes, "././@LongLink", b'L', long.as_bytes(), long.len() as u64);
    tar_entry(&mut bytes, "short", b'0', b"2", 1);
    let (found, _) = walk("a.tar", &bytes, Mode::Shallow);
    assert_eq!(found, [format!("{long} = 1"), format!("{long} (2) = 2")]);
}

#[test]
fn archives_in_archives() {
    let inner = zip(&[file("notes.txt", "inner")]);
    let outer = zip(&[file("in.zip", inner), file("a.txt", "a")]);
    assert_eq!(walk("o.zip", &outer, Mode::Shallow).0, ["in.zip archive false", "a.txt = a"]);
    assert_eq!(
        walk("o.zip", &outer, Mode::Deep).0,
        ["in.zip archive true", "in.zip/notes.txt = inner", "a.txt = a"]
    );
    let format = extract::sniff("o.zip", &outer).unwrap();
    let found = member(format, "o.zip", &outer, "in.zip/notes.txt", &Limits::default());
    assert_eq!(found.as_deref(), Some(b"inner".as_slice()));
    assert_eq!(member(format, "o.zip", &outer, "../a.txt", &Limits::default()), None);
    // A document that is a zip is a document.
    let word = crate::build::docx("<w:p/>");
    assert!(walk("o.zip", &zip(&[file("a.docx", word)]), Mode::Deep).0[0].starts_with("a.docx = "));
}

#[test]
fn depth_and_counts_are_bounded() {
    let mut bytes = zip(&[file("leaf.txt", "leaf")]);
    for level in 0..1000 {
        let mut outer = file(&format!("{level}.zip"), bytes);
        outer.packed = level % 2 == 0;
        bytes = zip(&[outer]);
    }
    let (found, walked) = walk("deep.zip", &bytes, Mode::Deep);
    assert!(found.len() <= 5 && found.last().unwrap().ends_with("archive false"), "{found:?} {walked:?}");

    let many: Vec<File> = (0..300).map(|index| file(&format!("{index}"), "x")).collect();
    let limits = Limits { max_members: 100, ..Limits::default() };
    assert!(refused(&walk_within("m.zip", &zip(&many), Mode::Deep, &limits).1).contains("members"));
}

#[test]
fn bombs_are_refused_before_anything_is_given() {
    // 300 MB of zeros, as the directory says and as it does not say.
    let zeros = vec![0u8; 64 << 20];
    let (found, walked) = walk("b.zip", &zip(&[file("a.txt", "a"), file("z", zeros.clone())]), Mode::Deep);
    assert!(found.is_empty() && refused(&walked).contains("packed"), "{walked:?}");
    let mut liar = file("z", zeros.clone());
    liar.claimed_size = Some(10);
    let (_, walked) = walk("b.zip", &zip(&[liar]), Mode::Deep);
    refused(&walked);
    refused(&walk("b.gz", &gzip(&zeros), Mode::Deep).1);
    // In an archive in an archive.
    let inner = zip(&[file("z", zeros)]);
    refused(&walk("b.zip", &zip(&[file("in.zip", inner)]), Mode::Deep).1);
}

#[test]
fn members_that_share_their_bytes_are_refused() {
    let body = crate::build::deflate(&vec![b'a'; 100_000]);
    let mut out = Vec::new();
    out.extend(b"PK\x03\x04\x14\0\0\0\x08\0\0\0\x21\0\0\0\0\0");
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(100_000u32.to_le_bytes());
    out.extend([1, 0, 0, 0, b'a']);
    out.extend(&body);
    let mut directory = Vec::new();
    for index in 0..200u8 {
        directory.extend(b"PK\x01\x02\x14\x03\x14\0\0\0\x08\0\0\0\x21\0\0\0\0\0");
        directory.extend((body.len() as u32).to_le_bytes());
        directory.extend(100_000u32.to_le_bytes());
        directory.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, index]);
    }
    end_zip(&mut out, &directory, 200);
    assert!(refused(&walk("o.zip", &out, Mode::Deep).1).contains("share"));
}

#[test]
fn damaged_archives_give_what_they_can() {
    let bytes = zip(&[file("a.txt", "first"), file("b.txt", "second")]);
    // Without its directory.
    let end = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let (found, _) = walk("a.zip", &bytes[..end], Mode::Deep);
    assert_eq!(found, ["a.txt = first", "b.txt = second"]);
    let bytes = tar(&[("a", b'0', b"first"), ("b", b'0', b"second")]);
    let (found, _) = walk("a.tar", &bytes[..1500], Mode::Deep);
    assert_eq!(found[0], "a = first");
    let mut sparse = Vec::new();
    tar_entry(&mut sparse, "huge", b'0', b"x", 0o77_777_777_777);
    let (found, _) = walk("s.tar", &sparse, Mode::Deep);
    assert!(found[0].contains("skipped"), "{found:?}");
}

#[test]
fn collisions_and_strange_names_are_kept_apart() {
    let names = ["a", "a", "A", "e\u{301}", "\u{e9}", "x\u{202e}y\u{1b}[31m\n", "CON", "a:b"];
    let files: Vec<File> = names.iter().map(|name| file(name, "x")).collect();
    let (found, _) = walk("n.zip", &zip(&files), Mode::Deep);
    assert_eq!(found.len(), 8);
    assert_eq!(found[1], "a (2) = x");
    assert!(found.iter().all(|line| !line.contains(['\u{1b}', '\u{202e}', '\n'])), "{found:?}");
    assert_eq!(MemberSkip::Link.to_string(), "it is a link, and links in archives are never followed");
}
