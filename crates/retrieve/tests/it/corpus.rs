//! A corpus from one string, in a real index.

use std::sync::Arc;

use index::{Access, Batch, DocChange, Index, Open};
use model::{
    Chunk, ChunkId, ContentHash, DocType, Document, Filter, IndexChoice, IndexKind, LocalEmbedder, Query,
    RepType, Representation, SourceType, Span,
};
use retrieve::{QueryVectors, RankOptions, SearchAnswer};

pub(crate) struct Corpus {
    index: Index,
    // Removed when dropped.
    _folder: tempfile::TempDir,
}

impl Corpus {
    /// Files in the form `//- path` followed by their lines. Blank lines do not cut: a file is one chunk,
    /// unless it has a line `---`, which parts chunks.
    pub(crate) fn new(files: &str) -> Corpus {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::open(Open {
            dir: folder.path().join("state"),
            access: Access::Writer,
            embedding: Words.into(),
            former: Vec::new(),
            root: "/corpus".into(),
        })
        .unwrap();
        let changes = files.split("//- ").skip(1).map(|file| {
            let (path, text) = file.split_once('\n').unwrap();
            put(path.trim(), text)
        });
        index.apply(&Batch { changes: changes.collect() }).unwrap();
        index.publish().unwrap();
        Corpus { index, _folder: folder }
    }

    pub(crate) fn search(&self, text: &str) -> SearchAnswer {
        self.search_in(text, IndexChoice::Auto)
    }

    pub(crate) fn search_in(&self, text: &str, index: IndexChoice) -> SearchAnswer {
        self.query(&Query { text: text.into(), k: 10, index, filter: Filter::default() })
    }

    pub(crate) fn query(&self, query: &Query) -> SearchAnswer {
        self.try_query(query).unwrap()
    }

    pub(crate) fn try_query(&self, query: &Query) -> Result<SearchAnswer, model::Failure> {
        self.query_where(query, &|_| true)
    }

    pub(crate) fn query_where(
        &self,
        query: &Query,
        allows: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<SearchAnswer, model::Failure> {
        let words: Arc<dyn LocalEmbedder> = Arc::new(Words);
        let vectors = QueryVectors::local(&words, &query.text);
        self.query_with(&vectors, query, allows)
    }

    pub(crate) fn query_with(
        &self,
        vectors: &QueryVectors,
        query: &Query,
        allows: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<SearchAnswer, model::Failure> {
        retrieve::search(&self.index.snapshot(), vectors, query, &RankOptions::default(), allows)
    }

    pub(crate) fn paths(&self, text: &str) -> Vec<String> {
        self.search(text).hits.into_iter().map(|hit| hit.rel_path).collect()
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }
}

fn put(path: &str, text: &str) -> DocChange {
    let (doc_type, kind) = match path.rsplit('.').next() {
        Some("rs" | "py" | "go") => (DocType::Code, IndexKind::Code),
        Some("md") => (DocType::Md, IndexKind::Text),
        _ => (DocType::Text, IndexKind::Text),
    };
    let mut line = 1;
    let mut chunks = Vec::new();
    for text in text.trim_end().split("---\n") {
        let lines = text.lines().count() as u32;
        let identity = blake3::hash(format!("{path}\0{line}\0{text}").as_bytes());
        chunks.push(Chunk {
            id: ChunkId::from_digest(identity.as_bytes()),
            ordinal: chunks.len() as u32,
            span: Span::Lines { start_line: line, end_line: line + lines.saturating_sub(1) },
            pointer: None,
            heading: model::Heading::default(),
            kind,
            text: text.to_owned(),
            text_hash: hash(text),
            tokens_est: 1,
        });
        line += lines + 1;
    }
    let document = Document {
        path: path.into(),
        source: SourceType::File,
        doc_type,
        size: text.len() as u64,
        mtime_ns: 0,
        inode: 0,
        content_hash: Some(hash(text)),
        reason: None,
        unread: None,
    };
    let representation = Representation {
        rep_type: RepType::RawText,
        rep_hash: hash(text),
        meta_json: "{}".into(),
        chunks,
        produced: None,
    };
    DocChange::Put { document, representations: vec![representation] }
}

fn hash(text: &str) -> ContentHash {
    ContentHash(*blake3::hash(text.as_bytes()).as_bytes())
}

/// Hashes words, as the built-in embedder does.
struct Words;

const DIMENSIONS: usize = 64;

impl LocalEmbedder for Words {
    fn model(&self, _kind: IndexKind) -> &str {
        "words"
    }

    fn dimensions(&self, _kind: IndexKind) -> usize {
        DIMENSIONS
    }

    fn embed(&self, _kind: IndexKind, texts: &[&str]) -> Vec<Vec<f32>> {
        texts.iter().map(|text| vector(text)).collect()
    }
}

/// How near two texts are to this embedder.
pub(crate) fn nearness(one: &str, other: &str) -> f32 {
    vector(one).iter().zip(vector(other)).map(|(x, y)| x * y).sum()
}

fn vector(text: &str) -> Vec<f32> {
    let mut counts = vec![0f32; DIMENSIONS];
    index::tokens::index_tokens(text, &mut |token| {
        let hash = blake3::hash(token.as_bytes());
        let [bucket, sign, ..] = *hash.as_bytes();
        counts[usize::from(bucket) % DIMENSIONS] += if sign > 127 { 1.0 } else { -1.0 };
    });
    let norm = counts.iter().map(|x| x * x).sum::<f32>().sqrt();
    counts.iter().map(|x| if norm > 0.0 { x / norm } else { 0.0 }).collect()
}
