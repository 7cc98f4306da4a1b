//! What files do on SQLite, contract line by contract line.

use std::sync::atomic::Ordering;
use std::time::Duration;

use filestore::{FileBackend, MutationGuard, MutationKey, PathState, StoreLimits, StoreTime};
use model::{ContentHash, ErrorCode};

use crate::sqlite_world::{ALICE, BOB, World, assert_code, write_arguments};

fn limits() -> StoreLimits {
    StoreLimits::default()
}

#[tokio::test]
async fn f014_tenants_with_the_same_paths_have_their_own_files() {
    let world = World::new();
    world.write("/a", "alice").await.unwrap();
    assert_code(world.store.read(BOB, "p", "/a", 0, -1).await, ErrorCode::NotFound);
    let arguments = write_arguments("/a", "bob", "TRUNCATE", 0);
    world.store.write(BOB, arguments, MutationGuard::default()).await.unwrap();
    assert_eq!(world.read("/a").await.unwrap(), "alice");
    assert_eq!(world.store.read(BOB, "p", "/a", 0, -1).await.unwrap().content, "bob");
}

#[tokio::test]
async fn an_empty_file_is_read() {
    let world = World::new();
    world.write("/empty", "").await.unwrap();
    assert_eq!(world.read("/empty").await.unwrap(), "");
    assert_eq!(world.store.read(ALICE, "p", "/empty", 5, 10).await.unwrap().content, "");
}

#[tokio::test]
async fn f015_to_f027_arguments_are_checked() {
    let world = World::new();
    for project in ["", "bad space", "*", "项目"] {
        assert_code(world.store.stat(ALICE, project, "").await, ErrorCode::InvalidPath);
    }
    for path in ["a", "/", "/a/", "/a//b", "/a/../b", "/a/b c", "/你好"] {
        assert_code(world.store.stat(ALICE, "p", path).await, ErrorCode::InvalidPath);
        assert_code(world.write(path, "x").await, ErrorCode::InvalidPath);
    }
    let mut arguments = write_arguments("/a", "x", "APPEND", 0);
    arguments.content_encoding = Some("base64");
    assert_code(
        world.store.write(ALICE, arguments.clone(), MutationGuard::default()).await,
        ErrorCode::InvalidQuery,
    );
    arguments.content_encoding = Some("UTF-8");
    world.store.write(ALICE, arguments, MutationGuard::default()).await.unwrap();
}

#[tokio::test]
async fn f029_f030_f031_limits_are_kept_and_the_old_size_is_discounted() {
    let world = World::with(StoreLimits {
        max_payload_bytes: 6,
        max_file_bytes: 8,
        max_project_bytes: 10,
        ..limits()
    });
    assert_code(world.write("/a", "1234567").await, ErrorCode::PayloadTooLarge);
    world.write("/a", "123456").await.unwrap();
    assert_code(world.write_at("/a", "789", "APPEND", 0).await, ErrorCode::PayloadTooLarge);
    assert_code(world.write("/b", "12345").await, ErrorCode::QuotaExceeded);
    world.write("/b", "1234").await.unwrap();
    world.write("/a", "654321").await.unwrap();
    world.delete("/b", false).await.unwrap();
    world.write("/c", "1234").await.unwrap();
    assert_code(world.write("/d", "1").await, ErrorCode::QuotaExceeded);
}

#[tokio::test]
async fn f036_to_f039_stat_tells_files_directories_and_nothing() {
    let world = World::new();
    assert_eq!(world.store.stat(ALICE, "p", "").await.unwrap(), PathState::Directory { updated_at: None });
    let written = world.write("/d/a", "hello").await.unwrap();
    let newer = world.write("/d/b", "x").await.unwrap();
    assert!(newer.updated_at > written.updated_at);
    let hash = ContentHash(*blake3::hash(b"hello").as_bytes());
    let file = PathState::File {
        size: 5,
        created_at: written.updated_at,
        updated_at: written.updated_at,
        content_hash: hash,
    };
    assert_eq!(world.store.stat(ALICE, "p", "/d/a").await.unwrap(), file);
    let directory = PathState::Directory { updated_at: Some(newer.updated_at) };
    assert_eq!(world.store.stat(ALICE, "p", "/d").await.unwrap(), directory);
    assert_eq!(world.store.stat(ALICE, "p", "").await.unwrap(), directory);
    assert_eq!(world.store.stat(ALICE, "p", "/x").await.unwrap(), PathState::Nothing);
}

