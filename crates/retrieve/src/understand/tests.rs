//! Questions and what they mean, by example; then any question at all.

use proptest::prelude::*;

use super::*;

const THIS_YEAR: i32 = 2026;

/// Question, words left, types, years.
type Case = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // The question of the contract, and its kin.
    ("contracts about vendor X from 2021 in ppt or docx", "contracts vendor X", ".ppt .pptx .docx", "2021"),
    ("Find vendor X contracts from 2021 in ppt or docx", "vendor X contracts", ".ppt .pptx .docx", "2021"),
    ("Verträge über Lieferant X aus 2021 als PDF", "Verträge Lieferant X", ".pdf", "2021"),
    ("show me all documents about solar panels", "solar panels", "", ""),
    ("find me the documents regarding the merger", "the merger", "", ""),
    ("please find contracts with Acme", "contracts with Acme", "", ""),
    ("zeige mir alle Dokumente über Wärmepumpen", "Wärmepumpen", "", ""),
    ("suche nach Rechnungen von Müller", "Rechnungen von Müller", "", ""),
    ("search for invoices", "invoices", "", ""),
    ("files about budget", "budget", "", ""),
    // Types in their places.
    ("budget in pdf", "budget", ".pdf", ""),
    ("budget as pdf", "budget", ".pdf", ""),
    ("budget in PDF format", "budget", ".pdf", ""),
    ("budget in pdf, docx or xlsx", "budget", ".pdf .docx .xlsx", ""),
    ("pdf files about budget", "budget", ".pdf", ""),
    ("pdf files budget", "budget", ".pdf", ""),
    ("word documents about hiring", "hiring", ".docx .doc", ""),
    ("excel files with revenue", "revenue", ".xlsx .xls .ods .csv", ""),
    ("excel sheets from 2020", "", ".xlsx .xls .ods .csv", "2020"),
    ("spreadsheets with revenue by region", "revenue by region", ".xlsx .xls .ods .csv", ""),
    ("powerpoints about strategy", "strategy", ".pptx .ppt .odp", ""),
    ("powerpoint presentations about strategy", "strategy", ".pptx .ppt .odp", ""),
    ("presentations about strategy", "strategy", ".pptx .ppt .odp", ""),
    ("presentation on the roadmap", "the roadmap", ".pptx .ppt .odp", ""),
    ("slides about onboarding", "onboarding", ".pptx .ppt .odp", ""),
    ("roadmap in slides", "roadmap", ".pptx .ppt .odp", ""),
    ("PDFs about safety", "safety", ".pdf", ""),
    ("quarterly report pdfs", "quarterly report", ".pdf", ""),
    ("emails from Jane about the launch", "Jane the launch", ".eml .mbox .msg", ""),
    ("the launch mentioned in emails", "the launch mentioned", ".eml .mbox .msg", ""),
    ("notebooks about clustering", "clustering", ".ipynb", ""),
    ("jupyter notebooks about clustering", "clustering", ".ipynb", ""),
    ("contracts *.docx", "contracts", ".docx", ""),
    ("contracts .docx", "contracts", ".docx", ""),
    ("contracts in .docx or .pdf files", "contracts", ".docx .pdf", ""),
    ("contracts type:pdf", "contracts", ".pdf", ""),
    ("contracts filetype:ppt", "contracts", ".ppt .pptx", ""),
    ("contracts ext:docx,pdf", "contracts", ".docx .pdf", ""),
    ("only pdfs about safety", "safety", ".pdf", ""),
    ("safety manual pdf only", "safety manual", ".pdf", ""),
    ("nur PDF über Sicherheit", "Sicherheit", ".pdf", ""),
    ("PDF-Dateien über Sicherheit", "Sicherheit", ".pdf", ""),
    ("Präsentationen über Strategie", "Strategie", ".pptx .ppt .odp", ""),
    ("Excel-Tabellen mit Umsatz", "mit Umsatz", ".xlsx .xls .ods .csv", ""),
    ("Word-Dokumente aus 2019", "", ".docx .doc", "2019"),
    ("pdf and excel files about costs", "costs", ".pdf .xlsx .xls .ods .csv", ""),
    ("pdf or docx about costs", "costs", ".pdf .docx", ""),
    ("costs in word documents", "costs", ".docx .doc", ""),
    ("costs in an excel file", "costs", ".xlsx .xls .ods .csv", ""),
    ("costs in xls", "costs", ".xlsx .xls .ods .csv", ""),
    ("costs in doc", "costs", ".doc .docx", ""),
    ("path:finance costs in pdf -draft", "path:finance costs -draft", ".pdf", ""),
    // Names of formats alone or at the end, as the specification writes them.
    ("vendor x 2021 ppt docx", "vendor x", ".ppt .pptx .docx", "2021"),
    ("vendor x ppt docx 2021", "vendor x", ".ppt .pptx .docx", "2021"),
    ("pdf", "", ".pdf", ""),
    ("docx", "", ".docx", ""),
    ("xlsx", "", ".xlsx", ""),
    ("ppt", "", ".ppt .pptx", ""),
    ("PDF", "", ".pdf", ""),
    ("csv", "", ".csv", ""),
    ("pdf docx", "", ".pdf .docx", ""),
    ("pdf or docx", "", ".pdf .docx", ""),
    ("pdf, docx, xlsx", "", ".pdf .docx .xlsx", ""),
    ("pdf 2021", "", ".pdf", "2021"),
    ("2021 pdf", "", ".pdf", "2021"),
    ("budget pdf", "budget", ".pdf", ""),
    ("annual report pdf", "annual report", ".pdf", ""),
    ("annual report 2023 pdf", "annual report", ".pdf", "2023"),
    ("lease agreement docx", "lease agreement", ".docx", ""),
    ("revenue xlsx 2024", "revenue", ".xlsx", "2024"),
    ("revenue xlsx csv", "revenue", ".xlsx .csv", ""),
    ("kickoff pptx or pdf", "kickoff", ".pptx .pdf", ""),
    ("budget pdf docx xlsx", "budget", ".pdf .docx .xlsx", ""),
    ("pdf docx vendor x", "vendor x", ".pdf .docx", ""),
    ("ppt and docx for vendor x", "for vendor x", ".ppt .pptx .docx", ""),
    ("launch eml", "launch", ".eml", ""),
    ("show me pdfs", "", ".pdf", ""),
    ("find pdf", "", ".pdf", ""),
    ("find me the budget pdf", "budget", ".pdf", ""),
    ("Vertrag Lieferant X docx", "Vertrag Lieferant X", ".docx", ""),
    ("Angebot 2022 pdf", "Angebot", ".pdf", "2022"),
    // All of something.
    ("all pdf files", "", ".pdf", ""),
    ("all pdfs", "", ".pdf", ""),
    ("all files from 2020", "", "", "2020"),
    ("all the pdf files", "", ".pdf", ""),
    ("all my spreadsheets", "", ".xlsx .xls .ods .csv", ""),
    ("all word documents", "", ".docx .doc", ""),
    ("all excel files from 2020", "", ".xlsx .xls .ods .csv", "2020"),
    ("every pdf file", "", ".pdf", ""),
    ("list all pdfs", "", ".pdf", ""),
    ("list pdf files", "", ".pdf", ""),
    ("show all docx files", "", ".docx", ""),
    ("show me all files from 2020", "", "", "2020"),
    ("all documents from 2019 to 2021", "", "", "2019 2020 2021"),
    ("everything from 2020", "", "", "2020"),
    ("all pdfs and docx files", "", ".pdf .docx", ""),
    ("all pdfs from last year", "", ".pdf", "2025"),
    ("all files", "", "", ""),
    ("list all files", "", "", ""),
    ("show me all documents", "", "", ""),
    ("list everything", "", "", ""),
    ("everything", "", "", ""),
    ("which files are there", "", "", ""),
    ("what documents do we have", "", "", ""),
    ("alle PDF-Dateien", "", ".pdf", ""),
    ("alle Dateien aus 2020", "", "", "2020"),
    ("alle Dateien", "", "", ""),
    ("zeige mir alle Dokumente", "", "", ""),
    ("*", "", "", ""),
    ("*.pdf", "", ".pdf", ""),
    ("*.pdf ?", "", ".pdf", ""),
    ("all pdf files about budget", "budget", ".pdf", ""),
    ("all files about budget", "budget", "", ""),
    ("last year's contracts", "contracts", "", "2025"),
    ("text files about the roof", "the roof", ".txt .md", ""),
    // Signs are words that no file holds.
    ("🙂", "🙂", "", ""),
    ("%", "%", "", ""),
    ("(((", "(((", "", ""),
    ("file", "file", "", ""),
    // Types that are the subject.
    ("docx pdf converter", "docx pdf converter", "", ""),
    ("export to pdf", "export to pdf", "", ""),
    ("table of contents of a pdf", "table of contents of a pdf", "", ""),
    ("import json", "import json", "", ""),
    ("parse json", "parse json", "", ""),
    ("response body json", "response body json", "", ""),
    ("pdf parser library", "pdf parser library", "", ""),
    ("how to write an excel macro", "how to write an excel macro", "", ""),
    ("how to create a pivot table in excel", "how to create a pivot table in excel", "", ""),
    ("convert docx to pdf", "convert docx to pdf", "", ""),
    ("save report as pdf", "save report as pdf", "", ""),
    ("pdf file parser", "pdf file parser", "", ""),
    ("email server configuration", "email server configuration", "", ""),
    ("presentation skills training", "presentation skills training", "", ""),
    ("notebook computers for staff", "notebook computers for staff", "", ""),
    ("word embeddings", "word embeddings", "", ""),
    ("meaning hidden in word order", "meaning hidden in word order", "", ""),
    ("errors in pdf parsers", "errors in pdf parsers", "", ""),
    ("find command", "find command", "", ""),
    ("find and replace", "find and replace", "", ""),
    ("list comprehension", "list comprehension", "", ""),
    (".net core", ".net core", "", ""),
    ("html escaping", "html escaping", "", ""),
    ("Wie exportieren wir als PDF", "Wie exportieren wir als PDF", "", ""),
    // Quoted text stays whole.
    ("\"in pdf files from 2021\" budget", "\"in pdf files from 2021\" budget", "", ""),
    ("\"vendor X\" contracts 2021", "\"vendor X\" contracts", "", "2021"),
    ("“annual report 2020” summary", "“annual report 2020” summary", "", ""),
    // Years.
    ("budget 2021", "budget", "", "2021"),
    ("budget for 2021", "budget", "", "2021"),
    ("budget of the year 2021", "budget", "", "2021"),
    ("2021 budget", "budget", "", "2021"),
    ("budget 2019-2021", "budget", "", "2019 2020 2021"),
    ("budget 2019–2021", "budget", "", "2019 2020 2021"),
    ("budget between 2019 and 2021", "budget", "", "2019 2020 2021"),
    ("budget from 2019 to 2021", "budget", "", "2019 2020 2021"),
    ("budget 2019 to 2020", "budget", "", "2019 2020"),
    ("Umsatz zwischen 2019 und 2021", "Umsatz", "", "2019 2020 2021"),
    ("Umsatz von 2019 bis 2021", "Umsatz", "", "2019 2020 2021"),
    ("budget 2019 and 2021", "budget", "", "2019 2021"),
    ("budget 2019, 2021", "budget", "", "2019 2021"),
    ("contracts since 2024", "contracts", "", "2024 2025 2026"),
    ("Verträge seit 2025", "Verträge", "", "2025 2026"),
    ("contracts after 2024", "contracts", "", "2025 2026"),
    ("contracts from 2024 onwards", "contracts", "", "2024 2025 2026"),
    ("contracts from last year", "contracts", "", "2025"),
    ("contracts this year", "contracts", "", "2026"),
    ("Verträge vom letzten Jahr", "Verträge", "", "2025"),
    ("Verträge dieses Jahr", "Verträge", "", "2026"),
    ("reports of the last two years", "reports", "", "2024 2025 2026"),
    ("minutes of May 2021", "minutes of May", "", "2021"),
    ("Q3 2021 results", "Q3 results", "", "2021"),
    ("what changed in 2021?", "what changed", "", "2021"),
    // Numbers that are no years.
    ("page 2021", "page 2021", "", ""),
    ("room 2021", "room 2021", "", ""),
    ("pallets of 1200 x 2000", "pallets of 1200 x 2000", "", ""),
    ("error 2021", "error 2021", "", ""),
    ("windows server 2019 licence", "windows server 2019 licence", "", ""),
    ("RFC 2045", "RFC 2045", "", ""),
    ("budget of 2000 euros", "budget of 2000 euros", "", ""),
    ("Seite 2010", "Seite 2010", "", ""),
    ("port 2049", "port 2049", "", ""),
    ("invoice 20210503", "invoice 20210503", "", ""),
    ("meeting on 2021-05-03", "meeting on 2021-05-03", "", ""),
    ("year 1850", "year 1850", "", ""),
    ("contracts before 2010", "contracts before 2010", "", ""),
    ("CVE-2021-44228", "CVE-2021-44228", "", ""),
    // Nothing but filters, and nothing at all.
    ("pdfs from 2021", "", ".pdf", "2021"),
    ("documents from 2021", "", "", "2021"),
    ("2021", "", "", "2021"),
    ("", "", "", ""),
    ("find", "find", "", ""),
    ("about", "about", "", ""),
];

