//! Measures the index: what indexing, editing, opening and searching cost, in CPU time and in bytes.
//!
//! ```text
//! cargo run --release -p dir2mcp-index --example measure -- tree <directory> [<state directory to keep>]
//! cargo run --release -p dir2mcp-index --example measure -- synthetic 10000 100000
//! ```
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use index::{Access, Batch, DocChange, Index, LexicalQuery, NewRep, Open, QueryTerm, tokens};
use model::{
    Chunk, ChunkId, ContentHash, DocStatus, DocType, EmbedError, Embedder, IndexKind, RepType, SourceType, Span,
};

const DIMENSIONS: usize = 256;

/// A hashing embedder: cheap, and of the size that the built-in one has.
struct Hashing;

impl Embedder for Hashing {
    fn model(&self, _kind: IndexKind) -> &str {
        "measure-hashing"
    }

    fn dimensions(&self, _kind: IndexKind) -> usize {
        DIMENSIONS
    }

    fn embed(&self, _kind: IndexKind, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| embed(text)).collect())
    }

    fn is_costly(&self) -> bool {
        false
    }
}

fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0f32; DIMENSIONS];
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in word.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        vector[(hash % DIMENSIONS as u64) as usize] += if hash >> 63 == 0 { 1.0 } else { -1.0 };
    }
    vector
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((mode, [dir, state @ ..])) if mode == "tree" => {
            let files = read_tree(Path::new(dir));
            let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
            println!("{} files, {:.1} MB of text", files.len(), mb(bytes as u64));
            measure(files.into_iter(), bytes, state.first().map(PathBuf::from));
        }
        Some((mode, sizes)) if mode == "synthetic" => {
            for size in sizes {
                let chunks: usize = size.parse().expect("a number of chunks");
                // Four chunks a file.
                let bytes: usize = (0..chunks / 4).map(|n| source(n).len()).sum();
                println!("\n{chunks} chunks, {:.1} MB of text", mb(bytes as u64));
                measure((0..chunks / 4).map(|n| (format!("src/module_{}/file_{n}.rs", n % 97), source(n))), bytes, None);
            }
        }
        _ => println!("usage: measure tree <directory> | measure synthetic <chunks>..."),
    }
}

fn measure(files: impl Iterator<Item = (String, String)>, bytes: usize, keep: Option<PathBuf>) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let dir = keep.unwrap_or_else(|| folder.path().join("state"));
    let index = open(&dir, Access::Writer);

    let mut applying = 0.0;
    let mut chunking = 0.0;
    let (wall, start) = (Instant::now(), cpu());
    let mut batch = Batch::default();
    let mut batched = 0;
    let mut sample = Vec::new();
    let mut chunks = 0;
    for (number, (path, text)) in files.enumerate() {
        let before = cpu();
        if number % 50 == 7 {
            sample.push((path.clone(), text.clone()));
        }
        batched += text.len();
        batch.changes.push(put(&path, &text));
        chunking += cpu() - before;
        if batched > 4 << 20 {
            let before = cpu();
            chunks += index.apply(&batch).expect("applied").chunks_added;
            applying += cpu() - before;
            batch.changes.clear();
            batched = 0;
        }
    }
    let before = cpu();
    chunks += index.apply(&batch).expect("applied").chunks_added;
    drop(batch);
    applying += cpu() - before;
    let before = cpu();
    index.publish().expect("published");
    let publishing = cpu() - before;
    println!(
        "index    {chunks} chunks: CPU {:.2} s (apply {applying:.2}, publish {publishing:.2}; beside them: chunking and hashing {chunking:.2}), wall {:.2} s, peak {:.0} MB",
        cpu() - start - chunking,
        wall.elapsed().as_secs_f64(),
        peak_mb(),
    );
    sizes(&dir, bytes);

    // Merges may still be running.
    let before = cpu();
    loop {
        let now = cpu();
        std::thread::sleep(std::time::Duration::from_millis(500));
        if cpu() - now < 0.01 {
            break;
        }
    }
    println!("merging  {:.2} s of CPU in the background", cpu() - before);

    edits(&index, &sample);
    searches(&index, &sample);
    let start = cpu();
    index.repair(&|_, _| {}).expect("repaired");
    println!("verify   CPU {:.1} ms", (cpu() - start) * 1e3);
    drop(index);
    sizes(&dir, bytes);

    for access in [Access::Writer, Access::Reader] {
        let (wall, start) = (Instant::now(), cpu());
        let index = open(&dir, access);
        let opened = (wall.elapsed().as_secs_f64() * 1e3, (cpu() - start) * 1e3);
        let start = cpu();
        let known = index.known_files().expect("read").len();
        println!(
            "open     {access:?}: {:.1} ms wall, {:.1} ms CPU; {known} known files in {:.1} ms CPU",
            opened.0,
            opened.1,
            (cpu() - start) * 1e3
        );
        let start = cpu();
        for _ in 0..100 {
            index.snapshot();
        }
        println!("snapshot {:.1} us CPU", (cpu() - start) * 1e4);
    }
}

