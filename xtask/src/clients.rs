//! Real MCP clients against the built binary, over HTTP and stdio, in both eras: they list, search, open the cited
//! span, and all get the same answer.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::build::{paragraphs, pptx};
use testkit::{Finished, Folder, Program};

use crate::process::{Profile, build, capture, workspace};
use crate::tools::{self, Tools};

const TOOLS: &str = "dir2mcp,repo,smart";
const QUERY: &str = "renew_lease";
const FILE: &str = "src/lease.rs";
const FIXTURE: &str = "
    //- src/lease.rs
    //! Leases that run out.

    /// Extends a lease that has not run out yet.
    pub fn renew_lease(lease: &mut Lease, now: u64) -> Result<(), Expired> {
        if lease.until < now {
            return Err(Expired);
        }
        lease.until = now + lease.length;
        Ok(())
    }
    //- src/main.rs
    fn main() {
        println!(\"hello\");
    }
    //- docs/guide.md
    # Guide

    A lease has a length. Nothing here names the function.
    //- 文書/メモ.txt
    検索エンジンの設計。
    ";

pub(crate) fn run() -> Result<(), String> {
    let tools = tools::install()?;
    let binary = build(Profile::Debug)?;
    let folder = Folder::from(FIXTURE);
    let program = Program::new(&binary, &folder).state_dir(&folder.outside().join("state"));
    program.index();
    let server = program.serve(&["--tools", TOOLS]);
    server.wait_indexed();
    let token_file = server.state().join("secret.token");

    let http: Vec<OsString> =
        vec!["--url".into(), server.url().into(), "--token-file".into(), token_file.clone().into()];
    let stdio = program.command(&["stdio", "--tools", TOOLS]);
    let mut over_stdio: Vec<OsString> = vec!["--stdio".into(), binary.clone().into()];
    over_stdio.extend(stdio.get_args().map(OsString::from));

    let mut drives = Vec::new();
    for (transport, arguments) in [("HTTP", &http), ("stdio", &over_stdio)] {
        for era in ["legacy", "modern"] {
            // The 1.x lines know the legacy era only.
            if era == "legacy" {
                drives.push((
                    format!("mcp 1.30 (Python), {transport}"),
                    python(&tools.python_1, era, arguments),
                ));
                drives.push((
                    format!("@modelcontextprotocol/sdk 1.32, {transport}"),
                    typescript(&tools, "sdk", era, arguments),
                ));
            }
            drives.push((
                format!("mcp 2.3 (Python), {era}, {transport}"),
                python(&tools.python_2, era, arguments),
            ));
            drives.push((
                format!("@modelcontextprotocol/client 2.4, {era}, {transport}"),
                typescript(&tools, "client", era, arguments),
            ));
        }
    }

    let mut failed = Vec::new();
    let mut answers: Vec<(String, Value)> = Vec::new();
    for (name, mut command) in drives {
        let done = capture(&mut command)?;
        let checks = done.stdout.lines().filter(|line| line.starts_with("ok ")).count();
        let answer = done.stdout.lines().find_map(|line| line.strip_prefix("answer "));
        match answer.map(serde_json::from_str::<Value>) {
            Some(Ok(answer)) if done.code == Some(0) => {
                println!("ok   {name}: {checks} checks");
                answers.push((name, answer));
            }
            _ => {
                println!("fail {name}\n{}", done.output());
                failed.push(name);
            }
        }
    }
    for (name, arguments) in inspections(&server.url(), &token_file, &over_stdio[1..])? {
        match inspect(&tools, &arguments) {
            Ok(Some(answer)) => {
                println!("ok   {name}");
                answers.push((name, answer));
            }
            Ok(None) => println!("ok   {name}"),
            Err(message) => {
                println!("fail {name}\n{message}");
                failed.push(name);
            }
        }
    }
    for (name, done) in smart(&tools, &binary)? {
        let checks = done.stdout.lines().filter(|line| line.starts_with("ok ")).count();
        if done.code == Some(0) {
            println!("ok   {name}: {checks} checks");
        } else {
            println!("fail {name}\n{}", done.output());
            failed.push(name);
        }
    }
    let metrics = format!("http://{}/metrics", server.address);
    let mut scrape = Command::new(&tools.python_2);
    let scraped = capture(scrape.arg(workspace().join("clients/python/metrics.py")).arg(metrics))?;
    if scraped.code == Some(0) {
        println!("ok   Prometheus' parser: {}", scraped.stdout.trim());
    } else {
        println!("fail Prometheus' parser\n{}", scraped.output());
        failed.push("metrics".to_owned());
    }
    if let Some((first, expected)) = answers.first() {
        for (name, answer) in &answers[1..] {
            if numbers(answer) != numbers(expected) {
                println!("fail {name} got another answer than {first}\n  {answer}\n  {expected}");
                failed.push(name.clone());
            }
        }
        println!("{} clients got the same answer", answers.len());
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("clients: {}", failed.join("; "))) }
}

