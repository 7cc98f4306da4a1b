//! The representation of everything that is text already: UTF-8 with `\n` line ends, whatever it was before.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use model::SkipReason;

/// What came out of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extracted {
    Text(TextRep),
    Skip(SkipReason),
}

/// A text whose line numbers are those that an editor shows: `\r\n`, `\r` and `\n` end a line, nothing else
/// does (no form feed, no U+2028).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRep {
    pub text: String,
    /// The encoding it was read in, by its WHATWG name.
    pub encoding: &'static str,
    /// Some bytes had no meaning in that encoding and are U+FFFD now.
    pub lossy: bool,
}

/// Reads a whole file as text. Takes the bytes to give them back: clean UTF-8 is not copied.
pub fn raw_text(mut bytes: Vec<u8>) -> Extracted {
    if let Some((encoding, body)) = utf16(&bytes) {
        let (text, lossy) = encoding.decode_without_bom_handling(body);
        let mut text = text.into_owned().into_bytes();
        unify_line_ends(&mut text);
        return decoded(String::from_utf8_lossy(&text), encoding, lossy);
    }
    if memchr::memchr(0, &bytes).is_some() {
        return Extracted::Skip(SkipReason::Binary);
    }
    let marked = bytes.starts_with(b"\xEF\xBB\xBF");
    if marked {
        bytes.drain(..3);
    }
    // Before decoding, because here it is done in place: both bytes mean the same in every encoding left.
    unify_line_ends(&mut bytes);
    match String::from_utf8(bytes) {
        Ok(text) if is_mostly_control(&text) => Extracted::Skip(SkipReason::Binary),
        Ok(text) => Extracted::Text(TextRep { text, encoding: UTF_8.name(), lossy: false }),
        Err(error) => {
            let bytes = error.into_bytes();
            let encoding = if marked || is_damaged_utf8(&bytes) { UTF_8 } else { guess(&bytes) };
            let (text, lossy) = encoding.decode_without_bom_handling(&bytes);
            decoded(text, encoding, lossy)
        }
    }
}

fn decoded(text: Cow<'_, str>, encoding: &'static Encoding, lossy: bool) -> Extracted {
    if is_garbage(&text) {
        return Extracted::Skip(SkipReason::Binary);
    }
    Extracted::Text(TextRep { text: text.into_owned(), encoding: encoding.name(), lossy })
}

/// UTF-16 and the text without its mark. Without a mark it must be evident: zeros in most of the even or most
/// of the odd places, none in the others, which is what Western text and all code look like.
fn utf16(bytes: &[u8]) -> Option<(&'static Encoding, &[u8])> {
    match bytes {
        [0xFF, 0xFE, body @ ..] => return Some((UTF_16LE, body)),
        [0xFE, 0xFF, body @ ..] => return Some((UTF_16BE, body)),
        _ => {}
    }
    let head = &bytes[..bytes.len().min(8192)];
    let zeros = |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), head.len() / 2);
    match (even, odd) {
        (0, odd) if half >= 2 && odd * 10 >= half * 7 => Some((UTF_16LE, bytes)),
        (even, 0) if half >= 2 && even * 10 >= half * 7 => Some((UTF_16BE, bytes)),
        _ => None,
    }
}

/// `\r\n` and `\r` become `\n`.
fn unify_line_ends(bytes: &mut Vec<u8>) {
    let Some(first) = memchr::memchr(b'\r', bytes) else { return };
    let mut kept = first;
    let mut at = first;
    while at < bytes.len() {
        // bytes[at] is a `\r`.
        bytes[kept] = b'\n';
        kept += 1;
        at += if bytes.get(at + 1) == Some(&b'\n') { 2 } else { 1 };
        let run = memchr::memchr(b'\r', &bytes[at..]).unwrap_or(bytes.len() - at);
        bytes.copy_within(at..at + run, kept);
        kept += run;
        at += run;
    }
    bytes.truncate(kept);
}

