//! Models of extras, run by `rten` in child processes of this program: giving up on a request is ending the child, its memory
//! goes back to the system, and whatever a model does with a strange input, the server goes on.

mod child;
mod files;
mod messages;
mod pictures;
mod process;
mod rerank;
mod run;
mod whisper;

pub use child::ModelChild;
pub use pictures::PictureModel;
pub use process::ModelPrograms;
pub use rerank::PassageModel;
pub use whisper::SpeechModel;
