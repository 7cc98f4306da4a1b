//! How a score came about, part by part.

/// Every part of a score. The parts up to `coherence` are added; `place`, `kind` and `repetition` are factors on that sum.
/// `definition` and `verbatim` are what comes first: they are added after the factors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Breakdown {
    /// BM25 relative to the best candidate.
    pub lexical: f32,
    /// Cosine relative to the best candidate.
    pub vector: f32,
    /// The cosine itself.
    pub cosine: f32,
    /// Share of the query's weight whose words occur in the chunk or its path.
    pub coverage: f32,
    pub defines_identifier: f32,
    pub defines_words: f32,
    pub title: f32,
    pub file_stem: f32,
    pub folders: f32,
    /// The cosine of the query with the end of the path; shown as `called`.
    pub path_similarity: f32,
    pub coherence: f32,
    /// It defines a name that the query asks for.
    pub definition: f32,
    /// The query, or what it quotes, occurs in it word for word.
    pub verbatim: f32,
    /// Tests, examples and the like.
    pub place: f32,
    /// Prose beside code, or code beside prose.
    pub kind: f32,
    /// Further chunks of the same file, and copies of another hit's text.
    pub repetition: f32,
}

impl Breakdown {
    /// Each part by name, in the order of the arithmetic.
    pub fn parts(&self) -> [(&'static str, f32); 16] {
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
            ("called", self.path_similarity),
            ("coherence", self.coherence),
            ("definition", self.definition),
            ("verbatim", self.verbatim),
            ("place", self.place),
            ("kind", self.kind),
            ("repetition", self.repetition),
        ]
    }
}