#[tokio::test]
async fn f042_to_f047_reads_slice_bytes() {
    let world = World::new();
    world.write("/d/a", "añb").await.unwrap();
    let part = async |offset, length| world.store.read(ALICE, "p", "/d/a", offset, length).await;
    assert_eq!(part(0, -1).await.unwrap().content, "añb");
    assert_eq!(part(1, 2).await.unwrap().content, "ñ");
    for (offset, length) in [(0, 0), (4, -1), (99, 5), (i64::MAX, i64::MAX)] {
        let read = part(offset, length).await.unwrap();
        assert_eq!((read.content.as_str(), read.size), ("", 4));
    }
    let cut = part(2, -1).await.unwrap();
    assert_eq!((cut.content.as_str(), cut.is_lossy, cut.bytes), ("\u{fffd}b", true, 2));
    assert_code(part(-1, 0).await, ErrorCode::InvalidOffset);
    assert_code(part(0, -2).await, ErrorCode::InvalidOffset);
    assert_code(world.read("/d").await, ErrorCode::IsDirectory);
    assert_code(world.read("/e").await, ErrorCode::NotFound);
    assert_code(world.read("").await, ErrorCode::InvalidPath);
}

#[tokio::test]
async fn f049_to_f064_writes() {
    let world = World::new();
    let first = world.write_at("/f", "hello", "append", 77).await.unwrap();
    assert_eq!((first.bytes_written, first.is_new), (5, true));
    world.write_at("/f", "yo", "OVERWRITE", 0).await.unwrap();
    assert_eq!(world.read("/f").await.unwrap(), "yollo");
    world.write_at("/f", "p!", "OVERWRITE", 4).await.unwrap();
    assert_eq!(world.read("/f").await.unwrap(), "yollp!");
    world.write_at("/f", ".", "OVERWRITE", 6).await.unwrap();
    assert_eq!(world.read("/f").await.unwrap(), "yollp!.");
    for (mode, offset) in [("OVERWRITE", 8), ("OVERWRITE", -1), ("APPEND", -1), ("TRUNCATE", 1), ("ERASE", 0)]
    {
        assert_code(world.write_at("/f", "x", mode, offset).await, ErrorCode::InvalidOffset);
    }
    world.write("/f", "new").await.unwrap();
    assert_eq!(world.read("/f").await.unwrap(), "new");
    assert_code(world.write("/f/x", "x").await, ErrorCode::NotDirectory);
    world.write("/d_d/x", "x").await.unwrap();
    assert_code(world.write("/d_d", "x").await, ErrorCode::IsDirectory);
    world.write("/dxd", "an underscore matches itself only").await.unwrap();
    assert_code(world.write("", "x").await, ErrorCode::InvalidPath);
    let PathState::File { created_at, updated_at, .. } = world.store.stat(ALICE, "p", "/f").await.unwrap()
    else {
        panic!("/f is a file");
    };
    assert_eq!(created_at, first.updated_at);
    assert!(updated_at > created_at);
    world.delete("/f", false).await.unwrap();
    assert!(world.write_at("/f", "fresh", "APPEND", 0).await.unwrap().is_new);
    assert_eq!(world.read("/f").await.unwrap(), "fresh");
}

