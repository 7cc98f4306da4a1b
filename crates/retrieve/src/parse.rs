//! From a question to weighted lexical terms, quoted phrases and spelled-out identifiers.

use std::collections::HashMap;

use index::QueryTerm;
use model::filetype::{self, Mark};
use rust_stemmers::{Algorithm, Stemmer};

use crate::named::{Named, named};
use crate::verbatim::Verbatim;
use crate::weights::{self, Weights};

/// Only this much of a query is read. Nobody types more; a pasted log can be larger.
pub const MAX_QUERY_BYTES: usize = 64 * 1024;

/// Tokens read from the query, repeated ones included.
pub const MAX_QUERY_TOKENS: usize = 2_000;

/// Distinct terms searched for. Each costs a walk through its postings.
pub const MAX_TERMS: usize = 256;

/// What the texts are made of.
pub struct Vocabulary<'a> {
    /// Whether a token occurs anywhere.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// The tokens that are spelled nearly so.
    pub near: &'a dyn Fn(&str) -> Vec<String>,
}

/// A query, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// In order of appearance, without repetition. A token that is one term's own is no other's variant.
    pub terms: Vec<Term>,
    /// The texts between double quotes.
    pub phrases: Vec<String>,
    /// Names written as code writes them (`parseHeader`, `parse_header`, `http::Server`), the last part of
    /// a qualified one.
    pub identifiers: Vec<String>,
    /// The whole query is one name.
    pub is_symbol: bool,
    /// The names whose definitions are asked for.
    pub names: Vec<Named>,
    /// What is to be found word for word.
    pub verbatim: Verbatim,
    /// Something of the query was left out because of the limits above.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    pub token: String,
    pub weight: f32,
    pub stop: bool,
    /// It tells how old or of what kind the thing is that the others name; see [`is_side_word`].
    pub side: bool,
    /// Other forms of the same word (`retries` for `retry`), which count as the word itself. The index keeps
    /// words as they are written, so that exact search stays exact; the forms are added here instead.
    pub variants: Vec<String>,
}

impl Parsed {
    /// A query whose words may occur in any form.
    pub fn new(query: &str) -> Parsed {
        Parsed::with_forms(query, &Vocabulary { knows: &|_| true, near: &|_| Vec::new() })
    }

    /// A query with those forms of its words that exist, and with words spelled nearly so for those that do not.
    pub fn with_forms(query: &str, vocabulary: &Vocabulary<'_>) -> Parsed {
        let text = cut(query, MAX_QUERY_BYTES);
        let (mut order, counts, cut_tokens) = count_tokens(text);
        let mut truncated = text.len() < query.len() || cut_tokens;
        if order.len() > MAX_TERMS {
            truncated = true;
            // Stop words go first; the sort is stable, so the rest keeps its order.
            order.sort_by_key(|token| is_stop_word(token));
            order.truncate(MAX_TERMS);
        }
        let many = order.len() > MAX_EXPANDED;
        // "text files about the roof"
        let about = order.iter().position(|token| ABOUT.contains(&token.as_str())).unwrap_or(0);
        let is_side = |at: usize| {
            let token = order[at].as_str();
            is_side_word(token) || counts[token].extension || (at < about && KINDS_OF_FILES.contains(&token))
        };
        let has_subject = (0..order.len()).any(|at| !is_stop_word(&order[at]) && !is_side(at));
        let terms = order
            .iter()
            .enumerate()
            .map(|(at, token)| {
                let seen = &counts[token];
                let stop = is_stop_word(token) || seen.ending;
                let side = has_subject && is_side(at);
                let repeated = 1.0 + weights::REPEATED_TERM * (seen.count as f32).ln();
                let weight = match (stop, side, seen.part) {
                    (true, ..) => weights::STOP_WORD,
                    (_, true, _) => weights::SIDE_WORD,
                    (.., true) => weights::PART_OF_NAME,
                    _ => repeated,
                };
                let mut variants = if stop || many { Vec::new() } else { variants(token, vocabulary.knows) };
                if variants.is_empty() && !stop && !many && !(vocabulary.knows)(token) {
                    variants = (vocabulary.near)(token);
                }
                variants.retain(|variant| !counts.contains_key(variant));
                Term { token: token.clone(), weight, stop, side, variants }
            })
            .collect();

        let names = names(text);
        let is_symbol = matches!(names.as_slice(), [only] if only.fills(text));
        let identifiers: Vec<String> = names
            .iter()
            .filter(|name| is_symbol || name.spelled_as_code)
            .map(|name| name.last.to_owned())
            .fold(Vec::new(), |mut list, name| {
                if !list.contains(&name) && list.len() < MAX_IDENTIFIERS {
                    list.push(name);
                }
                list
            });
        let phrases = phrases(text);
        let verbatim = Verbatim::of(text, &phrases);
        let names = named(text, &identifiers, is_symbol);
        Parsed { terms, phrases, identifiers, is_symbol, names, verbatim, truncated }
    }

