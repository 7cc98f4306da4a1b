//! Finding chunks in SQLite: postings and small vectors of the searched projects, walked through and checked against the files.

use std::collections::HashMap;

use model::TenantId;
use rusqlite::{Connection, OptionalExtension, ToSql, params, params_from_iter};

use super::SqliteStore;
use super::fault::WorkResult;
use super::index::hash_of;
use super::index_rows::small_dot;
use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::indexing::hash_bytes;
use crate::path::StorePath;
use crate::project::ProjectName;
use crate::search::{
    FoundChunk, SearchBackend, SearchScope, UnindexedFile, WordQuery, WordStatistics, cosine,
};

impl SearchBackend for SqliteStore {
    fn word_statistics<'a>(
        &'a self,
        scope: &'a SearchScope,
        tokens: &'a [String],
    ) -> BackendFuture<'a, WordStatistics> {
        let (scope, tokens) = (scope.clone(), tokens.to_vec());
        Box::pin(self.read(move |conn| {
            let mut statistics =
                WordStatistics { holders: vec![0; tokens.len()], ..WordStatistics::default() };
            let mut count = conn.prepare_cached(
                "SELECT count(*) FROM mcp_file_postings WHERE scope_id = ?1 AND token = ?2",
            )?;
            for searched in searched(conn, &scope)? {
                statistics.chunks += searched.chunks;
                statistics.tokens += searched.tokens;
                for (holders, token) in statistics.holders.iter_mut().zip(&tokens) {
                    *holders +=
                        count.query_row(params![searched.id, token], |row| row.get::<_, i64>(0))? as u64;
                }
            }
            Ok(statistics)
        }))
    }

    fn by_words<'a>(
        &'a self,
        scope: &'a SearchScope,
        query: &'a WordQuery,
        limit: usize,
    ) -> BackendFuture<'a, Vec<i64>> {
        let (scope, query) = (scope.clone(), query.clone());
        Box::pin(self.read(move |conn| {
            let mut scores: HashMap<i64, f64> = HashMap::new();
            let mut postings = conn.prepare_cached(
                "SELECT chunk_id, count, length FROM mcp_file_postings WHERE scope_id = ?1 AND token = ?2",
            )?;
            for searched in searched(conn, &scope)? {
                for token in &query.tokens {
                    let mut rows = postings.query(params![searched.id, token.token])?;
                    while let Some(row) = rows.next()? {
                        *scores.entry(row.get(0)?).or_default() +=
                            query.part(token, row.get(1)?, row.get(2)?);
                    }
                }
            }
            first_shown(conn, &scope, scores.into_iter().map(|(id, score)| (score, id)).collect(), limit)
        }))
    }

    fn by_vector<'a>(
        &'a self,
        scope: &'a SearchScope,
        model: &'a str,
        vector: &'a [f32],
        limit: usize,
    ) -> BackendFuture<'a, Vec<i64>> {
        let (scope, model, vector) = (scope.clone(), model.to_owned(), vector.to_vec());
        Box::pin(self.read(move |conn| {
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            let unit: Vec<f32> = vector.iter().map(|x| x / length).collect();
            let mut near: Vec<(f32, i64)> = Vec::new();
            let mut walk = conn
                .prepare_cached("SELECT chunk_id, vector FROM mcp_file_scope_vectors WHERE scope_id = ?1")?;
            for searched in searched(conn, &scope)? {
                let mut rows = walk.query([searched.id])?;
                while let Some(row) = rows.next()? {
                    let bytes = row.get_ref(1)?.as_blob().unwrap_or_default();
                    near.push((small_dot(&unit, bytes), row.get(0)?));
                }
            }
            near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            // The small vectors say who comes into question, the whole ones in which order.
            let mut whole = conn.prepare_cached(
                "SELECT embedding FROM mcp_file_chunk_embeddings WHERE chunk_id = ?1 AND model = ?2",
            )?;
            for deep in [limit * 4, near.len()] {
                let mut exact = Vec::new();
                for (_, id) in near.iter().take(deep) {
                    let found: Option<Vec<u8>> =
                        whole.query_row(params![id, model], |row| row.get(0)).optional()?;
                    if let Some(bytes) = found {
                        exact.push((f64::from(cosine(&floats(&bytes), &vector)), *id));
                    }
                }
                let shown = first_shown(conn, &scope, exact, limit)?;
                if shown.len() == limit || deep >= near.len() {
                    return Ok(shown);
                }
            }
            Ok(Vec::new())
        }))
    }

    fn chunks<'a>(
        &'a self,
        scope: &'a SearchScope,
        ids: &'a [i64],
        model: &'a str,
    ) -> BackendFuture<'a, Vec<FoundChunk>> {
        let (scope, ids, model) = (scope.clone(), ids.to_vec(), model.to_owned());
        Box::pin(self.read(move |conn| {
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                found.extend(chunk(conn, &scope, id, &model)?);
            }
            Ok(found)
        }))
    }

    fn unindexed<'a>(
        &'a self,
        scope: &'a SearchScope,
        files: usize,
        bytes: u64,
    ) -> BackendFuture<'a, Vec<UnindexedFile>> {
        let scope = scope.clone();
        Box::pin(self.read(move |conn| unindexed(conn, &scope, files, bytes)))
    }

    fn mark_served<'a>(&'a self, tenant: TenantId, ids: &'a [i64], at: StoreTime) -> BackendFuture<'a, ()> {
        let ids = ids.to_vec();
        Box::pin(self.write(None, move |conn| {
            let sql = "UPDATE mcp_file_chunks SET last_served_at = ?3 WHERE id = ?1 AND apikey_hash = ?2";
            let mut update = conn.prepare_cached(sql)?;
            for id in &ids {
                update.execute(params![id, tenant.to_hex(), at.0])?;
            }
            Ok(())
        }))
    }
}

