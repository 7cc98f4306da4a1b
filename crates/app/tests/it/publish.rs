//! A folder published into the shared store, and servers that answer from there: what they say is what a server of the folder
//! says, byte for byte.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::build::{file, paragraphs, text_pages, zip};
use testkit::{
    Client, DEADLINE, Database, Era, Finished, Folder, HttpClient, Postgres, Process, Program, Redis, Server,
};

const BINARY: &str = env!("CARGO_BIN_EXE_dir2mcp");

/// A file store that several processes use.
struct Store {
    dir: tempfile::TempDir,
    postgres: Option<(Database, Redis)>,
}

impl Store {
    fn sqlite() -> Store {
        let store = Store { dir: tempfile::tempdir().unwrap(), postgres: None };
        let path = store.database().display().to_string();
        store.configured(&format!("  path: {path}\n"))
    }

    fn postgres() -> Store {
        let (database, redis) = (Postgres::shared().database(), Redis::shared());
        let lines = format!(
            "  backend: postgres\n  postgres:\n    url: {}\n  redis:\n    url: {}\n",
            database.url(),
            redis.url()
        );
        Store { dir: tempfile::tempdir().unwrap(), postgres: Some((database, redis)) }.configured(&lines)
    }

    fn configured(self, files: &str) -> Store {
        std::fs::write(self.dir.path().join("store.yaml"), format!("version: 1\nfiles:\n{files}")).unwrap();
        std::fs::create_dir(self.dir.path().join("nowhere")).unwrap();
        self
    }

    fn database(&self) -> PathBuf {
        self.dir.path().join("files.sqlite")
    }

    /// The program on a folder, with this store.
    fn program(&self, root: &Path) -> Program {
        Program::at(BINARY, root).flag("--config").flag(self.dir.path().join("store.yaml"))
    }

    /// The program in a place that has nothing to do with the folder.
    fn elsewhere(&self) -> Program {
        self.program(&self.dir.path().join("nowhere"))
    }

    fn publish(&self, folder: &Folder, project: &str) -> Value {
        done(&self.program(folder.path()).run(&["publish", "--json", "--project", project]).expect(0))
    }

    /// A server of a project that has taken over what is published.
    fn serve(&self, project: &str) -> Server {
        let server = self.elsewhere().serve(&["--project", project]);
        server.wait_indexed();
        server
    }
}

/// The data of the event that ends a publication.
fn done(finished: &Finished) -> Value {
    let mut events = finished.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = events.rfind(|event| event["event"] == "publish_done");
    last.unwrap_or_else(|| panic!("no publish_done: {}", finished.output()))["data"].clone()
}

fn secret() -> String {
    ["AKIA", "FAKEFAKEFAKE", "FAKE"].concat()
}

/// A word that stands beside the secret, in a file that must not be published.
const BESIDE_THE_SECRET: &str = "marmalade-depot";

fn mixed() -> Folder {
    let folder = Folder::empty();
    folder.write(
        "README.md",
        "# Ferry timetable\n\nThe ferry leaves at noon.\n\n## Winter\n\nIn winter it stays in port.\n",
    );
    folder.write(
        "docs/guide.md",
        "# Guide\n\nTickets are sold on the pier. The lighthouse is open on Sundays.\n",
    );
    folder.write(
        "src/retry.py",
        "import time\n\n\nclass RetryPolicy:\n    \"\"\"Waits longer each time.\"\"\"\n\n    def __init__(self, limit):\n        self.limit = limit\n\n    def delay(self, attempt):\n        return min(2 ** attempt, self.limit)\n\n\ndef run(policy, work):\n    for attempt in range(5):\n        time.sleep(policy.delay(attempt))\n        work()\n",
    );
    folder.write(
        "src/app.py",
        "from retry import RetryPolicy, run\n\npolicy = RetryPolicy(30)\nrun(policy, print)\n",
    );
    folder.write("src/ferry.rs", "/// Leaves at noon.\npub fn departure(hour: u32) -> bool {\n    hour == 12\n}\n\nfn main() {\n    println!(\"{}\", departure(12));\n}\n");
    folder
        .write("page.html", "<html><body><h1>Harbour</h1><p>The crane lifts nine tonnes.</p></body></html>");
    folder.write(
        "report.pdf",
        text_pages(&["The lighthouse was built in 1893.", "The windmill belongs to the miller."]),
    );
    folder.write("letter.docx", paragraphs(&["Dear keeper,", "the zeppelin arrives on Tuesday."]));
    folder.write("prices.csv", "item,price\nticket,12\nbicycle,3\nkayak,7\n");
    folder.write("mail.eml", "From: a@example.org\r\nTo: b@example.org\r\nSubject: Anchor\r\nContent-Type: text/plain\r\n\r\nThe anchor is painted green.\r\n");
    folder.write(
        "old.zip",
        zip(&[
            file("notes/cargo.md", "# Cargo\n\nForty barrels of herring.\n"),
            file("tools/weigh.py", "def weigh(barrel):\n    return barrel.mass\n"),
            file("notes/key.txt", format!("{BESIDE_THE_SECRET}\naws = {}\n", secret())),
        ]),
    );
    folder.write("with space ä.md", "# Spaces\n\nThe pelican sleeps.\n");
    folder.write("crlf.txt", "first line\r\nsecond walrus line\r\n");
    folder.write("empty.txt", "");
    folder.write("credentials.txt", format!("{BESIDE_THE_SECRET}\naws_access_key_id = {}\n", secret()));
    folder.write(".env", format!("{BESIDE_THE_SECRET}={}\n", secret()));
    folder.write("picture.bin", [0u8, 159, 146, 150, 0, 1, 2, 3]);
    folder.write("ignored.log", "seagulls\n");
    folder.write(".gitignore", "*.log\n");
    folder
}

