//! `cargo xtask agents`: the agents and tools that people use, each with the configuration that `connect --write` made
//! for it. Every one lists all tools and calls one. A server on loopback stands in for the models of the agents.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Client, DEADLINE, Era, Folder, Process, Program};

use crate::process::{Profile, build, capture, workspace};
use crate::tools::{self, Agents, Tools};

const TOOLS: &str = "dir2mcp,repo,smart";
const FIXTURE: &str = "
    //- src/lease.rs
    /// Extends a lease that has not run out yet.
    pub fn renew_lease(lease: &mut Lease) {}
    //- guide.md
    # Guide

    A lease has a length.
    ";

/// What a client showed of the server: the names it has for the tools, and what a search answered.
struct Seen {
    tools: Vec<String>,
    answer: String,
}

/// The surroundings of one client: an empty home, the folder, the program.
struct Stage<'a> {
    program: &'a Program,
    home: PathBuf,
    folder: &'a Path,
    python: &'a Path,
    /// The name of the server in the client's list.
    name: String,
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
        };
        let seen = stage.connect(id).and_then(|name| {
            stage.name = name;
            drive(&stage, &tools, &agents)
        });
        match seen.and_then(|seen| judge(&seen, &published)) {
            Ok(()) => println!("ok   {title}: {} tools, and an answer", published.len()),
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
        let record = self.home.join("record.json");
        let mut stub = Command::new(self.python);
        stub.arg(workspace().join("clients/python/model_stub.py")).arg(&record).stdin(Stdio::null());
        let stub = Process::start(&mut stub).map_err(|error| error.to_string())?;
        let port = stub.next_line(DEADLINE).ok_or("the stand-in for the model does not start")?;
        agent(&format!("http://127.0.0.1:{}", port.trim()))?;
        let text = std::fs::read_to_string(&record).map_err(|error| error.to_string())?;
        let seen: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let tools = seen["tools"].as_array().into_iter().flatten();
        Ok(Seen {
            tools: tools.filter_map(Value::as_str).map(str::to_owned).collect(),
            answer: seen["results"].to_string(),
        })
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
    let target = format!("{}.dir2mcp_search", stage.name);
    let called = json_of(stage.command(&program).args([
        "call",
        &target,
        "--args",
        "{\"query\":\"renew_lease\",\"k\":1}",
        "--output",
        "json",
    ]))?;
    Ok(Seen { tools: names(&listed["tools"]), answer: called.to_string() })
}

fn fastmcp(stage: &Stage, _: &Tools, agents: &Agents) -> Result<Seen, String> {
    let program = agents.python.with_file_name("fastmcp");
    let listed = json_of(stage.command(&program).arg("list").arg(stage.config()).arg("--json"))?;
    let mut call = stage.command(&program);
    call.arg("call").arg(stage.config()).args(["dir2mcp.search", "query=renew_lease", "--json"]);
    Ok(Seen { tools: names(&listed["tools"]), answer: json_of(&mut call)?.to_string() })
}

fn inspector(stage: &Stage, tools: &Tools, _: &Agents) -> Result<Seen, String> {
    let script = tools.node_modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let ask = |method: &[&str]| {
        let mut command = stage.command(&tools.node);
        command.arg(&script).args(["--cli", "--config"]).arg(stage.config()).args(["--server", &stage.name]);
        json_of(command.args(["--format", "json", "--quiet"]).args(method))
    };
    let listed = ask(&["--method", "tools/list"])?;
    let query = "{\"query\":\"renew_lease\",\"k\":1}";
    let called =
        ask(&["--method", "tools/call", "--tool-name", "dir2mcp.search", "--tool-args-json", query])?;
    Ok(Seen { tools: names(&listed["result"]["tools"]), answer: called.to_string() })
}

/// Every published tool must be there, under a name that ends with its own, and the search must have found the file.
fn judge(seen: &Seen, published: &[String]) -> Result<(), String> {
    let plain = |name: &str| name.replace('.', "_");
    let missing: Vec<&String> = published
        .iter()
        .filter(|tool| !seen.tools.iter().any(|shown| plain(shown).ends_with(&plain(tool))))
        .collect();
    if !missing.is_empty() {
        return Err(format!("these tools are missing: {missing:?}\n  offered: {:?}", seen.tools));
    }
    if !seen.answer.contains("src/lease.rs") {
        return Err(format!("the search found something else: {}", seen.answer));
    }
    Ok(())
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

fn json_of(command: &mut Command) -> Result<Value, String> {
    let done = capture(command)?;
    serde_json::from_str(&done.stdout).map_err(|_| done.output())
}