#[tokio::test]
async fn f065_to_f074_deletions() {
    let world = World::new();
    for path in ["/a_b/1", "/a_b/2/3", "/axb/1", "/a_b-c"] {
        world.write(path, "x").await.unwrap();
    }
    assert_code(world.delete("/a_b", false).await, ErrorCode::NotEmpty);
    assert_code(world.delete("/zzz", true).await, ErrorCode::NotFound);
    assert_code(world.delete("", false).await, ErrorCode::PermissionDenied);
    assert_code(world.delete("", true).await, ErrorCode::PermissionDenied);
    let before = world.jobs().len();
    assert_eq!(world.delete("/a_b", true).await.unwrap(), 2);
    assert_eq!(world.jobs()[before..], ["DELETE /a_b/1", "DELETE /a_b/2/3"]);
    assert_eq!(world.list("", 9, None).await.unwrap().0, ["/a_b-c", "/axb/", "/axb/1"]);
    assert_eq!(world.store.stat(ALICE, "p", "/a_b").await.unwrap(), PathState::Nothing);
    let now = world.clock.0.load(Ordering::Relaxed);
    let after = |days: u64| StoreTime(((now + days * 86_400 + 1) * 1_000_000) as i64);
    let rows = || -> i64 {
        world.other_connection().query_row("SELECT count(*) FROM mcp_files", [], |row| row.get(0)).unwrap()
    };
    world.sqlite.purge(after(29)).await.unwrap();
    assert_eq!(rows(), 4);
    world.sqlite.purge(after(30)).await.unwrap();
    assert_eq!(rows(), 2);
}

#[tokio::test]
async fn f070_f071_a_root_is_wiped_where_that_is_allowed() {
    let world = World::with(StoreLimits { allow_root_wipe: true, ..limits() });
    world.write("/a", "x").await.unwrap();
    world.write("/b/c", "x").await.unwrap();
    assert_code(world.delete("", false).await, ErrorCode::InvalidPath);
    assert_eq!(world.delete("", true).await.unwrap(), 2);
    assert_eq!(world.list("", 1, None).await.unwrap(), (vec![], false));
}

#[tokio::test]
async fn f075_to_f089_moves() {
    let world = World::new();
    for path in ["/docs/a", "/docs/sub/b", "/file", "/other"] {
        world.write(path, path).await.unwrap();
    }
    assert_eq!(world.rename("/nothing", "/nothing", false).await.unwrap(), 0);
    assert_code(world.rename("/nothing", "/x", false).await, ErrorCode::NotFound);
    assert_code(world.rename("", "/x", false).await, ErrorCode::InvalidPath);
    assert_code(world.rename("/file", "", false).await, ErrorCode::InvalidPath);
    assert_code(world.rename("/docs", "/docs/sub/new", false).await, ErrorCode::InvalidPath);
    assert_code(world.rename("/file", "/other/x", false).await, ErrorCode::NotDirectory);
    assert_code(world.rename("/file", "/other", false).await, ErrorCode::AlreadyExists);
    assert_code(world.rename("/docs", "/other", true).await, ErrorCode::AlreadyExists);
    assert_code(world.rename("/file", "/docs", true).await, ErrorCode::AlreadyExists);
    let before = world.jobs().len();
    assert_eq!(world.rename("/docs", "/archive", false).await.unwrap(), 2);
    assert_eq!(
        world.jobs()[before..],
        ["DELETE /docs/a", "DELETE /docs/sub/b", "UPSERT /archive/a", "UPSERT /archive/sub/b"]
    );
    assert_eq!(world.read("/archive/sub/b").await.unwrap(), "/docs/sub/b");
    assert_eq!(world.rename("/file", "/other", true).await.unwrap(), 1);
    assert_eq!(world.read("/other").await.unwrap(), "/file");
    assert_code(world.read("/file").await, ErrorCode::NotFound);
}

#[tokio::test]
async fn f090_to_f100_listings() {
    let world = World::new();
    assert_eq!(world.list("/", 1, None).await.unwrap(), (vec![], false));
    for path in ["/b", "/a-b", "/a/x", "/a/y/z", "/c"] {
        world.write(path, "x").await.unwrap();
    }
    assert_eq!(world.list("/", 1, None).await.unwrap().0, ["/a/", "/a-b", "/b", "/c"]);
    assert_eq!(world.list("", 1, Some(2)).await.unwrap(), (vec!["/a/".to_owned(), "/a-b".to_owned()], true));
    assert_eq!(world.list("", 2, None).await.unwrap().0, ["/a/", "/a-b", "/a/x", "/a/y/", "/b", "/c"]);
    assert_eq!(world.list("/a", 1, None).await.unwrap().0, ["/a/x", "/a/y/"]);
    assert_eq!(world.list("/a", 0, None).await.unwrap().0, ["/a/"]);
    assert_eq!(world.list("", 0, None).await.unwrap().0, ["/"]);
    assert_eq!(world.list("", 1, Some(-5)).await.unwrap().0.len(), 4);
    assert_code(world.list("/none", 1, None).await, ErrorCode::NotFound);
    assert_code(world.list("", -1, None).await, ErrorCode::InvalidOffset);
    let listing = world.store.list(ALICE, "p", "", 1, None).await.unwrap();
    let newest = world.store.list(ALICE, "p", "/a/y", 1, None).await.unwrap().entries[0].updated_at;
    assert_eq!((listing.entries[0].created_at, listing.entries[0].updated_at), (None, newest));
}

