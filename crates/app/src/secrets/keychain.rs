//! The OS keychain, through the tool that the OS itself brings: `secret-tool` or macOS' `security`.
//!
//! A secret travels by pipe, never as an argument, and the tool gets a few seconds: it may wait for a
//! dialogue on a screen that the user does not see.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Secret, file};
use crate::config::settings::KeychainEntry;
use crate::config::{Environment, files};
use crate::print::safe;

const PATIENCE: Duration = Duration::from_secs(10);

/// A way to the keychain.
#[derive(Debug, Clone)]
pub(crate) struct Keychain {
    tool: PathBuf,
    kind: KeychainTool,
    entry: KeychainEntry,
    patience: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeychainTool {
    /// libsecret's, on Linux.
    SecretTool,
    /// macOS'.
    Security,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeychainError {
    #[error("cannot run {0}: {error}", safe(&tool.to_string_lossy()))]
    Start { tool: PathBuf, error: std::io::Error },
    #[error("{0} did not answer within {patience:?}", safe(&tool.to_string_lossy()))]
    Silent { tool: PathBuf, patience: Duration },
    #[error("{0} could not store the key", safe(&tool.to_string_lossy()))]
    Refused { tool: PathBuf },
    #[error("a key is one line of visible characters")]
    NotALine,
}

impl Keychain {
    /// The tool on the shell's search path, if there is one.
    pub(crate) fn find(environment: &Environment, entry: &KeychainEntry) -> Option<Keychain> {
        let (name, kind) = match std::env::consts::OS {
            "macos" => ("security", KeychainTool::Security),
            _ => ("secret-tool", KeychainTool::SecretTool),
        };
        // A relative entry would let the folder that is served choose the program.
        let folders = std::env::split_paths(environment.search_path()?).filter(|folder| folder.is_absolute());
        let tool = folders.map(|folder| folder.join(name)).find(|path| files::is_file(path))?;
        Some(Keychain { tool, kind, entry: entry.clone(), patience: PATIENCE })
    }

    pub(crate) fn lookup(&self, name: &str) -> Result<Option<Secret>, KeychainError> {
        let mut command = Command::new(&self.tool);
        let KeychainEntry { service, account } = &self.entry;
        match self.kind {
            KeychainTool::SecretTool => {
                command.args(["lookup", "service", service, "account", account, "name", name])
            }
            KeychainTool::Security => {
                command.args(["find-generic-password", "-s", service, "-a", &self.account_of(name), "-w"])
            }
        };
        let finished = run(command, &self.tool, "", self.patience)?;
        let value = finished.output.trim_end_matches(['\r', '\n']);
        Ok((finished.success && !value.is_empty()).then(|| Secret::new(value)))
    }

    pub(crate) fn store(&self, name: &str, secret: &Secret) -> Result<(), KeychainError> {
        if !file::is_one_word(secret) {
            return Err(KeychainError::NotALine);
        }
        let mut command = Command::new(&self.tool);
        let KeychainEntry { service, account } = &self.entry;
        let input = match self.kind {
            KeychainTool::SecretTool => {
                let label = format!("--label=dir2mcp {name}");
                command.args(["store", &label, "service", service, "account", account, "name", name]);
                secret.expose().to_string()
            }
            KeychainTool::Security => {
                // Commands from standard input, the value in hex: nothing in it can end the word.
                command.arg("-i");
                let hex: String = secret.expose().bytes().map(|byte| format!("{byte:02x}")).collect();
                let quoted = |text: &str| format!("\"{}\"", text.replace(['"', '\\', '\n'], "_"));
                let (service, account) = (quoted(service), quoted(&self.account_of(name)));
                format!("add-generic-password -U -s {service} -a {account} -X {hex}\n")
            }
        };
        let finished = run(command, &self.tool, &input, self.patience)?;
        if finished.success { Ok(()) } else { Err(KeychainError::Refused { tool: self.tool.clone() }) }
    }

    /// macOS finds an entry by service and account only, so the account carries the name too.
    fn account_of(&self, name: &str) -> String {
        format!("{}/{name}", self.entry.account)
    }
}

struct FinishedTool {
    success: bool,
    output: String,
}

/// Runs a tool with `input` on its standard input. What it says on standard error is dropped.
fn run(
    mut command: Command,
    tool: &Path,
    input: &str,
    patience: Duration,
) -> Result<FinishedTool, KeychainError> {
    let failed = |error| KeychainError::Start { tool: tool.into(), error };
    let deadline = Instant::now() + patience;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Running(command.spawn().map_err(failed)?);
    if let Some(mut stdin) = child.0.stdin.take() {
        // A tool that reads nothing closes the pipe; its exit status says how it went.
        let _ = stdin.write_all(input.as_bytes());
    }
    let (sender, receiver) = mpsc::channel();
    let stdout = child.0.stdout.take();
    std::thread::spawn(move || {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            let _ = stdout.take(64 * 1024).read_to_end(&mut output);
        }
        let _ = sender.send(output);
    });
    let silent = || KeychainError::Silent { tool: tool.into(), patience };
    let output = receiver.recv_timeout(patience).map_err(|_| silent())?;
    loop {
        if let Some(status) = child.0.try_wait().map_err(failed)? {
            let output = String::from_utf8_lossy(&output).into_owned();
            return Ok(FinishedTool { success: status.success(), output });
        }
        if Instant::now() >= deadline {
            return Err(silent());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A child that does not outlive its use.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Puts a stand-in for `secret-tool` into `dir/bin` that answers every lookup with `answer`, and writes
    /// down its arguments and its input.
    pub(crate) fn fake_tool(dir: &Path, answer: &str) -> PathBuf {
        let log = dir.join("tool.log");
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}.args'\nif [ \"$1\" = store ]; then /bin/cat > '{0}.input'; \
             else printf '%s\\n' '{answer}'; fi\n",
            log.display()
        );
        tool(dir, &script)
    }

    fn tool(dir: &Path, script: &str) -> PathBuf {
        let bin = dir.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        for name in ["secret-tool", "security"] {
            let path = bin.join(name);
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        bin
    }

    pub(crate) fn entry() -> KeychainEntry {
        KeychainEntry { service: "dir2mcp".into(), account: "default".into() }
    }

    fn keychain(path: &str) -> Option<Keychain> {
        Keychain::find(&Environment::of(&[("PATH", path)]), &entry())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_secret_goes_in_by_pipe_and_comes_out_again() {
        let dir = tempfile::tempdir().unwrap();
        let bin = fake_tool(dir.path(), "canary");
        let keychain = keychain(bin.to_str().unwrap()).unwrap();
        assert_eq!(keychain.lookup("MISTRAL_API_KEY").unwrap(), Some(Secret::new("canary")));
        keychain.store("MISTRAL_API_KEY", &Secret::new("canary2")).unwrap();
        let log = |end: &str| std::fs::read_to_string(dir.path().join(format!("tool.log.{end}"))).unwrap();
        assert_eq!(log("input"), "canary2");
        assert_eq!(
            log("args"),
            "store\n--label=dir2mcp MISTRAL_API_KEY\nservice\ndir2mcp\naccount\ndefault\nname\nMISTRAL_API_KEY\n"
        );
        assert!(matches!(keychain.store("X", &Secret::new("a\nb")), Err(KeychainError::NotALine)));
    }

    #[test]
    fn a_tool_that_fails_or_hangs_is_survived() {
        let dir = tempfile::tempdir().unwrap();
        let bin = tool(dir.path(), "#!/bin/sh\nexit 1\n");
        let failing = keychain(bin.to_str().unwrap()).unwrap();
        assert_eq!(failing.lookup("A").unwrap(), None);
        assert!(matches!(failing.store("A", &Secret::new("x")), Err(KeychainError::Refused { .. })));

        let dir = tempfile::tempdir().unwrap();
        let bin = tool(dir.path(), "#!/bin/sh\nread never < /dev/zero\n");
        let hanging =
            Keychain { patience: Duration::from_millis(50), ..keychain(bin.to_str().unwrap()).unwrap() };
        assert!(matches!(hanging.lookup("A"), Err(KeychainError::Silent { .. })));
    }

    #[test]
    fn only_absolute_folders_are_searched() {
        assert!(keychain("").is_none());
        assert!(keychain(".:bin").is_none());
        assert!(Keychain::find(&Environment::default(), &entry()).is_none());
    }
}
