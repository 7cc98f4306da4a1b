//! The secret rules judged on the labelled lines.

use std::collections::BTreeMap;

use model::RelPath;
use policy::{Policy, PolicyConfig, SecretLevel};

use super::labelled::{Line, negative, positive};

pub(crate) fn policy(secret_level: SecretLevel) -> Policy {
    Policy::new(PolicyConfig { secret_level, ..PolicyConfig::default() }).unwrap()
}

fn hit<'p>(policy: &'p Policy, line: &Line) -> Option<&'p str> {
    let path = RelPath::from_walk(line.path).unwrap();
    policy.scan(&path, line.text.as_bytes()).map(|found| found.rule)
}

/// Right hits, wrong hits and all lines with a credential, and the same by class.
pub(crate) struct Judged {
    pub(crate) found: usize,
    pub(crate) wrong: Vec<String>,
    pub(crate) all: usize,
    pub(crate) by_class: BTreeMap<&'static str, (usize, usize)>,
}

impl Judged {
    pub(crate) fn new(level: SecretLevel) -> Judged {
        let policy = policy(level);
        let lines = positive();
        let mut by_class: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
        for line in &lines {
            let (found, all) = by_class.entry(line.class).or_default();
            *found += usize::from(hit(&policy, line).is_some());
            *all += 1;
        }
        let wrong = negative()
            .iter()
            .filter_map(|line| Some(format!("{} {}: {}", hit(&policy, line)?, line.path, line.text)))
            .collect();
        let found = by_class.values().map(|(found, _)| found).sum();
        Judged { found, wrong, all: lines.len(), by_class }
    }

    pub(crate) fn recall(&self) -> f64 {
        self.found as f64 / self.all as f64
    }

    pub(crate) fn precision(&self, more_wrong: usize) -> f64 {
        self.found as f64 / (self.found + self.wrong.len() + more_wrong) as f64
    }
}
