//! Where what comes from outside may reach something dangerous: rules for sources, sinks and sanitizers, matched line by line,
//! and the values that are followed between them within one declaration.
//!
//! It is a hint for people and not a proof: it knows neither types nor other functions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleKind {
    Source,
    Sink,
    Sanitizer,
}

impl RuleKind {
    pub fn as_str(self) -> &'static str {
        match self {
            RuleKind::Source => "source",
            RuleKind::Sink => "sink",
            RuleKind::Sanitizer => "sanitizer",
        }
    }
}

/// How bad it is to reach a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }

    fn parse(text: &str) -> Option<Severity> {
        [Severity::Low, Severity::Medium, Severity::High, Severity::Critical]
            .into_iter()
            .find(|severity| severity.as_str().eq_ignore_ascii_case(text))
    }
}

#[derive(Debug, Clone)]
pub struct RiskRule {
    pub id: String,
    pub kind: RuleKind,
    /// What filters match.
    pub name: String,
    pub category: String,
    pub severity: Option<Severity>,
    pub tags: Vec<String>,
    pub confidence: f64,
    /// Only in these languages; in all, if there are none.
    pub languages: Vec<String>,
    patterns: Vec<Regex>,
    requires: Option<Regex>,
}

/// A rule, or a part of one, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDiagnostic {
    pub code: &'static str,
    pub message: String,
    pub rule: String,
}

/// All rules of an analysis, with what was wrong with them.
#[derive(Debug, Clone, Default)]
pub struct RiskRules {
    pub rules: Vec<RiskRule>,
    pub diagnostics: Vec<RuleDiagnostic>,
}

/// How much of a declaration is looked at. 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RiskCaps {
    pub max_bytes: usize,
    pub max_lines: usize,
    pub max_flows: usize,
}

impl Default for RiskCaps {
    fn default() -> RiskCaps {
        RiskCaps { max_bytes: 204_800, max_lines: 3000, max_flows: 150 }
    }
}

/// Where a rule matched first.
#[derive(Debug, Clone, PartialEq)]
pub struct RiskMatch {
    /// Which of the rules it is.
    pub rule: usize,
    /// From 1, within the declaration.
    pub line: usize,
    pub column: usize,
    pub excerpt: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RiskFlow {
    pub source: usize,
    pub sink: usize,
    pub line: usize,
    pub confidence: f64,
}

/// What was found in a declaration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Risk {
    pub matches: Vec<RiskMatch>,
    pub flows: Vec<RiskFlow>,
    /// It was too large to be looked at, or had more flows than are kept.
    pub is_capped: bool,
}

/// Patterns longer than this, and more diagnostics than this, are not kept.
const MAX_PATTERN: usize = 2000;
const MAX_DIAGNOSTICS: usize = 50;
const MAX_EXCERPT: usize = 160;

type DefaultRule = (
    RuleKind,
    &'static str,
    &'static str,
    Option<Severity>,
    &'static [&'static str],
    f64,
    &'static str,
    Option<&'static str>,
);

const INPUT: &[&str] = &["http-input"];

