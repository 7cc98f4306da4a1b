//! Credentials: what the scan knows, and what is worth a blank though not worth holding a file back.

use std::sync::LazyLock;

use regex::Regex;
use regex::bytes;

use super::{RedactedSpan, RedactionKind};
use crate::assigned::Assigned;
use crate::column::{PasswordColumns, cells_below};
use crate::lookalike::{is_path, is_repetition};
use crate::passwords::is_word_of_programs;
use crate::place::SecretPlace;
use crate::randomness::{is_wordy, mixes_digits_and_letters, word_share};
use crate::secrets::TUNED;
use crate::site::{KeywordSite, LONGEST, dashed, run};

pub(super) fn find<'r>(
    text: &str,
    custom: impl Iterator<Item = &'r bytes::Regex>,
    spans: &mut Vec<RedactedSpan>,
) {
    let mut blank = |start: usize, end: usize| {
        let (start, end) = (text.floor_char_boundary(start), text.ceil_char_boundary(end));
        if start < end {
            spans.push(RedactedSpan { start, end, kind: RedactionKind::Secret });
        }
    };
    for (site, rules) in TUNED.sites(text.as_bytes(), SecretPlace::SHOWN) {
        // The forms below look at all JWTs, once.
        for rule in rules.iter().filter(|rule| rule.name != "jwt") {
            if let Some(credential) = rule.likely_credential(site) {
                let range = site.range_of(credential);
                blank(range.start, range.end);
            }
        }
        if let Some(value) = assigned(site) {
            let range = site.range_of(value);
            blank(range.start, range.end);
        }
        if [&b"pass"[..], b"pwd"].iter().any(|keyword| site.keyword().eq_ignore_ascii_case(keyword)) {
            for cell in cells_below(site).into_iter().filter(|cell| is_filled(cell)) {
                let range = site.range_of(cell);
                blank(range.start, range.end);
            }
        }
    }
    for form in FORMS.iter() {
        for captures in form.pattern.captures_iter(text) {
            let Some(found) = captures.get(1) else { continue };
            if (form.holds)(found.as_str()) {
                blank(found.start(), found.end());
            }
        }
    }
    for pattern in custom {
        for found in pattern.find_iter(text.as_bytes()) {
            blank(found.start(), found.end());
        }
    }
}

/// Passwords in rows of a table whose header, the first line of the whole text, is too far above the rows to be seen with
/// them.
pub(super) fn find_below_header(whole: &str, rows: &str, spans: &mut Vec<RedactedSpan>) {
    let header = whole.split('\n').next().unwrap_or_default();
    let Some(columns) = PasswordColumns::of_header(header.as_bytes()) else { return };
    for cell in columns.cells_in(rows.as_bytes()).into_iter().filter(|cell| is_filled(cell)) {
        let start = cell.as_ptr().addr() - rows.as_ptr().addr();
        let (start, end) = (rows.floor_char_boundary(start), rows.ceil_char_boundary(start + cell.len()));
        spans.push(RedactedSpan { start, end, kind: RedactionKind::Secret });
    }
}