/// Calls over both contracts: those that succeed, those that fail, those that are refused.
fn calls() -> Vec<(&'static str, Value)> {
    let mut calls = Vec::new();
    for query in [
        "when does the ferry leave",
        "lighthouse",
        "windmill miller",
        "zeppelin arrives",
        "kayak price",
        "anchor green",
        "herring barrels",
        "retry with backoff delay",
        "RetryPolicy",
        "def weigh",
        "walrus",
        "pelican",
        "crane tonnes",
        "marmalade depot",
        "seagulls",
        "path:docs tickets",
        "ext:py delay",
        "\"belongs to the miller\"",
    ] {
        calls.push(("dir2mcp.search", json!({ "query": query, "k": 10 })));
    }
    calls.push(("dir2mcp.search", json!({ "query": "departure", "index": "code", "k": 3 })));
    calls.push(("dir2mcp.search", json!({ "query": "lighthouse", "file_glob": "docs/**" })));
    for question in ["When does the ferry leave?", "Who owns the windmill?", "What colour is the anchor?"] {
        calls.push(("dir2mcp.ask", json!({ "question": question })));
    }
    for path in [
        "README.md",
        "src/retry.py",
        "page.html",
        "report.pdf",
        "letter.docx",
        "prices.csv",
        "mail.eml",
        "old.zip",
        "old.zip/notes/cargo.md",
        "old.zip/tools/weigh.py",
        "old.zip/notes/key.txt",
        "with space ä.md",
        "crlf.txt",
        "empty.txt",
        "credentials.txt",
        ".env",
        "picture.bin",
        "docs",
        "no-such-file.md",
        "../outside.md",
        "/etc/passwd",
    ] {
        calls.push(("dir2mcp.open_file", json!({ "rel_path": path })));
    }
    calls.push(("dir2mcp.open_file", json!({ "rel_path": "report.pdf", "page": 2 })));
    calls.push(("dir2mcp.open_file", json!({ "rel_path": "report.pdf", "page": 9 })));
    calls.push(("dir2mcp.open_file", json!({ "rel_path": "src/retry.py", "start_line": 4, "end_line": 8 })));
    calls.push(("dir2mcp.list_files", json!({})));
    calls.push(("dir2mcp.list_files", json!({ "glob": "src/**" })));
    calls.push(("dir2mcp.list_files", json!({ "path_prefix": "docs/", "limit": 1 })));
    calls.push(("repo.list_files", json!({})));
    calls.push(("repo.list_files", json!({ "glob": "**/*.py" })));
    calls.push(("repo.list_files", json!({ "include_hidden": true })));
    for path in [
        "README.md",
        "src/retry.py",
        "page.html",
        "prices.csv",
        "crlf.txt",
        "credentials.txt",
        "picture.bin",
        "report.pdf",
        ".env",
        "gone.py",
        "docs",
    ] {
        calls.push(("repo.open_file", json!({ "path": path })));
    }
    calls.push(("repo.open_file", json!({ "path": "src/retry.py", "start_line": 9, "end_line": 12 })));
    for path in ["src/retry.py", "src/ferry.rs", "README.md", "picture.bin", "gone.py"] {
        calls.push(("repo.outline", json!({ "path": path })));
    }
    for query in ["RetryPolicy", "departure", "ferry", "delay attempt", "barrels"] {
        calls.push(("repo.search", json!({ "query": query })));
    }
    for symbol in ["RetryPolicy", "RetryPolicy.delay", "departure", "run", "missing_name"] {
        calls.push(("repo.find_definition", json!({ "symbol": symbol })));
        calls.push(("repo.references", json!({ "symbol": symbol })));
    }
    for task in ["make the retry delay configurable", "change the departure hour"] {
        calls.push((
            "repo.build_context_bundle",
            json!({ "prompt": task, "budget": { "max_files": 5, "max_total_lines": 60 } }),
        ));
    }
    calls
}

