//! What can be wrong with a configuration, reported all at once, so that a file can be corrected in one go.

use std::fmt;
use std::path::PathBuf;

use super::options::ValueOrigin;
use super::trust::Untrusted;
use crate::print::safe;
use crate::secrets::SecretName;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("{0}")]
    Invalid(Problems),
    /// A capability was asked for that needs this secret, and no source has it.
    #[error("Missing {}", name.variable())]
    MissingSecret {
        name: SecretName,
        needed_by: String,
        /// What would do without the secret, where something would.
        instead: Option<String>,
    },
    /// Found files ask for more than they may.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Untrusted(Vec<Untrusted>),
    #[error("cannot read the root directory {}: {error}", safe(&path.to_string_lossy()))]
    Root { path: PathBuf, error: std::io::Error },
}

impl ConfigError {
    pub(crate) fn one(message: impl Into<String>) -> ConfigError {
        let mut problems = Problems::default();
        problems.push(Problem { place: None, message: message.into() });
        ConfigError::Invalid(problems)
    }
}

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub place: Option<ValueOrigin>,
    pub message: String,
}

impl Problem {
    pub(crate) fn at(place: ValueOrigin, message: impl Into<String>) -> Problem {
        Problem { place: Some(place), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            None | Some(ValueOrigin::Default) => f.write_str(&self.message),
            // The form that editors and terminals turn into a link.
            Some(ValueOrigin::File { path, line }) => {
                write!(f, "{}:{line}: {}", safe(&path.to_string_lossy()), self.message)
            }
            Some(ValueOrigin::Flag(flag)) => write!(f, "{flag}: {}", self.message),
            Some(origin) => write!(f, "{origin}: {}", self.message),
        }
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    pub(crate) fn messages(&self) -> Vec<String> {
        self.0.iter().map(Problem::to_string).collect()
    }

    pub(crate) fn into_result(self) -> Result<(), ConfigError> {
        if self.0.is_empty() { Ok(()) } else { Err(ConfigError::Invalid(self)) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.messages().join("; "))
    }
}
