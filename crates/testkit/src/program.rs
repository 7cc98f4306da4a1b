//! The built binary, with a root and flags: how tests start it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{DEADLINE, Finished, Folder, Process, Server, StdioServer};

/// How to start `dir2mcp` on a folder.
#[derive(Debug, Clone)]
pub struct Program {
    binary: PathBuf,
    root: PathBuf,
    state: PathBuf,
    flags: Vec<OsString>,
    environment: Vec<(String, String)>,
    names_dir: bool,
}

impl Program {
    pub fn new(binary: impl Into<PathBuf>, folder: &Folder) -> Program {
        Program::at(binary, folder.path())
    }

    pub fn at(binary: impl Into<PathBuf>, root: &Path) -> Program {
        Program {
            binary: binary.into(),
            root: root.to_owned(),
            state: root.join(".dir2mcp"),
            flags: Vec::new(),
            environment: Vec::new(),
            names_dir: true,
        }
    }

    pub fn state_dir(mut self, path: &Path) -> Program {
        self.state = path.to_owned();
        self.flag("--state-dir").flag(path)
    }

    /// Adds a flag or its value to every command.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Program {
        self.flags.push(flag.into());
        self
    }

    /// Leaves `--dir` out: the folder is then only the current one.
    pub fn without_dir(mut self) -> Program {
        self.names_dir = false;
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Program {
        self.environment.push((name.into(), value.into()));
        self
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    /// A command on the folder. The caller's own provider keys and tokens do not reach it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.stdin(Stdio::null());
        if self.root.is_dir() {
            command.current_dir(&self.root);
        }
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            if name_text.starts_with("DIR2MCP_") || name_text.ends_with("_API_KEY") {
                command.env_remove(&name);
            }
        }
        // Nothing of the caller's own configuration, programs and extras counts; what a test trusts is remembered beside
        // its root.
        if let Some(beside) = self.root.parent() {
            command.env("XDG_CONFIG_HOME", beside.join(".dir2mcp-test-config"));
            command.env("XDG_DATA_HOME", beside.join(".dir2mcp-test-data"));
            command.env("PATH", beside.join(".dir2mcp-test-bin"));
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.args(args);
        if self.names_dir {
            command.arg("--dir").arg(&self.root);
        }
        command.args(&self.flags);
        command
    }

    pub fn start(&self, args: &[&str]) -> Process {
        Process::start(&mut self.command(args))
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", self.binary.display()))
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Finished {
        self.start(args).wait()
    }

    /// Runs a command that prints one JSON value and succeeds.
    pub fn json(&self, args: &[&str]) -> Value {
        let done = self.run(args).expect(0);
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", done.output()))
    }

    /// `up` on a free port, ready for requests; indexing may still be running.
    pub fn serve(&self, args: &[&str]) -> Server {
        self.try_serve(args).unwrap_or_else(|done| panic!("no connection event: {}", done.output()))
    }

    /// Like `serve`, for servers that may refuse to start.
    pub fn try_serve(&self, args: &[&str]) -> Result<Server, Finished> {
        let mut all = vec!["up", "--json"];
        if !args.contains(&"--listen") {
            all.extend(["--listen", "127.0.0.1:0"]);
        }
        all.extend(args);
        Server::ready(self.start(&all), &self.state)
    }

    /// `stdio`, before any message.
    pub fn stdio(&self, args: &[&str]) -> StdioServer {
        let mut command = self.command(&[&["stdio"], args].concat());
        StdioServer::start(&mut command).expect("the binary can be started")
    }

    /// Brings the index up to date and returns.
    pub fn index(&self) -> Finished {
        let process = self.start(&["index"]);
        assert!(process.output_ends(DEADLINE * 10), "indexing did not end");
        process.wait().expect(0)
    }
}
