//! Clients that ask for much and read nothing, beside one that asks now and then; and ten thousand questions at once.
//!
//! Both are told as ratios of one run, so that they hold on any machine: how much longer the honest client waits, and how
//! much more memory the server has when all is quiet again.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::{Era, Folder, HttpClient, Program, Random, Request, Server};

#[derive(Debug, Clone)]
pub struct Load {
    /// Connections of the greedy client.
    pub greedy: usize,
    /// Questions of the honest client, before and during.
    pub questions: usize,
    /// Questions at once in one round, and rounds.
    pub at_once: usize,
    pub rounds: usize,
    /// How long the server may take to notice that all is quiet, and to give memory back.
    pub quiet: Duration,
}

#[derive(Debug, Default)]
pub struct LoadReport {
    /// Waiting times of the honest client alone, and beside the greedy one.
    pub alone: Waits,
    pub beside: Waits,
    /// The same where both are one client to the server.
    pub as_one: Waits,
    /// How often the greedy client had to connect again.
    pub reconnected: usize,
    /// Resident bytes: after a few questions, at the peak, and when all is quiet again.
    pub before: u64,
    pub peak: u64,
    pub after: u64,
    pub answered: usize,
}

#[derive(Debug, Default, Clone, Copy)]
pub struct Waits {
    pub median: Duration,
    pub p99: Duration,
}

impl LoadReport {
    /// How many times longer the honest client waits, at the 99th percentile.
    pub fn slowdown(&self) -> f64 {
        self.beside.p99.as_secs_f64() / self.alone.p99.as_secs_f64()
    }

    /// Growth over the level before, as a share of it.
    pub fn growth(&self) -> f64 {
        self.after as f64 / self.before as f64 - 1.0
    }
}

/// Two clients behind a proxy: the server tells them apart by this header.
const HONEST: &str = "203.0.113.1";
const GREEDY: &str = "203.0.113.2";
/// Requests that a greedy connection sends before it waits for the first answer, which it does not read.
const PIPELINED: usize = 16;
/// An agent thinks between two questions.
const THINKS: Duration = Duration::from_millis(2);
/// How often the greedy client reads a little.
const READS_EVERY: Duration = Duration::from_millis(50);
/// The time in which a server gives back what its start took.
const SETTLES: Duration = Duration::from_secs(2);

pub fn load(binary: &Path, plan: &Load, tell: &dyn Fn(&str)) -> Result<LoadReport, String> {
    let text = |error: io::Error| error.to_string();
    raise_open_files();
    let folder = corpus();
    let program = Program::new(binary, &folder).env("DIR2MCP_TRUSTED_PROXIES", "127.0.0.1");
    let mut report = LoadReport::default();

    let server = program.serve(&[]);
    server.wait_indexed();
    let mut random = Random::new(7);
    // Both ways of the honest client and everything else that is made once.
    honest(&server, HONEST, 50, &mut random)?;
    report.alone = honest(&server, HONEST, plan.questions, &mut random)?;
    tell(&format!("alone: {}", report.alone.in_words()));
    let (stop, stopped) = channel();
    thread::scope(|scope| -> Result<(), String> {
        let server = &server;
        let crowd = scope.spawn(move || greedy(server, plan.greedy, &stopped));
        let asked = honest(server, HONEST, plan.questions, &mut random)
            .and_then(|beside| Ok((beside, honest(server, GREEDY, plan.questions / 4, &mut random)?)));
        drop(stop);
        report.reconnected =
            crowd.join().map_err(|_| "the greedy thread panicked".to_owned())?.map_err(text)?;
        (report.beside, report.as_one) = asked?;
        Ok(())
    })?;
    tell(&format!("beside {} greedy connections: {}", plan.greedy, report.beside.in_words()));
    tell(&format!("as one of them: {}", report.as_one.in_words()));
    drop(server);

    let server = program.serve(&[]);
    server.wait_indexed();
    honest(&server, HONEST, 200, &mut random)?;
    report.before = server.least_memory(SETTLES, 0);
    for round in 1..=plan.rounds {
        let (answered, peak) = all_at_once(&server, plan.at_once, &mut random).map_err(text)?;
        report.answered += answered;
        report.peak = report.peak.max(peak);
        tell(&format!("round {round}: {answered} answered, {} MB", server.memory() >> 20));
    }
    report.after = server.least_memory(plan.quiet, report.before);
    Ok(report)
}

impl Waits {
    fn of(mut times: Vec<Duration>) -> Waits {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        Waits { median: at(0.5), p99: at(0.99) }
    }

    pub fn in_words(&self) -> String {
        format!(
            "median {:.1} ms, p99 {:.1} ms",
            self.median.as_secs_f64() * 1e3,
            self.p99.as_secs_f64() * 1e3
        )
    }
}

