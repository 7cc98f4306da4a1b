//! Words that are part of the request and not of its subject: "please show me all documents about".

use super::types::LINKS;
use super::word::Word;

pub(super) const REQUEST: &[&str] = &[
    "find", "show", "search", "look", "give", "get", "list", "please", "me", "us", "for", "need", "want",
    "i", "we", "looking", "can", "could", "you", "finde", "zeige", "zeig", "suche", "such", "gib", "mir",
    "uns", "bitte", "nach", "am", "i'm", "to", "see", "ich", "brauche", "welche", "which", "any",
];
pub(super) const DETERMINERS: &[&str] = &[
    "all", "any", "the", "my", "our", "some", "alle", "die", "der", "das", "meine", "unsere", "a", "an",
    "every",
];

/// Names of files in general.
const THINGS: &[&str] = &[
    "documents",
    "files",
    "docs",
    "document",
    "file",
    "dokumente",
    "dateien",
    "unterlagen",
    "anything",
    "everything",
    "something",
    "alles",
    "ones",
];

/// Takes everything that is left where it asks for files and names no word to look for: `all files`, `list everything`,
/// `which documents do I have`. Says whether it did.
pub(super) fn take_listing(words: &mut [Word]) -> bool {
    const HAVE: &[&str] = &[
        "have",
        "are",
        "there",
        "do",
        "exist",
        "in",
        "this",
        "that",
        "folder",
        "directory",
        "here",
        "of",
        "from",
        "is",
        "with",
        "only",
        "just",
        "nur",
        "und",
        "and",
        "or",
        "type",
        "types",
        "kind",
        "format",
        "every",
        "single",
        "gibt",
        "es",
        "aus",
        "von",
        "im",
        "ordner",
        "what",
        "haben",
        "wir",
        "hier",
    ];
    let filtered = words.iter().any(|word| word.taken);
    let left: Vec<&Word> = words.iter().filter(|word| !word.taken).collect();
    let asks = |word: &&Word| word.is(REQUEST) || word.is(DETERMINERS) || word.is(THINGS) || word.is(HAVE);
    let names_files = left.iter().any(|word| word.is(THINGS));
    if left.is_empty() || !left.iter().all(asks) || !(names_files || filtered) {
        return false;
    }
    // One word alone, such as `file`, is looked for.
    if !filtered && left.len() == 1 && !left[0].is(&["everything", "alles"]) {
        return false;
    }
    words.iter_mut().for_each(|word| word.taken = true);
    true
}

/// Words that only ask: `find me all documents about`, `zeige mir`. What is left must still say something.
pub(super) fn take_request(words: &mut [Word]) {
    const VERBS: &[&str] = &[
        "find", "show", "search", "look", "give", "get", "list", "finde", "zeige", "zeig", "suche", "gib",
        "please", "bitte",
    ];
    const AFTER: &[&str] = &[
        "me", "us", "for", "mir", "uns", "nach", "all", "any", "the", "my", "our", "alle", "meine", "unsere",
        "please", "bitte",
    ];
    const ABOUT: &[&str] = &["about", "regarding", "concerning", "über", "mentioning", "containing"];
    let filtered = words.iter().any(|word| word.taken);
    let left = |words: &[Word]| words.iter().filter(|word| !word.taken).count();
    let mut at = words.iter().position(|word| !word.taken).unwrap_or(words.len());
    // `find command` asks for a command; `find contracts of vendor X` asks.
    let verb = words.get(at).is_some_and(|word| word.is(VERBS));
    let next = words.get(at + 1);
    let command = next.is_some_and(|word| {
        word.is(&["command", "and", "function", "utility", "usages", "-name", "tool", "window", "method"])
    });
    let asks = verb
        && !command
        && (left(words) >= 3 || next.is_some_and(|word| word.is(AFTER) || word.is(THINGS)) || filtered);
    if asks && left(words) > 1 {
        words[at].taken = true;
        at += 1;
        while at + 1 < words.len() && (words[at].taken || words[at].is(AFTER) || words[at].is(VERBS)) {
            words[at].taken = true;
            at += 1;
        }
    }
    // `all pdf files about budget`: all that there are is what a search gives anyway.
    while words.get(at).is_some_and(|word| word.is(&["all", "any", "every", "alle"]))
        && words.get(at + 1).is_some_and(|next| next.taken || next.is(THINGS))
        && left(words) > 1
    {
        words[at].taken = true;
        at += 1;
    }
    // `documents about`: the things are what is searched anyway.
    if let Some(things) = words.get(at).filter(|word| word.is(THINGS)).map(|_| at) {
        let about = words.get(things + 1).is_some_and(|word| word.taken || word.is(ABOUT) || word.is(LINKS));
        let says_more = about && left(&words[things + 1..]) > usize::from(words[things + 1].is(ABOUT));
        let is_all = filtered && left(words) == 1;
        words[things].taken = says_more || is_all;
    }
    for at in 0..words.len() {
        if words[at].is(ABOUT) && left(words) > 1 {
            words[at].taken = true;
        }
    }
    // A preposition that lost its object, and what joined two filters.
    if filtered {
        loop {
            let dangling = (0..words.len()).find(|&at| {
                let next = words.get(at + 1);
                let lost = next.is_none_or(|next| next.taken);
                lost && words[at].is(&[
                    "from", "in", "of", "as", "with", "from:", "and", "or", "aus", "von", "im", "als", "und",
                    "oder", "the", "that", "are", "only", "mit", "on", "by", "for", "to",
                ]) && words.iter().skip(at + 1).all(|word| word.taken)
                    || words[at]
                        .is(&["from", "of", "aus", "von", "in", "and", "or", "und", "oder", "with", "on"])
                        && words[..at].iter().all(|word| word.taken)
            });
            match dangling {
                Some(at) => words[at].taken = true,
                None => break,
            }
        }
    }
    if let Some(last) = words.iter_mut().rev().find(|word| !word.taken && !word.quoted) {
        let end = last.raw.trim_end_matches(['?', ',']).len();
        if end > 0 {
            last.raw.truncate(end);
        }
    }
}
