//! The secret scan: keywords find the places worth a look, rules look at them.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use model::{ErrorCode, Failure, RelPath};
use regex::bytes::{Regex, RegexBuilder};

use crate::allow::AllowList;
use crate::place::SecretPlace;
use crate::policy::PolicyError;
use crate::rules::{CredentialRule, RULES};
use crate::site::KeywordSite;

/// More patterns than this in `security.secret_patterns` are a mistake, not a policy.
pub const MAX_CUSTOM_PATTERNS: usize = 256;

/// What one compiled pattern may weigh: `(?:a{1000}){1000}` is refused instead of compiled.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;

/// `security.secret_patterns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPatterns {
    /// The patterns of the dir2mcp specification with the tuning that it advises, and the key formats of
    /// well-known providers.
    Default,
    /// The owner's patterns, verbatim and alone. [`crate::SPEC_PATTERNS`] restores the untuned defaults.
    Custom(Vec<String>),
    /// The default rules and the owner's patterns beside them.
    Extended(Vec<String>),
}

/// Where a credential was found. Never holds the credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretMatch<'p> {
    /// The name of the rule, or the custom pattern's place in the configuration.
    pub rule: &'p str,
    /// The line of the text that holds the credential, counted from 1; the last one where it takes several.
    pub line: u32,
}

impl SecretMatch<'_> {
    /// Why a file is held back, and what its owner can do about it.
    pub fn failure(&self, path: &RelPath) -> Failure {
        let SecretMatch { rule, line } = self;
        let message =
            format!("{path} is withheld: line {line} holds what looks like a credential (rule \"{rule}\")");
        Failure::new(ErrorCode::Forbidden, message).hint(
            "If it is none, the owner can name the path or the line in security.allow; see docs/secrets.md.",
        )
    }
}

#[derive(Debug)]
pub(crate) struct Scanner {
    tuned: Option<&'static Tuned>,
    /// The owner's patterns, each with its place in the configuration.
    custom: Vec<(String, Regex)>,
}

impl Scanner {
    pub(crate) fn new(patterns: &SecretPatterns) -> Result<Scanner, PolicyError> {
        let (tuned, patterns): (Option<&'static Tuned>, &[String]) = match patterns {
            SecretPatterns::Default => (Some(&TUNED), &[]),
            SecretPatterns::Custom(patterns) => (None, patterns),
            SecretPatterns::Extended(patterns) => (Some(&TUNED), patterns),
        };
        if patterns.len() > MAX_CUSTOM_PATTERNS {
            return Err(PolicyError::TooManyPatterns { count: patterns.len(), limit: MAX_CUSTOM_PATTERNS });
        }
        let compile = |(index, pattern): (usize, &String)| {
            let regex = RegexBuilder::new(pattern).size_limit(PATTERN_SIZE_LIMIT).build();
            let regex = regex.map_err(|error| PolicyError::Pattern {
                pattern: pattern.clone(),
                reason: error.to_string(),
            })?;
            Ok((format!("security.secret_patterns[{index}]"), regex))
        };
        let custom = patterns.iter().enumerate().map(compile).collect::<Result<_, _>>()?;
        Ok(Scanner { tuned, custom })
    }

    /// The owner's patterns, which are blanked whatever the default rules say.
    pub(crate) fn custom(&self) -> impl Iterator<Item = &Regex> {
        self.custom.iter().map(|(_, regex)| regex)
    }

    /// The first credential on a line that is not allowed.
    pub(crate) fn scan(
        &self,
        text: &[u8],
        place: SecretPlace,
        allowed: &AllowList,
    ) -> Option<SecretMatch<'_>> {
        let counted = |rule, end: usize| {
            let at = end.saturating_sub(1).min(text.len());
            let start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
            let line = text[start..].split(|&byte| byte == b'\n').next().unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let number = || text[..start].iter().filter(|&&byte| byte == b'\n').count() as u32 + 1;
            (!allowed.allows_line(line)).then(|| SecretMatch { rule, line: number() })
        };
        let tuned = || {
            self.tuned?.sites(text, place).find_map(|(site, rules)| {
                rules.iter().find_map(|rule| {
                    let credential = rule.credential(site)?;
                    counted(rule.name, site.range_of(credential).end)
                })
            })
        };
        let custom = || {
            self.custom.iter().find_map(|(name, regex)| {
                regex
                    .find_iter(text)
                    .find_map(|found| counted(name.as_str(), found.end().max(found.start() + 1)))
            })
        };
        tuned().or_else(custom)
    }
}

/// The default rules behind one automaton over all their keywords. Most text holds few of them, so most
/// bytes are looked at once.
#[derive(Debug)]
pub(crate) struct Tuned {
    keywords: AhoCorasick,
    /// For each keyword, the rules that want to see it.
    rules: Vec<Vec<&'static CredentialRule>>,
}

pub(crate) static TUNED: LazyLock<Tuned> = LazyLock::new(Tuned::new);