/// `password: hunter2`: a value under a name that promises a secret, in any notation.
fn assigned(site: KeywordSite<'_>) -> Option<&[u8]> {
    #[rustfmt::skip]
    const NAMES: [&[u8]; 16] = [
        b"passw", b"pwd", b"secret", b"token", b"api_key", b"apikey", b"api-key", b"access_key", b"accesskey",
        b"access-key", b"private_key", b"privatekey", b"auth_key", b"authkey", b"account_key", b"accountkey",
    ];
    // A name about a secret, or one for something that is not secret.
    #[rustfmt::skip]
    const OTHER: [&[u8]; 22] = [
        b"hash", b"digest", b"file", b"path", b"url", b"uri", b"name", b"hint", b"length", b"len", b"label", b"field",
        b"type", b"count", b"public", b"regex", b"pattern", b"limit", b"size", b"policy", b"version", b"expir",
    ];
    #[rustfmt::skip]
    const NEXT: [&[u8]; 11] = [
        b"next", b"page", b"continuation", b"sync", b"cancel", b"idempotency", b"eos_", b"bos_", b"pad_", b"max_", b"stop_",
    ];
    let keyword = site.keyword().to_ascii_lowercase();
    if !NAMES.contains(&&keyword[..]) {
        return None;
    }
    let tail = run(site.after(25), dashed);
    if tail.len() > 24 {
        return None;
    }
    let found = Assigned::after(&site.after(LONGEST)[tail.len()..])?;
    let (name, lower_tail) = (site.name_before().to_ascii_lowercase(), tail.to_ascii_lowercase());
    let holds = |name: &[u8], words: &[&[u8]]| {
        words.iter().any(|word| name.windows(word.len()).any(|part| part == *word))
    };
    if holds(&lower_tail, &OTHER) || holds(&name, &NEXT) || lower_tail.ends_with(b"id") || found.is_listed() {
        return None;
    }
    // `<password>@host` is a template, `<password>x1y2z3</password>` an element.
    if !found.enclosed && site.after(tail.len() + 1).ends_with(b">") {
        return None;
    }
    let value = trimmed(found.value);
    let password = matches!(&keyword[..], b"passw" | b"pwd");
    // In a query or a connection string every value is meant: `;Pwd=letmein;`.
    let before = site.before(1 + name.len());
    let listed = !found.enclosed
        && before.len() > name.len()
        && matches!(before[0], b';' | b'?' | b'&')
        && site.after(tail.len() + 1).ends_with(b"=");
    let (least, mixed) = if password { (6, is_mixed(value)) } else { (8, mixes_digits_and_letters(value)) };
    if listed && value.len() >= 4 && !is_template(value) {
        return Some(value);
    }
    let plain = value.iter().all(|byte| byte.is_ascii_graphic() || !byte.is_ascii());
    let names_itself = !found.enclosed
        && holds(&value.to_ascii_lowercase(), &[b"passw", b"pwd", b"token", b"secret", b"key"]);
    let candidate = value.len() >= least
        && value.len() <= 400
        && mixed
        && plain
        && !names_itself
        && !is_template(value)
        && !is_repetition(value)
        && !is_path(value)
        && !found.is_code();
    // A password may be a word with a year; a key is drawn.
    (candidate && (password || (value.len() >= 12 || found.enclosed) && !is_wordy(value))).then_some(value)
}

/// A cell below `password` that holds one, rather than a remark about it.
pub(super) fn is_filled(cell: &[u8]) -> bool {
    (4..=128).contains(&cell.len())
        && cell.iter().any(u8::is_ascii_alphanumeric)
        && !cell.iter().any(u8::is_ascii_whitespace)
        && !is_template(cell)
        && !is_repetition(cell)
        && !is_word_of_programs(cell)
}

/// Without the mark that ends the sentence and is not the password's.
fn trimmed(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| !b".,:".contains(byte)).map_or(0, |last| last + 1);
    &value[..end]
}

fn is_mixed(value: &[u8]) -> bool {
    let letter = value.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    let other = value.iter().any(|byte| byte.is_ascii_digit() || b"!@#$^*".contains(byte));
    letter && other
}

/// Shows where a value goes: `<password>`, `${PASSWORD}`, `%s`, `{{ token }}`, `*****`.
fn is_template(value: &[u8]) -> bool {
    let marks =
        [&b"${"[..], b"$(", b"{{", b"}}", b"%(", b"***", b"...", b"[SECRET", b"[EMAIL", b"[PHONE", b"[IBAN"];
    value.iter().any(|byte| matches!(byte, b'<' | b'>' | b'{' | b'}'))
        || marks.iter().any(|mark| value.windows(mark.len()).any(|part| part == *mark))
        || matches!(value, [b'$' | b'%', rest @ ..] if rest.iter().all(|byte| dashed(*byte) || *byte == b'%'))
}

/// A pattern whose first group is the credential, if it holds what it seems to.
struct CredentialPattern {
    pattern: Regex,
    holds: fn(&str) -> bool,
}