#[test]
fn questions_are_understood() {
    let mut wrong = Vec::new();
    for (query, text, exts, years) in CASES {
        let found = understand(query, THIS_YEAR);
        let (found_exts, found_years) = (found.exts.join(" "), found.years.join(" "));
        if (found.text.as_str(), found_exts.as_str(), found_years.as_str()) != (*text, *exts, *years) {
            wrong.push(format!("{query:?} → {:?} [{found_exts}] [{found_years}]", found.text));
        }
        let is_list = text.is_empty() && !query.is_empty();
        if found.lists != is_list {
            wrong.push(format!("{query:?} lists: {}", found.lists));
        }
        let is_plain = found.exts.is_empty() && found.years.is_empty() && !found.lists;
        if found.notes.is_empty() != is_plain {
            wrong.push(format!("{query:?} notes: {:?}", found.notes));
        }
    }
    assert!(CASES.len() >= 80);
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), CASES.len());
}

#[test]
fn s029_a_query_for_full_text_search() {
    let fts = |query: &str| fts(&understand(query, THIS_YEAR)).0;
    assert_eq!(fts("Find vendor contract from 2021 in ppt or docx"), "NEAR(vendor contract, 5) AND (2021)");
    assert_eq!(fts("\"vendor X\" c++ 2019-2020"), "\"c++\" AND \"vendor X\" AND (2019 OR 2020)");
    assert_eq!(fts("price NEAR"), "NEAR(price \"NEAR\", 5)");
    assert_eq!(fts(""), "\"\"");
}

