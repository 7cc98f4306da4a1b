//! The worker against a provider that behaves as scripted, over a real index.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use index::{Access, Batch, DocChange, LexicalQuery, Open, QueryTerm};
use model::{
    Chunk, ContentHash, DocType, Document, EmbeddingProvider, Heading, RepType, Representation, SourceType,
    Span,
};
use testkit::{ScriptedEmbedder, Step, rate_limited};

use super::*;

struct Corpus {
    folder: tempfile::TempDir,
    index: Arc<Index>,
}

impl Corpus {
    /// Files whose lines are their chunks, published by their words.
    fn new(embedder: &Arc<ScriptedEmbedder>, files: &[(&str, &str)]) -> Corpus {
        let folder = tempfile::tempdir().unwrap();
        let index = open(&folder, embedder);
        let changes = files.iter().map(|(path, text)| put(path, text)).collect();
        index.apply(&Batch { changes }).unwrap();
        index.publish().unwrap();
        Corpus { folder, index }
    }

    /// The same after the process has ended.
    fn reopened(self, embedder: &Arc<ScriptedEmbedder>) -> Corpus {
        drop(self.index);
        let index = open(&self.folder, embedder);
        index.repair(&|_, _| {}).unwrap();
        Corpus { folder: self.folder, index }
    }

    async fn embed(&self, embedder: &Arc<ScriptedEmbedder>) -> EmbedReport {
        let embedder: Arc<dyn Embedder> = Arc::clone(embedder) as _;
        embed_pending(&self.index, &embedder, &|_| {}).await.unwrap()
    }

    fn pending(&self) -> u64 {
        [IndexKind::Text, IndexKind::Code].map(|kind| self.index.pending_count(kind).unwrap()).iter().sum()
    }

    fn found_by_word(&self, word: &str) -> usize {
        let terms = [QueryTerm::new(word.to_owned(), 1.0)];
        let query = LexicalQuery { terms: &terms, kind: None, admit: None, limit: 100 };
        self.index.snapshot().lexical(&query).len()
    }

    fn found_by_vector(&self) -> usize {
        let vector = ScriptedEmbedder::vector("abcdefghijklmnopqrstuvwxyz");
        let found = |kind| self.index.snapshot().vector(kind, &vector, 100, &[], None).len();
        found(IndexKind::Text) + found(IndexKind::Code)
    }
}

fn open(folder: &tempfile::TempDir, embedder: &Arc<ScriptedEmbedder>) -> Arc<Index> {
    let embedding = EmbeddingProvider::Remote(Arc::clone(embedder) as _);
    let dir = folder.path().join("state");
    Arc::new(
        Index::open(Open {
            dir,
            access: Access::Writer,
            embedding,
            former: Vec::new(),
            root: "/".to_owned(),
        })
        .unwrap(),
    )
}

fn hash(text: &str) -> ContentHash {
    ContentHash(*blake3::hash(text.as_bytes()).as_bytes())
}

fn put(path: &str, text: &str) -> DocChange {
    let kind = if path.ends_with(".rs") { IndexKind::Code } else { IndexKind::Text };
    let chunk = |(number, line): (usize, &str)| {
        let at = number as u32 + 1;
        Chunk {
            id: ChunkId::from_digest(&hash(&format!("{path} {at} {line}")).0),
            ordinal: number as u32,
            span: Span::Lines { start_line: at, end_line: at },
            pointer: None,
            heading: Heading::default(),
            kind,
            text: line.to_owned(),
            text_hash: hash(line),
            tokens_est: 1,
        }
    };
    let document = Document {
        path: path.to_owned(),
        source: SourceType::File,
        doc_type: DocType::Text,
        size: text.len() as u64,
        mtime_ns: 1,
        inode: 1,
        content_hash: Some(hash(text)),
        reason: None,
        unread: None,
    };
    let representation = Representation {
        rep_type: RepType::RawText,
        rep_hash: hash(text),
        meta_json: "{}".to_owned(),
        chunks: text.lines().enumerate().map(chunk).collect(),
        produced: None,
    };
    DocChange::Put { document, representations: vec![representation] }
}

const FILES: &[(&str, &str)] = &[
    ("a.txt", "alpha one\nbeta two\ngamma three"),
    ("b.txt", "beta two\ndelta four"),
    ("c.rs", "alpha one\nzeta"),
];

