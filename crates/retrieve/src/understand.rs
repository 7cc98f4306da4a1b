//! What a question in plain words says about file types and years, found without a model.
//!
//! A word becomes a filter only where it stands as one: `in ppt or docx`, `pdf files`, `presentations about …`,
//! `*.docx`, `type:pdf`. `pdf parser library` and `how to write an excel macro` speak of the thing itself and stay as they
//! are. So does a number after a word that counts something else (`room 2021`). What is quoted is never taken apart.
//! English and German.

use crate::operators::Operators;
use crate::parse::is_stop_word;

/// A question, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Understood {
    /// The words left to search for. Empty where the whole question was filters.
    pub text: String,
    /// With their dots: `.pptx`. Any of them.
    pub exts: Vec<String>,
    /// Four digits each. Any of them.
    pub years: Vec<String>,
    /// What was understood, in sentences.
    pub notes: Vec<String>,
}

/// Longer questions are searched for as they are.
const MAX_WORDS: usize = 400;

const FIRST_YEAR: i32 = 1900;
const LAST_YEAR: i32 = 2099;

/// Reads a question. `this_year` is for `last year` and `since 2020`.
pub fn understand(query: &str, this_year: i32) -> Understood {
    let mut words = split(query);
    if words.len() > MAX_WORDS {
        return Understood { text: query.trim().to_owned(), ..Understood::default() };
    }
    let mut exts: Vec<String> = Vec::new();
    take_operators(&mut words, &mut exts);
    let years = take_years(&mut words, this_year);
    take_types(&mut words, &mut exts);
    take_request(&mut words);
    let kept: Vec<&str> = words.iter().filter(|word| !word.taken).map(|word| word.raw.as_str()).collect();
    let mut text = kept.join(" ");
    let nothing_taken = exts.is_empty() && years.is_empty();
    // A question is not words alone, but it is not nothing either.
    if text.trim().is_empty() && nothing_taken {
        text = query.trim().to_owned();
    }
    let mut notes = Vec::new();
    if !exts.is_empty() {
        notes.push(format!("Only files of these types: {}.", exts.join(", ")));
    }
    match years.as_slice() {
        [] => {}
        [only] => notes.push(format!("Only what mentions {only}.")),
        [first, .., last] => notes.push(format!("Only what mentions a year of {first} to {last}.")),
    }
    Understood { text, exts, years, notes }
}

/// The question as a query in the syntax of SQLite's FTS5, and a sentence that says how it was made. Valid for any input.
pub fn fts(understood: &Understood) -> (String, String) {
    let (mut words, mut phrases) = (Vec::new(), Vec::new());
    for word in split(&understood.text) {
        let bare: String = if word.quoted { word.raw.replace('"', " ") } else { word.bare.clone() };
        let bare = bare.replace('\0', " ");
        if !bare.chars().any(char::is_alphanumeric) || (!word.quoted && is_stop_word(&bare.to_lowercase())) {
            continue;
        }
        let list = if word.quoted { &mut phrases } else { &mut words };
        let term = term(bare.trim());
        if !list.contains(&term) {
            list.push(term);
        }
    }
    let mut parts: Vec<String> = Vec::new();
    let mut notes = Vec::new();
    match words.as_slice() {
        [] => {}
        [word] => parts.push(word.clone()),
        _ if words.len() <= 3 => {
            parts.push(format!("NEAR({}, 5)", words.join(" ")));
            notes.push(format!("NEAR keeps {} within five words of each other.", words.join(", ")));
        }
        _ => {
            parts.push(format!("({})", words.join(" OR ")));
            notes.push("OR, because a sentence rarely holds all of so many words.".to_owned());
        }
    }
    parts.extend(phrases);
    if !understood.years.is_empty() {
        parts.push(format!("({})", understood.years.join(" OR ")));
        notes.push("The years must be mentioned.".to_owned());
    }
    // An empty phrase is valid and finds nothing.
    let query = if parts.is_empty() { "\"\"".to_owned() } else { parts.join(" AND ") };
    (query, notes.join(" "))
}

