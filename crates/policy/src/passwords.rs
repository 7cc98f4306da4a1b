//! Passwords: short, chosen by people, and recognised by their names and surroundings rather than by their form.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::assigned::Assigned;
use crate::column::cells_below;
use crate::lookalike::{
    is_common_password, is_drawn, is_hash_of_password, is_path, is_pattern, is_placeholder, is_repetition,
    is_sequence, without_escapes,
};
use crate::place::{SecretPlace, Sort};
use crate::randomness::{classes, entropy, is_wordy, mixes_digits_and_letters};
use crate::site::*;

/// `password: hunter22x`, `DB_PASS=…`, `define('DB_PASSWORD', '…')`.
pub(crate) fn password_assignment(site: KeywordSite<'_>) -> Option<&[u8]> {
    // What is about a password, or made of one.
    #[rustfmt::skip]
    const OTHER: [&[u8]; 33] = [
        b"hash", b"digest", b"salt", b"encrypted", b"encod", b"file", b"path", b"url", b"uri", b"name", b"hint", b"length",
        b"label", b"less", b"pattern", b"regex", b"policy", b"field", b"type", b"prompt", b"reset", b"change", b"update",
        b"valid", b"require", b"min", b"max", b"age", b"expir", b"store", b"manager", b"title", b"text",
    ];
    let after = site.after(LONGEST);
    let word = run(after, |byte| byte.is_ascii_alphabetic()).len();
    // `pass` by itself, `passwd`, `password`, `passphrase`, `passcode`; not `passed`, `passenger`, `bypass`.
    let is_pass = matches!(site.keyword().to_ascii_lowercase().as_slice(), b"pass");
    let known = [&b""[..], b"wd", b"word", b"wrd", b"phrase", b"code", b"wort"];
    let tail = run(after, dashed);
    let rest = tail[..word].to_ascii_lowercase();
    let camel = rest.first().is_some_and(|_| tail[0].is_ascii_uppercase());
    if tail.len() > 24
        || (is_pass
            && !camel
            && !known.iter().any(|end| rest.starts_with(end) && (!end.is_empty() || rest.is_empty())))
    {
        return None;
    }
    let name = site.name_before().to_ascii_lowercase();
    let joined = name.last().is_some_and(u8::is_ascii_alphabetic)
        && !site.keyword()[0].is_ascii_uppercase()
        && is_pass
        && rest.is_empty();
    let holds = |text: &[u8]| OTHER.iter().any(|word| text.windows(word.len()).any(|part| part == *word));
    let about = tail.to_ascii_lowercase();
    let about = about.strip_prefix(b"word".as_slice()).unwrap_or(&about);
    if joined || holds(about) || ends_in_other(&name) {
        return None;
    }
    let Some(assigned) = Assigned::after(&after[tail.len()..]) else {
        return told(site, &after[tail.len()..]);
    };
    if assigned.is_other_argument(site) || assigned.is_code() || site.is_sample() {
        return None;
    }
    let value = assigned.value;
    // Values without quotes occur in configuration and notes only; elsewhere a bare word is a name.
    let bare = matches!(site.place.sort, Sort::Config | Sort::Other) && assigned.ends_line;
    ((assigned.enclosed || bare) && is_password(value, site.place, assigned.enclosed)).then_some(value)
}

/// `The Wi-Fi password is: …`, where people write to people. A program says such things of its variables.
fn told<'t>(site: KeywordSite<'t>, after: &'t [u8]) -> Option<&'t [u8]> {
    static TOLD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?-u)\A(?:[ \t]+for[ \t][^\n.:;]{1,40}?)?[ \t]+(?:is|was|ist|lautet)(:?)[ \t]+[*_"'`]{0,3}([^\s"'`]{6,64})"#)
            .expect("the pattern is a constant, compiled by the tests")
    });
    if !(site.place.is_strict() || site.place.sort == Sort::Other) || site.is_sample() {
        return None;
    }
    let captures = TOLD.captures(after)?;
    let value = captures.get(2)?.as_bytes();
    let end = value.iter().rposition(|byte| !b".,;:!?)*_".contains(byte)).map_or(0, |last| last + 1);
    let value = &value[..end];
    // `ISO-8859-1`, `sha256-hashed`: words and numbers beside each other are names of things.
    let is_drawn_part =
        |part: &[u8]| part.len() >= 4 && mixes_digits_and_letters(part) && !is_word_with_number(part);
    let drawn = value.split(|byte| !byte.is_ascii_alphanumeric()).any(is_drawn_part);
    let colon = captures.get(1).is_some_and(|colon| !colon.is_empty());
    (value.len() >= 6 && (colon || drawn) && is_password(value, site.place, colon)).then_some(value)
}