fn limits(texts: usize, requests: usize) -> EmbedLimits {
    EmbedLimits { texts, bytes: 1 << 16, requests }
}

fn unreachable() -> Step {
    Step::Fail(ProviderErrorKind::Unreachable { reason: "the line is dead".to_owned() })
}

#[tokio::test]
async fn words_are_found_while_vectors_are_pending() {
    let embedder = ScriptedEmbedder::new("m").shared();
    embedder.always(Step::WaitAtGate);
    let corpus = Corpus::new(&embedder, FILES);
    let told = AtomicU64::new(0);
    let on_stored = |chunks| {
        told.fetch_add(chunks, Relaxed);
    };
    let remote: Arc<dyn Embedder> = Arc::clone(&embedder) as _;
    let work = embed_pending(&corpus.index, &remote, &on_stored);
    let look = async {
        while embedder.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(corpus.found_by_word("beta"), 2);
        assert_eq!((corpus.found_by_vector(), corpus.pending()), (0, 7));
        embedder.open_gate();
    };
    let (report, ()) = futures::future::join(work, look).await;
    assert_eq!(report.unwrap(), EmbedReport { embedded: 7, refused: 0, stopped: None });
    assert_eq!((corpus.found_by_vector(), corpus.pending(), told.load(Relaxed)), (7, 0, 7));
    assert_eq!(corpus.index.counts().unwrap().embedded, 7);
}

#[tokio::test(start_paused = true)]
async fn a_text_is_sent_once_and_limits_are_kept() {
    let embedder = ScriptedEmbedder::new("m").with_limits(limits(4, 2)).shared();
    let corpus = Corpus::new(&embedder, FILES);
    assert_eq!(corpus.embed(&embedder).await.embedded, 7);
    // The text index has each text once; the code index is another, but the model is the same.
    assert_eq!(embedder.texts(), ["alpha one", "beta two", "delta four", "gamma three", "zeta"]);
    assert!(embedder.requests().iter().all(|request| request.texts.len() <= 2 && !request.is_question));
    assert_eq!(embedder.most_under_way(), 2);
}

