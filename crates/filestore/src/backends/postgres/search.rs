//! Finding chunks in PostgreSQL: words by a GIN index, vectors by pgvector, both joined with the files as they are now.

use model::{ErrorCode, Failure, TenantId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::failure::DatabaseError;
use super::index::hash_of;
use super::index_rows::scope_words;
use super::pool::PooledConnection;
use super::time::to_system_time;
use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::indexing::hash_bytes;
use crate::path::StorePath;
use crate::project::{ProjectName, ProjectScope};
use crate::search::{
    FoundChunk, SearchBackend, SearchScope, UnindexedFile, WordQuery, WordStatistics, cosine,
};

/// The chunks of active files that are indexed as they are now.
macro_rules! shown {
    () => {
        " JOIN {s}.mcp_files f ON f.apikey_hash = c.apikey_hash AND f.project = c.project AND f.path = c.file_path \
             AND f.deleted = FALSE \
          JOIN {s}.mcp_file_indexed i ON i.apikey_hash = c.apikey_hash AND i.project = c.project \
             AND i.file_path = c.file_path AND i.file_updated_at = f.updated_at "
    };
}

/// `$1` to `$4` are the tenant, the project, and the range of paths. `{project c}` is filled in for one project or for all.
macro_rules! in_scope {
    () => {
        " c.apikey_hash = $1 AND {project c} AND c.file_path ~>=~ $3 AND c.file_path ~<~ $4 "
    };
}

const TOTALS: &str = "SELECT coalesce(sum(t.chunks), 0)::bigint, coalesce(sum(t.tokens), 0)::bigint \
     FROM {s}.mcp_file_scopes t WHERE t.apikey_hash = $1 AND {project t}";

const HOLDERS: &str = "SELECT (SELECT count(*) FROM {s}.mcp_file_chunk_words w \
     WHERE w.apikey_hash = $1 AND {project w} AND w.words @@ q.lexeme::tsquery) \
     FROM unnest($3::text[]) WITH ORDINALITY q(lexeme, place) ORDER BY q.place";

/// Sums run in the order of the query, so that both backends get the same numbers.
const BY_WORDS: &str = concat!(
    "SELECT id FROM (SELECT c.id, c.project, c.file_path, c.chunk_index, \
         (SELECT sum(q.weight * CASE WHEN left(q.token, 1) = '/' THEN 1.0::float8 ELSE \
             (b.tokens ->> q.token)::float8 / ((b.tokens ->> q.token)::float8 + $7::float8 + $8::float8 * b.token_count) END \
             ORDER BY q.place) \
          FROM unnest($5::text[], $6::float8[]) WITH ORDINALITY q(token, weight, place) \
          WHERE (b.tokens -> q.token) IS NOT NULL) AS score \
     FROM {s}.mcp_file_chunk_words w JOIN {s}.mcp_file_chunks c ON c.id = w.chunk_id \
     JOIN {s}.mcp_file_chunk_bm25 b ON b.chunk_id = w.chunk_id",
    shown!(),
    "WHERE w.apikey_hash = $1 AND {project w} AND w.words @@ $9::text::tsquery AND",
    in_scope!(),
    ") found WHERE score > 0 \
     ORDER BY score DESC, project COLLATE \"C\", file_path COLLATE \"C\", chunk_index LIMIT $10"
);

/// Adding zero keeps the index out of it: every vector of the scope is compared.
const NEAREST_EXACTLY: &str = concat!(
    "SELECT c.id, c.project, c.file_path, c.chunk_index, e.embedding::real[] FROM {s}.mcp_file_chunks c",
    shown!(),
    "JOIN {s}.mcp_file_chunk_embeddings e ON e.chunk_id = c.id AND e.model = $5 WHERE",
    in_scope!(),
    "ORDER BY (e.embedding <=> ($6::real[])::vector) + 0.0 LIMIT $7"
);

const NEAREST_BY_GRAPH: &str = concat!(
    "SELECT c.id, c.project, c.file_path, c.chunk_index, e.embedding::real[] FROM {s}.mcp_file_chunks c",
    shown!(),
    "JOIN {s}.mcp_file_chunk_embeddings e ON e.chunk_id = c.id AND e.model = $5 WHERE",
    in_scope!(),
    "ORDER BY e.embedding <=> ($6::real[])::vector LIMIT $7"
);

const CHUNKS: &str = concat!(
    "SELECT c.id, c.project, c.file_path, c.chunk_index, c.start_byte, c.end_byte, c.chunk_content, c.content_hash, f.size, \
     e.embedding::real[], substring(f.content FROM (c.start_byte + 1)::int FOR (c.end_byte - c.start_byte)::int) \
     FROM {s}.mcp_file_chunks c",
    shown!(),
    "LEFT JOIN {s}.mcp_file_chunk_embeddings e ON e.chunk_id = c.id AND e.model = $5 WHERE",
    in_scope!(),
    "AND c.id = ANY($6)"
);

const UNINDEXED: &str = "SELECT f.project, f.path, f.content FROM {s}.mcp_files f JOIN ( \
       SELECT id, sum(size) OVER (ORDER BY updated_at DESC, project COLLATE \"C\", path COLLATE \"C\") AS so_far FROM ( \
         SELECT DISTINCT f.id, f.project, f.path, f.size, f.updated_at FROM {s}.mcp_file_index_jobs j \
         JOIN {s}.mcp_files f ON f.apikey_hash = j.apikey_hash AND f.project = j.project AND f.path = j.file_path \
             AND f.deleted = FALSE \
         LEFT JOIN {s}.mcp_file_indexed i ON i.apikey_hash = j.apikey_hash AND i.project = j.project \
             AND i.file_path = j.file_path \
         WHERE j.apikey_hash = $1 AND j.status IN ('pending', 'processing', 'failed') AND {project j} \
             AND j.file_path ~>=~ $3 AND j.file_path ~<~ $4 \
             AND (i.file_updated_at IS NULL OR i.file_updated_at <> f.updated_at) \
         ORDER BY f.updated_at DESC LIMIT $5) newest) chosen ON chosen.id = f.id \
     WHERE chosen.so_far <= $6::bigint ORDER BY f.updated_at DESC, f.project COLLATE \"C\", f.path COLLATE \"C\"";

const SERVED: &str =
    "UPDATE {s}.mcp_file_chunks SET last_served_at = $3 WHERE id = ANY($1) AND apikey_hash = $2";

/// Up to so many chunks all are compared: that takes milliseconds, misses none, and no other tenant's vectors are in the way.
const EXACT_CHUNKS: i64 = 20_000;

impl SearchBackend for PostgresStore {
    fn word_statistics<'a>(
        &'a self,
        scope: &'a SearchScope,
        tokens: &'a [String],
    ) -> BackendFuture<'a, WordStatistics> {
        Box::pin(async move {
            let (tenant, project) = names(scope);
            let within = scope_lexeme(scope);
            let lexemes: Vec<String> =
                tokens.iter().map(|token| format!("{within}&{}", lexeme(token))).collect();
            let totals = self.rows(scope, TOTALS, &[&tenant, &project]).await?;
            let rows = self.rows(scope, HOLDERS, &[&tenant, &project, &lexemes]).await?;
            let total = |at: usize| totals.first().map_or(0, |row| row.get::<_, i64>(at)) as u64;
            Ok(WordStatistics {
                chunks: total(0),
                tokens: total(1),
                holders: rows.iter().map(|row| row.get::<_, i64>(0) as u64).collect(),
            })
        })
    }

    fn by_words<'a>(
        &'a self,
        scope: &'a SearchScope,
        query: &'a WordQuery,
        limit: usize,
    ) -> BackendFuture<'a, Vec<i64>> {
        Box::pin(async move {
            let (tenant, project) = names(scope);
            let (first, end) = paths(scope);
            let tokens: Vec<&str> = query.tokens.iter().map(|token| token.token.as_str()).collect();
            let weights: Vec<f64> = query.tokens.iter().map(|token| token.weight).collect();
            let any = tokens.iter().map(|token| lexeme(token)).collect::<Vec<_>>().join("|");
            let any = format!("{}&({any})", scope_lexeme(scope));
            let limit = limit as i64;
            let values: [&(dyn ToSql + Sync); 10] =
                [&tenant, &project, &first, &end, &tokens, &weights, &query.flat, &query.slope, &any, &limit];
            Ok(self.rows(scope, BY_WORDS, &values).await?.iter().map(|row| row.get(0)).collect())
        })
    }

    fn by_vector<'a>(
        &'a self,
        scope: &'a SearchScope,
        model: &'a str,
        vector: &'a [f32],
        limit: usize,
    ) -> BackendFuture<'a, Vec<i64>> {
        Box::pin(async move {
            let (tenant, project) = names(scope);
            let (first, end) = paths(scope);
            let totals = self.rows(scope, TOTALS, &[&tenant, &project]).await?;
            let chunks = totals.first().map_or(0, |row| row.get::<_, i64>(0));
            // More than wanted, so that those at the end are put in order by the same arithmetic as elsewhere.
            let deep = limit as i64 * 2;
            let values: [&(dyn ToSql + Sync); 7] = [&tenant, &project, &first, &end, &model, &vector, &deep];
            let rows = if chunks <= EXACT_CHUNKS {
                self.rows(scope, NEAREST_EXACTLY, &values).await?
            } else {
                self.rows_by_graph(scope, &values).await?
            };
            let mut near: Vec<(f32, (String, String, i32), i64)> = rows
                .iter()
                .map(|row| {
                    let own: Vec<f32> = row.get(4);
                    (cosine(&own, vector), (row.get(1), row.get(2), row.get(3)), row.get(0))
                })
                .collect();
            near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            near.truncate(limit);
            Ok(near.into_iter().map(|(_, _, id)| id).collect())
        })
    }

    fn chunks<'a>(
        &'a self,
        scope: &'a SearchScope,
        ids: &'a [i64],
        model: &'a str,
    ) -> BackendFuture<'a, Vec<FoundChunk>> {
        Box::pin(async move {
            let (tenant, project) = names(scope);
            let (first, end) = paths(scope);
            let values: [&(dyn ToSql + Sync); 6] = [&tenant, &project, &first, &end, &model, &ids];
            let mut found = Vec::new();
            for row in self.rows(scope, CHUNKS, &values).await? {
                let content_hash = hash_of(row.get(7));
                if hash_bytes(row.get(10)) != content_hash {
                    continue;
                }
                found.push(FoundChunk {
                    id: row.get(0),
                    project: ProjectName::parse(row.get(1))?,
                    path: StorePath::parse(row.get(2))?,
                    index: row.get::<_, i32>(3) as u32,
                    start: row.get::<_, i64>(4) as u64,
                    end: row.get::<_, i64>(5) as u64,
                    text: row.get(6),
                    content_hash,
                    file_size: row.get::<_, i64>(8) as u64,
                    vector: row.get(9),
                });
            }
            let place = |id: i64| ids.iter().position(|each| *each == id);
            found.sort_by_key(|chunk| place(chunk.id));
            Ok(found)
        })
    }

    fn unindexed<'a>(
        &'a self,
        scope: &'a SearchScope,
        files: usize,
        bytes: u64,
    ) -> BackendFuture<'a, Vec<UnindexedFile>> {
        Box::pin(async move {
            let (tenant, project) = names(scope);
            let (first, end) = paths(scope);
            let (files, bytes) = (files as i64, i64::try_from(bytes).unwrap_or(i64::MAX));
            let values: [&(dyn ToSql + Sync); 6] = [&tenant, &project, &first, &end, &files, &bytes];
            let rows = self.rows(scope, UNINDEXED, &values).await?;
            let file = |row: &Row| {
                Ok(UnindexedFile {
                    project: ProjectName::parse(row.get(0))?,
                    path: StorePath::parse(row.get(1))?,
                    content: row.get(2),
                })
            };
            rows.iter().map(file).collect()
        })
    }

    fn mark_served<'a>(&'a self, tenant: TenantId, ids: &'a [i64], at: StoreTime) -> BackendFuture<'a, ()> {
        Box::pin(async move {
            let mut connection = self.index_connection().await?;
            let statement =
                connection.prepare(self.bucket(tenant), SERVED).await.map_err(DatabaseError::from)?;
            let values: [&(dyn ToSql + Sync); 3] = [&ids, &tenant.to_hex(), &to_system_time(at)];
            connection.client.execute(&statement, &values).await.map_err(DatabaseError::from)?;
            Ok(())
        })
    }
}