/// A word as it is where FTS5 takes it so, quoted otherwise.
fn term(text: &str) -> String {
    let bare = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let reserved = ["AND", "OR", "NOT", "NEAR"].contains(&text);
    if bare && !reserved { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[derive(Debug, Clone)]
struct Word {
    raw: String,
    /// Without marks around it, lower-cased. The text of a quoted one is left alone.
    lower: String,
    bare: String,
    quoted: bool,
    taken: bool,
    /// A comma or the like follows.
    ends: bool,
}

impl Word {
    fn is(&self, list: &[&str]) -> bool {
        !self.quoted && !self.taken && list.contains(&self.lower.as_str())
    }
}

/// Words at blanks; what stands between double quotes is one word.
fn split(query: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = query;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return words;
        }
        let quotes = [('"', '"'), ('“', '”'), ('„', '“')];
        let quoted = quotes.iter().find_map(|(open, close)| {
            let inner = rest.strip_prefix(*open)?;
            let end = inner.find(*close)?;
            Some(open.len_utf8() + end + close.len_utf8())
        });
        let end = quoted.unwrap_or_else(|| rest.find(char::is_whitespace).unwrap_or(rest.len()));
        let raw = &rest[..end];
        rest = &rest[end..];
        let marks = |c: char| matches!(c, ',' | ';' | '?' | '!' | '(' | ')' | ':' | '\'' | '…');
        let bare = raw.trim_matches(marks).trim_end_matches('.');
        words.push(Word {
            raw: raw.to_owned(),
            lower: bare.to_lowercase(),
            bare: bare.to_owned(),
            quoted: quoted.is_some(),
            taken: false,
            ends: raw.ends_with([',', ';', '?', '!', ')']),
        });
    }
}

/// `ext:pdf` as everywhere, `type:pdf`, `*.docx` and `.docx`.
fn take_operators(words: &mut [Word], exts: &mut Vec<String>) {
    for word in words.iter_mut().filter(|word| !word.quoted) {
        let found: Vec<String> = if word.lower.starts_with("ext:") {
            let read = Operators::read(&format!("x {}", word.bare));
            read.endings.iter().map(|ending| format!(".{ending}")).collect()
        } else if let Some(named) =
            ["type:", "filetype:", "format:"].iter().find_map(|name| word.lower.strip_prefix(name))
        {
            let each = named.split(',').map(|name| kind(name.trim_start_matches('.')));
            each.collect::<Option<Vec<_>>>().map(|all| endings(&all)).unwrap_or_default()
        } else if let Some(ending) = word.lower.strip_prefix("*.") {
            let plain =
                !ending.is_empty() && ending.len() <= 8 && ending.bytes().all(|b| b.is_ascii_alphanumeric());
            if plain { vec![format!(".{ending}")] } else { Vec::new() }
        } else if let Some(ending) = word.lower.strip_prefix('.') {
            if EXTENSIONS.contains(&ending) { vec![format!(".{ending}")] } else { Vec::new() }
        } else {
            Vec::new()
        };
        word.taken = !found.is_empty();
        add(exts, found);
    }
    drop_joints(words);
}

/// `or`, `in` and `files` beside filters that were taken, as in `in .docx or .pdf files`.
fn drop_joints(words: &mut [Word]) {
    for at in 0..words.len() {
        let before = at > 0 && words[at - 1].taken;
        let after = words.get(at + 1).is_some_and(|word| word.taken);
        let joins = before && after && words[at].is(&["or", "and", "oder", "und", "/", "&"]);
        let file = before && words[at].is(&["files", "file", "dateien", "format"]);
        if joins || file {
            words[at].taken = true;
        }
    }
    for at in (0..words.len().saturating_sub(1)).rev() {
        if words[at + 1].taken && words[at].is(&["in", "as", "als", "im", "only", "nur"]) {
            words[at].taken = true;
        }
    }
}