#[tokio::test]
async fn versions_are_saved_moved_restored_and_forgotten() {
    let world = World::with(StoreLimits { version_retention: Duration::from_secs(100), ..limits() });
    for content in ["one", "two", "two", "three"] {
        world.write("/v", content).await.unwrap();
    }
    let versions = world.store.versions(ALICE, "p", "/v").await.unwrap();
    assert_eq!(versions.iter().map(|version| version.size).collect::<Vec<_>>(), [3, 3]);
    assert_code(world.store.version_content(BOB, "p", "/v", versions[1].id).await, ErrorCode::NotFound);
    assert_code(world.store.version_content(ALICE, "p", "/w", versions[1].id).await, ErrorCode::NotFound);
    world.rename("/v", "/w", false).await.unwrap();
    assert!(world.store.versions(ALICE, "p", "/v").await.unwrap().is_empty());
    world.delete("/w", false).await.unwrap();
    let restored =
        world.store.restore(ALICE, "p", "/w", versions[1].id, MutationGuard::default()).await.unwrap();
    assert!(restored.is_new);
    assert_eq!(world.read("/w").await.unwrap(), "one");
    for number in 0..4 {
        world.write("/w", &number.to_string()).await.unwrap();
    }
    assert_eq!(world.store.versions(ALICE, "p", "/w").await.unwrap().len(), 7);
    world.clock.0.fetch_add(200, Ordering::Relaxed);
    world.write("/w", "last").await.unwrap();
    let kept = world.store.versions(ALICE, "p", "/w").await.unwrap();
    assert_eq!(kept.len(), 3);
    let newest = world.store.version_content(ALICE, "p", "/w", kept[0].id).await.unwrap();
    assert_eq!(newest.bytes, b"3");
}

#[tokio::test]
async fn a_repeated_change_happens_once_and_conditions_are_kept() {
    let world = World::new();
    let guard =
        |key: &str| MutationGuard { key: Some(MutationKey(key.to_owned())), ..MutationGuard::default() };
    let append = |content| write_arguments("/k", content, "APPEND", 0);
    let first = world.store.write(ALICE, append("x"), guard("1")).await.unwrap();
    let again = world.store.write(ALICE, append("x"), guard("1")).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(world.read("/k").await.unwrap(), "x");
    assert_code(world.store.write(ALICE, append("y"), guard("1")).await, ErrorCode::InvalidQuery);
    world.store.write(BOB, append("other tenant"), guard("1")).await.unwrap();

    let expected = |expected| MutationGuard { expected: Some(expected), ..MutationGuard::default() };
    let new = || MutationGuard { must_be_new: true, ..MutationGuard::default() };
    assert_code(world.store.write(ALICE, append("y"), new()).await, ErrorCode::PreconditionFailed);
    let stale = expected(ContentHash([0; 32]));
    assert_code(world.store.write(ALICE, append("y"), stale.clone()).await, ErrorCode::PreconditionFailed);
    assert_code(world.store.delete(ALICE, "p", "/k", false, stale).await, ErrorCode::PreconditionFailed);
    let present = expected(first.content_hash);
    assert_eq!(world.store.delete(ALICE, "p", "/k", false, present).await.unwrap(), 1);
}

#[tokio::test]
async fn times_increase_though_the_clock_jumps_back() {
    let world = World::new();
    let first = world.write("/a", "1").await.unwrap();
    world.clock.0.store(5, Ordering::Relaxed);
    let second = world.write("/b", "2").await.unwrap();
    let third = world.write("/a", "3").await.unwrap();
    assert!(first.updated_at < second.updated_at && second.updated_at < third.updated_at);
}
