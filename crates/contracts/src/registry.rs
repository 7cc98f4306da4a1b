//! The list of tools that a server shows, and the way to call one.

use std::collections::HashMap;
use std::sync::Arc;

use engine::Engine;
use engine::smart::Smart;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::dir2mcp;
use crate::instructions::Instructions;
use crate::repo::{self, RepoTools};
use crate::service::{CallContext, ToolInfo, ToolResult, ToolService, UnknownTool};
use crate::smart;
use crate::text::shown;
use crate::tool::Tool;

/// The tool contracts, one per specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contract {
    Dir2mcp,
    Repo,
    Cleats,
    Files,
    Smart,
}

impl Contract {
    pub const ALL: &'static [Contract] =
        &[Contract::Dir2mcp, Contract::Repo, Contract::Cleats, Contract::Files, Contract::Smart];

    /// The name in `server.tools` and `--tools`.
    pub fn as_str(self) -> &'static str {
        match self {
            Contract::Dir2mcp => "dir2mcp",
            Contract::Repo => "repo",
            Contract::Cleats => "cleats",
            Contract::Files => "files",
            Contract::Smart => "smart",
        }
    }

    pub fn parse(text: &str) -> Option<Contract> {
        Contract::ALL.iter().copied().find(|contract| contract.as_str().eq_ignore_ascii_case(text.trim()))
    }
}

/// How tool names are written: some hosts refuse dots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolNames {
    /// `dir2mcp.search`, as the specifications have it.
    #[default]
    Dotted,
    /// `dir2mcp_search`.
    Underscore,
}

impl ToolNames {
    pub(crate) fn spell(self, name: &str) -> String {
        match self {
            ToolNames::Dotted => name.to_owned(),
            ToolNames::Underscore => name.replace('.', "_"),
        }
    }
}

/// What the contracts stand on.
#[derive(Clone)]
pub struct Rooms {
    pub engine: Arc<Engine>,
    pub repo: RepoTools,
    pub smart: Smart,
    /// `rag.k_default`: hits that `dir2mcp.search` and `dir2mcp.ask` return unless told otherwise.
    pub k_default: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("the {} tools are not available in this version", .0.as_str())]
    NotAvailable(Contract),
    #[error("no tools are chosen")]
    Empty,
}

pub struct Registry {
    tools: Arc<[Tool]>,
    infos: Vec<ToolInfo>,
    by_name: HashMap<String, usize>,
    instructions: Instructions,
}

impl Registry {
    /// The tools of the chosen contracts.
    pub fn new(rooms: &Rooms, contracts: &[Contract], names: ToolNames) -> Result<Registry, RegistryError> {
        let mut tools = Vec::new();
        let mut chosen = Vec::new();
        for contract in contracts {
            if chosen.contains(contract) {
                continue;
            }
            chosen.push(*contract);
            match contract {
                Contract::Dir2mcp => tools.extend(dir2mcp::tools(&rooms.engine, rooms.k_default)),
                Contract::Repo => tools.extend(repo::tools(&rooms.repo)),
                Contract::Smart => tools.extend(smart::tools(&rooms.smart)),
                other => return Err(RegistryError::NotAvailable(*other)),
            }
        }
        if tools.is_empty() {
            return Err(RegistryError::Empty);
        }
        let instructions = Instructions::new(rooms, chosen, names);
        Ok(Registry::of(tools.into(), instructions))
    }

    /// The smart tools alone, which need no engine to say that no folder is configured.
    pub fn smart(smart: &Smart, names: ToolNames) -> Registry {
        let instructions = Instructions::of_smart(smart, names);
        Registry::of(smart::tools(smart).into(), instructions)
    }

    /// The same tools with their names written another way. The tools themselves are shared.
    pub fn respelled(&self, names: ToolNames) -> Registry {
        Registry::of(Arc::clone(&self.tools), self.instructions.respelled(names))
    }

    fn of(tools: Arc<[Tool]>, instructions: Instructions) -> Registry {
        let names = instructions.names();
        let infos: Vec<ToolInfo> = tools.iter().map(|tool| tool.info(names.spell(tool.name()))).collect();
        let mut by_name = HashMap::new();
        for (at, tool) in tools.iter().enumerate() {
            // Both spellings work whatever is listed: hosts rename tools on their own, and a model's notes may be of
            // another host.
            for spelling in [ToolNames::Dotted, ToolNames::Underscore] {
                by_name.insert(spelling.spell(tool.name()), at);
            }
        }
        Registry { tools, infos, by_name, instructions }
    }
}

impl ToolService for Registry {
    fn tools(&self) -> &[ToolInfo] {
        &self.infos
    }

    fn call(
        &self,
        name: &str,
        arguments: Option<Map<String, Value>>,
        context: CallContext,
    ) -> BoxFuture<'_, Result<ToolResult, UnknownTool>> {
        let found = self.by_name.get(name).map(|at| &self.tools[*at]);
        let unknown = UnknownTool(shown(name));
        Box::pin(async move {
            match found {
                Some(tool) => Ok(tool.run(arguments.unwrap_or_default(), context).await),
                None => Err(unknown),
            }
        })
    }

    fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    fn instructions(&self) -> String {
        self.instructions.text()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::instructions::tests::of_a_folder;
    use crate::tool::Output;
    use crate::tool::tests::{context, spec};

    fn registry(names: ToolNames) -> Registry {
        let tool =
            Tool::new(spec("dir2mcp.test"), |_| async { Ok(Output::new("ok".into(), json!({"n": 1}))) });
        Registry::of([tool].into(), of_a_folder(&[Contract::Dir2mcp], names))
    }

    #[tokio::test]
    async fn c10_the_list_has_one_spelling_and_calls_take_both() {
        let dotted = registry(ToolNames::Dotted);
        assert_eq!(dotted.tools()[0].name, "dir2mcp.test");
        let underscore = dotted.respelled(ToolNames::Underscore);
        assert_eq!(underscore.tools()[0].name, "dir2mcp_test");
        assert!(underscore.instructions().contains("dir2mcp_open_file"));
        for registry in [dotted, underscore] {
            for name in ["dir2mcp.test", "dir2mcp_test"] {
                assert!(registry.has(name), "{name}");
                assert!(registry.call(name, None, context()).await.is_ok(), "{name}");
            }
            assert!(!registry.has("dir2mcp-test"));
        }
    }

    #[tokio::test]
    async fn c53_an_unknown_tool_is_the_protocols_error() {
        let registry = registry(ToolNames::Dotted);
        let unknown = registry.call("dir2mcp.nope", None, context()).await.unwrap_err();
        assert_eq!(unknown.to_string(), "unknown tool: dir2mcp.nope");
        let long = registry.call(&"x".repeat(100_000), None, context()).await.unwrap_err();
        assert!(long.0.len() < 100);
    }

    #[test]
    fn contracts_are_named() {
        for contract in Contract::ALL {
            assert_eq!(Contract::parse(contract.as_str()), Some(*contract));
        }
        assert_eq!(Contract::parse("nope"), None);
        assert_eq!(
            RegistryError::NotAvailable(Contract::Files).to_string(),
            "the files tools are not available in this version"
        );
    }
}