/// The first cell below `password` in the header row of a table that would open something.
pub(crate) fn password_column(site: KeywordSite<'_>) -> Option<&[u8]> {
    let place = match site.place.sort {
        Sort::Other => SecretPlace { sort: Sort::Config, ..site.place },
        _ => site.place,
    };
    cells_below(site).into_iter().find(|cell| is_password(cell, place, true))
}

fn ends_in_other(name: &[u8]) -> bool {
    [
        &b"hashed_"[..],
        b"encrypted_",
        b"update_",
        b"reset_",
        b"change_",
        b"no",
        b"without_",
        b"has_",
        b"is_",
        b"use_",
    ]
    .iter()
    .any(|start| name.ends_with(start))
}

/// A value that would open something, as far as one can tell from how hard it is to guess.
fn is_password(value: &[u8], place: SecretPlace, enclosed: bool) -> bool {
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()).count();
    let spelled =
        value.iter().all(|byte| (byte.is_ascii_graphic() || !byte.is_ascii()) && !b"\"'`\\<>".contains(byte));
    let reference = matches!(
        value.first(),
        Some(b'$' | b'%' | b'{' | b'@' | b'&' | b'*' | b'!' | b'(' | b'[' | b'|' | b'-' | b':' | b'/')
    ) && !(enclosed && mixes_digits_and_letters(value));
    let harmless = !spelled
        || reference
        || value.len() > 64
        || value.len() - without_escapes(value).len() >= 6
        || is_placeholder(value)
        || is_common_password(value)
        || is_word_of_programs(value)
        || is_repetition(value)
        || is_sequence(value)
        || is_path(value)
        || is_pattern(value)
        || is_hash_of_password(value)
        || value.windows(2).any(|pair| matches!(pair, b"::" | b"->" | b"()" | b"=="));
    if harmless {
        return false;
    }
    let mixed = mixes_digits_and_letters(value);
    if place.is_strict() {
        return value.len() >= 5 && letters >= 2 && (mixed || classes(value) >= 3 || bare_word(value, place));
    }
    match place.sort {
        Sort::Docs | Sort::Sample => !is_wordy(value) && mixed && classes(value) >= 3 && value.len() >= 8,
        // In tests, and where the file says nothing, only what a machine drew or a careful person chose.
        Sort::Test => {
            value.len() >= 8
                && mixed
                && !is_wordy(value)
                && !is_word_with_number(value)
                && classes(value) >= 3
        }
        Sort::Code | Sort::Other | Sort::Config => {
            let chosen = value.len() >= 8 && letters >= 3 && classes(value) >= 3 && !is_wordy(value);
            let drawn = value.len() >= 6 && mixed && !is_wordy(value) && !is_word_with_number(value);
            let letters_only = place.sort == Sort::Config
                && value.len() >= 8
                && letters == value.len()
                && !is_wordy(value)
                && entropy(value) >= 2.5;
            chosen || drawn || letters_only
        }
    }
}

/// In strict files a plain word is a password where values have no quotes.
fn bare_word(value: &[u8], place: SecretPlace) -> bool {
    value.len() >= 6 && matches!(place.sort, Sort::Config) && value.iter().all(u8::is_ascii_graphic)
}

/// `Ajith123`, `karl2019`: a name or a word and a number.
fn is_word_with_number(value: &[u8]) -> bool {
    let stem = value.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    stem >= 4 && value[stem..].iter().all(u8::is_ascii_digit) && value.len() - stem <= 4
}

