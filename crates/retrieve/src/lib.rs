//! From a question to cited hits: route, candidates by words and by vector, fusion, snippets, extractive answers.
//!
//! Pure logic over one [`index::Snapshot`]: no file, no clock, no randomness. Two equal snapshots answer the
//! same question with the same bytes. Only [`QueryEmbedder`], which runs before a search, may wait for something outside.

pub mod answer;
mod breakdown;
pub mod bundle;
pub mod candidates;
pub mod caption;
pub mod cite;
pub mod code;
mod copies;
mod feedback;
pub mod fence;
pub mod files;
pub mod filter;
pub mod fuse;
mod headers;
pub mod matcher;
mod named;
pub mod operators;
pub mod parse;
pub mod place;
pub mod prescore;
mod query_vector;
mod rarity;
pub mod rerank;
pub mod route;
pub mod search;
mod signals;
pub mod snippet;
pub mod summary;
pub mod symbols;
pub mod test_file;
pub mod understand;
mod verbatim;
mod versions;
pub mod weights;
pub mod windows;

pub use answer::{
    Answer, AnswerChecker, AnswerSources, CheckedAnswer, PackedSource, answer_request, extractive_answer,
    pack,
};
pub use breakdown::Breakdown;
pub use bundle::{
    Bundle, Bundler, Deterministic, Passage, Repository, Selection, SelectionReason, Skip, Skipped, Source,
    Task,
};
pub use filter::{CompiledFilter, View};
pub use query_vector::{QueryEmbedder, QueryMakers, QueryVectors};
pub use rerank::RerankStage;
pub use route::{Routed, kinds_that_may_answer, route};
pub use search::{RankOptions, SearchAnswer, search};
pub use snippet::{Snippet, snippet};
pub use understand::{Understood, fts, understand};
pub use weights::Weights;
