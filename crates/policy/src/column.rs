//! Tables whose header row names a column of passwords: `name,password,age`, and the cells below that name.
//!
//! A cell carries no name of its own, so the rules that look for a name and a value on one line do not see it. The header
//! row is recognised in CSV and TSV, in rows of a spreadsheet and in tables of Markdown.

use crate::site::KeywordSite;

/// Longer header rows are not read: a line of that length is data of another kind.
const LONGEST_HEADER: usize = 2 << 10;

/// A row with longer quoted cells is cut at its line's end.
const LONGEST_ROW: usize = 8 << 10;

/// Rows in sequence without the column before the table counts as ended.
const MOST_OTHER_ROWS: usize = 8;

/// The header row of a table that has passwords.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PasswordColumns {
    separator: u8,
    /// Counted from 0.
    columns: Vec<usize>,
    /// How many cells a row must have, where the header could also be a sentence with commas.
    exactly: Option<usize>,
}

impl PasswordColumns {
    /// What a line says of the table below it, if the line is a header row.
    pub(crate) fn of_header(line: &[u8]) -> Option<PasswordColumns> {
        let line = line.trim_ascii_end();
        if line.len() > LONGEST_HEADER {
            return None;
        }
        let separator = [b'\t', b'|', b';', b','].into_iter().find(|byte| line.contains(byte))?;
        // Programs list names too, but indented or in brackets.
        if matches!(separator, b',' | b';') && line.first().is_none_or(u8::is_ascii_whitespace) {
            return None;
        }
        let cells = Row::read(line, separator).cells;
        let is_spaced =
            matches!(separator, b',' | b';') && line.windows(2).any(|pair| pair == [separator, b' ']);
        let (least, words) = if is_spaced { (3, 2) } else { (2, 4) };
        let filled = cells.iter().filter(|cell| !cell.is_empty()).count();
        if filled < least || !cells.iter().all(|cell| cell.is_empty() || is_column_name(cell, words)) {
            return None;
        }
        let columns: Vec<usize> = (0..cells.len()).filter(|&at| names_passwords(cells[at])).collect();
        let exactly = is_spaced.then_some(cells.len());
        (!columns.is_empty()).then_some(PasswordColumns { separator, columns, exactly })
    }

    /// The passwords in rows of the table: every cell of those columns that is filled.
    pub(crate) fn cells_in<'t>(&self, rows: &'t [u8]) -> Vec<&'t [u8]> {
        let mut found = Vec::new();
        let (mut rest, mut others) = (rows, 0);
        while !rest.is_empty() && others < MOST_OTHER_ROWS {
            let row = Row::read(rest, self.separator);
            rest = &rest[row.bytes..];
            if row.cells.iter().all(|cell| cell.is_empty()) {
                break;
            }
            // The header of another table looks after its own rows.
            if self.columns.iter().any(|&at| row.cells.get(at).is_some_and(|cell| names_passwords(cell))) {
                break;
            }
            let is_row = row.cells.len() > 1 && self.exactly.is_none_or(|count| row.cells.len() == count);
            let cells = self.columns.iter().filter(|_| is_row).filter_map(|&at| row.cells.get(at).copied());
            let before = found.len();
            found.extend(cells.filter(|cell| !cell.is_empty()));
            others = if found.len() > before { 0 } else { others + 1 };
        }
        found
    }
}

/// The cells below the header row that a keyword is in; none where it is in no such row.
pub(crate) fn cells_below(site: KeywordSite<'_>) -> Vec<&[u8]> {
    let before = site.before(LONGEST_HEADER);
    let after = site.after(LONGEST_HEADER);
    let Some(end) = after.iter().position(|&byte| byte == b'\n') else { return Vec::new() };
    let start = site.start - before.len();
    let is_cut = start > 0 && site.text[start - 1] != b'\n';
    // A name looks like those of the keywords before it on the line; the first of them is enough.
    let is_first =
        !before.windows(3).any(|part| part.eq_ignore_ascii_case(b"pas") || part.eq_ignore_ascii_case(b"pwd"));
    if is_cut || !is_first {
        return Vec::new();
    }
    let line_end = site.end + end;
    match PasswordColumns::of_header(&site.text[start..line_end]) {
        Some(columns) => columns.cells_in(&site.text[line_end + 1..]),
        None => Vec::new(),
    }
}

/// One row of a table.
struct Row<'t> {
    /// Without their quotes and the blanks around them.
    cells: Vec<&'t [u8]>,
    /// The row's length, with its line end.
    bytes: usize,
}

