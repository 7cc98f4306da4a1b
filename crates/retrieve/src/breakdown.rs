//! How a score came about, part by part.

/// Every part of a score. The parts up to `phrase` are added, the factors after it multiplied.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Breakdown {
    /// BM25 relative to the best candidate of the index.
    pub lexical: f32,
    /// Cosine relative to the best candidate of the index.
    pub vector: f32,
    /// The cosine itself.
    pub cosine: f32,
    /// Share of the query's weight whose words stand in the chunk or its path.
    pub coverage: f32,
    pub defines_identifier: f32,
    pub defines_words: f32,
    pub title: f32,
    pub file_stem: f32,
    pub folders: f32,
    /// The cosine of the query with what the file is called.
    pub called: f32,
    pub coherence: f32,
    pub phrase: f32,
    /// Tests, examples and the like.
    pub place: f32,
    /// Further chunks of the same file, and copies of another hit's text.
    pub repetition: f32,
}

impl Breakdown {
    /// Each part by name, in the order of the arithmetic.
    pub fn parts(&self) -> [(&'static str, f32); 14] {
        [
            ("lexical", self.lexical),
            ("vector", self.vector),
            ("cosine", self.cosine),
            ("coverage", self.coverage),
            ("defines_identifier", self.defines_identifier),
            ("defines_words", self.defines_words),
            ("title", self.title),
            ("file_stem", self.file_stem),
            ("folders", self.folders),
            ("called", self.called),
            ("coherence", self.coherence),
            ("phrase", self.phrase),
            ("place", self.place),
            ("repetition", self.repetition),
        ]
    }
}
