//! Every constant of the ranking, each with its reason.
//!
//! The scale: the best lexical candidate of an index has 1.0 before the signals are added, so a weight of
//! 0.5 means "worth half of the best possible word match".
//!
//! The values come from three sets of labelled questions (nDCG@10): plain questions over 13 packages of
//! Python and JavaScript, web queries for Python functions (CoSQA), and abstracts (Cranfield). Words alone
//! give 0.729, 0.368 and 0.353 there; all signals together 0.840, 0.395 and 0.357. The weights were chosen on
//! these very questions, so the last figures flatter them; differences below 0.005 are noise. Figures below
//! are those of one weight changed, in the same order of sets, from 0.836, 0.395 and 0.357.

/// Candidates fetched per index: `k` times the caller's factor, and at least this many, so that the signals
/// below have something to choose from when `k` is small.
pub const MIN_CANDIDATES: usize = 50;

/// The largest pool per index. The signals read every candidate's text; beyond this they would cost more
/// than the search itself.
pub const MAX_CANDIDATES: usize = 400;

/// A query that is one identifier is answered by its definition, which a pool of its uses may crowd out.
pub const SYMBOL_POOL_FACTOR: usize = 2;

/// Share of the vector ranking in the base score. The embedder built in today hashes tokens: its vectors
/// repeat what BM25 knows, with collisions, so it may break ties, nothing more. (0: 0.834, 0.390, 0.353;
/// 0.05: 0.836, 0.395, 0.357; 0.2: 0.832, 0.391, 0.351.)
pub const VECTOR_SHARE: f32 = 0.05;

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

/// Another form of a query word (`retries` for `retry`), in the lexical ranking. Without the forms 0.820,
/// 0.392, 0.353; at full weight 0.843, 0.348, 0.328: a rare form then outweighs the word itself.
pub const VARIANT: f32 = 0.4;

/// The chunk defines a name exactly as the query spells it, on top of [`DEFINES_WORDS`], which already counts
/// such a name. More lifts every file that happens to define a name so called (0.840 at 0.25, 0.836 at 1.0,
/// 0.834 at 2.0 on packages); none loses the difference between `Parser` and `parser`.
pub const DEFINES_IDENTIFIER: f32 = 0.25;

/// The chunk defines a name made of the query's plain words (`class ConnectionPool` for "connection pool").
/// Without it 0.008 is lost on packages and 0.024 on functions.
pub const DEFINES_WORDS: f32 = 0.75;

/// The file's own name is made of query words; people name a file after what it is about. Without it
/// 0.013 is lost on packages; 2.0 is as good; sets without telling names do not care.
pub const FILE_STEM: f32 = 1.5;

/// The folders' names, which say less than the file's.
pub const FOLDERS: f32 = 0.4;

/// The file as a whole is about the query: several of its chunks are candidates. More than this favours
/// long files (at 1.0 the three sets lose 0.013, 0.007 and 0.005).
pub const COHERENCE: f32 = 0.2;

/// The query's words stand in one chunk rather than spread over many: a chunk with all of them beats one
/// that repeats the rarest. Small, because long chunks hold many words by chance (at 1.0 the three sets lose
/// 0.013, 0.007 and 0.017).
pub const COVERAGE: f32 = 0.1;

/// A quoted phrase stands in the chunk word for word.
pub const PHRASE: f32 = 1.0;

/// Each further chunk of a file counts this much of its score, so that one file does not fill the answer.
pub const SATURATION: f32 = 0.5;

/// A hit whose text equals a better hit's text goes below everything else: it is shown only where there is
/// room, since it says nothing new, but it is not hidden, since it is another file.
pub const COPY: f32 = 0.1;

/// Files that mention what others implement. They sink unless the query or a filter asks for them. Without
/// this factor and the next ones 0.007 is lost on packages, which hold hardly any tests.
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
