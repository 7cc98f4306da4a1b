//! Listings that read little, against a naive version that looks at everything.

use std::collections::{BTreeMap, BTreeSet};

use filestore::listing::{ListingScan, StoredFileRow};
use filestore::{StorePath, StoreTime};
use testkit::Random;

/// Path and whether it is a directory, and how many files were read.
fn scanned(
    files: &BTreeSet<String>,
    base: &str,
    depth: usize,
    limit: usize,
) -> (Vec<(String, bool)>, bool, usize) {
    let mut scan = ListingScan::new(&StorePath::parse(base).unwrap(), depth, limit);
    let mut read = 0;
    while let Some(range) = scan.next_range() {
        let found: Vec<StoredFileRow> = files
            .range(range.from.clone()..range.end.clone())
            .take(range.rows)
            .map(|path| StoredFileRow {
                path: path.clone(),
                size: 1,
                created_at: StoreTime(1),
                updated_at: StoreTime(1),
            })
            .collect();
        read += found.len();
        scan.take(found);
    }
    let listing = scan.into_listing().unwrap();
    let entries = listing.entries.iter().map(|entry| (entry.path.to_string(), entry.is_directory));
    (entries.collect(), listing.has_more, read)
}

fn naive(files: &BTreeSet<String>, base: &str, depth: usize, limit: usize) -> (Vec<(String, bool)>, bool) {
    let mut entries = BTreeMap::new();
    for rest in files.iter().filter_map(|path| path.strip_prefix(base)?.strip_prefix('/')) {
        let segments: Vec<&str> = rest.split('/').collect();
        for length in 1..=depth.min(segments.len()) {
            entries.insert(format!("{base}/{}", segments[..length].join("/")), length < segments.len());
        }
    }
    let has_more = entries.len() > limit;
    (entries.into_iter().take(limit).collect(), has_more)
}

#[test]
fn f093_f095_f096_f098_a_scan_lists_what_a_look_at_everything_lists() {
    let mut random = Random::new(15);
    let names = ["a", "a-b", "a.b", "a-", "a.b-c", "b", "0", "A", "a_b", "ab", "-", "...", "z"];
    for round in 0..20_000 {
        let mut files: BTreeSet<String> = BTreeSet::new();
        for _ in 0..random.below(40) {
            let mut path = String::new();
            for _ in 0..=random.below(4) {
                path.push('/');
                let name: &&str = random.pick(&names);
                path.push_str(name);
            }
            // No file is a directory at the same time.
            let is_free = !files.iter().any(|other| {
                other.starts_with(&format!("{path}/")) || path.starts_with(&format!("{other}/"))
            });
            if is_free {
                files.insert(path);
            }
        }
        let base = *random.pick(&["", "/a", "/a-b", "/a/a"]);
        let (depth, limit) = (1 + random.below(4), 1 + random.below(12));
        let (entries, has_more, _) = scanned(&files, base, depth, limit);
        assert_eq!(
            (entries, has_more),
            naive(&files, base, depth, limit),
            "round {round}: {files:?} {base} {depth} {limit}"
        );
    }
}

#[test]
fn a_shallow_listing_of_a_large_project_reads_few_files() {
    let files: BTreeSet<String> =
        (0..50).flat_map(|folder| (0..1000).map(move |file| format!("/d{folder}/f-{file}.txt"))).collect();
    let (entries, has_more, read) = scanned(&files, "", 1, 256);
    assert_eq!((entries.len(), has_more), (50, false));
    assert!(read < 1000, "{read} of {} files were read", files.len());
    let (entries, has_more, read) = scanned(&files, "", 2, 100);
    assert_eq!((entries.len(), has_more), (100, true));
    assert!(read < 1000, "{read} of {} files were read", files.len());
}