static FORMS: LazyLock<Vec<CredentialPattern>> = LazyLock::new(|| {
    let form = |pattern: &str, holds: fn(&str) -> bool| CredentialPattern {
        pattern: Regex::new(pattern).expect("the patterns are constants, compiled by the tests"),
        holds,
    };
    let any: fn(&str) -> bool = |_| true;
    let value: fn(&str) -> bool = |value| !is_template(value.as_bytes());
    let drawn: fn(&str) -> bool = |value| {
        let value = value.as_bytes();
        !is_repetition(value) && !is_wordy(value) && !is_path(value)
    };
    let password: fn(&str) -> bool = |value| {
        let value = value.as_bytes();
        is_mixed(value) && !is_template(value) && !is_path(value)
    };
    let mixed: fn(&str) -> bool = |value| {
        let value = value.as_bytes();
        mixes_digits_and_letters(value) && !is_repetition(value) && word_share(value) < 0.85
    };
    vec![
        // Keys by their form, documentation keys among them.
        form(r"\b((?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16})\b", |value| {
            mixes_digits_and_letters(value.as_bytes())
        }),
        form(r"\b((?:sk|rk|pk)[-_](?:live|test)[-_][A-Za-z0-9]{8,})", mixed),
        form(r"\b(sk-[A-Za-z0-9]{20,})", |value| {
            !is_repetition(&value.as_bytes()[3..]) && word_share(&value.as_bytes()[3..]) < 0.85
        }),
        form(r"\b(sk-[A-Za-z0-9_-]{14,})", |value| {
            mixes_digits_and_letters(value.as_bytes()) && !is_wordy(&value.as_bytes()[3..])
        }),
        form(r"\b(xox[abeoprs]-[A-Za-z0-9-]{10,})", |value| mixes_digits_and_letters(value.as_bytes())),
        form(r"\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?)", any),
        form(r"\b(SG\.[A-Za-z0-9_-]{14,}\.[A-Za-z0-9_-]{14,})", mixed),
        form(r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/]{16,})", mixed),
        form(r"discord(?:app)?\.com/api/webhooks/([0-9]{6,}/[A-Za-z0-9_-]{16,})", any),
        form(r"\b([0-9]{8,10}:AA[A-Za-z0-9_-]{30,})", any),
        // Signed URLs and sessions.
        form(
            r"(?i)[?&;](?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token)=([A-Za-z0-9%/+_.=-]{16,})",
            mixed,
        ),
        form(
            r"(?i)\b(?:phpsessid|jsessionid|sess(?:ion)?_?id|asp\.net_sessionid|connect\.sid)[=:] ?\x22?([A-Za-z0-9%._+/-]{16,})",
            |value| {
                mixes_digits_and_letters(value.as_bytes())
                    && !is_wordy(value.as_bytes())
                    && !is_repetition(value.as_bytes())
            },
        ),
        // Headers.
        form(
            r"(?i)\bauthorization[\x22'\\]{0,3}[ \t]*[:=][ \t]*[\x22'\\]{0,2}(?:bearer|basic|token|apikey|api-key|digest|negotiate|bot)[ \t]+([A-Za-z0-9._~+/=-]{6,})",
            value,
        ),
        form(r"(?i)\bbearer[ \t]+[\x22']?([A-Za-z0-9._~+/=-]{12,})", |value| {
            mixes_digits_and_letters(value.as_bytes())
                && !is_wordy(value.as_bytes())
                && !is_path(value.as_bytes())
        }),
        // Passwords on command lines, in URLs and in prose.
        form(r"://[^\s:/@\x22'`<>(){}\[\]|,]{0,64}:([^\s/@\x22'`<>(){}\[\]|,]{1,128})@[\w\[]", value),
        form(
            r"(?:[ \t](?:-u|--user)|\bsshpass[ \t]+-p)[ \t=]+[\x22']?(?:[\w.@-]+:)?([^\s\x22':]{6,})",
            password,
        ),
        form(
            r"(?i)\s--?(?:password|passwd|pass|pwd|token|secret|api-key)[ \t]+[\x22']?([^\s\x22'-][^\s\x22']{5,})",
            password,
        ),
        form(r"\bmachine[ \t]+\S{1,64}\s+login[ \t]+\S{1,64}\s+password[ \t]+(\S{4,})", value),
        form(
            r"(?i)\b(?:password|passwort|kennwort|passphrase|passcode|contraseña|mot de passe|senha|wachtwoord|пароль)(?: for [^\n.:;]{1,40}?)? (?:is|ist|lautet|was|es|est|для входа)[ \t]*:?[ \t]+[\x22'“„«`]?([^\s\x22'“”„«»`,;()\[\]{}]{5,}[^\s\x22'“”„«»`,;.:()\[\]{}])",
            password,
        ),
        form(
            r"(?i)\b(?:passwort|kennwort|passphrase|passcode|contraseña|mot de passe|senha|wachtwoord|пароль)[\x22']?[ \t]*[:=][ \t]*[\x22'“„«`]?([^\s\x22'“”„«»`,;]{5,}[^\s\x22'“”„«»`,;.:)])",
            password,
        ),
        // Private keys, whole; then their pieces.
        form(
            r"(-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\n|\\r|[\\\x22'+>|#*])*(?:[A-Za-z0-9+/]{16,}={0,2}|(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[^\n\\]*))+(?:(?:(?:\s|\\n|\\r|[\\\x22'+>|#*])*[A-Za-z0-9+/=]{1,15}){0,2}(?:\s|\\n|\\r|[\\\x22'+>|#*])*-----END [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----)?)",
            any,
        ),
        form(
            r"((?:[A-Za-z0-9+/=]{16,}(?:\s|\\n|\\r|\\){1,4})+(?:[A-Za-z0-9+/=]{1,15}(?:\s|\\n|\\r|\\){1,4}){0,2}-----END [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----)",
            any,
        ),
        form(r"(Private-Lines: \d{1,3}(?:\s+[A-Za-z0-9+/=]{16,})+)", any),
        form(r"(?i)\baws.{0,24}?[^0-9a-z/+\n]([0-9a-z/+]{40})(?:[^0-9a-z/+=]|\z)", drawn),
    ]
});

