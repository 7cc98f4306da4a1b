//! The grammar of queries: AND, OR, NOT in any case, phrases, `-term`, `!term`, parentheses; what stands side by side is joined by
//! AND. Signs of code such as `&&` and `=>` are terms.

use std::collections::HashSet;

use index::tokens;

/// Why a query cannot be asked at all. What can be repaired is taken as plain words instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("the query is empty")]
    Empty,
    #[error("a lone '-' excludes nothing; write -word, or quote it")]
    LoneMinus,
    #[error("a group in parentheses cannot be excluded; exclude its words one by one")]
    NegatedGroup,
    #[error("the query excludes words and asks for none")]
    OnlyExcludes,
}

/// A query that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeQuery {
    expression: Expression,
    terms: Vec<String>,
    /// Words have to be written in the same case.
    case: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression {
    Term(String),
    Phrase(String),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Not(Box<Expression>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    And,
    Or,
    Not,
    Word(String),
    Phrase(String),
}

/// No question has more parts, or parentheses inside parentheses.
const MAX_TOKENS: usize = 256;
const MAX_DEPTH: usize = 32;

impl CodeQuery {
    pub fn parse(text: &str, case: bool) -> Result<CodeQuery, QueryError> {
        if text.trim().is_empty() {
            return Err(QueryError::Empty);
        }
        let expression = match tokenized(text)? {
            Some(tokens) => {
                let parser = Parser { tokens: &tokens, at: 0 };
                parser.whole()?.unwrap_or_else(|| plain(text))
            }
            None => plain(text),
        };
        let mut terms = Vec::new();
        expression.wanted(&mut terms);
        if terms.is_empty() {
            return Err(QueryError::OnlyExcludes);
        }
        Ok(CodeQuery { expression, terms, case })
    }

    /// What is asked for, without what is excluded: terms and phrases.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// The tokens of which at least one is in every text that matches; empty if any text may match, as with signs.
    pub fn tokens(&self) -> Vec<String> {
        self.expression.needed().unwrap_or_default()
    }

    /// Whether a text passes.
    pub fn matches(&self, text: &QueriedText<'_>) -> bool {
        self.expression.matches(text, self.case)
    }
}

/// A text with its tokens, which are made once for all terms.
pub struct QueriedText<'t> {
    text: &'t str,
    lower: String,
    tokens: HashSet<String>,
}

