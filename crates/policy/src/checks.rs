//! The rules that a prefix and a length cannot express.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::assigned::Assigned;
use crate::lookalike::{
    is_common_password, is_drawn, is_path, is_placeholder, is_repetition, is_sequence, is_uuid,
    without_escapes,
};
use crate::randomness::{classes, entropy, is_hex, is_wordy, mixes_digits_and_letters};
use crate::site::*;

pub(crate) fn aws_access_key_id(site: Site<'_>) -> bool {
    let id = run(site.after(17), upper_digit);
    let exact = matches!(site.keyword(), b"AKIA" | b"ASIA");
    // A longer run of capitals is base32 data, not an identifier.
    let alone = id.len() == 16 && !site.before(1).iter().any(|&byte| upper_digit(byte));
    // Documentation keys end in EXAMPLE. Otherwise the specification's pattern holds as it stands: this
    // is no place for a guess about randomness.
    let shown = id.ends_with(b"EXAMPLE") || id.iter().all(|byte| matches!(byte, b'X' | b'0' | b'A'));
    let word = site.keyword() == b"ASIA" && !id.iter().any(u8::is_ascii_digit);
    exact && alone && !shown && !word
}

/// The 40-character branch, in a credential context.
pub(crate) fn aws_secret_access_key(site: Site<'_>) -> bool {
    static VALUE: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?i-u)\A(?:aws|secret)[^\n]{0,30}?[^0-9a-z/+\n]([0-9a-z/+]{40})(?:[^0-9a-z/+=]|\z)")
    });
    let is_aws = site.end - site.start == 3;
    if is_aws && !site.starts_word() && site.before(1) != b"_" {
        return false;
    }
    let window = site.window(88);
    // Most mentions of a secret are followed by words; a glance at them is cheaper than the pattern.
    if !window.split(|&byte| !base64(byte) || byte == b'=').skip(1).any(|run| run.len() >= 40) {
        return false;
    }
    VALUE.captures(window).is_some_and(|captures| {
        let value = &captures[1];
        let slashes = value.iter().filter(|&&byte| byte == b'/').count();
        let mixed = value.iter().any(u8::is_ascii_lowercase) && value.iter().any(u8::is_ascii_uppercase);
        entropy(value) >= 4.0
            && !is_hex(value)
            && slashes < 2
            && mixed
            && mixes_digits_and_letters(value)
            && !is_placeholder(value)
            && !is_wordy(value)
    })
}

/// Three dotted segments where a token is expected: after `Authorization: Bearer`, after `…_token =`, or
/// unmistakable by themselves and near a word that says what they are.
pub(crate) fn jwt(site: Site<'_>) -> bool {
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
        return site.starts_word() && ALONE.is_match(window) && near();
    }
    AFTER_NAME.captures(window).is_some_and(|captures| {
        let value = &captures[1];
        value.starts_with(b"eyJ") || (mixes_digits_and_letters(value) && is_drawn(value))
    })
}

/// `sk_` or `api_` and 32 characters or more, as the specification has it.
pub(crate) fn plain_api_key(site: Site<'_>) -> bool {
    let alphabet = match site.keyword() {
        b"sk_" => |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        b"api_" => alphanumeric,
        _ => return false,
    };
    let value = run(site.after(65), alphabet);
    let inside_word = site.before(1).iter().any(u8::is_ascii_alphanumeric);
    let filler = value.iter().all(|byte| matches!(byte, b'x' | b'X' | b'0'));
    value.len() >= 32 && !inside_word && !filler && !is_wordy(value)
}