/// The answers of a server to all calls, without what tells one server from another.
fn answers(server: &Server) -> Vec<(String, Value)> {
    let mut tools = server.client(Era::Modern);
    let mut repo = server.client_at("/mcp/repo");
    let answer = |(tool, arguments): (&str, Value)| {
        let client: &mut HttpClient = if tool.starts_with("repo.") { &mut repo } else { &mut tools };
        let reply = client.call(tool, arguments.clone());
        let mut answer = json!({ "is_error": reply.is_error(), "structured": reply.structured() });
        if let Some(envelope) = answer["structured"].as_object_mut() {
            // Numbers of the call, not of the answer.
            envelope.remove("request_id");
        }
        (format!("{tool} {arguments}"), answer)
    };
    calls().into_iter().map(answer).collect()
}

fn assert_same_answers(of_folder: &Server, of_project: &Server) {
    let (folder, project) = (answers(of_folder), answers(of_project));
    assert!(folder.len() >= 40, "{}", folder.len());
    for ((call, expected), (_, got)) in folder.iter().zip(&project) {
        assert_eq!(expected.to_string(), got.to_string(), "{call}");
    }
}

/// The counts of the whole index; those of the job differ, and the root and the state directory are the server's own.
fn totals(server: &Server) -> Value {
    let stats = server.expect("dir2mcp.stats", json!({}));
    let of = |name: &str| stats["indexing"][name].clone();
    json!({
        "models": stats["models"],
        "representations": of("representations"),
        "chunks_total": of("chunks_total"),
        "embedded_ok": of("embedded_ok"),
        "running": of("running"),
    })
}

fn a_server_of_a_project_answers_as_the_server_of_its_folder(store: &Store) {
    let folder = mixed();
    let report = store.publish(&folder, "harbour");
    assert_eq!((&report["unchanged"], &report["removed"]), (&json!(0), &json!(0)), "{report}");
    assert_eq!(report["not_published"]["count"], 0, "{report}");
    let without_text = report["without_text"].to_string();
    for path in ["credentials.txt", "picture.bin", "old.zip/notes/key.txt"] {
        assert!(without_text.contains(path), "{path}: {without_text}");
    }
    assert!(report["not_files"].to_string().contains("with space ä.md"), "{report}");

    let of_folder = store.program(folder.path()).serve(&[]);
    of_folder.wait_indexed();
    let of_project = store.serve("harbour");
    assert_same_answers(&of_folder, &of_project);
    assert_eq!(totals(&of_folder), totals(&of_project));
    let stats = of_project.expect("dir2mcp.stats", json!({}));
    assert_eq!(stats["root"], "project harbour");

    // Another process on the same state, and one on standard input.
    let second = store.serve("harbour");
    assert_same_answers(&of_folder, &second);
    let mut stdio = store.elsewhere().stdio(&["--project", "harbour"]).connect(Era::Modern);
    let found = stdio.expect("dir2mcp.search", json!({ "query": "windmill miller" }));
    assert_eq!(found["hits"][0]["rel_path"], "report.pdf", "{found}");
    // Tools that need the folder say so.
    let refused =
        of_project.client(Era::Modern).call("dir2mcp.transcribe", json!({ "rel_path": "README.md" }));
    assert!(refused.is_error() && refused.text().contains("no folder"), "{}", refused.text());

    // Nothing changed: nothing is sent.
    let again = store.publish(&folder, "harbour");
    assert_eq!((&again["published"], &again["removed"], &again["bytes"]), (&json!(0), &json!(0), &json!(0)));
    assert_eq!(again["unchanged"], report["published"]);
}

