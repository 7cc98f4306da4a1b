//! The default secret rules: what a credential looks like, and what only looks like one.
//!
//! A file with a hit is held back whole, so a rule that is wrong once in a hundred files hides more than
//! it protects. Decisions, each with lines in `tests/fixtures/secrets`:
//!
//! - The bare 40-character branch of the dir2mcp specification (section 7.2) flags a fifth of an
//!   ordinary repository (hashes, paths, rulers) and no AWS key. It applies only after `aws` or `secret`
//!   on the same line, to values with an entropy of at least 4 bits that are neither hex nor paths. Its
//!   keyword branch applies where a value is assigned; prose may discuss secrets.
//! - `token = value` means a value that a machine drew: not an identifier, a call, a constant or a phrase.
//! - Placeholders pass: `EXAMPLE`, `your-…`, `changeme`, `xxxx`, `<…>`, `${…}`, one character repeated.
//!   So does AWS's documentation key `AKIAIOSFODNN7EXAMPLE`. A single letter repeated after `token =`
//!   does not pass, unless it is an x: contract tests use such values.
//! - Hashes of passwords (`pbkdf2_sha256$…`, `$2b$…`) are not passwords.
//! - Test keys of payment providers (`sk_test_…`) are made to be shown.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::randomness::{classes, entropy, is_hex, is_wordy, mixes_digits_and_letters};

/// The default patterns of the dir2mcp specification, section 16.2, as printed there.
pub const SPEC_PATTERNS: [&str; 5] = [
    r"AKIA[0-9A-Z]{16}",
    r"(?i)aws(.{0,20})?secret|([0-9a-zA-Z/+=]{40})",
    r"(?i)(?:authorization\s*[:=]\s*bearer\s+|(?:access|id|refresh)_token\s*[:=]\s*)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"(?i)token\s*[:=]\s*[A-Za-z0-9_.-]{20,}",
    r"sk_[a-z0-9]{32}|api_[A-Za-z0-9]{32}",
];

/// One kind of credential.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Shown to the owner of a file.
    pub(crate) name: &'static str,
    /// Any of these, in any case, makes the rule look.
    pub(crate) keywords: &'static [&'static str],
    form: Form,
}

