//! The rules that a prefix and a length cannot express. Each gives back the credential itself, so that it
//! can be blanked where the file may be shown.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::assigned::Assigned;
use crate::lookalike::{
    is_common_password, is_drawn, is_hash_of_password, is_path, is_pattern, is_placeholder, is_repetition,
    is_sequence, is_uuid, without_escapes,
};
use crate::place::Sort;
use crate::randomness::{classes, entropy, is_hex, is_wordy, mixes_digits_and_letters};
use crate::site::*;

pub(crate) fn aws_access_key_id(site: KeywordSite<'_>) -> Option<&[u8]> {
    let id = run(site.after(17), upper_digit);
    let exact = matches!(site.keyword(), b"AKIA" | b"ASIA");
    // A longer run of capitals is base32 data, not an identifier.
    let alone = id.len() == 16 && !site.before(1).iter().any(|&byte| upper_digit(byte));
    // Documentation keys end in EXAMPLE. Otherwise the specification's pattern holds unchanged: this
    // is no place for a guess about randomness.
    let shown = id.ends_with(b"EXAMPLE") || id.iter().all(|byte| matches!(byte, b'X' | b'0' | b'A'));
    let word = site.keyword() == b"ASIA" && !id.iter().any(u8::is_ascii_digit);
    (exact && alone && !shown && !word).then(|| site.window(20))
}

/// The 40-character branch, in a credential context.
pub(crate) fn aws_secret_access_key(site: KeywordSite<'_>) -> Option<&[u8]> {
    static VALUE: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?i-u)\A(?:aws|secret)[^\n]{0,30}?[^0-9a-z/+\n]([0-9a-z/+]{40})(?:[^0-9a-z/+=]|\z)")
    });
    let is_aws = site.end - site.start == 3;
    if is_aws && !site.starts_word() && site.before(1) != b"_" {
        return None;
    }
    let window = site.window(88);
    // Most mentions of a secret are followed by words; a glance at them is cheaper than the pattern.
    if !window.split(|&byte| !base64(byte) || byte == b'=').skip(1).any(|run| run.len() >= 40) {
        return None;
    }
    let value = VALUE.captures(window)?.get(1)?.as_bytes();
    let slashes = value.iter().filter(|&&byte| byte == b'/').count();
    let mixed = value.iter().any(u8::is_ascii_lowercase) && value.iter().any(u8::is_ascii_uppercase);
    let drawn = entropy(value) >= 4.0
        && !is_hex(value)
        && slashes < 2
        && mixed
        && mixes_digits_and_letters(value)
        && !is_placeholder(value)
        && !is_wordy(value);
    drawn.then_some(value)
}

/// Three dotted segments where a token is expected: after `Authorization: Bearer`, after `…_token =`, or
/// unmistakable by themselves and near a word that says what they are.
pub(crate) fn jwt(site: KeywordSite<'_>) -> Option<&[u8]> {
    static AFTER_NAME: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r#"(?i-u)\A(?:bearer[ \t]+|_token[\\"'`\]]{0,3}[ \t]*[:=][ \t]*[\\"'`]{0,2})([a-z0-9_-]{8,}\.[a-z0-9_-]{8,}\.[a-z0-9_-]{8,})"#,
        )
    });
    static ALONE: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?-u)\A(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})")
    });
    const CONTEXT: [&[u8]; 6] = [b"token", b"bearer", b"jwt", b"auth", b"session", b"cookie"];
    let window = site.window(4096);
    if window.starts_with(b"eyJ") {
        let near = || {
            let before = site.before(64).to_ascii_lowercase();
            CONTEXT.iter().any(|&word| before.windows(word.len()).any(|part| part == word))
        };
        let found = site.starts_word().then(|| ALONE.find(window)).flatten()?;
        return (near() && !site.is_sample()).then(|| found.as_bytes());
    }
    let value = AFTER_NAME.captures(window)?.get(1)?.as_bytes();
    let drawn = value.starts_with(b"eyJ") || (mixes_digits_and_letters(value) && is_drawn(value));
    (drawn && !site.is_sample()).then_some(value)
}

/// `sk_` or `api_` and 32 characters or more, as the specification has it.
pub(crate) fn plain_api_key(site: KeywordSite<'_>) -> Option<&[u8]> {
    let alphabet = match site.keyword() {
        b"sk_" => |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        b"api_" => alphanumeric,
        _ => return None,
    };
    let value = run(site.after(65), alphabet);
    let inside_word = site.before(1).iter().any(u8::is_ascii_alphanumeric);
    // No file of 58,000 has this form by chance, so little is let go: what fills a form, and `api_` before a long name.
    let filler = value.iter().all(|byte| matches!(byte, b'x' | b'X' | b'0'));
    let name = value.iter().all(u8::is_ascii_alphabetic) && is_wordy(value);
    let key = value.len() >= 32 && !inside_word && !filler && !name;
    key.then(|| site.with(value))
}

