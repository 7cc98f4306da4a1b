//! PP-OCR: reads text in photos and scans, where Tesseract is not installed or gives up.

mod areas;
mod detect;
mod order;
mod recognize;

use std::path::Path;
use std::time::Duration;

use image::RgbImage;
use image::imageops;
use model::{
    ProviderError, ProviderFuture, RecognizeInput, RecognizeLimits, RecognizedLine, RecognizedPage,
    TextRecognizer,
};

use super::files::ModelKind;
use super::messages::{ModelAnswer, ModelRequest};
use super::process::{ModelProcess, ModelPrograms};
use super::run::LoadedNetwork;
use crate::local::picture;
use order::PlacedText;
use recognize::Letters;

const NAME: &str = "local";

/// A page takes ten to twenty seconds; a slow, busy machine gets much more.
const PATIENCE: Duration = Duration::from_secs(300);

/// Lines that the model is less sure of are not text.
const MIN_SURENESS: f32 = 0.5;

/// A page that is less sure may be upside down.
const UPRIGHT: f32 = 0.75;

/// Reads pictures with the PP-OCR models of an extra, in a child process.
#[derive(Debug, Clone)]
pub struct PictureModel {
    process: ModelProcess,
    model: String,
}

impl PictureModel {
    /// `folder` holds the files of the extra, `model` is its name in the catalogue.
    pub fn new(programs: &ModelPrograms, folder: &Path, model: &str) -> PictureModel {
        let process = ModelProcess::new(NAME, programs, ModelKind::Pictures, folder, PATIENCE);
        PictureModel { process, model: model.to_owned() }
    }

    pub(in crate::local) async fn read(&self, bytes: Vec<u8>) -> Result<RecognizedPage, ProviderError> {
        match self.process.ask(ModelRequest::Recognize, bytes, None).await? {
            ModelAnswer::Page(page) => Ok(page),
            other => Err(self.process.unexpected(other)),
        }
    }
}

impl TextRecognizer for PictureModel {
    fn provider(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> RecognizeLimits {
        crate::local::one_picture(1)
    }

    fn recognize<'a>(&'a self, input: RecognizeInput<'a>) -> ProviderFuture<'a, Vec<RecognizedPage>> {
        Box::pin(async move {
            let bytes = crate::local::picture_bytes(NAME, input)?.to_vec();
            Ok(vec![self.read(bytes).await?])
        })
    }
}

/// The models themselves, in the child.
pub(super) struct PictureReader {
    detection: LoadedNetwork,
    recognition: LoadedNetwork,
    letters: Letters,
}

impl PictureReader {
    pub(super) fn load(detection: Vec<u8>, recognition: Vec<u8>) -> Result<PictureReader, String> {
        let recognition = LoadedNetwork::load("recognition.onnx", recognition)?;
        Ok(PictureReader {
            letters: Letters::of(&recognition)?,
            detection: LoadedNetwork::load("detection.onnx", detection)?,
            recognition,
        })
    }

    pub(super) fn read(&self, bytes: &[u8]) -> Result<RecognizedPage, String> {
        let picture =
            picture::decode(bytes).map_err(|reason| format!("the picture could not be decoded: {reason}"))?;
        let picture = picture.into_rgb8();
        let (width, height) = picture.dimensions();
        let (mut best, lies_on_its_side) = self.texts(&picture)?;
        // One that lies on its side is turned both ways; one that is hard to read may be upside down.
        let turns: &[Turn] = match (lies_on_its_side, sureness(&best) < UPRIGHT && !best.is_empty()) {
            (true, _) => &[Turn::Right, Turn::Left],
            (false, true) => &[Turn::Over],
            (false, false) => &[],
        };
        let mut turned = Turn::None;
        for turn in turns {
            let (texts, _) = self.texts(&turn.of(&picture))?;
            if worth(&texts) > worth(&best) {
                (best, turned) = (texts, *turn);
            }
            if sureness(&best) > 0.9 && turned == *turn {
                break;
            }
        }
        best.retain(|text| text.sureness >= MIN_SURENESS && !text.text.is_empty());
        Ok(page(best, turned, width, height))
    }

    /// What is read, and whether most of it runs upwards or downwards.
    fn texts(&self, picture: &RgbImage) -> Result<(Vec<PlacedText>, bool), String> {
        let (width, height) = picture.dimensions();
        let areas = detect::find(&self.detection, picture)?;
        let tall = areas.iter().filter(|area| area.is_tall()).count();
        let lies_on_its_side = 5 * tall > 3 * areas.len();
        let read = recognize::read(&self.recognition, &self.letters, picture, &areas)?;
        let places = areas::straightened(&areas);
        let placed = areas.iter().zip(places).zip(read).map(|((area, place), (text, sureness))| PlacedText {
            area: area.upright(width, height),
            place,
            text,
            sureness,
        });
        Ok((placed.collect(), lies_on_its_side))
    }
}

/// How a picture was turned before it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    None,
    /// By a quarter, clockwise.
    Right,
    Left,
    Over,
}

