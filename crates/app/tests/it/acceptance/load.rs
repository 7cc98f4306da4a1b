//! The short version of `cargo xtask load`.

use std::time::Duration;

use testkit::scenario::{Load, load};

use super::BINARY;

#[test]
fn an_honest_client_is_served_beside_greedy_ones_and_many_questions_at_once_are_answered() {
    let plan = Load { greedy: 100, questions: 40, at_once: 300, rounds: 1, quiet: Duration::from_secs(3) };
    let report = load(BINARY.as_ref(), &plan, &|_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.answered, 300);
    // The long version holds the goals of twice the time and 5 % of memory; a debug build on a busy machine is given more.
    assert!(report.beside.p99 < Duration::from_secs(5), "{report:?}");
    assert!(report.growth() < 1.0, "{report:?}");
}
