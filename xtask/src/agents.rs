//! `cargo xtask agents`: the agents and tools that people use, each with the configuration that `connect --write` made
//! for it. Every one lists all tools and calls each of them. A server on loopback stands in for the models of the agents.
//! For clients that cannot be run here, the names that they would be offered are checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Client, DEADLINE, Era, Folder, Process, Program, StdioServer};

use crate::process::{Profile, build, capture, workspace};
use crate::tools::{self, Agents, Tools};

const TOOLS: &str = "dir2mcp,repo,smart";
const SEARCH: &str = "dir2mcp.search";
/// What the answer of a failed call holds, in the words of one client or another.
const FAILURES: [&str; 5] =
    ["\"isError\":true", "\"is_error\":true", "\"error\":{\"code\"", "\"ok\":false", "ERROR: "];
/// Clients that cannot be run here: they accept names of at most 64 letters, digits, `_` and `-`.
const NAMES_ONLY: [(&str, &str); 4] = [
    ("Cursor", "cursor"),
    ("Claude Desktop", "claude-desktop"),
    ("GitHub Copilot CLI", "copilot"),
    ("Visual Studio Code (GitHub Copilot)", "vscode"),
];
const FIXTURE: &str = "
    //- src/lease.rs
    /// Extends a lease that has not run out yet.
    pub fn renew_lease(lease: &mut Lease) {}
    //- guide.md
    # Guide

    A lease has a length.
    ";

/// What a client showed of the server: the names it has for the tools, and what each call answered.
struct Seen {
    tools: Vec<String>,
    /// By the name that the tool is published under.
    answers: BTreeMap<String, String>,
}

/// The surroundings of one client: an empty home, the folder, the program.
struct Stage<'a> {
    program: &'a Program,
    home: PathBuf,
    folder: &'a Path,
    python: &'a Path,
    /// The name of the server in the client's list.
    name: String,
    /// Every tool once, by its published name.
    calls: &'a [(String, Value)],
}

pub(crate) fn run() -> Result<(), String> {
    let (tools, agents) = (tools::install()?, tools::install_agents()?);
    let binary = build(Profile::Debug)?;
    let folder = Folder::from(FIXTURE);
    let program = Program::new(&binary, &folder);
    program.index();
    let mut client = program.stdio(&["--tools", TOOLS]).connect(Era::Legacy);
    let listed = client.request("tools/list", json!({}));
    let published: Vec<String> = names(&listed.result()["tools"]);
    drop(client);
    let calls = calls(folder.path());
    if let Some(tool) = published.iter().find(|tool| !calls.iter().any(|(called, _)| called == *tool)) {
        return Err(format!("agents: no call is known for {tool}"));
    }

    let clients: [(&str, &str, fn(&Stage, &Tools, &Agents) -> Result<Seen, String>); 5] = [
        ("Claude Code", "claude", claude),
        ("Codex", "codex", codex),
        ("mcporter", "mcporter", mcporter),
        ("FastMCP", "generic", fastmcp),
        ("inspector", "generic", inspector),
    ];
    let mut failed = Vec::new();
    for (title, id, drive) in clients {
        let home = folder.outside().join(format!("home-{title}"));
        std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let mut stage = Stage {
            program: &program,
            home,
            folder: folder.path(),
            python: &agents.python,
            name: String::new(),
            calls: &calls,
        };
        let seen = stage.connect(id).and_then(|name| {
            stage.name = name;
            drive(&stage, &tools, &agents)
        });
        match seen.and_then(|seen| judge(&seen, &published)) {
            Ok(()) => println!("ok   {title}: {} tools listed, each called once", published.len()),
            Err(message) => {
                println!("fail {title}\n{message}");
                failed.push(title);
            }
        }
    }
    for (title, id) in NAMES_ONLY {
        match offered(&program, &folder.outside().join(format!("home-{id}")), id) {
            Ok(count) => println!("ok   {title}: {count} tools, all names are accepted"),
            Err(message) => {
                println!("fail {title}\n{message}");
                failed.push(title);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("agents: {}", failed.join(", "))) }
}

impl Stage<'_> {
    /// Has the client configured, and returns what the server is called there.
    fn connect(&self, id: &str) -> Result<String, String> {
        let mut arguments = vec!["connect", id, "--stdio", "--tools", TOOLS, "--write", "--json"];
        let file = self.config().to_string_lossy().into_owned();
        if id == "generic" {
            arguments.extend(["--file", &file]);
        }
        let done = capture(self.program.command(&arguments).env("HOME", &self.home))?;
        let written: Value = serde_json::from_str(&done.stdout).map_err(|_| done.output())?;
        written["name"].as_str().map(str::to_owned).ok_or_else(|| done.output())
    }

    /// The file of a client that has none of its own.
    fn config(&self) -> PathBuf {
        self.home.join("mcp.json")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder)
            .env("HOME", &self.home)
            .env_remove("CODEX_HOME")
            .stdin(Stdio::null());
        command
    }

    /// Lets an agent talk to the stand-in for its model, and returns what that saw.
    fn with_model(&self, agent: impl FnOnce(&str) -> Result<(), String>) -> Result<Seen, String> {
        let (record, calls) = (self.home.join("record.json"), self.home.join("calls.json"));
        std::fs::write(&calls, json!(self.calls).to_string()).map_err(|error| error.to_string())?;
        let mut stub = Command::new(self.python);
        stub.arg(workspace().join("clients/python/model_stub.py")).arg(&calls).arg(&record);
        stub.stdin(Stdio::null());
        let stub = Process::start(&mut stub).map_err(|error| error.to_string())?;
        let port = stub.next_line(DEADLINE).ok_or("the stand-in for the model does not start")?;
        agent(&format!("http://127.0.0.1:{}", port.trim()))?;
        let text = std::fs::read_to_string(&record).map_err(|error| error.to_string())?;
        let seen: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let tools = seen["tools"].as_array().into_iter().flatten();
        let answers = seen["answers"].as_object().into_iter().flatten();
        Ok(Seen {
            tools: tools.filter_map(Value::as_str).map(str::to_owned).collect(),
            answers: answers.map(|(tool, answer)| (tool.clone(), answer.to_string())).collect(),
        })
    }

    /// Has a program call every tool, each in a process of its own.
    fn call_each(
        &self,
        mut command: impl FnMut(&str, &str) -> Command,
    ) -> Result<BTreeMap<String, String>, String> {
        let mut answers = BTreeMap::new();
        for (tool, arguments) in self.calls {
            let answer = json_of(&mut command(tool, &arguments.to_string()))?;
            answers.insert(tool.clone(), answer.to_string());
        }
        Ok(answers)
    }
}