/// The smart tools over a share of a thousand notes and some contracts.
fn smart(tools: &Tools, binary: &Path) -> Result<Vec<(String, Finished)>, String> {
    let folder = Folder::empty();
    for number in 0..1000 {
        folder.write(&format!("notes/{number}.txt"), format!("Note {number} on the lighthouse."));
    }
    let contract = |vendor: &str, year: u32| {
        let lines = [format!("Contract with vendor {vendor}"), format!("Signed in {year}, for cleaning.")];
        paragraphs(&lines.each_ref().map(String::as_str))
    };
    folder.write("contracts/vendor_x.docx", contract("X", 2021));
    folder.write("contracts/vendor_x_old.docx", contract("X", 2019));
    folder.write("contracts/vendor_y.docx", contract("Y", 2021));
    let slide =
        |text: &str| format!("<p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>");
    folder.write("contracts/scope.pptx", pptx(&[&slide("Scope of the contract with vendor X, 2021")], ""));
    let program = Program::new(binary, &folder).state_dir(&folder.outside().join("state"));
    let server = program.serve(&["--tools", "smart"]);
    let drive = |arguments: Vec<OsString>| {
        let mut command = Command::new(&tools.python_2);
        command.arg(workspace().join("clients/python/smart.py")).arg("--root").arg(folder.path());
        capture(command.args(arguments))
    };
    let token_file = server.state().join("secret.token");
    let http = vec!["--url".into(), server.url().into(), "--token-file".into(), token_file.into()];
    let over_http = drive(http)?;
    drop(server);
    let mut over_stdio: Vec<OsString> = vec!["--stdio".into(), binary.into()];
    over_stdio.extend(program.command(&["stdio", "--tools", "smart"]).get_args().map(OsString::from));
    Ok(vec![
        ("the smart tools, mcp 2.3 (Python), HTTP".to_owned(), over_http),
        ("the smart tools, mcp 2.3 (Python), stdio".to_owned(), drive(over_stdio)?),
    ])
}

/// JavaScript writes 1.0 as 1.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or_else(|| value.clone(), Value::from),
        Value::Array(items) => items.iter().map(numbers).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), numbers(value))).collect(),
        other => other.clone(),
    }
}

fn python(interpreter: &Path, era: &str, arguments: &[OsString]) -> Command {
    let mut command = Command::new(interpreter);
    command.arg(workspace().join("clients/python/drive.py"));
    command.args(["--query", QUERY, "--path", FILE, "--era", era]).args(arguments);
    command
}

fn typescript(tools: &Tools, package: &str, era: &str, arguments: &[OsString]) -> Command {
    let mut command = Command::new(&tools.node);
    command
        .env("MCP_NODE_MODULES", &tools.node_modules)
        .arg(workspace().join("clients/typescript/drive.mjs"));
    command.args(["--package", package, "--query", QUERY, "--path", FILE, "--era", era]).args(arguments);
    command
}

type Inspection = (String, Vec<OsString>);

/// The inspector's command line: strict schema check and one search, over both transports and eras.
fn inspections(url: &str, token_file: &Path, stdio: &[OsString]) -> Result<Vec<Inspection>, String> {
    let token = std::fs::read_to_string(token_file).map_err(|error| error.to_string())?;
    let header = format!("Authorization: Bearer {}", token.trim());
    let mut all = Vec::new();
    for era in ["legacy", "modern"] {
        for (transport, target) in [
            (
                "HTTP",
                vec![
                    url.into(),
                    "--transport".into(),
                    "http".into(),
                    "--header".into(),
                    header.clone().into(),
                ],
            ),
            ("stdio", stdio_target(stdio)),
        ] {
            let with = |method: &[&str]| -> Vec<OsString> {
                let mut arguments: Vec<OsString> = target.clone();
                let common = ["--protocol-era", era, "--format", "json", "--quiet"];
                let flags = common.iter().chain(method).map(OsString::from);
                // Over stdio everything after `--` belongs to the server.
                let position = arguments.iter().position(|arg| arg == "--").unwrap_or(arguments.len());
                arguments.splice(position..position, flags);
                arguments
            };
            all.push((
                format!("inspector 2.12, {era}, {transport}: strict schemas"),
                with(&["--method", "tools/list", "--strict"]),
            ));
            let query = format!("{{\"query\":\"{QUERY}\",\"k\":3}}");
            all.push((
                format!("inspector 2.12, {era}, {transport}: search"),
                with(&[
                    "--method",
                    "tools/call",
                    "--tool-name",
                    "dir2mcp.search",
                    "--tool-args-json",
                    &query,
                ]),
            ));
        }
    }
    Ok(all)
}

fn stdio_target(command: &[OsString]) -> Vec<OsString> {
    let mut target: Vec<OsString> = vec!["--transport".into(), "stdio".into(), "--".into()];
    target.extend_from_slice(command);
    target
}

/// Runs the inspector. Returns the structured content of a call, nothing of a list.
fn inspect(tools: &Tools, arguments: &[OsString]) -> Result<Option<Value>, String> {
    let script = tools.node_modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let done = capture(Command::new(&tools.node).arg(script).arg("--cli").args(arguments))?;
    if done.code != Some(0) {
        return Err(done.output());
    }
    let printed: Value =
        serde_json::from_str(&done.stdout).map_err(|error| format!("{error}: {}", done.output()))?;
    let result = &printed["result"];
    if let Some(tools) = result["tools"].as_array() {
        return if tools.len() >= 5 {
            Ok(None)
        } else {
            Err(format!("only {} tools: {printed}", tools.len()))
        };
    }
    match result.get("structuredContent") {
        Some(answer) => Ok(Some(answer.clone())),
        None => Err(done.output()),
    }
}