    /// The terms as the lexical index takes them.
    pub fn query_terms(&self, weights: &Weights) -> Vec<QueryTerm> {
        let term = |term: &Term| QueryTerm {
            token: term.token.clone(),
            weight: term.weight,
            forms: term.variants.clone(),
            form_weight: weights.variant,
        };
        self.terms.iter().map(term).collect()
    }

    /// The terms that carry the meaning: all but the stop words, unless there is nothing else.
    pub fn content_terms(&self) -> Vec<&Term> {
        let content: Vec<&Term> = self.terms.iter().filter(|term| !term.stop).collect();
        if content.is_empty() { self.terms.iter().collect() } else { content }
    }

    /// Whether the query speaks of any of these words; used to see that tests or examples are wanted.
    pub fn mentions(&self, words: &[&str]) -> bool {
        self.terms.iter().any(|term| words.contains(&term.token.as_str()))
    }
}

/// How a token appears in the query.
struct Seen {
    count: usize,
    /// Only as a part of a longer name.
    part: bool,
    /// Only behind an apostrophe: the `s` of `year's`.
    ending: bool,
    /// Only as a kind of files: `.go`.
    extension: bool,
}

/// The distinct tokens in order, how each appears, and whether the limit cut some off.
fn count_tokens(text: &str) -> (Vec<String>, HashMap<String, Seen>, bool) {
    let mut order = Vec::new();
    let mut counts: HashMap<String, Seen> = HashMap::new();
    let mut total = 0;
    let is_mark = |c: char| c.is_whitespace() || c == '’' || (c.is_ascii_punctuation() && c != '_');
    let mut at = 0;
    for word in text.split(is_mark) {
        let ending = word.len() <= 2 && text[..at].ends_with(['\'', '’']) && at > 1;
        let extension = filetype::is_marked(word, Mark::SignOfCode)
            && text[..at].strip_suffix('.').is_some_and(|rest| !rest.ends_with(char::is_alphanumeric));
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
        let bare = word.trim_matches('_').chars().count();
        let mut whole_seen = false;
        index::tokens::index_tokens(word, &mut |token| {
            total += 1;
            if total > MAX_QUERY_TOKENS {
                return;
            }
            // The tokenizer gives a name whole and then its parts.
            let part = whole_seen;
            whole_seen |= token.chars().count() == bare;
            match counts.get_mut(token) {
                Some(seen) => {
                    seen.count += 1;
                    seen.part &= part;
                    seen.ending &= ending;
                    seen.extension &= extension;
                }
                None => {
                    order.push(token.to_owned());
                    counts.insert(token.to_owned(), Seen { count: 1, part, ending, extension });
                }
            }
        });
    }
    (order, counts, total > MAX_QUERY_TOKENS)
}

/// The other forms of an English word that `exists` knows: all that end otherwise and have the same stem.
fn variants(token: &str, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    if token.len() < 3 || token.len() > 24 || !token.bytes().all(|b| b.is_ascii_lowercase()) {
        return Vec::new();
    }
    let stemmer = Stemmer::create(Algorithm::English);
    let stem = stemmer.stem(token);
    let mut forms: Vec<String> = Vec::new();
    // A stem may end otherwise than its words do: `retri` of `retry`, `stop` of `stopping`.
    let bare = stem.strip_suffix('i').unwrap_or(&stem);
    if bare.len() < 2 {
        return forms;
    }
    let doubled = format!("{bare}{}", &bare[bare.len() - 1..]);
    for begin in [bare, &doubled] {
        for ending in ENDINGS {
            let form = format!("{begin}{ending}");
            if form != token && form.len() >= 2 && stemmer.stem(&form) == stem && exists(&form) {
                forms.push(form);
            }
        }
    }
    // The stemmer takes the last letter of `alias` for a plural.
    let plural = if has_sibilant_end(token) { Some(format!("{token}es")) } else { None };
    let singular = token.strip_suffix("es").filter(|stem| has_sibilant_end(stem)).map(str::to_owned);
    for form in plural.into_iter().chain(singular) {
        if form.len() >= 3 && !forms.contains(&form) && exists(&form) {
            forms.push(form);
        }
    }
    forms
}

