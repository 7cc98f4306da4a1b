//! Pictures and recordings that are cut, flipped or made of noise: each gives something or a reason, and never a panic.

use std::ops::ControlFlow;
use std::time::Duration;

use extract::audio::{probe, samples};
use extract::picture::page_pictures;
use extract::{Format, Limits, sniff};
use model::SkipReason;
use proptest::prelude::*;

use crate::build::{pages, pdf, stream};
use crate::pictures::fixture;

const PICTURES: &[&str] = &["pages.tiff", "fax.tiff", "jpeg.tiff", "progressive.jpeg", "cmyk.jpeg"];
const SOUNDS: &[&str] =
    &["tone.mp3", "tone.flac", "tone.ogg", "tone.m4a", "tone.alac.m4a", "tone.aac", "tone.aiff", "tone.opus"];
/// Images within a PDF: the fixture and what the dictionary says of it.
const IMAGES: &[(&str, &str)] = &[
    (
        "page.g4",
        "/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns 101/Rows 70>>",
    ),
    (
        "page.g3",
        "/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/CCITTFaxDecode/DecodeParms<</K 0/Columns 101/EndOfLine true>>",
    ),
    ("page.jbig2", "/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/JBIG2Decode"),
    (
        "text.jbig2",
        "/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/JBIG2Decode/DecodeParms<</JBIG2Globals 6 0 R>>",
    ),
    ("grey.jp2", "/Filter/JPXDecode"),
    ("colour.j2k", "/ColorSpace/DeviceRGB/Filter/JPXDecode"),
    ("progressive.jpeg", "/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode"),
];

fn tight() -> Limits {
    Limits {
        max_member_bytes: 4 << 20,
        max_total_bytes: 8 << 20,
        max_steps: 5_000_000,
        max_time: Some(Duration::from_secs(20)),
        max_picture_pixels: 1_000_000,
        max_picture_bytes: 4_000_000,
        max_recording_seconds: 20,
        ..Limits::default()
    }
}

/// A panic that was caught would say this.
const FAILED: &str = "the reader failed on it";

fn try_picture(format: Format, bytes: &[u8]) {
    let limits = tight();
    page_pictures(format, bytes, &[1, 2, 9], &limits, &mut |_, picture| {
        match picture {
            Ok(picture) => {
                assert!(u64::from(picture.width) * u64::from(picture.height) <= limits.max_picture_pixels);
                assert!(picture.png.starts_with(b"\x89PNG"));
            }
            Err(reason) => assert!(
                !matches!(&reason, SkipReason::Damaged { detail, .. } if detail == FAILED),
                "{reason}"
            ),
        }
        ControlFlow::Continue(())
    });
}

fn try_sound(format: Format, bytes: &[u8]) {
    let limits = tight();
    let mut heard = 0;
    let mut visit = |chunk: &[f32]| {
        heard += chunk.len() as u64;
        assert!(chunk.iter().all(|sample| sample.abs() <= 1.0));
        ControlFlow::Continue(())
    };
    let done = samples(format, "x", bytes, &limits, &mut visit);
    assert!(heard <= limits.max_recording_seconds * 16_000);
    for reason in [done.err(), probe(format, "x", bytes, &limits).err()].into_iter().flatten() {
        assert!(!matches!(&reason, SkipReason::Damaged { detail, .. } if detail == FAILED), "{reason}");
    }
}

fn scan(entries: &str, data: &[u8]) -> Vec<u8> {
    let content = stream("", b"101 0 0 70 0 0 cm /I Do");
    let image = stream(&format!("/Type/XObject/Subtype/Image/Width 101/Height 70{entries}"), data);
    let symbols = stream("", &fixture("symbols.jbig2"));
    pdf(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 101 70]/Resources<</XObject<</I 5 0 R>>>>/Contents 4 0 R>>",
            &content,
            &image,
            &symbols,
        ],
        "",
    )
}

/// Cuts at up to a hundred places, and changes as many bytes.
fn damaged(bytes: &[u8], mut visit: impl FnMut(&[u8])) {
    let step = (bytes.len() / 100).max(1);
    for at in (0..bytes.len()).step_by(step) {
        visit(&bytes[..at]);
        let mut changed = bytes.to_vec();
        changed[at] = [0, bytes[at] ^ 0x01, 0xFF, bytes[at] ^ 0x80][at / step % 4];
        visit(&changed);
    }
}

#[test]
fn damaged_image_files() {
    for name in PICTURES {
        let bytes = fixture(name);
        let format = sniff(name, &bytes).unwrap();
        damaged(&bytes, |bytes| try_picture(format, bytes));
    }
}

#[test]
fn damaged_images_in_a_sound_pdf() {
    for (name, entries) in IMAGES {
        damaged(&fixture(name), |data| try_picture(Format::Pdf, &scan(entries, data)));
    }
}

#[test]
fn damaged_pdfs_around_a_sound_image() {
    let (name, entries) = IMAGES[0];
    damaged(&scan(entries, &fixture(name)), |bytes| try_picture(Format::Pdf, bytes));
    damaged(&pages(&["BT /F 12 Tf 50 700 Td (Hello) Tj ET"]), |bytes| try_picture(Format::Pdf, bytes));
}

#[test]
fn damaged_recordings() {
    for name in SOUNDS {
        let bytes = fixture(name);
        let format = sniff(name, &bytes).unwrap();
        damaged(&bytes, |bytes| try_sound(format, bytes));
    }
}

#[test]
fn every_file_as_every_format() {
    for name in PICTURES.iter().chain(SOUNDS) {
        let bytes = fixture(name);
        for format in Format::all() {
            if format.is_recording() {
                try_sound(format, &bytes);
            } else {
                try_picture(format, &bytes);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_in_many_places(
        index in 0..PICTURES.len() + SOUNDS.len() + IMAGES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let change = |mut bytes: Vec<u8>| {
            for (at, value) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            bytes
        };
        if let Some(name) = PICTURES.get(index) {
            try_picture(sniff(name, &fixture(name)).unwrap(), &change(fixture(name)));
        } else if let Some(name) = SOUNDS.get(index - PICTURES.len()) {
            try_sound(sniff(name, &fixture(name)).unwrap(), &change(fixture(name)));
        } else {
            let (name, entries) = IMAGES[index - PICTURES.len() - SOUNDS.len()];
            try_picture(Format::Pdf, &scan(entries, &change(fixture(name))));
        }
    }

    #[test]
    fn noise(bytes in prop::collection::vec(any::<u8>(), 0..2000), index in 0usize..64) {
        let formats: Vec<Format> = Format::all().filter(|format| format.is_picture() || format.is_recording()).collect();
        let format = formats[index % formats.len()];
        if format.is_recording() { try_sound(format, &bytes) } else { try_picture(format, &bytes) }
    }
}
