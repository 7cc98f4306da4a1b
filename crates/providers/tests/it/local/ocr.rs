//! Reading pictures with the models of the extra `ocr`.

use image::{GrayImage, Luma};
use providers::local::{LocalRecognizer, PictureModel, Tesseract, TesseractConfig};

use super::{PAGE, PAGE_TEXT, extra, installed_program, page, png, programs, recognize, words_found};

fn pictures() -> PictureModel {
    PictureModel::new(&programs(), &extra("ocr", &["rapidocr-"]), "pp-ocrv6-small")
}

/// A photo of the page: seen from the side, in bad light, on a dark table.
fn photo() -> GrayImage {
    let page = page();
    let (width, height) = (page.width() as f32, page.height() as f32);
    GrayImage::from_fn(page.width() + 200, page.height() + 160, |x, y| {
        let (x, y) = (x as f32 - 100.0, y as f32 - 80.0);
        // Lower edges are nearer, and the page is turned a little.
        let depth = 1.0 + 0.12 * (y / height - 0.5);
        let (from_x, from_y) = (
            (x - width / 2.0) * depth + width / 2.0 + 0.03 * y,
            (y - height / 2.0) * depth + height / 2.0 - 0.03 * x,
        );
        let inside = (0.0..width - 1.0).contains(&from_x) && (0.0..height - 1.0).contains(&from_y);
        if !inside {
            return Luma([60 + (x.abs() as u32 / 7 % 9) as u8]);
        }
        let light = 0.5 + 0.4 * (1.0 - from_x / width) * (0.6 + 0.4 * from_y / height);
        Luma([(f32::from(page.get_pixel(from_x as u32, from_y as u32).0[0]) * light) as u8])
    })
}

#[test]
fn a_clean_page_is_read() {
    let read = recognize(&pictures(), PAGE).unwrap();
    let found = words_found(PAGE_TEXT, &read.text);
    assert!(found > 0.97, "{found}: {}", read.text);
    assert_eq!((read.width, read.height), page().dimensions());
    assert!(read.confidence.unwrap() > 0.9);
    assert_eq!(read.lines.len(), PAGE_TEXT.lines().filter(|line| !line.is_empty()).count(), "{read:?}");
}

#[test]
fn a_photo_is_read_by_the_model_where_tesseract_doubts() {
    let photo = png(photo());
    let config = TesseractConfig {
        program: installed_program("tesseract"),
        languages: Some("eng".into()),
        data: None,
    };
    let both = LocalRecognizer::new(Tesseract::new(config).unwrap(), pictures());
    let read = recognize(&both, &photo).unwrap();
    let found = words_found(PAGE_TEXT, &read.text);
    assert!(found > 0.95, "{found}: {}", read.text);
}

#[test]
fn a_page_on_its_side_is_turned() {
    let read = recognize(&pictures(), &png(image::imageops::rotate270(&page()))).unwrap();
    let found = words_found(PAGE_TEXT, &read.text);
    assert!(found > 0.95, "{found}: {}", read.text);
}
