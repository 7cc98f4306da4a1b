//! Image files as pictures for recognition: formats, orientation, pages, and files built to hurt.

use extract::picture::{PagePicture, PictureKind, page_picture};
use extract::{Format, Limits, sniff};
use image::{DynamicImage, ExtendedColorType, ImageFormat, RgbImage, Rgba, RgbaImage};
use model::SkipReason;

use crate::build::read;
use crate::pictures::{
    HEIGHT, WIDTH, black_or_white, brightness, colour, compare, each_pixel, fixture, grey, jpeg, pixels,
};

fn coloured() -> DynamicImage {
    RgbImage::from_raw(WIDTH, HEIGHT, each_pixel(colour)).unwrap().into()
}

fn written(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn picture(bytes: &[u8], page: u32) -> Result<PagePicture, SkipReason> {
    let format = sniff("scan", bytes).expect("known by its content");
    assert!(format.is_picture() && format.media_type().is_some());
    page_picture(format, bytes, page, &Limits::default())
}

#[test]
fn every_format_gives_its_pixels() {
    for format in [ImageFormat::Png, ImageFormat::Bmp, ImageFormat::WebP, ImageFormat::Tiff] {
        let picture = picture(&written(&coloured(), format), 1).unwrap();
        assert_eq!((picture.width, picture.height, picture.kind), (WIDTH, HEIGHT, PictureKind::OwnImage));
        compare(&picture, 1, brightness);
    }
    compare(&picture(&jpeg(ExtendedColorType::Rgb8, &each_pixel(colour)), 1).unwrap(), 12, brightness);
    compare(&picture(&fixture("progressive.jpeg"), 1).unwrap(), 12, brightness);
    let greys: DynamicImage =
        image::GrayImage::from_raw(WIDTH, HEIGHT, each_pixel(|x, y| [grey(x, y)])).unwrap().into();
    for format in [ImageFormat::Png, ImageFormat::Bmp] {
        compare(&picture(&written(&greys, format), 1).unwrap(), 0, grey);
    }
    // The colours of a GIF are 256 that its writer finds near enough.
    let gif = written(&DynamicImage::ImageRgba8(greys.to_rgba8()), ImageFormat::Gif);
    compare(&picture(&gif, 1).unwrap(), 8, grey);
    compare(
        &picture(&written(&DynamicImage::ImageLuma16(greys.to_luma16()), ImageFormat::Png), 1).unwrap(),
        1,
        grey,
    );
}

#[test]
fn what_is_transparent_is_paper() {
    let ink = |x: u32, _| Rgba(if x < 50 { [0, 0, 0, 0] } else { [0, 0, 0, 255] });
    let image = DynamicImage::ImageRgba8(RgbaImage::from_fn(WIDTH, HEIGHT, ink));
    for image in [
        image.clone(),
        DynamicImage::ImageRgba16(image.to_rgba16()),
        DynamicImage::ImageLumaA8(image.to_luma_alpha8()),
    ] {
        let picture = picture(&written(&image, ImageFormat::Png), 1).unwrap();
        compare(&picture, 0, |x, _| if x < 50 { 255 } else { 0 });
    }
}

/// A JPEG with a note on how the camera was held.
fn held(orientation: u8) -> Vec<u8> {
    let plain = jpeg(ExtendedColorType::L8, &each_pixel(|x, y| [grey(x, y)]));
    let mut note = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    note.extend([orientation, 0, 0, 0, 0, 0, 0]);
    let mut bytes = plain[..2].to_vec();
    bytes.extend([0xFF, 0xE1]);
    bytes.extend((note.len() as u16 + 2).to_be_bytes());
    bytes.extend(note);
    bytes.extend(&plain[2..]);
    bytes
}

#[test]
fn cameras_that_were_held_another_way() {
    let (right, bottom) = (WIDTH - 1, HEIGHT - 1);
    let upright: [(u8, &dyn Fn(u32, u32) -> u8); 8] = [
        (1, &|x, y| grey(x, y)),
        (2, &|x, y| grey(right - x, y)),
        (3, &|x, y| grey(right - x, bottom - y)),
        (4, &|x, y| grey(x, bottom - y)),
        (5, &|x, y| grey(y, x)),
        (6, &|x, y| grey(y, bottom - x)),
        (7, &|x, y| grey(right - y, bottom - x)),
        (8, &|x, y| grey(right - y, x)),
    ];
    for (orientation, expected) in upright {
        let picture = picture(&held(orientation), 1).unwrap();
        let is_turned = orientation > 4;
        let size = if is_turned { (HEIGHT, WIDTH) } else { (WIDTH, HEIGHT) };
        assert_eq!((picture.width, picture.height), size, "{orientation}");
        compare(&picture, 6, expected);
    }
}

#[test]
fn pages_of_a_tiff() {
    let bytes = fixture("pages.tiff");
    let extraction = read("scan.tiff", &bytes);
    assert_eq!((extraction.parts, extraction.unread_pages), (4, vec![1, 2, 3, 4]));
    assert!(matches!(extraction.skip, Some(SkipReason::NoText { .. })));
    let first = picture(&bytes, 1).unwrap();
    assert_eq!((first.width, first.height), (WIDTH, HEIGHT));
    compare(&first, 0, black_or_white);
    compare(&picture(&bytes, 2).unwrap(), 1, brightness);
    // 256 colours of a palette are near enough.
    compare(&picture(&bytes, 3).unwrap(), 12, brightness);
    compare(&picture(&bytes, 4).unwrap(), 0, grey);
    for page in [0, 5, u32::MAX] {
        assert!(picture(&bytes, page).unwrap_err().to_string().contains("no page"), "{page}");
    }
    compare(&picture(&fixture("fax.tiff"), 1).unwrap(), 0, black_or_white);
    compare(&picture(&fixture("jpeg.tiff"), 1).unwrap(), 12, brightness);
}

#[test]
fn a_picture_is_one_unread_page() {
    for (name, format) in
        [("a.png", ImageFormat::Png), ("a.webp", ImageFormat::WebP), ("a.bmp", ImageFormat::Bmp)]
    {
        let extraction = read(name, &written(&coloured(), format));
        assert_eq!((extraction.parts, extraction.unread_pages.as_slice()), (1, [1].as_slice()));
        assert_eq!(extraction.skip, Some(SkipReason::NoText { format: name[2..].to_owned() }));
    }
}

/// The header of a PNG, and nothing that it promises.
fn promise(width: u32, height: u32) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let body = [kind.as_slice(), data].concat();
        let mut crc = flate2::Crc::new();
        crc.update(&body);
        [&(data.len() as u32).to_be_bytes()[..], &body, &crc.sum().to_be_bytes()].concat()
    };
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let head = [size, vec![8, 2, 0, 0, 0]].concat();
    let data = testkit::build::zlib(&[0; 64]);
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &head), chunk(b"IDAT", &data), chunk(b"IEND", &[])]
        .concat()
}

