//! Users' programs as providers.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use model::{Audio, IndexKind, ProviderErrorKind, Purpose, RecognizeInput, TranscribeInput};
use providers::command::{CommandConfig, CommandConnector};
use providers::{ProviderRemedy, ProviderRuntime};

/// A shell script as a provider.
fn script(folder: &Path, text: &str, arguments: &[&str]) -> CommandConnector {
    script_within(folder, text, arguments, Duration::from_secs(60))
}

fn script_within(folder: &Path, text: &str, arguments: &[&str], timeout: Duration) -> CommandConnector {
    let program = folder.join("program.sh");
    std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let work_folder = folder.join("work");
    std::fs::create_dir_all(&work_folder).unwrap();
    let config = CommandConfig {
        program,
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        model: "mine-1".into(),
        timeout,
        search_path: std::env::var_os("PATH"),
        work_folder,
        runs: 2,
    };
    CommandConnector::new(config, ProviderRuntime::new().unwrap())
}

fn picture(bytes: &[u8]) -> RecognizeInput<'_> {
    RecognizeInput::Picture { bytes, media_type: "image/png" }
}

#[tokio::test]
async fn a_picture_is_given_as_a_file_or_on_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let by_file = script(folder.path(), "echo \"$1\" | grep -o 'png$'; cat \"$1\"", &["{file}"]);
    let pages = by_file.recognizer().recognize(picture(b"words in a picture")).await.unwrap();
    assert_eq!(pages[0].text, "png\nwords in a picture");
    assert_eq!(folder.path().join("work").read_dir().unwrap().count(), 0, "the file is gone");
    let by_input = script(folder.path(), "cat", &[]);
    let pages = by_input.recognizer().recognize(picture(b"words in a picture")).await.unwrap();
    assert_eq!((pages[0].page, pages[0].text.as_str()), (1, "words in a picture"));
    assert_eq!(by_input.recognizer().model(), "mine-1");
}

#[tokio::test]
async fn a_recording_becomes_a_transcript() {
    let folder = tempfile::tempdir().unwrap();
    let json = r#"{"language":"en","segments":[{"start":0,"end":1.5,"text":"Hello."}]}"#;
    let command = script(folder.path(), &format!("head -c 4 \"$1\" >&2; echo '{json}'"), &["{file}"]);
    let input = TranscribeInput {
        audio: Audio::Samples(&[0.0; 16_000]),
        language: None,
        timestamps: true,
        on_progress: None,
    };
    let transcript = command.transcriber().transcribe(input).await.unwrap();
    assert_eq!((transcript.duration_ms, transcript.has_times), (1000, true));
    assert_eq!(transcript.segments[0].text, "Hello.");
}

#[tokio::test]
async fn texts_become_vectors_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let command = script(folder.path(), "while read -r line; do echo \"[${#line}, 1]\"; done", &[]);
    let embedder = command.embedder(2);
    let vectors = embedder.vectors(IndexKind::Code, Purpose::Question, &["a", "abc"]).await.unwrap();
    assert_eq!(vectors[1][0] - vectors[0][0], 2.0);
    let wrong = script(folder.path(), "cat >/dev/null; echo '[1]'", &[]);
    let error = wrong.embedder(2).vectors(IndexKind::Text, Purpose::Passage, &["a", "b"]).await.unwrap_err();
    assert!(matches!(error.kind, ProviderErrorKind::BadAnswer { .. }), "{error}");
}

#[tokio::test]
async fn a_program_gets_no_variable_but_path() {
    let folder = tempfile::tempdir().unwrap();
    let command = script(folder.path(), "cat >/dev/null; env | cut -d= -f1 | grep -v '^_$' | sort", &[]);
    let pages = command.recognizer().recognize(picture(b"x")).await.unwrap();
    // The shell itself adds where it is.
    let names: Vec<&str> =
        pages[0].text.lines().filter(|name| !matches!(*name, "PWD" | "SHLVL" | "OLDPWD")).collect();
    assert_eq!(names, ["PATH"]);
}

#[tokio::test]
async fn failures_say_what_the_program_said() {
    let folder = tempfile::tempdir().unwrap();
    let command = script(folder.path(), "echo first >&2; echo 'no such language: xx' >&2; exit 3", &[]);
    let error = command.recognizer().recognize(picture(b"x")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "command: the request was refused: program.sh failed (exit status: 3): no such language: xx"
    );
    let flood = script(folder.path(), "yes", &[]);
    let error = flood.recognizer().recognize(picture(b"x")).await.unwrap_err();
    assert!(
        matches!(&error.kind, ProviderErrorKind::BadAnswer { reason } if reason.contains("32 MB")),
        "{error}"
    );
}

#[tokio::test]
async fn a_missing_program_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let command = script(folder.path(), "true", &[]);
    assert!(command.probe().is_fine());
    std::fs::remove_file(folder.path().join("program.sh")).unwrap();
    assert_eq!(command.probe().remedies, [ProviderRemedy::CheckProgram]);
    let error = command.recognizer().recognize(picture(b"x")).await.unwrap_err();
    assert!(matches!(error.kind, ProviderErrorKind::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_program_ends_in_time_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("children");
    // A child that holds a lock file open, which the test can see.
    let text = format!("sleep 1000 & echo $! > {0}; echo $$ >> {0}; wait", mark.display());
    let command = script_within(folder.path(), &text, &[], Duration::from_millis(400));
    let error = command.recognizer().recognize(picture(b"x")).await.unwrap_err();
    assert!(
        matches!(&error.kind, ProviderErrorKind::Refused { reason } if reason.contains("longer than 0.4 s")),
        "{error}"
    );
    let started: Vec<i32> =
        std::fs::read_to_string(&mark).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(started.len(), 2);
    let deadline = Instant::now() + Duration::from_secs(20);
    while started.iter().any(|pid| is_running(*pid)) {
        assert!(Instant::now() < deadline, "{started:?} still run");
        tokio::task::yield_now().await;
    }
}

/// A process that ended and was not waited for yet does not count.
fn is_running(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}
