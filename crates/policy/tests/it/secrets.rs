//! The default secret rules on the corpus of positive and negative lines.

use std::path::Path;

use model::RelPath;
use policy::{Policy, PolicyConfig, SecretMatch};

fn scan<'p>(policy: &'p Policy, text: &[u8]) -> Option<SecretMatch<'p>> {
    policy.scan(&RelPath::from_walk("src/notes").unwrap(), text)
}

/// The lines of a folder's files, with their origin. `\n` in a line stands for a line end, the marker
/// `{{}}` for nothing: it keeps the files from looking like a leak.
fn corpus(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/secrets").join(folder);
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut lines = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# Fixture: "), "{} does not say that it is a fixture", file.display());
        for (number, line) in text.lines().enumerate().skip(1) {
            let origin = format!("{}:{}", file.file_name().unwrap().display(), number + 1);
            lines.push((origin, line.replace("{{}}", "").replace("\\n", "\n")));
        }
    }
    lines
}

#[test]
fn d087_precision_and_recall_on_the_corpus() {
    let policy = Policy::new(PolicyConfig::default()).unwrap();
    let (positive, negative) = (corpus("positive"), corpus("negative"));
    assert!(positive.len() >= 60 && negative.len() >= 150);
    let missed: Vec<_> =
        positive.iter().filter(|(_, line)| scan(&policy, line.as_bytes()).is_none()).collect();
    let wrong: Vec<_> = negative
        .iter()
        .filter_map(|(origin, line)| Some((origin, scan(&policy, line.as_bytes())?.rule, line)))
        .collect();
    let found = positive.len() - missed.len();
    let precision = found as f64 / (found + wrong.len()) as f64;
    let recall = found as f64 / positive.len() as f64;
    #[expect(clippy::print_stdout, reason = "the figures are what this test is for")]
    {
        println!(
            "{} positive and {} negative lines: precision {precision:.3}, recall {recall:.3}",
            positive.len(),
            negative.len()
        );
    }
    assert!(missed.is_empty() && wrong.is_empty(), "missed {missed:#?}\nwrong {wrong:#?}");
}

#[test]
fn a_secret_is_found_anywhere_in_a_text() {
    let policy = Policy::new(PolicyConfig::default()).unwrap();
    let noise: String = corpus("negative").into_iter().map(|(_, line)| line + "\n").collect();
    assert_eq!(scan(&policy, noise.as_bytes()), None, "harmless lines stay harmless together");
    for (origin, line) in corpus("positive") {
        for text in
            [format!("{noise}{line}\n"), format!("{line}\n{noise}"), format!("{noise}{line}\r\n{noise}")]
        {
            assert!(scan(&policy, text.as_bytes()).is_some(), "{origin}");
        }
    }
}

#[test]
fn any_bytes_can_be_scanned() {
    let policy = Policy::new(PolicyConfig::default()).unwrap();
    // Each keyword cut off at every point, at the start and at the end of the text.
    for (_, line) in corpus("positive") {
        for end in 0..line.len().min(160) {
            scan(&policy, &line.as_bytes()[..end]);
            scan(&policy, &line.as_bytes()[end..]);
        }
    }
    scan(&policy, &[0xff; 64]);
    scan(&policy, "token = \u{1F511}".repeat(40).as_bytes());
}