fn add(exts: &mut Vec<String>, found: Vec<String>) {
    for ext in found {
        if !exts.contains(&ext) {
            exts.push(ext);
        }
    }
}

/// Endings that may stand for themselves behind a dot.
#[rustfmt::skip]
const EXTENSIONS: [&str; 58] = [
    "pdf", "ppt", "pptx", "pptm", "doc", "docx", "docm", "xls", "xlsx", "xlsm", "xlsb", "ods", "odt", "odp", "csv", "tsv", "rtf",
    "epub", "html", "htm", "eml", "mbox", "msg", "ipynb", "srt", "vtt", "md", "txt", "log", "json", "xml", "yaml", "yml", "toml",
    "ini", "zip", "tar", "gz", "tgz", "py", "rs", "js", "ts", "tsx", "jsx", "java", "go", "c", "h", "cpp", "cs", "rb", "php", "sql",
    "sh", "css", "tex", "svg",
];

/// A word that can mean a type of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    exts: &'static [&'static str],
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `pdf`, `docx`: a name of a format.
    Name,
    /// `pdfs`, `spreadsheets`: files and nothing else.
    Files,
    /// `presentations`, `emails`: files, or what they are about.
    Things,
    /// `word`, `excel`: a program, whose files are meant only where the word `files` follows.
    Program,
}

#[rustfmt::skip]
fn kind(word: &str) -> Option<Kind> {
    const SLIDES: &[&str] = &[".pptx", ".ppt", ".odp"];
    const SHEETS: &[&str] = &[".xlsx", ".xls", ".ods", ".csv"];
    const WORD: &[&str] = &[".docx", ".doc"];
    const MAIL: &[&str] = &[".eml", ".mbox", ".msg"];
    let (exts, form): (&'static [&'static str], Form) = match word {
        "ppt" => (&[".ppt", ".pptx"], Form::Name),
        "pptx" => (&[".pptx"], Form::Name),
        "doc" => (&[".doc", ".docx"], Form::Name),
        "docx" => (&[".docx"], Form::Name),
        "xls" => (SHEETS, Form::Name),
        "xlsx" => (&[".xlsx"], Form::Name),
        "pdf" => (&[".pdf"], Form::Name),
        "csv" => (&[".csv"], Form::Name),
        "tsv" => (&[".tsv"], Form::Name),
        "ods" => (&[".ods"], Form::Name),
        "odt" => (&[".odt"], Form::Name),
        "odp" => (&[".odp"], Form::Name),
        "rtf" => (&[".rtf"], Form::Name),
        "epub" => (&[".epub"], Form::Name),
        "html" => (&[".html", ".htm"], Form::Name),
        "eml" => (&[".eml"], Form::Name),
        "mbox" => (&[".mbox"], Form::Name),
        "msg" => (&[".msg"], Form::Name),
        "ipynb" => (&[".ipynb"], Form::Name),
        "srt" => (&[".srt"], Form::Name),
        "vtt" => (&[".vtt"], Form::Name),
        "txt" => (&[".txt"], Form::Name),
        "json" => (&[".json"], Form::Name),
        "xml" => (&[".xml"], Form::Name),
        "yaml" | "yml" => (&[".yaml", ".yml"], Form::Name),
        "markdown" | "md" => (&[".md", ".markdown"], Form::Name),
        "zip" => (&[".zip"], Form::Name),
        "pdfs" | "pdf-dateien" | "pdf-dokumente" | "pdf-dokumenten" => (&[".pdf"], Form::Files),
        "ppts" | "powerpoints" | "powerpoint-dateien" | "powerpoint-präsentationen" => (SLIDES, Form::Files),
        "spreadsheets" | "spreadsheet" | "excel-dateien" | "excel-tabellen" | "exceldateien" | "exceltabellen" | "tabellenkalkulationen" => (SHEETS, Form::Files),
        "word-dokumente" | "word-dokumenten" | "word-dateien" | "worddokumente" => (WORD, Form::Files),
        "csvs" | "csv-dateien" => (&[".csv"], Form::Files),
        "epubs" => (&[".epub"], Form::Files),
        "ebooks" | "e-books" => (&[".epub", ".pdf"], Form::Things),
        "presentations" | "presentation" | "slides" | "slide" | "slidedecks" | "decks" | "präsentationen" | "präsentation" | "folien" => (SLIDES, Form::Things),
        "emails" | "e-mails" | "email" | "e-mail" | "mails" => (MAIL, Form::Things),
        "notebooks" | "notebook" => (&[".ipynb"], Form::Things),
        "word" => (WORD, Form::Program),
        "excel" => (SHEETS, Form::Program),
        "powerpoint" => (SLIDES, Form::Program),
        "outlook" => (MAIL, Form::Program),
        "jupyter" => (&[".ipynb"], Form::Program),
        _ => return None,
    };
    Some(Kind { exts, form })
}

