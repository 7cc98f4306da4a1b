//! How much weight a word gets for being rare.

/// The weight of a word that `holders` of `all` texts hold: the logarithm of the odds against it, as in BM25. The lexical
/// index computes the same in double precision.
pub(crate) fn rarity(all: f32, holders: f32) -> f32 {
    (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::rarity;

    #[test]
    fn rare_words_weigh_more() {
        assert!(rarity(100.0, 1.0) > rarity(100.0, 50.0));
        assert!(rarity(100.0, 100.0) > 0.0, "a word of every text is still a word");
    }
}