/// Whether invalid UTF-8 is UTF-8 all the same, but for a few bytes. Texts in other encodings hold some valid
/// sequences by chance, never four for each invalid one.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good >= 4 * bad
}

/// The likeliest of the old encodings, from the first part that is not ASCII.
fn guess(bytes: &[u8]) -> &'static Encoding {
    const ENOUGH: usize = 256 * 1024;
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    let start = first.saturating_sub(64);
    let end = bytes.len().min(start + ENOUGH);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[start..end], end == bytes.len());
    detector.guess(None, Utf8Detection::Deny)
}

/// A valid text that is one in eight control characters is no text.
fn is_mostly_control(text: &str) -> bool {
    text.bytes().filter(|byte| is_strange(*byte)).count() * 8 > text.len()
}

/// The old encodings give a meaning to almost any byte, so here less is enough: random bytes hold one control
/// character in ten, texts hold none.
fn is_garbage(text: &str) -> bool {
    let (mut strange, mut lost, mut all) = (0usize, 0usize, 0usize);
    for character in text.chars() {
        all += 1;
        match character {
            '\0' => return true,
            '\u{80}'..='\u{9F}' => strange += 1,
            char::REPLACEMENT_CHARACTER => lost += 1,
            other => strange += usize::from(u8::try_from(other).is_ok_and(is_strange)),
        }
    }
    strange * 20 > all || lost * 4 > all
}

/// Control bytes that texts do not hold. Escape stays: logs are coloured.
fn is_strange(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0B | 0x0C | 0x1B)
}

#[cfg(test)]
mod tests {
    use model::SkipReason;
    use proptest::prelude::*;

    use super::{Extracted, TextRep, raw_text};

