//! The tool contracts: one folder per specification, one file per tool, one registry for them all.
//!
//! A tool is data and one function. MCP, the HTTP API, the command line and the tests call the same registry.

mod arguments;
pub mod dir2mcp;
mod error_codes;
mod instructions;
mod registry;
pub mod repo;
pub mod service;
pub mod smart;
mod text;
mod tool;
mod way_out;

pub use error_codes::error_codes_markdown;
pub use registry::{Contract, Registry, RegistryError, Rooms, ToolNames};
pub use service::{CallContext, ProgressSink, ToolInfo, ToolResult, ToolService, UnknownTool};