impl Tuned {
    fn new() -> Tuned {
        let mut words: Vec<&'static str> = Vec::new();
        let mut rules: Vec<Vec<&'static CredentialRule>> = Vec::new();
        for rule in RULES {
            for &keyword in rule.keywords {
                match words.iter().position(|&word| word.eq_ignore_ascii_case(keyword)) {
                    Some(index) => rules[index].push(rule),
                    None => {
                        words.push(keyword);
                        rules.push(vec![rule]);
                    }
                }
            }
        }
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words);
        Tuned { keywords: keywords.expect("a few hundred short words make a small automaton"), rules }
    }

    /// The places worth a look, each with the rules that want to look.
    pub(crate) fn sites<'t>(
        &'t self,
        text: &'t [u8],
        place: SecretPlace,
    ) -> impl Iterator<Item = (KeywordSite<'t>, &'t [&'static CredentialRule])> {
        // Overlapping: `aws_secret` must not hide `secret`, nor `sk-ant-` the end of `mask-ant-`.
        self.keywords.find_overlapping_iter(text).map(move |hit| {
            let site = KeywordSite { text, start: hit.start(), end: hit.end(), place };
            (site, self.rules[hit.pattern().as_usize()].as_slice())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SPEC_PATTERNS;
    use crate::place::SecretLevel;

    fn scan<'s>(scanner: &'s Scanner, text: &[u8]) -> Option<SecretMatch<'s>> {
        let place = SecretPlace::new(&RelPath::from_walk("notes").unwrap(), SecretLevel::Default);
        scanner.scan(text, place, &AllowList::new(&[]).unwrap())
    }

    fn custom(patterns: &[&str]) -> Scanner {
        let patterns = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        Scanner::new(&SecretPatterns::Custom(patterns)).unwrap()
    }

    #[test]
    fn d088_extended_patterns_stand_beside_the_defaults() {
        let patterns = SecretPatterns::Extended(vec!["custom-sensitive-[a-z]+".to_owned()]);
        let scanner = Scanner::new(&patterns).unwrap();
        assert!(scan(&scanner, b"x custom-sensitive-value").is_some());
        assert!(scan(&scanner, ["AKIA", "Q7ZJ2WKX9VBT4MNC"].concat().as_bytes()).is_some());
        assert_eq!(scan(&scanner, b"nothing of the kind"), None);
    }

    #[test]
    fn d088_custom_patterns_replace_the_defaults() {
        let scanner = custom(&["never", "custom-sensitive-[a-z]+"]);
        let found = scan(&scanner, b"first\nx custom-sensitive-value\n").unwrap();
        assert_eq!(found, SecretMatch { rule: "security.secret_patterns[1]", line: 2 });
        assert_eq!(scan(&scanner, ["AKIA", "1234567890ABCDEF"].concat().as_bytes()), None);
        assert_eq!(scan(&custom(&[]), b"token = AAAAAAAAAAAAAAAAAAAAAAAAA"), None);
    }

    #[test]
    fn d180_the_five_patterns_compile_as_printed() {
        let scanner = custom(&SPEC_PATTERNS);
        for (index, text) in [
            ["AKIA", "1234567890ABCDEF"].concat(),
            "aws my secret".to_owned(),
            "refresh_token: aaaaaaaa.bbbbbbbb.cccccccc".to_owned(),
            "token=abcdefghijklmnopqrst".to_owned(),
            ["sk_", "0123456789abcdef0123456789abcdef"].concat(),
        ]
        .iter()
        .enumerate()
        {
            let expected = format!("security.secret_patterns[{index}]");
            assert_eq!(scan(&scanner, text.as_bytes()).unwrap().rule, expected, "{text}");
        }
        assert!(scan(&scanner, "a".repeat(40).as_bytes()).is_some(), "the bare 40-character branch is back");
    }

    #[test]
    fn d086_contract_case_16() {
        let scanner = Scanner::new(&SecretPatterns::Default).unwrap();
        for letters in ["AAAAAAAAAAAAAAAAAAAAAAAAA", "qzjvkxwbpfmhgtydnrlcsuaoe", "KdjWbqZrTvXmPnLsYcHgFoEiU"]
        {
            assert_eq!(letters.len(), 25);
            let found = scan(&scanner, format!("token = {letters}").as_bytes());
            assert_eq!(found.map(|found| found.rule), Some("token-assignment"), "{letters}");
        }
        assert_eq!(scan(&scanner, b"plain text"), None);
    }

    #[test]
    fn a_match_never_tells_the_secret() {
        let scanner = Scanner::new(&SecretPatterns::Default).unwrap();
        let found = scan(&scanner, b"a\nb\ntoken = qzjvkxwbpfmhgtydnrlcsuaoe\n").unwrap();
        let failure = found.failure(&RelPath::from_walk("a/b.txt").unwrap());
        assert_eq!(failure.code, ErrorCode::Forbidden);
        assert_eq!(
            failure.message,
            "a/b.txt is withheld: line 3 holds what looks like a credential (rule \"token-assignment\")"
        );
    }

    #[test]
    fn d087_every_rule_has_a_positive_line() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/secrets/positive");
        let files = std::fs::read_dir(folder).unwrap();
        let text: String = files
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
            .collect::<Vec<_>>()
            .join("\n");
        let text = text.replace("{{}}", "").replace("\\n", "\n");
        for rule in RULES {
            let found = TUNED.keywords.find_overlapping_iter(&text).any(|hit| {
                let wanted =
                    TUNED.rules[hit.pattern().as_usize()].iter().any(|other| other.name == rule.name);
                let site = KeywordSite {
                    text: text.as_bytes(),
                    start: hit.start(),
                    end: hit.end(),
                    place: SecretPlace::SHOWN,
                };
                wanted && rule.credential(site).is_some()
            });
            assert!(found, "no line for {}", rule.name);
        }
    }
}
