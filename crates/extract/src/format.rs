//! The formats that are told apart, by content first and by name where content says nothing.

use model::filetype;
use serde::{Deserialize, Serialize};

use crate::container::{cfb, zip};

/// What a file is. `as_str` is the usual extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Pdf,
    Docx,
    Pptx,
    Xlsx,
    Xlsb,
    Xls,
    Doc,
    Ppt,
    Msg,
    Ps,
    Odt,
    Ods,
    Odp,
    Rtf,
    Epub,
    Html,
    Eml,
    Mbox,
    Csv,
    Tsv,
    Ipynb,
    Srt,
    Vtt,
    Md,
    Txt,
    Zip,
    Tar,
    TarGz,
    TarZst,
    Png,
    Jpeg,
    Gif,
    Webp,
    Bmp,
    Tiff,
    Wav,
    Mp3,
    Flac,
    /// Vorbis, Opus or FLAC in an Ogg container.
    Ogg,
    /// AAC or ALAC in an MP4 container.
    M4a,
    /// AAC without a container.
    Aac,
    Aiff,
}

/// Every format with its usual extension, which is also its name in `model::filetype`.
const NAMES: &[(Format, &str)] = &[
    (Format::Pdf, "pdf"),
    (Format::Docx, "docx"),
    (Format::Pptx, "pptx"),
    (Format::Xlsx, "xlsx"),
    (Format::Xlsb, "xlsb"),
    (Format::Xls, "xls"),
    (Format::Doc, "doc"),
    (Format::Ppt, "ppt"),
    (Format::Msg, "msg"),
    (Format::Ps, "ps"),
    (Format::Odt, "odt"),
    (Format::Ods, "ods"),
    (Format::Odp, "odp"),
    (Format::Rtf, "rtf"),
    (Format::Epub, "epub"),
    (Format::Html, "html"),
    (Format::Eml, "eml"),
    (Format::Mbox, "mbox"),
    (Format::Csv, "csv"),
    (Format::Tsv, "tsv"),
    (Format::Ipynb, "ipynb"),
    (Format::Srt, "srt"),
    (Format::Vtt, "vtt"),
    (Format::Md, "md"),
    (Format::Txt, "txt"),
    (Format::Zip, "zip"),
    (Format::Tar, "tar"),
    (Format::TarGz, "tar.gz"),
    (Format::TarZst, "tar.zst"),
    (Format::Png, "png"),
    (Format::Jpeg, "jpeg"),
    (Format::Gif, "gif"),
    (Format::Webp, "webp"),
    (Format::Bmp, "bmp"),
    (Format::Tiff, "tiff"),
    (Format::Wav, "wav"),
    (Format::Mp3, "mp3"),
    (Format::Flac, "flac"),
    (Format::Ogg, "ogg"),
    (Format::M4a, "m4a"),
    (Format::Aac, "aac"),
    (Format::Aiff, "aiff"),
];

impl Format {
    pub fn all() -> impl Iterator<Item = Format> {
        NAMES.iter().map(|(format, _)| *format)
    }