fn has_sibilant_end(stem: &str) -> bool {
    ["s", "x", "z", "ch", "sh"].iter().any(|end| stem.ends_with(end))
}

/// Endings that the stemmer takes off, alone and together.
const ENDINGS: &[&str] = &[
    "", "s", "e", "es", "ed", "ing", "ings", "er", "ers", "or", "ors", "y", "ies", "ied", "ier", "ily",
    "iness", "ly", "ment", "ments", "ness", "ful", "al", "ally", "ion", "ions", "ional", "ation", "ations",
    "ational", "ator", "ators", "ate", "ates", "ated", "ating", "ative", "ive", "ively", "ivity", "able",
    "ably", "ability", "ible", "ance", "ances", "ence", "ences", "ant", "ants", "ent", "ents", "ic", "ics",
    "ical", "ically", "ize", "izes", "ized", "izing", "izer", "izers", "ization", "ise", "ised", "ising",
    "iser", "isers", "isation", "ism", "ist", "ists", "ity", "ities", "ous", "ously",
];

/// A query of more terms than this names what it wants in enough words; forms would only add cost.
const MAX_EXPANDED: usize = 32;

const MAX_IDENTIFIERS: usize = 16;
const MAX_PHRASES: usize = 8;

/// The longest start of the text of at most `bytes` that ends between two characters.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn phrases(text: &str) -> Vec<String> {
    let mut parts = text.split('"');
    parts.next();
    let mut phrases = Vec::new();
    // Pairs: inside, outside. A last inside without its closing quote is not a phrase.
    while let (Some(inside), Some(_outside)) = (parts.next(), parts.next()) {
        let phrase = inside.trim();
        if phrase.chars().count() >= 2 && phrases.len() < MAX_PHRASES {
            phrases.push(phrase.to_owned());
        }
    }
    phrases
}

/// A word of the query that could name something in code.
struct Name<'a> {
    /// As written, qualifiers included.
    whole: &'a str,
    last: &'a str,
    spelled_as_code: bool,
}

impl Name<'_> {
    /// Nothing else is in the query but the call or macro signs of the name itself.
    fn fills(&self, text: &str) -> bool {
        let text = text.trim().trim_matches('`');
        let text = text.strip_suffix("()").unwrap_or(text);
        text.trim_end_matches('!') == self.whole
    }
}

fn names(text: &str) -> Vec<Name<'_>> {
    text.split(|c: char| !(is_name(c) || matches!(c, ':' | '.' | '#')))
        .map(|word| word.trim_matches([':', '.', '#']))
        .filter(|word| !word.is_empty())
        .map(|whole| {
            let parts = whole.split([':', '.', '#']).filter(|part| !part.is_empty());
            let qualified = parts.count() > 1;
            let last = whole.rsplit([':', '.', '#']).find(|part| !part.is_empty()).unwrap_or(whole);
            let starts_like_a_name = last.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$');
            // `main.rs` is a file, `3.14` a number: only the parts decide.
            let spelled_as_code =
                starts_like_a_name && (has_inner_case(last) || (qualified && whole.contains("::")));
            Name { whole, last, spelled_as_code }
        })
        .filter(|name| name.last.chars().count() >= 2)
        .collect()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// `snake_case`, `camelCase`, `HTTPServer`, `MAX_SIZE`; not `Paris`, not `NASA`.
