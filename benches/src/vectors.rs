//! The vector search against a scan of every vector, in one process: time and recall as the index grows.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use index::{Access, Batch, DocChange, Index, Open, Snapshot};
use model::filter::{Admit, DocumentFacts, Verdict};
use model::{
    Chunk, ChunkId, ContentHash, DocType, Document, Heading, IndexKind, LocalEmbedder, Ranked, RepType,
    Representation, SourceType, Span,
};
use providers::local::TableEmbedder;

use crate::Setting;
use crate::figures::Report;
use crate::measure::{cpu_of_thread, milliseconds};

/// Numbers of vectors: around the one from which the index uses sketches, and up to a million.
const ROWS: &[usize] = &[25_000, 50_000, 100_000, 300_000, 1_000_000];
/// Lines of a passage.
const LINES: usize = 14;
/// Passages of one document, so that filters have something to choose from.
const PASSAGES: usize = 100;
const QUESTIONS: usize = 300;
/// As many as a search asks for, usually and at most.
const LIMITS: [usize; 2] = [50, 400];
const DOCUMENTS_PER_BATCH: usize = 50;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Result<(), String> {
    let text = Text::of(&setting.large)?;
    let questions = text.questions();
    let dir = setting.scratch.outside().join("vectors");
    let index = Index::open(Open {
        dir,
        access: Access::Writer,
        embedding: TableEmbedder.into(),
        former: Vec::new(),
        root: "passages".to_owned(),
    })
    .map_err(|error| error.to_string())?;
    let mut table = String::from(
        "## Vectors\n\nPassages of several packages, embedded by the built-in table; the questions are comments in them. A scan of every \
         vector, and the search as it is: from some tens of thousands of vectors on it looks at sketches first. Recall is the share of the \
         scan's best that the search finds; filtered, for a quarter of the documents. Times are CPU time of one thread, in the mean.\n\n\
         | vectors | limit | scan ms | search ms | ratio | first search ms | recall@10 | recall@limit | filtered |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut passages = text.passages(*ROWS.last().unwrap_or(&0));
    let mut rows = 0;
    for goal in ROWS {
        while rows < *goal {
            let batch: Vec<DocChange> =
                (0..DOCUMENTS_PER_BATCH).filter_map(|_| document(&mut rows, &mut passages)).collect();
            if batch.is_empty() {
                return Err("the tree has too little text".to_owned());
            }
            index.apply(&Batch { changes: batch }).map_err(|error| error.to_string())?;
        }
        index.publish().map_err(|error| error.to_string())?;
        let snapshot = index.snapshot();
        for (number, limit) in LIMITS.into_iter().enumerate() {
            let found = compare(&snapshot, &questions, limit);
            let first = if number == 0 { format!("{:.0}", milliseconds(found.first)) } else { String::new() };
            let _ = writeln!(
                table,
                "| {rows} | {limit} | {:.2} | {:.2} | {:.2} | {first} | {:.4} | {:.4} | {:.4} |",
                milliseconds(found.scan),
                milliseconds(found.search),
                found.search.as_secs_f64() / found.scan.as_secs_f64(),
                found.recall_10,
                found.recall,
                found.filtered,
            );
        }
        println!("     {rows} vectors measured");
    }
    report.section(table);
    Ok(())
}

struct Compared {
    scan: Duration,
    search: Duration,
    first: Duration,
    recall_10: f64,
    recall: f64,
    filtered: f64,
}

/// Admits a quarter of the documents.
struct Quarter;

impl Admit for Quarter {
    fn document(&self, facts: &DocumentFacts<'_>) -> Verdict {
        facts.path.bytes().map(u32::from).sum::<u32>().is_multiple_of(4).into()
    }
}

fn compare(snapshot: &Snapshot, questions: &[Vec<f32>], limit: usize) -> Compared {
    let kind = IndexKind::Code;
    let exact = |question: &Vec<f32>| snapshot.vector_exactly(kind, question, limit, None);
    let search = |question: &Vec<f32>| snapshot.vector(kind, question, limit, &[], None);
    let (first, _) = timed(&questions[..1], search);
    let (scan_time, wanted) = timed(questions, exact);
    let (search_time, found) = timed(questions, search);
    let (mut recall_10, mut recall, mut filtered) = (0.0, 0.0, 0.0);
    for ((question, wanted), found) in questions.iter().zip(&wanted).zip(&found) {
        recall_10 += share(wanted, found, 10);
        recall += share(wanted, found, limit);
        filtered += share(
            &snapshot.vector_exactly(kind, question, limit, Some(&Quarter)),
            &snapshot.vector(kind, question, limit, &[], Some(&Quarter)),
            limit,
        );
    }
    let mean = |sum: f64| sum / questions.len() as f64;
    Compared {
        scan: scan_time,
        search: search_time,
        first,
        recall_10: mean(recall_10),
        recall: mean(recall),
        filtered: mean(filtered),
    }
}

/// The answers, and the mean time of one of them.
fn timed(questions: &[Vec<f32>], search: impl Fn(&Vec<f32>) -> Vec<Ranked>) -> (Duration, Vec<Vec<Ranked>>) {
    let before = cpu_of_thread();
    let found: Vec<Vec<Ranked>> = questions.iter().map(search).collect();
    ((cpu_of_thread() - before) / questions.len() as u32, found)
}

/// The share of the first `limit` of one ranking that is among the first `limit` of another.
fn share(exact: &[Ranked], found: &[Ranked], limit: usize) -> f64 {
    let wanted = &exact[..exact.len().min(limit)];
    let found: HashSet<ChunkId> = found.iter().take(limit).map(|ranked| ranked.chunk).collect();
    wanted.iter().filter(|ranked| found.contains(&ranked.chunk)).count() as f64 / wanted.len() as f64
}

/// The lines of all source files of a tree.
struct Text {
    files: Vec<String>,
    lines: usize,
}

impl Text {
    fn of(tree: &Path) -> Result<Text, String> {
        const SOURCES: &[&str] = &["c", "go", "h", "java", "js", "py", "rs", "ts"];
        let mut paths = Vec::new();
        find(tree, &mut |path| {
            if path.extension().is_some_and(|ending| SOURCES.iter().any(|source| ending == *source)) {
                paths.push(path);
            }
        });
        paths.sort();
        let files: Vec<String> = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        let lines = files.iter().map(|file| file.lines().count()).sum();
        if lines < 1_000 { Err("the tree has too little text".to_owned()) } else { Ok(Text { files, lines }) }
    }

    /// So many passages, at even distances over the whole tree: they overlap where it is small.
    fn passages(&self, number: usize) -> impl Iterator<Item = String> {
        let step = (self.lines / (number + number / 10)).max(1);
        self.files.iter().flat_map(move |file| {
            let lines: Vec<&str> = file.lines().collect();
            (0..lines.len())
                .step_by(step)
                .map(|from| lines[from..lines.len().min(from + LINES)].join("\n"))
                .collect::<Vec<_>>()
        })
    }

    fn questions(&self) -> Vec<Vec<f32>> {
        let comments: Vec<&str> = self
            .files
            .iter()
            .flat_map(|file| file.lines())
            .map(str::trim)
            .filter(|line| line.starts_with(['/', '#', '*']))
            .map(|line| line.trim_start_matches(|letter: char| !letter.is_alphabetic()))
            .filter(|line| (5..15).contains(&line.split_whitespace().count()))
            .collect();
        let step = (comments.len() / QUESTIONS).max(1);
        let questions = comments.iter().step_by(step).take(QUESTIONS);
        questions.map(|text| TableEmbedder.embed_query(IndexKind::Code, text)).collect()
    }
}

fn find(folder: &Path, take: &mut dyn FnMut(PathBuf)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => find(&entry.path(), take),
            Ok(kind) if kind.is_file() => take(entry.path()),
            _ => {}
        }
    }
}

