//! What a question says of file types: by operators, by extensions, and by the names that people have for files.

use model::filetype::{self, Mark};

use super::request::{DETERMINERS, REQUEST};
use super::word::Word;
use crate::operators::Operators;

/// `ext:pdf` as everywhere, `type:pdf`, `*.docx` and `.docx`.
pub(super) fn take_operators(words: &mut [Word], exts: &mut Vec<String>) {
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
            if filetype::is_marked(ending, Mark::TypedAlone) {
                vec![format!(".{ending}")]
            } else {
                Vec::new()
            }
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

/// A word that can mean a type of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileTypeWord {
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
fn kind(word: &str) -> Option<FileTypeWord> {
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
        "pdfs" | "pdf's" | "pdf-dateien" | "pdf-dokumente" | "pdf-dokumenten" => (&[".pdf"], Form::Files),
        "ppts" | "powerpoints" | "powerpoint-dateien" | "powerpoint-präsentationen" => (SLIDES, Form::Files),
        "spreadsheets" | "spreadsheet" | "excel-dateien" | "excel-tabellen" | "exceldateien" | "exceltabellen" | "tabellenkalkulationen" => (SHEETS, Form::Files),
        "word-dokumente" | "word-dokumenten" | "word-dateien" | "worddokumente" => (WORD, Form::Files),
        "csvs" | "csv-dateien" => (&[".csv"], Form::Files),
        "xlsxs" | "xlsx-dateien" => (&[".xlsx"], Form::Files),
        "docxs" | "docx-dateien" => (&[".docx"], Form::Files),
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
        "text" => (&[".txt", ".md"], Form::Program),
        _ => return None,
    };
    Some(FileTypeWord { exts, form })
}

fn endings(kinds: &[FileTypeWord]) -> Vec<String> {
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
pub(super) const LINKS: &[&str] = &[
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

pub(super) fn take_types(words: &mut [Word], exts: &mut Vec<String>) {
    let doing = words.iter().any(|word| word.is(DOING));
    let mut at = 0;
    while at < words.len() {
        let taken = take_type(words, at, doing, exts);
        at += taken.max(1);
    }
}

/// Names of formats that are files far more often than the subject of a question.
const OFFICE: &[&str] = &[
    "pdf", "ppt", "pptx", "docx", "xls", "xlsx", "odt", "ods", "odp", "rtf", "epub", "eml", "ipynb", "pdfs",
    "ppts",
];

/// Words before a name of a format that make it the subject: `export to pdf`, `a pdf`.
const BEFORE_SUBJECT: &[&str] = &[
    "to", "into", "from", "a", "an", "the", "of", "with", "for", "without", "than", "vs", "versus", "via",
    "using", "zu", "ein", "eine", "einem", "mit", "ohne",
];

/// Names of formats without any word that says what they are for: alone (`pdf`, `docx or xlsx`), at the end of the question
/// (`vendor x 2021 ppt docx`), or several at its beginning (`pdf docx vendor x`).
pub(super) fn take_bare_names(words: &mut [Word], exts: &mut Vec<String>) {
    const JOINTS: &[&str] = &["or", "and", "oder", "und", "/", "&", ","];
    if words.iter().any(|word| word.is(DOING)) {
        return;
    }
    let is_name = |word: &Word| {
        let named = kind(&word.lower).is_some_and(|kind| matches!(kind.form, Form::Name | Form::Files));
        named && !word.quoted && !word.taken
    };
    let free: Vec<usize> = (0..words.len()).filter(|at| !words[*at].taken).collect();
    let run = |places: &mut dyn Iterator<Item = usize>| -> Vec<usize> {
        let mut run: Vec<usize> =
            places.take_while(|at| is_name(&words[*at]) || words[*at].is(JOINTS)).collect();
        // A joint at the inner end joins nothing.
        while run.last().is_some_and(|at| !is_name(&words[*at])) {
            run.pop();
        }
        run
    };
    let at_end = run(&mut free.iter().rev().copied());
    let at_begin = run(&mut free.iter().copied());
    let names = |run: &[usize]| run.iter().filter(|at| is_name(&words[**at])).count();
    let asks = |at: &usize| words[*at].is(REQUEST) || words[*at].is(DETERMINERS);
    let others = free.iter().filter(|at| !at_end.contains(at) && !asks(at)).count();
    let before = free.iter().rev().nth(at_end.len()).map(|at| &words[*at]);
    let is_subject = before.is_some_and(|word| word.is(BEFORE_SUBJECT) || word.is(FILE));
    let named_at_end = names(&at_end);
    let is_office = named_at_end == 1 && OFFICE.contains(&words[at_end[0]].lower.as_str());
    let is_filter = !is_subject && (named_at_end >= 2 || is_office);
    let mut taken: Vec<usize> = if (named_at_end > 0 && others == 0) || is_filter {
        at_end
    } else if names(&at_begin) >= 2
        && free.get(at_begin.len()).is_some_and(|at| !words[*at].is(ABOUT_FORMATS))
    {
        at_begin
    } else {
        return;
    };
    taken.sort_unstable();
    for at in taken {
        if let Some(found) = kind(&words[at].lower) {
            add(exts, endings(&[found]));
        }
        words[at].taken = true;
    }
}

/// What comes after formats that are the subject: `docx pdf converter`.
const ABOUT_FORMATS: &[&str] = &[
    "converter",
    "conversion",
    "parser",
    "parsers",
    "library",
    "libraries",
    "reader",
    "viewer",
    "export",
    "import",
    "generator",
    "editor",
    "extraction",
    "tool",
    "tools",
    "format",
    "formats",
    "support",
    "difference",
    "to",
    "versus",
    "vs",
];

/// Whether nothing, a year or a word that links is there: what is before it is not part of a longer name.
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
