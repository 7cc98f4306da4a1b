//! The tool contracts, one per specification: what each of them brings, and the one list of all.

use std::fmt;
use std::sync::Arc;

use engine::{Engine, Workspace};

use crate::dir2mcp::Dir2mcp;
use crate::files::{Files, FilesConfig};
use crate::registry::ToolNames;
use crate::repo::{Repo, RepoConfig};
use crate::smart::{Smart, SmartConfig};
use crate::tool::Tool;

/// A new contract is one folder with an implementation of [`ContractSet`], and one line here.
static ALL: [Contract; 5] =
    [Contract::DIR2MCP, Contract::REPO, Contract::CLEATS, Contract::FILES, Contract::SMART];

/// A set of tools with its own names, schemas, error codes and limits.
pub(crate) trait ContractSet: Sync {
    /// The name in `server.tools`, in `--tools` and in the path of its own endpoint.
    fn name(&self) -> &'static str;

    fn serves(&self) -> ServedRoots;

    /// Which tool to use for what, for the handshake. Begins with a space.
    fn instructions(&self, names: ToolNames) -> String;

    /// All tools, in the order of the specification.
    fn tools(&self, services: &Services) -> Vec<Tool>;

    /// Headers that answers over HTTP carry.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// It has an endpoint of its own below the common one.
    fn has_endpoint(&self) -> bool {
        false
    }

    /// Its questions go across files, so that outlines are worth keeping.
    fn uses_outlines(&self) -> bool {
        false
    }
}

/// What a contract looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServedRoots {
    PrimaryRoot,
    AllRoots,
    /// The tenants' files of the store, and no folder.
    FileStore,
    /// This version has no tools for it.
    Nothing,
}

/// What the contracts are built on.
#[derive(Clone)]
pub struct Services {
    pub workspace: Arc<Workspace>,
    pub repo: RepoConfig,
    pub smart: SmartConfig,
    /// The tenants' files; `None` where they are switched off.
    pub files: Option<FilesConfig>,
    /// `rag.k_default`: hits that `dir2mcp.search` and `dir2mcp.ask` return unless told otherwise.
    pub k_default: usize,
}

impl Services {
    /// The engine of the primary root; `None` where no folder is configured.
    pub(crate) fn engine(&self) -> Option<&Arc<Engine>> {
        self.workspace.primary()
    }
}

/// One of the contracts.
#[derive(Clone, Copy)]
pub struct Contract(&'static dyn ContractSet);

impl Contract {
    pub const DIR2MCP: Contract = Contract(&Dir2mcp);
    pub const REPO: Contract = Contract(&Repo);
    pub const CLEATS: Contract = Contract(&Planned("cleats"));
    pub const FILES: Contract = Contract(&Files);
    pub const SMART: Contract = Contract(&Smart);

    pub fn all() -> &'static [Contract] {
        &ALL
    }

    pub fn as_str(self) -> &'static str {
        self.0.name()
    }

    pub fn parse(text: &str) -> Option<Contract> {
        ALL.iter().copied().find(|contract| contract.as_str().eq_ignore_ascii_case(text.trim()))
    }

    /// This version has tools for it.
    pub fn is_available(self) -> bool {
        self.0.serves() != ServedRoots::Nothing
    }

    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        self.0.headers()
    }

    pub fn has_endpoint(self) -> bool {
        self.0.has_endpoint()
    }

    pub fn uses_outlines(self) -> bool {
        self.0.uses_outlines()
    }

    pub(crate) fn set(self) -> &'static dyn ContractSet {
        self.0
    }
}

impl PartialEq for Contract {
    fn eq(&self, other: &Contract) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Contract {}

impl fmt::Debug for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A contract that is specified and not built yet: its name is known, so that a caller is told the right thing.
struct Planned(&'static str);

impl ContractSet for Planned {
    fn name(&self) -> &'static str {
        self.0
    }

    fn serves(&self) -> ServedRoots {
        ServedRoots::Nothing
    }

    fn instructions(&self, _: ToolNames) -> String {
        String::new()
    }

    fn tools(&self, _: &Services) -> Vec<Tool> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contracts_are_named() {
        for contract in Contract::all() {
            assert_eq!(Contract::parse(contract.as_str()), Some(*contract));
        }
        assert_eq!(Contract::parse("nope"), None);
        let available: Vec<&str> =
            Contract::all().iter().filter(|each| each.is_available()).map(|each| each.as_str()).collect();
        assert_eq!(available, ["dir2mcp", "repo", "files", "smart"]);
    }
}