fn endings(kinds: &[Kind]) -> Vec<String> {
    kinds.iter().flat_map(|kind| kind.exts).map(|ext| (*ext).to_owned()).collect()
}

const FILES: &[&str] = &[
    "files",
    "documents",
    "docs",
    "sheets",
    "workbooks",
    "decks",
    "slides",
    "presentations",
    "spreadsheets",
    "notebooks",
    "messages",
    "emails",
    "mails",
    "attachments",
    "dateien",
    "dokumente",
    "dokumenten",
    "tabellen",
    "präsentationen",
];
const FILE: &[&str] =
    &["file", "document", "datei", "dokument", "format", "sheet", "workbook", "deck", "form"];
const LINKS: &[&str] = &[
    "about",
    "on",
    "from",
    "with",
    "of",
    "that",
    "which",
    "by",
    "containing",
    "for",
    "regarding",
    "concerning",
    "between",
    "since",
    "in",
    "mentioning",
    "where",
    "to",
    "at",
    "über",
    "von",
    "vom",
    "aus",
    "mit",
    "zu",
    "zum",
    "zur",
    "seit",
    "die",
    "der",
    "and",
    "or",
    "oder",
    "und",
    "only",
    "please",
    "bitte",
    "dated",
    "during",
    "after",
    "before",
    "nach",
    "vor",
    "within",
    "under",
    "ab",
];
/// Who does something with files asks about the doing.
const DOING: &[&str] = &[
    "how",
    "why",
    "convert",
    "export",
    "import",
    "parse",
    "parsing",
    "write",
    "writing",
    "create",
    "creating",
    "generate",
    "generating",
    "open",
    "render",
    "merge",
    "save",
    "print",
    "edit",
    "make",
    "build",
    "embed",
    "wie",
    "warum",
    "umwandeln",
    "konvertieren",
    "exportieren",
    "speichern",
    "erstellen",
    "schreiben",
    "öffnen",
    "drucken",
];

fn take_types(words: &mut [Word], exts: &mut Vec<String>) {
    let doing = words.iter().any(|word| word.is(DOING));
    let mut at = 0;
    while at < words.len() {
        let taken = take_type(words, at, doing, exts);
        at += taken.max(1);
    }
}

/// Whether nothing, a year or a word that links stands there: what is before it is not part of a longer name.
fn is_border(words: &[Word], at: usize) -> bool {
    let operator = |word: &Word| word.raw.starts_with('-') || word.raw.contains(':');
    words[at..].first().is_none_or(|word| word.taken || word.is(LINKS) || operator(word))
        || at > 0 && words[at - 1].ends
}