/// `token = value` in any notation.
pub(crate) fn token_assignment(site: KeywordSite<'_>) -> Option<&[u8]> {
    // Places in a list and marks of a parser, not keys.
    #[rustfmt::skip]
    const OTHER_TOKENS: [&[u8]; 20] = [
        b"next", b"next_", b"nextpage", b"page", b"page_", b"continuation", b"pagination", b"sync", b"marker", b"cancel",
        b"cancellation", b"idempotency", b"request", b"request_", b"verification", b"verification_", b"sequence", b"client",
        b"client_", b"change",
    ];
    const SECRET_TOKENS: [&[u8]; 6] = [b"access_", b"access", b"auth_", b"auth", b"api_", b"api"];
    let assigned = Assigned::after(site.after(LONGEST))?;
    let name = site.name_before().to_ascii_lowercase();
    let other = OTHER_TOKENS.iter().any(|other| name.ends_with(other));
    if other || assigned.is_other_argument(site) || site.is_sample() {
        return None;
    }
    let value = assigned.value;
    let own_name = name.is_empty() || SECRET_TOKENS.iter().any(|secret| name.ends_with(secret));
    if is_uuid(value) && !own_name {
        return None;
    }
    let padding = value.iter().rev().take_while(|&&byte| byte == b'=').count();
    let unpadded = &value[..value.len() - padding];
    let spelled =
        unpadded.iter().all(|&byte| dashed(byte) || matches!(byte, b'.' | b'~' | b':' | b'+' | b'/'));
    if value.len() < 20 || !spelled || assigned.is_code() || is_path(value) {
        return None;
    }
    // Digits alone, and a phrase of words with a digit: only under a name that leaves no doubt, where values have no
    // quotes.
    let bare = matches!(site.place.sort, Sort::Config | Sort::Other) && own_name;
    if bare && value.iter().all(u8::is_ascii_digit) && !is_repetition_of_few(value) {
        return Some(value);
    }
    let dashes = value.iter().filter(|&&byte| byte == b'-').count();
    let phrase = dashes >= 3 && !value.contains(&b'_') && mixes_digits_and_letters(value) && !is_uuid(value);
    if bare && phrase && !assigned.enclosed && assigned.ends_line && !is_placeholder(value) {
        return Some(value);
    }
    if is_wordy(value) || value.starts_with(b"0123456789") {
        return None;
    }
    let drawn = if value.iter().all(u8::is_ascii_alphabetic) {
        !value.iter().all(|byte| byte.eq_ignore_ascii_case(&b'x')) && !has_placeholder_word(value)
    } else {
        mixes_digits_and_letters(value) && is_drawn(value)
    };
    drawn.then_some(value)
}

/// `00000000000000000000`, `11111111112222222222`.
fn is_repetition_of_few(value: &[u8]) -> bool {
    let mut kinds = value.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.len() <= 3
}

/// A repetition of one letter is a token to the specification, so only words count here.
fn has_placeholder_word(value: &[u8]) -> bool {
    !is_repetition(value) && is_placeholder(value)
}

pub(crate) fn bearer_token(site: KeywordSite<'_>) -> Option<&[u8]> {
    let after = site.after(LONGEST);
    let blanks = run(after, |byte| matches!(byte, b' ' | b'\t'));
    let value = run(&after[blanks.len()..], |byte| dashed_padded(byte) || matches!(byte, b'.' | b'~'));
    let drawn = !blanks.is_empty()
        && !site.is_sample()
        && value.len() >= 20
        && mixes_digits_and_letters(value)
        && !is_path(value)
        && is_drawn(value);
    drawn.then_some(value)
}

/// `secret_key = "value"` and its kin: a drawn value under a name that promises one.
pub(crate) fn credential_assignment(site: KeywordSite<'_>) -> Option<&[u8]> {
    // What is derived from a secret…
    #[rustfmt::skip]
    const DERIVED: [&[u8]; 12] = [
        b"hash", b"digest", b"checksum", b"sha1", b"sha256", b"sha512", b"md5", b"salt", b"fingerprint", b"public",
        b"encrypted", b"encod",
    ];
    // … and what describes one.
    #[rustfmt::skip]
    const ABOUT: [&[u8]; 14] = [
        b"file", b"path", b"url", b"uri", b"name", b"hint", b"placeholder", b"version", b"length", b"label", b"manager",
        b"less", b"pattern", b"regex",
    ];
    let tail = run(site.after(25), dashed);
    if tail.len() > 24 {
        return None;
    }
    let assigned = Assigned::after(&site.after(LONGEST)[tail.len()..])?;
    let holds = |name: &[u8], words: &[&[u8]]| {
        words.iter().any(|word| name.windows(word.len()).any(|part| part == *word))
    };
    let (name, tail) = (site.name_before().to_ascii_lowercase(), tail.to_ascii_lowercase());
    let other =
        holds(&name, &DERIVED) || holds(&tail, &DERIVED) || holds(&tail, &ABOUT) || tail.ends_with(b"id");
    if other || assigned.is_other_argument(site) || site.is_sample() {
        return None;
    }
    let value = assigned.value;
    // Outside quotes a value must be the rest of its line, as in `.env` and `.ini` files.
    let least = match (assigned.enclosed, site.place.sort) {
        (true, _) | (_, Sort::Config) => 12,
        _ => 16,
    };
    let long_enough = value.len() >= least && (assigned.enclosed || assigned.ends_line);
    let spelled = value.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'`\\".contains(byte));
    // `%22hunter%5C0%5C0…`: a piece of a longer text in a URL.
    let escaped = value.len() - without_escapes(value).len() >= 6;
    // A short value is a password if anything, and a drawn password mixes all kinds of characters.
    let rich = entropy(value) >= 3.0 && (value.len() >= 20 || classes(value) >= 3);
    let credential = long_enough
        && value.len() <= 200
        && spelled
        && rich
        && mixes_digits_and_letters(value)
        && !is_hash_of_password(value)
        && !is_pattern(value)
        && !escaped
        && !is_sequence(value)
        && !is_common_password(value)
        && !assigned.is_code()
        && !is_path(value)
        && is_drawn(value);
    credential.then_some(value)
}

