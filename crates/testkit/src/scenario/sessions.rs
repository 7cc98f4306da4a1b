//! Clients that open a session and never come back: memory returns, honest clients are served throughout.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::json;

use crate::{Client, Era, Folder, LEGACY, Program, Server};

#[derive(Debug, Clone)]
pub struct Sessions {
    pub sessions: usize,
}

#[derive(Debug, Default)]
pub struct SessionsReport {
    pub opened: usize,
    /// Refused at the cap.
    pub refused: usize,
    pub honest_calls: usize,
    /// Resident bytes of the new server, before the flood, at its end, and after the idle time.
    pub fresh: u64,
    pub before: u64,
    pub peak: u64,
    pub after: u64,
}

impl SessionsReport {
    /// Growth over the start, as a share of it.
    pub fn growth(&self) -> f64 {
        self.after as f64 / self.before as f64 - 1.0
    }
}

pub fn sessions(binary: &Path, plan: &Sessions, tell: &dyn Fn(&str)) -> Result<SessionsReport, String> {
    let folder = Folder::from(
        "
        //- .dir2mcp.yaml
        version: 1
        server:
          session_inactivity_timeout: \"2s\"
        //- notes.txt
        The honest client looks for this lighthouse.
        ",
    );
    let mut log = Log { path: folder.outside().join("server.log"), read: 0, ended: 0 };
    let server = Program::new(binary, &folder).flag("--log-file").flag(&log.path).serve(&[]);
    server.wait_indexed();
    let fresh = server.memory();
    // A full table of abandoned sessions brings the allocator to its working size; growth after that is a leak.
    let (mut granted, _, _) = wave(&server, plan.sessions.min(TABLE))?;
    expire(&server, &mut log, granted);
    let before = server.memory();

    let mut report = SessionsReport { fresh, before, peak: before, ..SessionsReport::default() };
    let step = (plan.sessions / 10).max(1);
    let mut sent = 0;
    while sent < plan.sessions {
        let size = step.min(plan.sessions - sent);
        let (opened, refused, honest_calls) = wave(&server, size)?;
        report.opened += opened;
        report.refused += refused;
        report.honest_calls += honest_calls;
        sent += size;
        report.peak = report.peak.max(server.memory());
        tell(&format!("{sent} sessions, {} refused, {} MB", report.refused, server.memory() >> 20));
    }
    granted += report.opened;
    expire(&server, &mut log, granted);
    Ok(SessionsReport { after: server.memory(), ..report })
}

/// As many sessions as a server keeps.
const TABLE: usize = 10_000;

/// Two threads flood while an honest client asks. Returns how many sessions were granted and refused, and how many
/// questions answered.
fn wave(server: &Server, size: usize) -> Result<(usize, usize, usize), String> {
    thread::scope(|scope| {
        let halves = [size / 2, size - size / 2];
        let flooders: Vec<_> = halves.map(|half| scope.spawn(move || flood(server, half))).into();
        let mut calls = 0;
        let mut client = server.client(Era::Modern);
        while flooders.iter().any(|flooder| !flooder.is_finished()) {
            let answer = client.expect("dir2mcp.search", json!({ "query": "lighthouse", "k": 1 }));
            assert_eq!(answer["hits"][0]["rel_path"], "notes.txt", "an honest client is served");
            calls += 1;
        }
        let (mut opened, mut refused) = (0, 0);
        for flooder in flooders {
            let (good, bad) = flooder.join().map_err(|_| "a flooding thread panicked".to_owned())??;
            opened += good;
            refused += bad;
        }
        Ok((opened, refused, calls))
    })
}

/// Opens sessions on one connection and forgets them. Returns how many were granted and refused.
fn flood(server: &Server, count: usize) -> Result<(usize, usize), String> {
    let (mut opened, mut refused) = (0, 0);
    let mut client = server.stranger(Era::Legacy);
    for _ in 0..count {
        client.session = None;
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": crate::initialize_params(LEGACY)
        });
        let response =
            client.connection.send(&client.envelope(&message)).map_err(|error| error.to_string())?;
        match response.status {
            200 => opened += 1,
            429 | 503 => refused += 1,
            other => return Err(format!("initialize answered {other}: {}", response.text())),
        }
    }
    Ok((opened, refused))
}

/// Waits until all sessions that were granted have ended. Asking would keep a session alive, so the log tells.
fn expire(server: &Server, log: &mut Log, granted: usize) {
    server.poll("the sessions to expire", |_| (log.ended() >= granted).then_some(()));
}

/// The log of the server, as far as it was read.
struct Log {
    path: PathBuf,
    read: u64,
    ended: usize,
}

impl Log {
    /// How many sessions have ended so far, one by one or many at once to make room.
    fn ended(&mut self) -> usize {
        let mut news = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_end(&mut news)
        });
        if read.is_err() {
            return self.ended;
        }
        let complete = news.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.read += complete as u64;
        for line in String::from_utf8_lossy(&news[..complete]).lines() {
            self.ended += if line.contains("idle sessions ended") {
                line.split_once("count=").map_or(0, |(_, rest)| leading_number(rest))
            } else {
                usize::from(line.contains("session ended"))
            };
        }
        self.ended
    }
}

fn leading_number(text: &str) -> usize {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().unwrap_or(0)
}
