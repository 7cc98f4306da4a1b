//! Reads pictures with the `tesseract` program of the machine.

mod tsv;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use model::{
    ProviderError, ProviderErrorKind, ProviderFuture, RecognizeInput, RecognizeLimits, RecognizedLine,
    RecognizedPage, TextRecognizer,
};

use super::background::in_background;
use super::picture::{self, Page};
use super::program::{self, Done, Run, RunFailure};
use tsv::Reading;

const NAME: &str = "tesseract";

const PAGE_TIME: Duration = Duration::from_secs(60);
const MEMORY: u64 = 1 << 30;
const MAX_TABLE_BYTES: u64 = 64 << 20;

/// Mean confidence of the words of a clean page is 96, of a noisy one 92, of one that lies on its side 38.
const MIN_CONFIDENCE: f32 = 60.0;

/// A page with less ink than this is empty.
const INKED: f32 = 0.002;

/// On a page that was read, most of the ink lies in words. Confidence alone does not tell: a photo of a page had 95 with
/// a third of its words.
const MIN_COVERED: f32 = 0.55;

/// With more languages than this installed, reading with all of them takes too long.
const MAX_LANGUAGES: usize = 4;

/// How to run Tesseract.
#[derive(Debug, Clone)]
pub struct TesseractConfig {
    /// An absolute path.
    pub program: PathBuf,
    /// Such as `eng+deu`; without it, what is installed.
    pub languages: Option<String>,
    /// Where the language data are, for a program that does not know it by itself.
    pub data: Option<PathBuf>,
}

/// A recogniser that runs one process per page.
#[derive(Debug, Clone)]
pub struct Tesseract {
    config: TesseractConfig,
    languages: String,
    /// It can find out which way up a page is.
    has_orientation: bool,
    model: String,
}

impl Tesseract {
    /// Asks the program for its version and its languages.
    pub fn new(config: TesseractConfig) -> Result<Tesseract, ProviderError> {
        let ask = |argument: &str| {
            let done = program::ask(&config.program, argument, &environment(&config));
            done.map_err(|failure| unreachable(failure.to_string()))
        };
        let version = version(&ask("--version")?)?;
        let installed = languages(&ask("--list-langs")?);
        let has_orientation = installed.iter().any(|language| language == "osd");
        let installed: Vec<&str> = installed
            .iter()
            .map(String::as_str)
            .filter(|language| !matches!(*language, "osd" | "equ"))
            .collect();
        let languages = chosen(config.languages.as_deref(), &installed).map_err(unreachable)?;
        let model = format!("tesseract-{version} {languages}");
        Ok(Tesseract { config, languages, has_orientation, model })
    }

    /// The page's text, and whether a better reader should look at it.
    pub(super) async fn read(&self, bytes: Vec<u8>) -> Result<(RecognizedPage, bool), ProviderError> {
        let page =
            tokio::task::spawn_blocking(move || picture::decode(&bytes).map(|decoded| Page::new(&decoded)))
                .await
                .map_err(|error| unreachable(error.to_string()))?
                .map_err(|reason| refused(format!("the picture could not be decoded: {reason}")))?;
        let input = portable_grey_map(&page);
        let mut best = self.attempt("3", input.clone()).await?;
        let mut is_doubtful = is_doubtful(&best, &page);
        if is_doubtful && self.has_orientation {
            // The same with a look at which way up the page is. That needs some text, and fails without.
            if let Ok(second) = self.attempt("1", input).await
                && worth(&second) > worth(&best)
            {
                is_doubtful = self::is_doubtful(&second, &page);
                best = second;
            }
        }
        Ok((recognized(best, &page), is_doubtful))
    }

    async fn attempt(&self, mode: &str, input: Vec<u8>) -> Result<Reading, ProviderError> {
        let arguments = ["stdin", "stdout", "-l", &self.languages, "--psm", mode, "tsv"].map(OsString::from);
        let done = command(&self.config, arguments).on(input).await;
        match done {
            Ok(done) if done.is_success => Ok(tsv::parse(&String::from_utf8_lossy(&done.output))),
            Ok(done) => Err(refused(last_line(&done.complaint))),
            Err(failure @ RunFailure::TooMuch(_)) => Err(refused(failure.to_string())),
            Err(failure) => Err(unreachable(failure.to_string())),
        }
    }
}