pub(crate) fn has_inner_case(word: &str) -> bool {
    let inner = word.trim_matches('_');
    if inner.contains('_') || word.starts_with('_') {
        return inner.chars().any(char::is_alphabetic);
    }
    let mut previous_lower = false;
    let mut uppers = 0;
    let mut lowers = 0;
    for c in inner.chars() {
        if c.is_uppercase() {
            if previous_lower {
                return true;
            }
            uppers += 1;
        } else if c.is_lowercase() {
            lowers += 1;
        }
        previous_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    // Two capitals at the front and small letters behind: `HTTPServer`, `IOError`. "PDFs" is a plural.
    uppers >= 2 && lowers >= 2
}

/// Words of questions and of grammar. Not in the list: words that are also names in code (`for` is here
/// because it is grammar far more often; `new`, `get`, `set`, `type`, `class` are not).
pub fn is_stop_word(token: &str) -> bool {
    STOP_WORDS.binary_search(&token).is_ok()
}

/// Words that say how old something is, or which of several, and hardly ever what it is about: in "old contracts" the
/// contracts are meant, though `old` may be the rarer word. In a query of nothing else they count in full.
pub fn is_side_word(token: &str) -> bool {
    SIDE_WORDS.binary_search(&token).is_ok()
}

/// What comes before one of them says what kind of files are meant, what comes behind it what they are about.
const ABOUT: &[&str] = &["about", "concerning", "regarding"];
const KINDS_OF_FILES: &[&str] = &[
    "document",
    "documents",
    "file",
    "files",
    "folder",
    "folders",
    "note",
    "notes",
    "page",
    "pages",
    "paper",
    "papers",
    "text",
    "texts",
];

/// Keeps what the side words weigh by their rarity below what the subject weighs: the rarest word of a few files may be one of
/// them.
pub(crate) fn temper<'a>(terms: impl Iterator<Item = &'a Term> + Clone, raw: &mut [f32]) {
    let subject = terms.clone().zip(raw.iter()).filter(|(term, _)| !term.side && !term.stop);
    let most = subject.map(|(_, raw)| *raw).fold(0.0_f32, f32::max) * weights::SIDE_WORD;
    for (_, raw) in terms.zip(raw).filter(|(term, _)| term.side) {
        *raw = raw.min(most);
    }
}

/// Sorted, for the binary search.
const SIDE_WORDS: &[&str] = &[
    "current",
    "earlier",
    "important",
    "last",
    "latest",
    "many",
    "month",
    "months",
    "newest",
    "old",
    "older",
    "oldest",
    "past",
    "previous",
    "recent",
    "recently",
    "several",
    "today",
    "various",
    "week",
    "weeks",
    "year",
    "years",
    "yesterday",
];