/// Kind, name, category, severity, tags, confidence, pattern, and what the line has to hold besides.
const DEFAULTS: &[DefaultRule] = &[
    (RuleKind::Source, "req.body", "input", None, INPUT, 0.6, r"\b(?:req|request)\.body\b", None),
    (RuleKind::Source, "req.headers", "input", None, INPUT, 0.6, r"\b(?:req|request)\.headers\b", None),
    (RuleKind::Source, "req.cookies", "input", None, INPUT, 0.6, r"\b(?:req|request)\.cookies\b", None),
    (RuleKind::Source, "ctx.request.body", "input", None, INPUT, 0.6, r"\bctx\.request\.body\b", None),
    (RuleKind::Source, "event.body", "input", None, INPUT, 0.6, r"\bevent\.body\b", None),
    (RuleKind::Source, "req.query", "input", None, INPUT, 0.6, r"\b(?:req|request)\.query\b", None),
    (RuleKind::Source, "req.params", "input", None, INPUT, 0.6, r"\b(?:req|request)\.params\b", None),
    (
        RuleKind::Source,
        "process.env",
        "config",
        None,
        &["env"],
        0.55,
        r"\b(?:process\.env|os\.environ|os\.getenv|System\.getenv|Environment\.GetEnvironmentVariable|env::var)\b",
        None,
    ),
    (
        RuleKind::Source,
        "argv",
        "input",
        None,
        &["cli-input"],
        0.55,
        r"\b(?:process\.argv|sys\.argv|os\.Args|env::args)\b",
        None,
    ),
    (
        RuleKind::Source,
        "stdin",
        "input",
        None,
        &["stdin"],
        0.5,
        r"\b(?:process\.stdin|sys\.stdin|os\.Stdin|System\.in)\b|\binput\s*\(",
        None,
    ),
    (
        RuleKind::Source,
        "location",
        "input",
        None,
        &["browser-input"],
        0.5,
        r"\b(?:window|document)\.location\b|\blocation\.(?:search|hash|href)\b",
        None,
    ),
    (
        RuleKind::Sink,
        "eval",
        "code-exec",
        Some(Severity::High),
        &["eval", "code-exec"],
        0.8,
        r"\beval\s*\(|\bnew\s+Function\s*\(",
        None,
    ),
    (
        RuleKind::Sink,
        "exec",
        "command",
        Some(Severity::High),
        &["command-exec"],
        0.8,
        r"\b(?:exec|execSync|execFile|execFileSync|system|popen|shell_exec|check_output)\s*\(",
        None,
    ),
    (
        RuleKind::Sink,
        "spawn",
        "command",
        Some(Severity::High),
        &["command-exec"],
        0.75,
        r"\b(?:spawn|spawnSync|Popen)\s*\(|\bsubprocess\.(?:run|call)\s*\(|\bCommand::new\s*\(|\bexec\.Command\s*\(",
        None,
    ),
    (
        RuleKind::Sink,
        "file.write",
        "file-write",
        Some(Severity::Medium),
        &["file-write"],
        0.7,
        r"\b(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|file_put_contents)\s*\(|\b(?:fs::write|os\.WriteFile)\s*\(",
        None,
    ),
    (
        RuleKind::Sink,
        "sql.query",
        "sql",
        Some(Severity::Medium),
        &["sql"],
        0.7,
        r"\.\s*(?:query|execute|executemany|raw|exec)\s*\(",
        Some(r"\b(?:select|insert|update|delete|drop|union)\b"),
    ),
    (
        RuleKind::Sink,
        "innerHTML",
        "xss",
        Some(Severity::Medium),
        &["xss"],
        0.7,
        r"\.(?:innerHTML|outerHTML)\s*\+?=|\bdocument\.write\s*\(|\bdangerouslySetInnerHTML\b",
        None,
    ),
    (
        RuleKind::Sink,
        "deserialize",
        "deserialization",
        Some(Severity::High),
        &["deserialization"],
        0.8,
        r"\b(?:pickle\.loads?|yaml\.load|marshal\.loads|unserialize|readObject)\s*\(",
        None,
    ),
    (
        RuleKind::Sanitizer,
        "escape",
        "sanitize",
        None,
        &["sanitize"],
        0.55,
        r"\b(?:escape\w*|encodeURIComponent|encodeURI|htmlspecialchars|sanitize\w*)\s*\(",
        None,
    ),
    (
        RuleKind::Sanitizer,
        "parameterize",
        "sanitize",
        None,
        &["sanitize"],
        0.6,
        r"\b(?:prepare|parameterize|bind\w*)\s*\(",
        None,
    ),
];

