//! Small documents, a small embedder, and a whole answer in one call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use index::{
    Access, Batch, DocChange, Index, IndexError, LexicalQuery, NewVector, Open, QueryTerm, Snapshot, tokens,
};
use model::filter::{Admit, DocumentFacts, Verdict};
use model::{
    Chunk, ChunkId, ContentHash, DocType, Document, EmbedLimits, Embedder, EmbeddingProvider, IndexKind,
    LocalEmbedder, ProducedText, ProviderFuture, Purpose, RepType, Representation, SkipReason, SourceType,
    Span,
};

pub(crate) const DIMENSIONS: usize = 24;

/// Counts tokens into as many buckets as there are dimensions.
#[derive(Default)]
pub(crate) struct Buckets {
    pub(crate) name: Option<String>,
}

impl LocalEmbedder for Buckets {
    fn model(&self, _kind: IndexKind) -> &str {
        self.name.as_deref().unwrap_or("buckets-1")
    }

    fn dimensions(&self, _kind: IndexKind) -> usize {
        DIMENSIONS
    }

    fn embed(&self, _kind: IndexKind, texts: &[&str]) -> Vec<Vec<f32>> {
        texts.iter().map(|text| vector(text)).collect()
    }
}

/// The same from a provider, by the name of its model. The index must not ask it.
pub(crate) struct Bought(pub(crate) &'static str);

impl Embedder for Bought {
    fn provider(&self) -> &str {
        "bought"
    }

    fn model(&self, _kind: IndexKind) -> &str {
        self.0
    }

    fn dimensions(&self, _kind: IndexKind) -> usize {
        DIMENSIONS
    }

    fn limits(&self) -> EmbedLimits {
        EmbedLimits { texts: 1, bytes: 1, requests: 1 }
    }

    fn embed<'a>(&'a self, _: IndexKind, _: Purpose, _: &'a [&'a str]) -> ProviderFuture<'a, Vec<Vec<f32>>> {
        panic!("the index asks a remote embedder")
    }
}

pub(crate) fn bought(model: &'static str) -> EmbeddingProvider {
    EmbeddingProvider::Remote(Arc::new(Bought(model)))
}

/// Gives every pending chunk its vector and publishes; returns the texts that had to be bought, sorted. A text that says
/// so is refused.
pub(crate) fn embed_all(index: &Index) -> Vec<String> {
    let mut texts = Vec::new();
    for kind in [IndexKind::Text, IndexKind::Code] {
        let mut after = ChunkId(0);
        loop {
            let pending = index.pending_chunks(kind, after, 2).unwrap();
            let Some(last) = pending.last() else { break };
            after = last.id;
            let vectors: Vec<NewVector> = pending
                .into_iter()
                .map(|chunk| {
                    let is_refused = chunk.text.contains("unembeddable");
                    let vector = chunk.bought.unwrap_or_else(|| {
                        texts.push(chunk.text.clone());
                        vector(&chunk.text)
                    });
                    let vector =
                        if is_refused { Err("this text has no meaning".to_owned()) } else { Ok(vector) };
                    NewVector { id: chunk.id, text_hash: chunk.text_hash, vector }
                })
                .collect();
            // One by one: the same text twice in a row is bought once.
            for vector in vectors.chunks(1) {
                index.store_vectors(kind, vector).unwrap();
            }
        }
    }
    index.publish().unwrap();
    texts.sort();
    texts.dedup();
    texts
}

pub(crate) fn vector(text: &str) -> Vec<f32> {
    let mut buckets = vec![0f32; DIMENSIONS];
    tokens::index_tokens(text, &mut |token| {
        let hash = blake3::hash(token.as_bytes());
        let byte = usize::from(hash.as_bytes()[0]);
        buckets[byte % DIMENSIONS] += if byte > 127 { 1.0 } else { -1.0 };
    });
    let length = buckets.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        buckets.iter_mut().for_each(|x| *x /= length);
    }
    buckets
}

pub(crate) struct State {
    // Removed when dropped.
    _folder: tempfile::TempDir,
    pub(crate) dir: PathBuf,
}

impl State {
    pub(crate) fn new() -> State {
        // In memory where possible: these tests sync a great deal.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        State { dir: folder.path().join("state"), _folder: folder }
    }

    pub(crate) fn writer(&self) -> Index {
        self.try_open(Access::Writer).unwrap()
    }

    pub(crate) fn reader(&self) -> Index {
        self.try_open(Access::Reader).unwrap()
    }

    pub(crate) fn try_open(&self, access: Access) -> Result<Index, IndexError> {
        open(&self.dir, access, Buckets::default())
    }

    pub(crate) fn catalog(&self) -> PathBuf {
        self.dir.join("meta.sqlite")
    }