fn edits_deletions_and_renames_are_followed_while_the_server_runs(store: &Store) {
    let folder = mixed();
    store.publish(&folder, "harbour");
    let of_folder = store.program(folder.path()).serve(&[]);
    of_folder.wait_indexed();
    let of_project = store.serve("harbour");

    folder.write("README.md", "# Ferry timetable\n\nThe hovercraft leaves at dawn.\n");
    folder.write("docs/new.md", "# New\n\nThe narwhal has arrived.\n");
    folder.remove("mail.eml");
    folder.rename("src/retry.py", "src/backoff.py");
    // A file where a folder was, and a folder where a file was.
    folder.remove("docs/guide.md");
    folder.write("crlf.txt.d/inner.md", "# Inner\n\nThe otter swims.\n");
    folder.write("report.pdf", text_pages(&["The lighthouse was torn down."]));
    let report = store.publish(&folder, "harbour");
    assert_eq!((&report["published"], &report["removed"]), (&json!(5), &json!(3)), "{report}");

    of_project.poll("the newer publication", |client| {
        let found = client.expect("dir2mcp.search", json!({ "query": "narwhal" }));
        (found["hits"][0]["rel_path"] == "docs/new.md").then_some(())
    });
    of_folder.poll("the edits", |client| {
        let found = client.expect("dir2mcp.search", json!({ "query": "otter" }));
        (found["hits"][0]["rel_path"] == "crlf.txt.d/inner.md").then_some(())
    });
    of_folder.wait_indexed();
    of_project.wait_indexed();
    assert_same_answers(&of_folder, &of_project);

    // A touched file costs its facts, not its text.
    let readme = folder.path().join("README.md");
    let later = std::time::SystemTime::now() + Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&readme).unwrap().set_modified(later).unwrap();
    let report = store.publish(&folder, "harbour");
    assert_eq!((&report["published"], &report["touched"]), (&json!(1), &json!(1)), "{report}");
    let listed = |client: &mut HttpClient| {
        let list = client.expect("dir2mcp.list_files", json!({ "glob": "README.md" }));
        list["files"][0]["mtime_unix"].clone()
    };
    let expected = later.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    of_project.poll("the new time", |client| (listed(client) == json!(expected)).then_some(()));

    // A server that was away catches up; one that starts anew agrees with it.
    of_project.stop();
    folder.remove("prices.csv");
    store.publish(&folder, "harbour");
    let of_project = store.serve("harbour");
    let gone = of_project.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "prices.csv" }));
    assert_eq!(gone.code(), Some("FILE_NOT_FOUND"));
}

fn texts_can_be_read_as_files_of_the_project(store: &Store) {
    let folder = mixed();
    store.publish(&folder, "harbour");
    let server = store.serve("harbour");
    let mut files = server.client_at("/mcp/files");
    let read = |client: &mut HttpClient, path: &str| {
        client.call("file_read", json!({ "project": "harbour", "path": path }))
    };
    let readme = read(&mut files, "/README.md");
    assert_eq!(readme.structured()["content"], folder.read("README.md"), "{}", readme.result);
    assert!(
        read(&mut files, "/page.html").structured()["content"].as_str().unwrap().contains("<h1>Harbour</h1>")
    );
    let report = read(&mut files, "/report.pdf.extracted.txt");
    assert!(report.structured()["content"].as_str().unwrap().contains("windmill"), "{}", report.result);
    assert!(
        read(&mut files, "/old.zip/notes/cargo.md").structured()["content"]
            .as_str()
            .unwrap()
            .contains("herring")
    );
    for path in
        ["/credentials.txt", "/.env", "/picture.bin", "/report.pdf", "/old.zip/notes/key.txt", "/ignored.log"]
    {
        assert!(read(&mut files, path).is_error(), "{path}");
    }
    // The records themselves are no files.
    let list =
        files.expect("file_list", json!({ "project": "harbour", "path": "", "depth": 9, "limit": 1000 }));
    let paths: Vec<&str> =
        list["entries"].as_array().unwrap().iter().filter_map(|entry| entry["path"].as_str()).collect();
    assert!(
        paths.contains(&"/src/retry.py") && paths.iter().all(|path| !path.contains("publish")),
        "{paths:?}"
    );

    folder.remove("README.md");
    folder.write("README.md/part.md", "# Part\n");
    store.publish(&folder, "harbour");
    assert!(read(&mut files, "/README.md").is_error());
    assert_eq!(read(&mut files, "/README.md/part.md").structured()["content"], "# Part\n");
}