impl RiskRules {
    /// The rules that are built in.
    pub fn defaults() -> &'static RiskRules {
        static DEFAULT_RULES: OnceLock<RiskRules> = OnceLock::new();
        DEFAULT_RULES.get_or_init(|| {
            let mut rules = RiskRules::default();
            for (kind, name, category, severity, tags, confidence, pattern, requires) in DEFAULTS {
                rules.add(
                    &json!({
                        "name": name,
                        "category": category,
                        "severity": severity.map(Severity::as_str),
                        "tags": tags,
                        "confidence": confidence,
                        "patterns": [pattern],
                        "requires": requires,
                    }),
                    *kind,
                );
            }
            rules
        })
    }

    /// The rules of a document `{sources, sinks, sanitizers}` after those that are built in; one of the same id takes the
    /// place of the other.
    pub fn with(document: &Value, include_defaults: bool) -> RiskRules {
        let mut rules = if include_defaults { RiskRules::defaults().clone() } else { RiskRules::default() };
        for (field, kind) in
            [("sources", RuleKind::Source), ("sinks", RuleKind::Sink), ("sanitizers", RuleKind::Sanitizer)]
        {
            for rule in document.get(field).and_then(Value::as_array).into_iter().flatten().take(1000) {
                rules.add(rule, kind);
            }
        }
        rules
    }

    /// A rule without a name or patterns is left out; a pattern that cannot be read is told of, and the others are kept.
    fn add(&mut self, rule: &Value, kind: RuleKind) {
        let text = |field: &str| rule.get(field).and_then(Value::as_str);
        let texts = |field: &str| -> Vec<String> {
            let list = rule.get(field).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let Some(name) = text("name").filter(|name| !name.is_empty()) else { return };
        let id = text("id").map_or_else(|| format!("{}:{name}", kind.as_str()), str::to_owned);
        let patterns: Vec<Regex> =
            texts("patterns").iter().filter_map(|pattern| self.pattern(&id, pattern)).collect();
        if patterns.is_empty() {
            return;
        }
        let rule = RiskRule {
            kind,
            name: name.to_owned(),
            category: text("category").unwrap_or_default().to_owned(),
            severity: text("severity").and_then(Severity::parse),
            tags: texts("tags"),
            confidence: rule.get("confidence").and_then(Value::as_f64).unwrap_or(0.5).clamp(0.0, 1.0),
            languages: texts("languages"),
            requires: text("requires").and_then(|pattern| self.pattern(&id, pattern)),
            patterns,
            id,
        };
        match self.rules.iter_mut().find(|known| known.id == rule.id) {
            Some(known) => *known = rule,
            None => self.rules.push(rule),
        }
    }

    fn pattern(&mut self, rule: &str, pattern: &str) -> Option<Regex> {
        let built = RegexBuilder::new(pattern).case_insensitive(true).size_limit(1 << 20).build();
        match built {
            Ok(regex) if pattern.len() <= MAX_PATTERN => Some(regex),
            Ok(_) | Err(_) => {
                if self.diagnostics.len() < MAX_DIAGNOSTICS {
                    let shown: String = pattern.chars().take(MAX_EXCERPT).collect();
                    self.diagnostics.push(RuleDiagnostic {
                        code: "INVALID_PATTERN",
                        message: format!("the pattern {shown} cannot be read"),
                        rule: rule.to_owned(),
                    });
                }
                None
            }
        }
    }

    /// What the rules find in the text of a declaration; `None` if nothing.
    pub fn look_at(&self, text: &str, language: &str, caps: RiskCaps) -> Option<Risk> {
        let over = |value: usize, cap: usize| cap > 0 && value > cap;
        if over(text.len(), caps.max_bytes) || over(text.lines().count(), caps.max_lines) {
            return Some(Risk { is_capped: true, ..Risk::default() });
        }
        let mut risk = Risk::default();
        // Names that hold what came from outside, each with the rules it came by.
        let mut tainted: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for (row, line) in text.lines().enumerate() {
            let found = self.matches(line, language);
            let mut incoming: BTreeSet<usize> = BTreeSet::new();
            for (rule, column) in &found {
                if self.rules[*rule].kind == RuleKind::Source {
                    incoming.insert(*rule);
                }
                if !risk.matches.iter().any(|known| known.rule == *rule) {
                    let excerpt = line.trim().chars().take(MAX_EXCERPT).collect();
                    risk.matches.push(RiskMatch { rule: *rule, line: row + 1, column: column + 1, excerpt });
                }
            }
            let cleaned = self.cleaned(line, &found);
            let sources: BTreeSet<usize> = tainted
                .iter()
                .filter(|(name, _)| !cleaned.contains(*name) && holds_word(line, name))
                .flat_map(|(_, rules)| rules.iter().copied())
                .chain(incoming.iter().copied())
                .collect();
            for (sink, _) in found.iter().filter(|(rule, _)| self.rules[*rule].kind == RuleKind::Sink) {
                for source in &sources {
                    if risk.flows.iter().any(|flow| (flow.source, flow.sink) == (*source, *sink)) {
                        continue;
                    }
                    if over(risk.flows.len() + 1, caps.max_flows) {
                        risk.is_capped = true;
                        continue;
                    }
                    let confidence = self.rules[*source].confidence * self.rules[*sink].confidence + 0.1;
                    let flow = RiskFlow {
                        source: *source,
                        sink: *sink,
                        line: row + 1,
                        confidence: confidence.min(1.0),
                    };
                    risk.flows.push(flow);
                }
            }
            let before = tainted.clone();
            for name in &cleaned {
                tainted.remove(name);
            }
            // What a name held before does not matter for what it is given now, but for `+=` and the like.
            let given = right_side(line).unwrap_or(line);
            let carried: BTreeSet<usize> = before
                .iter()
                .filter(|(name, _)| !cleaned.contains(*name) && holds_word(given, name))
                .flat_map(|(_, rules)| rules.iter().copied())
                .chain(incoming)
                .collect();
            for name in assigned(line) {
                if carried.is_empty() {
                    tainted.remove(&name);
                } else if tainted.len() < 1000 {
                    tainted.insert(name, carried.clone());
                }
            }
        }
        (!risk.matches.is_empty()).then_some(risk)
    }

    /// The rules that match a line, each with where.
    fn matches(&self, line: &str, language: &str) -> Vec<(usize, usize)> {
        // Lines of generated code may be as long as they like.
        if line.len() > 4096 {
            return Vec::new();
        }
        self.rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| {
                rule.languages.is_empty() || rule.languages.iter().any(|each| each == language)
            })
            .filter_map(|(index, rule)| {
                let at = rule.patterns.iter().find_map(|pattern| pattern.find(line))?.start();
                let required = rule.requires.as_ref().is_none_or(|pattern| pattern.is_match(line));
                required.then_some((index, at))
            })
            .collect()
    }

    /// The names in the arguments of the sanitizers on this line.
    fn cleaned(&self, line: &str, found: &[(usize, usize)]) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (_, at) in found.iter().filter(|(rule, _)| self.rules[*rule].kind == RuleKind::Sanitizer) {
            let after = line.get(*at..).unwrap_or_default();
            let Some(open) = after.find('(') else { continue };
            let mut depth = 0_usize;
            let end = after[open..].bytes().position(|byte| {
                match byte {
                    b'(' => depth += 1,
                    b')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            });
            let inside = &after[open..open + end.unwrap_or(after.len() - open)];
            names.extend(words(inside).map(str::to_owned));
        }
        names
    }
}

impl Risk {
    /// Whether a filter's text, in lower case, is a part of what was found.
    pub fn has(&self, rules: &RiskRules, what: RiskField, text: &str) -> bool {
        let holds = |value: &str| value.to_lowercase().contains(text);
        let of = |kind: RuleKind| {
            self.matches
                .iter()
                .filter_map(move |found| rules.rules.get(found.rule))
                .filter(move |rule| rule.kind == kind)
        };
        let mut all = self.matches.iter().filter_map(|found| rules.rules.get(found.rule));
        match what {
            RiskField::Tag => all.any(|rule| rule.tags.iter().any(|tag| holds(tag))),
            RiskField::Category => all.any(|rule| holds(&rule.category)),
            RiskField::Source => of(RuleKind::Source).any(|rule| holds(&rule.name)),
            RiskField::Sink => of(RuleKind::Sink).any(|rule| holds(&rule.name)),
            RiskField::Flow => self.flows.iter().any(|flow| {
                let name = |rule: usize| rules.rules.get(rule).map_or("", |rule| rule.name.as_str());
                holds(&format!("{}->{}", name(flow.source), name(flow.sink)))
            }),
        }
    }

    /// The worst that can be reached; low where there are only sources.
    pub fn severity(&self, rules: &RiskRules) -> Option<Severity> {
        let found = || self.matches.iter().filter_map(|found| rules.rules.get(found.rule));
        let worst = found().filter(|rule| rule.kind == RuleKind::Sink).filter_map(|rule| rule.severity).max();
        let has_source = found().any(|rule| rule.kind == RuleKind::Source);
        worst.or(has_source.then_some(Severity::Low))
    }
}

/// What a filter on risks looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RiskField {
    Tag,
    Category,
    Source,
    Sink,
    Flow,
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$')).filter(|word| is_name(word))
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
}