/// Takes the filter that begins here, if one does, and says how many words it has.
fn take_type(words: &mut [Word], at: usize, doing: bool, exts: &mut Vec<String>) -> usize {
    let free = |word: &Word| !word.quoted && !word.taken;
    if !free(&words[at]) {
        return 0;
    }
    let leads = words[at].is(&["in", "as", "als", "im"]) && !doing;
    let only_before = words[at].is(&["only", "nur", "just"]);
    let mut from = at + usize::from(leads || only_before);
    while leads
        && words
            .get(from)
            .is_some_and(|word| word.is(&["a", "an", "the", "either", "einer", "einem", "our", "my", "all"]))
    {
        from += 1;
    }
    // The types, with joints between them; a program needs its noun.
    let (mut kinds, mut to) = (Vec::new(), from);
    let mut nouns = 0;
    let mut singular = false;
    while let Some(found) = words.get(to).filter(|word| free(word)).and_then(|word| kind(&word.lower)) {
        kinds.push(found);
        to += 1;
        // `word documents`, `pdf and excel files`, `PDF format`.
        if words.get(to).is_some_and(|word| word.is(FILES)) && !words[to - 1].ends {
            nouns += 1;
            singular = false;
            to += 1;
        } else if words.get(to).is_some_and(|word| word.is(FILE)) && !words[to - 1].ends {
            nouns += 1;
            singular = true;
            to += 1;
        }
        let joint =
            usize::from(words.get(to).is_some_and(|word| word.is(&["or", "and", "oder", "und", "/", "&"])));
        let goes_on = words.get(to + joint).filter(|word| free(word)).and_then(|word| kind(&word.lower));
        if goes_on.is_none() || (joint == 0 && !words[to - 1].ends && nouns == 0) {
            break;
        }
        to += joint;
    }
    let (Some(first), Some(last)) = (kinds.first().copied(), kinds.last().copied()) else { return 0 };
    let border = is_border(words, to);
    let noun_last = nouns > 0;
    let head = words[..at].iter().all(|word| word.taken || word.is(REQUEST) || word.is(DETERMINERS));
    let at_end = to == words.len();
    let only_after = words.get(to).is_some_and(|word| word.is(&["only"]));
    let is_filter = if leads {
        // `in excel files`, `in ppt or docx`, `in presentations`; `in word` may be in a word.
        border
            && (noun_last
                || last.form != Form::Program
                || first.form != Form::Program
                || words[from].lower == "excel"
                || words[from].lower == "powerpoint")
    } else if only_before {
        border && (noun_last || first.form != Form::Program)
    } else if only_after {
        true
    } else if doing {
        false
    } else if noun_last {
        // `pdf files budget`, but not `pdf file parser`.
        (!singular || border) && !(singular && at_end && !head)
    } else {
        match first.form {
            Form::Files => (head && border) || at_end,
            Form::Things => head && !at_end && words.get(to).is_some_and(|word| word.taken || word.is(LINKS)),
            Form::Name => head && !at_end && kinds.len() > 1 && border,
            Form::Program => false,
        }
    };
    if !is_filter {
        return 0;
    }
    let to = to + usize::from(only_after);
    for word in &mut words[at..to] {
        word.taken = true;
    }
    add(exts, endings(&kinds));
    to - at
}

const REQUEST: &[&str] = &[
    "find", "show", "search", "look", "give", "get", "list", "please", "me", "us", "for", "need", "want",
    "i", "we", "looking", "can", "could", "you", "finde", "zeige", "zeig", "suche", "such", "gib", "mir",
    "uns", "bitte", "nach", "am", "i'm", "to", "see", "ich", "brauche", "welche", "which", "any",
];
const DETERMINERS: &[&str] = &[
    "all", "any", "the", "my", "our", "some", "alle", "die", "der", "das", "meine", "unsere", "a", "an",
    "every",
];

/// Words that only ask: `find me all documents about`, `zeige mir`. What is left must still say something.
fn take_request(words: &mut [Word]) {
    const VERBS: &[&str] = &[
        "find", "show", "search", "look", "give", "get", "list", "finde", "zeige", "zeig", "suche", "gib",
        "please", "bitte",
    ];
    const AFTER: &[&str] = &[
        "me", "us", "for", "mir", "uns", "nach", "all", "any", "the", "my", "our", "alle", "meine", "unsere",
        "please", "bitte",
    ];
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

fn take_years(words: &mut [Word], this_year: i32) -> Vec<String> {
    let mut years: Vec<i32> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match years_at(words, at, this_year) {
            Some((count, found)) => {
                for word in &mut words[at..at + count] {
                    word.taken = true;
                }
                years.extend(found);
                at += count;
            }
            None => at += 1,
        }
    }
    years.sort_unstable();
    years.dedup();
    years.iter().map(i32::to_string).collect()
}