/// A keyword found in a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug)]
enum Form {
    /// The keyword, exactly so, starts the key; this many characters of the alphabet follow.
    Key(fn(u8) -> bool, RangeInclusive<usize>),
    Check(fn(Site<'_>) -> bool),
}

const fn key(
    name: &'static str,
    prefixes: &'static [&'static str],
    alphabet: fn(u8) -> bool,
    length: RangeInclusive<usize>,
) -> Rule {
    Rule { name, keywords: prefixes, form: Form::Key(alphabet, length) }
}

const fn check(name: &'static str, keywords: &'static [&'static str], check: fn(Site<'_>) -> bool) -> Rule {
    Rule { name, keywords, form: Form::Check(check) }
}

/// No key is longer than this; a longer run is data of another kind.
const LONGEST: usize = 512;

#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    // The specification's five.
    check("aws-access-key-id", &["AKIA", "ASIA"], aws_access_key_id),
    check("aws-secret-access-key", &["aws", "secret"], aws_secret_access_key),
    check("jwt", &["_token", "bearer", "eyJ"], jwt),
    check("token-assignment", &["token"], token_assignment),
    check("api-key", &["sk_", "api_"], plain_api_key),
    // Credentials by the name they are given.
    check("bearer-token", &["bearer"], bearer_token),
    check("credential-assignment", &["secret", "passw", "pwd", "api_key", "apikey", "api-key", "access_key",
        "accesskey", "access-key", "account_key", "accountkey", "private_key", "privatekey", "auth_key", "authkey",
        "encryption_key", "signing_key", "master_key"], credential_assignment),
    check("password-in-url", &["://"], password_in_url),
    check("private-key", &["-----BEGIN", "Private-Lines:"], private_key),
    // Credentials by their form.
    key("age-secret-key", &["AGE-SECRET-KEY-1"], upper_digit, 58..=58),
    key("anthropic-key", &["sk-ant-"], dashed, 40..=LONGEST),
    key("atlassian-token", &["ATATT3"], dashed_padded, 100..=LONGEST),
    check("azure-storage-key", &["AccountKey="], azure_storage_key),
    key("databricks-token", &["dapi"], lower_hex, 32..=32),
    key("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], lower_hex, 64..=64),
    key("docker-token", &["dckr_pat_", "dckr_oat_"], dashed, 27..=40),
    key("doppler-token", &["dp.pt.", "dp.st.", "dp.sa."], alphanumeric, 40..=44),
    key("figma-token", &["figd_", "figo_"], dashed, 40..=48),
    key("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], alphanumeric, 36..=255),
    key("github-fine-grained-token", &["github_pat_"], word, 82..=255),
    key("gitlab-token", &["glpat-", "glrt-", "gldt-", "glcbt-", "glptt-", "glsoat-"], dashed, 20..=LONGEST),
    key("google-api-key", &["AIza"], dashed, 35..=35),
    key("google-oauth-secret", &["GOCSPX-"], dashed, 28..=28),
    key("google-oauth-token", &["ya29."], dashed, 30..=LONGEST),
    key("grafana-token", &["glsa_"], word, 40..=60),
    key("groq-key", &["gsk_"], alphanumeric, 52..=52),
    key("huggingface-token", &["hf_"], alphanumeric, 34..=40),
    key("linear-key", &["lin_api_"], alphanumeric, 40..=40),
    key("mailgun-key", &["key-"], lower_hex, 32..=32),
    key("newrelic-key", &["NRAK-"], upper_digit, 27..=27),
    key("notion-token", &["ntn_"], alphanumeric, 40..=60),
    key("npm-token", &["npm_"], alphanumeric, 36..=36),
    key("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], dashed, 40..=LONGEST),
    key("openai-style-key", &["sk-"], alphanumeric, 32..=64),
    key("openrouter-key", &["sk-or-v1-"], lower_hex, 64..=64),
    key("perplexity-key", &["pplx-"], alphanumeric, 40..=56),
    key("planetscale-token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], dashed, 32..=64),
    key("postman-key", &["PMAK-"], dashed, 59..=59),
    key("pulumi-token", &["pul-"], lower_hex, 40..=40),
    key("pypi-token", &["pypi-AgE"], dashed, 50..=LONGEST),
    key("replicate-token", &["r8_"], alphanumeric, 37..=37),
    key("rubygems-key", &["rubygems_"], lower_hex, 48..=48),
    check("sendgrid-key", &["SG."], sendgrid_key),
    key("sentry-token", &["sntryu_", "sntrys_"], dashed_padded, 60..=LONGEST),
    key("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], hex, 32..=32),
    check("slack-token", &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], slack_token),
    check("slack-webhook", &["hooks.slack.com/"], slack_webhook),
    key("square-token", &["sq0csp-", "sq0atp-"], dashed, 22..=43),
    key("stripe-key", &["sk_live_", "rk_live_"], alphanumeric, 16..=247),
    key("stripe-webhook-secret", &["whsec_"], base64, 32..=64),
    key("supabase-token", &["sbp_"], lower_hex, 40..=40),
    key("tailscale-key", &["tskey-auth-", "tskey-api-", "tskey-client-"], dashed, 24..=80),
    check("telegram-bot-token", &[":AA"], telegram_bot_token),
    check("twilio-key", &["SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9",
        "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"], twilio_key),
    key("vault-token", &["hvs.", "hvb."], dashed, 24..=LONGEST),
    key("xai-key", &["xai-"], alphanumeric, 70..=90),
];

impl Rule {
    pub(crate) fn finds(&self, site: Site<'_>) -> bool {
        match &self.form {
            Form::Check(check) => check(site),
            Form::Key(alphabet, length) => {
                let keyword = &site.text[site.start..site.end];
                let exact = self.keywords.iter().any(|prefix| prefix.as_bytes() == keyword);
                exact && site.starts_word() && {
                    let value = run(site.after(length.end() + 1), *alphabet);
                    length.contains(&value.len()) && is_drawn(value)
                }
            }
        }
    }
}

impl<'t> Site<'t> {
    /// At most this many bytes before the keyword, on its line.
    fn before(self, most: usize) -> &'t [u8] {
        let before = &self.text[self.start.saturating_sub(most)..self.start];
        let line = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        &before[line..]
    }

    fn after(self, most: usize) -> &'t [u8] {
        &self.text[self.end..self.text.len().min(self.end + most)]
    }

    /// From the keyword on.
    fn window(self, most: usize) -> &'t [u8] {
        &self.text[self.start..self.text.len().min(self.start + most)]
    }

    /// The keyword is not the middle of a longer word (`ask_`, `msg.`). A `\n` written out is a border.
    fn starts_word(self) -> bool {
        match self.text[..self.start] {
            [.., b'\\', b'n' | b'r' | b't'] => true,
            [.., byte] => !byte.is_ascii_alphanumeric() && byte != b'_',
            [] => true,
        }
    }

    /// The identifier that the keyword is part of, up to the keyword's end.
    fn name_before(self) -> &'t [u8] {
        let before = self.before(48);
        let start = before.iter().rposition(|&byte| !dashed(byte) && byte != b'.').map_or(0, |at| at + 1);
        &before[start..]
    }
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn dashed(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn dashed_padded(byte: u8) -> bool {
    dashed(byte) || matches!(byte, b'=' | b'+' | b'/')
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn upper_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn run(text: &[u8], alphabet: fn(u8) -> bool) -> &[u8] {
    &text[..text.iter().position(|&byte| !alphabet(byte)).unwrap_or(text.len())]
}

/// Drawn by a machine, as far as one can tell.
fn is_drawn(value: &[u8]) -> bool {
    let least = if value.len() < 20 { 2.5 } else { 2.9 };
    entropy(value) >= least && !is_placeholder(value) && !is_wordy(value)
}

/// Written by a person to show where a value goes.
fn is_placeholder(value: &[u8]) -> bool {
    // A drawn value of 40 characters holds one of the shorter words once in 20,000 times.
    const WORDS: [&str; 39] = [
        "example", "sample", "changeme", "change-me", "change_me", "changethis", "change-this", "change_this",
        "placeholder", "your-", "your_", "yourapi", "xxxx", "****", "...", "----", "____", "dummy", "insert", "replace",
        "redacted", "fixme", "foobar", "lorem", "not-a-", "not_a_", "abc123", "0000000", "deadbeef", "insecure", "token",
        "secret", "passw", "session", "credential", "test", "fake", "demo", "mock",
    ];
    // Templates of every kind: shell, Python, Ruby, Jinja, printf, XML, JavaScript.
    const MARKS: [&str; 7] = ["${", "$(", "%(", "%s", "%d", "<", ">"];
    let lower = value.to_ascii_lowercase();
    let holds = |word: &&str| lower.windows(word.len()).any(|part| part == word.as_bytes());
    let braces = value.contains(&b'{') && value.contains(&b'}');
    let published = PUBLISHED.iter().any(|example| example.as_bytes() == value);
    WORDS.iter().any(holds) || MARKS.iter().any(holds) || braces || published || is_repetition(&lower)
}

/// Values printed in standards (RFC 6749, 6750, 7009), and copied from there into every OAuth library.
const PUBLISHED: [&str; 4] =
    ["2YotnFZFEjr1zCsicMWpAA", "tGzv3JOkF0XG5Qx2TlKWIA", "45ghiukldjahdnhzdauz", "mF_9.B5f-4.1JqM"];

/// At most two different letters or digits, or the same six characters three times.
fn is_repetition(value: &[u8]) -> bool {
    let mut solid = value.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let Some(first) = solid.next() else { return true };
    let second = solid.clone().find(|&byte| byte != first);
    let two = second.is_none_or(|second| solid.all(|byte| byte == first || byte == second));
    two || value.windows(6).any(|part| value.windows(6).filter(|other| *other == part).count() >= 3)
}

/// Mostly steps along the alphabet or the keyboard's digits, as in `AbCdEf!123456`.
fn is_sequence(value: &[u8]) -> bool {
    let step = |pair: &&[u8]| pair[0].to_ascii_lowercase().abs_diff(pair[1].to_ascii_lowercase()) == 1;
    value.windows(2).filter(step).count() * 2 >= value.len()
}

/// 8-4-4-4-12 hex digits. Rather a name than a secret, unless its own name says otherwise.
fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, &byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => hex(byte),
        })
}

