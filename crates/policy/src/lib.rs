//! The front door: the only code that opens users' files, and the rules for what may pass.
//!
//! A path passes in this order, for every tool of every contract: shape (`model::RelPath`), deny floor and
//! `security.path_excludes` ([`Policy::check_path`]), the kernel's own resolution below the root
//! ([`Guard::open`]), file type and size ([`OpenFile`]), and the secret rules on the text
//! ([`Policy::scan`]). There is no other way in, and no step is a check of a name that is used later:
//! what was checked is the descriptor that is read.

#![allow(clippy::disallowed_methods, reason = "this is the crate that may open files")]

mod allow;
mod assigned;
mod checks;
mod column;
mod confine;
mod deny;
mod limits;
mod lookalike;
mod open;
mod passwords;
mod patience;
mod place;
mod policy;
mod randomness;
mod redact;
mod resolve;
mod roots;
mod rules;
mod secrets;
mod site;
mod syscalls;
mod visible;

pub use confine::{Confinement, ConfinementStatus, confine};
pub use deny::{Denied, Excludes, IGNORED_FOLDERS, default_path_excludes};
pub use limits::DEFAULT_MAX_FILE_BYTES;
pub use open::{Guard, LIST_FILES_HINT, OpenError, OpenFile, path_failure};
pub use patience::{set_read_deadline, within_deadline};
pub use place::SecretLevel;
pub use policy::{Policy, PolicyConfig, PolicyError};
pub use redact::{Redactor, redact, redact_window};
pub use roots::{Root, RootError};
pub use rules::SPEC_PATTERNS;
pub use secrets::{MAX_CUSTOM_PATTERNS, SecretMatch, SecretPatterns};
pub use syscalls::read_only_syscalls;
pub use visible::{invisible, is_hidden, is_modifier, visible, without_hidden};
