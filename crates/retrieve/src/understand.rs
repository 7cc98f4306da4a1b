//! What a plain question says of file types and years, read by rules: "contracts about vendor X from 2021 in ppt or
//! docx". What is certainly a filter becomes one; everything else stays part of the question.

use crate::parse::is_stop_word;

/// A question, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Understood {
    /// The words left to search for; empty if there were none but filters.
    pub text: String,
    /// Extensions with their dots, any of them.
    pub exts: Vec<String>,
    /// Years of four digits, any of them.
    pub years: Vec<String>,
    /// What was taken from the question, in sentences.
    pub notes: Vec<String>,
}

/// Reads a question. `this_year` is what "last year" counts from.
pub fn understand(query: &str, this_year: i32) -> Understood {
    let mut words = words(query);
    let mut understood = Understood::default();
    polite(&mut words);
    types(&mut words, &mut understood.exts);
    years(&mut words, this_year, &mut understood.years);
    understood.text = left(&words);
    if !understood.exts.is_empty() {
        understood.notes.push(format!("Only files of the types {}.", understood.exts.join(", ")));
    }
    if !understood.years.is_empty() {
        understood.notes.push(format!("Only files that name {}.", understood.years.join(" or ")));
    }
    understood
}

/// A query in the syntax of SQLite's FTS5, and what it does, in a sentence.
pub fn fts(understood: &Understood) -> (String, String) {
    let terms = fts_terms(&understood.text);
    let mut notes: Vec<String> = Vec::new();
    let words = match terms.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        [one, two] => {
            notes.push(format!("NEAR pairs {one} and {two} within {NEAR} words."));
            Some(format!("NEAR({one} {two}, {NEAR})"))
        }
        many => {
            notes.push("Every word must occur.".to_owned());
            Some(many.join(" AND "))
        }
    };
    let years = match understood.years.as_slice() {
        [] => None,
        years => Some(format!("({})", years.join(" OR "))),
    };
    let fts = match (words, years) {
        (Some(words), Some(years)) => format!("{words} AND {years}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => "\"\"".to_owned(),
    };
    notes.extend(understood.notes.iter().cloned());
    if notes.is_empty() {
        notes.push("The words as they are; no filters.".to_owned());
    }
    (fts, notes.join(" "))
}

const NEAR: u32 = 10;

/// Words of a query to a full-text index; more would only make it fail.
const MAX_TERMS: usize = 32;

/// Only this much of a question is read.
const MAX_BYTES: usize = 64 * 1024;

/// A word of the question.
struct Word<'a> {
    /// As it was written.
    text: &'a str,
    /// Without punctuation around it, in small letters.
    bare: String,
    /// Within quotes: never taken apart.
    quoted: bool,
    /// It has become a filter, or is a word around one.
    used: bool,
    /// A comma or the like stands behind it.
    ends_clause: bool,
}

fn words(query: &str) -> Vec<Word<'_>> {
    let query = &query[..query.floor_char_boundary(MAX_BYTES)];
    let mut quoted = false;
    query
        .split_whitespace()
        .map(|text| {
            let quotes = text.matches('"').count();
            let inside = quoted || quotes > 0;
            quoted ^= quotes % 2 == 1;
            let bare = text.trim_matches(|c: char| {
                !c.is_alphanumeric() && !matches!(c, '.' | '*' | '$' | '#' | '€' | '£')
            });
            let bare = bare.trim_end_matches('.').to_lowercase();
            let ends_clause = text.ends_with([',', ';', ':', '?', '!']);
            Word { text, bare, quoted: inside, used: false, ends_clause }
        })
        .collect()
}