impl Turn {
    fn of(self, picture: &RgbImage) -> RgbImage {
        match self {
            Turn::None => picture.clone(),
            Turn::Right => imageops::rotate90(picture),
            Turn::Left => imageops::rotate270(picture),
            Turn::Over => imageops::rotate180(picture),
        }
    }

    /// An area of the turned picture, in the picture as it was, which had this size.
    fn back(self, [left, top, wide, high]: [u32; 4], width: u32, height: u32) -> [u32; 4] {
        let from_end = |end: u32, start: u32, length: u32| end.saturating_sub(start + length);
        match self {
            Turn::None => [left, top, wide, high],
            Turn::Right => [top, from_end(height, left, wide), high, wide],
            Turn::Left => [from_end(width, top, high), left, high, wide],
            Turn::Over => [from_end(width, left, wide), from_end(height, top, high), wide, high],
        }
    }
}

/// Mean sureness, each text weighing as much as it is long.
fn sureness(texts: &[PlacedText]) -> f32 {
    let letters = |text: &PlacedText| text.text.chars().count() as f32;
    let all: f32 = texts.iter().map(letters).sum();
    texts.iter().map(|text| letters(text) * text.sureness).sum::<f32>() / all.max(1.0)
}

/// How much was read, and how surely.
fn worth(texts: &[PlacedText]) -> f32 {
    let letters = |text: &PlacedText| text.text.chars().filter(|c| c.is_alphanumeric()).count() as f32;
    texts.iter().map(|text| letters(text) * (text.sureness - 0.3).max(0.0)).sum()
}

fn page(texts: Vec<PlacedText>, turned: Turn, width: u32, height: u32) -> RecognizedPage {
    let confidence = (!texts.is_empty()).then(|| sureness(&texts));
    let (mut text, mut lines) = (String::new(), Vec::new());
    for paragraph in order::paragraphs(texts) {
        if !text.is_empty() {
            text.push('\n');
        }
        for line in paragraph {
            let words: Vec<&str> = line.iter().map(|part| part.text.as_str()).collect();
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&words.join(" "));
            lines.extend(line.into_iter().map(|part| RecognizedLine {
                text: part.text,
                area: turned.back(part.area, width, height),
                confidence: Some(part.sureness),
            }));
        }
    }
    RecognizedPage { page: 1, text, width, height, confidence, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_find_their_way_back() {
        // One corner is marked; wherever the picture is turned, the mark's area leads back to it.
        let mut picture = RgbImage::new(40, 20);
        for (x, y) in [(30, 2), (31, 2), (32, 2), (30, 3), (31, 3), (32, 3)] {
            picture.put_pixel(x, y, image::Rgb([255, 255, 255]));
        }
        for turn in [Turn::None, Turn::Right, Turn::Left, Turn::Over] {
            let turned = turn.of(&picture);
            let marked: Vec<(u32, u32)> = turned
                .enumerate_pixels()
                .filter(|(_, _, pixel)| pixel.0[0] > 0)
                .map(|(x, y, _)| (x, y))
                .collect();
            let left = marked.iter().map(|mark| mark.0).min().unwrap();
            let top = marked.iter().map(|mark| mark.1).min().unwrap();
            let right = marked.iter().map(|mark| mark.0).max().unwrap() + 1;
            let bottom = marked.iter().map(|mark| mark.1).max().unwrap() + 1;
            let area = [left, top, right - left, bottom - top];
            assert_eq!(turn.back(area, 40, 20), [30, 2, 3, 2], "{turn:?}");
        }
    }

    #[test]
    fn a_page_is_lines_in_order_with_their_areas() {
        let placed = |top: u32, text: &str| PlacedText {
            area: [10, top, 300, 20],
            place: [10, top, 300, 20],
            text: text.to_owned(),
            sureness: 0.9,
        };
        let page = page(vec![placed(130, "end"), placed(30, "two"), placed(0, "one")], Turn::None, 400, 200);
        assert_eq!(page.text, "one\ntwo\n\nend");
        assert_eq!(page.lines[2].area, [10, 130, 300, 20]);
        assert!((page.confidence.unwrap() - 0.9).abs() < 1e-6);
    }
}
