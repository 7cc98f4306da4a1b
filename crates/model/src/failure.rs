//! The one error that callers see: a public code, a sentence, and whether trying again can help.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::ErrorCode;

/// What a failed engine call says. Rendered by each contract in its own shape.
#[derive(Debug, Clone)]
pub struct Failure {
    pub code: ErrorCode,
    pub message: String,
    /// What to do about it, where there is more to say than the message does.
    pub hint: Option<String>,
    /// What caused it, for logs: callers never see it.
    pub cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), hint: None, cause: None }
    }

    pub fn hint(self, hint: impl Into<String>) -> Failure {
        Failure { hint: Some(hint.into()), ..self }
    }

    /// Keeps the error that the message does not tell of.
    pub fn because(self, cause: impl Error + Send + Sync + 'static) -> Failure {
        Failure { cause: Some(Arc::new(cause)), ..self }
    }

    pub fn retryable(&self) -> bool {
        self.code.retryable()
    }
}

/// The cause is not compared: it is for people.
impl PartialEq for Failure {
    fn eq(&self, other: &Failure) -> bool {
        (self.code, &self.message, &self.hint) == (other.code, &other.message, &other.hint)
    }
}

impl Eq for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}
