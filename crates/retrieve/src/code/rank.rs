//! Which declarations answer a query, best first: exactly those whose text it admits, by BM25.

use std::collections::HashMap;

use model::DeclarationFacts;

use super::query::{CodeQuery, QueriedText};

/// A part of a file that may answer: a declaration, or a comment.
#[derive(Debug, Clone)]
pub struct RankedPart<'a> {
    /// Relative to the root.
    pub path: &'a str,
    /// Which of the file's parts it is, for the caller.
    pub number: usize,
    /// The name that counts more than what is inside; empty for a comment.
    pub name: &'a str,
    pub text: &'a str,
}

/// A part that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeHit {
    pub path: String,
    pub number: usize,
    pub score: f64,
}

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A declaration of the queried name comes before those that use it.
const DEFINES: f64 = 1.2;
/// Each phrase or run of words found as written adds this share of the score, up to a half.
const PHRASE: f64 = 0.1;
const MOST_PHRASES: f64 = 0.5;

/// The parts that a query admits, best first; ties by path and place.
pub fn rank<'a>(parts: impl Iterator<Item = RankedPart<'a>>, query: &CodeQuery) -> Vec<CodeHit> {
    struct Found {
        hit: CodeHit,
        counts: Vec<u32>,
        length: f64,
        boost: f64,
    }
    let terms: Vec<String> = query.terms().iter().map(|term| term.to_lowercase()).collect();
    let mut found: Vec<Found> = Vec::new();
    let mut holding: HashMap<usize, u32> = HashMap::new();
    let (mut parts_seen, mut total) = (0_u32, 0.0_f64);
    for part in parts {
        parts_seen = parts_seen.saturating_add(1);
        let length = words(part.text);
        total += length;
        let queried = QueriedText::new(part.text);
        if !query.matches(&queried) {
            continue;
        }
        let lower = part.text.to_lowercase();
        let counts: Vec<u32> = terms
            .iter()
            .map(|term| u32::try_from(lower.matches(term.as_str()).count()).unwrap_or(u32::MAX))
            .collect();
        for (index, count) in counts.iter().enumerate() {
            if *count > 0 {
                *holding.entry(index).or_default() += 1;
            }
        }
        let name = part.name.to_lowercase();
        let defines = !name.is_empty() && terms.contains(&name);
        let phrases = terms.iter().filter(|term| term.contains(' ') && lower.contains(term.as_str())).count();
        let boost = if defines { DEFINES } else { 1.0 } * (1.0 + (PHRASE * phrases as f64).min(MOST_PHRASES));
        let hit = CodeHit { path: part.path.to_owned(), number: part.number, score: 0.0 };
        found.push(Found { hit, counts, length, boost });
    }
    let average = (total / f64::from(parts_seen.max(1))).max(1.0);
    let mut hits: Vec<CodeHit> = found
        .into_iter()
        .map(|Found { mut hit, counts, length, boost }| {
            let of_terms = counts.iter().enumerate().map(|(index, count)| {
                let holding = f64::from(holding.get(&index).copied().unwrap_or(0));
                let rarity = (1.0 + (f64::from(parts_seen) - holding + 0.5) / (holding + 0.5)).ln();
                let count = f64::from(*count);
                rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / average))
            });
            hit.score = of_terms.sum::<f64>() * boost;
            hit
        })
        .collect();
    hits.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)).then_with(|| a.number.cmp(&b.number))
    });
    hits
}

fn words(text: &str) -> f64 {
    text.split_whitespace().count().max(1) as f64
}

/// The text of a declaration within its file; for the rest of the file, what no declaration holds.
pub fn text_of<'t>(
    declarations: &[DeclarationFacts],
    number: usize,
    text: &'t str,
) -> std::borrow::Cow<'t, str> {
    let Some(declaration) = declarations.get(number) else { return "".into() };
    let slice = |start: u32, end: u32| text.get(start as usize..end as usize).unwrap_or_default();
    if !declaration.is_module() {
        return slice(declaration.bytes.0, declaration.bytes.1).into();
    }
    let mut rest = String::new();
    let mut at = 0;
    for each in declarations.iter().filter(|each| !each.is_module()) {
        if each.bytes.0 >= at {
            rest.push_str(slice(at, each.bytes.0));
            rest.push('\n');
            at = each.bytes.1;
        }
    }
    rest.push_str(slice(at, u32::try_from(text.len()).unwrap_or(u32::MAX)));
    rest.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(texts: &[(&str, &str)], query: &str) -> Vec<usize> {
        let query = CodeQuery::parse(query, false).unwrap();
        let parts = texts.iter().enumerate().map(|(number, (name, text))| RankedPart {
            path: "a",
            number,
            name,
            text,
        });
        rank(parts, &query).into_iter().map(|hit| hit.number).collect()
    }

    #[test]
    fn c014_all_that_match_and_no_others_best_first() {
        let texts = [
            ("other", "def other(): return load(1) # load twice: load"),
            ("load", "def load(x): return x"),
            ("none", "def none(): pass"),
            ("long", &format!("def long(): {} load()", "pad ".repeat(500))),
        ];
        let found = hits(&texts, "load");
        assert_eq!(found.len(), 3);
        assert!(!found.contains(&2));
        assert_eq!(found[2], 3, "the long one is last");
        assert_eq!(hits(&texts, "load pad"), [3]);
        assert_eq!(hits(&texts, "nothing"), Vec::<usize>::new());
    }

    #[test]
    fn the_rest_of_a_file_is_what_no_declaration_holds() {
        let text = "a = 1\ndef f():\n  b\nc = 2\n";
        let part =
            |kind: &str, bytes| DeclarationFacts { kind: kind.into(), bytes, ..DeclarationFacts::default() };
        let declarations = [part("file", (0, 26)), part("function", (6, 18))];
        assert_eq!(text_of(&declarations, 1, text), "def f():\n  b");
        let rest = text_of(&declarations, 0, text);
        assert!(rest.contains("a = 1") && rest.contains("c = 2") && !rest.contains("def f"), "{rest}");
    }
}