/// `token = value` in any notation.
pub(crate) fn token_assignment(site: Site<'_>) -> bool {
    // Places in a list and marks of a parser, not keys.
    #[rustfmt::skip]
    const OTHER_TOKENS: [&[u8]; 16] = [
        b"next", b"next_", b"nextpage", b"page", b"page_", b"continuation", b"pagination", b"sync", b"marker", b"cancel",
        b"cancellation", b"idempotency", b"request", b"request_", b"verification", b"verification_",
    ];
    const SECRET_TOKENS: [&[u8]; 6] = [b"access_", b"access", b"auth_", b"auth", b"api_", b"api"];
    let Some(assigned) = Assigned::after(site.after(LONGEST)) else { return false };
    let name = site.name_before().to_ascii_lowercase();
    if OTHER_TOKENS.iter().any(|other| name.ends_with(other)) || assigned.is_other_argument(site) {
        return false;
    }
    let value = assigned.value;
    let own_name = name.is_empty() || SECRET_TOKENS.iter().any(|secret| name.ends_with(secret));
    if is_uuid(value) && !own_name {
        return false;
    }
    let padding = value.iter().rev().take_while(|&&byte| byte == b'=').count();
    let unpadded = &value[..value.len() - padding];
    let spelled =
        unpadded.iter().all(|&byte| dashed(byte) || matches!(byte, b'.' | b'~' | b':' | b'+' | b'/'));
    if value.len() < 20 || !spelled || assigned.is_code() || is_path(value) || is_wordy(value) {
        return false;
    }
    if value.iter().all(u8::is_ascii_alphabetic) {
        return !value.iter().all(|byte| byte.eq_ignore_ascii_case(&b'x')) && !has_placeholder_word(value);
    }
    mixes_digits_and_letters(value) && is_drawn(value)
}

/// A repetition of one letter is a token to the specification, so only words count here.
fn has_placeholder_word(value: &[u8]) -> bool {
    !is_repetition(value) && is_placeholder(value)
}

pub(crate) fn bearer_token(site: Site<'_>) -> bool {
    let after = site.after(LONGEST);
    let blanks = run(after, |byte| matches!(byte, b' ' | b'\t'));
    let value = run(&after[blanks.len()..], |byte| dashed_padded(byte) || matches!(byte, b'.' | b'~'));
    !blanks.is_empty()
        && value.len() >= 20
        && mixes_digits_and_letters(value)
        && !is_path(value)
        && is_drawn(value)
}

/// `secret_key = "value"` and its kin: a drawn value under a name that promises one.
pub(crate) fn credential_assignment(site: Site<'_>) -> bool {
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
        return false;
    }
    let Some(assigned) = Assigned::after(&site.after(LONGEST)[tail.len()..]) else { return false };
    let holds = |name: &[u8], words: &[&[u8]]| {
        words.iter().any(|word| name.windows(word.len()).any(|part| part == *word))
    };
    let (name, tail) = (site.name_before().to_ascii_lowercase(), tail.to_ascii_lowercase());
    let other =
        holds(&name, &DERIVED) || holds(&tail, &DERIVED) || holds(&tail, &ABOUT) || tail.ends_with(b"id");
    if other || assigned.is_other_argument(site) {
        return false;
    }
    let value = assigned.value;
    // Outside quotes a value must be the rest of its line, as in `.env` and `.ini` files.
    let long_enough =
        if assigned.enclosed { value.len() >= 12 } else { value.len() >= 16 && assigned.ends_line };
    let spelled = value.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'`\\".contains(byte));
    // A pattern for secrets, as in this file.
    let pattern = [&b"[a-"[..], b"[A-", b"[0-", b"(?"]
        .iter()
        .any(|mark| value.windows(mark.len()).any(|part| part == *mark));
    // crypt(3), Django and MySQL.
    let hash_of_password = value.first() == Some(&b'$')
        || value.iter().filter(|&&byte| byte == b'$').count() >= 2
        || matches!(value, [b'*', digest @ ..] if digest.len() == 40 && is_hex(digest));
    // `%22hunter%5C0%5C0…`: a piece of a longer text in a URL.
    let escaped = value.len() - without_escapes(value).len() >= 6;
    // A short value is a password if anything, and a drawn password mixes all kinds of characters.
    let rich = entropy(value) >= 3.0 && (value.len() >= 20 || classes(value) >= 3);
    long_enough
        && value.len() <= 200
        && spelled
        && rich
        && mixes_digits_and_letters(value)
        && !hash_of_password
        && !pattern
        && !escaped
        && !is_sequence(value)
        && !is_common_password(value)
        && !assigned.is_code()
        && !is_path(value)
        && is_drawn(value)
}

