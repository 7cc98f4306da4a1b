//! Derived files may vanish, be cut or flip a bit: answers come back, and the truth is never touched.

use std::fs;
use std::path::{Path, PathBuf};

use index::{Index, Repaired};
use model::IndexKind;

use crate::support::{
    Rankings, State, all_answers, all_rankings, apply, by_vector, delete, lexical, paths, put,
};

/// Three publications, with removals, so that there are several segments and blocks.
fn build(state: &State) -> Rankings {
    let index = state.writer();
    apply(
        &index,
        (0..30).map(|n| put(&format!("src/{n}.rs"), &format!("alpha {n}\n\nparseConfig beta {n}"))).collect(),
    );
    index.publish().unwrap();
    apply(
        &index,
        (0..20).map(|n| put(&format!("doc/{n}.md"), &format!("gamma 検索 {n}\n\nread_file error"))).collect(),
    );
    apply(&index, vec![delete("src/3.rs"), delete("src/4.rs")]);
    index.publish().unwrap();
    apply(&index, vec![put("src/5.rs", "naïve index 42"), delete("doc/7.md")]);
    index.publish().unwrap();
    all_rankings(&index.snapshot())
}

fn derived_files(state: &State) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(state.dir.join("lexical"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'))
        .collect();
    files.push(state.dir.join("vectors_text.hnsw"));
    files.push(state.dir.join("vectors_code.hnsw"));
    files.sort();
    assert!(files.len() > 12, "{files:?}");
    files
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What the catalog says, apart from counters of its own.
fn truth(state: &State) -> Vec<String> {
    let sql = state.sql();
    let mut rows = Vec::new();
    for table in ["documents", "representations", "chunks", "spans"] {
        let mut statement = sql.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            rows.push(
                (0..columns).map(|column| format!("{:?}|", row.get_ref(column).unwrap())).collect::<String>(),
            );
        }
    }
    rows
}

/// Damages a copy of the index and expects the same answers after a repair.
fn heals(original: &State, wanted: &Rankings, what: &str, damage: impl Fn(&Path)) {
    let state = State::new();
    copy(&original.dir, &state.dir);
    damage(&state.dir);
    let before = truth(&state);
    let index = state.writer();
    // Searching before the repair may find less, but must not fail.
    let snapshot = index.snapshot();
    // Whether this meets the damage depends on where the bytes stand; it must not fail either way.
    let _ = snapshot.lexical(&index::LexicalQuery {
        terms: &crate::support::terms("alpha beta gamma"),
        kind: None,
        admit: None,
        limit: 10,
    });
    let report = index.repair(&|_, _| {}).unwrap();
    assert_eq!(all_rankings(&index.snapshot()), *wanted, "{what}: {report:?}");
    assert!(!index.needs_repair(), "{what}");
    assert_eq!(truth(&state), before, "{what}");
    // Repaired once is repaired for good.
    let again = index.repair(&|_, _| {}).unwrap();
    assert_eq!(again, index::RepairReport::default(), "{what}");
    drop(index);
    let index = state.writer();
    assert!(!index.needs_repair(), "{what}");
    assert_eq!(all_rankings(&index.snapshot()), *wanted, "{what}");
    let left: Vec<_> = fs::read_dir(&state.dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_str().unwrap().contains("damaged")), "{left:?}");
}

#[test]
fn a_missing_file_is_made_again() {
    let state = State::new();
    let wanted = build(&state);
    for file in derived_files(&state) {
        let name = file.strip_prefix(&state.dir).unwrap().to_owned();
        heals(&state, &wanted, &format!("{name:?} missing"), |dir| fs::remove_file(dir.join(&name)).unwrap());
    }
    heals(&state, &wanted, "all missing", |dir| {
        fs::remove_dir_all(dir.join("lexical")).unwrap();
        fs::remove_file(dir.join("vectors_text.hnsw")).unwrap();
        fs::remove_file(dir.join("vectors_code.hnsw")).unwrap();
    });
}