/// A document of some passages; none when there are no more.
fn document(rows: &mut usize, passages: &mut impl Iterator<Item = String>) -> Option<DocChange> {
    let path = format!("passages/{rows}.rs");
    let hash = |text: &str| ContentHash(*blake3::hash(text.as_bytes()).as_bytes());
    let chunks: Vec<Chunk> = passages
        .take(PASSAGES)
        .enumerate()
        .map(|(ordinal, text)| Chunk {
            id: ChunkId::from_digest(blake3::hash(format!("{path} {ordinal}").as_bytes()).as_bytes()),
            ordinal: ordinal as u32,
            span: Span::Lines { start_line: 1 + ordinal as u32, end_line: 1 + ordinal as u32 },
            pointer: None,
            kind: IndexKind::Code,
            text_hash: hash(&text),
            tokens_est: text.len() as u32 / 4,
            text,
            heading: Heading::default(),
        })
        .collect();
    if chunks.is_empty() {
        return None;
    }
    *rows += chunks.len();
    let representation = Representation {
        rep_type: RepType::RawText,
        rep_hash: hash(&path),
        meta_json: "{}".to_owned(),
        chunks,
        produced: None,
    };
    let document = Document {
        source: SourceType::File,
        doc_type: DocType::Code,
        size: 0,
        mtime_ns: 0,
        inode: 0,
        content_hash: Some(hash(&path)),
        reason: None,
        unread: None,
        path,
    };
    Some(DocChange::Put { document, representations: vec![representation] })
}