pub(crate) fn password_in_url(site: Site<'_>) -> bool {
    static USER_INFO: LazyLock<Regex> = LazyLock::new(|| {
        compile(r#"(?-u)\A://[^\s:/@"'`<>(){}\[\]|,]{0,64}:([^\s:/@"'`<>(){}\[\]|,]{8,128})@[A-Za-z0-9\[]"#)
    });
    USER_INFO.captures(site.window(256)).is_some_and(|captures| {
        let value = &without_escapes(&captures[1]);
        value.len() >= 8
            && mixes_digits_and_letters(value)
            && entropy(value) >= 3.0
            && !is_sequence(value)
            && !is_common_password(value)
            && is_drawn(value)
    })
}

/// A PEM or PuTTY private key with its body; the header alone is only a mention.
pub(crate) fn private_key(site: Site<'_>) -> bool {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?-u)\A(?:-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,3})")
    });
    const ARMOR: [&[u8]; 5] = [b"Proc-Type:", b"DEK-Info:", b"Version:", b"Comment:", b"Hash:"];
    let window = site.window(1024);
    let Some(header) = HEADER.find(window) else { return false };
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
                    return false;
                }
                body.extend_from_slice(piece);
                &rest[piece.len()..]
            }
        };
    }
    // Nothing is let go for a word in it: drawn text has one now and then, and too much is at stake.
    entropy(&body) >= 3.5 && !is_repetition(&body)
}

pub(crate) fn azure_storage_key(site: Site<'_>) -> bool {
    let value = run(site.after(89), base64);
    value.len() == 88 && value.ends_with(b"==") && is_drawn(&value[..86])
}

pub(crate) fn sendgrid_key(site: Site<'_>) -> bool {
    static KEY: LazyLock<Regex> =
        LazyLock::new(|| compile(r"(?-u)\ASG\.([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|\z)"));
    site.starts_word() && KEY.captures(site.window(72)).is_some_and(|captures| is_drawn(&captures[1]))
}

pub(crate) fn slack_token(site: Site<'_>) -> bool {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?-u)\A(?:xox[abeoprs]-(?:1-)?[0-9]{8,}-[A-Za-z0-9-]{12,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-([a-f0-9]{32,}))",
        )
    });
    site.starts_word() && TOKEN.find(site.window(256)).is_some_and(|token| is_drawn(token.as_bytes()))
}

pub(crate) fn slack_webhook(site: Site<'_>) -> bool {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?-u)\Ahooks\.slack\.com/(?:services|workflows)/[A-Z0-9]{8,}/[A-Z0-9]{8,}/([A-Za-z0-9]{20,})",
        )
    });
    PATH.captures(site.window(160)).is_some_and(|captures| is_drawn(&captures[1]))
}

/// The bot's number, a colon, and 35 characters that begin with AA.
pub(crate) fn telegram_bot_token(site: Site<'_>) -> bool {
    let number = site.before(11);
    let digits = number.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let exact = site.keyword() == b":AA";
    let value = run(site.after(34), dashed);
    exact && (8..=10).contains(&digits) && value.len() == 33 && is_drawn(value)
}

pub(crate) fn twilio_key(site: Site<'_>) -> bool {
    let window = site.window(35);
    let value = run(window.get(2..).unwrap_or_default(), lower_hex);
    window.starts_with(b"SK") && value.len() == 32 && site.starts_word() && is_drawn(value)
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the rules' patterns are constants, compiled by the tests")
}