    pub fn as_str(self) -> &'static str {
        NAMES.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }

    /// What a name says.
    pub fn from_name(name: &str) -> Option<Format> {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
        // The longest extension counts: `tar.gz` and not `gz`.
        let endings = name.match_indices('.').filter(|(at, _)| *at > 0).map(|(at, _)| &name[at + 1..]);
        let known = endings.filter_map(|ending| filetype::by_extension(ending)?.format).next()?;
        NAMES.iter().find(|(_, name)| *name == known).map(|(format, _)| *format)
    }

    pub fn is_archive(self) -> bool {
        matches!(self, Format::Zip | Format::Tar | Format::TarGz | Format::TarZst)
    }

    /// Documents that are zip files inside.
    pub fn is_zipped(self) -> bool {
        use Format::{Docx, Epub, Odp, Ods, Odt, Pptx, Xlsb, Xlsx};
        matches!(self, Docx | Pptx | Xlsx | Xlsb | Odt | Ods | Odp | Epub)
    }

    /// Pictures: their text takes recognition.
    pub fn is_picture(self) -> bool {
        use Format::{Bmp, Gif, Jpeg, Png, Tiff, Webp};
        matches!(self, Png | Jpeg | Gif | Webp | Bmp | Tiff)
    }

    /// Recordings: their text takes transcription.
    pub fn is_recording(self) -> bool {
        use Format::{Aac, Aiff, Flac, M4a, Mp3, Ogg, Wav};
        matches!(self, Wav | Mp3 | Flac | Ogg | M4a | Aac | Aiff)
    }

    /// The media type of the formats that are sent to providers as they are.
    pub fn media_type(self) -> Option<&'static str> {
        Some(match self {
            Format::Pdf => "application/pdf",
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Gif => "image/gif",
            Format::Webp => "image/webp",
            Format::Bmp => "image/bmp",
            Format::Tiff => "image/tiff",
            Format::Wav => "audio/wav",
            Format::Mp3 => "audio/mpeg",
            Format::Flac => "audio/flac",
            Format::Ogg => "audio/ogg",
            Format::M4a => "audio/mp4",
            Format::Aac => "audio/aac",
            Format::Aiff => "audio/aiff",
            _ => return None,
        })
    }

    /// Whether the bytes should be parsed in a process of their own: formats with binary structure.
    pub fn is_hostile(self) -> bool {
        !self.is_text()
    }

    /// Formats without a signature: a name is all there is.
    fn is_text(self) -> bool {
        use Format::{Csv, Eml, Html, Ipynb, Mbox, Md, Srt, Tsv, Txt, Vtt};
        matches!(self, Html | Eml | Mbox | Csv | Tsv | Ipynb | Srt | Vtt | Md | Txt)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a file is: what its content says, else what its name says if the content can be that.
pub fn sniff(name: &str, bytes: &[u8]) -> Option<Format> {
    let named = Format::from_name(name);
    if let Some(found) = by_content(bytes) {
        // A web page, an old Excel table or a letter may begin with blanks; a compressed tar is known when unpacked.
        return Some(found);
    }
    match named {
        Some(format) if format.is_text() => Some(format),
        // Some programs write pages of HTML and call them .doc or .xls.
        Some(Format::Doc | Format::Xls) if looks_like_html(bytes) => Some(Format::Html),
        // A program that someone wrote in PostScript is text; a printed document says that it is one.
        Some(Format::Ps) => None,
        // Old tar files have no signature, and a PDF may begin with anything.
        Some(format @ (Format::Tar | Format::Pdf)) => Some(format),
        // A damaged file is still what it is called, so that the reason names it.
        other => other,
    }
}

fn by_content(bytes: &[u8]) -> Option<Format> {
    let head = &bytes[..bytes.len().min(1024)];
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Some(zip::sniff(bytes));
    }
    if bytes.starts_with(cfb::SIGNATURE) {
        return cfb::sniff(bytes);
    }
    if memchr::memmem::find(head, b"%PDF-").is_some_and(|at| at == 0 || !is_text(&head[..at])) {
        return Some(Format::Pdf);
    }
    // A document that was printed, also with a preview for DOS before it or the end of the last job.
    if bytes.starts_with(b"%!PS-Adobe")
        || bytes.starts_with(b"\x04%!PS")
        || bytes.starts_with(b"\xC5\xD0\xD3\xC6")
    {
        return Some(Format::Ps);
    }
    if bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Some(Format::Rtf);
    }
    if bytes.starts_with(b"\x1F\x8B") {
        return Some(Format::TarGz);
    }
    if bytes.starts_with(b"\x28\xB5\x2F\xFD") {
        return Some(Format::TarZst);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(Format::Tar);
    }
    picture(bytes).or_else(|| recording(bytes))
}

fn picture(bytes: &[u8]) -> Option<Format> {
    const SIGNATURES: &[(&[u8], Format)] = &[
        (b"\x89PNG\r\n\x1a\n", Format::Png),
        (b"\xFF\xD8\xFF", Format::Jpeg),
        (b"GIF87a", Format::Gif),
        (b"GIF89a", Format::Gif),
        (b"II*\0", Format::Tiff),
        (b"MM\0*", Format::Tiff),
        (b"II+\0", Format::Tiff),
        (b"MM\0+", Format::Tiff),
    ];
    if let Some((_, format)) = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature)) {
        return Some(*format);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some(Format::Webp);
    }
    // Two letters are too little: the size of the header is in the file, too.
    let header = bytes.get(14..18).map(|size| u32::from_le_bytes([size[0], size[1], size[2], size[3]]));
    (bytes.starts_with(b"BM") && matches!(header, Some(12 | 40 | 52 | 56 | 64 | 108 | 124)))
        .then_some(Format::Bmp)
}

fn recording(bytes: &[u8]) -> Option<Format> {
    let inner = bytes.get(8..12).unwrap_or_default();
    match bytes.get(..4)? {
        b"RIFF" | b"RF64" if inner == b"WAVE" => Some(Format::Wav),
        b"FORM" if inner == b"AIFF" || inner == b"AIFC" => Some(Format::Aiff),
        b"fLaC" => Some(Format::Flac),
        b"OggS" if bytes.get(4) == Some(&0) => Some(Format::Ogg),
        [b'I', b'D', b'3', 2..=4] => Some(Format::Mp3),
        _ if bytes.get(4..8) == Some(b"ftyp") && (inner.starts_with(b"M4A") || inner.starts_with(b"M4B")) => {
            Some(Format::M4a)
        }
        _ => mpeg_frames(bytes),
    }
}

