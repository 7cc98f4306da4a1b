//! The syntax of `.gitignore`, read and matched byte for byte as git does.
//!
//! Our own, because the glob libraries at hand read braces as alternatives, `?` as a character and know no
//! `[[:alpha:]]`, and because building automata for each of a thousand ignore files costs more than the walk.
//! Matching never backtracks further than the last star of each kind, so no pattern can make it slow.

use model::IgnoreRule;

/// What an ignore file says about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoreVerdict {
    Ignore,
    /// A `!` pattern matched: the files further up are not asked.
    Keep,
}

/// One parsed ignore file.
#[derive(Debug)]
pub(crate) struct IgnoreFile {
    /// Its path from the root.
    source: Box<str>,
    patterns: Vec<Pattern>,
}

/// The pattern of an ignore file that decided about a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision<'f> {
    pub(crate) verdict: IgnoreVerdict,
    file: &'f IgnoreFile,
    pattern: &'f Pattern,
}

impl Decision<'_> {
    /// The pattern as a person finds it in the file.
    pub(crate) fn rule(&self) -> IgnoreRule {
        IgnoreRule::IgnoreFile {
            file: self.file.source.to_string(),
            line: self.pattern.line,
            pattern: String::from_utf8_lossy(&self.pattern.text).into_owned(),
        }
    }
}

impl IgnoreFile {
    /// Reads a whole file. Lines that can match nothing are left out; none is an error, as in git.
    pub(crate) fn parse(source: &str, bytes: &[u8]) -> IgnoreFile {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
        let patterns = lines.filter_map(|(number, line)| Pattern::parse(number, line)).collect();
        IgnoreFile { source: source.into(), patterns }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The last pattern that matches decides. `path` is relative to the ignore file's directory and ends
    /// in `name`.
    pub(crate) fn decide(&self, path: &[u8], name: &[u8], is_dir: bool) -> Option<Decision<'_>> {
        let pattern = self.patterns.iter().rev().find(|pattern| pattern.matches(path, name, is_dir))?;
        let verdict = if pattern.keep { IgnoreVerdict::Keep } else { IgnoreVerdict::Ignore };
        Some(Decision { verdict, file: self, pattern })
    }
}

#[derive(Debug)]
struct Pattern {
    /// Counted from 1.
    line: u32,
    /// As it is written, without blanks at its end.
    text: Box<[u8]>,
    keep: bool,
    dirs_only: bool,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// `target`: a name at any depth.
    Name(Box<[u8]>),
    /// `*.o`: the end of a name at any depth.
    NameEnd(Box<[u8]>),
    /// `*.py[co]`: a glob over a name at any depth.
    NameGlob(Glob),
    /// `/target`, `docs/out`: one path.
    Path(Box<[u8]>),
    /// `docs/*.txt`, `a/**/b`: a literal start, then a glob over the rest of the path.
    PathGlob { start: Box<[u8]>, rest: Glob },
}