    /// The catalog as another program reads it. It must not write: its pages would have no checksums.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        rusqlite::Connection::open_with_flags(self.catalog(), flags).unwrap()
    }

    /// The same for writing, while the index is open: then the pages go through its hands.
    pub(crate) fn beside(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.catalog()).unwrap()
    }

    /// Changes the catalog of a closed index and gives its pages their checksums again.
    pub(crate) fn edit(&self, sql: &str) {
        self.beside().execute_batch(sql).unwrap();
        self.damage(|bytes| {
            for page in bytes.chunks_exact_mut(16384) {
                let (body, seal) = page.split_at_mut(16376);
                seal[..4].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
                seal[4..].copy_from_slice(b"d2pg");
            }
        });
    }

    /// Makes the catalog of a closed index one without checksums, as versions before format 3 wrote them.
    pub(crate) fn unseal(&self) {
        let old = self.dir.join("older");
        let copy = rusqlite::Connection::open(&old).unwrap();
        copy.execute_batch("PRAGMA page_size = 16384; PRAGMA application_id = 0x64326d63").unwrap();
        copy.execute("ATTACH ?1 AS sealed", [self.catalog().to_str().unwrap()]).unwrap();
        let rows = |sql: &str| -> Vec<String> {
            let mut statement = copy.prepare(sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let from = "FROM sealed.sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'";
        for sql in rows(&format!("SELECT sql {from}")) {
            copy.execute_batch(&sql).unwrap();
        }
        for table in rows(&format!("SELECT name {from} AND type = 'table'")) {
            copy.execute_batch(&format!("INSERT INTO main.{table} SELECT * FROM sealed.{table}")).unwrap();
        }
        copy.execute_batch("DETACH sealed").unwrap();
        let _: String = copy.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).unwrap();
        drop(copy);
        std::fs::rename(old, self.catalog()).unwrap();
    }

    /// Changes the bytes of the catalog of a closed index.
    pub(crate) fn damage(&self, damage: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.catalog()).unwrap();
        damage(&mut bytes);
        std::fs::write(self.catalog(), &bytes).unwrap();
    }
}

pub(crate) fn open(
    dir: &Path,
    access: Access,
    embedding: impl Into<EmbeddingProvider>,
) -> Result<Index, IndexError> {
    Index::open(Open {
        dir: dir.to_owned(),
        access,
        embedding: embedding.into(),
        former: Vec::new(),
        root: "/corpus".to_owned(),
    })
}

pub(crate) fn hash(text: &str) -> ContentHash {
    ContentHash(*blake3::hash(text.as_bytes()).as_bytes())
}

/// A document whose chunks are the paragraphs of `text`.
pub(crate) fn put(path: &str, text: &str) -> DocChange {
    let kind = if path.ends_with(".rs") { IndexKind::Code } else { IndexKind::Text };
    put_as(path, text, kind)
}

pub(crate) fn put_as(path: &str, text: &str, kind: IndexKind) -> DocChange {
    let mut chunks = Vec::new();
    let mut line = 1;
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        let end_line = line + paragraph.lines().count() as u32 - 1;
        let identity = blake3::hash(format!("{path}\0{line}\0{end_line}\0{paragraph}").as_bytes());
        chunks.push(Chunk {
            id: ChunkId::from_digest(identity.as_bytes()),
            ordinal: chunks.len() as u32,
            span: Span::Lines { start_line: line, end_line },
            pointer: None,
            heading: model::Heading::default(),
            kind,
            text: paragraph.to_owned(),
            text_hash: hash(paragraph),
            tokens_est: paragraph.len() as u32 / 4,
        });
        line = end_line + 2;
    }
    put_chunks(path, text, kind, chunks)
}

pub(crate) fn put_chunks(path: &str, text: &str, kind: IndexKind, chunks: Vec<Chunk>) -> DocChange {
    let document = Document {
        path: path.to_owned(),
        source: SourceType::File,
        doc_type: if kind == IndexKind::Code { DocType::Code } else { DocType::Md },
        size: text.len() as u64,
        mtime_ns: 1_700_000_000_123_456_789,
        inode: 7,
        content_hash: Some(hash(text)),
        reason: None,
        unread: None,
    };
    let representation = Representation {
        rep_type: RepType::RawText,
        rep_hash: hash(&format!("{kind} {text}")),
        meta_json: "{}".to_owned(),
        chunks,
        produced: None,
    };
    DocChange::Put { document, representations: vec![representation] }
}

/// The same document as one that could not be read.
pub(crate) fn unread(path: &str) -> DocChange {
    let DocChange::Put { mut document, .. } = put(path, "") else { unreachable!() };
    document.reason = Some(SkipReason::NotTried { detail: "unreadable".to_owned() });
    DocChange::Put { document, representations: Vec::new() }
}

