//! Published projects: one publisher at a time, changes in order, and nothing across tenants.

use std::sync::atomic::Ordering;

use filestore::backends::postgres::{PostgresOptions, PostgresStore};
use filestore::publication::{
    LEASE, ManifestEntry, PublicationBackend, PublicationCursor, PublishedChange, Publisher, TOMBSTONE_AGE,
};
use filestore::{ProjectName, ProjectScope};
use model::{ContentHash, ErrorCode, TenantId};

use crate::sqlite_world::{ALICE, BOB, World};

fn scope(tenant: TenantId, project: &str) -> ProjectScope {
    ProjectScope::new(tenant, ProjectName::parse(project).unwrap())
}

fn publisher(id: &str) -> Publisher {
    Publisher { id: id.to_owned(), name: format!("process {id}") }
}

fn put(path: &str, body: &str) -> PublishedChange {
    PublishedChange::Put {
        path: path.to_owned(),
        facts: format!("facts of {path}"),
        body_digest: digest(body),
        body: Some(body.as_bytes().to_vec()),
    }
}

fn digest(body: &str) -> ContentHash {
    ContentHash(*blake3::hash(body.as_bytes()).as_bytes())
}

fn remove(path: &str) -> PublishedChange {
    PublishedChange::Remove { path: path.to_owned() }
}

/// What a follower sees after a place: path, revision, and whether it is still there.
async fn changes(
    store: &dyn PublicationBackend,
    scope: &ProjectScope,
    after: &PublicationCursor,
) -> Vec<(String, u64, bool)> {
    let rows = store.published_changes(scope, after, 100).await.unwrap();
    rows.into_iter().map(|row| (row.path, row.revision, row.content.is_some())).collect()
}

#[tokio::test]
async fn changes_come_in_order_and_only_to_their_tenant() {
    let world = World::new();
    changes_in_order(&world.sqlite).await;
    // The records are no files.
    assert_eq!(world.store.projects(ALICE).await.unwrap(), []);
}

/// The same in PostgreSQL, and that a publisher keeps others away there, too.
#[tokio::test(flavor = "multi_thread")]
async fn projects_are_published_in_postgresql() {
    let database = testkit::Postgres::shared().database();
    let store = PostgresStore::open(PostgresOptions::new(database.url(), 256)).await.unwrap();
    changes_in_order(&store).await;
    let (project, first, second) = (scope(ALICE, "q"), publisher("1"), publisher("2"));
    store.begin_publication(&project, &first, 1).await.unwrap();
    let refused = store.begin_publication(&project, &second, 1).await.unwrap_err();
    assert!(refused.code == ErrorCode::Conflict && refused.message.contains("process 1"), "{refused}");
    let refused = store.publish(&project, &second, vec![put("a", "of the second")]).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    store.renew_publication(&project, &first).await.unwrap();
    // Its time is over.
    database.run(
        "UPDATE dir2mcp_files_0000.mcp_published_projects SET lease_until = now() - interval '1 second'",
    );
    store.begin_publication(&project, &second, 1).await.unwrap();
    assert_eq!(store.renew_publication(&project, &first).await.unwrap_err().code, ErrorCode::Conflict);
    store.publish(&project, &second, vec![put("a", "1"), put("b", "2")]).await.unwrap();
    store.publish(&project, &second, vec![remove("a")]).await.unwrap();
    database.run(
        "UPDATE dir2mcp_files_0000.mcp_published_documents SET changed_at = now() - interval '31 days' WHERE facts IS NULL",
    );
    store.end_publication(&project, &second, true).await.unwrap();
    let head = store.publication(&project).await.unwrap().unwrap();
    assert_eq!((head.revision, head.floor, head.is_complete, head.holder), (2, 2, true, None));
    let left = changes(&store, &project, &PublicationCursor::default()).await;
    assert_eq!(left, [("b".to_owned(), 1, true)]);
    let older = store.begin_publication(&project, &first, 0).await.unwrap_err();
    assert_eq!(older.code, ErrorCode::IndexVersionMismatch);
}

