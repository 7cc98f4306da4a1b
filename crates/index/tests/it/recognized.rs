//! Texts that are made outside and kept for good, and the documents that wait for one.

use index::{BoughtKind, BoughtPart, DocChange, Index, IndexError};
use model::{Capability, DocStatus, DocType, SkipReason, UnreadParts};

use crate::support::{State, apply, delete, hash, put};

const OCR: BoughtKind = BoughtKind::Read(Capability::Ocr);

fn part(producer: &str, part: u32, text: &str) -> BoughtPart {
    BoughtPart { producer: producer.to_owned(), part, text: text.to_owned() }
}

fn keep(index: &Index, content: &str, parts: &[BoughtPart]) {
    index.keep_parts("a.png", &hash(content), OCR, parts).unwrap();
}

fn kept(index: &Index, content: &str) -> Vec<BoughtPart> {
    index.bought_parts(&hash(content), OCR).unwrap()
}

/// A document with nothing but unread parts.
fn waiting(path: &str, content: &str, unread: UnreadParts) -> DocChange {
    let DocChange::Put { mut document, .. } = put(path, content) else { unreachable!() };
    let needs = unread.capability();
    document.doc_type = if needs == Capability::Stt { DocType::Audio } else { DocType::Pdf };
    document.reason = Some(SkipReason::Waiting { doc_type: document.doc_type.to_string(), needs });
    document.unread = Some(unread);
    DocChange::Put { document, representations: Vec::new() }
}

fn listed(index: &Index, capability: Capability, producer: &str) -> Vec<(String, Option<UnreadParts>)> {
    let rows = index.unread_documents(capability, producer, 10).unwrap();
    rows.into_iter().map(|row| (row.document.path.clone(), row.document.unread.clone())).collect()
}

#[test]
fn parts_are_kept_by_content_and_the_last_one_made_counts() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.png", "one"), put("b.png", "two")]);
    keep(&index, "one", &[part("m", 2, "second"), part("m", 1, "first")]);
    keep(&index, "one", &[part("n", 2, "second, by another model")]);
    let now = [part("m", 1, "first"), part("n", 2, "second, by another model")];
    assert_eq!(kept(&index, "one"), now);
    keep(&index, "one", &[part("m", 2, "and by the first one again")]);
    assert_eq!(kept(&index, "one")[1].text, "and by the first one again");
    assert!(kept(&index, "two").is_empty());
    assert!(index.bought_parts(&hash("one"), BoughtKind::Annotation).unwrap().is_empty());
    drop(index);
    assert_eq!(kept(&state.writer(), "one").len(), 2, "in the next process too");
    assert_eq!(kept(&state.reader(), "one").len(), 2, "and for readers");
}

#[test]
fn parts_go_when_no_document_has_their_content() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.png", "one"), put("copy.png", "one"), put("b.png", "two")]);
    for content in ["one", "two"] {
        keep(&index, content, &[part("m", 1, "text")]);
    }
    apply(&index, vec![delete("a.png")]);
    index.compact().unwrap();
    assert_eq!(kept(&index, "one").len(), 1, "a copy still has it");
    apply(&index, vec![delete("copy.png"), put("b.png", "three")]);
    index.compact().unwrap();
    assert_eq!((kept(&index, "one").len(), kept(&index, "two").len()), (0, 0));
}

#[test]
fn a_file_that_cannot_be_read_for_a_while_keeps_its_parts() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.png", "one"), put("b.png", "two")]);
    keep(&index, "one", &[part("m", 1, "text")]);
    let mut away = crate::support::unread("a.png");
    if let DocChange::Put { document, .. } = &mut away {
        document.content_hash = None;
    }
    apply(&index, vec![away, delete("b.png")]);
    index.compact().unwrap();
    assert_eq!(kept(&index, "one").len(), 1);
}

#[test]
fn another_index_takes_over_what_is_kept() {
    let state = State::new();
    let index = state.writer();
    keep(&index, "one", &[part("m", 1, "first"), part("m", 2, "second")]);
    let other = State::new();
    let rebuilt = other.writer();
    let last = rebuilt.adopt_parts(&index, 0, &[]).unwrap();
    assert_eq!(kept(&rebuilt, "one"), kept(&index, "one"));
    keep(&index, "one", &[part("m", 3, "third")]);
    assert!(rebuilt.adopt_parts(&index, last, &[]).unwrap() > last);
    assert_eq!(kept(&rebuilt, "one").len(), 3);
    let unread = State::new();
    unread.writer().adopt_parts(&index, 0, &[Capability::Ocr]).unwrap();
    assert_eq!(kept(&unread.writer(), "one"), [], "it is to be read again");
    index.retire();
    let late = index.keep_parts("a.png", &hash("one"), OCR, &[part("m", 4, "late")]);
    assert!(matches!(late, Err(IndexError::ReadOnly)));
}

#[test]
fn unread_documents_come_in_the_order_of_their_work() {
    let state = State::new();
    let index = state.writer();
    apply(
        &index,
        vec![
            waiting("long.pdf", "1", UnreadParts::Pages((1..=40).collect())),
            waiting("photo.png", "2", UnreadParts::Pages(vec![1])),
            waiting("mixed.pdf", "3", UnreadParts::Pages(vec![2, 3, 7])),
            waiting("talk.wav", "4", UnreadParts::Speech),
            put("notes.md", "5"),
        ],
    );
    let paths: Vec<_> = listed(&index, Capability::Ocr, "m").into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["photo.png", "mixed.pdf", "long.pdf"]);
    assert_eq!(listed(&index, Capability::Ocr, "m")[1].1, Some(UnreadParts::Pages(vec![2, 3, 7])));
    assert_eq!(listed(&index, Capability::Stt, "m"), [("talk.wav".to_owned(), Some(UnreadParts::Speech))]);
    assert_eq!(index.unread_count(Capability::Ocr).unwrap(), (3, 44));
    apply(&index, vec![put("photo.png", "2"), delete("mixed.pdf")]);
    assert_eq!(index.unread_count(Capability::Ocr).unwrap(), (1, 40), "read, and gone");
}

#[test]
fn d102_a_refusal_is_noted_with_its_producer() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![waiting("a.png", "one", UnreadParts::Pages(vec![1]))]);
    let why = SkipReason::NotRecognized {
        needs: Capability::Ocr,
        provider: "p".to_owned(),
        detail: "too dark".to_owned(),
    };
    assert!(!index.refuse_unread("a.png", &hash("another content"), "p/m", &why).unwrap());
    assert!(index.refuse_unread("a.png", &hash("one"), "p/m", &why).unwrap());
    let row = index.document("a.png").unwrap().unwrap();
    assert_eq!((row.status, row.document.reason), (DocStatus::Error, Some(why)));
    assert!(listed(&index, Capability::Ocr, "p/m").is_empty());
    assert_eq!(listed(&index, Capability::Ocr, "p/another").len(), 1, "another model may read it");
    // The reason follows the providers that there are.
    let told = |index: &Index| index.document("a.png").unwrap().unwrap().document.reason.unwrap().to_string();
    let nobody = |doc_type: DocType, needs, _: Option<&str>| {
        Some(SkipReason::NoReader { doc_type: doc_type.to_string(), needs })
    };
    assert_eq!(index.retell_unread(&nobody).unwrap(), 1);
    assert!(told(&index).contains("extras add ocr"));
    assert_eq!(index.retell_unread(&nobody).unwrap(), 0, "nothing is written twice");
}
