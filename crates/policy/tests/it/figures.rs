//! The least that the secret rules must achieve on the labelled lines. `cargo xtask secrets` measures more of them.

use policy::SecretLevel;

use super::judged::Judged;
use super::labelled::{negative, positive};

#[test]
fn d087_precision_and_recall_on_labelled_lines() {
    assert!(positive().len() + negative().len() >= 1500 && positive().len() >= 700);
    for (level, recall, precision) in [(SecretLevel::Default, 0.50, 0.95), (SecretLevel::Strict, 0.70, 0.80)]
    {
        let judged = Judged::new(level);
        let told = format!(
            "{level:?}: recall {:.3}, precision {:.3}, {:?}, wrong: {:#?}",
            judged.recall(),
            judged.precision(0),
            judged.by_class,
            judged.wrong
        );
        assert!(judged.recall() >= recall && judged.precision(0) >= precision, "{told}");
    }
}
