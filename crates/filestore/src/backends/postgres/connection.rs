//! One connection to PostgreSQL, with the statements that were prepared on it.

use std::collections::HashMap;
use std::time::Duration;

use model::{ErrorCode, Failure};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::bucket::Bucket;
use super::failure::DatabaseError;
use super::tls::VerifiedTls;
use crate::search::SearchScope;

/// A few dozen statements per bucket; with many buckets a connection would keep thousands of plans, so that all are
/// forgotten now and then.
const MAX_PREPARED: usize = 512;

/// Where to connect to, and how long things may take there.
pub(crate) struct ServerAddress {
    config: Config,
    /// Only for `sslmode=require`.
    tls: Option<VerifiedTls>,
    statement_timeout: Duration,
}

impl ServerAddress {
    pub(crate) fn parse(
        url: &str,
        connect_timeout: Duration,
        statement_timeout: Duration,
    ) -> Result<ServerAddress, Failure> {
        // The error is left out of the message: it may repeat parts of the URL, which holds a password.
        let mut config: Config = url.parse().map_err(|_| {
            Failure::new(ErrorCode::ConfigInvalid, "the URL of PostgreSQL cannot be read")
                .hint("Write it as postgres://user:password@host:5432/database.")
        })?;
        config.connect_timeout(connect_timeout);
        config.tcp_user_timeout(statement_timeout);
        config.keepalives_idle(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("dir2mcp");
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Require => Some(VerifiedTls::new()?),
            // "prefer" would protect nobody: whoever is in between chooses plain text.
            _ => {
                config.ssl_mode(SslMode::Disable);
                None
            }
        };
        Ok(ServerAddress { config, tls, statement_timeout })
    }

    pub(crate) async fn connect(&self) -> Result<Connection, DatabaseError> {
        // The time limit of the driver holds for the socket alone, not for a server that accepts and keeps silent.
        let limit = *self.config.get_connect_timeout().unwrap_or(&self.statement_timeout);
        let opening = async {
            let client = match &self.tls {
                None => {
                    let (client, connection) = self.config.connect(NoTls).await?;
                    tokio::spawn(connection);
                    client
                }
                Some(tls) => {
                    let (client, connection) = self.config.connect(tls.clone()).await?;
                    tokio::spawn(connection);
                    client
                }
            };
            let timeout = self.statement_timeout.as_millis();
            client
                .batch_execute(&format!(
                    "SET statement_timeout = {timeout}; SET idle_in_transaction_session_timeout = {timeout}; \
                     SET default_transaction_isolation = 'read committed'; SET TIME ZONE 'UTC'"
                ))
                .await?;
            Ok(Connection { client, prepared: HashMap::new() })
        };
        match tokio::time::timeout(limit, opening).await {
            Ok(result) => result.map_err(|error: tokio_postgres::Error| DatabaseError::from(error)),
            Err(_) => Err(DatabaseError::Unreachable("connecting took too long".into())),
        }
    }
}

/// The bucket, which projects are meant where that is part of the statement, and the template.
type PreparedKey = (Option<u32>, Option<AskedProjects>, &'static str);

/// Whether a statement asks for one project or for all of a tenant. They are two statements, so that an index serves each
/// and no plan has to fit both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum AskedProjects {
    One,
    All,
}

pub(crate) struct Connection {
    pub(crate) client: Client,
    prepared: HashMap<PreparedKey, Statement>,
}

impl Connection {
    /// The statement whose `{s}` stands for the bucket's schema, prepared once per connection.
    pub(crate) async fn prepare(
        &mut self,
        bucket: &Bucket,
        template: &'static str,
    ) -> Result<Statement, tokio_postgres::Error> {
        self.prepare_as((Some(bucket.number), None, template), bucket.schema()).await
    }

    /// The same for the tables that all buckets share.
    pub(crate) async fn prepare_shared(
        &mut self,
        template: &'static str,
    ) -> Result<Statement, tokio_postgres::Error> {
        self.prepare_as((None, None, template), super::bucket::SHARED_SCHEMA).await
    }

    /// The same for a statement whose `{project x}` stands for the condition on the table `x`, with the project as `$2`.
    pub(crate) async fn prepare_for_scope(
        &mut self,
        bucket: &Bucket,
        scope: &SearchScope,
        template: &'static str,
    ) -> Result<Statement, tokio_postgres::Error> {
        let asked = if scope.project.is_some() { AskedProjects::One } else { AskedProjects::All };
        self.prepare_as((Some(bucket.number), Some(asked), template), bucket.schema()).await
    }

    async fn prepare_as(
        &mut self,
        key: PreparedKey,
        schema: &str,
    ) -> Result<Statement, tokio_postgres::Error> {
        if let Some(found) = self.prepared.get(&key) {
            return Ok(found.clone());
        }
        if self.prepared.len() >= MAX_PREPARED {
            self.prepared.clear();
        }
        let (_, asked, template) = key;
        let mut sql = template.replace("{s}", schema);
        for table in ["c", "j", "t", "w"] {
            let condition = match asked {
                Some(AskedProjects::One) => format!("{table}.project = $2::text"),
                // The parameter is there all the same.
                _ => "$2::text IS NULL".to_owned(),
            };
            sql = sql.replace(&format!("{{project {table}}}"), &condition);
        }
        let statement = self.client.prepare(&sql).await?;
        self.prepared.insert(key, statement.clone());
        Ok(statement)
    }
}
