//! Every constant of the ranking, each with its reason.
//!
//! The scale: the best lexical candidate of an index has 1.0 before the signals are added, so a weight of
//! 0.5 means "worth half of the best possible word match".

/// Candidates fetched per index: `k` times the caller's factor, and at least this many, so that the signals
/// below have something to choose from when `k` is small.
pub const MIN_CANDIDATES: usize = 50;

/// The largest pool per index. The signals read every candidate's text; beyond this they would cost more
/// than the search itself.
pub const MAX_CANDIDATES: usize = 400;

/// A query that is one identifier is answered by its definition, which a pool of its uses may crowd out.
pub const SYMBOL_POOL_FACTOR: usize = 2;

/// Share of the vector ranking in the base score. The embedder built in today hashes tokens: its vectors
/// repeat what BM25 knows, with collisions, so it may break ties and rescue misspellings, nothing more.
pub const VECTOR_SHARE: f32 = 0.1;

/// A candidate that shares no word with the query needs at least this cosine to be a hit at all; nearest
/// neighbours always exist, relevant ones do not.
pub const VECTOR_FLOOR: f32 = 0.3;

/// Stop words rank a little (they decide between "to be" and "not to be") but never against a real word.
pub const STOP_WORD: f32 = 0.1;

/// How much a repeated query word gains: `1 + ln(count)` of this, so that a long question's topic leads
/// without drowning its details.
pub const REPEATED_TERM: f32 = 0.5;

/// A part of a name (`adapter` of `HTTPAdapter`): the whole name was meant, a part finds its relatives.
pub const PART_OF_NAME: f32 = 0.5;

/// Another form of a query word (`retries` for `retry`), in the lexical ranking.
pub const VARIANT: f32 = 0.4;

/// The chunk defines a name that the query spells out.
pub const DEFINES_IDENTIFIER: f32 = 1.0;

/// The chunk defines a name made of the query's plain words (`class ConnectionPool` for "connection pool").
pub const DEFINES_WORDS: f32 = 0.75;

/// The file's own name is made of query words; people name a file after what it is about.
pub const FILE_STEM: f32 = 1.5;

/// The folders' names, which say less than the file's.
pub const FOLDERS: f32 = 0.4;

/// The file as a whole is about the query: several of its chunks are candidates.
pub const COHERENCE: f32 = 0.2;

/// The query's words stand in one chunk rather than spread over many: a chunk with all of them beats one
/// that repeats the rarest.
pub const COVERAGE: f32 = 0.1;

/// A quoted phrase stands in the chunk word for word.
pub const PHRASE: f32 = 1.0;

/// Each further chunk of a file counts this much of its score, so that one file does not fill the answer.
pub const SATURATION: f32 = 0.5;

/// A hit whose text equals a better hit's text goes below everything else: it is shown only where there is
/// room, since it says nothing new, but it is not hidden, since it is another file.
pub const COPY: f32 = 0.1;

/// Files that mention what others implement. They sink unless the query or a filter asks for them.
pub const TESTS: f32 = 0.3;
pub const EXAMPLES: f32 = 0.4;
pub const VENDORED: f32 = 0.3;
pub const GENERATED: f32 = 0.3;
/// Package fronts (`__init__.py`, `index.ts`, `mod.rs`) re-export names that are defined elsewhere.
pub const PACKAGE_FRONT: f32 = 0.6;
/// Declarations without bodies (`.d.ts`, `.pyi`).
pub const DECLARATIONS: f32 = 0.7;

/// An automatic choice of index is widened when the other index covers the query's words better by this
/// much of their weight.
pub const WIDEN_MARGIN: f32 = 0.15;

/// ... and only if it covers at least this much: one shared common word is no reason.
pub const WIDEN_FLOOR: f32 = 0.5;

/// How many of each index's best-covering candidates are compared for that; one accidental match is luck.
pub const WIDEN_SAMPLE: usize = 3;
