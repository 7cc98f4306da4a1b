//! Statements that are sent in one go, the commit last.

use futures::future::join_all;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

use super::failure::{Aborted, DatabaseError};

/// What the end of a transaction sends. Each statement has been prepared, so that nothing has to be asked in between.
#[derive(Default)]
pub(crate) struct StatementBatch<'a> {
    statements: Vec<(Statement, Vec<&'a (dyn ToSql + Sync)>)>,
}

/// Up to so many, `join_all` polls in order, and what is polled first is sent first.
const MAX_STATEMENTS: usize = 28;

impl<'a> StatementBatch<'a> {
    /// Goes on with a list whose parameters live longer.
    pub(crate) fn after<'b: 'a>(earlier: StatementBatch<'b>) -> StatementBatch<'a> {
        StatementBatch { statements: earlier.statements }
    }

    pub(crate) fn add(&mut self, statement: &Statement, parameters: &[&'a (dyn ToSql + Sync)]) {
        self.statements.push((statement.clone(), parameters.to_vec()));
    }

    /// Sends all of them and the commit. A statement that fails makes the commit a rollback, so that success is that of all.
    pub(crate) async fn commit(self, client: &Client) -> Result<(), Aborted> {
        assert!(self.statements.len() < MAX_STATEMENTS, "a batch is a handful of statements");
        let statements =
            join_all(self.statements.iter().map(|(statement, with)| client.execute(statement, with)));
        let (results, committed) = futures::future::join(statements, client.batch_execute("COMMIT")).await;
        let all: Result<Vec<u64>, Error> = results.into_iter().collect();
        match all.and(committed) {
            Ok(()) => Ok(()),
            Err(error) => Err(match DatabaseError::from(error) {
                // The commit was sent along: it is not known how far the server came.
                unreachable @ DatabaseError::Unreachable(_) => Aborted::Unknown(unreachable),
                refused => Aborted::Database(refused),
            }),
        }
    }
}