/// A PEM or PuTTY private key with its body; the header alone is only a mention.
pub(crate) fn private_key(site: KeywordSite<'_>) -> Option<&[u8]> {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?-u)\A(?:-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,3})")
    });
    const ARMOR: [&[u8]; 5] = [b"Proc-Type:", b"DEK-Info:", b"Version:", b"Comment:", b"Hash:"];
    let window = site.window(1024);
    let header = HEADER.find(window)?;
    // A key as the text of a program, in a manual, shows how a function is called. A key by itself is a key.
    if site.is_sample() && site.before(2).ends_with(b"\"") {
        return None;
    }
    let mut rest = &window[header.end()..];
    let mut body = Vec::new();
    while body.len() < 40 {
        rest = match rest {
            // Line ends, written out or not, indentation, and the quotes of a string in several pieces.
            [b'\\', b'n' | b'r' | b't', after @ ..] => after,
            [b'b', b'"' | b'\'', after @ ..] => after,
            [byte, after @ ..] if byte.is_ascii_whitespace() || b"\"'`+,\\#*|>".contains(byte) => after,
            _ if ARMOR.iter().any(|line| rest.starts_with(line)) => {
                &rest[rest.iter().position(|byte| matches!(byte, b'\n' | b'\\')).unwrap_or(rest.len())..]
            }
            _ => {
                let piece = run(rest, base64);
                // No word is as long as that, so this is not prose about keys.
                if piece.len() < 16 {
                    return None;
                }
                body.extend_from_slice(piece);
                &rest[piece.len()..]
            }
        };
    }
    // Nothing is let go for a word in it: drawn text has one now and then, and too much is at stake.
    let drawn = entropy(&body) >= 3.5 && !is_repetition(&body);
    drawn.then(|| &window[..window.len() - rest.len()])
}

pub(crate) fn azure_storage_key(site: KeywordSite<'_>) -> Option<&[u8]> {
    let value = run(site.after(89), base64);
    (value.len() == 88 && value.ends_with(b"==") && is_drawn(&value[..86])).then_some(value)
}

pub(crate) fn sendgrid_key(site: KeywordSite<'_>) -> Option<&[u8]> {
    static KEY: LazyLock<Regex> =
        LazyLock::new(|| compile(r"(?-u)\ASG\.([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|\z)"));
    let key = site.starts_word().then(|| KEY.captures(site.window(72))).flatten()?.get(1)?.as_bytes();
    is_drawn(key).then(|| site.with(key))
}

pub(crate) fn slack_token(site: KeywordSite<'_>) -> Option<&[u8]> {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?-u)\A(?:xox[abeoprs]-(?:1-)?[0-9]{8,}-[A-Za-z0-9-]{12,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-([a-f0-9]{32,}))",
        )
    });
    let token = site.starts_word().then(|| TOKEN.find(site.window(256))).flatten()?.as_bytes();
    is_drawn(token).then_some(token)
}

pub(crate) fn slack_webhook(site: KeywordSite<'_>) -> Option<&[u8]> {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?-u)\Ahooks\.slack\.com/(?:services|workflows)/[A-Z0-9]{8,}/[A-Z0-9]{8,}/([A-Za-z0-9]{20,})",
        )
    });
    let key = PATH.captures(site.window(160))?.get(1)?.as_bytes();
    is_drawn(key).then_some(key)
}

/// The bot's number, a colon, and 35 characters that begin with AA.
pub(crate) fn telegram_bot_token(site: KeywordSite<'_>) -> Option<&[u8]> {
    let number = site.before(11);
    let digits = number.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let exact = site.keyword() == b":AA";
    let value = run(site.after(34), dashed);
    (exact && (8..=10).contains(&digits) && value.len() == 33 && is_drawn(value)).then(|| site.with(value))
}

pub(crate) fn twilio_key(site: KeywordSite<'_>) -> Option<&[u8]> {
    let window = site.window(35);
    let value = run(window.get(2..).unwrap_or_default(), lower_hex);
    let key = window.starts_with(b"SK") && value.len() == 32 && site.starts_word() && is_drawn(value);
    key.then_some(value)
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the rules' patterns are constants, compiled by the tests")
}
