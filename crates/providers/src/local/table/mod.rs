//! The built-in embedder: one row of a trained table per token, added up.
//!
//! `models/README.md` specifies the tokenizer, the arithmetic and the file; `models/table/golden.json` holds what the
//! training code makes of some texts, and a test compares.

mod format;
mod tokenizer;

use std::sync::OnceLock;

use model::{IndexKind, LocalEmbedder};

use format::{DIMENSIONS, Table};

/// The table that the binary carries. It is read at its first use: a server that is asked nothing pays nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct TableEmbedder;

impl LocalEmbedder for TableEmbedder {
    fn model(&self, _kind: IndexKind) -> &str {
        &format::NAME
    }

    fn dimensions(&self, _kind: IndexKind) -> usize {
        DIMENSIONS
    }

    fn embed(&self, _kind: IndexKind, texts: &[&str]) -> Vec<Vec<f32>> {
        let table = table();
        texts.iter().map(|text| table.embed(text, table.scales())).collect()
    }

    fn embed_query(&self, _kind: IndexKind, text: &str) -> Vec<f32> {
        let table = table();
        table.embed(text, table.query_scales())
    }
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(Table::built_in)
}

impl Table {
    /// The sum of the tokens' rows, each weighted by its scale and by how often it occurs, at unit length. A text
    /// without tokens is the zero vector.
    fn embed(&self, text: &str, scales: &[f32]) -> Vec<f32> {
        let mut tokens = self.tokens(text);
        // In the order of the rows: floats are added in one order, whatever the text's.
        tokens.sort_unstable();
        let mut sum = [0f32; DIMENSIONS];
        for same in tokens.chunk_by(|one, other| one == other) {
            let token = same[0] as usize;
            let weight = damped(same.len()) * scales[token];
            for (sum, value) in sum.iter_mut().zip(self.row(token)) {
                *sum += weight * f32::from(*value as i8);
            }
        }
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|value| *value /= length);
        }
        sum.to_vec()
    }
}

/// How much a token counts that occurs so often.
fn damped(count: usize) -> f32 {
    if count == 1 { 1.0 } else { 1.0 + (count as f32).ln() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::Digest;

    use super::*;

    #[derive(serde::Deserialize)]
    struct Golden {
        text: String,
        tokens: Vec<u32>,
        document: Vec<f32>,
        query: Vec<f32>,
    }

    fn golden() -> Vec<Golden> {
        serde_json::from_str(include_str!("../../../../../models/table/golden.json")).unwrap()
    }

    fn cosine(one: &str, other: &str) -> f32 {
        let embedder = TableEmbedder;
        let query = embedder.embed_query(IndexKind::Code, one);
        let document = embedder.embed(IndexKind::Code, &[other]).remove(0);
        query.iter().zip(document).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn tokens_are_those_of_the_training_code() {
        for each in golden() {
            assert_eq!(table().tokens(&each.text), each.tokens, "{:?}", each.text);
        }
    }

    #[test]
    fn vectors_are_those_of_the_training_code() {
        let embedder = TableEmbedder;
        for each in golden() {
            let document = embedder.embed(IndexKind::Text, &[&each.text]).remove(0);
            let query = embedder.embed_query(IndexKind::Text, &each.text);
            for (ours, theirs) in [(document, each.document), (query, each.query)] {
                let worst = ours.iter().zip(&theirs).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
                assert!(worst < 1e-3, "{worst} off for {:?}", each.text);
            }
        }
    }

    #[test]
    fn the_name_is_that_of_the_file() {
        let sum: String =
            sha2::Sha256::digest(format::FILE).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(format::checksum(), sum);
        assert_eq!(TableEmbedder.model(IndexKind::Text), format!("dir2mcp-256-{}", &sum[..8]));
    }

    #[test]
    fn what_means_the_same_is_near() {
        let question = "how to read a file line by line";
        let near = cosine(question, "def iter_lines(path):\n    with open(path) as f:\n        yield from f");
        let far = cosine(question, "class Invoice(Model):\n    total = DecimalField(max_digits=10)");
        assert!(near > far + 0.1, "near {near}, far {far}");
    }

    proptest! {
        #[test]
        fn any_text_has_a_vector_of_unit_length_or_none(text in "(\\PC|[a-zA-Z]{1,60}|[\\x00-\\x7f]|\\s){0,40}") {
            let vector = TableEmbedder.embed(IndexKind::Text, &[&text]).remove(0);
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-4, "{length}");
        }
    }
}
