//! The tool contracts: one folder per specification, one file per tool, one registry for them all.
//!
//! A tool is data and one function. MCP, the HTTP API, the command line and the tests call the same registry.

pub mod service;

pub use service::{CallContext, ProgressSink, ToolInfo, ToolResult, ToolService, UnknownTool};
