//! What the child that reads hostile files can still do behind its walls.

use std::ops::ControlFlow;

use engine::{DocumentProcesses, DocumentReader};
use extract::Format;
use extract::picture::PictureKind;
use testkit::build::{pdf, stream, text_pages};

/// The walls around the child leave room for every library that decodes pictures and recordings.
#[test]
fn the_reading_child_takes_pictures_and_hears() {
    let reader = DocumentProcesses::new(super::BINARY.into(), vec!["read-documents".into()]);
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../extract/tests/fixtures");
    let fixture = |name: &str| std::fs::read(fixtures.join(name)).unwrap();
    for (name, format, pages) in [
        ("pages.tiff", Format::Tiff, 4),
        ("fax.tiff", Format::Tiff, 1),
        ("jpeg.tiff", Format::Tiff, 1),
        ("progressive.jpeg", Format::Jpeg, 1),
    ] {
        let mut seen = Vec::new();
        let wanted: Vec<u32> = (1..=pages).collect();
        reader.page_pictures(format, &fixture(name), &wanted, &mut |page, picture| {
            let picture = picture.unwrap_or_else(|reason| panic!("{name}: page {page}: {reason}"));
            assert_eq!(picture.kind, PictureKind::OwnImage);
            seen.push(page);
            ControlFlow::Continue(())
        });
        assert_eq!(seen, wanted, "{name}");
    }
    let drawn = reader.page_picture(Format::Pdf, &text_pages(&["The quokka smiles."]), 1).unwrap();
    assert_eq!(drawn.kind, PictureKind::Rendered);
    for (coding, data) in [("/JBIG2Decode", "page.jbig2"), ("/JPXDecode", "grey.jp2")] {
        let entries = "/Subtype/Image/Width 101/Height 70/ColorSpace/DeviceGray/BitsPerComponent 1/Filter";
        let image = stream(&format!("{entries}{coding}"), &fixture(data));
        let content = stream("", b"101 0 0 70 0 0 cm /I Do");
        let scan = pdf(
            &[
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 101 70]/Resources<</XObject<</I 5 0 R>>>>>>",
                b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>",
                &content,
                &image,
            ],
            "",
        );
        let picture = reader.page_picture(Format::Pdf, &scan, 1).unwrap();
        assert_eq!(
            (picture.width, picture.height, picture.kind),
            (101, 70, PictureKind::OwnImage),
            "{coding}"
        );
    }
    for (name, format) in [
        ("tone.mp3", Format::Mp3),
        ("tone.flac", Format::Flac),
        ("tone.ogg", Format::Ogg),
        ("tone.m4a", Format::M4a),
        ("tone.alac.m4a", Format::M4a),
        ("tone.aac", Format::Aac),
        ("tone.aiff", Format::Aiff),
    ] {
        let mut heard = 0;
        let mut visit = |samples: &[f32]| {
            heard += samples.len() as u64;
            ControlFlow::Continue(())
        };
        let info = reader.samples(format, name, &fixture(name), &mut visit).unwrap().unwrap();
        assert_eq!(info.duration_ms, Some(heard * 1000 / 16_000), "{name}");
        assert!(heard > 4_000 && reader.recording(format, name, &fixture(name)).unwrap().decodable, "{name}");
    }
    // A file that its process does not survive costs no other one.
    let broken = reader.page_picture(Format::Tiff, &fixture("pages.tiff")[..300], 1);
    assert!(broken.is_err());
    assert!(reader.page_picture(Format::Tiff, &fixture("fax.tiff"), 1).is_ok());
}