fn edits(index: &Index, sample: &[(String, String)]) {
    let mut costs = Vec::new();
    let (wall, rounds) = (Instant::now(), 40);
    for (round, (path, text)) in sample.iter().cycle().take(rounds).enumerate() {
        let edited = format!("// edit {round}\n{text}");
        let change = put(path, &edited);
        let start = cpu();
        index.apply(&Batch { changes: vec![change] }).expect("applied");
        index.publish().expect("published");
        costs.push((cpu() - start) * 1e3);
    }
    let wall = wall.elapsed().as_secs_f64() * 1e3 / rounds as f64;
    let mean = costs.iter().sum::<f64>() / costs.len() as f64;
    println!("edit     one file: CPU mean {mean:.1} ms, {}, wall {wall:.0} ms", percentiles(costs, "ms"));
}

fn searches(index: &Index, sample: &[(String, String)]) {
    let snapshot = index.snapshot();
    let queries: Vec<String> = sample
        .iter()
        .take(200)
        .enumerate()
        .map(|(n, (_, text))| {
            let words: Vec<&str> = text.split_whitespace().filter(|word| word.len() > 3).collect();
            (0..2 + n % 5).filter_map(|k| words.get((n * 37 + k * 101) % words.len().max(1))).copied().collect::<Vec<_>>().join(" ")
        })
        .collect();
    let terms: Vec<Vec<QueryTerm>> = queries
        .iter()
        .map(|query| tokens::query_tokens(query).into_iter().map(|token| QueryTerm { token, weight: 1.0 }).collect())
        .collect();
    let admit = |path: &str, _: DocType| path.len() % 2 == 0;
    let mut lexical = Vec::new();
    let mut filtered = Vec::new();
    let mut vector = Vec::new();
    let mut fetch = Vec::new();
    for round in 0..3 {
        for (query, terms) in queries.iter().zip(&terms) {
            let start = Instant::now();
            let hits = snapshot.lexical(&LexicalQuery { terms, kind: None, admit: None, limit: 100 });
            let searched = start.elapsed();
            let start = Instant::now();
            snapshot.lexical(&LexicalQuery { terms, kind: None, admit: Some(&admit), limit: 100 });
            let admitted = start.elapsed();
            let query = embed(query);
            let start = Instant::now();
            snapshot.vector(IndexKind::Code, &query, 100, None);
            let scanned = start.elapsed();
            let ids: Vec<ChunkId> = hits.iter().take(10).map(|hit| hit.chunk).collect();
            let start = Instant::now();
            snapshot.chunks(&ids).expect("fetched");
            if round > 0 {
                lexical.push(searched.as_secs_f64() * 1e3);
                filtered.push(admitted.as_secs_f64() * 1e3);
                vector.push(scanned.as_secs_f64() * 1e3);
                fetch.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    let terms = terms.iter().map(Vec::len).sum::<usize>() as f64 / terms.len().max(1) as f64;
    println!("search   lexical, {terms:.1} terms: {}", percentiles(lexical, "ms"));
    println!("search   lexical, filtered: {}", percentiles(filtered, "ms"));
    println!("search   vector: {}", percentiles(vector, "ms"));
    println!("fetch    ten chunks: {}", percentiles(fetch, "ms"));
}

fn open(dir: &Path, access: Access) -> Index {
    Index::open(Open { dir: dir.to_owned(), access, embedder: Arc::new(Hashing), root: "/measured".to_owned() })
        .expect("an index")
}

/// 200 lines a chunk, 30 of them shared with the one before.
fn put(path: &str, text: &str) -> DocChange {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let prose = [".txt", ".md", ".rst", ".html"].iter().any(|end| path.ends_with(end));
    let (size, step) = if prose { (60, 54) } else { (200, 170) };
    let kind = if prose { IndexKind::Text } else { IndexKind::Code };
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let end = lines.len().min(start + size);
        let piece = lines[start..end].concat();
        let text_hash = ContentHash(*blake3::hash(piece.as_bytes()).as_bytes());
        let mut identity = blake3::Hasher::new();
        identity.update(path.as_bytes()).update(&(start as u64).to_le_bytes()).update(&text_hash.0);
        chunks.push(Chunk {
            id: ChunkId::from_digest(identity.finalize().as_bytes()),
            ordinal: chunks.len() as u32,
            span: Span::Lines { start_line: start as u32 + 1, end_line: end as u32 },
            kind,
            tokens_est: piece.len() as u32 / 4,
            text: piece,
            text_hash,
        });
        if end == lines.len() {
            break;
        }
        start += step;
    }
    let hash = ContentHash(*blake3::hash(text.as_bytes()).as_bytes());
    DocChange::Put {
        path: path.to_owned(),
        source: SourceType::File,
        doc_type: if prose { DocType::Text } else { DocType::Code },
        size: text.len() as u64,
        mtime_ns: 1_700_000_000_000_000_000,
        inode: 1,
        content_hash: Some(hash),
        status: DocStatus::Ok,
        error: None,
        rep: Some(NewRep { rep_type: RepType::RawText, rep_hash: hash, meta_json: "{}".to_owned(), chunks }),
    }
}

fn read_tree(dir: &Path) -> Vec<(String, String)> {
    let mut folders = vec![dir.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read(&path).map_err(drop).and_then(|bytes| String::from_utf8(bytes).map_err(drop))
                && !text.contains('\0')
            {
                files.push((path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned(), text));
            }
        }
    }
    files
}

/// A made-up source file of four chunks, with words that are as unevenly frequent as in real ones.
fn source(number: usize) -> String {
    let mut seed = number as u64 * 0x9E37_79B9_7F4A_7C15 + 1;
    let mut random = move |limit: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % limit
    };
    let mut word = move || {
        let range = [40, 400, 4000, 40_000][random(4)];
        let n = random(range);
        format!("{}{}{}", ["get", "set", "parse", "is", "on", "to"][n % 6], ["Item", "Value", "Node", "Page"][n / 6 % 4], n)
    };
    let mut text = String::new();
    for line in 0..680 {
        match line % 9 {
            0 => text.push_str(&format!("fn {}({}: usize) -> usize {{\n", word(), word())),
            8 => text.push_str("}\n\n"),
            _ => text.push_str(&format!("    let {} = {}({});\n", word(), word(), word())),
        }
    }
    text
}

fn sizes(dir: &Path, input: usize) {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let lexical: u64 = std::fs::read_dir(dir.join("lexical"))
        .map_or(0, |entries| entries.flatten().map(|entry| size(&entry.path())).sum());
    let catalog = size(&dir.join("meta.sqlite"));
    let log = size(&dir.join("meta.sqlite-wal"));
    let vectors = size(&dir.join("vectors_text.hnsw")) + size(&dir.join("vectors_code.hnsw"));
    let all = lexical + catalog + log + vectors;
    println!(
        "bytes    catalog {:.1} MB, log {:.1}, lexical {:.1}, vectors {:.1}: {:.1} MB = {:.3} of the input",
        mb(catalog),
        mb(log),
        mb(lexical),
        mb(vectors),
        mb(all),
        all as f64 / input as f64
    );
}

fn percentiles(mut values: Vec<f64>, unit: &str) -> String {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get(((values.len() as f64 - 1.0) * share) as usize).copied().unwrap_or(0.0);
    format!("p50 {:.2} {unit}, p99 {:.2} {unit}, max {:.2} {unit}", at(0.5), at(0.99), at(1.0))
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// CPU seconds of this process so far, all threads.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}
