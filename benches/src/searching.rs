//! Search latency, and requests per second beside a bare handler that returns the same bytes.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Client, Era, HttpClient, Program, Random, Server};

use crate::Setting;
use crate::bare::Bare;
use crate::figures::Report;
use crate::load::{self, Load};
use crate::measure::{cpu_of, milliseconds, quantile};

/// Common and rare words of source code, alone and together.
const WORDS: &[&str] = &[
    "parse",
    "buffer",
    "connection",
    "timeout",
    "iterator",
    "serialize",
    "encoding",
    "thread",
    "socket",
    "hash",
    "tokenizer",
    "allocate",
    "deadline",
    "retry",
    "checksum",
    "compression",
    "signal",
    "schema",
    "vector",
    "lock",
];

pub(crate) fn measure(setting: &Setting, state: &Path, report: &mut Report) -> Result<(), String> {
    let program = Program::at(&setting.binary, &setting.tree).state_dir(state);
    let server = program.serve(&["--auth", "none"]);
    server.wait_indexed();
    let chunks = chunks(&server);
    let before = cpu_of(server.id())?;
    let (p50, p99) = latency(&mut server.client(Era::Modern), 2_000, WORDS);
    let each = (cpu_of(server.id())?.saturating_sub(before)) / 2_050;
    report
        .note(format!("One search by one client costs the server {:.2} ms of CPU time.", milliseconds(each)));
    let detail = format!("{chunks} chunks, one client over HTTP");
    report.at_most("Search, median", milliseconds(p50), 10.0, " ms", &detail);
    report.at_most("Search, 99th percentile", milliseconds(p99), 50.0, " ms", &detail);
    throughput(&server, report)
}

pub(crate) fn chunks(server: &Server) -> u64 {
    server.expect("dir2mcp.stats", json!({}))["indexing"]["chunks_total"].as_u64().unwrap_or(0)
}

/// Median and 99th percentile of searches by one client, over HTTP.
pub(crate) fn latency(client: &mut HttpClient, searches: usize, words: &[&str]) -> (Duration, Duration) {
    let mut random = Random::new(11);
    let mut samples = Vec::with_capacity(searches);
    for round in 0..searches + 50 {
        let query = format!("{} {}", random.pick(words), random.pick(words));
        let started = Instant::now();
        client.expect("dir2mcp.search", json!({ "query": query, "k": 10 }));
        if round >= 50 {
            samples.push(started.elapsed());
        }
    }
    (quantile(&mut samples, 0.5), quantile(&mut samples, 0.99))
}

fn throughput(server: &Server, report: &mut Report) -> Result<(), String> {
    let mut client = server.client(Era::Modern);
    let arguments = json!({ "query": "connection timeout", "k": 10 });
    let message = client.message("tools/call", json!({ "name": "dir2mcp.search", "arguments": arguments }));
    let request = client.envelope(&message);
    let response = client.connection.send(&request).map_err(crate::text)?;
    if response.status != 200 {
        return Err(format!("the search to repeat answers {}: {}", response.status, response.text()));
    }
    let bare = Bare::start(&response.body)?;
    // Turn by turn, so that what else the machine does falls on both.
    let (mut ours, mut theirs) = (Load::default(), Load::default());
    for _ in 0..4 {
        ours.add(load::run(&server.address, &request, server.id(), 64, Duration::from_secs(3))?);
        theirs.add(load::run(&bare.address, &request, bare.id(), 64, Duration::from_secs(3))?);
    }
    let share = ours.per_second() / theirs.per_second();
    let detail = format!("{:.0} of {:.0} requests per second", ours.per_second(), theirs.per_second());
    report.at_least("Requests per second at 64 clients against a bare axum handler", share, 0.3, "", &detail);
    report.note(format!(
        "A search of {} bytes costs the server {:.0} µs of CPU time at 64 clients, the bare handler {:.0} µs.",
        response.body.len(),
        ours.cpu_each().as_secs_f64() * 1e6,
        theirs.cpu_each().as_secs_f64() * 1e6
    ));
    Ok(())
}
