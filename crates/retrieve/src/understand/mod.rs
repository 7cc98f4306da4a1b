//! What a question in plain words says about file types and years, found without a model.
//!
//! A word becomes a filter only where it is used as one: `in ppt or docx`, `pdf files`, `presentations about …`, `*.docx`,
//! `type:pdf`, a name of a format alone or at the end (`vendor x 2021 ppt docx`). `pdf parser library` and `how to write an excel macro` speak of the thing itself and stay as they
//! are. So does a number after a word that counts something else (`room 2021`). What is quoted is never taken apart.
//! English and German.

mod fts;
mod request;
mod types;
mod word;
mod years;

pub use fts::fts;

use request::{take_listing, take_request};
use types::{take_bare_names, take_operators, take_types};
use word::split;
use years::take_years;

/// A question, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Understood {
    /// The words left to search for. Empty where the whole question was filters.
    pub text: String,
    /// With their dots: `.pptx`. Any of them.
    pub exts: Vec<String>,
    /// Four digits each. Any of them.
    pub years: Vec<String>,
    /// The question asks for no words at all: `all files`, `all pdfs`, `everything from 2020`.
    pub lists: bool,
    /// What was understood, in sentences.
    pub notes: Vec<String>,
}

/// Longer questions are searched for as they are.
const MAX_WORDS: usize = 400;

/// Reads a question. `this_year` is for `last year` and `since 2020`.
pub fn understand(query: &str, this_year: i32) -> Understood {
    if ["*", "**", "*.*"].contains(&query.trim()) {
        return Understood { lists: true, notes: vec!["All files.".to_owned()], ..Understood::default() };
    }
    let mut words = split(query);
    if words.len() > MAX_WORDS {
        return Understood { text: query.trim().to_owned(), ..Understood::default() };
    }
    let mut exts: Vec<String> = Vec::new();
    take_operators(&mut words, &mut exts);
    let years = take_years(&mut words, this_year);
    take_types(&mut words, &mut exts);
    take_bare_names(&mut words, &mut exts);
    let lists = take_listing(&mut words);
    take_request(&mut words);
    let kept: Vec<&str> = words.iter().filter(|word| !word.taken).map(|word| word.raw.as_str()).collect();
    let mut text = kept.join(" ");
    let nothing_taken = exts.is_empty() && years.is_empty();
    // Signs beside filters ask for nothing: `*.pdf ?`.
    if !nothing_taken && !text.chars().any(char::is_alphanumeric) {
        text.clear();
    }
    // A question is not words alone, but it is not nothing either.
    if text.trim().is_empty() && nothing_taken && !lists {
        text = query.trim().to_owned();
    }
    let lists = text.is_empty() && (lists || !nothing_taken);
    let mut notes = Vec::new();
    if !exts.is_empty() {
        notes.push(format!("Only files of these types: {}.", exts.join(", ")));
    }
    match years.as_slice() {
        [] => {}
        [only] => notes.push(format!("Only what mentions {only}.")),
        [first, .., last] => notes.push(format!("Only what mentions a year of {first} to {last}.")),
    }
    if lists && notes.is_empty() {
        notes.push("All files.".to_owned());
    }
    Understood { text, exts, years, lists, notes }
}

#[cfg(test)]
mod tests;
