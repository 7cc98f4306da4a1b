//! E-mail addresses: around every @, and where a person wrote one in words.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::{RedactedSpan, RedactionKind};

/// RFC 5321: 64 octets before the @, 255 after it.
const LONGEST_NAME: usize = 64;
const LONGEST_HOST: usize = 255;

pub(super) fn find(text: &str, spans: &mut Vec<RedactedSpan>) {
    static SIGNS: LazyLock<AhoCorasick> = LazyLock::new(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(["@", "%40", "&#64;", "&#x40;", "&commat;", "\u{ff20}"])
            .expect("six short words make a small automaton")
    });
    for sign in SIGNS.find_iter(text) {
        let found = around(text, sign.start(), sign.end());
        if let Some((start, end)) = found.or_else(|| in_two_lines(text, sign.start(), sign.end())) {
            spans.push(RedactedSpan { start, end, kind: RedactionKind::Email });
        }
    }
    in_words(text, spans);
}

/// An address that goes on in the next line: broken at its sign, or at a dot of its host.
fn in_two_lines(text: &str, sign: usize, after: usize) -> Option<(usize, usize)> {
    let name_end = if text[..sign].ends_with(['\n', ' ', '\t']) { line_before(text, sign)? } else { sign };
    let start = name(&text[..name_end])?;
    let host_start =
        if host(&text[after..]).is_some() { after } else { line_behind(text, after).unwrap_or(after) };
    if host_start == after && name_end == sign {
        return broken_host(text, after).map(|end| (start, end));
    }
    let end = host_start + host(&text[host_start..])?;
    // Only one line end, and no code: a decorator stands at the beginning of its line, after nothing.
    let breaks = text[start..end].matches('\n').count();
    (breaks == 1 && !text[end..].starts_with(['(', '['])).then_some((start, end))
}

/// Where the line before ends, if only its end and the margin of this one are between.
fn line_before(text: &str, at: usize) -> Option<usize> {
    let line = text[..at].trim_end_matches([' ', '\t', '>', '#', '*', '|']);
    let before = line.strip_suffix('\n')?.trim_end_matches([' ', '\t', '\r']);
    // `see below:⏎@decorator`: what belongs to the sign ends in a letter or a digit.
    before.ends_with(|c: char| c.is_alphanumeric()).then_some(before.len())
}

/// Where the next line's text begins, if only the end of this one is between.
fn line_behind(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].trim_start_matches([' ', '\t', '\r']);
    let rest = rest.strip_prefix('\n')?.trim_start_matches([' ', '\t', '>', '#', '*', '|']);
    Some(text.len() - rest.len())
}

/// `jane@example.⏎com` and `jane@example⏎.com`.
fn broken_host(text: &str, after: usize) -> Option<usize> {
    let belongs = |c: char| c.is_alphanumeric() || is_mark(c) || c == '-' || c == '.';
    let first = &text[after..];
    let first = &first[..first.find(|c: char| !belongs(c)).unwrap_or(first.len()).min(LONGEST_HOST)];
    let next = line_behind(text, after + first.len())?;
    let second = &text[next..];
    let second = &second[..second.find(|c: char| !belongs(c)).unwrap_or(second.len())].trim_end_matches('.');
    if first.ends_with('.') == second.starts_with('.') {
        return None;
    }
    // A sentence that ends in `@host.` goes on with a capital; a domain is small.
    let small = second.chars().all(|c| !c.is_uppercase());
    let joined = format!("{first}{second}");
    (small && host(&joined) == Some(joined.len())).then(|| next + second.len())
}

fn around(text: &str, sign: usize, after: usize) -> Option<(usize, usize)> {
    let start = name(&text[..sign])?;
    let end = after + host(&text[after..])?;
    let (before, behind) = (&text[..start], &text[end..]);
    // `ssh://git@host.com/…`: the user of a URL, not an address. `mailto://` exists, too.
    let user = before.ends_with("://") && !small_tail(before, 9).ends_with("mailto://");
    let name = &text[start..sign];
    (!user && !is_place(behind) && !is_code(name, &text[after..end], behind)).then_some((start, end))
}