impl Pattern {
    fn parse(number: u32, line: &[u8]) -> Option<Pattern> {
        if line.first() == Some(&b'#') {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Git's lines are C strings.
        let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let line = without_trailing_spaces(line);
        let text = line;
        let (keep, line) = match line.strip_prefix(b"!") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (dirs_only, line) = match line.strip_suffix(b"/") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        if line.is_empty() {
            return None;
        }
        let body = if line.contains(&b'/') { Self::path_body(line)? } else { Self::name_body(line)? };
        Some(Pattern { line: number, text: text.into(), keep, dirs_only, body })
    }

    fn name_body(line: &[u8]) -> Option<Body> {
        if literal_len(line) == line.len() {
            return Some(Body::Name(line.into()));
        }
        match line.strip_prefix(b"*") {
            Some(end) if literal_len(end) == end.len() => Some(Body::NameEnd(end.into())),
            _ => Some(Body::NameGlob(Glob::compile(line, Scope::Name)?)),
        }
    }

    fn path_body(line: &[u8]) -> Option<Body> {
        let line = line.strip_prefix(b"/").unwrap_or(line);
        let (start, rest) = line.split_at(literal_len(line));
        if rest.is_empty() {
            return Some(Body::Path(start.into()));
        }
        // Like git, the glob is compiled without the literal start, so that `a/b**/c` has a leading `**/`.
        Some(Body::PathGlob { start: start.into(), rest: Glob::compile(rest, Scope::Path)? })
    }

    fn matches(&self, path: &[u8], name: &[u8], is_dir: bool) -> bool {
        if self.dirs_only && !is_dir {
            return false;
        }
        match &self.body {
            Body::Name(literal) => **literal == *name,
            Body::NameEnd(end) => name.ends_with(end),
            Body::NameGlob(glob) => glob.matches(name),
            Body::Path(literal) => **literal == *path,
            Body::PathGlob { start, rest } => {
                path.strip_prefix(&**start).is_some_and(|tail| rest.matches(tail))
            }
        }
    }
}

/// Trailing spaces fall away unless a backslash protects them.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b' ' => {}
            b'\\' => {
                at += 1;
                if at == line.len() {
                    return line;
                }
                end = at + 1;
            }
            _ => end = at + 1,
        }
        at += 1;
    }
    &line[..end]
}

