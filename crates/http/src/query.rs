//! The query of a URL, taken apart.

/// Names and values of a query in their order, decoded; `None` where it cannot be read.
pub fn query_pairs(query: &str) -> Option<Vec<(String, String)>> {
    query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect()
}

/// `%2F` and `+` as URLs have them.
fn decode(text: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let ([high, low], after) = rest.split_first_chunk()?;
                bytes.push((digit(*high)? * 16 + digit(*low)?) as u8);
                rest = after;
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_strictly() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            query_pairs("path=a%2Fb+c&&from=7&bare").unwrap(),
            [pair("path", "a/b c"), pair("from", "7"), pair("bare", "")]
        );
        assert_eq!(query_pairs("").unwrap(), []);
        for bad in ["a=%zz", "a=%2", "a=%ff", "a=%+f", "%", "%e4=1"] {
            assert_eq!(query_pairs(bad), None, "{bad}");
        }
    }
}