impl<'t> QueriedText<'t> {
    pub fn new(text: &'t str) -> QueriedText<'t> {
        let mut found = HashSet::new();
        tokens::index_tokens(text, &mut |token| {
            if !found.contains(token) {
                found.insert(token.to_owned());
            }
        });
        let lower = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        QueriedText { text, lower, tokens: found }
    }

    pub(super) fn holds_term(&self, term: &str, case: bool) -> bool {
        let words = whole_words(term);
        if words.is_empty() {
            return self.lower.contains(&term.to_lowercase());
        }
        words.iter().all(|word| self.tokens.contains(word)) && (!case || self.text.contains(term))
    }

    /// A phrase begins and ends with whole words.
    fn holds_phrase(&self, phrase: &str, case: bool) -> bool {
        let wanted = collapsed(phrase);
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let found = self.lower.match_indices(&wanted).any(|(at, found)| {
            let before = self.lower[..at].chars().next_back();
            let after = self.lower[at + found.len()..].chars().next();
            let cuts_front = is_part(before) && is_part(wanted.chars().next());
            let cuts_back = is_part(after) && is_part(wanted.chars().next_back());
            !cuts_front && !cuts_back
        });
        found && (!case || self.text.contains(phrase))
    }
}

fn collapsed(phrase: &str) -> String {
    phrase.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The words of a term, each as the one token that stands for it whole.
fn whole_words(term: &str) -> Vec<String> {
    term.split(|c: char| !c.is_alphanumeric() && c != '_').filter_map(tokens::name_token).collect()
}

impl Expression {
    fn matches(&self, text: &QueriedText<'_>, case: bool) -> bool {
        match self {
            Expression::Term(term) => text.holds_term(term, case),
            Expression::Phrase(phrase) => text.holds_phrase(phrase, case),
            Expression::All(all) => all.iter().all(|each| each.matches(text, case)),
            Expression::Any(any) => any.iter().any(|each| each.matches(text, case)),
            Expression::Not(not) => !not.matches(text, case),
        }
    }

    fn wanted(&self, into: &mut Vec<String>) {
        match self {
            Expression::Term(text) | Expression::Phrase(text) => {
                if !into.contains(text) {
                    into.push(text.clone());
                }
            }
            Expression::All(list) | Expression::Any(list) => list.iter().for_each(|each| each.wanted(into)),
            Expression::Not(_) => {}
        }
    }

    /// Tokens of which one is in every text that passes; `None` where that cannot be said.
    fn needed(&self) -> Option<Vec<String>> {
        match self {
            Expression::Term(text) | Expression::Phrase(text) => {
                // Any one of the words will do, and the longest is likely to be the rarest.
                whole_words(text).into_iter().max_by_key(String::len).map(|word| vec![word])
            }
            Expression::All(list) => list
                .iter()
                .filter_map(Expression::needed)
                .min_by_key(|tokens| (tokens.len(), usize::MAX - length(tokens))),
            Expression::Any(list) => {
                let mut all = Vec::new();
                for each in list {
                    all.extend(each.needed()?);
                }
                Some(all)
            }
            Expression::Not(_) => None,
        }
    }
}

fn length(tokens: &[String]) -> usize {
    tokens.iter().map(String::len).min().unwrap_or(0)
}

/// All words as they stand, joined by AND.
fn plain(text: &str) -> Expression {
    let words = text
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"'))
        .filter(|word| !word.is_empty() && !is_operator(word))
        .take(MAX_TOKENS);
    let words: Vec<Expression> = words.map(|word| Expression::Term(word.to_owned())).collect();
    if words.is_empty() { Expression::Term(text.trim().to_owned()) } else { Expression::All(words) }
}

fn is_operator(word: &str) -> bool {
    ["and", "or", "not"].iter().any(|operator| word.eq_ignore_ascii_case(operator))
}

/// `None` where a quotation is not closed, or there is too much.
fn tokenized(text: &str) -> Result<Option<Vec<Token>>, QueryError> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if found.len() >= MAX_TOKENS {
            return Ok(None);
        }
        let after = &rest[first.len_utf8()..];
        let next = after.chars().next();
        match first {
            '(' => {
                found.push(Token::Open);
                rest = after;
            }
            ')' => {
                found.push(Token::Close);
                rest = after;
            }
            '"' | '\'' if first == '"' || opens_phrase(after) => {
                let Some(end) = after.find(first) else { return Ok(None) };
                if !after[..end].trim().is_empty() {
                    found.push(Token::Phrase(after[..end].trim().to_owned()));
                }
                rest = &after[end + 1..];
            }
            '-' if next.is_none_or(char::is_whitespace) => return Err(QueryError::LoneMinus),
            '-' | '!' if next == Some('(') => return Err(QueryError::NegatedGroup),
            '-' | '!' if next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '"' | '$' | '@')) => {
                found.push(Token::Not);
                rest = after;
            }
            _ => {
                let end = rest
                    .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"'))
                    .unwrap_or(rest.len());
                let word = &rest[..end];
                found.push(match word.to_ascii_lowercase().as_str() {
                    "and" => Token::And,
                    "or" => Token::Or,
                    "not" => Token::Not,
                    _ => Token::Word(word.to_owned()),
                });
                rest = &rest[end..];
            }
        }
        rest = rest.trim_start();
    }
    Ok(Some(found))
}