/// How many leading bytes mean themselves.
fn literal_len(pattern: &[u8]) -> usize {
    pattern.iter().position(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\')).unwrap_or(pattern.len())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Name,
    Path,
}

#[derive(Debug)]
struct Glob {
    tokens: Box<[Token]>,
    /// Bytes that any match needs at least: turns away most texts, and monstrous patterns always.
    shortest: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// `?`: one byte, not `/`.
    Any,
    /// `[...]`: one byte of a set, not `/`.
    OneOf(Box<ByteSet>),
    /// `*`: any bytes but `/`.
    Star,
    /// `**` at the end: any bytes.
    Everything,
    /// `**/`: any number of whole directories, also none.
    Directories,
}

impl Glob {
    /// None where git would never let the pattern match: an open `[`, an unknown class, a last backslash.
    fn compile(pattern: &[u8], scope: Scope) -> Option<Glob> {
        let mut tokens: Vec<Token> = Vec::with_capacity(pattern.len());
        let mut at = 0;
        while at < pattern.len() {
            let token = match pattern[at] {
                b'\\' => {
                    at += 1;
                    Token::Byte(*pattern.get(at)?)
                }
                b'?' => Token::Any,
                b'[' => {
                    let (set, last) = ByteSet::parse(pattern, at + 1)?;
                    at = last;
                    Token::OneOf(Box::new(set))
                }
                b'*' => {
                    let run = pattern[at..].iter().take_while(|byte| **byte == b'*').count();
                    let opens = at == 0 || pattern[at - 1] == b'/';
                    let after = &pattern[at + run..];
                    at += run - 1;
                    if scope == Scope::Name || run == 1 || !opens {
                        Token::Star
                    } else if after.starts_with(b"/") {
                        at += 1;
                        Token::Directories
                    } else if after.is_empty() || after.starts_with(b"\\/") {
                        Token::Everything
                    } else {
                        Token::Star
                    }
                }
                byte => Token::Byte(byte),
            };
            at += 1;
            let repeats = matches!(token, Token::Star | Token::Everything | Token::Directories)
                && tokens.last() == Some(&token);
            if !repeats {
                tokens.push(token);
            }
        }
        let shortest = tokens
            .iter()
            .filter(|token| matches!(token, Token::Byte(_) | Token::Any | Token::OneOf(_)))
            .count();
        Some(Glob { tokens: tokens.into(), shortest })
    }

    /// Walks both at once. On a mismatch the last `*` takes one byte more, within its directory; failing
    /// that, the last `**` takes more. An earlier star never has to be asked again: what it could still
    /// reach, the later one reaches as well.
    fn matches(&self, text: &[u8]) -> bool {
        if text.len() < self.shortest {
            return false;
        }
        let mut token = 0;
        let mut at = 0;
        let mut star: Option<(usize, usize)> = None;
        let mut deep: Option<(usize, usize)> = None;
        loop {
            let here = text.get(at).copied();
            let stepped = match (self.tokens.get(token), here) {
                (None, None) => return true,
                (Some(Token::Star), _) => {
                    star = Some((token + 1, at));
                    token += 1;
                    continue;
                }
                (Some(Token::Everything | Token::Directories), _) => {
                    deep = Some((token, at));
                    star = None;
                    token += 1;
                    continue;
                }
                (Some(Token::Byte(byte)), Some(here)) => *byte == here,
                (Some(Token::Any), Some(here)) => here != b'/',
                (Some(Token::OneOf(set)), Some(here)) => here != b'/' && set.contains(here),
                (None, Some(_)) | (Some(_), None) => false,
            };
            if stepped {
                token += 1;
                at += 1;
            } else if let Some((next, from)) =
                star.filter(|(_, from)| text.get(*from).is_some_and(|b| *b != b'/'))
            {
                star = Some((next, from + 1));
                (token, at) = (next, from + 1);
            } else if let Some((wide, from)) = deep {
                let more = match self.tokens[wide] {
                    Token::Directories => text[from..].iter().position(|byte| *byte == b'/'),
                    _ => (from < text.len()).then_some(0),
                };
                let Some(more) = more else { return false };
                deep = Some((wide, from + more + 1));
                star = None;
                (token, at) = (wide + 1, from + more + 1);
            } else {
                return false;
            }
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ByteSet([u64; 4]);

impl ByteSet {
    /// Reads a bracket expression whose `[` stands just before `start`; returns where its `]` stands.
    fn parse(pattern: &[u8], start: usize) -> Option<(ByteSet, usize)> {
        let mut set = ByteSet::default();
        let negated = matches!(pattern.get(start), Some(b'!' | b'^'));
        let mut at = start + usize::from(negated);
        // The byte before a `-`; zero where none can open a range.
        let mut previous = 0u8;
        loop {
            let byte = *pattern.get(at)?;
            let next = pattern.get(at + 1).copied();
            if byte == b'\\' {
                at += 1;
                previous = *pattern.get(at)?;
                set.insert(previous);
            } else if byte == b'-' && previous != 0 && next.is_some_and(|next| next != b']') {
                at += 1;
                if pattern[at] == b'\\' {
                    at += 1;
                }
                let high = *pattern.get(at)?;
                (previous..=high).for_each(|byte| set.insert(byte));
                previous = 0;
            } else if byte == b'[' && next == Some(b':') {
                let name = at + 2;
                let close = name + pattern[name..].iter().position(|byte| *byte == b']')?;
                if close > name && pattern[close - 1] == b':' {
                    let class = class(&pattern[name..close - 1])?;
                    (0..=127u8).filter(class).for_each(|byte| set.insert(byte));
                    at = close;
                    previous = 0;
                } else {
                    set.insert(byte);
                    previous = byte;
                }
            } else {
                set.insert(byte);
                previous = byte;
            }
            at += 1;
            if *pattern.get(at)? == b']' {
                if negated {
                    set.0 = set.0.map(|word| !word);
                }
                return Some((set, at));
            }
        }
    }

    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & (1 << (byte & 63)) != 0
    }
}

/// The named classes in git's reading of them: ASCII only, and `space` without the vertical ones.
fn class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    const SPACES: &[u8] = b" \t\n\r";
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| SPACES.contains(byte),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{IgnoreFile, IgnoreVerdict};

    fn verdict(rules: &str, path: &str) -> Option<IgnoreVerdict> {
        let (path, is_dir) = match path.strip_suffix('/') {
            Some(path) => (path, true),
            None => (path, false),
        };
        let name = path.rsplit('/').next().unwrap_or_default();
        let file = IgnoreFile::parse(".gitignore", rules.as_bytes());
        file.decide(path.as_bytes(), name.as_bytes(), is_dir).map(|decision| decision.verdict)
    }

    #[track_caller]
    fn ignored(rules: &str, paths: &[&str]) {
        for path in paths {
            assert_eq!(verdict(rules, path), Some(IgnoreVerdict::Ignore), "{rules:?} on {path}");
        }
    }

    #[track_caller]
    fn silent(rules: &str, paths: &[&str]) {
        for path in paths {
            assert_eq!(verdict(rules, path), None, "{rules:?} on {path}");
        }
    }

    #[test]
    fn names_and_paths() {
        ignored("target", &["target", "a/target", "a/target/"]);
        silent("target", &["targets", "a/target/x"]);
        ignored("/target", &["target", "target/"]);
        silent("/target", &["a/target"]);
        ignored("target/", &["target/", "a/target/"]);
        silent("target/", &["target", "a/target"]);
        ignored("a/b", &["a/b"]);
        silent("a/b", &["x/a/b"]);
        ignored("*.o", &["x.o", "a/b/.o"]);
        ignored("a/*.o", &["a/x.o"]);
        silent("a/*.o", &["a/b/x.o"]);
    }

    #[test]
    fn double_stars() {
        ignored("**/foo", &["foo", "a/foo", "a/b/foo"]);
        ignored("a/**", &["a/b", "a/b/c"]);
        silent("a/**", &["a", "b/a/c"]);
        ignored("a/**/b", &["a/b", "a/x/b", "a/x/y/b"]);
        silent("a/**/b", &["a/xb", "ab"]);
        ignored("a/***/b", &["a/b", "a/x/y/b"]);
        ignored("**/a/*b*/**/c", &["a/b/c", "x/a/bb/y/z/c", "a/a/b/a/c"]);
        ignored("x/**y", &["x/zy"]);
        silent("x/**y", &["x/a/y"]);
    }

    #[test]
    fn the_last_match_wins() {
        assert_eq!(verdict("*.log\n!keep.log\n", "a/keep.log"), Some(IgnoreVerdict::Keep));
        assert_eq!(verdict("!keep.log\n*.log\n", "keep.log"), Some(IgnoreVerdict::Ignore));
    }

    #[test]
    fn a_decision_names_its_line_as_it_is_written() {
        let file = IgnoreFile::parse("sub/.gitignore", b"# all\n\n!keep\n/* \r\n");
        let rule = file.decide(b"x", b"x", false).unwrap().rule();
        assert_eq!(rule.to_string(), "sub/.gitignore line 4 (/*)");
    }

    #[test]
    fn odd_lines() {
        silent("# x\n\n   \n!\n/\n//\n", &["# x", "x", " ", "!"]);
        ignored("\\#x\n\\!y", &["#x", "!y"]);
        ignored("a  ", &["a"]);
        ignored("a\\  ", &["a "]);
        ignored("a\r\nb\r", &["a", "b"]);
        ignored("\u{feff}a", &["a"]);
        silent("{a,b}", &["a", "b"]);
        ignored("{a,b}", &["{a,b}"]);
        silent("a\\", &["a", "a\\"]);
        silent("[a-", &["a", "[a-"]);
    }

    #[test]
    fn bracket_expressions() {
        ignored("[a-c]", &["a", "b", "c"]);
        silent("[a-c]", &["d", "-"]);
        ignored("[!a-c]\n[^d]", &["d", "x"]);
        ignored("[]-]x", &["]x", "-x"]);
        ignored("[[:digit:]_]", &["7", "_"]);
        silent("[[:digit:]_]", &["x"]);
        silent("[[:nonsense:]]", &["a"]);
        ignored("[\\]]", &["]"]);
        silent("a[/]b/c", &["a/b/c"]);
    }

    #[test]
    fn hostile_patterns_cost_little() {
        let stars = "*a".repeat(2000);
        silent(&stars, &[&"a".repeat(1999), &"ab".repeat(120)]);
        ignored(&stars, &[&"a".repeat(2000)]);
        let deep = format!("{}x", "**/*a".repeat(300));
        silent(&deep, &[&"a/".repeat(600), &"a".repeat(255)]);
    }
}
