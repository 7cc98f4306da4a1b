//! Texts that look like a credential but are not one: placeholders, sequences, paths, names.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::randomness::{entropy, is_hex, is_wordy, word_share};

/// Drawn by a machine, as far as one can tell.
pub(crate) fn is_drawn(value: &[u8]) -> bool {
    varies(value) && !is_wordy(value) && !is_placeholder(value)
}

/// The same of a value behind a provider's prefix, which speaks for it: only plain words are let go.
pub(crate) fn is_drawn_key(value: &[u8]) -> bool {
    varies(value) && word_share(value) < 0.85 && !is_placeholder(value)
}

/// Written by a person to show where a value goes.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    // A drawn value of 40 characters holds one of these words once in 5,000 times. Then the marks of
    // templates: shell, Python, XML.
    #[rustfmt::skip]
    const WORDS: [&str; 44] = [
        "example", "sample", "changeme", "change-me", "change_me", "changethis", "change-this", "change_this",
        "placeholder", "your-", "your_", "yourapi", "xxxx", "****", "...", "----", "____", "dummy", "insert", "replace",
        "redacted", "fixme", "foobar", "lorem", "not-a-", "not_a_", "abc123", "0000000", "deadbeef", "insecure", "token",
        "secret", "passw", "session", "credential", "test", "fake", "demo", "mock",
        "${", "$(", "%(", "<", ">",
    ];
    static ANY: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let words = AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS);
        words.expect("a few short words make a small automaton")
    });
    // Printed in standards (RFC 6749, 6750, 7009), and copied from there into every OAuth library.
    #[rustfmt::skip]
    const PUBLISHED: [&[u8]; 5] = [
        b"2YotnFZFEjr1zCsicMWpAA", b"tGzv3JOkF0XG5Qx2TlKWIA", b"45ghiukldjahdnhzdauz", b"mF_9.B5f-4.1JqM",
        b"czZCaGRSa3F0MzpnWDFmQmF0M2JW",
    ];
    let braces = value.contains(&b'{') && value.contains(&b'}');
    braces || is_repetition(value) || PUBLISHED.contains(&value) || ANY.is_match(value)
}

/// At most two different letters or digits, or much the same every few characters.
pub(crate) fn is_repetition(value: &[u8]) -> bool {
    let mut solid = value.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let Some(first) = solid.next() else { return true };
    let second = solid.clone().find(|&byte| byte != first);
    let start = &value[..value.len().min(96)];
    let recurs = |period: usize| {
        let equal = start.iter().zip(&start[period..]).filter(|(one, other)| one == other).count();
        equal * 10 >= (start.len() - period) * 8
    };
    second.is_none_or(|second| solid.all(|byte| byte == first || byte == second))
        || (1..=start.len() / 3).any(recurs)
}

/// Mostly steps along the alphabet or the digits, as in `AbCdEf!123456`.
pub(crate) fn is_sequence(value: &[u8]) -> bool {
    let step = |pair: &&[u8]| pair[0].to_ascii_lowercase().abs_diff(pair[1].to_ascii_lowercase()) == 1;
    value.windows(2).filter(step).count() * 2 >= value.len()
}

/// 8-4-4-4-12 hex digits. Rather a name than a secret, unless its own name says otherwise.
pub(crate) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Leads somewhere rather than being something.
pub(crate) fn is_path(value: &[u8]) -> bool {
    let slashes = value.iter().filter(|&&byte| byte == b'/').count();
    matches!(value, [b'/' | b'~', ..] | [b'.', b'/', ..] | [b'.', b'.', ..])
        || value.windows(3).any(|part| part == b"://")
        || (slashes >= 3 && slashes * 12 > value.len())
}

/// Without `%C3%A4` and the like, whose digits are not the password's.
pub(crate) fn without_escapes(value: &[u8]) -> Vec<u8> {
    let mut parts = value.split(|&byte| byte == b'%');
    let mut plain = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let escaped = part.len() >= 2 && part[..2].iter().all(u8::is_ascii_hexdigit);
        plain.extend_from_slice(if escaped { &part[2..] } else { part });
    }
    plain
}

/// What crypt(3), Django and MySQL keep of a password.
pub(crate) fn is_hash_of_password(value: &[u8]) -> bool {
    value.first() == Some(&b'$')
        || value.iter().filter(|&&byte| byte == b'$').count() >= 2
        || matches!(value, [b'*', digest @ ..] if digest.len() == 40 && is_hex(digest))
}

/// A pattern for secrets, as these rules have them.
pub(crate) fn is_pattern(value: &[u8]) -> bool {
    [&b"[a-"[..], b"[A-", b"[0-", b"(?", b".*", b"\\w"]
        .iter()
        .any(|mark| value.windows(mark.len()).any(|part| part == *mark))
}

/// `p4ssw0rd1` is an example, not a secret.
pub(crate) fn is_common_password(value: &[u8]) -> bool {
    let plain: Vec<u8> = value
        .iter()
        .map(|byte| match byte.to_ascii_lowercase() {
            b'4' | b'@' => b'a',
            b'5' | b'$' => b's',
            b'0' => b'o',
            b'3' => b'e',
            b'1' | b'!' => b'i',
            other => other,
        })
        .collect();
    [&b"pass"[..], b"secret", b"admin", b"test", b"user", b"qwerty"]
        .iter()
        .any(|word| plain.windows(word.len()).any(|part| part == *word))
}

fn varies(value: &[u8]) -> bool {
    entropy(value) >= if value.len() < 20 { 2.5 } else { 2.9 }
}