#[tokio::test(start_paused = true)]
async fn requests_are_no_larger_than_allowed() {
    let limits = EmbedLimits { texts: 100, bytes: 12, requests: 1 };
    let embedder = ScriptedEmbedder::new("m").with_limits(limits).shared();
    let corpus = Corpus::new(&embedder, &[("a.txt", "aaaa\nbbbb\ncccc\ndddd\nthis one is longer than that")]);
    assert_eq!(corpus.embed(&embedder).await.embedded, 5);
    for request in embedder.requests() {
        let bytes: usize = request.texts.iter().map(String::len).sum();
        assert!(bytes <= 12 || request.texts.len() == 1, "{request:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_waits_the_told_time() {
    let embedder = ScriptedEmbedder::new("m").then([rate_limited(7), rate_limited(7)]).shared();
    let corpus = Corpus::new(&embedder, &[("a.txt", "alpha\nbeta")]);
    let started = Instant::now();
    let report = corpus.embed(&embedder).await;
    assert_eq!((report.embedded, report.stopped), (2, None));
    assert_eq!(started.elapsed().as_secs(), 14);
    assert_eq!(embedder.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_away_is_waited_for_and_then_given_up() {
    let embedder = ScriptedEmbedder::new("m").then([unreachable(), Step::OneTooFew]).shared();
    let corpus = Corpus::new(&embedder, &[("a.txt", "alpha\nbeta")]);
    let started = Instant::now();
    assert_eq!(corpus.embed(&embedder).await.embedded, 2);
    let waited = started.elapsed().as_millis();
    assert!((750..=1500).contains(&waited), "{waited} ms");

    let embedder = ScriptedEmbedder::new("m").shared();
    embedder.always(unreachable());
    let corpus = Corpus::new(&embedder, &[("a.txt", "alpha\nbeta")]);
    let report = corpus.embed(&embedder).await;
    assert!(matches!(report.stopped.unwrap().kind, ProviderErrorKind::Unreachable { .. }));
    assert_eq!(corpus.pending(), 2, "a later run goes on");
    assert_eq!(corpus.found_by_word("alpha"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_is_repeated() {
    let embedder = ScriptedEmbedder::new("m").then([Step::Hang]).shared();
    let corpus = Corpus::new(&embedder, &[("a.txt", "alpha")]);
    assert_eq!(corpus.embed(&embedder).await.embedded, 1);
    assert_eq!(embedder.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_stops_at_once_and_words_stay_searchable() {
    let embedder = ScriptedEmbedder::new("m").with_limits(limits(1, 2)).shared();
    embedder.always(Step::Fail(ProviderErrorKind::Auth));
    let corpus = Corpus::new(&embedder, FILES);
    let report = corpus.embed(&embedder).await;
    assert_eq!(report.stopped, Some(ProviderError::new(ScriptedEmbedder::PROVIDER, ProviderErrorKind::Auth)));
    assert_eq!((report.embedded, report.refused, corpus.pending()), (0, 0, 7));
    assert!(embedder.requests().len() <= 2, "those that were under way");
    assert_eq!(corpus.found_by_word("beta"), 2);
}

#[tokio::test(start_paused = true)]
async fn vectors_of_another_length_are_a_bad_answer() {
    let embedder = ScriptedEmbedder::new("m").shared();
    embedder.always(Step::Dimensions(7));
    let corpus = Corpus::new(&embedder, FILES);
    let report = corpus.embed(&embedder).await;
    let ProviderErrorKind::BadAnswer { reason } = report.stopped.unwrap().kind else { panic!() };
    assert_eq!(reason, "a vector of 7 numbers instead of 26");
    assert_eq!((corpus.pending(), corpus.found_by_vector()), (7, 0), "nothing of it is stored");
}

#[tokio::test(start_paused = true)]
async fn one_refused_text_does_not_cost_its_neighbours() {
    let embedder = ScriptedEmbedder::new("m").refusing("delta").shared();
    let corpus = Corpus::new(&embedder, FILES);
    assert_eq!(corpus.embed(&embedder).await, EmbedReport { embedded: 6, refused: 1, stopped: None });
    assert_eq!(corpus.index.counts().unwrap().embedding_errors, 1);
    assert_eq!((corpus.pending(), corpus.found_by_word("delta")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_everything_condemns_no_text() {
    let embedder = ScriptedEmbedder::new("m").with_limits(limits(16, 1)).refusing("text").shared();
    let lines: Vec<String> = (0..12).map(|number| format!("text {number}")).collect();
    let corpus = Corpus::new(&embedder, &[("a.txt", &lines.join("\n"))]);
    let report = corpus.embed(&embedder).await;
    assert!(matches!(report.stopped.unwrap().kind, ProviderErrorKind::Refused { .. }));
    assert_eq!((report.refused, corpus.pending()), (0, 12));
}

#[tokio::test(start_paused = true)]
async fn what_was_stored_before_a_kill_is_not_bought_again() {
    let steps = [Step::Answer, Step::Answer, Step::Hang];
    let first = ScriptedEmbedder::new("m").with_limits(limits(1, 1)).then(steps).shared();
    let corpus = Corpus::new(&first, FILES);
    // Dropped while the third request is under way.
    let killed = tokio::time::timeout(Duration::from_secs(1), corpus.embed(&first)).await;
    assert!(killed.is_err());
    let requests = first.requests();
    let bought: Vec<&String> = requests[..2].iter().flat_map(|request| &request.texts).collect();

    let second = ScriptedEmbedder::new("m").shared();
    let corpus = corpus.reopened(&second);
    corpus.embed(&second).await;
    assert_eq!((corpus.pending(), corpus.found_by_vector()), (0, 7));
    assert_eq!(second.texts().len(), 3);
    assert!(second.texts().iter().all(|text| !bought.contains(&text)), "{bought:?} {:?}", second.texts());
}

#[tokio::test(start_paused = true)]
async fn another_model_embeds_again_and_the_first_one_costs_nothing_when_it_comes_back() {
    let one = ScriptedEmbedder::new("one").shared();
    let corpus = Corpus::new(&one, FILES);
    corpus.embed(&one).await;
    let two = ScriptedEmbedder::new("two").shared();
    let corpus = corpus.reopened(&two);
    assert_eq!((corpus.pending(), corpus.found_by_vector()), (7, 0));
    assert_eq!(corpus.found_by_word("beta"), 2, "words answer meanwhile");
    corpus.embed(&two).await;
    assert_eq!((corpus.found_by_vector(), two.texts().len()), (7, 5));
    let again = ScriptedEmbedder::new("one").shared();
    let corpus = corpus.reopened(&again);
    corpus.embed(&again).await;
    assert_eq!((corpus.found_by_vector(), again.requests().len()), (7, 0));
}