impl<'t> Row<'t> {
    /// The first row of a text that is not empty.
    fn read(text: &'t [u8], separator: u8) -> Row<'t> {
        let mut cells = Vec::new();
        let mut at = 0;
        loop {
            let start = at + text[at..].iter().take_while(|byte| matches!(byte, b' ')).count();
            let quoted = match text.get(start) {
                Some(b'"') => closing_quote(text, start + 1, separator),
                _ => None,
            };
            let (cell, end) = match quoted {
                Some(end) => (start + 1..end, end + 1),
                None => {
                    let is_end = |&byte: &u8| byte == separator || byte == b'\n';
                    let end =
                        text[start..].iter().position(is_end).map_or(text.len(), |length| start + length);
                    (start..end, end)
                }
            };
            cells.push(text[cell].trim_ascii());
            let ends_cell = |&byte: &u8| byte == separator || byte == b'\n';
            at = text[end..].iter().position(ends_cell).map_or(text.len(), |length| end + length);
            match text.get(at) {
                Some(&byte) if byte == separator => at += 1,
                Some(_) => return Row { cells, bytes: at + 1 },
                None => return Row { cells, bytes: at },
            }
        }
    }
}

/// Where a quoted cell ends. Doubled quotes are part of it.
fn closing_quote(text: &[u8], from: usize, separator: u8) -> Option<usize> {
    let mut at = from;
    while at < text.len().min(from + LONGEST_ROW) {
        match (text[at], text.get(at + 1)) {
            (b'"', Some(b'"')) => at += 2,
            (b'"', None | Some(b'\r' | b'\n' | b' ')) => return Some(at),
            (b'"', Some(&next)) => return (next == separator).then_some(at),
            _ => at += 1,
        }
    }
    None
}

/// A few words, as the names of columns are.
fn is_column_name(cell: &[u8], most_words: usize) -> bool {
    let is_plain =
        |&byte: &u8| byte.is_ascii_alphanumeric() || b" _-./#*".contains(&byte) || !byte.is_ascii();
    cell.len() <= 40
        && cell.iter().all(is_plain)
        && cell.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii())
        && cell.split(|&byte| byte == b' ').count() <= most_words
}

/// `password`, `Wi-Fi password`, `user_passwd`, `PWD`; not `password hash`, `password changed at`.
fn names_passwords(cell: &[u8]) -> bool {
    const NAMES: [&[u8]; 8] =
        [b"password", b"passwords", b"passwd", b"passwort", b"passphrase", b"passcode", b"pass", b"pwd"];
    // A word of its own or the end of a joined one.
    const ENDS: [&[u8]; 4] = [b"password", b"passwd", b"passwort", b"passphrase"];
    const OTHER: [&[u8]; 9] =
        [b"hash", b"encr", b"reset", b"forgot", b"change", b"has", b"is", b"no", b"require"];
    let lower = cell.to_ascii_lowercase();
    let words: Vec<&[u8]> =
        lower.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
    let Some((last, others)) = words.split_last() else { return false };
    let is_name = NAMES.contains(last) || ENDS.iter().any(|end| last.ends_with(end));
    is_name && !others.iter().any(|word| OTHER.iter().any(|other| word.starts_with(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<&str> {
        let (header, rows) = text.split_once('\n').unwrap();
        let Some(columns) = PasswordColumns::of_header(header.as_bytes()) else { return Vec::new() };
        columns.cells_in(rows.as_bytes()).into_iter().map(|cell| std::str::from_utf8(cell).unwrap()).collect()
    }

    #[test]
    fn cells_below_a_name() {
        for (text, expected) in [
            ("name,password,age\nanna,one,30\nbob,two,41\n", &["one", "two"][..]),
            ("name;Wi-Fi password\r\nanna;one\r\n", &["one"]),
            ("user_passwd\tname\n one \tanna", &["one"]),
            ("| name | Password |\n|---|---|\n| anna | one |\n\n| other | two |", &["---", "one"]),
            ("\"name\",\"password\"\n\"a, b\",\"o,ne\"\n\"two\nlines\",\"t\"\"wo\"\n", &["o,ne", "t\"\"wo"]),
            // Rows that are shorter, or empty, do not end the table.
            ("name,password,age\nanna\nbob,two\n,,\ncarl,three,4\n", &["two"]),
            ("name,password,age\nanna\nbob,two\ncarl,,\ndora,three,4\n", &["two", "three"]),
            ("password,admin password\none,two\n", &["one", "two"]),
            ("name, password, age\nanna, one, 30\nbob, two\n", &["one"]),
        ] {
            assert_eq!(cells(text), expected, "{text}");
        }
    }

    #[test]
    fn other_lines_are_no_headers() {
        for line in [
            "password",
            "    user, password, host",
            "login(user, password)",
            "user = \"x\", password = \"y\"",
            "name,password_hash,age",
            "name,password changed,age",
            "name,has password",
            "Use a long password, a short name, and whatever else you like",
            "Enter your password, then press the key",
            "Forget the password, the name, and the rest of it",
            "compass,bypassed",
            "INSERT INTO users (name, password) VALUES",
        ] {
            assert_eq!(PasswordColumns::of_header(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn prose_below_a_table_ends_it() {
        let prose = "A line without a separator\n".repeat(20);
        assert_eq!(cells(&format!("name,password\nanna,one\n{prose}this, two\n")), ["one"]);
    }
}