/// A table with a few rows, to ask whether a query is valid.
fn database() -> rusqlite::Connection {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "create virtual table t using fts5(x); insert into t values ('vendor contract of 2021')",
        )
        .unwrap();
    connection
}

fn count(connection: &rusqlite::Connection, query: &str) -> rusqlite::Result<i64> {
    connection.query_row("select count(*) from t where t match ?1", [query], |row| row.get(0))
}

#[test]
fn every_example_is_a_valid_query() {
    let connection = database();
    for (query, ..) in CASES {
        let (made, note) = fts(&understand(query, THIS_YEAR));
        let found = count(&connection, &made);
        assert!(found.is_ok(), "{query}: {made}: {found:?}");
        assert_eq!(note.contains("NEAR"), made.contains("NEAR("), "{made}");
    }
    assert_eq!(count(&connection, &fts(&understand("vendor contract from 2021 in pdf", THIS_YEAR)).0), Ok(1));
}

proptest! {
    #[test]
    fn any_question_is_read(query in "(\\PC|[a-z]|\\s|\"|in |as |pdf |docx |or |from |since |last year |20[0-9]{2}|-|find |about |NEAR|\\*\\.|type:|\\x00){0,24}") {
        let found = understand(&query, THIS_YEAR);
        let had_word = query.split_whitespace().next().is_some();
        if found.text.trim().is_empty() {
            prop_assert!(!had_word || found.lists);
        }
        // A blank may come between a quotation and what touched it.
        prop_assert!(found.text.len() <= query.len() * 2);
        prop_assert!(found.years.iter().all(|year| year.len() == 4));
        prop_assert!(found.exts.iter().all(|ext| ext.starts_with('.')));
        let (made, _) = fts(&found);
        let answer = count(&database(), &made);
        prop_assert!(answer.is_ok(), "{}: {:?}", made, answer);
    }
}