fn claude(stage: &Stage, _: &Tools, agents: &Agents) -> Result<Seen, String> {
    let program = agents.node_modules.join(".bin/claude");
    let health = capture(stage.command(&program).args(["mcp", "list"]))?;
    if !health.stdout.contains("Connected") {
        return Err(health.output());
    }
    stage.with_model(|address| {
        let mut command = stage.command(&program);
        command
            .args(["-p", "find renew_lease", "--allowedTools", &format!("mcp__{}", stage.name)])
            .env("ANTHROPIC_BASE_URL", address)
            .env("ANTHROPIC_API_KEY", "none")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("ENABLE_TOOL_SEARCH", "false");
        let done = capture(&mut command)?;
        if done.code == Some(0) { Ok(()) } else { Err(done.output()) }
    })
}

fn codex(stage: &Stage, _: &Tools, agents: &Agents) -> Result<Seen, String> {
    let program = agents.node_modules.join(".bin/codex");
    stage.with_model(|address| {
        let setting = |name: &str, value: &str| ["-c".to_owned(), format!("{name}={value:?}")];
        let mut command = stage.command(&program);
        command.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]);
        for setting in [
            setting("model", "stub"),
            setting("model_provider", "stub"),
            setting("model_providers.stub.name", "stub"),
            setting("model_providers.stub.base_url", &format!("{address}/v1")),
            setting("model_providers.stub.wire_api", "responses"),
        ] {
            command.args(setting);
        }
        let done = capture(command.arg("find renew_lease"))?;
        if done.code == Some(0) { Ok(()) } else { Err(done.output()) }
    })
}

fn mcporter(stage: &Stage, _: &Tools, agents: &Agents) -> Result<Seen, String> {
    let program = agents.node_modules.join(".bin/mcporter");
    let listed = json_of(stage.command(&program).args(["list", &stage.name, "--json"]))?;
    let answers = stage.call_each(|tool, arguments| {
        let target = format!("{}.{}", stage.name, tool.replace('.', "_"));
        let mut command = stage.command(&program);
        command.args(["call", &target, "--args", arguments, "--output", "json"]);
        command
    })?;
    Ok(Seen { tools: names(&listed["tools"]), answers })
}

fn fastmcp(stage: &Stage, _: &Tools, agents: &Agents) -> Result<Seen, String> {
    let program = agents.python.with_file_name("fastmcp");
    let listed = json_of(stage.command(&program).arg("list").arg(stage.config()).arg("--json"))?;
    let answers = stage.call_each(|tool, arguments| {
        let mut command = stage.command(&program);
        command.arg("call").arg(stage.config()).args([tool, "--input-json", arguments, "--json"]);
        command
    })?;
    Ok(Seen { tools: names(&listed["tools"]), answers })
}