fn aws_access_key_id(site: Site<'_>) -> bool {
    let id = run(site.after(17), upper_digit);
    let exact = matches!(&site.text[site.start..site.end], b"AKIA" | b"ASIA");
    // A longer run of capitals is base32 data, not an identifier.
    let alone = id.len() == 16 && !site.before(1).iter().any(|&byte| upper_digit(byte));
    // Documentation keys end in EXAMPLE. Otherwise the specification's pattern holds as it stands: this
    // is no place for a guess about randomness.
    let shown = id.ends_with(b"EXAMPLE") || id.iter().all(|byte| matches!(byte, b'X' | b'0' | b'A'));
    let word = &site.text[site.start..site.end] == b"ASIA" && !id.iter().any(u8::is_ascii_digit);
    exact && alone && !shown && !word
}

/// The 40-character branch, in a credential context.
fn aws_secret_access_key(site: Site<'_>) -> bool {
    static VALUE: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?i-u)\A(?:aws|secret)[^\n]{0,30}?[^0-9a-z/+\n]([0-9a-z/+]{40})(?:[^0-9a-z/+=]|\z)")
    });
    let is_aws = site.end - site.start == 3;
    if is_aws && !site.starts_word() && site.before(1) != b"_" {
        return false;
    }
    VALUE.captures(site.window(88)).is_some_and(|captures| {
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
fn jwt(site: Site<'_>) -> bool {
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
        let before = site.before(64).to_ascii_lowercase();
        let near = CONTEXT.iter().any(|&word| before.windows(word.len()).any(|part| part == word));
        return near && site.starts_word() && ALONE.is_match(window);
    }
    AFTER_NAME.captures(window).is_some_and(|captures| {
        let value = &captures[1];
        value.starts_with(b"eyJ") || (mixes_digits_and_letters(value) && is_drawn(value))
    })
}

/// `sk_` or `api_` and 32 characters or more, as the specification has it.
fn plain_api_key(site: Site<'_>) -> bool {
    let alphabet = match &site.text[site.start..site.end] {
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
fn token_assignment(site: Site<'_>) -> bool {
    // Places in a list and marks of a parser, not keys.
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
    let spelled = unpadded.iter().all(|&byte| dashed(byte) || matches!(byte, b'.' | b'~' | b':' | b'+' | b'/'));
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

fn bearer_token(site: Site<'_>) -> bool {
    let after = site.after(LONGEST);
    let blanks = run(after, |byte| matches!(byte, b' ' | b'\t'));
    let value = run(&after[blanks.len()..], |byte| dashed_padded(byte) || matches!(byte, b'.' | b'~'));
    !blanks.is_empty() && value.len() >= 20 && mixes_digits_and_letters(value) && !is_path(value) && is_drawn(value)
}

/// `secret_key = "value"` and its kin: a drawn value under a name that promises one.
fn credential_assignment(site: Site<'_>) -> bool {
    // What is derived from a secret…
    const DERIVED: [&[u8]; 12] = [
        b"hash", b"digest", b"checksum", b"sha1", b"sha256", b"sha512", b"md5", b"salt", b"fingerprint", b"public",
        b"encrypted", b"encod",
    ];
    // … and what describes one.
    const ABOUT: [&[u8]; 14] = [
        b"file", b"path", b"url", b"uri", b"name", b"hint", b"placeholder", b"version", b"length", b"label", b"manager",
        b"less", b"pattern", b"regex",
    ];
    let after = site.after(LONGEST);
    let tail = run(after, dashed);
    if tail.len() > 24 {
        return false;
    }
    let Some(assigned) = Assigned::after(&after[tail.len()..]) else { return false };
    let holds = |name: &[u8], words: &[&[u8]]| {
        words.iter().any(|word| name.windows(word.len()).any(|part| part == *word))
    };
    let (name, tail) = (site.name_before().to_ascii_lowercase(), tail.to_ascii_lowercase());
    let other = holds(&name, &DERIVED) || holds(&tail, &DERIVED) || holds(&tail, &ABOUT) || tail.ends_with(b"id");
    if other || assigned.is_other_argument(site) {
        return false;
    }
    let value = assigned.value;
    // Outside quotes a value must be the rest of its line, as in `.env` and `.ini` files.
    let long_enough = if assigned.quoted { value.len() >= 12 } else { value.len() >= 16 && assigned.ends_line };
    let spelled = value.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'`\\".contains(byte));
    // A pattern for secrets, as in this file.
    let pattern = [&b"[a-"[..], b"[A-", b"[0-", b"(?"].iter().any(|mark| value.windows(mark.len()).any(|part| part == *mark));
    let hash_of_password = matches!(value, [b'$' | b'*', ..]) || value.iter().filter(|&&byte| byte == b'$').count() >= 2;
    // A short value is a password if anything, and a drawn password mixes all kinds of characters.
    let rich = entropy(value) >= 3.0 && (value.len() >= 20 || classes(value) >= 3);
    long_enough
        && value.len() <= 200
        && spelled
        && rich
        && mixes_digits_and_letters(value)
        && !hash_of_password
        && !pattern
        && !is_sequence(value)
        && !is_common_password(value)
        && !assigned.is_code()
        && !is_path(value)
        && is_drawn(value)
}

fn password_in_url(site: Site<'_>) -> bool {
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

/// Without `%C3%A4` and the like, whose digits are not the password's.
fn without_escapes(value: &[u8]) -> Vec<u8> {
    let mut parts = value.split(|&byte| byte == b'%');
    let mut plain = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let escaped = part.len() >= 2 && part[..2].iter().all(u8::is_ascii_hexdigit);
        plain.extend_from_slice(if escaped { &part[2..] } else { part });
    }
    plain
}

/// `p4ssw0rd1` is an example, not a secret.
fn is_common_password(value: &[u8]) -> bool {
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

/// A PEM or PuTTY private key with its body; the header alone is only a mention.
fn private_key(site: Site<'_>) -> bool {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?-u)\A(?:-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,3})")
    });
    let window = site.window(600);
    let Some(header) = HEADER.find(window) else { return false };
    let body = &window[header.end()..];
    let body = &body[..body.windows(5).position(|dashes| dashes == b"-----").unwrap_or(body.len())];
    // Headers (`Proc-Type: …`) come before the first full line of base64.
    body.split(|&byte| !base64(byte)).any(|line| line.len() >= 40 && entropy(line) >= 3.5 && !is_placeholder(line))
}

fn azure_storage_key(site: Site<'_>) -> bool {
    let value = run(site.after(89), base64);
    value.len() == 88 && value.ends_with(b"==") && is_drawn(&value[..86])
}

fn sendgrid_key(site: Site<'_>) -> bool {
    static KEY: LazyLock<Regex> =
        LazyLock::new(|| compile(r"(?-u)\ASG\.([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|\z)"));
    site.starts_word() && KEY.captures(site.window(72)).is_some_and(|captures| is_drawn(&captures[1]))
}

fn slack_token(site: Site<'_>) -> bool {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?-u)\A(?:xox[abeoprs]-(?:1-)?[0-9]{8,}-[A-Za-z0-9-]{12,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-([a-f0-9]{32,}))",
        )
    });
    site.starts_word() && TOKEN.find(site.window(256)).is_some_and(|token| is_drawn(token.as_bytes()))
}

