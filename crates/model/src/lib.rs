//! The nouns of dir2mcp, one per file, and the ports that have more than one implementation.
//!
//! Nothing here does I/O: no file, no socket. Every other crate speaks in these types.

pub mod caller;
pub mod chunk;
pub mod citation;
pub mod clock;
pub mod document;
pub mod error_code;
pub mod facts;
pub mod failure;
pub mod filetype;
pub mod filter;
pub mod hash;
pub mod heading;
pub mod hit;
pub mod ids;
pub mod ignored;
pub mod lines;
pub mod monotonic;
pub mod outline;
pub mod path;
pub mod pointer;
pub mod ports;
pub mod price;
pub mod progress;
pub mod query;
pub mod reference;
pub mod representation;
pub mod skip;
pub mod span;
pub mod spelling;
pub mod stop;
pub mod symbol;
pub mod tenant;
pub mod unread;

pub use caller::{Caller, Identity, ProviderKey, Via};
pub use chunk::{Chunk, IndexKind};
pub use citation::Citation;
pub use clock::WallClock;
pub use document::{DocStatus, DocType, Document, SourceType};
pub use error_code::{ERROR_CODES, ErrorCode, ErrorKind, ErrorRow, Provider, ProviderFault};
pub use facts::{CommentFacts, DeclarationFacts, Fact, FileFacts, Knowledge, Parameter, TypedName};
pub use failure::Failure;
pub use filter::Filter;
pub use hash::ContentHash;
pub use heading::{Heading, Layout};
pub use hit::{Hit, Ranked};
pub use ids::{ChunkId, DocId, Generation};
pub use ignored::{IgnoreRule, Ignored};
pub use monotonic::{MonotonicClock, SystemMonotonicClock};
pub use outline::{Definition, Outline, Uses};
pub use path::{PathError, RelPath};
pub use pointer::Pointer;
pub use ports::{
    AnswerSchema, Audio, Capability, ChatAnswer, ChatMessage, ChatModel, ChatRequest, ChatRole, EmbedLimits,
    Embedder, EmbeddingProvider, LocalEmbedder, ProviderError, ProviderErrorKind, ProviderFuture, Providers,
    Purpose, RecognizeInput, RecognizeLimits, RecognizedLine, RecognizedPage, Reranker, Speaker,
    SpeechFormat, TextRecognizer, TranscribeInput, TranscribeLimits, Transcriber, Transcript,
    TranscriptSegment, Usage, UsageMeter,
};
pub use price::PriceClass;
pub use progress::{IndexMode, Progress};
pub use query::{IndexChoice, IndexUsed, Query};
pub use reference::{Import, Reference, ReferenceKind};
pub use representation::{ProducedText, RepType, Representation};
pub use skip::SkipReason;
pub use span::Span;
pub use stop::Stop;
pub use symbol::{ScopeKind, Symbol, SymbolKind};
pub use tenant::TenantId;
pub use unread::UnreadParts;
