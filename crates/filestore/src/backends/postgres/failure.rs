//! What an error of the database means to a caller: busy and worth another try, or a mistake.

use model::{ErrorCode, Failure};
use tokio_postgres::error::{Error, SqlState};

/// Why a statement or a connection failed.
#[derive(Debug)]
pub(crate) enum DatabaseError {
    /// The database cannot be reached, or the connection broke: nothing is known of what was sent last.
    Unreachable(String),
    /// The database refused for a reason that passes: a conflict, a deadlock, a shutdown, no connection left.
    Busy(Error),
    /// Anything else.
    Wrong(Error),
}

impl DatabaseError {
    /// Whether the same work may succeed a moment later.
    pub(crate) fn passes(&self) -> bool {
        !matches!(self, DatabaseError::Wrong(_))
    }
}

impl From<Error> for DatabaseError {
    fn from(error: Error) -> DatabaseError {
        let Some(code) = error.code() else {
            // Without a code it did not come from the server: the socket broke, or a value has another type than the
            // column, which no caller can bring about.
            if error.is_closed() || has_io_source(&error) {
                return DatabaseError::Unreachable(error.to_string());
            }
            return DatabaseError::Wrong(error);
        };
        // Class 08: connection; 57P: shutdown, crash, start; the session is gone in all of them.
        if code.code().starts_with("08") || code.code().starts_with("57P") {
            return DatabaseError::Unreachable(error.to_string());
        }
        // Class 40: serialization, deadlock; 53: connections, memory, disk; 55P03: lock; 57014: statement timeout;
        // 25006: the server became a replica; 25P03: idle in a transaction for too long.
        let passes = code.code().starts_with("40")
            || code.code().starts_with("53")
            || [
                SqlState::LOCK_NOT_AVAILABLE,
                SqlState::QUERY_CANCELED,
                SqlState::READ_ONLY_SQL_TRANSACTION,
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            ]
            .contains(code);
        if passes { DatabaseError::Busy(error) } else { DatabaseError::Wrong(error) }
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Failure {
        match error {
            DatabaseError::Unreachable(cause) => {
                let busy = Failure::new(ErrorCode::ResourceBusy, "the store cannot be reached at the moment");
                busy.hint("Try again in a few seconds.").because(std::io::Error::other(cause))
            }
            DatabaseError::Busy(cause) => {
                let busy = Failure::new(ErrorCode::ResourceBusy, "the store is busy");
                busy.hint("Try again in a few seconds.").because(cause)
            }
            DatabaseError::Wrong(cause) => {
                // No caller can mend it, so that the operator has to hear of it. Details may repeat values and are left out.
                let said = cause.as_db_error().map_or("", |error| error.message());
                let code = cause.code().map_or("", |code| code.code());
                tracing::error!(error = %cause, code, said, "PostgreSQL refused a statement of the file store");
                Failure::new(ErrorCode::InternalError, "the store could not do this").because(cause)
            }
        }
    }
}

/// Ends work inside a transaction: by a decision of the rules, or by the database.
#[derive(Debug)]
pub(crate) enum Aborted {
    Refused(Failure),
    Database(DatabaseError),
    /// The connection broke after the commit was sent: it may have happened or not.
    Unknown(DatabaseError),
}

impl From<Failure> for Aborted {
    fn from(failure: Failure) -> Aborted {
        Aborted::Refused(failure)
    }
}

impl From<Error> for Aborted {
    fn from(error: Error) -> Aborted {
        Aborted::Database(error.into())
    }
}

impl From<DatabaseError> for Aborted {
    fn from(error: DatabaseError) -> Aborted {
        Aborted::Database(error)
    }
}

impl From<Aborted> for Failure {
    fn from(aborted: Aborted) -> Failure {
        match aborted {
            Aborted::Refused(failure) => failure,
            Aborted::Database(error) | Aborted::Unknown(error) => error.into(),
        }
    }
}

fn has_io_source(error: &Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(each) = source {
        if each.is::<std::io::Error>() {
            return true;
        }
        source = each.source();
    }
    false
}
