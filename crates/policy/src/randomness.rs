//! Does a text look as if a machine had drawn it, or as if a person had named it?

/// Letters that often follow `a`, `b`, `c` … in words: the pairs that make up 90 % of the words in the
/// sources and documentation of thirty packages (Python, Rust, JavaScript, TypeScript), each word
/// weighted by the logarithm of its count. A third of all pairs, so drawn letters score about a third.
#[rustfmt::skip]
const FOLLOWERS: [&str; 26] = [
    "bcdgiklmnprstuvy", "aeilorsu", "acehiklorstu", "adeiorsu", "abcdefgilmnopqrstvwx", "aefiloru",
    "aehinors", "aeiot", "abcdefglmnoprstvz", "", "eis", "adeilostuy", "abeimopsu", "acdefgiklnostuv",
    "abcdfgiklmnoprstuvw", "aehiloprstu", "u", "acdegiklmnorstuy", "acehilopstu", "acefhilmoprstuy",
    "abceilmnprst", "aei", "aei", "pt", "p", "e",
];

const COMMON_PAIRS: [u32; 26] = {
    let mut masks = [0u32; 26];
    let mut first = 0;
    while first < 26 {
        let followers = FOLLOWERS[first].as_bytes();
        let mut index = 0;
        while index < followers.len() {
            masks[first] |= 1 << (followers[index] - b'a');
            index += 1;
        }
        first += 1;
    }
    masks
};

/// Made of words, as an identifier, a path or a phrase is.
pub(crate) fn is_wordy(value: &[u8]) -> bool {
    let letters_only = value.iter().all(u8::is_ascii_alphabetic);
    // `KdjWbqZrTv`: the case of drawn letters rises every other letter, that of a name rarely.
    if letters_only && runs(value).count() * 3 > value.len() {
        return false;
    }
    let segment_is_name =
        |segment: &[u8]| segment.iter().all(u8::is_ascii_digit) || word_share(segment) >= 0.6;
    // `0002_auto_20160226`: numbers between words.
    let dated = || !letters_only && value.split(|byte| !byte.is_ascii_alphanumeric()).all(segment_is_name);
    word_share(value) >= 0.6 || dated()
}

/// The share of a value's letters and digits that belong to words. Words are runs of at least three
/// letters, cut where the case rises (`nextToken`), most of whose pairs of letters are common.
///
/// Names of things score above 0.6, whatever their style: `self.next_token`, `AbstractTokenFactory`,
/// `django_tests_secret_key`. Of drawn values, at most a few in a hundred do (see the tests).
pub(crate) fn word_share(value: &[u8]) -> f32 {
    let solid = value.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    let in_words: usize = runs(value).filter(|run| is_word(run)).map(<[u8]>::len).sum();
    if solid == 0 { 0.0 } else { in_words as f32 / solid as f32 }
}

/// Shannon entropy of the bytes, in bits per byte.
pub(crate) fn entropy(value: &[u8]) -> f32 {
    let mut counts = [0u32; 256];
    for &byte in value {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len() as f32;
    let share = |count: u32| count as f32 / total;
    counts.iter().filter(|&&count| count > 0).map(|&count| -share(count) * share(count).log2()).sum()
}

pub(crate) fn is_hex(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_hexdigit)
}

/// How many of lower case, upper case, digits and signs occur; what joins words is no sign.
pub(crate) fn classes(value: &[u8]) -> usize {
    let lower = value.iter().any(u8::is_ascii_lowercase);
    let upper = value.iter().any(u8::is_ascii_uppercase);
    let digit = value.iter().any(u8::is_ascii_digit);
    let other = value.iter().any(|byte| !byte.is_ascii_alphanumeric() && !b"-_.".contains(byte));
    [lower, upper, digit, other].into_iter().filter(|&present| present).count()
}

pub(crate) fn mixes_digits_and_letters(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Cuts a value into runs of letters: at everything that is no letter, and before a capital that follows
/// a small letter or starts a capitalised word (`HTTPServer`).
fn runs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let start = rest.iter().position(u8::is_ascii_alphabetic)?;
        rest = &rest[start..];
        let letters = rest.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
        let rises = |&at: &usize| {
            let small_next = rest.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            rest[at].is_ascii_uppercase() && (rest[at - 1].is_ascii_lowercase() || small_next)
        };
        let end = (1..letters).find(rises).unwrap_or(letters);
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

fn is_word(run: &[u8]) -> bool {
    if run.len() < 3 {
        return false;
    }
    let letter = |byte: u8| usize::from(byte.to_ascii_lowercase() - b'a');
    let common =
        run.windows(2).filter(|pair| COMMON_PAIRS[letter(pair[0])] & (1 << letter(pair[1])) != 0).count();
    let pairs = run.len() - 1;
    // The longer the run, the surer the verdict, and the rarer a real word that is one piece.
    let percent = match pairs {
        0..8 => 50,
        8..15 => 62,
        _ => 75,
    };
    common * 100 >= pairs * percent
}

/// A fixed sequence of drawn values, for the tests of the rules.
#[cfg(test)]
pub(crate) fn drawn(alphabet: &[u8], length: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    std::iter::repeat_with(move || {
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            alphabet[(state >> 33) as usize % alphabet.len()]
        };
        (0..length).map(|_| draw()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_wordy() {
        for name in [
            "self.next_token",
            "params.get_token_value",
            "AbstractTokenStreamFactory",
            "NVPTX_BUILTIN_LDG_V4I32",
            "django_tests_secret_key",
            "tokenizer.convert_ids_to_tokens",
            "csrfmiddlewaretoken",
            "HTTPServerRequestHandler",
            "oauth2_client_credentials_v2",
        ] {
            assert!(is_wordy(name.as_bytes()), "{name} {}", word_share(name.as_bytes()));
        }
    }

    #[test]
    fn drawn_values_are_not() {
        let base62 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        for (alphabet, length, at_most) in [
            (&base62[..], 20, 25),
            (base62, 40, 2),
            (&base62[..52], 25, 40),
            (&base62[26..52], 25, 6),
            (&base62[26..], 25, 25),
            (b"0123456789abcdef", 32, 1),
        ] {
            let wordy = drawn(alphabet, length).take(1000).filter(|value| is_wordy(value)).count();
            assert!(wordy <= at_most, "{wordy} of 1000 drawn from {} letters at {length}", alphabet.len());
        }
        for value in
            ["AAAAAAAAAAAAAAAAAAAAAAAAA", "abcdefghijklmnopqrstuvwxyz", "abc.def_ghi-jklmnopqrstuvwxyz123456"]
        {
            assert!(!is_wordy(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn odd_values() {
        assert_eq!(word_share(b""), 0.0);
        assert_eq!(word_share("--_ü".as_bytes()), 0.0);
        assert_eq!(entropy(b"aaaa"), 0.0);
        assert_eq!(entropy(b"abcd"), 2.0);
        let cut: Vec<_> =
            runs(b"HTTPServer_nextToken2Be").map(|run| String::from_utf8_lossy(run).into_owned()).collect();
        assert_eq!(cut, ["HTTP", "Server", "next", "Token", "Be"]);
    }
}