/// Where the name before the sign begins.
fn name(before: &str) -> Option<usize> {
    if let Some(quoted) = before.strip_suffix('"') {
        let from = quoted.floor_char_boundary(quoted.len().saturating_sub(LONGEST_NAME));
        let open = from + quoted[from..].rfind(['"', '\n'])?;
        return (quoted[open..].starts_with('"') && open + 1 < quoted.len()).then_some(open);
    }
    let belongs = |c: char| c.is_alphanumeric() || is_mark(c) || "._%+-'’&".contains(c);
    let mut start = before.len();
    for (at, c) in before.char_indices().rev() {
        if !belongs(c) || before.len() - at > 4 * LONGEST_NAME {
            break;
        }
        start = at;
    }
    // Quotes, dots and dashes before the name.
    let first = before[start..].find(|c: char| c.is_alphanumeric() || c == '_')?;
    Some(start + first)
}

/// The length of the host after the sign, if it has a top-level domain.
fn host(after: &str) -> Option<usize> {
    if let Some(literal) = after.strip_prefix('[') {
        let end = literal.bytes().take(48).position(|byte| byte == b']')?;
        let address = &literal[..end];
        let address = address.strip_prefix("IPv6:").unwrap_or(address);
        return address.parse::<std::net::IpAddr>().ok().map(|_| end + 2);
    }
    let belongs = |c: char| c.is_alphanumeric() || is_mark(c) || c == '-' || c == '.';
    let end = after.char_indices().find(|&(at, c)| !belongs(c) || at > LONGEST_HOST);
    let run = &after[..end.map_or(after.len(), |(at, _)| at)];
    // `mail me at a@b.com.Thanks` and `a@b.com...` end earlier than the run does.
    let run = &run[..run.find("..").unwrap_or(run.len())];
    let run = run.trim_end_matches(['.', '-']);
    let (_, last) = run.rsplit_once('.')?;
    let labels = run.split('.').all(|label| !label.is_empty() && !label.starts_with('-'));
    (labels && is_top_level(last) && !is_version(run)).then_some(run.len())
}

fn is_top_level(label: &str) -> bool {
    // Units of systemd and pictures for dense screens: `getty@tty1.service`, `logo@2x.png`.
    const FILES: [&str; 12] =
        ["service", "socket", "slice", "mount", "timer", "png", "jpg", "jpeg", "gif", "svg", "webp", "pdf"];
    let letters = label.chars().filter(|c| !is_mark(*c)).count();
    let spelled = label.chars().all(|c| c.is_alphabetic() || is_mark(c)) || label.starts_with("xn--");
    (2..=24).contains(&letters) && spelled && !FILES.iter().any(|file| label.eq_ignore_ascii_case(file))
}

/// `18.2.0-beta.rc` and `v1.2.x-dev`: what follows the @ of a package.
fn is_version(host: &str) -> bool {
    let mut labels = host.strip_prefix('v').unwrap_or(host).split('.');
    let mut number = || labels.next().is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
    number() && number()
}

/// `:team/project.git` and `:~/notes`: the host of a copy command, whose user is not a mailbox.
fn is_place(behind: &str) -> bool {
    let Some(place) = behind.strip_prefix(':') else { return false };
    let word = place.split(|c: char| c.is_whitespace() || "\"'`<>)".contains(c)).next().unwrap_or_default();
    word.starts_with(['/', '~', '.']) || word.contains('/') || word.ends_with(".git")
}

/// `a@b.dot(c)` and `w @x.T[0]` multiply matrices.
fn is_code(name: &str, host: &str, behind: &str) -> bool {
    let called = behind.starts_with(['(', '[', '=']) && !behind.starts_with("[at");
    let tail = host.rsplit('.').next().unwrap_or_default();
    let known = tail.len() == 2 || ["com", "org", "net", "edu", "gov", "info"].contains(&tail);
    called && !(known && name.len() > 1)
}

