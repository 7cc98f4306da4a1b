//! Every line of part 5 of the contract has a case, or a test elsewhere that is named here.

use std::collections::BTreeMap;

use super::all_cases;

/// Lines that no call of a tool can show on its own, and what holds them.
const ELSEWHERE: &[(std::ops::RangeInclusive<u32>, &str)] = &[
    (13..=13, "doors: callers without a key"),
    (73..=73, "filestore: purging after delete_retention_days"),
    (109..=111, "filestore: reranking and its fallback"),
    (113..=114, "doors: search switched off; faults: PostgreSQL gone"),
    (118..=119, "faults: a lock that is held past lock_timeout_ms"),
    (125..=125, "filestore: workers at once, killed workers"),
    (132..=138, "filestore: credential envelopes"),
    (142..=143, "world: the shape of every refusal"),
    (150..=150, "doors: environment variables change nothing"),
    (153..=156, "doors: configuration"),
    (158..=160, "faults: restarts; filestore: housekeeping and migrations; docs/operations: alert rules"),
    (163..=165, "the console"),
];

#[test]
fn every_line_of_the_contract_is_held() {
    let cases = all_cases();
    let mut names = BTreeMap::new();
    for case in &cases {
        assert!(names.insert(case.name.clone(), ()).is_none(), "{} is there twice", case.name);
    }
    assert!(cases.len() >= 200, "{} cases", cases.len());
    let held: std::collections::BTreeSet<u32> = cases.iter().flat_map(|case| case.lines()).collect();
    let is_elsewhere = |line: &u32| ELSEWHERE.iter().any(|(lines, _)| lines.contains(line));
    let missing: Vec<u32> = (1..=166).filter(|line| !held.contains(line) && !is_elsewhere(line)).collect();
    assert!(missing.is_empty(), "no case holds the lines {missing:?}");
}