impl TextRecognizer for Tesseract {
    fn provider(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> RecognizeLimits {
        super::one_picture(super::processes_at_once())
    }

    fn recognize<'a>(&'a self, input: RecognizeInput<'a>) -> ProviderFuture<'a, Vec<RecognizedPage>> {
        let tesseract = self.clone();
        Box::pin(async move {
            let bytes = super::picture_bytes(NAME, input)?.to_vec();
            let reading = in_background(async move { tesseract.read(bytes).await });
            let (page, _) = reading.map_err(gone)?.await.map_err(gone)??;
            Ok(vec![page])
        })
    }
}

fn command<const N: usize>(config: &TesseractConfig, arguments: [OsString; N]) -> Run {
    Run {
        program: config.program.clone(),
        arguments: arguments.into(),
        environment: environment(config),
        time: PAGE_TIME,
        memory: MEMORY,
        max_output: MAX_TABLE_BYTES,
    }
}

fn environment(config: &TesseractConfig) -> Vec<(OsString, OsString)> {
    // Threads of its own make it slower: pages are read side by side instead.
    let mut environment = vec![("OMP_THREAD_LIMIT".into(), "1".into())];
    if let Some(data) = &config.data {
        environment.push(("TESSDATA_PREFIX".into(), data.into()));
    }
    environment
}

/// The number in `tesseract 5.3.0`.
fn version(done: &Done) -> Result<String, ProviderError> {
    // Old versions write it to the error stream.
    let said = format!("{}\n{}", String::from_utf8_lossy(&done.output), done.complaint);
    said.lines()
        .find_map(|line| line.trim().strip_prefix("tesseract "))
        .map(|version| version.trim().trim_start_matches('v').to_owned())
        .ok_or_else(|| unreachable("the configured program is not Tesseract: it names no version".to_owned()))
}

/// What follows `List of available languages in "/usr/share/tesseract-ocr/5/tessdata/" (2):`, one per line.
fn languages(done: &Done) -> Vec<String> {
    let said = format!("{}\n{}", String::from_utf8_lossy(&done.output), done.complaint);
    let named =
        said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.contains(char::is_whitespace));
    named.map(str::to_owned).collect()
}

/// What is passed as `-l`.
fn chosen(configured: Option<&str>, installed: &[&str]) -> Result<String, String> {
    if let Some(configured) = configured {
        let missing: Vec<&str> =
            configured.split('+').filter(|language| !installed.contains(language)).collect();
        return match missing.as_slice() {
            [] => Ok(configured.to_owned()),
            missing => Err(format!(
                "it has no data for the language {}; install them (Debian: apt install tesseract-ocr-{}), or choose \
                 from: {}",
                missing.join(", "),
                missing[0],
                installed.join(", ")
            )),
        };
    }
    let first = if installed.contains(&"eng") { "eng" } else { *installed.first().unwrap_or(&"") };
    if first.is_empty() {
        return Err(
            "it has no language data; install some (Debian: apt install tesseract-ocr-eng)".to_owned()
        );
    }
    let others = installed.iter().copied().filter(|language| *language != first);
    let all: Vec<&str> = std::iter::once(first).chain(others).collect();
    Ok(if all.len() <= MAX_LANGUAGES { all.join("+") } else { first.to_owned() })
}

fn is_doubtful(reading: &Reading, page: &Page) -> bool {
    let ink = page.ink(reading.words.iter().copied());
    ink.share > INKED && (reading.confidence < MIN_CONFIDENCE || ink.covered < MIN_COVERED)
}

/// How much was read, and how surely.
fn worth(reading: &Reading) -> f32 {
    reading.text.chars().filter(|c| c.is_alphanumeric()).count() as f32 * (reading.confidence - 20.0).max(0.0)
}

fn recognized(reading: Reading, page: &Page) -> RecognizedPage {
    let back = |length: u32| (length as f32 / page.scale).round() as u32;
    let lines = reading.lines.into_iter().map(|line| RecognizedLine { area: line.area.map(back), ..line });
    RecognizedPage {
        page: 1,
        text: reading.text,
        width: page.width,
        height: page.height,
        confidence: Some(reading.confidence / 100.0),
        lines: lines.collect(),
    }
}

/// The simplest format that Tesseract reads.
fn portable_grey_map(page: &Page) -> Vec<u8> {
    let (width, height) = page.grey.dimensions();
    let mut bytes = format!("P5\n{width} {height}\n255\n").into_bytes();
    bytes.extend_from_slice(page.grey.as_raw());
    bytes
}

fn last_line(complaint: &str) -> String {
    complaint.lines().last().unwrap_or("it ended without a word: out of time or memory").trim().to_owned()
}

fn unreachable(reason: String) -> ProviderError {
    ProviderError::new(NAME, ProviderErrorKind::Unreachable { reason })
}

fn refused(reason: String) -> ProviderError {
    ProviderError::new(NAME, ProviderErrorKind::Refused { reason })
}

fn gone(error: io::Error) -> ProviderError {
    unreachable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(output: &str) -> Done {
        Done { is_success: true, output: output.as_bytes().to_vec(), complaint: String::new() }
    }

    #[test]
    fn version_and_languages_are_understood() {
        assert_eq!(version(&said("tesseract 5.3.0\n leptonica-1.82.0\n")).unwrap(), "5.3.0");
        assert_eq!(version(&said("tesseract v4.1.1\n")).unwrap(), "4.1.1");
        assert!(version(&said("GNU bash, version 5\n")).is_err());
        let list = "List of available languages in \"/usr/share/tessdata/\" (2):\neng\nosd\n";
        assert_eq!(languages(&said(list)), ["eng", "osd"]);
        assert_eq!(languages(&said("List of available languages (1):\ndeu\n")), ["deu"]);
    }

    #[test]
    fn languages_are_configured_or_those_installed() {
        assert_eq!(chosen(None, &["deu", "eng"]).unwrap(), "eng+deu");
        assert_eq!(chosen(None, &["deu"]).unwrap(), "deu");
        assert_eq!(chosen(None, &["afr", "deu", "eng", "fra", "ita"]).unwrap(), "eng");
        assert_eq!(chosen(Some("deu"), &["deu", "eng"]).unwrap(), "deu");
        assert!(chosen(Some("deu+xyz"), &["deu"]).unwrap_err().contains("tesseract-ocr-xyz"));
        assert!(chosen(None, &[]).unwrap_err().contains("apt install"));
    }
}
