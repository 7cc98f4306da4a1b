//! What of a chunk is found by words: the tokens of its text and of its path, counted.

use std::collections::BTreeMap;

use crate::path::StorePath;

/// Recorded with every chunk; another name means that the tokens have to be made again.
pub fn tokenizer_name() -> String {
    format!("dir2mcp-{}", index::tokens::VERSION)
}

/// Tokens of paths are kept beside those of the text under this mark, which no token of a text has.
pub const PATH_MARK: char = '/';

/// The tokens of one chunk and how often each occurs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChunkWords {
    /// In the order of their bytes, those of the path first.
    pub counts: BTreeMap<String, u32>,
    /// How many tokens the text has, repetitions included; the path does not count.
    pub length: u32,
}

impl ChunkWords {
    pub fn of(path: &StorePath, text: &str) -> ChunkWords {
        let mut words = ChunkWords::default();
        index::tokens::index_tokens(text, &mut |token| {
            words.length += 1;
            match words.counts.get_mut(token) {
                Some(count) => *count += 1,
                None => {
                    words.counts.insert(token.to_owned(), 1);
                }
            }
        });
        index::tokens::index_tokens(path.as_str(), &mut |token| {
            words.counts.entry(format!("{PATH_MARK}{token}")).or_insert(1);
        });
        words
    }

    /// As the column `tokens` holds it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::Value::Object(
            self.counts.iter().map(|(token, count)| (token.clone(), (*count).into())).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_cjk_and_paths_are_counted() {
        let path = StorePath::parse("/docs/HttpClient.md").unwrap();
        let words = ChunkWords::of(&path, "parseHTTPResponse parse 你好吗");
        let count = |token: &str| words.counts.get(token).copied().unwrap_or(0);
        assert_eq!((count("parsehttpresponse"), count("parse"), count("http")), (1, 2, 1));
        assert_eq!((count("你好"), count("好吗")), (1, 1));
        assert_eq!((count("/docs"), count("/httpclient"), count("docs")), (1, 1, 0));
        assert_eq!(words.length, 7);
        assert_eq!(words.to_json()["parse"], 2);
    }
}