fn year(word: &Word) -> Option<i32> {
    let text = word.lower.as_str();
    let four = !word.quoted && text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    four.then(|| text.parse().ok()).flatten().filter(|year| (FIRST_YEAR..=LAST_YEAR).contains(year))
}

/// `2019-2021` in one word.
fn range(word: &Word) -> Option<(i32, i32)> {
    let text = if word.quoted { "" } else { word.lower.as_str() };
    let (first, last) = text.split_once(['-', '–', '—']).or_else(|| text.split_once(".."))?;
    let read = |text: &str| {
        let word = Word { lower: text.to_owned(), ..word.clone() };
        year(&word)
    };
    Some((read(first)?, read(last)?)).filter(|(first, last)| first <= last)
}

/// The years that begin at a word, and how many words say so.
fn years_at(words: &[Word], at: usize, this_year: i32) -> Option<(usize, Vec<i32>)> {
    let word = |offset: usize| words.get(at + offset).filter(|word| !word.taken);
    let is = |offset: usize, list: &[&str]| word(offset).is_some_and(|word| word.is(list));
    let span = |first: i32, last: i32| (first.min(last)..=first.max(last)).collect::<Vec<i32>>();
    let here = word(0)?;
    // `from 2019 to 2021`, `between 2019 and 2021`, `2019 bis 2021`.
    let lead =
        usize::from(is(0, &["from", "between", "von", "zwischen", "in", "during", "for", "aus", "within"]));
    if let (Some(first), Some(last)) = (word(lead).and_then(year), word(lead + 2).and_then(year)) {
        let through = is(lead + 1, &["to", "until", "till", "through", "thru", "bis", "-", "–"]);
        let between = lead == 1 && is(0, &["between", "zwischen"]) && is(lead + 1, &["and", "und"]);
        if through || between {
            return Some((lead + 3, span(first, last)));
        }
    }
    if let Some((first, last)) = word(lead).and_then(range).filter(|_| lead == 1 || is_year_place(words, at))
    {
        return Some((lead + 1, span(first, last)));
    }
    // `since 2020`, `ab 2020`, `after 2019`, `from 2020 on`.
    let open = is(0, &["since", "seit", "ab"])
        || is(0, &["from", "von"]) && is(2, &["on", "onward", "onwards", "an"]);
    let after = is(0, &["after", "nach"]);
    if let Some(first) = word(1).and_then(year).filter(|_| open || after) {
        let first = first + i32::from(after);
        let count = if open && is(0, &["from", "von"]) { 3 } else { 2 };
        let closed = is(2, &["of", "pages", "seiten"]);
        if first <= this_year && !closed {
            return Some((count, span(first, this_year)));
        }
    }
    // `last year`, `dieses Jahr`, `last 3 years`.
    let lead = usize::from(
        is(0, &["from", "in", "of", "during", "vom", "aus", "im", "for", "within"]) && word(1).is_some(),
    );
    let the = lead + usize::from(is(lead, &["the", "den", "dem", "der"]));
    let last = is(
        the,
        &[
            "last",
            "past",
            "previous",
            "letztes",
            "letzten",
            "letztem",
            "voriges",
            "vorigen",
            "vergangenes",
            "vergangenen",
        ],
    );
    let this = is(the, &["this", "current", "dieses", "diesem", "diesen", "laufenden", "aktuellen"]);
    if (last || this) && is(the + 1, &["year", "jahr", "jahres"]) {
        return Some((the + 2, vec![this_year - i32::from(last)]));
    }
    if last && is(the + 2, &["years", "jahre", "jahren"]) {
        let count = word(the + 1).and_then(|word| match word.lower.as_str() {
            "two" | "zwei" => Some(2),
            "three" | "drei" => Some(3),
            "four" | "vier" => Some(4),
            "five" | "fünf" => Some(5),
            "ten" | "zehn" => Some(10),
            number => number.parse::<i32>().ok().filter(|count| (1..=50).contains(count)),
        });
        if let Some(count) = count {
            return Some((the + 3, span(this_year - count, this_year)));
        }
    }
    // `from 2021`, `in the year 2021`, `2021`.
    let lead = usize::from(is(
        0,
        &["from", "in", "of", "during", "for", "year", "jahr", "aus", "vom", "von", "im", "dated", "anno"],
    ));
    let lead = lead + usize::from(lead == 1 && is(1, &["the"]) && is(2, &["year"]));
    let lead = lead + usize::from(lead > 0 && is(lead, &["year", "jahr", "jahre"]));
    let found = year(words.get(at + lead).filter(|word| !word.taken)?)?;
    let counted = word(lead + 1).is_some_and(|word| word.is(UNITS)) && !words[at + lead].ends;
    let open = lead > 0 && is(0, &["from", "von"]) && is(lead + 1, &["to", "bis"]);
    (!counted && !open && (lead > 0 || is_year_place(words, at)) && !here.quoted)
        .then(|| (lead + 1, vec![found]))
}