fn slack_webhook(site: Site<'_>) -> bool {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?-u)\Ahooks\.slack\.com/(?:services|workflows)/[A-Z0-9]{8,}/[A-Z0-9]{8,}/([A-Za-z0-9]{20,})")
    });
    PATH.captures(site.window(160)).is_some_and(|captures| is_drawn(&captures[1]))
}

/// The bot's number, a colon, and 35 characters that begin with AA.
fn telegram_bot_token(site: Site<'_>) -> bool {
    let number = site.before(11);
    let digits = number.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let exact = &site.text[site.start..site.end] == b":AA";
    let value = run(site.after(34), dashed);
    exact && (8..=10).contains(&digits) && value.len() == 33 && is_drawn(value)
}

fn twilio_key(site: Site<'_>) -> bool {
    let window = site.window(35);
    let value = run(window.get(2..).unwrap_or_default(), lower_hex);
    window.starts_with(b"SK") && value.len() == 32 && site.starts_word() && is_drawn(value)
}

/// Leads somewhere rather than being something.
fn is_path(value: &[u8]) -> bool {
    let slashes = value.iter().filter(|&&byte| byte == b'/').count();
    matches!(value, [b'/' | b'~', ..] | [b'.', b'/', ..] | [b'.', b'.', ..])
        || value.windows(3).any(|part| part == b"://")
        || (slashes >= 3 && slashes * 12 > value.len())
}

