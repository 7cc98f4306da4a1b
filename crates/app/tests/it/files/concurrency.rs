//! Lines 117 to 122: many callers at once.

use std::thread;

use serde_json::json;

use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

/// The same tenant on many connections at once.
fn at_once<T: Send>(
    t: &Tenant<'_>,
    clients: usize,
    work: impl Fn(usize, &mut Tenant<'_>) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                let mut client = t.again();
                scope.spawn(move || work(number, &mut client))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no client panics")).collect()
    })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f117_f122_case_38_24_appends_lose_nothing", |t| {
            at_once(t, 24, |number, client| client.append("/log", &format!("{number:03};")));
            let text = t.read("/log");
            assert_eq!(text.len(), 96);
            let mut tokens: Vec<&str> = text.split_terminator(';').collect();
            tokens.sort_unstable();
            let wanted: Vec<String> = (0..24).map(|number| format!("{number:03}")).collect();
            assert_eq!(tokens, wanted);
        }),
        Case::new("f117_of_many_who_make_a_file_one_is_first", |t| {
            let made = at_once(t, 8, |number, client| {
                let arguments = json!({ "path": "/a", "content": number.to_string(), "must_be_new": true });
                !client.call("file_write", arguments).is_error()
            });
            assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
            assert_eq!(t.read("/a").len(), 1);
        }),
        Case::new("f117_of_many_who_delete_a_file_one_does", |t| {
            t.put("/a", "x");
            let gone =
                at_once(t, 8, |_, client| !client.call("file_delete", json!({ "path": "/a" })).is_error());
            assert_eq!(gone.iter().filter(|gone| **gone).count(), 1, "{gone:?}");
        }),
        Case::new("f117_of_many_who_move_a_file_one_does", |t| {
            t.put("/a", "x");
            let moved = at_once(t, 8, |number, client| {
                let arguments = json!({ "from_path": "/a", "to_path": format!("/to{number}") });
                !client.call("file_rename", arguments).is_error()
            });
            assert_eq!(moved.iter().filter(|moved| **moved).count(), 1, "{moved:?}");
            assert_eq!(t.paths("", 1).len(), 1);
        }),
        Case::new("f117_a_change_sent_many_times_at_once_under_one_key_happens_once", |t| {
            let answers = at_once(t, 8, |_, client| {
                let arguments = json!({ "path": "/a", "content": "once", "idempotency_key": "one" });
                client.ok("file_write", arguments).to_string()
            });
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
            assert_eq!(t.read("/a"), "once");
        }),
        Case::new("f117_a_file_and_a_directory_do_not_come_to_be_at_one_path", |t| {
            at_once(t, 8, |number, client| {
                let path = if number % 2 == 0 { "/x".to_owned() } else { format!("/x/{number}") };
                client.call("file_write", json!({ "path": path, "content": "x" })).is_error()
            });
            let paths = t.paths("", 9);
            let is_file = t.stat("/x")["type"] == "FILE";
            assert!(if is_file { paths == ["/x"] } else { paths.len() > 1 }, "{paths:?}");
        }),
        Case::new("f120_projects_do_not_wait_for_each_other", |t| {
            at_once(t, 12, |number, client| {
                client.project = format!("project-{number}");
                for _ in 0..4 {
                    client.append("/a", "x");
                }
                assert_eq!(client.read("/a"), "xxxx");
            });
        }),
        Case::new("f121_readers_see_whole_writes_only", |t| {
            let (a, b) = ("a".repeat(50_000), "b".repeat(60_000));
            t.put("/a", &a);
            at_once(t, 4, |number, client| {
                for round in 0..6 {
                    if number == 0 {
                        client.put("/a", if round % 2 == 0 { &b } else { &a });
                    } else {
                        let text = client.read("/a");
                        assert!(text == a || text == b, "{} bytes of both", text.len());
                    }
                }
            });
        }),
        Case::new("f088_f121_a_move_is_seen_whole_or_not_at_all", |t| {
            for n in 0..12 {
                t.put(&format!("/one/{n}"), "x");
            }
            at_once(t, 4, |number, client| {
                for round in 0..6 {
                    if number == 0 {
                        let (from, to) = if round % 2 == 0 { ("/one", "/two") } else { ("/two", "/one") };
                        assert_eq!(client.rename(from, to), 12);
                    } else {
                        let paths = client.paths("", 2);
                        assert_eq!(paths.len(), 13, "{paths:?}");
                    }
                }
            });
        }),
    ]
}