/// A project that is searched.
struct Searched {
    id: i64,
    chunks: u64,
    tokens: u64,
}

fn searched(conn: &Connection, scope: &SearchScope) -> WorkResult<Vec<Searched>> {
    let project = scope.project.as_ref().map(ProjectName::as_str);
    let mut statement = conn.prepare_cached(
        "SELECT id, chunks, tokens FROM mcp_file_scopes
         WHERE apikey_hash = ?1 AND (?2 IS NULL OR project = ?2) ORDER BY project",
    )?;
    let rows = statement.query_map(params![scope.tenant.to_hex(), project], |row| {
        Ok(Searched {
            id: row.get(0)?,
            chunks: row.get::<_, i64>(1)? as u64,
            tokens: row.get::<_, i64>(2)? as u64,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The chunks of active files that are indexed as they are now.
const SHOWN: &str = "FROM mcp_file_chunks c
     JOIN mcp_files f ON f.apikey_hash = c.apikey_hash AND f.project = c.project AND f.path = c.file_path AND f.deleted = 0
     JOIN mcp_file_indexed i ON i.apikey_hash = c.apikey_hash AND i.project = c.project AND i.file_path = c.file_path
         AND i.file_updated_at = f.updated_at
     WHERE c.id = ?1 AND c.apikey_hash = ?2 AND (?3 IS NULL OR c.project = ?3)
         AND c.file_path >= ?4 AND (?5 IS NULL OR c.file_path < ?5)";

/// The best that may be shown; equals by project, path and position.
fn first_shown(
    conn: &Connection,
    scope: &SearchScope,
    mut scored: Vec<(f64, i64)>,
    limit: usize,
) -> WorkResult<Vec<i64>> {
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (first, end) = scope.path_range();
    let project = scope.project.as_ref().map(ProjectName::as_str);
    let tenant = scope.tenant.to_hex();
    let mut look = conn.prepare_cached(&format!("SELECT c.project, c.file_path, c.chunk_index {SHOWN}"))?;
    let mut shown: Vec<(f64, (String, String, u32), i64)> = Vec::new();
    for (score, id) in scored {
        // All equals of the last one are looked at, so that their order decides and not that of their ids.
        if shown.len() >= limit && shown.last().is_none_or(|last| score < last.0) {
            break;
        }
        let place = look
            .query_row(params![id, tenant, project, first, end], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        shown.extend(place.map(|place| (score, place, id)));
    }
    shown.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    shown.truncate(limit);
    Ok(shown.into_iter().map(|(_, _, id)| id).collect())
}

fn chunk(conn: &Connection, scope: &SearchScope, id: i64, model: &str) -> WorkResult<Option<FoundChunk>> {
    let (first, end) = scope.path_range();
    let project = scope.project.as_ref().map(ProjectName::as_str);
    let mut statement = conn.prepare_cached(&format!(
        "SELECT c.project, c.file_path, c.chunk_index, c.start_byte, c.end_byte, c.chunk_content, c.content_hash, f.size,
             (SELECT embedding FROM mcp_file_chunk_embeddings e WHERE e.chunk_id = c.id AND e.model = ?6),
             substr(f.content, c.start_byte + 1, c.end_byte - c.start_byte) {SHOWN}"
    ))?;
    let mut rows = statement.query(params![id, scope.tenant.to_hex(), project, first, end, model])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let content_hash = hash_of(&row.get::<_, String>(6)?);
    if hash_bytes(row.get_ref(9)?.as_blob().unwrap_or_default()) != content_hash {
        return Ok(None);
    }
    Ok(Some(FoundChunk {
        id,
        project: ProjectName::parse(&row.get::<_, String>(0)?)?,
        path: StorePath::parse(&row.get::<_, String>(1)?)?,
        index: row.get(2)?,
        start: row.get::<_, i64>(3)? as u64,
        end: row.get::<_, i64>(4)? as u64,
        text: row.get(5)?,
        content_hash,
        file_size: row.get::<_, i64>(7)? as u64,
        vector: row.get::<_, Option<Vec<u8>>>(8)?.map(|bytes| floats(&bytes)),
    }))
}

fn unindexed(
    conn: &Connection,
    scope: &SearchScope,
    files: usize,
    bytes: u64,
) -> WorkResult<Vec<UnindexedFile>> {
    let (first, end) = scope.path_range();
    let mut values: Vec<Box<dyn ToSql>> =
        vec![Box::new(scope.tenant.to_hex()), Box::new(first), Box::new(end), Box::new(files as i64)];
    let mut in_project = "";
    if let Some(project) = &scope.project {
        values.push(Box::new(project.as_str().to_owned()));
        in_project = "AND j.project = ?5";
    }
    let mut statement = conn.prepare_cached(&format!(
        "SELECT DISTINCT f.id, f.project, f.path, f.size, f.updated_at FROM mcp_file_index_jobs j
         JOIN mcp_files f ON f.apikey_hash = j.apikey_hash AND f.project = j.project AND f.path = j.file_path
             AND f.deleted = 0
         LEFT JOIN mcp_file_indexed i ON i.apikey_hash = j.apikey_hash AND i.project = j.project
             AND i.file_path = j.file_path
         WHERE j.apikey_hash = ?1 AND j.status IN ('pending', 'processing', 'failed')
             AND j.file_path >= ?2 AND (?3 IS NULL OR j.file_path < ?3) {in_project}
             AND (i.file_updated_at IS NULL OR i.file_updated_at <> f.updated_at)
         ORDER BY f.updated_at DESC, f.project, f.path LIMIT ?4"
    ))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    let mut left = bytes;
    let mut read = conn.prepare_cached("SELECT content FROM mcp_files WHERE id = ?1")?;
    while let Some(row) = rows.next()? {
        let size = row.get::<_, i64>(3)? as u64;
        if size > left {
            break;
        }
        left -= size;
        found.push(UnindexedFile {
            project: ProjectName::parse(&row.get::<_, String>(1)?)?,
            path: StorePath::parse(&row.get::<_, String>(2)?)?,
            content: read.query_row([row.get::<_, i64>(0)?], |row| row.get(0))?,
        });
    }
    Ok(found)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()
}
