//! Formats that are recognised and not read: the binary ones of old Office, and PostScript.

use model::SkipReason;

use crate::container::cfb::Cfb;
use crate::format::Format;
use crate::sink::{Halt, Outcome, Sink, encrypted};

pub(super) fn refuse(bytes: &[u8], sink: &mut Sink) -> Outcome {
    if let Ok(file) = Cfb::open(bytes, &sink.meter)
        && file.has("EncryptedPackage")
    {
        return Err(encrypted(sink.format));
    }
    let hint = match sink.format {
        Format::Doc => "save it as .docx, or run `soffice --headless --convert-to docx` on it",
        Format::Ppt => "save it as .pptx, or run `soffice --headless --convert-to pptx` on it",
        Format::Xlsb => "save it as .xlsx, or run `soffice --headless --convert-to xlsx` on it",
        Format::Ps => "convert it to PDF, for instance by `ps2pdf`",
        _ => "save it as .eml from the mail program",
    };
    Err(Halt::Skip(SkipReason::OldFormat { format: sink.format.to_string(), hint: hint.to_owned() }))
}
