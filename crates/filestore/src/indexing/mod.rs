//! From a stored file to what is searched: chunks, words, vectors, and the jobs by which they follow every change.

mod backend;
mod chunker;
mod embedding;
mod faults;
mod job;
mod prepare;
mod words;
mod worker;

pub use backend::IndexBackend;
pub use chunker::{CHUNKER_VERSION, ChunkBounds, chunk_ranges, chunk_text, kind_of_path};
pub use embedding::{ChunkEmbedder, EmbedTask, JobCredentials, LocalChunkEmbedder, ProviderSecret};
pub use faults::{FaultPoint, IndexFaults, no_faults};
pub use job::{
    ChunkVector, ChunkWithoutVector, IndexJob, IndexQueue, IndexedMark, JobClaim, JobLease, JobOperation,
    LatestFile, LeasedWrite, NewChunk, NewChunks,
};
pub(crate) use prepare::hash_bytes;
pub use prepare::{chunks_of, mark_of};
pub use words::{ChunkWords, PATH_MARK, tokenizer_name};
pub use worker::{IndexObserver, IndexSettings, JobEnd, StoreIndexWorker};