/// Every byte of the store, also what is packed in it.
#[test]
fn no_secret_reaches_the_store() {
    let (store, folder) = (Store::sqlite(), mixed());
    store.publish(&folder, "harbour");
    // One that becomes a secret later takes its former text along.
    folder.write("docs/guide.md", format!("{BESIDE_THE_SECRET}\ntoken: {}\n", secret()));
    store.publish(&folder, "harbour");
    let database = rusqlite::Connection::open(store.database()).unwrap();
    let bodies: Vec<(String, Option<String>, Option<Vec<u8>>)> = database
        .prepare("SELECT path, facts, body FROM mcp_published_documents")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(
        bodies.iter().any(|(path, ..)| path == "README.md")
            && !bodies.iter().any(|(path, ..)| path == ".env")
    );
    let needles = [secret(), BESIDE_THE_SECRET.to_owned()];
    let holds = |bytes: &[u8]| {
        needles.iter().any(|needle| bytes.windows(needle.len()).any(|window| window == needle.as_bytes()))
    };
    let mut texts = 0;
    for (path, facts, body) in bodies {
        assert!(!holds(facts.unwrap_or_default().as_bytes()), "{path}");
        let Some(body) = body else { continue };
        let length = u32::from_be_bytes(body[..4].try_into().unwrap()) as usize;
        for part in [&body[4..4 + length], &body[4 + length..]] {
            let text = zstd::stream::decode_all(part).unwrap();
            assert!(!holds(&text), "{path}: {}", String::from_utf8_lossy(&text));
            texts += 1;
        }
    }
    assert!(texts > 20, "{texts}");
    drop(database);
    for ending in ["", "-wal"] {
        let mut name = store.database().into_os_string();
        name.push(ending);
        assert!(!holds(&std::fs::read(name).unwrap_or_default()), "files.sqlite{ending}");
    }
}

fn many() -> Folder {
    let folder = Folder::empty();
    for number in 0..400 {
        folder.write(
            &format!("notes/{number:03}.md"),
            format!("# Note {number}\n\nThe sailor number{number} keeps a parrot.\n"),
        );
    }
    folder
}

/// Starts to publish and comes back once a batch was sent.
fn begun(store: &Store, folder: &Folder) -> Process {
    let process = store.program(folder.path()).start(&["publish", "--json", "--project", "crew"]);
    loop {
        let line =
            process.next_line(DEADLINE).unwrap_or_else(|| panic!("no progress: {:?}", process.printed()));
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == "publish_progress" && event["data"]["published"].as_u64() > Some(0) {
            return process;
        }
        assert_ne!(event["event"], "publish_done", "it was over before it could be interrupted");
    }
}

fn a_publisher_that_was_killed_goes_on_where_it_was(store: &Store) {
    let folder = many();
    store.program(folder.path()).index();
    begun(store, &folder).kill_now();
    let report = store.publish(&folder, "crew");
    let (sent, unchanged) = (report["published"].as_u64().unwrap(), report["unchanged"].as_u64().unwrap());
    assert_eq!(sent + unchanged, 400, "{report}");
    assert!(unchanged > 0, "what was sent before the kill was sent again: {report}");
    let of_folder = store.program(folder.path()).serve(&[]);
    of_folder.wait_indexed();
    let of_project = store.serve("crew");
    for query in ["parrot", "number17", "number399 sailor"] {
        let arguments = json!({ "query": query, "k": 50 });
        assert_eq!(
            of_folder.expect("dir2mcp.search", arguments.clone()).to_string(),
            of_project.expect("dir2mcp.search", arguments).to_string(),
            "{query}"
        );
    }
    assert_eq!(of_project.expect("dir2mcp.list_files", json!({}))["total"], 400);
}

/// A publisher that is held up longer than its time loses the project to the next one, and notices.
fn two_publishers_of_one_project_do_not_mix(store: &Store) {
    let folder = many();
    store.program(folder.path()).index();
    let first = begun(store, &folder);
    first.signal(rustix::process::Signal::STOP);
    let report = store.publish(&folder, "crew");
    assert_eq!(report["published"].as_u64().unwrap() + report["unchanged"].as_u64().unwrap(), 400);
    first.signal(rustix::process::Signal::CONT);
    let lost = first.wait();
    assert_ne!(lost.code, Some(0), "{}", lost.output());
    assert!(lost.output().contains("CONFLICT"), "{}", lost.output());
    let again = store.publish(&folder, "crew");
    assert_eq!((&again["published"], &again["unchanged"]), (&json!(0), &json!(400)), "{again}");
}