impl PostgresStore {
    /// From the replica where it knows the project's last change, and once more where a connection turns out to be dead.
    async fn rows(
        &self,
        scope: &SearchScope,
        template: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let connection = match &scope.project {
            Some(project) => self.reading(&ProjectScope::new(scope.tenant, project.clone())).await?,
            None => self.index_connection().await?,
        };
        match self.scoped_rows_on(connection, scope, template, values).await {
            Err(error) if error.passes() => {
                let connection = self.index_connection().await?;
                Ok(self.scoped_rows_on(connection, scope, template, values).await?)
            }
            result => Ok(result?),
        }
    }

    async fn scoped_rows_on(
        &self,
        mut connection: PooledConnection,
        scope: &SearchScope,
        template: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, DatabaseError> {
        let statement = connection.prepare_for_scope(self.bucket(scope.tenant), scope, template).await?;
        Ok(connection.client.query(&statement, values).await?)
    }

    /// The graph is walked until enough of what it meets belongs to the scope.
    async fn rows_by_graph(
        &self,
        scope: &SearchScope,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let mut connection = self.index_connection().await?;
        connection.in_transaction = true;
        let step = async {
            let statement =
                connection.prepare_for_scope(self.bucket(scope.tenant), scope, NEAREST_BY_GRAPH).await?;
            let transaction = connection.client.transaction().await?;
            transaction
                .batch_execute(
                    "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = 100",
                )
                .await?;
            let rows = transaction.query(&statement, values).await?;
            transaction.commit().await?;
            Ok(rows)
        };
        let rows = step.await.map_err(|error: tokio_postgres::Error| {
            let failure = Failure::from(DatabaseError::from(error));
            Failure { code: ErrorCode::SearchBackendError, ..failure }
        })?;
        connection.in_transaction = false;
        Ok(rows)
    }
}

fn names(scope: &SearchScope) -> (String, Option<&str>) {
    (scope.tenant.to_hex(), scope.project.as_ref().map(ProjectName::as_str))
}

/// The first path and the one behind the last. Every path begins with a slash, and behind that comes `0`.
fn paths(scope: &SearchScope) -> (String, String) {
    let (first, end) = scope.path_range();
    (first, end.unwrap_or_else(|| "0".to_owned()))
}

/// What all chunks of the scope hold.
fn scope_lexeme(scope: &SearchScope) -> String {
    let project = scope.project.as_ref().map_or("", ProjectName::as_str);
    let [of_tenant, of_project] = scope_words(&scope.tenant.to_hex(), project);
    lexeme(if scope.project.is_some() { &of_project } else { &of_tenant })
}

/// A token as a query for it, quoted: the tokens are ours and are not to be parsed.
fn lexeme(token: &str) -> String {
    format!("'{}'", token.replace('\\', "\\\\").replace('\'', "''"))
}