#[test]
fn bombs_are_refused_by_their_headers() {
    let refused = picture(&promise(50_000, 50_000), 1).unwrap_err().to_string();
    assert!(refused.starts_with("CONTENT_REFUSED") && refused.contains("50000 by 50000"), "{refused}");
    assert!(picture(&promise(u32::MAX, u32::MAX), 1).is_err());
    let mut gif = b"GIF89a\xFF\xFF\xFF\xFF\x00\x00\x00,\0\0\0\0\xFF\xFF\xFF\xFF\0\x02\x02D\x01\0;".to_vec();
    assert!(picture(&gif, 1).is_err());
    gif.truncate(20);
    assert!(picture(&gif, 1).is_err());
    // A JPEG of 65,500 by 65,500 pixels in three colours, which gets sharper bit by bit.
    let mut progressive = fixture("progressive.jpeg");
    let frame = progressive.windows(2).position(|marker| marker == [0xFF, 0xC2]).unwrap();
    progressive[frame + 5..frame + 9].copy_from_slice(&[0xFF, 0xDC, 0xFF, 0xDC]);
    let refused = picture(&progressive, 1).unwrap_err().to_string();
    assert!(refused.starts_with("CONTENT_REFUSED"), "{refused}");
    let limits = Limits { max_picture_bytes: 1000, ..Limits::default() };
    for format in
        [ImageFormat::Png, ImageFormat::Bmp, ImageFormat::WebP, ImageFormat::Tiff, ImageFormat::Jpeg]
    {
        let bytes = written(&coloured(), format);
        let format = sniff("x", &bytes).unwrap();
        assert!(page_picture(format, &bytes, 1, &limits).is_err(), "{format}");
    }
}

#[test]
fn large_pictures_are_made_smaller() {
    let bytes = written(&coloured(), ImageFormat::Png);
    let limits = Limits { max_picture_pixels: 2000, ..Limits::default() };
    let small = page_picture(Format::Png, &bytes, 1, &limits).unwrap();
    assert_eq!((small.width, small.height), (50, 35));
    let image = pixels(&small);
    assert!(image.get_pixel(20, 20).0[0].abs_diff(brightness(40, 40)) < 4);
}