#[test]
fn a_truncated_file_is_made_again() {
    let state = State::new();
    let wanted = build(&state);
    for file in derived_files(&state) {
        let name = file.strip_prefix(&state.dir).unwrap().to_owned();
        let size = fs::metadata(&file).unwrap().len();
        for length in [0, 1, size / 2, size - 1] {
            heals(&state, &wanted, &format!("{name:?} cut to {length}"), |dir| {
                fs::OpenOptions::new().write(true).open(dir.join(&name)).unwrap().set_len(length).unwrap();
            });
        }
    }
}

#[test]
fn a_flipped_bit_is_noticed_or_harmless() {
    let state = State::new();
    let wanted = build(&state);
    for file in derived_files(&state) {
        let name = file.strip_prefix(&state.dir).unwrap().to_owned();
        let size = fs::metadata(&file).unwrap().len() as usize;
        // Spread over the file, and different bits.
        for n in 0..6usize {
            let (byte, bit) = ((size - 1) * n / 5, (n * 3) % 8);
            heals(&state, &wanted, &format!("{name:?} bit {bit} of byte {byte}"), |dir| {
                let path = dir.join(&name);
                let mut bytes = fs::read(&path).unwrap();
                bytes[byte] ^= 1 << bit;
                fs::write(&path, bytes).unwrap();
            });
        }
    }
}

#[test]
fn a_torn_tail_of_a_vector_file_is_cut() {
    let state = State::new();
    let wanted = build(&state);
    for tail in [1usize, 63, 64, 5000] {
        heals(&state, &wanted, &format!("{tail} bytes too many"), |dir| {
            let path = dir.join("vectors_text.hnsw");
            let mut bytes = fs::read(&path).unwrap();
            bytes.extend((0..tail).map(|n| (n * 31) as u8));
            fs::write(&path, bytes).unwrap();
        });
    }
    // And appending goes on behind the valid part.
    let path = state.dir.join("vectors_text.hnsw");
    let whole = fs::read(&path).unwrap();
    let mut torn = whole.clone();
    torn.extend_from_slice(&whole[4096..4096 + 100]);
    fs::write(&path, torn).unwrap();
    let index = state.writer();
    assert!(!index.needs_repair());
    apply(&index, vec![put("new.md", "delta")]);
    index.publish().unwrap();
    let answers = all_answers(&index.snapshot());
    drop(index);
    assert_eq!(all_answers(&state.writer().snapshot()), answers);
    assert!(
        by_vector(&state.reader().snapshot(), "delta", IndexKind::Text)
            .iter()
            .any(|(name, _)| name.starts_with("new.md"))
    );
}

#[test]
fn a_lost_stamp_costs_only_a_replay() {
    let state = State::new();
    let wanted = build(&state);
    for offset in [1024, 2048] {
        heals(&state, &wanted, &format!("stamp at {offset}"), |dir| {
            for name in ["vectors_text.hnsw", "vectors_code.hnsw"] {
                let path = dir.join(name);
                let mut bytes = fs::read(&path).unwrap();
                bytes[offset..offset + 64].fill(0);
                fs::write(&path, bytes).unwrap();
            }
        });
    }
}

#[test]
fn what_was_applied_but_not_published_is_replayed() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha\n\nbeta"), put("b.md", "beta")]);
    index.publish().unwrap();
    apply(&index, vec![put("a.md", "alpha\n\ngamma"), put("c.rs", "delta"), delete("b.md")]);
    drop(index);
    let index = state.writer();
    assert!(index.needs_repair());
    assert_eq!(paths(&lexical_live(&index, "beta")), [] as [&str; 0], "what is gone is not shown even now");
    let done = std::cell::RefCell::new(Vec::new());
    let report = index.repair(&|done_now, total| done.borrow_mut().push((done_now, total))).unwrap();
    assert_eq!(report.lexical, Repaired::Replayed { chunks: 2 });
    assert_eq!(report.text_vectors, Repaired::Replayed { chunks: 1 });
    assert_eq!(report.code_vectors, Repaired::Replayed { chunks: 1 });
    let done = done.into_inner();
    assert_eq!(done.first().unwrap().0, 0);
    assert_eq!(done.last().unwrap().0, done.last().unwrap().1);
    assert_eq!(paths(&lexical(&index.snapshot(), "gamma delta", None)), ["a.md", "c.rs"]);
    assert!(lexical(&index.snapshot(), "beta", None).is_empty());
}

