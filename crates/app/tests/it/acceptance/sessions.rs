//! The short version of `cargo xtask sessions`.

use testkit::scenario::{Sessions, sessions};

use super::BINARY;

#[test]
fn m20_a_thousand_abandoned_sessions() {
    let report = sessions(BINARY.as_ref(), &Sessions { sessions: 1_000 }, &|_| {})
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.opened + report.refused, 1_000);
    assert!(report.honest_calls > 0);
    // The long version holds the goal of 5 %; a debug build with a small flood is given more.
    assert!(report.growth() < 0.2, "{report:?}");
}