/// A document whose text had to be extracted.
pub(crate) fn produced(path: &str, text: &str, producer: &str) -> DocChange {
    let mut change = put(path, text);
    let produced = ProducedText { producer: producer.to_owned(), text: format!("[\"a\"]\n{text}") };
    representation(&mut change).produced = Some(produced);
    change
}

/// The only representation of a document.
pub(crate) fn representation(change: &mut DocChange) -> &mut Representation {
    match change {
        DocChange::Put { representations, .. } => &mut representations[0],
        _ => panic!("no document is put"),
    }
}

pub(crate) fn delete(path: &str) -> DocChange {
    DocChange::Delete { path: path.to_owned() }
}

pub(crate) fn apply(index: &Index, changes: Vec<DocChange>) -> index::Applied {
    index.apply(&Batch { changes }).unwrap()
}

pub(crate) fn terms(query: &str) -> Vec<QueryTerm> {
    tokens::query_tokens(query).into_iter().map(|token| QueryTerm::new(token, 1.0)).collect()
}

/// The chunks that a query finds lexically: `path#ordinal`, and the bits of the score.
pub(crate) fn lexical(snapshot: &Snapshot, query: &str, kind: Option<IndexKind>) -> Vec<(String, u32)> {
    let terms = terms(query);
    let hits = snapshot.lexical(&LexicalQuery { terms: &terms, kind, admit: None, limit: 1000 });
    named(snapshot, &hits)
}

pub(crate) fn by_vector(snapshot: &Snapshot, query: &str, kind: IndexKind) -> Vec<(String, u32)> {
    let hits = snapshot.vector(kind, &vector(query), 1000, &[], None);
    named(snapshot, &hits)
}

fn named(snapshot: &Snapshot, hits: &[model::Ranked]) -> Vec<(String, u32)> {
    let ids: Vec<ChunkId> = hits.iter().map(|hit| hit.chunk).collect();
    let chunks = snapshot.chunks(&ids).unwrap();
    assert_eq!(chunks.len(), hits.len(), "every hit is a live chunk");
    chunks
        .iter()
        .zip(hits)
        .map(|(chunk, hit)| {
            (format!("{}#{} {}", chunk.rel_path, chunk.ordinal, chunk.id), hit.score.to_bits())
        })
        .collect()
}

pub(crate) fn paths(answer: &[(String, u32)]) -> Vec<&str> {
    answer.iter().filter_map(|(name, _)| name.split('#').next()).collect()
}

pub(crate) const WORDS: [&str; 12] = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "parseConfig",
    "read_file",
    "検索",
    "naïve",
    "HTTPServer",
    "error",
    "index",
    "42",
];

/// Every answer that a snapshot gives to a fixed set of questions, scores bit by bit.
pub(crate) fn all_answers(snapshot: &Snapshot) -> Vec<Vec<(String, u32)>> {
    let mut answers = Vec::new();
    let queries =
        WORDS.iter().map(|word| (*word).to_owned()).chain(["alpha beta src".to_owned(), WORDS.join(" ")]);
    for query in queries {
        for kind in [None, Some(IndexKind::Text), Some(IndexKind::Code)] {
            answers.push(lexical(snapshot, &query, kind));
        }
        for kind in [IndexKind::Text, IndexKind::Code] {
            answers.push(by_vector(snapshot, &query, kind));
        }
    }
    answers
}

/// Hits as they are ranked, by id.
pub(crate) type Rankings = Vec<Vec<(ChunkId, u32)>>;

/// The same as [`all_answers`] without looking at the chunks, which is faster.
pub(crate) fn all_rankings(snapshot: &Snapshot) -> Rankings {
    let bits = |hits: Vec<model::Ranked>| hits.iter().map(|hit| (hit.chunk, hit.score.to_bits())).collect();
    let mut rankings = Vec::new();
    for query in WORDS {
        let terms = terms(query);
        rankings.push(bits(snapshot.lexical(&LexicalQuery {
            terms: &terms,
            kind: None,
            admit: None,
            limit: 1000,
        })));
        for kind in [IndexKind::Text, IndexKind::Code] {
            rankings.push(bits(snapshot.vector(kind, &vector(query), 1000, &[], None)));
        }
    }
    rankings
}

/// A filter for tests: by a function.
pub(crate) struct By<F>(pub(crate) F);

impl<F: Fn(&str, DocType) -> bool> Admit for By<F> {
    fn document(&self, facts: &DocumentFacts<'_>) -> Verdict {
        (self.0)(facts.path, facts.doc_type).into()
    }
}