/// Hits that are still in the catalog.
fn lexical_live(index: &Index, query: &str) -> Vec<(String, u32)> {
    let snapshot = index.snapshot();
    let terms = crate::support::terms(query);
    let hits = snapshot.lexical(&index::LexicalQuery { terms: &terms, kind: None, admit: None, limit: 10 });
    let ids: Vec<_> = hits.iter().map(|hit| hit.chunk).collect();
    snapshot.chunks(&ids).unwrap().into_iter().map(|chunk| (format!("{}#", chunk.rel_path), 0)).collect()
}

#[test]
fn derived_files_from_another_time_or_corpus_are_not_believed() {
    let (old, new) = (State::new(), State::new());
    let index = old.writer();
    apply(&index, vec![put("a.md", "alpha")]);
    index.publish().unwrap();
    drop(index);
    copy(&old.dir, &new.dir);
    let index = new.writer();
    apply(&index, vec![put("b.md", "alpha beta"), delete("a.md")]);
    index.publish().unwrap();
    let answers = all_answers(&index.snapshot());
    drop(index);
    // The derived files are ahead of an older catalog, or behind a newer one.
    let mixed = State::new();
    copy(&new.dir, &mixed.dir);
    fs::copy(old.dir.join("meta.sqlite"), mixed.dir.join("meta.sqlite")).unwrap();
    let index = mixed.writer();
    assert!(index.needs_repair());
    index.publish().unwrap();
    assert_eq!(paths(&lexical(&index.snapshot(), "alpha", None)), ["a.md"]);
    drop(index);
    let mixed = State::new();
    copy(&old.dir, &mixed.dir);
    fs::copy(new.dir.join("meta.sqlite"), mixed.dir.join("meta.sqlite")).unwrap();
    let index = mixed.writer();
    index.repair(&|_, _| {}).unwrap();
    assert_eq!(all_answers(&index.snapshot()), answers);
    drop(index);
    // Files of another corpus that happens to have the same generation.
    let other = State::new();
    let index = other.writer();
    apply(&index, vec![put("x.md", "omega")]);
    apply(&index, vec![put("y.md", "omega")]);
    index.publish().unwrap();
    drop(index);
    for name in ["vectors_text.hnsw", "vectors_code.hnsw"] {
        fs::copy(other.dir.join(name), mixed.dir.join(name)).unwrap();
    }
    fs::remove_dir_all(mixed.dir.join("lexical")).unwrap();
    copy(&other.dir.join("lexical"), &mixed.dir.join("lexical"));
    let index = mixed.writer();
    assert!(index.needs_repair());
    index.repair(&|_, _| {}).unwrap();
    assert_eq!(all_answers(&index.snapshot()), answers);
}

#[test]
fn leftovers_of_a_crash_are_removed() {
    let state = State::new();
    let wanted = build(&state);
    fs::write(state.dir.join("vectors_text.hnsw.tmp"), "half").unwrap();
    fs::create_dir(state.dir.join("lexical.damaged")).unwrap();
    fs::write(state.dir.join("lexical/.tmpAbC123"), "half").unwrap();
    fs::write(state.dir.join("lexical/0123456789abcdef0123456789abcdef.term"), "half").unwrap();
    let index = state.writer();
    apply(&index, vec![put("new.md", "omega")]);
    index.publish().unwrap();
    apply(&index, vec![delete("new.md")]);
    index.publish().unwrap();
    assert_eq!(all_rankings(&index.snapshot()), wanted);
    for name in [
        "vectors_text.hnsw.tmp",
        "lexical.damaged",
        "lexical/.tmpAbC123",
        "lexical/0123456789abcdef0123456789abcdef.term",
    ] {
        assert!(!state.dir.join(name).exists(), "{name}");
    }
}

