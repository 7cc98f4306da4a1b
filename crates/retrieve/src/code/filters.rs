//! The filters on declarations: one table, from which arguments, flags, documentation and evaluation come.

use std::borrow::Cow;

use model::{DeclarationFacts, Fact, FileFacts, Knowledge};
use regex::{Regex, RegexBuilder};

use super::kinds::is_called;
use super::risk::{RiskCaps, RiskField, RiskRules};

/// What a filter is asked about.
#[derive(Debug, Clone, Copy)]
pub struct CodeCandidate<'a> {
    /// Relative to the root.
    pub path: &'a str,
    pub file: &'a FileFacts,
    pub declaration: &'a DeclarationFacts,
}

/// What a caller gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    /// One text, taken whole.
    Text,
    /// Words or several texts, of which one has to fit: divided by commas and blanks, quoted ones whole.
    Words,
    /// A whole number, the least that fits.
    Number,
    /// Only `true` asks for anything.
    Flag,
}

/// A filter: how it is called, what it takes, what it asks for, and how it is evaluated.
pub struct FilterSpec {
    /// The argument.
    pub name: &'static str,
    /// The flag of the command line.
    pub flag: &'static str,
    pub argument: ArgumentType,
    /// What has to be known of a language for the filter to answer.
    pub fact: Option<Fact>,
    /// One sentence for schemas, help and documentation.
    pub doc: &'static str,
    test: FactTest,
}

