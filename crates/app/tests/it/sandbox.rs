//! The built binary in a folder of its own, with nothing of the tester's environment.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
    name: &'static str,
    env: Vec<(String, String)>,
    flags: Vec<&'static str>,
}

/// What a run printed and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox::named("root")
    }

    /// With this name for the directory that is served.
    pub(crate) fn named(name: &'static str) -> Sandbox {
        let dir = tempfile::tempdir().unwrap();
        for folder in [name, "home", "bin"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Sandbox { dir, name, env: Vec::new(), flags: Vec::new() }
    }

    /// With a state directory that was made for it, so that what a test writes there is believed.
    pub(crate) fn claimed() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.ok(&["index"]);
        sandbox
    }

    /// The current folder of every run, and the directory it serves.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join(self.name).canonicalize().unwrap()
    }

    /// The home folder of every run.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home").canonicalize().unwrap()
    }

    /// The only folder on the search path.
    pub(crate) fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Sandbox {
        self.bytes(name, text.as_bytes())
    }

    pub(crate) fn bytes(self, name: &str, bytes: &[u8]) -> Sandbox {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn mode(self, name: &str, mode: u32) -> Sandbox {
        fs::set_permissions(self.root().join(name), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Sandbox {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Lets the folder's own config file count, whatever it sets.
    pub(crate) fn trusting(mut self) -> Sandbox {
        self.flags.push("--trust-config");
        self
    }

    /// Puts a stand-in for the tool of the keychain on the search path; it answers every look-up with `answer`.
    pub(crate) fn keychain(&self, answer: &str) {
        let tool = self.bin().join("secret-tool");
        fs::write(&tool, format!("#!/bin/sh\necho {answer}\n")).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Starts `up`, stops it as soon as it says how to connect, and returns what it printed until then.
    pub(crate) fn run_until_started(&self) -> String {
        let mut child = self.command(&["up", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        while lines.read_line(&mut printed).unwrap() > 0 && !printed.contains("\"connection\"") {}
        child.kill().unwrap();
        child.wait().unwrap();
        printed
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.root().join(name).exists()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_dir2mcp")));
        command
            .args(&self.flags)
            .args(arguments)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", self.bin())
            .env("HOME", self.dir.path().join("home"))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        Run {
            code: status.code().expect("the program was not killed"),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Runs and expects success.
    pub(crate) fn ok(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {run:?}");
        run
    }

    /// Runs and expects this exit code.
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, code, "{arguments:?}: {run:?}");
        run
    }
}

impl Run {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}