async fn changes_in_order(store: &dyn PublicationBackend) {
    let (own, others) = (scope(ALICE, "p"), scope(BOB, "p"));
    let me = publisher("1");
    assert_eq!(store.publication(&own).await.unwrap(), None);
    assert_eq!(store.begin_publication(&own, &me, 1).await.unwrap().revision, 0);
    // In the byte order of the paths, whatever characters they have.
    let paths = ["b_%", "a/ä", "a", "B", "a/b"];
    let first = paths.iter().map(|path| put(path, path)).collect();
    assert_eq!(store.publish(&own, &me, first).await.unwrap(), 1);
    let manifest = store.manifest(&own, "", 100).await.unwrap();
    let listed: Vec<&str> = manifest.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(listed, ["B", "a", "a/b", "a/ä", "b_%"]);
    let page = store.manifest(&own, "a", 2).await.unwrap();
    assert_eq!(page.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["a/b", "a/ä"]);
    let entry =
        ManifestEntry { path: "B".to_owned(), facts: "facts of B".to_owned(), body_digest: digest("B") };
    assert_eq!(manifest[0], entry);

    let second = vec![put("a", "new"), remove("B"), remove("never there")];
    assert_eq!(store.publish(&own, &me, second).await.unwrap(), 2);
    let all = changes(store, &own, &PublicationCursor::default()).await;
    let expected = [("a/b", 1, true), ("a/ä", 1, true), ("b_%", 1, true), ("B", 2, false), ("a", 2, true)];
    assert_eq!(all, expected.map(|(path, revision, is_there)| (path.to_owned(), revision, is_there)));
    let cursor = PublicationCursor { revision: 2, path: "B".to_owned() };
    assert_eq!(changes(store, &own, &cursor).await, [("a".to_owned(), 2, true)]);
    let bodies = store.published_bodies(&own, vec!["a".to_owned(), "B".to_owned()]).await.unwrap();
    assert_eq!((bodies.len(), bodies[0].body.as_slice()), (1, &b"new"[..]));

    // Facts alone keep the body that is there, and only that one.
    let facts = |body: &str| PublishedChange::Put {
        path: "a".to_owned(),
        facts: "other facts".to_owned(),
        body_digest: digest(body),
        body: None,
    };
    assert_eq!(store.publish(&own, &me, vec![facts("old")]).await.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(store.publish(&own, &me, vec![facts("new")]).await.unwrap(), 3);
    store.end_publication(&own, &me, true).await.unwrap();
    let head = store.publication(&own).await.unwrap().unwrap();
    assert_eq!((head.revision, head.is_complete, head.holder), (3, true, None));

    assert_eq!(store.publication(&others).await.unwrap(), None);
    assert_eq!(store.published(BOB).await.unwrap(), []);
    assert_eq!(store.published(ALICE).await.unwrap().len(), 1);
    assert!(store.manifest(&others, "", 100).await.unwrap().is_empty());
    assert!(changes(store, &others, &PublicationCursor::default()).await.is_empty());
    assert!(store.published_bodies(&others, vec!["a".to_owned()]).await.unwrap().is_empty());
    assert_eq!(store.publish(&others, &me, vec![remove("a")]).await.unwrap_err().code, ErrorCode::Conflict);
}

#[tokio::test]
async fn one_publisher_at_a_time() {
    let world = World::new();
    let store: &dyn PublicationBackend = &world.sqlite;
    let (project, first, second) = (scope(ALICE, "p"), publisher("1"), publisher("2"));
    store.begin_publication(&project, &first, 1).await.unwrap();
    let refused = store.begin_publication(&project, &second, 1).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert!(refused.message.contains("process 1") && refused.hint.is_some(), "{refused}");
    // Other projects do not wait.
    store.begin_publication(&scope(ALICE, "q"), &second, 1).await.unwrap();
    store.begin_publication(&scope(BOB, "p"), &second, 1).await.unwrap();

    let pass = |seconds| world.clock.0.fetch_add(seconds, Ordering::Relaxed);
    pass(LEASE.as_secs() - 1);
    store.renew_publication(&project, &first).await.unwrap();
    pass(LEASE.as_secs() - 1);
    assert!(store.begin_publication(&project, &second, 1).await.is_err(), "it has given a sign of life");
    pass(2);
    store.begin_publication(&project, &second, 1).await.unwrap();
    for lost in [
        store.publish(&project, &first, vec![put("a", "of the first")]).await.map(drop),
        store.renew_publication(&project, &first).await,
        store.end_publication(&project, &first, true).await,
    ] {
        assert_eq!(lost.unwrap_err().code, ErrorCode::Conflict);
    }
    store.publish(&project, &second, vec![put("a", "of the second")]).await.unwrap();
    store.end_publication(&project, &second, false).await.unwrap();
    let head = store.publication(&project).await.unwrap().unwrap();
    assert_eq!((head.revision, head.is_complete), (1, false), "it was let go before its end");
    store.begin_publication(&project, &first, 1).await.unwrap();
    let older = store.begin_publication(&project, &first, 0).await.unwrap_err();
    assert_eq!(older.code, ErrorCode::IndexVersionMismatch);
}

#[tokio::test]
async fn removals_are_forgotten_after_a_while() {
    let world = World::new();
    let store: &dyn PublicationBackend = &world.sqlite;
    let (project, me) = (scope(ALICE, "p"), publisher("1"));
    store.begin_publication(&project, &me, 1).await.unwrap();
    store.publish(&project, &me, vec![put("a", "1"), put("b", "2"), put("c", "3")]).await.unwrap();
    store.publish(&project, &me, vec![remove("a")]).await.unwrap();
    world.clock.0.fetch_add(TOMBSTONE_AGE.as_secs() + 1, Ordering::Relaxed);
    store.publish(&project, &me, vec![remove("b")]).await.unwrap();
    store.end_publication(&project, &me, true).await.unwrap();
    let head = store.publication(&project).await.unwrap().unwrap();
    assert_eq!((head.revision, head.floor), (3, 2));
    let left = changes(store, &project, &PublicationCursor::default()).await;
    assert_eq!(left, [("c".to_owned(), 1, true), ("b".to_owned(), 3, false)]);
}
