//! nDCG, recall and reciprocal rank of the first ten files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

const DEPTH: usize = 10;

/// Which documents answer a question, and how well.
pub(crate) struct Judgements(HashMap<String, HashMap<String, u32>>);

impl Judgements {
    pub(crate) fn read(path: &Path) -> Result<Judgements, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut grades: HashMap<String, HashMap<String, u32>> = HashMap::new();
        for line in text.lines().skip(1) {
            let mut fields = line.split('\t');
            if let (Some(question), Some(document), Some(Ok(grade))) =
                (fields.next(), fields.next(), fields.next().map(str::parse))
            {
                grades.entry(question.to_owned()).or_default().insert(document.to_owned(), grade);
            }
        }
        Ok(Judgements(grades))
    }

    pub(crate) fn knows(&self, question: &str) -> bool {
        self.0.contains_key(question)
    }

    pub(crate) fn is_relevant(&self, question: &str, document: &str) -> bool {
        self.0.get(question).and_then(|grades| grades.get(document)).is_some_and(|grade| *grade > 0)
    }

    /// The place of the first relevant document, from 0, each document counted once.
    pub(crate) fn place(&self, question: &str, found: &[String]) -> Option<usize> {
        let first = found.iter().position(|document| self.is_relevant(question, document))?;
        Some(found[..first].iter().collect::<BTreeSet<_>>().len())
    }
}

/// Sums while questions are added, means once it is finished.
#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) questions: usize,
    pub(crate) ndcg: f64,
    pub(crate) recall: f64,
    pub(crate) mrr: f64,
    /// nDCG and number of questions.
    pub(crate) groups: BTreeMap<String, (f64, usize)>,
}

impl Score {
    /// Adds one answer: its documents, best first, perhaps several times each.
    pub(crate) fn add(
        &mut self,
        judgements: &Judgements,
        question: &str,
        found: impl Iterator<Item = String>,
        groups: &[String],
    ) {
        let Some(grades) = judgements.0.get(question) else { return };
        let mut ranked: Vec<String> = Vec::new();
        for document in found {
            if !ranked.contains(&document) {
                ranked.push(document);
            }
        }
        ranked.truncate(DEPTH);
        let gain = |grade: u32| f64::from(2u32.pow(grade.min(16)) - 1);
        let discounted = |(rank, grade): (usize, u32)| gain(grade) / (rank as f64 + 2.0).log2();
        let gained: f64 = ranked
            .iter()
            .map(|document| grades.get(document).copied().unwrap_or(0))
            .enumerate()
            .map(discounted)
            .sum();
        let mut ideal: Vec<u32> = grades.values().copied().collect();
        ideal.sort_unstable_by(|one, other| other.cmp(one));
        let ideal: f64 = ideal.into_iter().take(DEPTH).enumerate().map(discounted).sum();
        let right: Vec<usize> = ranked
            .iter()
            .enumerate()
            .filter(|(_, document)| grades.get(*document).is_some_and(|grade| *grade > 0))
            .map(|(rank, _)| rank)
            .collect();
        let ndcg = if ideal > 0.0 { gained / ideal } else { 0.0 };
        self.questions += 1;
        self.ndcg += ndcg;
        self.recall += right.len() as f64 / grades.len() as f64;
        self.mrr += right.first().map_or(0.0, |rank| 1.0 / (*rank as f64 + 1.0));
        for group in groups {
            let sum = self.groups.entry(group.clone()).or_default();
            sum.0 += ndcg;
            sum.1 += 1;
        }
    }

    pub(crate) fn finish(mut self) -> Score {
        let questions = self.questions.max(1) as f64;
        for sum in [&mut self.ndcg, &mut self.recall, &mut self.mrr] {
            *sum /= questions;
        }
        for (sum, count) in self.groups.values_mut() {
            *sum /= *count as f64;
        }
        self
    }
}