/// `name (at) host (dot) com`, `name [at] host.com` and `name at host dot com`.
fn in_words(text: &str, spans: &mut Vec<RedactedSpan>) {
    static HINT: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"(?i)[(\[{<] ?(?:at|ät|æt|@) ?[)\]}>]|\bdot (?:com|org|net|edu|gov|info|io|de)\b")
    });
    static BRACKETS: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?i)\b\w[\w.+-]* {0,2}[(\[{<] ?(?:at|ät|æt|@) ?[)\]}>] {0,2}[\w-]+(?: {0,2}(?:\.|[(\[{<] ?(?:dot|punkt|\.) ?[)\]}>]| dot ) {0,2}[\w-]+)+\b",
        )
    });
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?i)\b\w(?:[\w.+-]| dot )* at [\w-]+(?: dot [\w-]+)* dot (?:com|org|net|edu|gov|info|io|[a-z]{2})\b",
        )
    });
    if !HINT.is_match(text) {
        return;
    }
    for pattern in [&BRACKETS, &WORDS] {
        let found = pattern.find_iter(text);
        spans.extend(found.map(|hit| RedactedSpan {
            start: hit.start(),
            end: hit.end(),
            kind: RedactionKind::Email,
        }));
    }
}

/// A letter's accent as a character of its own, as macOS and some PDF files have it.
fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are constants, compiled by the tests")
}

/// The last bytes, about so many, in small letters.
fn small_tail(text: &str, most: usize) -> String {
    text[text.floor_char_boundary(text.len().saturating_sub(most))..].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::found_by;

    fn found(text: &str) -> Vec<&str> {
        found_by(find, text)
    }

    #[test]
    fn addresses() {
        for address in [
            "jo@host.org",
            "jo.doe+list@mail.host.co.uk",
            "jörg@müller.de",
            "o'neil@host.ie",
            "1und1@163.com",
            "jo@[192.0.2.1]",
            "\"jo doe\"@host.org",
            "jo%40host.org",
            "jo (at) host (dot) org",
            "jo [at] host.org",
            "jo dot doe at host dot com",
            "почта@пример.рф",
        ] {
            for text in [
                address.to_owned(),
                format!("Mail {address}, please."),
                format!("<{address}>"),
                format!("mailto:{address}?subject=x"),
                format!("({address})"),
                format!("{address};{address}"),
            ] {
                assert!(
                    found(&text).iter().all(|part| *part == address) && !found(&text).is_empty(),
                    "{text}"
                );
            }
        }
        for broken in [
            "jo.doe@\nhost.org",
            "jo.doe\n@host.org",
            "jo.doe@host.\norg",
            "jo.doe@host\n  .org",
            "jo@\r\n> host.org",
        ] {
            assert_eq!(found(&format!("Mail {broken}, please.")), [broken]);
        }
        assert_eq!(found("'jo@host.org'"), ["jo@host.org"]);
        assert_eq!(found("jo@host.org...and"), ["jo@host.org"]);
        assert_eq!(found("jo@host.org:hunter2"), ["jo@host.org"]);
    }

    #[test]
    fn not_addresses() {
        for text in [
            "git@github.com:x/y.git",
            "scp jo@host.org:/tmp/x .",
            "ssh://git@host.org/x.git",
            "@app.route('/x')",
            "npm i @scope/pkg@1.2.3",
            "pkg@1.2.3-rc.alpha",
            "pkg@v4.1.x",
            "logo@2x.png",
            "getty@tty1.service",
            "x = a@b.T",
            "y = w@x.reshape(3)",
            "root@localhost",
            "user@host",
            "meet at noon",
            "@",
            "a@.b.c",
            "arrived at home (at last) dot",
            "x = 1\n@app.route('/x')",
            "class X:\n    @staticmethod\n    def f(): pass",
            "root@localhost.\nIt is the root.",
            "user@host\nlogin",
            "a @\nb",
        ] {
            assert!(found(text).is_empty(), "{text} {:?}", found(text));
        }
    }
}
