//! The rows of one file's chunks in SQLite: chunks, words, postings, vectors and the totals of their project.

use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, HashMap};

use super::fault::WorkResult;
use crate::entry::StoreTime;
use crate::indexing::{NewChunk, NewChunks};
use crate::path::StorePath;
use crate::project::ProjectScope;

/// The number of a project in postings; made where there is none.
pub(super) fn scope_id(conn: &Connection, scope: &ProjectScope) -> WorkResult<i64> {
    let key = params![scope.tenant.to_hex(), scope.project.as_str()];
    let sql = "SELECT id FROM mcp_file_scopes WHERE apikey_hash = ?1 AND project = ?2";
    if let Some(id) = conn.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let sql = "INSERT INTO mcp_file_scopes (apikey_hash, project) VALUES (?1, ?2)";
    conn.prepare_cached(sql)?.execute(key)?;
    Ok(conn.last_insert_rowid())
}

/// A chunk as it is stored.
struct Known {
    id: i64,
    start: i64,
    end: i64,
    content_hash: String,
    tokenizer: String,
}

/// Makes the rows of a file those of `new`. What is the same stays.
pub(super) fn replace(
    conn: &Connection,
    scope: &ProjectScope,
    path: &StorePath,
    new: &NewChunks,
) -> WorkResult<()> {
    let scope_id = scope_id(conn, scope)?;
    let mut known = known(conn, scope, path)?;
    let mut fresh = Vec::new();
    for chunk in &new.chunks {
        let is_same = known.get(&chunk.index).is_some_and(|known| {
            (known.start, known.end) == (chunk.range.start as i64, chunk.range.end as i64)
                && known.content_hash == chunk.content_hash.to_hex()
                && known.tokenizer == new.mark.tokenizer
        });
        if !is_same {
            fresh.push(chunk);
        } else if let Some(known) = known.remove(&chunk.index)
            && let Some(vector) = &chunk.vector
        {
            put_vector(conn, scope_id, known.id, vector, &new.model, new.now)?;
        }
    }
    for gone in known.into_values() {
        remove_chunk(conn, scope_id, gone.id)?;
    }
    for chunk in fresh {
        add_chunk(conn, scope_id, scope, path, chunk, new)?;
    }
    conn.prepare_cached(
        "INSERT OR REPLACE INTO mcp_file_indexed
             (apikey_hash, project, file_path, file_updated_at, content_hash, chunker, tokenizer)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        scope.tenant.to_hex(),
        scope.project.as_str(),
        path.as_str(),
        new.file_updated_at.0,
        new.mark.content_hash.to_hex(),
        new.mark.chunker,
        new.mark.tokenizer,
    ])?;
    Ok(())
}

/// Removes all rows of a file.
pub(super) fn remove(conn: &Connection, scope: &ProjectScope, path: &StorePath) -> WorkResult<()> {
    let scope_id = scope_id(conn, scope)?;
    for gone in known(conn, scope, path)?.into_values() {
        remove_chunk(conn, scope_id, gone.id)?;
    }
    let sql = "DELETE FROM mcp_file_indexed WHERE apikey_hash = ?1 AND project = ?2 AND file_path = ?3";
    conn.prepare_cached(sql)?.execute(params![
        scope.tenant.to_hex(),
        scope.project.as_str(),
        path.as_str()
    ])?;
    Ok(())
}

/// A vector twice: whole, and small for walking through all of a project.
pub(super) fn put_vector(
    conn: &Connection,
    scope_id: i64,
    chunk_id: i64,
    vector: &[f32],
    model: &str,
    now: StoreTime,
) -> WorkResult<()> {
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    conn.prepare_cached(
        "INSERT INTO mcp_file_chunk_embeddings (chunk_id, embedding, model, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?4)
         ON CONFLICT (chunk_id) DO UPDATE SET embedding = ?2, model = ?3, updated_at = ?4",
    )?
    .execute(params![chunk_id, bytes, model, now.0])?;
    let sql =
        "INSERT OR REPLACE INTO mcp_file_scope_vectors (scope_id, chunk_id, vector) VALUES (?1, ?2, ?3)";
    conn.prepare_cached(sql)?.execute(params![scope_id, chunk_id, small(vector)])?;
    Ok(())
}

/// The vector in signed bytes at unit length, so that walking through a project reads a quarter.
fn small(vector: &[f32]) -> Vec<u8> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let scale = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let unit = if length > 0.0 && scale > 0.0 { 1.0 / (scale * length) } else { 0.0 };
    let mut bytes = unit.to_le_bytes().to_vec();
    bytes.extend(vector.iter().map(|x| (x * scale).round() as i8 as u8));
    bytes
}