#[cfg(test)]
mod tests {
    use crate::redact;

    #[test]
    fn wider_than_the_scan() {
        for (text, shown) in [
            ("password: hunter2", "password: [SECRET]"),
            ("Passwort: Sommer2023!", "Passwort: [SECRET]"),
            ("the password is hunter22.", "the password is [SECRET]."),
            ("The Wi-Fi password is: Garden-42", "The Wi-Fi password is: [SECRET]"),
            (
                "The password for the guest network is Garden42.",
                "The password for the guest network is [SECRET].",
            ),
            ("**Password:** Garden42", "**Password:** [SECRET]"),
            ("**Password**: Garden42", "**Password**: [SECRET]"),
            (
                "name,password,age\nanna,garden,30\nbob,x1,41",
                "name,password,age\nanna,[SECRET],30\nbob,x1,41",
            ),
            (
                "| who | password |\n|---|---|\n| anna | garden |",
                "| who | password |\n|---|---|\n| anna | [SECRET] |",
            ),
            ("DB_PASSWORD='s3cret!'", "DB_PASSWORD='[SECRET]'"),
            ("Server=db;Uid=sa;Pwd=letmein;", "Server=db;Uid=sa;Pwd=[SECRET];"),
            ("https://x.org/?a=1&token=letmein&b=2", "https://x.org/?a=1&token=[SECRET]&b=2"),
            ("postgres://app:letmein@db.host.org:5432/x", "postgres://app:[SECRET]@db.host.org:5432/x"),
            ("curl -u jo:hunter2 https://x.org", "curl -u jo:[SECRET] https://x.org"),
            ("machine x login jo password letmein", "machine x login jo password [SECRET]"),
            ("Authorization: Basic am86aHVudGVyMg==", "Authorization: Basic [SECRET]"),
            ("key AKIAIOSFODNN7EXAMPLE", "key [SECRET]"),
        ] {
            assert_eq!(redact(text), shown);
        }
    }

    #[test]
    fn code_and_templates_stay() {
        for text in [
            "password = getpass()",
            "password: str = None",
            "password=password1, password2=password2",
            "token = self.tokens[0]",
            "https://${USER}:${PASSWORD}@host.org/",
            "https://<user>:<password>@host.org/",
            "max_tokens=1024",
            "secret_name: my-app-secret-2",
            "The password must be at least 12 characters long.",
            "password: string;",
            "sk-toggleable__label-arrow",
            "Bearer authentication is described in RFC6750",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
