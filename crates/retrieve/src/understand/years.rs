//! What a question says of years.

use super::word::Word;

const FIRST_YEAR: i32 = 1900;
const LAST_YEAR: i32 = 2099;

pub(super) fn take_years(words: &mut [Word], this_year: i32) -> Vec<String> {
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
    if (last || this) && is(the + 1, &["year", "year's", "year’s", "jahr", "jahres"]) {
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
        "pin",
        "zip",
        "plz",
        "sharepoint",
        "autocad",
        "dynamics",
        "and",
    ];
    let Some(before) = at.checked_sub(1).map(|before| &words[before]) else { return true };
    // `1200 x 2000` are measures; `vendor x 2021` is not.
    let is_size =
        before.lower == "x" && at >= 2 && words[at - 2].lower.bytes().all(|byte| byte.is_ascii_digit());
    if is_size {
        return false;
    }
    // `2019 and 2021`, `2019, 2020`: the number before was a year.
    let list = before.is(&["and", "or", "und", "oder"]) && at >= 2 && words[at - 2].taken;
    list || before.taken
        || before.quoted
        || before.ends
        || !OTHER.contains(&before.lower.as_str()) && !before.raw.ends_with(['#', '$', '€'])
}
