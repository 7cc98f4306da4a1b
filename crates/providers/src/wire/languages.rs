//! Names of languages as services write them, as ISO 639-1.

/// ISO 639-1, ISO 639-3 (and 639-2 where it differs), and the English name, of languages that speech models know.
const LANGUAGES: &[(&str, &str, &str)] = &[
    ("af", "afr", "afrikaans"),
    ("ar", "ara", "arabic"),
    ("bg", "bul", "bulgarian"),
    ("bn", "ben", "bengali"),
    ("bs", "bos", "bosnian"),
    ("ca", "cat", "catalan"),
    ("cs", "ces", "czech"),
    ("cy", "cym", "welsh"),
    ("da", "dan", "danish"),
    ("de", "deu", "german"),
    ("el", "ell", "greek"),
    ("en", "eng", "english"),
    ("es", "spa", "spanish"),
    ("et", "est", "estonian"),
    ("eu", "eus", "basque"),
    ("fa", "fas", "persian"),
    ("fi", "fin", "finnish"),
    ("fr", "fra", "french"),
    ("ga", "gle", "irish"),
    ("gl", "glg", "galician"),
    ("gu", "guj", "gujarati"),
    ("he", "heb", "hebrew"),
    ("hi", "hin", "hindi"),
    ("hr", "hrv", "croatian"),
    ("hu", "hun", "hungarian"),
    ("hy", "hye", "armenian"),
    ("id", "ind", "indonesian"),
    ("is", "isl", "icelandic"),
    ("it", "ita", "italian"),
    ("ja", "jpn", "japanese"),
    ("ka", "kat", "georgian"),
    ("kk", "kaz", "kazakh"),
    ("kn", "kan", "kannada"),
    ("ko", "kor", "korean"),
    ("lt", "lit", "lithuanian"),
    ("lv", "lav", "latvian"),
    ("mk", "mkd", "macedonian"),
    ("ml", "mal", "malayalam"),
    ("mr", "mar", "marathi"),
    ("ms", "msa", "malay"),
    ("ne", "nep", "nepali"),
    ("nl", "nld", "dutch"),
    ("no", "nor", "norwegian"),
    ("pl", "pol", "polish"),
    ("pt", "por", "portuguese"),
    ("ro", "ron", "romanian"),
    ("ru", "rus", "russian"),
    ("sk", "slk", "slovak"),
    ("sl", "slv", "slovenian"),
    ("sq", "sqi", "albanian"),
    ("sr", "srp", "serbian"),
    ("sv", "swe", "swedish"),
    ("sw", "swa", "swahili"),
    ("ta", "tam", "tamil"),
    ("te", "tel", "telugu"),
    ("th", "tha", "thai"),
    ("tl", "fil", "tagalog"),
    ("tr", "tur", "turkish"),
    ("uk", "ukr", "ukrainian"),
    ("ur", "urd", "urdu"),
    ("vi", "vie", "vietnamese"),
    ("zh", "zho", "chinese"),
];

/// `en` of `eng`, `English`, `en-US` or `en`; none where it is not known.
pub(crate) fn iso_639_1(name: &str) -> Option<String> {
    let name = name.trim().to_ascii_lowercase();
    let first = name.split(['-', '_']).next().unwrap_or_default();
    if first.len() == 2 && first.chars().all(|c| c.is_ascii_lowercase()) {
        return Some(first.to_owned());
    }
    let known = LANGUAGES.iter().find(|(_, three, english)| *three == first || *english == name);
    known.map(|(two, ..)| (*two).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling() {
        for (name, expected) in [
            ("eng", Some("en")),
            ("English", Some("en")),
            ("pt-BR", Some("pt")),
            ("de", Some("de")),
            ("zho", Some("zh")),
            ("und", None),
            ("", None),
        ] {
            assert_eq!(iso_639_1(name).as_deref(), expected, "{name}");
        }
        assert!(LANGUAGES.is_sorted());
    }
}