fn holds_word(line: &str, name: &str) -> bool {
    words(line).any(|word| word == name)
}

/// The names on the left of an assignment, those of a destructuring too.
fn assigned(line: &str) -> Vec<String> {
    let bytes = line.as_bytes();
    let is_assignment = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
        let after = bytes.get(at + 1).copied().unwrap_or(b' ');
        !b"=!<>".contains(&before) && !b"=>~".contains(&after)
    };
    let Some(at) = memchr_all(line, b'=').find(is_assignment) else { return Vec::new() };
    let left = line.get(..at).unwrap_or_default().trim_end_matches([':', '+', '-', '*', '/', '|', '&']);
    const KEYWORDS: [&str; 10] =
        ["const", "let", "var", "final", "auto", "mut", "static", "val", "my", "readonly"];
    // A type comes after a colon: `name: Type = …`; a call on the left is no assignment to its arguments.
    let left = left.split(": ").next().unwrap_or(left);
    if left.contains('(') && !left.trim_start().starts_with('(') {
        return Vec::new();
    }
    let is_pattern = left.contains(['{', '[', ',']) || left.trim_start().starts_with('(');
    let names: Vec<&str> = words(left).filter(|word| !KEYWORDS.contains(word)).collect();
    if is_pattern {
        return names.into_iter().map(str::to_owned).collect();
    }
    // `obj.field = x` taints the object; `Type name = x` the name.
    let last = if left.contains(['.', '>']) { names.first() } else { names.last() };
    last.map(|name| (*name).to_owned()).into_iter().collect()
}

