//! Several texts of one document, and what was extracted from it, kept until its document is gone.

use index::{DocChange, Index};
use model::{ChunkId, RepType};

use crate::support::{State, apply, delete, hash, lexical, paths, produced, put, representation};

const TEXT: &str = "alpha of page one\n\nbeta of page two\n\ngamma of page three";
const PRODUCER: &str = "extract-1";

fn kept(index: &Index, content: &str) -> Option<String> {
    index.produced_text(&hash(content), PRODUCER).unwrap()
}

/// A document with a text layer, and with a second text that is recognised in its pictures.
fn with_two_texts(path: &str, layer: &str, recognised: &str) -> DocChange {
    let mut second = put(path, recognised);
    let second = representation(&mut second);
    second.rep_type = RepType::OcrMarkdown;
    for chunk in &mut second.chunks {
        chunk.id = ChunkId(chunk.id.0 ^ 1);
        chunk.ordinal += 100;
    }
    let mut change = put(path, layer);
    let DocChange::Put { representations, .. } = &mut change else { unreachable!() };
    representations.push(second.clone());
    change
}

#[test]
fn a_document_may_have_several_texts() {
    let state = State::new();
    let index = state.writer();
    let first = apply(&index, vec![with_two_texts("a.pdf", "alpha", "beta\n\ngamma")]);
    assert_eq!((first.reps, first.chunks_added), (2, 3));
    index.publish().unwrap();
    for word in ["alpha", "beta", "gamma"] {
        assert_eq!(paths(&lexical(&index.snapshot(), word, None)), ["a.pdf"], "{word}");
    }
    assert_eq!(index.counts().unwrap().representations, 2);
    let second = apply(&index, vec![with_two_texts("a.pdf", "alpha", "beta\n\ndelta")]);
    assert_eq!((second.reps, second.chunks_added, second.chunks_removed), (1, 1, 1), "the other one stays");
    let only = apply(&index, vec![put("a.pdf", "alpha")]);
    assert_eq!((only.reps, only.chunks_added, only.chunks_removed), (0, 0, 2));
    index.publish().unwrap();
    assert!(lexical(&index.snapshot(), "beta delta", None).is_empty());
}

#[test]
fn what_was_extracted_is_kept_by_its_content() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![produced("a.pdf", TEXT, PRODUCER), put("b.md", "plain")]);
    let text = format!("[\"a\"]\n{TEXT}");
    assert_eq!(kept(&index, TEXT), Some(text.clone()));
    assert_eq!(kept(&index, "plain"), None);
    assert_eq!(index.produced_text(&hash(TEXT), "extract-2").unwrap(), None, "another producer");
    assert_eq!(kept(&state.reader(), TEXT), Some(text.clone()), "readers open it too");
    // The chunks hold the text; the row holds the rest.
    let bytes: i64 =
        state.sql().query_row("SELECT length(packed) FROM produced_texts", [], |row| row.get(0)).unwrap();
    assert!(bytes < 80, "{bytes}");
    // A copy has the same content; when the first is gone, the text is still there.
    apply(&index, vec![produced("copy.pdf", TEXT, PRODUCER), delete("a.pdf")]);
    assert_eq!(kept(&index, TEXT), Some(text));
}

#[test]
fn it_goes_with_its_document() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![produced("a.pdf", TEXT, PRODUCER)]);
    apply(&index, vec![delete("a.pdf")]);
    assert!(kept(&index, TEXT).is_some(), "a file that was moved is met under its new name a moment later");
    index.publish().unwrap();
    index.compact().unwrap();
    assert_eq!(kept(&index, TEXT), None);
    let rows: i64 =
        state.sql().query_row("SELECT count(*) FROM produced_texts", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn another_content_has_another_text() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![produced("a.pdf", TEXT, PRODUCER)]);
    let changed = TEXT.replace("beta", "delta");
    apply(&index, vec![produced("a.pdf", &changed, PRODUCER)]);
    assert_eq!(kept(&index, TEXT), None);
    assert_eq!(kept(&index, &changed), Some(format!("[\"a\"]\n{changed}")));
    // As plain text it needs no copy.
    apply(&index, vec![put("a.pdf", &changed)]);
    assert_eq!(kept(&index, &changed), None);
}

/// The same bytes of text from other bytes of a file: a PDF that was saved again.
#[test]
fn the_same_text_of_another_content_is_found_by_that_one() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![produced("a.pdf", TEXT, PRODUCER)]);
    let mut saved_again = produced("a.pdf", TEXT, PRODUCER);
    if let DocChange::Put { document, .. } = &mut saved_again {
        document.content_hash = Some(hash("other bytes"));
    }
    assert_eq!(apply(&index, vec![saved_again]).reps, 0);
    assert_eq!(kept(&index, TEXT), None);
    assert!(kept(&index, "other bytes").is_some());
}

#[test]
fn what_cannot_be_put_together_is_not_there() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![produced("a.pdf", TEXT, PRODUCER)]);
    state.beside().execute_batch("UPDATE chunks SET deleted = 1 WHERE ordinal = 1").unwrap();
    assert_eq!(kept(&index, TEXT), None);
    state.beside().execute_batch("UPDATE produced_texts SET packed = x'00'").unwrap();
    assert_eq!(kept(&index, TEXT), None);
}