/// What stands on the right of a name.
struct Assigned<'t> {
    value: &'t [u8],
    quoted: bool,
    /// After a comma, as the next argument.
    listed: bool,
    /// Nothing but blanks or a comment follows on the line.
    ends_line: bool,
    next: Option<u8>,
}

impl<'t> Assigned<'t> {
    /// Reads `= value`, `: "value"`, `"] = 'value'`, `: String = "value"`, `", "value"`, `>value<` …
    fn after(text: &'t [u8]) -> Option<Assigned<'t>> {
        let blank = |byte: u8| matches!(byte, b' ' | b'\t');
        let skip = |text: &'t [u8], most: usize, of: fn(u8) -> bool| {
            let count = text.iter().take(most).take_while(|&&byte| of(byte)).count();
            (count, &text[count..])
        };
        let (closers, text) = skip(text, 3, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b'\\'));
        let (blanks, text) = skip(text, 24, blank);
        let (operator, text) = match text {
            [b'=', b'=', b'=', rest @ ..] => (b'=', rest),
            [b':' | b'?' | b'=' | b'+', b'=', rest @ ..] => (b'=', rest),
            [b'=', b'>', rest @ ..] => (b'=', rest),
            [b'=', rest @ ..] => (b'=', rest),
            [b':', rest @ ..] => (b':', rest),
            [b',', rest @ ..] if closers > 0 => (b',', rest),
            [b'>', rest @ ..] if closers + blanks == 0 => (b'>', rest),
            _ => return None,
        };
        let (_, text) = skip(text, 24, blank);
        let text = if operator == b':' { skip_type(text).unwrap_or(text) } else { text };
        let listed = operator == b',';
        Assigned::value(text)
            .map(|assigned| Assigned { listed, ..assigned })
            .filter(|assigned| !listed || assigned.quoted)
    }

    fn value(text: &'t [u8]) -> Option<Assigned<'t>> {
        let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'`');
        // `\"` in a string within a string; `b"` and its kin in Python, Rust, C#.
        let text = match text {
            [b'\\', quote, ..] if is_quote(*quote) => &text[1..],
            [b'b' | b'r' | b'u' | b'f' | b'B' | b'R' | b'U' | b'F' | b'@', quote, ..] if is_quote(*quote) => &text[1..],
            _ => text,
        };
        let (value, quoted, rest) = match text {
            [quote, rest @ ..] if is_quote(*quote) => {
                let end = rest.iter().position(|byte| byte == quote || matches!(byte, b'\n' | b'\\'))?;
                (&rest[..end], true, &rest[end + 1..])
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`;,()[]{}<>&|\\".contains(byte);
                let end = text.iter().position(ends).unwrap_or(text.len());
                (&text[..end], false, &text[end..])
            }
        };
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let ends_line = line.is_empty() || line.starts_with(b"#");
        Some(Assigned { value, quoted, listed: false, ends_line, next: rest.first().copied() })
    }

    /// Reads a bare word as a program would: as a name, a call or an index, not as a value.
    fn is_code(&self) -> bool {
        let constant = self.value.contains(&b'_') && self.value.iter().all(|&byte| upper_digit(byte) || byte == b'_');
        let goes_on = matches!(self.next, Some(b'(' | b'[' | b'{' | b'<'));
        let is_name = |part: &[u8]| part.iter().all(|&byte| word(byte)) && !part.first().is_none_or(u8::is_ascii_digit);
        let member = self.value.contains(&b'.') && self.value.split(|&byte| byte == b'.').all(is_name);
        !self.quoted && (constant || goes_on || member)
    }

    /// In `f("secret", "value")` the string before the comma names the value; in `f("my secret", "x")`
    /// it does not.
    fn is_other_argument(&self, site: Site<'_>) -> bool {
        let before = site.before(49);
        let quote = before.len().checked_sub(site.name_before().len() + 1).map(|at| before[at]);
        self.listed && !matches!(quote, Some(b'"' | b'\'' | b'`'))
    }
}

/// Past `&'static str =` or `Optional[str] =`, if that is what stands there.
fn skip_type(text: &[u8]) -> Option<&[u8]> {
    let equals = text.iter().take(48).position(|&byte| matches!(byte, b'=' | b'\n'))?;
    let (kind, rest) = text.split_at(equals);
    let rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"&'_<>[]|:., ?*".contains(byte);
    (kind.last() == Some(&b' ') && kind.iter().all(is_type)).then_some(rest)
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the rules' patterns are constants, compiled by the tests")
}