const UNITS: &[&str] = &[
    "euro",
    "euros",
    "eur",
    "usd",
    "dollars",
    "dollar",
    "people",
    "users",
    "rows",
    "lines",
    "items",
    "pages",
    "words",
    "employees",
    "km",
    "kg",
    "m",
    "meters",
    "percent",
    "times",
    "bytes",
    "mb",
    "gb",
    "seiten",
    "zeilen",
    "mitarbeiter",
    "stück",
    "personen",
    "error",
    "files",
    "documents",
    "hours",
    "days",
    "minutes",
    "seconds",
];

/// No word before the number says that it counts something else.
fn is_year_place(words: &[Word], at: usize) -> bool {
    const OTHER: &[&str] = &[
        "page",
        "pages",
        "room",
        "error",
        "port",
        "line",
        "lines",
        "section",
        "chapter",
        "invoice",
        "order",
        "number",
        "no",
        "nr",
        "issue",
        "ticket",
        "rfc",
        "iso",
        "din",
        "version",
        "v",
        "model",
        "code",
        "id",
        "building",
        "floor",
        "raum",
        "seite",
        "zimmer",
        "fehler",
        "zeile",
        "kapitel",
        "rechnung",
        "bestellung",
        "nummer",
        "windows",
        "office",
        "exchange",
        "server",
        "studio",
        "paragraph",
        "§",
        "figure",
        "table",
        "item",
        "bug",
        "article",
        "artikel",
        "part",
        "step",
        "build",
        "case",
        "status",
        "bus",
        "flight",
        "gate",
        "unit",
        "apartment",
        "suite",
        "box",
        "extension",
        "size",
        "exit",
        "offset",
        "pr",
        "before",
        "vor",
        "until",
        "bis",
        "area",
        "agenda",
        "cve",
        "than",
        "least",
        "most",
        "x",
        "pin",
        "zip",
        "plz",
        "sharepoint",
        "autocad",
        "dynamics",
        "and",
    ];
    let Some(before) = at.checked_sub(1).map(|before| &words[before]) else { return true };
    // `2019 and 2021`, `2019, 2020`: the number before was a year.
    let list = before.is(&["and", "or", "und", "oder"]) && at >= 2 && words[at - 2].taken;
    list || before.taken
        || before.quoted
        || before.ends
        || !OTHER.contains(&before.lower.as_str()) && !before.raw.ends_with(['#', '$', '€'])
}

#[cfg(test)]
mod tests;