fn inspector(stage: &Stage, tools: &Tools, _: &Agents) -> Result<Seen, String> {
    let script = tools.node_modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let ask = |method: &[&str]| {
        let mut command = stage.command(&tools.node);
        command.arg(&script).args(["--cli", "--config"]).arg(stage.config()).args(["--server", &stage.name]);
        command.args(["--format", "json", "--quiet"]).args(method);
        command
    };
    let listed = json_of(&mut ask(&["--method", "tools/list"]))?;
    let answers = stage.call_each(|tool, arguments| {
        ask(&["--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments])
    })?;
    Ok(Seen { tools: names(&listed["result"]["tools"]), answers })
}

/// Every published tool must be there, under a name that ends with its own, and every call must have been answered; the
/// search with the right file.
fn judge(seen: &Seen, published: &[String]) -> Result<(), String> {
    let plain = |name: &str| name.replace('.', "_");
    let missing: Vec<&String> = published
        .iter()
        .filter(|tool| !seen.tools.iter().any(|shown| plain(shown).ends_with(&plain(tool))))
        .collect();
    if !missing.is_empty() {
        return Err(format!("these tools are missing: {missing:?}\n  offered: {:?}", seen.tools));
    }
    for tool in published {
        let answer = seen.answers.get(tool).ok_or_else(|| format!("{tool} was not called"))?;
        // Some clients hand the model JSON inside of a text.
        let flat: String = answer.chars().filter(|c| *c != '\\' && !c.is_whitespace()).collect();
        if FAILURES.iter().any(|sign| answer.contains(sign) || flat.contains(sign)) {
            return Err(format!("{tool} failed: {answer}"));
        }
    }
    if !seen.answers[SEARCH].contains("src/lease.rs") {
        return Err(format!("the search found something else: {}", seen.answers[SEARCH]));
    }
    Ok(())
}

/// One call of every tool.
fn calls(folder: &Path) -> Vec<(String, Value)> {
    let file = folder.join("src/lease.rs");
    let result = json!({ "path": file, "score": 1.0, "snippet": "pub fn renew_lease" });
    let calls = [
        (SEARCH, json!({ "query": "renew_lease", "k": 1 })),
        ("dir2mcp.ask", json!({ "question": "What does a lease have?" })),
        ("dir2mcp.open_file", json!({ "rel_path": "src/lease.rs" })),
        ("dir2mcp.list_files", json!({})),
        ("dir2mcp.stats", json!({})),
        ("repo.status", json!({})),
        ("repo.list_files", json!({})),
        ("repo.open_file", json!({ "path": "src/lease.rs" })),
        ("repo.outline", json!({ "path": "src/lease.rs" })),
        ("repo.search", json!({ "query": "renew_lease" })),
        ("repo.find_definition", json!({ "symbol": "renew_lease" })),
        ("repo.references", json!({ "symbol": "renew_lease" })),
        ("repo.refresh_index", json!({})),
        ("repo.build_context_bundle", json!({ "prompt": "renew a lease" })),
        ("repo.audit_log", json!({})),
        ("listRoots", json!({})),
        ("indexFolder", json!({ "root": folder })),
        ("searchFiles", json!({ "query": "lease" })),
        ("openFile", json!({ "path": file })),
        ("summarizeResults", json!({ "query": "lease", "results": [result] })),
        ("rewriteQuery", json!({ "query": "leases from 2021" })),
    ];
    calls.map(|(tool, arguments)| (tool.to_owned(), arguments)).to_vec()
}

/// Starts the server as the client's file says and looks at the names of the tools. Returns how many there are.
fn offered(program: &Program, home: &Path, id: &str) -> Result<usize, String> {
    std::fs::create_dir_all(home).map_err(|error| error.to_string())?;
    let arguments = ["connect", id, "--stdio", "--tools", TOOLS, "--write", "--json"];
    let done = capture(program.command(&arguments).env("HOME", home).env_remove("XDG_CONFIG_HOME"))?;
    let written: Value = serde_json::from_str(&done.stdout).map_err(|_| done.output())?;
    let file = written["file"].as_str().ok_or_else(|| done.output())?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let config: Value = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let servers = config.as_object().into_iter().flatten().filter_map(|(_, servers)| servers.as_object());
    let (name, entry) = servers.flatten().next().ok_or_else(|| format!("{file} has no server: {text}"))?;
    let mut command = Command::new(entry["command"].as_str().unwrap_or_default());
    let arguments = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    command.args(arguments).env("HOME", home).stderr(Stdio::null());
    let server = StdioServer::start(&mut command).map_err(|error| format!("{command:?}: {error}"))?;
    let mut server = server.connect(Era::Legacy);
    let tools = names(server.request("tools/list", json!({})).result().get("tools").unwrap_or(&Value::Null));
    let is_accepted = |name: &str| {
        (1..=64).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    // Clients put the name of the server in front of a tool's.
    let refused: Vec<String> = [name.clone()]
        .into_iter()
        .chain(tools.iter().flat_map(|tool| [tool.clone(), format!("mcp__{name}__{tool}")]))
        .filter(|name| !is_accepted(name))
        .collect();
    if tools.is_empty() || !refused.is_empty() {
        return Err(format!("{} tools; these names are not accepted: {refused:?}", tools.len()));
    }
    Ok(tools.len())
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

fn json_of(command: &mut Command) -> Result<Value, String> {
    let done = capture(command)?;
    serde_json::from_str(&done.stdout).map_err(|_| done.output())
}
