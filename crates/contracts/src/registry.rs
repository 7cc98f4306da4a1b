//! The list of tools that a server shows, and the way to call one.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use model::Failure;
use serde_json::{Map, Value};

use crate::contract::{Contract, Services};
use crate::instructions::Instructions;
use crate::service::{CallContext, CallRefused, ToolInfo, ToolResult, ToolService};
use crate::text::shown;
use crate::tool::{FailedCall, Tool};

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
    pub fn new(
        services: &Services,
        contracts: &[Contract],
        names: ToolNames,
    ) -> Result<Registry, RegistryError> {
        let mut tools = Vec::new();
        let mut chosen = Vec::new();
        for contract in contracts {
            if chosen.contains(contract) {
                continue;
            }
            if !contract.is_available() {
                return Err(RegistryError::NotAvailable(*contract));
            }
            chosen.push(*contract);
            tools.extend(contract.set().tools(services));
        }
        if tools.is_empty() {
            return Err(RegistryError::Empty);
        }
        let instructions = Instructions::new(services, chosen, names);
        Ok(Registry::of(tools.into(), instructions))
    }

    /// Calls a tool for a caller that is no client and wants a failure as it is, not as its contract words it.
    pub async fn call_typed(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: CallContext,
    ) -> Result<Result<ToolResult, Failure>, CallRefused> {
        let tool = self.find(name)?;
        Ok(match tool.run(arguments, context, &self.tools).await {
            (result, None) => Ok(result),
            (_, Some(ended)) => Err(ended.failure),
        })
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

    fn find(&self, name: &str) -> Result<&Tool, CallRefused> {
        let found = self.by_name.get(name).map(|at| &self.tools[*at]);
        found.ok_or_else(|| CallRefused::UnknownTool(shown(name)))
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
    ) -> BoxFuture<'_, Result<ToolResult, CallRefused>> {
        let tool = self.find(name);
        Box::pin(async move {
            match tool?.run(arguments.unwrap_or_default(), context, &self.tools).await {
                (_, Some(FailedCall { failure, is_protocol: true })) => {
                    Err(CallRefused::BadArguments(failure.message))
                }
                (result, _) => Ok(result),
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
    use crate::tool::ToolOutput;
    use crate::tool::tests::{context, frame, spec};

    fn registry(names: ToolNames) -> Registry {
        let tool = Tool::new(&frame(), spec("dir2mcp.test"), |_| async {
            Ok(ToolOutput::new("ok".into(), json!({"n": 1})))
        });
        Registry::of([tool].into(), of_a_folder(&[Contract::DIR2MCP], names))
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
        assert!(long.to_string().len() < 100);
    }

    #[test]
    fn a_contract_that_is_not_built_yet_is_refused() {
        assert_eq!(
            RegistryError::NotAvailable(Contract::CLEATS).to_string(),
            "the cleats tools are not available in this version"
        );
    }
}
