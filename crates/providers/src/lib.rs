//! The implementations behind the model ports: what is built in, what runs on this machine, and what is called over HTTP.

mod account;
pub mod cohere;
pub mod command;
pub mod elevenlabs;
pub mod extras;
pub mod http;
pub mod local;
pub mod meter;
pub mod mistral;
pub mod openai;
mod preferred;
mod probe;
mod reach;
mod runtime;
mod wav;
mod wire;

pub use account::ServiceAccount;
pub use preferred::PreferredTranscriber;
pub use probe::{ProviderProbe, ProviderRemedy};
pub use reach::{HostPort, ProviderReach};
pub use runtime::ProviderRuntime;
pub use wire::embeddings::EmbedModel;