/// About the cosine of a question at unit length with what [`small`] made.
pub(super) fn small_dot(question: &[f32], bytes: &[u8]) -> f32 {
    let Some((unit, numbers)) = bytes.split_first_chunk::<4>() else { return 0.0 };
    let mut lanes = [0.0_f32; 16];
    let (whole, rest) = numbers.as_chunks::<16>();
    let (asked, asked_rest) = question.as_chunks::<16>();
    for (a, b) in asked.iter().zip(whole) {
        for lane in 0..16 {
            lanes[lane] += a[lane] * f32::from(b[lane] as i8);
        }
    }
    let tail: f32 = asked_rest.iter().zip(rest).map(|(a, b)| a * f32::from(*b as i8)).sum();
    (lanes.iter().sum::<f32>() + tail) * f32::from_le_bytes(*unit)
}

fn known(conn: &Connection, scope: &ProjectScope, path: &StorePath) -> WorkResult<BTreeMap<u32, Known>> {
    let mut statement = conn.prepare_cached(
        "SELECT c.chunk_index, c.id, c.start_byte, c.end_byte, c.content_hash, b.tokenizer
         FROM mcp_file_chunks c LEFT JOIN mcp_file_chunk_bm25 b ON b.chunk_id = c.id
         WHERE c.apikey_hash = ?1 AND c.project = ?2 AND c.file_path = ?3",
    )?;
    let key = params![scope.tenant.to_hex(), scope.project.as_str(), path.as_str()];
    let rows = statement.query_map(key, |row| {
        let known = Known {
            id: row.get(1)?,
            start: row.get(2)?,
            end: row.get(3)?,
            content_hash: row.get(4)?,
            tokenizer: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
        };
        Ok((row.get(0)?, known))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn add_chunk(
    conn: &Connection,
    scope_id: i64,
    scope: &ProjectScope,
    path: &StorePath,
    chunk: &NewChunk,
    new: &NewChunks,
) -> WorkResult<()> {
    conn.prepare_cached(
        "INSERT INTO mcp_file_chunks
             (apikey_hash, project, file_path, chunk_index, start_byte, end_byte, chunk_content, content_hash,
              created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)",
    )?
    .execute(params![
        scope.tenant.to_hex(),
        scope.project.as_str(),
        path.as_str(),
        chunk.index,
        chunk.range.start as i64,
        chunk.range.end as i64,
        chunk.text,
        chunk.content_hash.to_hex(),
        new.now.0,
    ])?;
    let id = conn.last_insert_rowid();
    conn.prepare_cached(
        "INSERT INTO mcp_file_chunk_bm25 (chunk_id, tokens, token_count, tokenizer, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
    )?
    .execute(params![
        id,
        chunk.words.to_json().to_string(),
        chunk.words.length,
        new.mark.tokenizer,
        new.now.0
    ])?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO mcp_file_postings (scope_id, token, chunk_id, count, length) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (token, count) in &chunk.words.counts {
        insert.execute(params![scope_id, token, id, count, chunk.words.length])?;
    }
    add_to_totals(conn, scope_id, 1, i64::from(chunk.words.length))?;
    if let Some(vector) = &chunk.vector {
        put_vector(conn, scope_id, id, vector, &new.model, new.now)?;
    }
    Ok(())
}

fn remove_chunk(conn: &Connection, scope_id: i64, id: i64) -> WorkResult<()> {
    let sql = "SELECT tokens, token_count FROM mcp_file_chunk_bm25 WHERE chunk_id = ?1";
    let words: Option<(String, i64)> =
        conn.prepare_cached(sql)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some((tokens, length)) = words {
        let tokens: HashMap<String, u32> = serde_json::from_str(&tokens).unwrap_or_default();
        let sql = "DELETE FROM mcp_file_postings WHERE scope_id = ?1 AND token = ?2 AND chunk_id = ?3";
        let mut delete = conn.prepare_cached(sql)?;
        for token in tokens.keys() {
            delete.execute(params![scope_id, token, id])?;
        }
        add_to_totals(conn, scope_id, -1, -length)?;
    }
    let sql = "DELETE FROM mcp_file_scope_vectors WHERE scope_id = ?1 AND chunk_id = ?2";
    conn.prepare_cached(sql)?.execute(params![scope_id, id])?;
    // Words and vectors go with it.
    conn.prepare_cached("DELETE FROM mcp_file_chunks WHERE id = ?1")?.execute([id])?;
    Ok(())
}

fn add_to_totals(conn: &Connection, scope_id: i64, chunks: i64, tokens: i64) -> WorkResult<()> {
    let sql = "UPDATE mcp_file_scopes SET chunks = chunks + ?2, tokens = tokens + ?3 WHERE id = ?1";
    conn.prepare_cached(sql)?.execute(params![scope_id, chunks, tokens])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_vectors_are_nearly_as_good() {
        let vector: Vec<f32> = (0..70).map(|at| ((at * 37 % 100) as f32 - 50.0) / 7.0).collect();
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        let question: Vec<f32> = vector.iter().map(|x| x / length).collect();
        assert!((small_dot(&question, &small(&vector)) - 1.0).abs() < 0.01);
        assert_eq!(small_dot(&question, &small(&[0.0; 70])), 0.0);
    }
}
