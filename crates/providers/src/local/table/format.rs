//! The file of the table: words, a scale per row for documents and one for queries, and rows of signed bytes.

use std::sync::LazyLock;

use super::tokenizer::TokenVocabulary;

pub(super) static FILE: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/table/dir2mcp-256.bin"));

const SHA256: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/table/SHA256"));

/// Stored beside the vectors it made: another table has another name, and the vectors are made anew.
pub(super) static NAME: LazyLock<String> = LazyLock::new(|| format!("dir2mcp-256-{}", &checksum()[..8]));

pub(super) fn checksum() -> &'static str {
    SHA256.split_whitespace().next().unwrap_or_default()
}

const MAGIC: &[u8] = b"D2MEMB01";
pub(super) const DIMENSIONS: usize = 256;

pub(super) struct Table {
    pub(super) vocabulary: TokenVocabulary,
    /// The most tokens of a text that count.
    pub(super) max_tokens: usize,
    scales: Vec<f32>,
    query_scales: Vec<f32>,
    rows: &'static [u8],
}

impl Table {
    /// Panics only if the binary was built with another file than a table, which no test lets pass.
    pub(super) fn built_in() -> Table {
        Table::read(FILE).expect("the built-in table is whole")
    }

    fn read(file: &'static [u8]) -> Option<Table> {
        let mut rest = file.strip_prefix(MAGIC)?;
        let mut number = || -> Option<usize> {
            let (bytes, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            usize::try_from(u32::from_le_bytes(*bytes)).ok()
        };
        let (words, hashed, dimensions) = (number()?, number()?, number()?);
        let (max_tokens, max_word, length) = (number()?, number()?, number()?);
        let rows = words + hashed;
        if dimensions != DIMENSIONS || hashed == 0 {
            return None;
        }
        let (names, rest) = rest.split_at_checked(length)?;
        let (scales, rest) = rest.split_at_checked(4 * rows)?;
        let (query_scales, rest) = rest.split_at_checked(4 * rows)?;
        if rest.len() != rows * DIMENSIONS {
            return None;
        }
        let names = std::str::from_utf8(names).ok()?.lines().take(words);
        let vocabulary = TokenVocabulary::new(names, hashed, max_word);
        (vocabulary.words() == words).then(|| Table {
            vocabulary,
            max_tokens,
            scales: floats(scales),
            query_scales: floats(query_scales),
            rows: rest,
        })
    }

    pub(super) fn scales(&self) -> &[f32] {
        &self.scales
    }

    pub(super) fn query_scales(&self) -> &[f32] {
        &self.query_scales
    }

    pub(super) fn row(&self, token: usize) -> &'static [u8] {
        &self.rows[token * DIMENSIONS..(token + 1) * DIMENSIONS]
    }

    pub(super) fn tokens(&self, text: &str) -> Vec<u32> {
        self.vocabulary.tokens(text, self.max_tokens)
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
