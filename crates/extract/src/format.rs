//! The formats that are told apart, by content first and by name where content says nothing.

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
}

/// Name, extensions; the first extension is the usual one.
const NAMES: &[(Format, &[&str])] = &[
    (Format::Pdf, &["pdf"]),
    (Format::Docx, &["docx", "docm", "dotx", "dotm"]),
    (Format::Pptx, &["pptx", "pptm", "ppsx", "ppsm", "potx", "potm"]),
    (Format::Xlsx, &["xlsx", "xlsm", "xltx", "xltm"]),
    (Format::Xlsb, &["xlsb"]),
    (Format::Xls, &["xls", "xlt"]),
    (Format::Doc, &["doc", "dot"]),
    (Format::Ppt, &["ppt", "pps", "pot"]),
    (Format::Msg, &["msg"]),
    (Format::Ps, &["ps", "eps"]),
    (Format::Odt, &["odt", "ott"]),
    (Format::Ods, &["ods", "ots"]),
    (Format::Odp, &["odp", "otp"]),
    (Format::Rtf, &["rtf"]),
    (Format::Epub, &["epub"]),
    (Format::Html, &["html", "htm", "xhtml", "xht"]),
    (Format::Eml, &["eml"]),
    (Format::Mbox, &["mbox"]),
    (Format::Csv, &["csv"]),
    (Format::Tsv, &["tsv", "tab"]),
    (Format::Ipynb, &["ipynb"]),
    (Format::Srt, &["srt"]),
    (Format::Vtt, &["vtt"]),
    (Format::Md, &["md", "markdown", "mdown", "mkd", "mdx"]),
    (Format::Txt, &["txt", "text", "log"]),
    (Format::Zip, &["zip"]),
    (Format::Tar, &["tar"]),
    (Format::TarGz, &["tar.gz", "tgz"]),
    (Format::TarZst, &["tar.zst", "tzst"]),
];

impl Format {
    pub fn all() -> impl Iterator<Item = Format> {
        NAMES.iter().map(|(format, _)| *format)
    }

    pub fn as_str(self) -> &'static str {
        self.extensions().first().copied().unwrap_or_default()
    }

    pub fn extensions(self) -> &'static [&'static str] {
        NAMES.iter().find(|(format, _)| *format == self).map_or(&[], |(_, extensions)| extensions)
    }

    /// What a name says.
    pub fn from_name(name: &str) -> Option<Format> {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
        let matches = |extension: &&str| {
            name.strip_suffix(extension).is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
        };
        NAMES.iter().find(|(_, all)| all.iter().any(&matches)).map(|(format, _)| *format)
    }

    pub fn is_archive(self) -> bool {
        matches!(self, Format::Zip | Format::Tar | Format::TarGz | Format::TarZst)
    }

    /// Documents that are zip files inside.
    pub fn is_zipped(self) -> bool {
        use Format::{Docx, Epub, Odp, Ods, Odt, Pptx, Xlsb, Xlsx};
        matches!(self, Docx | Pptx | Xlsx | Xlsb | Odt | Ods | Odp | Epub)
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
    (bytes.get(257..262) == Some(b"ustar")).then_some(Format::Tar)
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
    }
}
