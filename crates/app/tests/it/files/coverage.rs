//! Every line of part 5 of the contract has a case, or a test elsewhere that is named here.

use std::collections::BTreeMap;

use super::all_cases;

/// Lines that no call of a tool can show on its own, and what holds them.
const ELSEWHERE: &[(std::ops::RangeInclusive<u32>, &str)] = &[
    (73..=73, "filestore background::f073_f158"),
    (109..=111, "filestore background::f109_f110_f111_f112"),
    (113..=113, "doors::f113"),
    (114..=114, "faults::f114"),
    (118..=119, "faults::f118_f119, proofs::f117_f118"),
    (125..=125, "filestore background::f125, killed_workers::f125"),
    (132..=132, "filestore background::f128_f131_f132, killed_workers"),
    (133..=138, "filestore envelope::tests"),
    (142..=143, "the shape of every refusal: world::Tenant::refused"),
    (150..=150, "doors::f150"),
    (153..=154, "doors::f151_f152_f153_f154"),
    (155..=155, "doors::f155"),
    (156..=156, "there is no such key: config::keys"),
    (158..=158, "filestore background::f073_f158, f158"),
    (159..=159, "docs/operations, checked with promtool"),
    (160..=160, "proofs::f160, f001_f160"),
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