/// How a filter looks at a candidate. Lists match if one of their elements does.
enum FactTest {
    /// An element is the text, in the same case.
    Is(fn(CodeCandidate<'_>, &str) -> bool),
    /// An element holds the text, in any case.
    Holds(for<'a> fn(CodeCandidate<'a>) -> Vec<Cow<'a, str>>),
    /// The value holds the text, in the same case.
    HoldsAsWritten(for<'a> fn(CodeCandidate<'a>) -> &'a str),
    AtLeast(fn(&DeclarationFacts) -> u32),
    Has(fn(CodeCandidate<'_>) -> bool),
    OneOf(fn(CodeCandidate<'_>, &str) -> bool),
    /// A part of the path, or a `/pattern/`; all filters of this kind are one list.
    Path,
    /// A part of what the rules for risks find in the text.
    Risk(RiskField),
}

macro_rules! list {
    ($field:ident) => {
        FactTest::Holds(|candidate| {
            candidate.declaration.$field.iter().map(|each| Cow::Borrowed(each.as_str())).collect()
        })
    };
}

const fn filter(
    name: &'static str,
    flag: &'static str,
    argument: ArgumentType,
    fact: Option<Fact>,
    test: FactTest,
    doc: &'static str,
) -> FilterSpec {
    FilterSpec { name, flag, argument, fact, doc, test }
}

use ArgumentType::{Flag, Number, Text, Words};

/// All filters, in the order of the specification.
pub static FILTERS: &[FilterSpec] = &[
    filter(
        "type",
        "--type",
        Words,
        Some(Fact::Kind),
        FactTest::OneOf(of_kind),
        "Kinds of declarations, any of them: FunctionDeclaration, or short: function class method.",
    ),
    filter(
        "import",
        "--import",
        Text,
        Some(Fact::Imports),
        FactTest::Is(imports),
        "The file imports exactly this module, as written.",
    ),
    filter(
        "calls",
        "--calls",
        Text,
        Some(Fact::Calls),
        FactTest::Is(calls),
        "Calls exactly this (db.query or query), or is the declaration of this name that calls something.",
    ),
    filter(
        "uses",
        "--uses",
        Text,
        Some(Fact::Uses),
        FactTest::Is(|candidate, text| holds_exactly(&candidate.declaration.uses, text)),
        "This identifier stands in it, exactly.",
    ),
    filter(
        "signature",
        "--signature",
        Text,
        Some(Fact::Signature),
        FactTest::HoldsAsWritten(|candidate| &candidate.declaration.signature),
        "A part of its signature, in the same case.",
    ),
    filter(
        "param",
        "--param",
        Text,
        Some(Fact::Parameters),
        FactTest::Is(has_parameter),
        "Has a parameter of exactly this name.",
    ),
    filter(
        "decorator",
        "--decorator",
        Text,
        Some(Fact::Decorators),
        list!(decorators),
        "A part of one of its decorators, attributes or annotations.",
    ),
    filter(
        "inferredType",
        "--inferred-type",
        Text,
        Some(Fact::Types),
        FactTest::Holds(types),
        "A part of a type of its parameters, fields, variables or result, declared or shown by a literal.",
    ),
    filter(
        "returnType",
        "--return-type",
        Text,
        Some(Fact::ReturnType),
        FactTest::Holds(return_type),
        "A part of its declared return type.",
    ),
    filter(
        "throws",
        "--throws",
        Text,
        Some(Fact::Throws),
        list!(throws),
        "A part of what it throws, raises or panics with.",
    ),
    filter(
        "reads",
        "--reads",
        Text,
        Some(Fact::Reads),
        list!(reads),
        "A part of a name whose value it uses: body, req.body.",
    ),
    filter(
        "writes",
        "--writes",
        Text,
        Some(Fact::Writes),
        list!(writes),
        "A part of a plain name that it gives a value.",
    ),
    filter(
        "mutates",
        "--mutates",
        Text,
        Some(Fact::Writes),
        list!(mutates),
        "A part of a member or element that it gives a value: self.size, rows[].",
    ),
    filter(
        "alias",
        "--alias",
        Text,
        Some(Fact::Aliases),
        list!(aliases),
        "A part of an assignment of one name to another: copy=self.rows.",
    ),
    filter("awaits", "--awaits", Text, Some(Fact::Async), list!(awaits), "A part of what it awaits."),
    filter(
        "risk",
        "--risk",
        Text,
        None,
        FactTest::Risk(RiskField::Tag),
        "The same as riskTag, which counts where both are given.",
    ),
    filter(
        "riskTag",
        "--risk-tag",
        Text,
        None,
        FactTest::Risk(RiskField::Tag),
        "A part of a tag of the risks in it: command-exec, sql, xss, env, http-input.",
    ),
    filter(
        "riskSource",
        "--risk-source",
        Text,
        None,
        FactTest::Risk(RiskField::Source),
        "A part of the name of a source in it: req.body.",
    ),
    filter(
        "riskSink",
        "--risk-sink",
        Text,
        None,
        FactTest::Risk(RiskField::Sink),
        "A part of the name of a sink in it: exec.",
    ),
    filter(
        "riskCategory",
        "--risk-category",
        Text,
        None,
        FactTest::Risk(RiskField::Category),
        "A part of a category of the risks in it: input, command, sql.",
    ),
    filter(
        "riskFlow",
        "--risk-flow",
        Text,
        None,
        FactTest::Risk(RiskField::Flow),
        "A part of a way from a source to a sink in it: req.body->exec.",
    ),
    filter(
        "branchesMin",
        "--branches",
        Number,
        Some(Fact::ControlFlow),
        FactTest::AtLeast(|facts| facts.branches),
        "At least so many branches: ifs, ternaries, cases, handlers.",
    ),
    filter(
        "loopsMin",
        "--loops",
        Number,
        Some(Fact::ControlFlow),
        FactTest::AtLeast(|facts| facts.loops),
        "At least so many loops.",
    ),
    filter(
        "breaksMin",
        "--breaks",
        Number,
        Some(Fact::ControlFlow),
        FactTest::AtLeast(|facts| facts.breaks),
        "At least so many breaks.",
    ),
    filter(
        "continuesMin",
        "--continues",
        Number,
        Some(Fact::ControlFlow),
        FactTest::AtLeast(|facts| facts.continues),
        "At least so many continues.",
    ),
    filter(
        "visibility",
        "--visibility",
        Text,
        Some(Fact::Visibility),
        FactTest::Holds(visibility),
        "Who sees it: public, protected, internal or private.",
    ),
    filter(
        "extends",
        "--extends",
        Text,
        Some(Fact::Extends),
        list!(extends),
        "A part of what it extends or implements.",
    ),
    filter(
        "lint",
        "--lint",
        Flag,
        Some(Fact::Errors),
        FactTest::Has(has_errors),
        "The parser found errors in it.",
    ),
    filter(
        "async",
        "--async",
        Flag,
        Some(Fact::Async),
        FactTest::Has(|candidate| candidate.declaration.is_async),
        "It is asynchronous.",
    ),
    filter(
        "generator",
        "--generator",
        Flag,
        Some(Fact::Generator),
        FactTest::Has(|candidate| candidate.declaration.is_generator),
        "It is a generator.",
    ),
    filter(
        "returns",
        "--returns",
        Flag,
        Some(Fact::ControlFlow),
        FactTest::Has(returns),
        "It declares, documents or returns a value.",
    ),
    filter(
        "lang",
        "--lang",
        Words,
        None,
        FactTest::OneOf(in_language),
        "Languages, any of them, by name or short: py js ts rs.",
    ),
    filter(
        "path",
        "--path",
        Words,
        None,
        FactTest::Path,
        "A part of the file's path, or a /pattern/; path and file are one list, of which one has to fit.",
    ),
    filter("file", "--file", Words, None, FactTest::Path, "The same as path."),
    filter(
        "ext",
        "--ext",
        Words,
        None,
        FactTest::OneOf(has_extension),
        "Extensions of the file, any of them: .py or py.",
    ),
];

/// The filters of one question.
#[derive(Default)]
pub struct CodeFilters {
    asked: Vec<Asked>,
    paths: Vec<PathTest>,
}

struct Asked {
    spec: &'static FilterSpec,
    needle: Needle,
}

enum Needle {
    Text(String),
    Words(Vec<String>),
    Number(u64),
    Flag,
}

enum PathTest {
    Holds(String),
    HoldsAsWritten(String),
    Pattern(Regex),
}

/// Longer lists and patterns are no question.
const MAX_WORDS: usize = 200;
const MAX_PATTERN: usize = 1000;

impl CodeFilters {
    /// Adds one filter by the texts that the caller gave for it; several only where it takes a list. A filter that asks
    /// for nothing is left out.
    pub fn add(
        &mut self,
        spec: &'static FilterSpec,
        values: &[String],
        case_of_paths: bool,
    ) -> Result<(), String> {
        let words = || -> Result<Vec<String>, String> {
            let words: Vec<String> = values.iter().flat_map(|value| split(value)).collect();
            if words.len() > MAX_WORDS {
                return Err(format!("{} takes at most {MAX_WORDS} values", spec.name));
            }
            Ok(words)
        };
        if matches!(spec.test, FactTest::Path) {
            for word in words()? {
                self.paths.push(path_test(&word, case_of_paths));
            }
            return Ok(());
        }
        let first = values.first().map(String::as_str).unwrap_or_default();
        let needle = match spec.argument {
            ArgumentType::Text if first.is_empty() => return Ok(()),
            ArgumentType::Text => match spec.test {
                FactTest::Holds(_) | FactTest::Risk(_) => Needle::Text(first.to_lowercase()),
                _ => Needle::Text(first.to_owned()),
            },
            ArgumentType::Words => {
                let words = words()?;
                if words.is_empty() {
                    return Ok(());
                }
                Needle::Words(words)
            }
            ArgumentType::Number => Needle::Number(whole(spec.name, first)?),
            ArgumentType::Flag if first == "true" => Needle::Flag,
            ArgumentType::Flag => return Ok(()),
        };
        self.asked.push(Asked { spec, needle });
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.paths.is_empty()
    }

    /// The facts that the filters ask for, each with the filter's name.
    pub fn asked_facts(&self) -> impl Iterator<Item = (&'static str, Fact)> + '_ {
        self.asked.iter().filter_map(|asked| Some((asked.spec.name, asked.spec.fact?)))
    }

    /// Whether a candidate passes all of them. A fact that its language does not have, or that is not read, does not pass.
    pub fn admits(&self, candidate: CodeCandidate<'_>, knowledge: &dyn Fn(Fact) -> Knowledge) -> bool {
        self.admits_path(candidate.path)
            && self.asked.iter().all(|asked| {
                let known = asked
                    .spec
                    .fact
                    .is_none_or(|fact| matches!(knowledge(fact), Knowledge::Exact | Knowledge::Approximate));
                known && asked.admits(candidate)
            })
    }

    /// Whether a filter asks for risks, which are looked for in the text.
    pub fn asks_for_risks(&self) -> bool {
        self.asked.iter().any(|asked| matches!(asked.spec.test, FactTest::Risk(_)))
    }

    /// Whether the text of a candidate has the risks that are asked for.
    pub fn admits_text(&self, text: &str, language: &str, rules: &RiskRules) -> bool {
        if !self.asks_for_risks() {
            return true;
        }
        let Some(risk) = rules.look_at(text, language, RiskCaps::default()) else { return false };
        let has_tag = self.asked.iter().any(|asked| asked.spec.name == "riskTag");
        self.asked.iter().filter(|asked| !(has_tag && asked.spec.name == "risk")).all(|asked| {
            match (&asked.spec.test, &asked.needle) {
                (FactTest::Risk(field), Needle::Text(text)) => risk.has(rules, *field, text),
                _ => true,
            }
        })
    }

    pub fn admits_path(&self, path: &str) -> bool {
        self.paths.is_empty()
            || self.paths.iter().any(|test| match test {
                PathTest::Holds(part) => path.to_lowercase().contains(part),
                PathTest::HoldsAsWritten(part) => path.contains(part),
                PathTest::Pattern(pattern) => pattern.is_match(path),
            })
    }
}

impl Asked {
    fn admits(&self, candidate: CodeCandidate<'_>) -> bool {
        match (&self.spec.test, &self.needle) {
            (FactTest::Is(is), Needle::Text(text)) => is(candidate, text),
            (FactTest::Holds(values), Needle::Text(text)) => {
                values(candidate).iter().any(|value| value.to_lowercase().contains(text))
            }
            (FactTest::HoldsAsWritten(value), Needle::Text(text)) => value(candidate).contains(text),
            (FactTest::AtLeast(number), Needle::Number(least)) => {
                u64::from(number(candidate.declaration)) >= *least
            }
            (FactTest::Has(has), Needle::Flag) => has(candidate),
            (FactTest::OneOf(is), Needle::Words(words)) => words.iter().any(|word| is(candidate, word)),
            // These are looked for in the text.
            (FactTest::Risk(_), _) => true,
            // `add` makes no other pairs.
            _ => false,
        }
    }
}

/// A list as people write it: commas and blanks divide it, quotation marks keep blanks together, and what is between slashes is
/// one pattern.
fn split(text: &str) -> Vec<String> {
    let trimmed = text.trim();
    if trimmed.len() > 1 && trimmed.starts_with('/') && pattern(trimmed).is_some() {
        return vec![trimmed.to_owned()];
    }
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => word.push(c),
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == ',' || c.is_whitespace() => words.push(std::mem::take(&mut word)),
            None => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// `/pattern/flags`, without its slashes.
fn pattern(word: &str) -> Option<(&str, &str)> {
    let inner = word.strip_prefix('/')?;
    let end = inner.rfind('/')?;
    let (body, flags) = (&inner[..end], &inner[end + 1..]);
    (!body.is_empty() && flags.chars().all(|c| c.is_ascii_lowercase())).then_some((body, flags))
}

/// A pattern that cannot be read is a part of a path, as the specification says.
fn path_test(word: &str, case: bool) -> PathTest {
    if let Some((body, flags)) = pattern(word).filter(|(body, _)| body.len() <= MAX_PATTERN) {
        let built = RegexBuilder::new(body)
            .case_insensitive(!case || flags.contains('i'))
            .size_limit(1 << 20)
            .dfa_size_limit(1 << 20)
            .build();
        if let Ok(pattern) = built {
            return PathTest::Pattern(pattern);
        }
    }
    if case { PathTest::HoldsAsWritten(word.to_owned()) } else { PathTest::Holds(word.to_lowercase()) }
}

fn whole(name: &str, text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("{name} must be a whole number of at least 0"))
}

fn holds_exactly(list: &[String], text: &str) -> bool {
    list.iter().any(|each| each == text)
}

fn of_kind(candidate: CodeCandidate<'_>, word: &str) -> bool {
    is_called(&candidate.declaration.kind, word)
}

fn imports(candidate: CodeCandidate<'_>, module: &str) -> bool {
    holds_exactly(&candidate.file.imports, module)
}

/// Either side of a call: the callee, dotted or its last part, or the caller.
fn calls(candidate: CodeCandidate<'_>, text: &str) -> bool {
    let asked = text.replace("::", ".").replace("->", ".");
    let declaration = candidate.declaration;
    let is_caller =
        !declaration.calls.is_empty() && (declaration.name == asked || declaration.qualified == asked);
    let is_called = |callee: &String| {
        *callee == asked || !asked.contains('.') && callee.rsplit('.').next() == Some(asked.as_str())
    };
    is_caller || declaration.calls.iter().any(is_called)
}

fn has_parameter(candidate: CodeCandidate<'_>, name: &str) -> bool {
    candidate.declaration.parameters.iter().any(|parameter| parameter.name == name)
}

fn types(candidate: CodeCandidate<'_>) -> Vec<Cow<'_, str>> {
    candidate.declaration.types.iter().map(|each| Cow::Borrowed(each.type_.as_str())).collect()
}

fn return_type(candidate: CodeCandidate<'_>) -> Vec<Cow<'_, str>> {
    candidate.declaration.return_type.iter().map(|text| Cow::Borrowed(text.as_str())).collect()
}

fn visibility(candidate: CodeCandidate<'_>) -> Vec<Cow<'_, str>> {
    candidate.declaration.visibility.iter().map(|text| Cow::Borrowed(text.as_str())).collect()
}

fn has_errors(candidate: CodeCandidate<'_>) -> bool {
    let (first, last) = candidate.declaration.lines;
    candidate.file.error_lines.iter().any(|line| (first..=last).contains(line))
}

fn returns(candidate: CodeCandidate<'_>) -> bool {
    let declaration = candidate.declaration;
    let is_documented = declaration.doc.as_deref().is_some_and(|doc| doc.contains("@return"));
    declaration.return_type.is_some() || declaration.returns_value || is_documented
}

/// What languages are called besides their names.
const ALIASES: &[(&str, &str)] = &[
    ("js", "javascript"),
    ("node", "javascript"),
    ("jsx", "javascript"),
    ("ts", "typescript"),
    ("tsx", "typescript"),
    ("py", "python"),
    ("rs", "rust"),
    ("golang", "go"),
    ("kt", "kotlin"),
    ("c#", "csharp"),
    ("cs", "csharp"),
    ("rb", "ruby"),
    ("bash", "shell"),
    ("zsh", "shell"),
    ("sh", "shell"),
    ("c", "clike"),
    ("cpp", "clike"),
    ("c++", "clike"),
    ("objc", "clike"),
];

/// The name under which a language is filtered: some have one together.
fn spoken(language: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == language).map_or(language, |(_, name)| name)
}

fn in_language(candidate: CodeCandidate<'_>, word: &str) -> bool {
    let word = word.to_lowercase();
    let language = candidate.file.language.as_str();
    let language = if language.is_empty() { "unknown" } else { language };
    spoken(language) == spoken(&word) || language == word
}

fn has_extension(candidate: CodeCandidate<'_>, word: &str) -> bool {
    let asked = word.trim_start_matches('*').trim_start_matches('.').to_lowercase();
    let name = candidate.path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.to_lowercase() == asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Parameter, TypedName};

    fn spec(name: &str) -> &'static FilterSpec {
        FILTERS.iter().find(|spec| spec.name == name).unwrap_or_else(|| panic!("no filter {name}"))
    }

    fn file() -> FileFacts {
        let run = DeclarationFacts {
            kind: "async_method".into(),
            name: "run".into(),
            qualified: "Service.run".into(),
            signature: "async def run(self, item: str) -> list[Row]".into(),
            lines: (3, 9),
            parameters: vec![Parameter { name: "item".into(), type_: Some("str".into()), default: None }],
            decorators: vec!["app.route('/x')".into()],
            visibility: Some("public".into()),
            extends: vec!["Base".into()],
            return_type: Some("list[Row]".into()),
            types: vec![TypedName { name: "item".into(), type_: "str".into() }],
            calls: vec!["exec".into(), "self.db.query".into()],
            uses: vec!["db".into(), "item".into()],
            reads: vec!["req.body".into()],
            writes: vec!["rows".into()],
            mutates: vec!["self.seen[]".into()],
            aliases: vec!["rows=self.rows".into()],
            throws: vec!["ServiceError".into()],
            awaits: vec!["self.db.query".into()],
            is_async: true,
            returns_value: true,
            branches: 3,
            loops: 1,
            ..DeclarationFacts::default()
        };
        FileFacts {
            language: "python".into(),
            imports: vec!["os.path".into()],
            declarations: vec![run],
            error_lines: vec![5],
            ..FileFacts::default()
        }
    }

    fn admits(filters: &[(&str, &str)], knowledge: Knowledge) -> Result<bool, String> {
        let mut compiled = CodeFilters::default();
        for (name, value) in filters {
            compiled.add(spec(name), &[(*value).to_owned()], false)?;
        }
        let file = file();
        let candidate =
            CodeCandidate { path: "src/Api/Service.py", file: &file, declaration: &file.declarations[0] };
        Ok(compiled.admits(candidate, &|_| knowledge))
    }

    #[test]
    fn c025_every_filter_finds_and_refuses() {
        for (name, fits, does_not) in [
            ("type", "ClassDeclaration method", "function"),
            ("import", "os.path", "os"),
            ("calls", "query", "que"),
            ("calls", "self.db.query", "db.query"),
            ("calls", "run", "Run"),
            ("uses", "item", "Item"),
            ("signature", "item: str", "Item: str"),
            ("param", "item", "ite"),
            ("decorator", "APP.route", "wsgi"),
            ("inferredType", "STR", "int"),
            ("returnType", "row", "dict"),
            ("throws", "serviceerr", "KeyError"),
            ("reads", "req.body", "res.body"),
            ("writes", "ROWS", "cols"),
            ("mutates", "self.seen", "self.last"),
            ("alias", "rows=self", "rows=other"),
            ("awaits", "query", "fetch"),
            ("branchesMin", "3", "4"),
            ("loopsMin", "0", "2"),
            ("breaksMin", "0", "1"),
            ("continuesMin", "0", "1"),
            ("visibility", "public", "private"),
            ("extends", "base", "other"),
            ("lang", "js py", "rust"),
            ("path", "api/serv", "lib/"),
            ("file", r"/service\.(py|js)$/", "/^service/"),
            ("ext", "*.PY", ".js,.ts"),
        ] {
            assert_eq!(admits(&[(name, fits)], Knowledge::Exact), Ok(true), "{name} {fits}");
            assert_eq!(admits(&[(name, does_not)], Knowledge::Exact), Ok(false), "{name} {does_not}");
        }
        for flag in ["async", "returns", "lint"] {
            assert_eq!(admits(&[(flag, "true")], Knowledge::Exact), Ok(true), "{flag}");
        }
        assert_eq!(admits(&[("generator", "true")], Knowledge::Exact), Ok(false));
        assert_eq!(admits(&[("generator", "false")], Knowledge::Exact), Ok(true));
    }

    #[test]
    fn c017_risks_are_looked_for_in_the_text() {
        let text = "const cmd = req.body.cmd;\nexec(cmd);";
        for (asked, expected) in [
            (vec![("riskTag", "Command-Exec")], true),
            (vec![("riskTag", "sql")], false),
            (vec![("riskFlow", "req.body->exec"), ("riskCategory", "input")], true),
            (vec![("riskSource", "req.body"), ("riskSink", "eval")], false),
            (vec![("risk", "sql"), ("riskTag", "command-exec")], true),
            (vec![("calls", "exec")], true),
        ] {
            let mut filters = CodeFilters::default();
            for (name, value) in &asked {
                filters.add(spec(name), &[(*value).to_owned()], false).unwrap();
            }
            assert_eq!(filters.admits_text(text, "javascript", RiskRules::defaults()), expected, "{asked:?}");
        }
    }

    /// Filters are joined by and; path and file are one list.
    #[test]
    fn c024_filters_together() {
        assert_eq!(admits(&[("calls", "exec"), ("throws", "error")], Knowledge::Exact), Ok(true));
        assert_eq!(admits(&[("calls", "exec"), ("throws", "nothing")], Knowledge::Exact), Ok(false));
        assert_eq!(admits(&[("path", "nowhere"), ("file", "service.py")], Knowledge::Exact), Ok(true));
    }

    #[test]
    fn what_is_not_known_does_not_match() {
        for knowledge in [Knowledge::Unknown, Knowledge::NotInLanguage] {
            assert_eq!(admits(&[("branchesMin", "0")], knowledge), Ok(false));
            assert_eq!(admits(&[("lang", "py")], knowledge), Ok(true), "languages are always known");
        }
        assert_eq!(admits(&[("branchesMin", "0")], Knowledge::Approximate), Ok(true));
    }

    #[test]
    fn c024_the_case_of_paths() {
        for (word, case, expected) in [
            ("service.py", false, true),
            ("service.py", true, false),
            (r"/service\.py/", true, false),
            ("/(/", false, false),
        ] {
            let mut filters = CodeFilters::default();
            filters.add(spec("file"), &[word.to_owned()], case).unwrap();
            assert_eq!(filters.admits_path("src/Service.py"), expected, "{word} {case}");
        }
    }

    #[test]
    fn c019_a_number_is_a_number() {
        for text in ["x", "-1", "1.5", ""] {
            assert!(admits(&[("branchesMin", text)], Knowledge::Exact).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_as_people_write_them() {
        assert_eq!(split("a, b  c"), ["a", "b", "c"]);
        assert_eq!(split("\"Jane Doe\" joe"), ["Jane Doe", "joe"]);
        assert_eq!(split("/a b,c/i"), ["/a b,c/i"]);
        assert_eq!(split(" , "), Vec::<String>::new());
    }

    /// The documentation lists every filter in the words of the table.
    #[test]
    fn every_filter_is_documented() {
        let page = include_str!("../../../../docs/contracts/cleats.md");
        for spec in FILTERS {
            let takes = match spec.argument {
                Text => "text",
                Words => "list",
                Number => "number",
                Flag => "flag",
            };
            let row = format!("| `{}` | `{}` | {takes} | {} |", spec.name, spec.flag, spec.doc);
            assert!(page.contains(&row), "docs/contracts/cleats.md lacks {row}");
        }
    }

    #[test]
    fn names_and_flags_are_unique() {
        for (index, one) in FILTERS.iter().enumerate() {
            assert!(one.flag.starts_with("--") && one.doc.ends_with('.'), "{}", one.name);
            assert!(FILTERS[..index].iter().all(|other| other.name != one.name && other.flag != one.flag));
        }
    }
}
