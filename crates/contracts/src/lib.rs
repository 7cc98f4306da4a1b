//! The tool contracts: one folder per specification, one file per tool, one registry for them all.
//!
//! A tool is data and one function. MCP, the HTTP API, the command line and the tests call the same registry.

mod arguments;
mod audit;
mod contract;
pub mod dir2mcp;
mod error_codes;
pub mod files;
mod instructions;
mod registry;
pub mod repo;
pub mod service;
pub mod smart;
mod text;
mod tool;
mod way_out;

pub use contract::{Contract, Services};
pub use error_codes::error_codes_markdown;
pub use registry::{Registry, RegistryError, ToolNames};
pub use service::{CallContext, CallRefused, ProgressSink, SpokenContent, ToolInfo, ToolResult, ToolService};
pub use text::failure_sentence;
