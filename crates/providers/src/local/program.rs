//! Runs a program of the machine on bytes: no environment of ours, limits of time and memory, low priority, and no
//! process left behind.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::sys;

/// Of what a program says on its error stream, this much is kept.
const MAX_COMPLAINT_BYTES: u64 = 16 << 10;

/// How much longer than its CPU time a program may take: it runs below everything else.
const BUSY: u32 = 10;

/// For a question about itself.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// The program of that name in the directories of a search path (`PATH`).
pub fn find_program(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// What a program answers to a question about itself, such as `--version`. It runs on no runtime, so that it can be asked
/// before a server confines itself.
pub(super) fn ask(
    program: &Path,
    argument: &str,
    environment: &[(OsString, OsString)],
) -> Result<Done, RunFailure> {
    let mut command = std::process::Command::new(program);
    command.arg(argument).env_clear().envs(environment.iter().cloned()).current_dir("/").process_group(0);
    // A confined server cannot open /dev/null, so each stream is a pipe.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child =
        command.spawn().map_err(|source| RunFailure::NotStarted { program: program.to_owned(), source })?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, answer) = std::sync::mpsc::sync_channel(1);
    std::thread::Builder::new().name("ask-program".to_owned()).spawn(move || {
        // The other side has given up if it took too long.
        let _ = sender.send(child.wait_with_output());
    })?;
    match answer.recv_timeout(ANSWER_TIME) {
        Ok(output) => {
            let output = output?;
            let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Ok(Done { is_success: output.status.success(), output: output.stdout, complaint })
        }
        Err(_) => {
            // The thread still waits for it, so its number is still its own.
            if let Some(group) = group {
                let _ = kill_process_group(group, Signal::KILL);
            }
            Err(RunFailure::TooLong(ANSWER_TIME))
        }
    }
}

/// One run of a program.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Of the CPU. On a busy machine the clock may show ten times as much.
    pub(super) time: Duration,
    /// Address space in bytes.
    pub(super) memory: u64,
    /// More output than this is an error.
    pub(super) max_output: u64,
}

#[derive(Debug)]
pub(super) struct Done {
    pub(super) is_success: bool,
    pub(super) output: Vec<u8>,
    /// What it said on its error stream.
    pub(super) complaint: String,
}

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunFailure {
    #[error("{} could not be started: {source}", .program.display())]
    NotStarted { program: PathBuf, source: io::Error },
    #[error("it took longer than {} s and was ended", .0.as_secs())]
    TooLong(Duration),
    #[error("it wrote more than {0} bytes and was ended")]
    TooMuch(u64),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Run {
    /// Gives the program its input and waits for its output. Dropping this future kills the program and its children.
    pub(super) async fn on(self, input: Vec<u8>) -> Result<Done, RunFailure> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .current_dir("/")
            .process_group(0)
            // A confined server cannot open /dev/null, so each stream is a pipe.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let child = command
            .spawn()
            .map_err(|source| RunFailure::NotStarted { program: self.program.clone(), source })?;
        let mut group = Group(child);
        if let Some(pid) = group.pid() {
            sys::limit(pid, self.memory, self.time.as_secs());
        }
        let patience = self.time * BUSY;
        match tokio::time::timeout(patience, group.talk(input, self.max_output)).await {
            Ok(done) => done,
            Err(_) => Err(RunFailure::TooLong(patience)),
        }
    }
}

/// A child that leads a process group of its own, which ends with it.
struct Group(Child);

impl Group {
    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.0.id()?).ok()?)
    }

    async fn talk(&mut self, input: Vec<u8>, max_output: u64) -> Result<Done, RunFailure> {
        let (stdin, stdout, stderr) = (self.0.stdin.take(), self.0.stdout.take(), self.0.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(io::Error::other("a pipe to the program is missing").into());
        };
        let write = async move {
            // A program that ends before it has read everything says why in its own words.
            let _ = stdin.write_all(&input).await;
            drop(stdin);
        };
        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        let mut from = stdout.take(max_output + 1);
        let read = from.read_to_end(&mut output);
        let complain = async {
            let mut kept = stderr.take(MAX_COMPLAINT_BYTES);
            kept.read_to_end(&mut complaint).await?;
            // The rest is read too, so that the program does not wait for a reader.
            tokio::io::copy(&mut kept.into_inner(), &mut tokio::io::sink()).await
        };
        let ((), read, _) = tokio::join!(write, read, complain);
        read?;
        if output.len() as u64 > max_output {
            return Err(RunFailure::TooMuch(max_output));
        }
        let is_success = self.0.wait().await?.success();
        Ok(Done { is_success, output, complaint: String::from_utf8_lossy(&complaint).trim().to_owned() })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It has no id once it has been waited for: the number may belong to another by then.
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
