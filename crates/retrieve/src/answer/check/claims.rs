//! What a sentence claims that can be compared letter by letter: its numbers and its names.

use std::collections::HashSet;

/// What a text holds, to look claims up in.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldFacts {
    tokens: HashSet<String>,
    numbers: HashSet<String>,
}

impl HeldFacts {
    pub(super) fn of(text: &str) -> HeldFacts {
        let mut held = HeldFacts::default();
        held.add(text);
        held
    }

    pub(super) fn add(&mut self, text: &str) {
        index::tokens::index_tokens(text, &mut |token| {
            if let Some(number) = number_word(token) {
                self.numbers.insert(number.to_owned());
            }
            self.tokens.insert(token.to_owned());
        });
        for numeral in numerals(text) {
            self.numbers.extend(readings(numeral));
            // The commas of a table part its cells.
            numeral.split(',').for_each(|cell| self.numbers.extend(readings(cell)));
        }
    }

    pub(super) fn has_token(&self, token: &str) -> bool {
        self.tokens.contains(token)
            || token.strip_suffix('s').is_some_and(|singular| self.tokens.contains(singular))
            || self.tokens.contains(&format!("{token}s"))
    }

    fn has_number(&self, numeral: &str) -> bool {
        readings(numeral).iter().any(|reading| self.numbers.contains(reading))
    }

    fn has_name(&self, name: &str) -> bool {
        if let Some(month) = month(name) {
            return self.tokens.contains(&name.to_lowercase()) || self.numbers.contains(month);
        }
        tokens(name).iter().all(|token| self.has_token(token) || number_word(token).is_some())
    }
}

/// The numbers and names of a sentence that none of these texts holds.
pub(super) fn unheld(sentence: &str, held: &[&HeldFacts]) -> Vec<String> {
    let mut missing = Vec::new();
    for numeral in numerals(sentence) {
        if !held.iter().any(|held| held.has_number(numeral)) {
            missing.push(numeral.to_owned());
        }
    }
    for name in names(sentence) {
        if !held.iter().any(|held| held.has_name(name)) {
            missing.push(name.to_owned());
        }
    }
    missing
}

/// The words of a sentence that carry its meaning.
pub(super) fn telling_words(sentence: &str) -> Vec<String> {
    let mut words = tokens(sentence);
    words.retain(|word| word.chars().count() >= 3 && !crate::parse::is_stop_word(word));
    words.sort_unstable();
    words.dedup();
    words
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    index::tokens::index_tokens(text, &mut |token| tokens.push(token.to_owned()));
    tokens
}

/// Runs of digits with the signs within them: `1,234.50`, `3.5`, `2024`. A date or a time is several.
fn numerals(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() {
            let within =
                matches!(bytes[at], b'.' | b',') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            if !bytes[at].is_ascii_digit() && !within {
                break;
            }
            at += 1;
        }
        found.push(&text[start..at]);
    }
    found
}

/// How a numeral may be meant: `1.234` is a thousand and a bit, or one and a bit.
fn readings(numeral: &str) -> Vec<String> {
    let plain = |thousands: char, point: char| {
        let joined: String = numeral.chars().filter(|c| *c != thousands).collect();
        let joined = joined.replace(point, ".");
        let (before, after) = joined.split_once('.').unwrap_or((&joined, ""));
        let before = before.trim_start_matches('0');
        let after = after.trim_end_matches('0');
        let before = if before.is_empty() { "0" } else { before };
        if after.is_empty() { before.to_owned() } else { format!("{before}.{after}") }
    };
    let mut readings = vec![plain(',', '.'), plain('.', ',')];
    readings.dedup();
    readings
}

/// Words that are names: capitals within a sentence, two capitalised words at its beginning, abbreviations in capitals,
/// letters with digits. In German, where every noun has a capital, only the last two.
fn names(sentence: &str) -> Vec<&str> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let bare: Vec<&str> = words.iter().map(|word| bare(word)).collect();
    let nouns_have_capitals = is_german(&bare);
    let mut found = Vec::new();
    let mut begins = true;
    for (at, word) in bare.iter().enumerate() {
        if word.is_empty() {
            continue;
        }
        let has_capital = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        let is_mixed = letters > 0 && word.chars().any(|c| c.is_ascii_digit()) && !is_ordinal(word);
        let is_capitals = letters >= 2 && !word.chars().any(char::is_lowercase);
        let is_common = is_common(word);
        let next_has_capital =
            bare.get(at + 1).is_some_and(|next| has_capital(next)) && !words[at].ends_with([':', '.', ',']);
        let is_named = has_capital(word)
            && !nouns_have_capitals
            && !is_common
            && (!begins || (next_has_capital && letters >= 2));
        if is_mixed || is_capitals && !is_common || is_named {
            found.push(*word);
        }
        begins =
            words[at].ends_with(['.', '!', '?', ':', '"', '“']) || words[at].starts_with(['"', '“', '(']);
    }
    found
}

fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

/// Capitalised in the middle of a sentence without being a name.
fn is_common(word: &str) -> bool {
    let lower = word.to_lowercase();
    crate::parse::is_stop_word(&lower)
        || ["i", "ok", "yes", "no", "note", "source", "sources", "answer", "i'm", "i’m"]
            .contains(&lower.as_str())
}

/// `2nd`, `10th`, `90s`.
fn is_ordinal(word: &str) -> bool {
    let ending = word.trim_start_matches(|c: char| c.is_ascii_digit());
    ending.len() < word.len() && ["st", "nd", "rd", "th", "s", "x"].contains(&ending)
}

fn is_german(words: &[&str]) -> bool {
    const GERMAN: [&str; 18] = [
        "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "mit", "für", "von", "den", "dem", "auf",
        "sind", "wird", "im", "zu",
    ];
    words.iter().filter(|word| GERMAN.contains(&word.to_lowercase().as_str())).count() >= 2
}

fn number_word(token: &str) -> Option<&'static str> {
    const WORDS: [(&str, &str); 38] = [
        ("zero", "0"),
        ("one", "1"),
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
        ("nine", "9"),
        ("ten", "10"),
        ("eleven", "11"),
        ("twelve", "12"),
        ("thirteen", "13"),
        ("fourteen", "14"),
        ("fifteen", "15"),
        ("sixteen", "16"),
        ("seventeen", "17"),
        ("eighteen", "18"),
        ("nineteen", "19"),
        ("twenty", "20"),
        ("thirty", "30"),
        ("forty", "40"),
        ("fifty", "50"),
        ("sixty", "60"),
        ("seventy", "70"),
        ("eighty", "80"),
        ("ninety", "90"),
        ("hundred", "100"),
        ("zwei", "2"),
        ("drei", "3"),
        ("vier", "4"),
        ("fünf", "5"),
        ("sechs", "6"),
        ("sieben", "7"),
        ("acht", "8"),
        ("neun", "9"),
        ("zehn", "10"),
    ];
    WORDS.iter().find(|(word, _)| *word == token).map(|(_, number)| *number)
}

/// A month by its name is the same claim as its number in a date.
fn month(word: &str) -> Option<&'static str> {
    const MONTHS: [(&str, &str); 12] = [
        ("january", "1"),
        ("february", "2"),
        ("march", "3"),
        ("april", "4"),
        ("may", "5"),
        ("june", "6"),
        ("july", "7"),
        ("august", "8"),
        ("september", "9"),
        ("october", "10"),
        ("november", "11"),
        ("december", "12"),
    ];
    let lower = word.to_lowercase();
    MONTHS.iter().find(|(name, _)| *name == lower).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(sentence: &str, source: &str) -> Vec<String> {
        unheld(sentence, &[&HeldFacts::of(source)])
    }

    #[test]
    fn numbers_are_compared_however_they_are_written() {
        assert_eq!(missing("It costs 35.", "bicycle,Halden,35,59,free"), [""; 0]);
        let source = "Revenue was 1,234.50 in 2024-07-03; the limit is three, the rate 0.30 and 5.000 parts.";
        for held in
            ["It was 1234.5.", "The date is 3 July 2024.", "The limit is 3.", "A rate of 0.3.", "5,000 parts"]
        {
            assert_eq!(missing(held, source), [""; 0], "{held}");
        }
        assert_eq!(missing("It was 1235 in 2023.", source), ["1235", "2023"]);
    }

    #[test]
    fn names_are_compared_and_ordinary_words_are_not() {
        let source = "The Benelux target is owned by Pieter Maas. Part HX-204 is used by the NATO.";
        for held in [
            "The owner is Pieter Maas.",
            "Maas's target covers Benelux.",
            "NATO uses HX-204.",
            "Nothing else is said about it.",
            "Pieter Maas owns it.",
        ] {
            assert_eq!(missing(held, source), [""; 0], "{held}");
        }
        assert_eq!(missing("The owner is Solveig Dahl.", source), ["Solveig", "Dahl"]);
        assert_eq!(
            missing("Solveig Dahl owns it, says the UNO of HX-205.", source),
            ["205", "Solveig", "Dahl", "UNO", "HX-205"]
        );
    }

    #[test]
    fn german_nouns_are_not_names() {
        let source = "The target is owned by Pieter Maas.";
        assert_eq!(missing("Das Ziel ist im Besitz von Pieter Maas und der Firma.", source), [""; 0]);
    }
}