/// Overwrites files in place, so that the mapped pages change; a truncation would end any process that maps files.
fn overwrite(state: &State, ending: &str) {
    use std::os::unix::fs::FileExt;
    for file in derived_files(state).iter().filter(|file| file.to_str().unwrap().ends_with(ending)) {
        let length = fs::metadata(file).unwrap().len() as usize;
        let file = fs::OpenOptions::new().write(true).open(file).unwrap();
        file.write_all_at(&vec![0xFF; length], 0).unwrap();
    }
}

/// A search over postings that are no postings must say so. A damaged dictionary merely finds nothing: only the
/// checksums that a repair reads can tell that from a word that is not there.
#[test]
fn damage_under_a_running_index_is_noticed_and_mended() {
    for (ending, seen_by_search) in [(".idx", true), (".term", false)] {
        let state = State::new();
        let wanted = build(&state);
        let index = state.writer();
        assert_eq!(all_rankings(&index.snapshot()), wanted);
        overwrite(&state, ending);
        let snapshot = index.snapshot();
        let _ = snapshot.lexical(&index::LexicalQuery {
            terms: &crate::support::terms("alpha beta gamma parseConfig"),
            kind: None,
            admit: None,
            limit: 10,
        });
        assert!(index.needs_repair() || !seen_by_search, "the search met damaged {ending} files");
        assert!(!by_vector(&snapshot, "alpha", IndexKind::Code).is_empty(), "what works still answers");
        let report = index.repair(&|_, _| {}).unwrap();
        assert!(matches!(report.lexical, Repaired::Rebuilt { .. }), "{ending}: {report:?}");
        assert!(!index.needs_repair());
        assert_eq!(all_rankings(&index.snapshot()), wanted);
    }
}

/// A file system of a few megabytes. None without the right to mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().ok()?;
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_an_error_and_no_accident() {
    use crate::support::{Buckets, open};
    let Some(disk) = SmallDisk::new("6m") else { return };
    let dir = disk.0.path().join("state");
    let index = open(&dir, index::Access::Writer, Buckets::default()).unwrap();
    apply(&index, (0..20).map(|n| put(&format!("{n}.md"), &format!("alpha {n}\n\nbeta"))).collect());
    index.publish().unwrap();
    let before = all_rankings(&index.snapshot());
    let ballast = disk.0.path().join("ballast");
    // Incompressible text, until nothing fits any more.
    let big = |n: usize| {
        let mut text = String::from("omega ");
        for line in 0..600 {
            let hash = blake3::hash(format!("{n} {line}").as_bytes()).to_hex();
            text.push_str(&format!("{hash}\n"));
        }
        put(&format!("big/{n}.md"), &text)
    };
    for spare in [0usize, 40 << 10, 200 << 10, 900 << 10] {
        let free =
            rustix::fs::statvfs(disk.0.path()).map(|stat| (stat.f_bavail * stat.f_bsize) as usize).unwrap();
        fs::write(&ballast, vec![1u8; free.saturating_sub(spare)]).unwrap();
        let mut failed = 0;
        for n in 0..40 {
            let batch = index::Batch { changes: vec![big(n)] };
            for result in [index.apply(&batch).map(drop), index.publish()] {
                match result {
                    Ok(()) => {}
                    Err(index::IndexError::DiskFull { .. }) => failed += 1,
                    Err(other) => panic!("{spare} spare: {other:?}"),
                }
            }
            if failed > 2 {
                break;
            }
        }
        assert!(failed > 0, "{spare}");
        // Reading goes on.
        assert!(!lexical(&index.snapshot(), "alpha", None).is_empty());
        assert!(index.known_files().unwrap().len() >= 20);
        // Space returns: so does writing, without a restart.
        fs::remove_file(&ballast).unwrap();
        apply(&index, (0..40).map(|n| delete(&format!("big/{n}.md"))).collect());
        index.publish().unwrap();
        assert_eq!(all_rankings(&index.snapshot()), before, "{spare}");
        index.check().unwrap();
    }
    drop(index);
    let index = open(&dir, index::Access::Writer, Buckets::default()).unwrap();
    assert!(!index.needs_repair());
    assert_eq!(all_rankings(&index.snapshot()), before);
}