const WORDS: [&str; 24] = [
    "lighthouse",
    "saddle",
    "windmill",
    "harbour",
    "ledger",
    "pepper",
    "violin",
    "glacier",
    "engine",
    "pillow",
    "anchor",
    "basket",
    "candle",
    "drawer",
    "ferry",
    "garden",
    "hammer",
    "island",
    "jacket",
    "kettle",
    "lantern",
    "meadow",
    "needle",
    "orchard",
];

/// A few hundred notes, and a file of a megabyte.
fn corpus() -> Folder {
    let folder = Folder::empty();
    let mut random = Random::new(1);
    for n in 0..300 {
        let words: Vec<&str> = (0..200).map(|_| WORDS[random.below(WORDS.len())]).collect();
        folder.write(&format!("notes/note-{n}.md"), format!("# Note {n}\n\n{}.\n", words.join(" ")));
    }
    folder.write("large.txt", "A line of a file that is a megabyte long, more or less.\n".repeat(18_000));
    folder
}

fn question(random: &mut Random) -> String {
    let mut words = Vec::new();
    for _ in 0..4 {
        words.push(WORDS[random.below(WORDS.len())]);
    }
    format!("{} {}", words.join(" "), random.below(1_000_000))
}

fn call(client: &mut HttpClient, address: &str, tool: &str, arguments: Value) -> Request {
    let message = client.message("tools/call", json!({ "name": tool, "arguments": arguments }));
    client.envelope(&message).header("X-Forwarded-For", address)
}

/// One client that asks, reads, and asks again.
fn honest(server: &Server, address: &str, questions: usize, random: &mut Random) -> Result<Waits, String> {
    let mut client = server.client(Era::Modern);
    let mut times = Vec::with_capacity(questions);
    for _ in 0..questions {
        let request =
            call(&mut client, address, "dir2mcp.search", json!({ "query": question(random), "k": 10 }));
        let asked = Instant::now();
        let response = client.connection.send(&request).map_err(|error| error.to_string())?;
        times.push(asked.elapsed());
        if response.status != 200 {
            return Err(format!("the honest client got {}: {}", response.status, response.text()));
        }
        thread::sleep(THINKS);
    }
    Ok(Waits::of(times))
}

/// Connections that ask for a large file again and again. Half of them read nothing, the others a little now and then.
/// A connection that is lost is opened again. Returns how often that was.
fn greedy(server: &Server, connections: usize, stopped: &Receiver<()>) -> io::Result<usize> {
    let mut client = server.stranger(Era::Modern);
    let arguments = json!({ "rel_path": "large.txt", "max_chars": 50_000 });
    let request = call(&mut client, GREEDY, "dir2mcp.open_file", arguments).encode(&server.address);
    let pipelined = request.repeat(PIPELINED);
    let open = || -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&server.address)?;
        stream.write_all(&pipelined)?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    let mut streams = (0..connections).map(|_| open()).collect::<io::Result<Vec<_>>>()?;
    let mut reconnected = 0;
    let mut little = [0; 1024];
    while stopped.recv_timeout(READS_EVERY) == Err(RecvTimeoutError::Timeout) {
        for (n, stream) in streams.iter_mut().enumerate() {
            let is_gone = match (n % 2 == 0).then(|| stream.read(&mut little)) {
                None => !matches!(stream.take_error(), Ok(None)),
                Some(Ok(read)) => read == 0,
                Some(Err(error)) => error.kind() != io::ErrorKind::WouldBlock,
            };
            if is_gone {
                // The listener's queue may be full for a moment.
                if let Ok(again) = open() {
                    *stream = again;
                    reconnected += 1;
                }
            }
        }
    }
    Ok(reconnected)
}

/// As many questions as that, each on its own connection, all asked before the first answer is read. Returns how many were
/// answered, and the most memory that was seen.
fn all_at_once(server: &Server, count: usize, random: &mut Random) -> io::Result<(usize, u64)> {
    let mut client = server.stranger(Era::Modern);
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let request =
            call(&mut client, HONEST, "dir2mcp.search", json!({ "query": question(random), "k": 10 }))
                .header("Connection", "close");
        let mut stream = TcpStream::connect(&server.address)?;
        stream.write_all(&request.encode(&server.address))?;
        streams.push(stream);
    }
    let mut peak = server.memory();
    let mut answered = 0;
    let mut answer = Vec::new();
    for (n, stream) in streams.iter_mut().enumerate() {
        answer.clear();
        stream.read_to_end(&mut answer)?;
        answered += usize::from(answer.starts_with(b"HTTP/1.1 200"));
        if n % 500 == 0 {
            peak = peak.max(server.memory());
        }
    }
    Ok((answered, peak))
}

fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