#[test]
fn an_interrupted_publisher_lets_the_project_go() {
    let (store, folder) = (Store::sqlite(), many());
    store.program(folder.path()).index();
    let process = begun(&store, &folder);
    process.signal(rustix::process::Signal::INT);
    let ended = process.wait();
    assert!(ended.output().contains("CANCELLED"), "{}", ended.output());
    // At once: there is nobody to wait for.
    let report = store.publish(&folder, "crew");
    assert_eq!(report["published"].as_u64().unwrap() + report["unchanged"].as_u64().unwrap(), 400);
}

fn another_key_sees_nothing_of_a_project(store: &Store) {
    let folder = mixed();
    let keys = store.elsewhere();
    keys.run(&["keys", "add", "anna"]).expect(0);
    keys.run(&["keys", "add", "bert"]).expect(0);
    let publish = |key: &str, project: &str| {
        store.program(folder.path()).run(&["publish", "--json", "--project", project, "--key", key])
    };
    publish("anna", "harbour").expect(0);
    for others in [&["--project", "harbour", "--key", "bert"][..], &["--project", "harbour"][..]] {
        let refused = store.elsewhere().try_serve(others).map(Server::stop).unwrap_err();
        assert!(
            refused.output().contains("nothing is published as the project harbour"),
            "{}",
            refused.output()
        );
        assert!(!refused.output().contains("Published are"), "{}", refused.output());
    }
    publish("bert", "quay").expect(0);
    let refused = store
        .elsewhere()
        .try_serve(&["--project", "harbour", "--key", "bert"])
        .map(Server::stop)
        .unwrap_err();
    assert!(refused.output().contains("Published are: quay."), "{}", refused.output());
    let own = store.elsewhere().serve(&["--project", "harbour", "--key", "anna"]);
    own.wait_indexed();
    assert_eq!(
        own.expect("dir2mcp.search", json!({ "query": "windmill" }))["hits"][0]["rel_path"],
        "report.pdf"
    );
    assert!(publish("carl", "harbour").output().contains("there is no key named"));
}

/// The copy and the index of a server are derived: whatever is lost of them comes back.
#[test]
fn a_server_mends_what_it_keeps_of_a_project() {
    let (store, folder) = (Store::sqlite(), mixed());
    store.publish(&folder, "harbour");
    let first = store.serve("harbour");
    let expected = answers(&first);
    first.stop();
    let projects = store.dir.path().join("nowhere/.dir2mcp/projects");
    let state = std::fs::read_dir(&projects).unwrap().next().unwrap().unwrap().path();
    for lost in ["project.sqlite", "meta.sqlite", "lexical", "vectors_text.hnsw"] {
        let path = state.join(lost);
        assert!(path.exists(), "{lost}");
        if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) }.unwrap();
        let server = store.serve("harbour");
        for ((call, expected), (_, got)) in expected.iter().zip(answers(&server)) {
            assert_eq!(expected.to_string(), got.to_string(), "without {lost}: {call}");
        }
        server.stop();
    }
}

/// The same on both backends.
macro_rules! on_both {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $case() { super::$case(&super::Store::sqlite()); })+
        }
        mod postgres {
            $(#[test] fn $case() { super::$case(&super::Store::postgres()); })+
        }
    };
}

on_both!(
    a_server_of_a_project_answers_as_the_server_of_its_folder,
    edits_deletions_and_renames_are_followed_while_the_server_runs,
    texts_can_be_read_as_files_of_the_project,
    a_publisher_that_was_killed_goes_on_where_it_was,
    two_publishers_of_one_project_do_not_mix,
    another_key_sees_nothing_of_a_project,
);

/// Named on the command line, for a folder that is configured for its own store.
#[test]
fn a_folder_is_published_to_a_server_that_is_named() {
    let (store, folder) = (Store::postgres(), mixed());
    let url = store.postgres.as_ref().unwrap().0.url().to_owned();
    let here = Program::new(BINARY, &folder);
    let report = done(&here.run(&["publish", "--json", "--project", "harbour", "--to", &url]).expect(0));
    assert!(report["published"].as_u64() > Some(10), "{report}");
    assert!(!folder.state().join("files.sqlite").exists(), "the folder's own store was used");
    let server = store.serve("harbour");
    assert_eq!(
        server.expect("dir2mcp.search", json!({ "query": "windmill" }))["hits"][0]["rel_path"],
        "report.pdf"
    );
    let refused = here.run(&["publish", "--project", "harbour", "--to", "mysql://db/files"]);
    assert!(
        refused.code != Some(0) && refused.output().contains("no address of a PostgreSQL"),
        "{}",
        refused.output()
    );
}