/// MPEG audio without a container: two frames, the second where the first says that it ends.
fn mpeg_frames(bytes: &[u8]) -> Option<Format> {
    let [0xFF, second, third, fourth, ..] = *bytes else { return None };
    let (format, length) = match second & 0xF6 {
        // AAC: the length of the frame is in its header.
        0xF0 => {
            let fifth = bytes.get(4..6)?;
            let length =
                usize::from(fourth & 3) << 11 | usize::from(fifth[0]) << 3 | usize::from(fifth[1] >> 5);
            (Format::Aac, length)
        }
        // Layer III of MPEG-1, 2 or 2.5.
        0xF2 | 0xE2 => {
            const FIRST: [usize; 16] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0];
            const SECOND: [usize; 16] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0];
            let version = second >> 3 & 3;
            let index = usize::from(third >> 4);
            let rate = *[44_100, 48_000, 32_000].get(usize::from(third >> 2 & 3))?;
            let (rate, kilobits, samples) = match version {
                3 => (rate, FIRST[index], 144),
                2 => (rate / 2, SECOND[index], 72),
                0 => (rate / 4, SECOND[index], 72),
                _ => return None,
            };
            let padding = usize::from(third >> 1 & 1);
            (Format::Mp3, (kilobits > 0).then_some(samples * kilobits * 1000 / rate + padding)?)
        }
        _ => return None,
    };
    let next = bytes.get(length..length + 2).filter(|_| length > 6)?;
    (next[0] == 0xFF && next[1] & 0xF6 == second & 0xF6).then_some(format)
}

fn is_text(head: &[u8]) -> bool {
    !head.is_empty() && head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_ascii_lowercase();
    ["<html", "<!doctype html", "<table", "<body"].iter().any(|tag| head.contains(tag))
}

#[cfg(test)]
mod tests {
    use super::{Format, sniff};

    #[test]
    fn names() {
        assert_eq!(Format::from_name("a/b.TAR.GZ"), Some(Format::TarGz));
        assert_eq!(Format::from_name("x.docx"), Some(Format::Docx));
        assert_eq!(Format::from_name(".docx"), None);
        assert_eq!(Format::from_name("docx"), None);
        for format in Format::all() {
            assert_eq!(Format::from_name(&format!("x.{format}")), Some(format));
        }
    }

    #[test]
    fn names_have_the_recorded_formats() {
        let recorded = include_str!("../../model/tests/file_kinds.tsv");
        for line in recorded.lines().filter(|line| !line.starts_with("lang:")) {
            let mut columns = line.split('\t');
            let (name, expected) = (columns.next().unwrap(), columns.nth(2).unwrap());
            assert_eq!(Format::from_name(name).map_or("-", Format::as_str), expected, "{name}");
        }
    }

    #[test]
    fn content_outranks_names() {
        assert_eq!(sniff("a.docx", b"%PDF-1.4\n"), Some(Format::Pdf));
        assert_eq!(sniff("a.doc", b"{\\rtf1 x}"), Some(Format::Rtf));
        assert_eq!(sniff("a.xls", b"<html><table>"), Some(Format::Html));
        assert_eq!(sniff("a.md", b"See %PDF-1.4 for more."), Some(Format::Md));
        assert_eq!(sniff("a.pdf", b"\n\n%PDF-1.4"), Some(Format::Pdf));
        assert_eq!(sniff("a.docx", b"nothing of the sort"), Some(Format::Docx));
        assert_eq!(sniff("a.bin", b"nothing of the sort"), None);
        assert_eq!(sniff("a.txt", b"\x89PNG\r\n\x1a\n"), Some(Format::Png));
        assert_eq!(sniff("a.png", b"RIFF\0\0\0\0WEBPVP8 "), Some(Format::Webp));
        assert_eq!(sniff("a.ogg", b"fLaC"), Some(Format::Flac));
        assert_eq!(sniff("notes", b"BM: the initials of the author"), None);
        assert_eq!(sniff("notes", b"FORM 1099 is due"), None);
    }

    #[test]
    fn frames_without_a_container() {
        // 128 kbit/s at 44,100 Hz: frames of 417 bytes, or 418 with padding.
        let mut mp3 = vec![0; 1000];
        mp3[..4].copy_from_slice(b"\xFF\xFB\x90\x00");
        assert_eq!(sniff("a", &mp3), None, "one frame may be chance");
        mp3[417..419].copy_from_slice(b"\xFF\xFB");
        assert_eq!(sniff("a", &mp3), Some(Format::Mp3));
        mp3[2] |= 2;
        assert_eq!(sniff("a", &mp3), None);
        let mut aac = vec![0; 100];
        aac[..6].copy_from_slice(&[0xFF, 0xF1, 0x50, 0x80, 50 >> 3, (50 & 7) << 5]);
        aac[50..52].copy_from_slice(b"\xFF\xF1");
        assert_eq!(sniff("a", &aac), Some(Format::Aac));
        for bytes in [&mp3, &aac] {
            for end in 0..bytes.len() {
                let _ = sniff("a", &bytes[..end]);
            }
        }
    }
}
