//! Reading pages with the installed Tesseract.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use model::{ProviderErrorKind, TextRecognizer};
use providers::local::{Tesseract, TesseractConfig};

use super::{PAGE, PAGE_TEXT, badly_scanned, installed_program, page, png, recognize, words_found};

fn tesseract() -> Tesseract {
    let config = TesseractConfig {
        program: installed_program("tesseract"),
        languages: Some("eng".into()),
        data: None,
    };
    Tesseract::new(config).unwrap()
}

#[test]
fn a_clean_page_is_read_whole_with_its_lines() {
    let tesseract = tesseract();
    assert!(
        tesseract.model().starts_with("tesseract-") && tesseract.model().ends_with(" eng"),
        "{}",
        tesseract.model()
    );
    let read = recognize(&tesseract, PAGE).unwrap();
    let found = words_found(PAGE_TEXT, &read.text);
    assert!(found > 0.98, "{found}: {}", read.text);
    assert!(read.confidence.unwrap() > 0.85, "{read:?}");
    // Paragraphs stay apart.
    assert_eq!(read.text.matches("\n\n").count(), PAGE_TEXT.trim().matches("\n\n").count(), "{}", read.text);
    let picture = page();
    assert_eq!((read.width, read.height), picture.dimensions());
    assert_eq!(read.lines.len(), PAGE_TEXT.lines().filter(|line| !line.is_empty()).count());
    // The areas are those of the picture as it was given: there is ink in each.
    for line in &read.lines {
        let [left, top, width, height] = line.area;
        assert!(left + width <= read.width && top + height <= read.height, "{line:?}");
        let ink =
            (top..top + height).any(|y| (left..left + width).any(|x| picture.get_pixel(x, y).0[0] < 128));
        assert!(ink && line.confidence.is_some(), "{line:?}");
    }
}

#[test]
fn a_badly_scanned_page_is_read() {
    let read = recognize(&tesseract(), &png(badly_scanned())).unwrap();
    let found = words_found(PAGE_TEXT, &read.text);
    assert!(found > 0.95, "{found}: {}", read.text);
}

#[test]
fn a_page_on_its_side_is_read_at_the_second_attempt() {
    let turned = image::imageops::rotate90(&page());
    let read = recognize(&tesseract(), &png(turned)).unwrap();
    let found = words_found(PAGE_TEXT, &read.text);
    assert!(found > 0.95, "{found}: {}", read.text);
}

#[test]
fn an_empty_page_is_an_empty_text() {
    let empty = image::GrayImage::from_pixel(800, 600, image::Luma([250]));
    let read = recognize(&tesseract(), &png(empty)).unwrap();
    assert_eq!((read.text.as_str(), read.lines.len()), ("", 0));
}

#[test]
fn what_is_no_picture_is_refused() {
    let error = recognize(&tesseract(), b"\x89PNG\r\n\x1a\nnonsense").unwrap_err();
    assert!(matches!(error.kind, ProviderErrorKind::Refused { .. }), "{error}");
}

#[test]
fn a_language_that_is_not_installed_is_named() {
    let config = TesseractConfig {
        program: installed_program("tesseract"),
        languages: Some("tlh".into()),
        data: None,
    };
    let error = Tesseract::new(config).unwrap_err();
    assert!(error.to_string().contains("apt install tesseract-ocr-tlh"), "{error}");
    let missing = TesseractConfig { program: "/nowhere/tesseract".into(), languages: None, data: None };
    assert!(matches!(Tesseract::new(missing).unwrap_err().kind, ProviderErrorKind::Unreachable { .. }));
}

/// A program that answers questions about itself as Tesseract does, and otherwise runs a script.
fn stand_in(folder: &Path, script: &str) -> Tesseract {
    let path = folder.join("tesseract");
    let program = format!(
        "#!/bin/sh\ncase \"$1\" in --version) echo 'tesseract 9.9';; \
         --list-langs) echo 'List of available languages in \"/x/\" (1):'; echo eng;; *) {script};; esac\n"
    );
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Tesseract::new(TesseractConfig { program: path, languages: None, data: None }).unwrap()
}

#[test]
fn giving_up_ends_the_program_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    // A child of its own, which says that it runs and then waits for ever.
    let script = format!(
        "sh -c 'echo $$ > {pids}.new; mv {pids}.new {pids}; sleep 1000' & wait",
        pids = pids.display()
    );
    let tesseract = stand_in(folder.path(), &script);
    let input = model::RecognizeInput::Picture { bytes: PAGE, media_type: "image/png" };
    let started = Instant::now();
    let mut reading = tesseract.recognize(input);
    let child = futures::executor::block_on(futures::future::poll_fn(|context| {
        assert!(reading.as_mut().poll(context).is_pending());
        match fs::read_to_string(&pids) {
            Ok(pid) => std::task::Poll::Ready(pid),
            Err(_) => {
                assert!(started.elapsed() < Duration::from_secs(30), "it was never started");
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            }
        }
    }));
    drop(reading);
    let process = Path::new("/proc").join(child.trim());
    while is_running(&process) {
        assert!(started.elapsed() < Duration::from_secs(60), "{} still runs", process.display());
        std::thread::yield_now();
    }
}

/// A zombie is not running: whoever started it is gone, and init has yet to collect it.
fn is_running(process: &Path) -> bool {
    fs::read_to_string(process.join("stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

#[test]
fn a_program_that_fails_is_an_error_in_its_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let tesseract = stand_in(folder.path(), "cat >/dev/null; echo 'Error in pixReadMem' >&2; exit 1");
    let error = recognize(&tesseract, PAGE).unwrap_err();
    assert!(error.to_string().contains("Error in pixReadMem"), "{error}");
    // It may not use our environment.
    let script = "cat >/dev/null; env | grep -v -e OMP_THREAD_LIMIT=1 -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= >&2; exit 1";
    let error = recognize(&stand_in(folder.path(), script), PAGE).unwrap_err();
    assert!(error.to_string().contains("it ended without a word"), "{error}");
}