    #[track_caller]
    fn reads(bytes: &[u8], text: &str, encoding: &str, lossy: bool) {
        match raw_text(bytes.to_vec()) {
            Extracted::Text(rep) => {
                assert_eq!((&*rep.text, rep.encoding, rep.lossy), (text, encoding, lossy))
            }
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn is_binary(bytes: &[u8]) {
        assert_eq!(raw_text(bytes.to_vec()), Extracted::Skip(SkipReason::Binary));
    }

    fn utf16le(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn d093_utf8_with_unix_line_ends() {
        reads(b"", "", "UTF-8", false);
        reads("a\nb é\n".as_bytes(), "a\nb é\n", "UTF-8", false);
        reads(b"\xEF\xBB\xBFa\r\nb", "a\nb", "UTF-8", false);
        reads(b"\r\r\n\n\r", "\n\n\n\n", "UTF-8", false);
        reads(b"a\rb\r\nc\nd\r", "a\nb\nc\nd\n", "UTF-8", false);
        reads("a\u{c}b\u{2028}c\u{85}d".as_bytes(), "a\u{c}b\u{2028}c\u{85}d", "UTF-8", false);
    }

    #[test]
    fn clean_text_is_not_copied() {
        let bytes = b"nothing to do\n".to_vec();
        let before = bytes.as_ptr();
        match raw_text(bytes) {
            Extracted::Text(TextRep { text, .. }) => assert_eq!(text.as_ptr(), before),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn utf16_with_and_without_a_mark() {
        let text = "fn main() {\r\n\tπ\r}\n";
        let wanted = "fn main() {\n\tπ\n}\n";
        reads(&[b"\xFF\xFE".to_vec(), utf16le(text)].concat(), wanted, "UTF-16LE", false);
        reads(&utf16le(text), wanted, "UTF-16LE", false);
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        reads(&[b"\xFE\xFF".to_vec(), big.clone()].concat(), wanted, "UTF-16BE", false);
        reads(&big, wanted, "UTF-16BE", false);
        reads(&[b"\xFF\xFE".to_vec(), utf16le("你好，世界。")].concat(), "你好，世界。", "UTF-16LE", false);
        // Half a character at the end.
        let mut cut = [b"\xFF\xFE".to_vec(), utf16le(&"ab".repeat(30))].concat();
        cut.pop();
        reads(&cut, &format!("{}a\u{FFFD}", "ab".repeat(29)), "UTF-16LE", true);
    }

    #[test]
    fn old_encodings() {
        reads(b"Gr\xFC\xDFe aus K\xF6ln\r\n", "Grüße aus Köln\n", "windows-1252", false);
        let (russian, ..) =
            encoding_rs::WINDOWS_1251.encode("Съешь ещё этих мягких французских булок, да выпей чаю.");
        reads(&russian, "Съешь ещё этих мягких французских булок, да выпей чаю.", "windows-1251", false);
        let japanese = "これは日本語の文章です。文字コードを判別します。";
        reads(&encoding_rs::SHIFT_JIS.encode(japanese).0, japanese, "Shift_JIS", false);
        let chinese = "这是一个用来检测编码的中文句子，应该足够长了。";
        reads(&encoding_rs::GBK.encode(chinese).0, chinese, "GBK", false);
    }

    #[test]
    fn damaged_utf8_stays_utf8() {
        let mut bytes = "Größe, Länge, Höhe, Größe\n".as_bytes().to_vec();
        bytes.push(0xFF);
        reads(&bytes, "Größe, Länge, Höhe, Größe\n\u{FFFD}", "UTF-8", true);
        // Overlong encodings are not characters.
        reads(
            "äöüß äöüß äöüß".bytes().chain([0xC0, 0xAF]).collect::<Vec<_>>().as_slice(),
            "äöüß äöüß äöüß\u{FFFD}\u{FFFD}",
            "UTF-8",
            true,
        );
    }

    #[test]
    fn binaries() {
        is_binary(b"abc\0def");
        let late = [vec![b'a'; 100_000], vec![0]].concat();
        is_binary(&late);
        is_binary(b"\x01\x02\x03\x04\x05");
        is_binary(b"\xFF\xFE\0\0a\0\0\0");
        // A compressed stream that happens to hold no zero.
        let noise: Vec<u8> = (0..2000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
        is_binary(&noise);
    }

    fn lines(bytes: &[u8]) -> usize {
        let mut count = 1;
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => {
                    at += 1;
                    count += 1;
                }
                b'\r' | b'\n' => count += 1,
                _ => {}
            }
            at += 1;
        }
        count
    }

    /// Bytes as files hold them: mostly letters and line ends, sometimes anything.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![8 => b' '..=b'~', 2 => Just(b'\r'), 2 => Just(b'\n'), 2 => 1u8..=255];
        prop::collection::vec(byte, 0..400)
    }

    proptest! {
        #[test]
        fn any_bytes_are_text_or_skipped(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Extracted::Text(rep) = raw_text(bytes) {
                prop_assert!(!rep.text.contains('\r') && !rep.text.contains('\0'));
            }
        }

        #[test]
        fn line_numbers_are_kept(bytes in bytes()) {
            let marked = matches!(bytes.as_slice(), [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
            if let Extracted::Text(rep) = raw_text(bytes.clone()) && !marked {
                prop_assert!(!rep.text.contains('\r'));
                prop_assert_eq!(rep.text.matches('\n').count() + 1, lines(&bytes));
            }
        }

        #[test]
        fn clean_utf8_comes_back_as_it_was(text in "[\\PC\n\t]{0,200}") {
            let bytes = text.clone().into_bytes();
            prop_assume!(!bytes.starts_with(b"\xEF\xBB\xBF"));
            prop_assert_eq!(
                raw_text(bytes),
                Extracted::Text(TextRep { text, encoding: "UTF-8", lossy: false })
            );
        }

        #[test]
        fn utf16_and_utf8_read_alike(text in "[a-z \r\n]{4,200}") {
            let marked = [b"\xFF\xFE".to_vec(), utf16le(&text)].concat();
            match (raw_text(marked), raw_text(text.into_bytes())) {
                (Extracted::Text(one), Extracted::Text(other)) => prop_assert_eq!(one.text, other.text),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
