//! Which characters a glyph's name means, by Adobe's list of names and the rules that extend it.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::tables;

/// The characters that a glyph's name means.
pub(super) fn glyph_text(name: &str) -> Option<Box<str>> {
    // `f_i` is two glyphs in one, `a.alt` another form of `a`.
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() {
        return None;
    }
    let mut out = String::new();
    for part in stem.split('_') {
        out.push_str(&component(part)?);
    }
    Some(out.into())
}

fn component(name: &str) -> Option<String> {
    if let Some(text) = glyphs().get(name) {
        return Some((*text).to_owned());
    }
    if let Some(digits) = name.strip_prefix("uni")
        && digits.len() >= 4
        && digits.is_ascii()
    {
        let units: Option<Vec<u16>> = digits
            .as_bytes()
            .chunks_exact(4)
            .map(|four| std::str::from_utf8(four).ok().and_then(|four| u16::from_str_radix(four, 16).ok()))
            .collect();
        return units.map(|units| String::from_utf16_lossy(&units));
    }
    if let Some(digits) = name.strip_prefix('u')
        && (4..=6).contains(&digits.len())
        && let Some(character) = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
    {
        return Some(character.to_string());
    }
    // Names that some programs make up from the code: `a65`, `C032`.
    let digits = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let code: u8 = digits.parse().ok().filter(|code| *code > 32)?;
    (name.len() - digits.len() <= 2).then(|| tables::WIN_ANSI[usize::from(code)].to_string())
}

/// The glyph list, read once.
fn glyphs() -> &'static HashMap<&'static str, &'static str> {
    static GLYPHS: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    GLYPHS.get_or_init(|| {
        let lines = include_str!("glyphs.txt").lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| {
                let (name, codes) = line.split_once(' ')?;
                let text: Option<String> = codes
                    .split(' ')
                    .map(|code| u32::from_str_radix(code, 16).ok().and_then(char::from_u32))
                    .collect();
                // A few thousand short strings for the life of the process.
                Some((name, &*Box::leak(text?.into_boxed_str())))
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::glyph_text;

    #[test]
    fn glyph_names() {
        for (name, text) in [
            ("A", Some("A")),
            ("eacute", Some("é")),
            ("f_i", Some("fi")),
            ("one.oldstyle", Some("1")),
            ("uni0041", Some("A")),
            ("u1F600", Some("😀")),
            ("a65", Some("A")),
            (".notdef", None),
            ("unheardof", None),
        ] {
            assert_eq!(glyph_text(name).as_deref(), text, "{name}");
        }
    }
}
