//! The built-in embedder: words hashed into a fixed number of signed dimensions.
//!
//! It knows no meaning: two texts are near when they share words. It is deterministic, needs no data and
//! embeds hundreds of megabytes per second, so the vector path is exercised at full size on every machine.

use model::{EmbedError, Embedder, IndexKind};

const DIMENSIONS: usize = 256;
const MODEL: &str = "builtin-hashing-256";

#[derive(Debug, Default, Clone, Copy)]
pub struct HashingEmbedder;

impl Embedder for HashingEmbedder {
    fn model(&self, _kind: IndexKind) -> &str {
        MODEL
    }

    fn dimensions(&self, _kind: IndexKind) -> usize {
        DIMENSIONS
    }

    fn embed(&self, _kind: IndexKind, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| embed(text)).collect())
    }

    fn is_costly(&self) -> bool {
        false
    }
}

fn embed(text: &str) -> Vec<f32> {
    let mut counts = [0f32; DIMENSIONS];
    let mut hash = Fnv::new();
    let mut length = 0u32;
    let mut previous_lower = false;
    let mut flush = |hash: &mut Fnv, length: &mut u32| {
        // One-letter words say nothing and are half of all code.
        if *length > 1 {
            let value = hash.finish();
            counts[(value % DIMENSIONS as u64) as usize] += if value >> 63 == 0 { 1.0 } else { -1.0 };
        }
        *hash = Fnv::new();
        *length = 0;
    };
    for character in text.chars() {
        if !character.is_alphanumeric() {
            flush(&mut hash, &mut length);
            previous_lower = false;
            continue;
        }
        let upper = character.is_uppercase();
        if upper && previous_lower {
            flush(&mut hash, &mut length);
        }
        previous_lower = !upper;
        for lower in character.to_lowercase() {
            hash.write(lower as u32);
        }
        length += 1;
    }
    flush(&mut hash, &mut length);
    normalise(counts)
}

/// Damps frequent words (signed square root) and scales to unit length; an empty text stays zero.
fn normalise(counts: [f32; DIMENSIONS]) -> Vec<f32> {
    let mut vector: Vec<f32> = counts.iter().map(|count| count.abs().sqrt().copysign(*count)).collect();
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|x| *x /= norm);
    }
    vector
}

/// FNV-1a over code points with a final mix, written out because the result is part of the index format.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn write(&mut self, value: u32) {
        self.0 = (self.0 ^ u64::from(value)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn finish(&self) -> u64 {
        let mut x = self.0;
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^ (x >> 33)
    }
}

#[cfg(test)]
mod tests {
    use super::embed;

    fn cosine(a: &str, b: &str) -> f32 {
        embed(a).iter().zip(embed(b)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn shared_words_are_near_and_case_is_not_seen() {
        let near = cosine("open the socket and read bytes", "read bytes from the open socket");
        let far = cosine("open the socket and read bytes", "paint seven blue horses tomorrow");
        assert!(near > 0.8 && far < 0.4, "near {near}, far {far}");
        assert!((cosine("parseHttpHeader", "parse http header") - 1.0).abs() < 1e-6);
    }

    #[test]
    fn an_empty_text_is_the_zero_vector() {
        assert!(embed(" -- ").iter().all(|x| *x == 0.0));
    }
}
