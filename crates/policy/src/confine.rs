//! A second wall: Landlock keeps the running process to its directories even if our own code is fooled.

use std::fmt;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, path_beneath_rules,
};

/// The newest Landlock that was tested with this code (Linux 6.15). Older kernels enforce what they know.
const TESTED: ABI = ABI::V7;

/// What the process still needs once it is confined. A path that does not exist gets no rule, so create
/// the state directory first.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// Files and directories to read and list.
    pub read: Vec<PathBuf>,
    /// Files and directories to read, list, create, change, rename and delete.
    pub write: Vec<PathBuf>,
    /// Programs that may be started, and the libraries they load.
    pub run: Vec<PathBuf>,
}

/// How far the kernel went along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfinementStatus {
    Enforced,
    /// An older kernel: some kinds of access are not covered.
    Partial,
    Unavailable {
        reason: String,
    },
}

/// Restricts the calling thread, and every thread and process it starts afterwards, for good.
///
/// Call it before any other thread is started (in `main`, before the runtime): threads that already run
/// stay unrestricted. Files opened earlier stay usable.
pub fn confine(confinement: &Confinement) -> ConfinementStatus {
    match restrict(confinement) {
        Ok(RulesetStatus::FullyEnforced) => ConfinementStatus::Enforced,
        Ok(RulesetStatus::PartiallyEnforced) => ConfinementStatus::Partial,
        Ok(RulesetStatus::NotEnforced) => {
            ConfinementStatus::Unavailable { reason: "this kernel has no Landlock".to_owned() }
        }
        Err(error) => ConfinementStatus::Unavailable { reason: error.to_string() },
    }
}

impl fmt::Display for ConfinementStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfinementStatus::Enforced => f.write_str("the kernel confines the server to its directories"),
            ConfinementStatus::Partial => f.write_str(
                "the kernel confines the server to its directories as far as it can; a newer one does more",
            ),
            ConfinementStatus::Unavailable { reason } => {
                write!(f, "the kernel does not confine the server ({reason}); its own checks still hold")
            }
        }
    }
}

fn restrict(confinement: &Confinement) -> Result<RulesetStatus, RulesetError> {
    let everything = AccessFs::from_all(TESTED);
    // Nothing is run from a served directory, nor from the state directory.
    let write = everything & !AccessFs::Execute;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .create()?
        .add_rules(path_beneath_rules(&confinement.read, AccessFs::ReadFile | AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(&confinement.write, write))?
        .add_rules(path_beneath_rules(
            &confinement.run,
            AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir,
        ))?
        .restrict_self()?;
    Ok(status.ruleset)
}