/// What a plain assignment gives; `None` where the old value counts too.
fn right_side(line: &str) -> Option<&str> {
    let at = memchr_all(line, b'=').find(|at| {
        let bytes = line.as_bytes();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
        let after = bytes.get(at + 1).copied().unwrap_or(b' ');
        !b"=!<>".contains(&before) && !b"=>~".contains(&after)
    })?;
    let is_plain = !line.get(..at)?.ends_with(['+', '-', '*', '/', '|', '&', '%', '.', '?']);
    is_plain.then(|| line.get(at + 1..))?
}

fn memchr_all(line: &str, byte: u8) -> impl Iterator<Item = usize> {
    line.bytes().enumerate().filter(move |(_, each)| *each == byte).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(text: &str) -> Option<Risk> {
        RiskRules::defaults().look_at(text, "javascript", RiskCaps::default())
    }

    fn flows(text: &str) -> Vec<String> {
        let rules = &RiskRules::defaults().rules;
        let risk = look(text).unwrap_or_default();
        risk.flows
            .iter()
            .map(|flow| format!("{}->{}", rules[flow.source].name, rules[flow.sink].name))
            .collect()
    }

    #[test]
    fn c018_from_a_source_to_a_sink() {
        assert_eq!(flows("const cmd = req.body.cmd;\nexec(cmd);"), ["req.body->exec"]);
        assert_eq!(flows("exec(req.body.cmd)"), ["req.body->exec"]);
        assert_eq!(flows("const { a, b } = req.query;\nconst c = b + 'x';\neval(c)"), ["req.query->eval"]);
        assert_eq!(flows("db.query('SELECT ' + process.env.TABLE)"), ["process.env->sql.query"]);
        assert_eq!(flows("name := os.Args[1]\nexec.Command(name)"), ["argv->spawn"]);
    }

    #[test]
    fn what_is_cleaned_or_written_over_is_not_followed() {
        assert_eq!(flows("let a = req.body.a;\nescape(a);\nexec(a);"), Vec::<String>::new());
        assert_eq!(flows("let a = req.body.a;\na = 'ls';\nexec(a);"), Vec::<String>::new());
        assert_eq!(flows("let a = req.body.a;\nlet b = 1;\nescape(b);\nexec(a);"), ["req.body->exec"]);
        assert_eq!(flows("exec('ls')"), Vec::<String>::new());
        assert_eq!(flows("db.query(req.body.q)"), Vec::<String>::new(), "no SQL on the line");
    }

    #[test]
    fn c017_what_filters_find() {
        let rules = RiskRules::defaults();
        let risk = look("const cmd = req.body.cmd;\nexec(cmd);").unwrap();
        for (field, text, expected) in [
            (RiskField::Tag, "command-exec", true),
            (RiskField::Tag, "sql", false),
            (RiskField::Category, "comm", true),
            (RiskField::Source, "req.body", true),
            (RiskField::Source, "exec", false),
            (RiskField::Sink, "exec", true),
            (RiskField::Flow, "req.body->exec", true),
            (RiskField::Flow, "exec->req", false),
        ] {
            assert_eq!(risk.has(rules, field, text), expected, "{text}");
        }
        assert_eq!(risk.severity(rules), Some(Severity::High));
        assert_eq!(
            (risk.matches[0].line, risk.matches[0].excerpt.as_str()),
            (1, "const cmd = req.body.cmd;")
        );
        assert!((risk.flows[0].confidence - (0.6 * 0.8 + 0.1)).abs() < 1e-9);
        assert_eq!(look("const a = req.headers.a;").unwrap().severity(rules), Some(Severity::Low));
        assert_eq!(look("return 1"), None);
    }

    #[test]
    fn rules_of_ones_own() {
        let document = json!({
            "sources": [{ "name": "message", "patterns": ["\\bmessage\\.text\\b", "("], "confidence": 0.9 }, { "name": "" }],
            "sinks": [{ "id": "sink:exec", "name": "exec", "patterns": ["\\brun\\("], "severity": "critical" }, { "name": "none" }],
        });
        let rules = RiskRules::with(&document, true);
        assert_eq!(
            rules.rules.len(),
            RiskRules::defaults().rules.len() + 1,
            "one takes the place of another"
        );
        assert_eq!(rules.diagnostics.len(), 1);
        assert_eq!(
            (rules.diagnostics[0].code, rules.diagnostics[0].rule.as_str()),
            ("INVALID_PATTERN", "source:message")
        );
        let risk = rules.look_at("run(message.text)", "python", RiskCaps::default()).unwrap();
        assert_eq!((risk.flows.len(), risk.severity(&rules)), (1, Some(Severity::Critical)));
        assert_eq!(RiskRules::with(&document, false).rules.len(), 2);
    }

    #[test]
    fn large_texts_are_capped_and_say_so() {
        let risk = look(&"x\n".repeat(4000)).unwrap();
        assert!(risk.is_capped && risk.matches.is_empty());
        let caps = RiskCaps { max_flows: 1, ..RiskCaps::default() };
        let text = "exec(req.body + req.query)";
        let risk = RiskRules::defaults().look_at(text, "", caps).unwrap();
        assert!(risk.is_capped && risk.flows.len() == 1);
        assert!(look(&"=".repeat(200_000)).is_none());
    }

    #[test]
    fn the_left_side_of_an_assignment() {
        for (line, expected) in [
            ("const a = 1", vec!["a"]),
            ("let {a, b} = c", vec!["a", "b"]),
            ("a, b = c", vec!["a", "b"]),
            ("String name = x", vec!["name"]),
            ("name: str = x", vec!["name"]),
            ("self.rows = x", vec!["self"]),
            ("x := y", vec!["x"]),
            ("x += y", vec!["x"]),
            ("if (a == b)", vec![]),
            ("a => b", vec![]),
            ("f(a, b = 1)", vec![]),
            ("a >= b", vec![]),
        ] {
            assert_eq!(assigned(line), expected, "{line}");
        }
    }
}