/// Sorted, for the binary search.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but",
    "by", "can", "could", "did", "do", "does", "doing", "done", "each", "for", "from", "had", "has", "have",
    "having", "he", "her", "here", "his", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my",
    "no", "nor", "not", "of", "on", "or", "our", "over", "she", "should", "so", "some", "such", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with",
    "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stop_words_are_sorted_and_light() {
        assert!(STOP_WORDS.is_sorted() && SIDE_WORDS.is_sorted());
        let parsed = Parsed::new("how does the parser work");
        let weight = |token: &str| parsed.terms.iter().find(|t| t.token == token).map(|t| t.weight);
        assert!(weight("the").unwrap() < weight("parser").unwrap());
        assert!(weight("how").unwrap() > 0.0, "never dropped");
    }

    #[test]
    fn words_that_only_choose_are_light() {
        let weight = |query: &str, token: &str| {
            Parsed::new(query).terms.iter().find(|term| term.token == token).map(|term| term.weight)
        };
        assert_eq!(weight("old contracts", "old"), Some(weights::SIDE_WORD));
        assert_eq!(weight("old contracts", "contracts"), Some(1.0));
        assert_eq!(weight("last year's contracts", "s"), Some(weights::STOP_WORD));
        assert_eq!(weight("last year", "year"), Some(1.0), "there is nothing else");
        assert_eq!(weight("s", "s"), Some(1.0));
        assert_eq!(weight("text files about the roof", "text"), Some(weights::SIDE_WORD));
        assert_eq!(weight("read text files", "text"), Some(1.0));
        assert_eq!(weight(".go file with a router", "go"), Some(weights::SIDE_WORD));
        assert_eq!(weight("main.go router", "go"), Some(1.0));
    }

    #[test]
    fn other_forms_of_a_word_are_searched_too() {
        let words = [
            "session",
            "sessions",
            "retry",
            "retries",
            "retried",
            "class",
            "classes",
            "pool",
            "pools",
            "cache",
            "stop",
            "stopping",
            "serialize",
            "serializers",
            "serialization",
            "alias",
            "aliases",
            "secession",
        ];
        let forms = |token: &str| variants(token, &|form| words.contains(&form));
        assert_eq!(forms("session"), ["sessions"]);
        assert_eq!(forms("sessions"), ["session"]);
        assert_eq!(forms("retry"), ["retries", "retried"]);
        assert_eq!(forms("classes"), ["class"]);
        assert_eq!(forms("pooling"), ["pool", "pools"]);
        assert_eq!(forms("caching"), ["cache"]);
        assert_eq!(forms("stopped"), ["stop", "stopping"]);
        assert_eq!(forms("serializer"), ["serialize", "serializers", "serialization"]);
        assert_eq!(forms("alias"), ["aliases"]);
        assert_eq!(forms("aliases"), ["alias"]);
        assert!(forms("http2").is_empty());
        let parsed = Parsed::with_forms(
            "session and sessions",
            &Vocabulary { knows: &|form| words.contains(&form), near: &|_| Vec::new() },
        );
        assert!(parsed.terms.iter().all(|term| term.variants.is_empty()), "each is its own term");
    }

    #[test]
    fn a_name_weighs_more_than_its_parts() {
        let parsed = Parsed::new("HTTPAdapter pool");
        let weights: Vec<_> = parsed.terms.iter().map(|t| (t.token.as_str(), t.weight)).collect();
        assert_eq!(
            weights,
            [
                ("httpadapter", 1.0),
                ("http", weights::PART_OF_NAME),
                ("adapter", weights::PART_OF_NAME),
                ("pool", 1.0)
            ]
        );
        assert_eq!(Parsed::new("全文検索").terms.len(), 3);
        assert!(Parsed::new("全文検索").terms.iter().all(|t| t.weight == 1.0));
    }

    #[test]
    fn identifiers_are_told_from_words() {
        let identifiers = |text| Parsed::new(text).identifiers;
        assert_eq!(identifiers("where is parseHeader called"), ["parseHeader"]);
        assert_eq!(identifiers("what does parse_header do?"), ["parse_header"]);
        assert_eq!(identifiers("HTTPAdapter retries"), ["HTTPAdapter"]);
        assert_eq!(identifiers("how does http::Server::bind work"), ["bind"]);
        assert_eq!(identifiers("The weather in Paris by NASA, as PDFs"), Vec::<String>::new());
        assert_eq!(identifiers("release 3.14 of main.rs"), Vec::<String>::new());
    }

    #[test]
    fn a_query_of_one_name_is_a_symbol() {
        for symbol in ["Session", "send()", "`retry`", "println!", "std::fmt::Display", "_private", "get_x"] {
            assert!(Parsed::new(symbol).is_symbol, "{symbol}");
        }
        for words in ["session retry", "", "???", "a b", "\"x y\""] {
            assert!(!Parsed::new(words).is_symbol, "{words}");
        }
        assert_eq!(Parsed::new("std::fmt::Display").identifiers, ["Display"]);
    }

    #[test]
    fn quoted_phrases_are_noted() {
        assert_eq!(Parsed::new("find \"exact words\" and \"\" and \"open").phrases, ["exact words"]);
    }

    #[test]
    fn a_huge_query_is_cut_and_says_so() {
        let huge = "word ".repeat(300_000);
        let parsed = Parsed::new(&huge);
        assert!(parsed.truncated);
        assert!(!Parsed::new("short").truncated);

        let many: String = (0..1_900).map(|i| format!("w{i}x ")).collect();
        let parsed = Parsed::new(&many);
        assert!(parsed.truncated);
        assert!(parsed.terms.len() <= MAX_TERMS);
    }

    proptest! {
        #[test]
        fn any_text_is_a_query(text in any::<String>()) {
            let parsed = Parsed::new(&text);
            prop_assert!(parsed.terms.len() <= MAX_TERMS);
            prop_assert!(parsed.terms.iter().all(|t| t.weight.is_finite() && t.weight > 0.0));
        }
    }
}