/// An apostrophe opens a phrase if another closes it before the next blank or end: `'a b'`, not `don't`.
fn opens_phrase(after: &str) -> bool {
    after
        .find('\'')
        .is_some_and(|end| after[end + 1..].chars().next().is_none_or(|c| c.is_whitespace() || c == ')'))
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl Parser<'_> {
    /// `None` where the grammar does not hold.
    fn whole(mut self) -> Result<Option<Expression>, QueryError> {
        let expression = self.any(0)?;
        Ok(expression.filter(|_| self.at == self.tokens.len()))
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn any(&mut self, depth: usize) -> Result<Option<Expression>, QueryError> {
        let Some(first) = self.all(depth)? else { return Ok(None) };
        let mut list = vec![first];
        while self.peek() == Some(&Token::Or) {
            self.at += 1;
            let Some(next) = self.all(depth)? else { return Ok(None) };
            list.push(next);
        }
        Ok(Some(joined(list, Expression::Any)))
    }

    fn all(&mut self, depth: usize) -> Result<Option<Expression>, QueryError> {
        let mut list = Vec::new();
        loop {
            match self.peek() {
                None | Some(Token::Or | Token::Close) => break,
                // An AND has something on both sides.
                Some(Token::And) if list.is_empty() => return Ok(None),
                Some(Token::And) => {
                    self.at += 1;
                    if matches!(self.peek(), None | Some(Token::And | Token::Or | Token::Close)) {
                        return Ok(None);
                    }
                }
                Some(_) => match self.one(depth)? {
                    Some(expression) => list.push(expression),
                    None => return Ok(None),
                },
            }
        }
        Ok((!list.is_empty()).then(|| joined(list, Expression::All)))
    }

    fn one(&mut self, depth: usize) -> Result<Option<Expression>, QueryError> {
        let token = self.peek().cloned();
        self.at += 1;
        Ok(match token {
            Some(Token::Word(word)) => Some(Expression::Term(word)),
            Some(Token::Phrase(phrase)) => Some(Expression::Phrase(phrase)),
            Some(Token::Not) => {
                if self.peek() == Some(&Token::Open) {
                    return Err(QueryError::NegatedGroup);
                }
                match self.peek() {
                    Some(Token::Word(_) | Token::Phrase(_)) => {
                        self.one(depth)?.map(|inner| Expression::Not(Box::new(inner)))
                    }
                    _ => None,
                }
            }
            Some(Token::Open) if depth < MAX_DEPTH => {
                // `f()` asks for `f`.
                if self.peek() == Some(&Token::Close) {
                    self.at += 1;
                    return Ok(Some(Expression::All(Vec::new())));
                }
                let inner = self.any(depth + 1)?;
                if inner.is_none() || self.peek() != Some(&Token::Close) {
                    return Ok(None);
                }
                self.at += 1;
                inner
            }
            _ => None,
        })
    }
}

fn joined(mut list: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    match list.len() {
        1 => list.remove(0),
        _ => join(list),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(query: &str, text: &str) -> bool {
        CodeQuery::parse(query, false)
            .unwrap_or_else(|error| panic!("{query}: {error}"))
            .matches(&QueriedText::new(text))
    }

    #[test]
    fn c023_terms_phrases_and_what_is_excluded() {
        for (query, text, expected) in [
            ("alpha", "alpha beta", true),
            ("alpha beta", "beta and alpha", true),
            ("alpha beta", "alpha", false),
            ("alpha or beta", "beta", true),
            ("alpha -gamma", "alpha gamma", false),
            ("alpha -gamma", "alpha beta", true),
            ("alpha !gamma", "alpha gamma", false),
            ("alpha NOT gamma", "alpha gamma", false),
            ("alpha -\"alpha beta\"", "alpha  beta", false),
            ("alpha -\"alpha beta\"", "beta alpha", true),
            ("\"alpha beta\"", "x Alpha\nBeta y", true),
            ("'alpha beta'", "beta alpha", false),
            ("\"pha bet\"", "alpha beta", false),
            ("(alpha OR beta) AND gamma", "beta gamma", true),
            ("(alpha OR beta) AND gamma", "beta", false),
            ("user", "getUser()", true),
            ("getUser", "get user", false),
            ("db.query", "db.query(x)", true),
            ("f()", "call f now", true),
            ("don't", "do not", false),
        ] {
            assert_eq!(matches(query, text), expected, "{query} in {text}");
        }
    }

    #[test]
    fn c026_signs_of_code_are_terms() {
        assert!(matches("&&", "if a && b"));
        assert!(!matches("&&", "if a and b"));
        assert!(matches("=> x", "(x) => 1"));
        assert!(matches("!== a", "a !== b"));
        assert!(CodeQuery::parse("&&", false).unwrap().tokens().is_empty());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (query, error) in [
            ("  ", QueryError::Empty),
            ("alpha - beta", QueryError::LoneMinus),
            ("-(alpha beta)", QueryError::NegatedGroup),
            ("x NOT (alpha)", QueryError::NegatedGroup),
            ("-alpha", QueryError::OnlyExcludes),
        ] {
            assert_eq!(CodeQuery::parse(query, false), Err(error), "{query}");
        }
    }

    #[test]
    fn what_can_be_repaired_is_taken_as_words() {
        for query in ["alpha AND", "OR alpha", "(alpha", "alpha)", "\"alpha", "alpha AND OR beta"] {
            let parsed = CodeQuery::parse(query, false).unwrap_or_else(|error| panic!("{query}: {error}"));
            assert_eq!(parsed.terms().first().map(String::as_str), Some("alpha"), "{query}");
        }
    }

    #[test]
    fn the_case_counts_where_it_is_asked_for() {
        let query = CodeQuery::parse("Alpha", true).unwrap();
        assert!(query.matches(&QueriedText::new("an Alpha")));
        assert!(!query.matches(&QueriedText::new("an alpha")));
    }

    proptest! {
        /// Any text can be asked or is refused, and what matches holds one of the tokens that are looked up first.
        #[test]
        fn any_query_is_read(query in "[a-c()\"' !&=-]{0,24}|(a|b|AND|or|not|\\(|\\)|-| ){0,30}", text in "[a-c ]{0,20}") {
            if let Ok(parsed) = CodeQuery::parse(&query, false) {
                let queried = QueriedText::new(&text);
                let needed = parsed.tokens();
                if parsed.matches(&queried) && !needed.is_empty() {
                    prop_assert!(needed.iter().any(|token| queried.tokens.contains(token)), "{query} {needed:?} {text}");
                }
            }
        }
    }
}