fn left(words: &[Word<'_>]) -> String {
    words.iter().filter(|word| !word.used).map(|word| word.text).collect::<Vec<_>>().join(" ")
}

/// Words that only ask: "please find all documents about".
const ASKING: &[&str] = &[
    "please", "find", "show", "list", "search", "get", "give", "fetch", "locate", "look", "me", "us", "for",
    "up", "all", "any", "every", "the", "my", "our", "bitte", "suche", "such", "finde", "zeige", "zeig",
    "gib", "mir", "uns", "nach", "alle", "die", "das", "der", "den", "jede",
];
const VERBS: &[&str] = &[
    "find", "show", "list", "search", "get", "give", "fetch", "locate", "look", "suche", "such", "finde",
    "zeige", "zeig", "gib",
];
const FILES: &[&str] = &[
    "file",
    "files",
    "document",
    "documents",
    "docs",
    "format",
    "attachment",
    "attachments",
    "datei",
    "dateien",
    "dokument",
    "dokumente",
    "dokumenten",
    "format",
];
const ABOUT: &[&str] = &[
    "about",
    "on",
    "regarding",
    "concerning",
    "mentioning",
    "containing",
    "with",
    "from",
    "for",
    "of",
    "that",
    "über",
    "zu",
    "mit",
    "von",
    "aus",
    "vom",
    "zum",
];
const QUESTIONS: &[&str] = &[
    "how", "why", "what", "which", "when", "who", "where", "can", "does", "is", "are", "wie", "warum", "was",
    "welche", "wann", "wer", "wo", "kann",
];

/// Takes away what only asks, at the beginning: a verb and what belongs to it, and "documents about".
fn polite(words: &mut [Word<'_>]) {
    let asking = words.iter().take_while(|word| !word.quoted && ASKING.contains(&word.bare.as_str())).count();
    let has_verb = words[..asking].iter().any(|word| VERBS.contains(&word.bare.as_str()));
    // What is asked for must be left.
    if has_verb && asking < words.len() {
        words[..asking].iter_mut().for_each(|word| word.used = true);
    }
    let start = words.iter().position(|word| !word.used).unwrap_or(words.len());
    let is = |at: usize, list: &[&str]| {
        words.get(at).is_some_and(|word| !word.quoted && list.contains(&word.bare.as_str()))
    };
    if is(start, FILES) && is(start + 1, ABOUT) && words.len() > start + 2 {
        words[start].used = true;
        words[start + 1].used = true;
    }
}

/// What a word says of a file's type, and whether it is the name of such files rather than of a format.
fn type_of(word: &str) -> Option<(&'static [&'static str], bool)> {
    Some(match word {
        "pdf" => (&[".pdf"], false),
        "pdfs" => (&[".pdf"], true),
        "doc" | "word" => (&[".doc", ".docx"], false),
        "docx" => (&[".docx"], false),
        "ppt" | "powerpoint" => (&[".ppt", ".pptx"], false),
        "pptx" => (&[".pptx"], false),
        "powerpoints" => (&[".ppt", ".pptx"], true),
        "presentations" | "slides" | "slideshows" | "präsentationen" | "folien" => {
            (&[".ppt", ".pptx", ".odp"], true)
        }
        "presentation" | "präsentation" => (&[".ppt", ".pptx", ".odp"], false),
        "xls" | "excel" => (&[".xls", ".xlsx"], false),
        "xlsx" => (&[".xlsx"], false),
        "spreadsheets" | "sheets" | "tabellen" => (&[".xls", ".xlsx", ".ods", ".csv"], true),
        "spreadsheet" | "tabelle" => (&[".xls", ".xlsx", ".ods", ".csv"], false),
        "csv" => (&[".csv"], false),
        "tsv" => (&[".tsv"], false),
        "odt" => (&[".odt"], false),
        "ods" => (&[".ods"], false),
        "odp" => (&[".odp"], false),
        "rtf" => (&[".rtf"], false),
        "epub" => (&[".epub"], false),
        "epubs" | "ebooks" => (&[".epub"], true),
        "txt" => (&[".txt"], false),
        "text" => (&[".txt"], false),
        "md" | "markdown" => (&[".md"], false),
        "html" | "htm" => (&[".html", ".htm"], false),
        "json" => (&[".json"], false),
        "yaml" | "yml" => (&[".yaml", ".yml"], false),
        "xml" => (&[".xml"], false),
        "eml" | "email" | "e-mail" | "mail" => (&[".eml", ".mbox", ".msg"], false),
        "emails" | "e-mails" | "mails" => (&[".eml", ".mbox", ".msg"], true),
        "ipynb" | "notebook" | "jupyter" => (&[".ipynb"], false),
        "notebooks" => (&[".ipynb"], true),
        "zip" => (&[".zip"], false),
        "zips" => (&[".zip"], true),
        _ => return None,
    })
}

const IN: &[&str] = &["in", "as", "als", "im", "einer", "a", "an", "einem", "eine"];
const OR: &[&str] = &["or", "and", "oder", "und", "bzw", "/", "&"];

fn types(words: &mut [Word<'_>], exts: &mut Vec<String>) {
    let is_question =
        words.iter().find(|word| !word.used).is_some_and(|word| QUESTIONS.contains(&word.bare.as_str()));
    let mut at = 0;
    while at < words.len() {
        let Some(taken) =
            spelled(&words[at]).map(|found| (found, at, at + 1)).or_else(|| named(words, at, is_question))
        else {
            at += 1;
            continue;
        };
        let (found, start, mut end) = taken;
        push(exts, &found);
        words[start..end].iter_mut().for_each(|word| word.used = true);
        // "in ppt or docx", "pdf, docx and pptx": what is joined to a filter is one.
        while let Some((more, next)) = joined(words, end) {
            push(exts, &more);
            words[end..next].iter_mut().for_each(|word| word.used = true);
            end = next;
        }
        if words.get(end).is_some_and(|word| !word.quoted && FILES.contains(&word.bare.as_str())) {
            words[end].used = true;
            end += 1;
        }
        at = end;
    }
}

fn push(exts: &mut Vec<String>, found: &[String]) {
    for ext in found {
        if !exts.contains(ext) {
            exts.push(ext.clone());
        }
    }
}

fn owned(exts: &[&str]) -> Vec<String> {
    exts.iter().map(|ext| (*ext).to_owned()).collect()
}

/// `.docx`, `*.docx`, `ext:docx`, `type:pdf`, `filetype:pdf`: a filter wherever it stands.
fn spelled(word: &Word<'_>) -> Option<Vec<String>> {
    if word.quoted || word.used {
        return None;
    }
    let is_ending = |text: &str| {
        !text.is_empty() && text.len() <= 8 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if let Some((name, value)) = word.bare.split_once(':') {
        if !["ext", "type", "filetype"].contains(&name) {
            return None;
        }
        let endings: Vec<&str> = value.split(',').map(|ending| ending.trim_start_matches('.')).collect();
        return endings
            .iter()
            .all(|ending| is_ending(ending))
            .then(|| endings.iter().map(|ending| format!(".{ending}")).collect());
    }
    let ending = word.bare.strip_prefix("*.").or_else(|| word.bare.strip_prefix('.'))?;
    // A dot before a number or an unknown word is no extension.
    (is_ending(ending) && (word.bare.starts_with('*') || type_of(ending).is_some()))
        .then(|| vec![format!(".{ending}")])
}

/// A type in a place where it can only be a filter, with the words around it.
fn named(words: &[Word<'_>], at: usize, is_question: bool) -> Option<(Vec<String>, usize, usize)> {
    let word = &words[at];
    if word.quoted || word.used {
        return None;
    }
    let (exts, is_plural) = type_of(&word.bare)?;
    let is = |at: usize, list: &[&str]| {
        words.get(at).is_some_and(|word| !word.quoted && !word.used && list.contains(&word.bare.as_str()))
    };
    // "pdf files", "word documents".
    if is(at + 1, FILES) && word.bare != "format" {
        let mut start = at;
        while start > 0 && is(start - 1, IN) {
            start -= 1;
        }
        return Some((owned(exts), start, at + 2));
    }
    // "in ppt", "as a pdf"; but "how do I sum columns in excel" asks about Excel.
    let mut start = at;
    while start > 0 && is(start - 1, IN) {
        start -= 1;
    }
    let behind = words.get(at + 1);
    let ends = behind.is_none_or(|next| {
        next.quoted
            || OR.contains(&next.bare.as_str())
            || ABOUT.contains(&next.bare.as_str())
            || is_year(&next.bare)
    }) || word.ends_clause;
    let has_in = words[start..at].iter().any(|word| ["in", "as", "als", "im"].contains(&word.bare.as_str()));
    // "In a word" is no filter: something must be looked for in those files.
    let has_subject = words[..start].iter().any(|word| !word.used);
    if has_in && ends && has_subject && !is_question {
        return Some((owned(exts), start, at + 1));
    }
    // "spreadsheets about the budget", "all PDFs from 2021".
    let begins = words[..at].iter().all(|word| word.used || ASKING.contains(&word.bare.as_str()));
    let asks = is(at + 1, ABOUT) || (at + 1 == words.len() && at > 0);
    (is_plural && begins && asks && !is_question).then(|| (owned(exts), at, at + 1))
}

/// The next type behind "or", "and" or a comma.
fn joined(words: &[Word<'_>], end: usize) -> Option<(Vec<String>, usize)> {
    let previous = words.get(end.checked_sub(1)?)?;
    let mut at = end;
    while words
        .get(at)
        .is_some_and(|word| !word.quoted && (OR.contains(&word.bare.as_str()) || word.bare.is_empty()))
    {
        at += 1;
    }
    if at == end && !previous.ends_clause {
        return None;
    }
    let word = words.get(at).filter(|word| !word.quoted && !word.used)?;
    let exts = match spelled(word) {
        Some(exts) => exts,
        None => owned(type_of(&word.bare)?.0),
    };
    Some((exts, at + 1))
}

fn is_year(word: &str) -> bool {
    year(word).is_some()
}

fn year(word: &str) -> Option<i32> {
    let digits = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| word.parse().ok()).flatten().filter(|year| (1900..=2099).contains(year))
}

/// Words before a number that make it something else.
const NUMBERED: &[&str] = &[
    "page",
    "pages",
    "room",
    "error",
    "port",
    "line",
    "lines",
    "version",
    "no",
    "nr",
    "number",
    "issue",
    "ticket",
    "iso",
    "rfc",
    "item",
    "section",
    "chapter",
    "code",
    "order",
    "invoice",
    "building",
    "flight",
    "model",
    "windows",
    "office",
    "server",
    "seite",
    "raum",
    "zimmer",
    "fehler",
    "zeile",
    "nummer",
    "auftrag",
    "rechnung",
    "kapitel",
    "abschnitt",
];
/// Words behind a number that make it a quantity.
const UNITS: &[&str] = &[
    "euro", "euros", "eur", "usd", "dollar", "dollars", "kg", "km", "m", "mm", "cm", "bytes", "kb", "mb",
    "gb", "items", "pieces", "people", "words", "pages", "files", "rows", "percent", "ms", "seconds",
    "minutes", "hours", "days", "stück", "personen", "seiten", "zeilen", "stunden", "tage", "users",
    "points",
];
const BEFORE_YEAR: &[&str] =
    &["from", "in", "of", "during", "for", "year", "dated", "von", "aus", "im", "vom", "jahr", "dem", "the"];
const BETWEEN: &[&str] = &["between", "from", "zwischen", "von", "vom"];
const TO: &[&str] = &["to", "and", "until", "till", "through", "bis", "und", "-", "–"];
const SINCE: &[&str] = &["since", "seit"];
const LONGEST: i32 = 50;

fn years(words: &mut [Word<'_>], this_year: i32, found: &mut Vec<String>) {
    let mut at = 0;
    while at < words.len() {
        let Some((from, to, start, end)) = span(words, at, this_year) else {
            at += 1;
            continue;
        };
        for year in from..=to {
            let year = year.to_string();
            if !found.contains(&year) {
                found.push(year);
            }
        }
        words[start..end].iter_mut().for_each(|word| word.used = true);
        at = end;
    }
}

/// The years that are meant from a word on, and the words that say so.
fn span(words: &[Word<'_>], at: usize, this_year: i32) -> Option<(i32, i32, usize, usize)> {
    let word = words.get(at).filter(|word| !word.quoted && !word.used)?;
    let is = |at: usize, list: &[&str]| {
        words.get(at).is_some_and(|word| !word.quoted && !word.used && list.contains(&word.bare.as_str()))
    };
    let year_at = |at: usize| words.get(at).filter(|word| !word.quoted).and_then(|word| year(&word.bare));
    // "last year", "dieses Jahr".
    if is(at + 1, &["year", "jahr", "jahres"]) {
        let meant = match word.bare.as_str() {
            "last" | "letztes" | "letzten" | "vorigen" | "voriges" => Some(this_year - 1),
            "this" | "dieses" | "diesem" => Some(this_year),
            _ => None,
        };
        if let Some(year) = meant {
            return Some((year, year, before(words, at), at + 2));
        }
    }
    if is(at, SINCE) {
        let from = year_at(at + 1).filter(|from| *from <= this_year && this_year - from <= LONGEST)?;
        return Some((from, this_year, at, at + 2));
    }
    // "2019-2021".
    let ends = word.bare.split_once(['-', '–']).and_then(|(from, to)| Some((year(from)?, year(to)?)));
    if let Some((from, to)) = ends.filter(|(from, to)| from <= to && to - from <= LONGEST) {
        return Some((from, to, before(words, at), at + 1));
    }
    let from = year(&word.bare)?;
    let after_number = at > 0 && is(at - 1, NUMBERED);
    if after_number || is(at + 1, UNITS) {
        return None;
    }
    // "from 2019 to 2021", "between 2019 and 2021", "2019 to 2021".
    let to = year_at(at + 2).filter(|to| from <= *to && to - from <= LONGEST && is(at + 1, TO));
    if let Some(to) = to {
        let between = at > 0 && is(at - 1, BETWEEN);
        // "2019 and 2021" are two years, "between 2019 and 2021" three.
        if between || !is(at + 1, &["and", "und"]) {
            return Some((from, to, before(words, at), at + 3));
        }
    }
    Some((from, from, before(words, at), at + 1))
}

/// Where the words in front of a year begin that belong to it.
fn before(words: &[Word<'_>], at: usize) -> usize {
    let mut start = at;
    let belongs = |word: &Word<'_>| {
        let bare = word.bare.as_str();
        !word.quoted && !word.used && (BEFORE_YEAR.contains(&bare) || BETWEEN.contains(&bare))
    };
    while start > 0 && belongs(&words[start - 1]) {
        start -= 1;
    }
    // "or 2022" after a year belongs to it, too.
    if start > 0
        && start < at + 1
        && OR.contains(&words[start - 1].bare.as_str())
        && start > 1
        && words[start - 2].used
    {
        start -= 1;
    }
    start
}

/// The words and phrases of a text as FTS5 takes them.
fn fts_terms(text: &str) -> Vec<String> {
    let only_stop_words = text.split_whitespace().all(|word| is_stop_word(&word.to_lowercase()));
    let mut terms: Vec<String> = Vec::new();
    let mut push = |term: String| {
        if !terms.contains(&term) && terms.len() < MAX_TERMS {
            terms.push(term);
        }
    };
    for (at, part) in text.split('"').enumerate() {
        if at % 2 == 1 && part.chars().any(char::is_alphanumeric) {
            push(string(part.trim()));
            continue;
        }
        let told = |word: &&str| only_stop_words || !is_stop_word(&word.to_lowercase());
        for word in part.split_whitespace().filter(told) {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            if bare.is_empty() {
                continue;
            }
            let is_plain = bare.chars().all(|c| c.is_alphanumeric() || c == '_');
            let is_keyword = ["AND", "OR", "NOT", "NEAR"].contains(&bare);
            push(if is_plain && !is_keyword { bare.to_owned() } else { string(bare) });
        }
    }
    terms
}

fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\0', " ").replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(query: &str) -> (String, String, String) {
        let understood = understand(query, 2026);
        (understood.text, understood.exts.join(" "), understood.years.join(" "))
    }

    #[test]
    fn s017_plain_questions() {
        for (query, text, exts, years) in [
            (
                "contracts about vendor X from 2021 in ppt or docx",
                "contracts about vendor X",
                ".ppt .pptx .docx",
                "2021",
            ),
            (
                "Find vendor X contracts from 2021 in ppt or docx",
                "vendor X contracts",
                ".ppt .pptx .docx",
                "2021",
            ),
            ("vendor x 2021 contracts", "vendor x contracts", "", "2021"),
            ("vendor x 2021 ppt docx", "vendor x ppt docx", "", "2021"),
            ("budget", "budget", "", ""),
            ("2021", "", "", "2021"),
            ("budget 2021", "budget", "", "2021"),
            ("budget 2021 and 2022", "budget", "", "2021 2022"),
            ("budget from 2019 to 2021", "budget", "", "2019 2020 2021"),
            ("budget between 2019 and 2021", "budget", "", "2019 2020 2021"),
            ("budget 2019-2021", "budget", "", "2019 2020 2021"),
            ("budget 2019–2020", "budget", "", "2019 2020"),
            ("budget since 2024", "budget", "", "2024 2025 2026"),
            ("budget of last year", "budget", "", "2025"),
            ("this year budget", "budget", "", "2026"),
            ("Berichte von 2019 bis 2021", "Berichte", "", "2019 2020 2021"),
            ("Berichte zwischen 2019 und 2020", "Berichte", "", "2019 2020"),
            ("Berichte aus dem Jahr 2021", "Berichte", "", "2021"),
            ("Budget vom letzten Jahr", "Budget", "", "2025"),
            ("Verträge als PDF", "Verträge", ".pdf", ""),
            ("Verträge in Word oder Excel", "Verträge", ".doc .docx .xls .xlsx", ""),
            ("Präsentationen über Windkraft", "über Windkraft", ".ppt .pptx .odp", ""),
            ("pdf files about windmills", "about windmills", ".pdf", ""),
            ("all PDFs from 2021", "all", ".pdf", "2021"),
            ("show me spreadsheets about the budget", "about the budget", ".xls .xlsx .ods .csv", ""),
            ("presentations about vendor X", "about vendor X", ".ppt .pptx .odp", ""),
            ("emails from Anna", "from Anna", ".eml .mbox .msg", ""),
            ("notebooks about regression", "about regression", ".ipynb", ""),
            ("word documents about leases", "about leases", ".doc .docx", ""),
            ("excel files with prices", "with prices", ".xls .xlsx", ""),
            ("prices in excel", "prices", ".xls .xlsx", ""),
            ("prices as a pdf", "prices", ".pdf", ""),
            ("prices in pdf, docx and pptx", "prices", ".pdf .docx .pptx", ""),
            ("prices in pdf or *.md files", "prices", ".pdf .md", ""),
            ("prices *.docx", "prices", ".docx", ""),
            ("prices .docx", "prices", ".docx", ""),
            ("prices ext:docx", "prices", ".docx", ""),
            ("prices type:pdf", "prices", ".pdf", ""),
            ("prices ext:docx,pdf", "prices", ".docx .pdf", ""),
            ("contracts in docx from 2020", "contracts", ".docx", "2020"),
            ("files about windmills", "windmills", "", ""),
            ("please find all documents about windmills", "windmills", "", ""),
            ("Suche alle Dokumente über Windkraft", "Windkraft", "", ""),
            ("Q2 2021 report", "Q2 report", "", "2021"),
            ("report for 2021", "report", "", "2021"),
            ("minutes in the year 2020", "minutes", "", "2020"),
        ] {
            assert_eq!(read(query), (text.into(), exts.into(), years.into()), "{query}");
        }
    }

    #[test]
    fn what_is_the_subject_is_no_filter() {
        for query in [
            "pdf parser library",
            "how to write an excel macro",
            "how do I sum columns in excel",
            "powerpoint template",
            "word embeddings",
            "email server configuration",
            "markdown renderer",
            "csv import",
            "page 2021",
            "room 2021",
            "error 2021",
            "ISO 2022",
            "Seite 2021",
            "2000 euros",
            "2048 bytes",
            "version 2021",
            "Windows 2000",
            "phone 1800",
            "\"in pdf or docx\"",
            "\"report 2021\"",
            "what is in the presentation",
            "in a word",
            "slides",
            "find",
            "files",
            "version 3.2021",
            "12021",
            "3000",
            "",
        ] {
            let (text, exts, years) = read(query);
            assert_eq!((exts.as_str(), years.as_str()), ("", ""), "{query}");
            assert_eq!(text, query, "{query}");
        }
    }

    #[test]
    fn s029_full_text_queries() {
        let of = |query: &str| fts(&understand(query, 2026));
        assert_eq!(of("vendor contracts from 2021").0, "NEAR(vendor contracts, 10) AND (2021)");
        assert_eq!(
            of("Find vendor X contracts from 2021 in docx").0,
            "vendor AND X AND contracts AND (2021)"
        );
        assert_eq!(of("2021 or 2022").0, "(2021 OR 2022)");
        assert_eq!(of("windmill").0, "windmill");
        assert_eq!(of("\"exact words\" windmill").0, "NEAR(\"exact words\" windmill, 10)");
        assert_eq!(of("AND").0, "\"AND\"");
        assert_eq!(of("").0, "\"\"");
        assert!(of("vendor contracts from 2021").1.contains("NEAR pairs vendor and contracts"));
        assert!(of("prices in docx").1.contains(".docx"));
        assert!(!of("windmill").1.is_empty());
    }

    /// SQLite itself says whether it can read a query.
    fn is_fts5(query: &str) -> Result<(), String> {
        let connection = rusqlite::Connection::open_in_memory().map_err(|error| error.to_string())?;
        connection
            .execute_batch("CREATE VIRTUAL TABLE t USING fts5(x)")
            .map_err(|error| error.to_string())?;
        let mut statement = connection
            .prepare("SELECT count(*) FROM t WHERE t MATCH ?1")
            .map_err(|error| error.to_string())?;
        statement.query_row([query], |row| row.get::<_, i64>(0)).map(drop).map_err(|error| error.to_string())
    }

    proptest! {
        #[test]
        fn any_question_is_understood_and_rewritten(
            query in "([a-zA-Z0-9 \"*.:()'-]|\\PC|in pdf|from 2021|or docx| AND | NEAR\\(| files |-){0,40}"
        ) {
            let understood = understand(&query, 2026);
            let (fts, notes) = fts(&understood);
            prop_assert!(!notes.is_empty());
            prop_assert!(understood.exts.iter().all(|ext| ext.starts_with('.') && ext.len() > 1));
            prop_assert!(understood.years.iter().all(|year| year.len() == 4));
            prop_assert_eq!(is_fts5(&fts), Ok(()), "{}", fts);
            if understood.exts.is_empty() && understood.years.is_empty() && !query.trim().is_empty() {
                prop_assert!(!understood.text.is_empty(), "{query:?}");
            }
        }
    }
}