/// Placeholders for a value in programs and forms.
pub(crate) fn is_word_of_programs(value: &[u8]) -> bool {
    #[rustfmt::skip]
    const WORDS: [&str; 40] = [
        "none", "null", "nil", "true", "false", "undefined", "string", "str", "text", "bool", "boolean", "required",
        "optional", "string?", "always", "on_create", "never", "default", "empty", "prompt", "value", "varchar", "hidden",
        "username", "login", "unset", "disabled", "enabled", "unknown", "redacted", "omitted", "masked", "postgres", "mysql",
        "vagrant", "docker", "guest", "root", "letmein", "foobar",
    ];
    let value = value.to_ascii_lowercase();
    WORDS.iter().any(|word| value == word.as_bytes())
        || value.ends_with(b"password")
        || value.ends_with(b"pwd")
}

/// `://user:password@host`.
pub(crate) fn password_in_url(site: KeywordSite<'_>) -> Option<&[u8]> {
    static USER_INFO: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"(?-u)\A://([^\s:/@"'`<>(){}\[\]|,]{0,64}):([^\s/@"'`<>(){}\[\]|,]{4,128})@([A-Za-z0-9._-]{1,253}|\[)"#,
        )
        .expect("the pattern is a constant, compiled by the tests")
    });
    let captures = USER_INFO.captures(site.window(512))?;
    let part = |number: usize| captures.get(number).map_or(&b""[..], |found| found.as_bytes());
    let (user, password, host) = (part(1), part(2), part(3).to_ascii_lowercase());
    let value = &without_escapes(password);
    let local = [&b"localhost"[..], b"127.", b"0.0.0.0", b"host", b"server", b"example", b"proxy"]
        .iter()
        .any(|start| host.starts_with(start))
        || host.windows(7).any(|part| part == b"example")
        || host.ends_with(b".test")
        || host.ends_with(b".local");
    if user == password || value.len() < 4 || site.is_sample() || is_word_of_programs(value) {
        return None;
    }
    let strong =
        value.len() >= 8 && mixes_digits_and_letters(value) && entropy(value) >= 3.0 && is_drawn(value);
    let remote = host.contains(&b'.') && !local;
    let plain = site.place.is_strict() || remote;
    let drawn = !is_sequence(value)
        && !is_common_password(value)
        && (strong || (plain && is_password(value, SecretPlace { sort: Sort::Config, ..site.place }, true)));
    drawn.then_some(password)
}

/// `Authorization: Basic …`: a user's name and password in base64.
pub(crate) fn basic_authorization(site: KeywordSite<'_>) -> Option<&[u8]> {
    let after = site.after(LONGEST);
    let blanks = run(after, |byte| matches!(byte, b' ' | b'\t'));
    let value = run(&after[blanks.len()..], base64);
    if blanks.is_empty() || value.len() < 12 || site.is_sample() || is_placeholder(value) {
        return None;
    }
    let decoded = decoded(value)?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    let (user, password) = (&decoded[..colon], &decoded[colon + 1..]);
    let printable = decoded.iter().all(|byte| byte.is_ascii_graphic());
    let secret = printable
        && !user.is_empty()
        && user != password
        && password.len() >= 5
        && is_password(password, SecretPlace { sort: Sort::Config, ..site.place }, true);
    secret.then_some(value)
}

/// The private part of a JSON web key.
pub(crate) fn jwk_private_key(site: KeywordSite<'_>) -> Option<&[u8]> {
    static PRIVATE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?-u)"(?:d|k)"\s*:\s*"([A-Za-z0-9_-]{22,})""#)
            .expect("the pattern is a constant, compiled by the tests")
    });
    if site.is_sample() {
        return None;
    }
    // The members of a key come in any order; the object is what its braces enclose.
    let start = site.start.saturating_sub(4096);
    let open =
        site.text[start..site.start].iter().rposition(|&byte| byte == b'{').map_or(start, |at| start + at);
    let rest = &site.text[open..site.text.len().min(open + 8192)];
    let object = &rest[..rest.iter().position(|&byte| byte == b'}').unwrap_or(rest.len())];
    let value = PRIVATE.captures(object)?.get(1)?.as_bytes();
    (entropy(value) >= 3.5 && !is_repetition(value) && !is_wordy(value)).then_some(value)
}

fn decoded(value: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(value.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for &byte in value.iter().take_while(|&&byte| byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(six)) & 0xff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        assert_eq!(decoded(b"am86aHVudGVyMg==").as_deref(), Some(&b"jo:hunter2"[..]));
        assert_eq!(decoded(b"***"), None);
    }
}
