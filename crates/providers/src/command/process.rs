//! One run of a user's program: bounded in time and output, and ended with everything that it started.

#![allow(clippy::disallowed_methods)] // It makes its own temporary files.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use bytes::Bytes;
use model::ProviderErrorKind;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::{CommandConfig, FILE};

/// Bytes of what a program prints.
const LARGEST_OUTPUT: u64 = 32 << 20;
/// Bytes of its complaints that are kept.
const LARGEST_COMPLAINT: u64 = 16 << 10;

/// Runs the program and returns what it printed. With an ending, `input` is put into a file where an argument wants one.
pub(super) async fn run(
    config: &CommandConfig,
    input: Bytes,
    ending: Option<&str>,
) -> Result<Vec<u8>, ProviderErrorKind> {
    let wants_file = config.arguments.iter().any(|argument| argument.contains(FILE));
    let (file, input) = match ending {
        Some(ending) if wants_file => {
            let file = GivenFile::write(&config.work_folder, ending, &input).map_err(|error| {
                let reason = format!("no file in {}: {error}", config.work_folder.display());
                ProviderErrorKind::Unreachable { reason }
            })?;
            (Some(file), Bytes::new())
        }
        _ => (None, input),
    };
    match tokio::time::timeout(config.timeout, run_once(config, file.as_ref(), input)).await {
        Ok(result) => result,
        // It is this input that takes so long: another one may pass.
        Err(_) => {
            let reason = format!("{} ran longer than {} s", name(config), config.timeout.as_secs_f32());
            Err(ProviderErrorKind::Refused { reason })
        }
    }
}

/// Why a program cannot be started.
pub(super) fn why_not_executable(program: &Path) -> Option<String> {
    match fs::metadata(program) {
        Err(error) => Some(error.to_string()),
        Ok(found) if !found.is_file() => Some("it is not a file".to_owned()),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => Some("it is not executable".to_owned()),
        Ok(_) => None,
    }
}

async fn run_once(
    config: &CommandConfig,
    file: Option<&GivenFile>,
    input: Bytes,
) -> Result<Vec<u8>, ProviderErrorKind> {
    let mut command = Command::new(&config.program);
    for argument in &config.arguments {
        match file {
            Some(file) => command.arg(argument.replace(FILE, &file.0.to_string_lossy())),
            None => command.arg(argument),
        };
    }
    command.env_clear().envs(config.search_path.iter().map(|path| ("PATH", path)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| {
        let reason = format!("{} cannot be started: {error}", config.program.display());
        ProviderErrorKind::Unreachable { reason }
    })?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(id as i32)));
    let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let give = async move {
        if let Some(stdin) = &mut stdin {
            // A program need not read what it does not want.
            let _ = stdin.write_all(&input).await;
            let _ = stdin.shutdown().await;
        }
    };
    let ((), output, complaint) =
        tokio::join!(give, take(stdout, LARGEST_OUTPUT), take(stderr, LARGEST_COMPLAINT));
    let output = output.map_err(|error| ProviderErrorKind::Unreachable { reason: error.to_string() })?;
    if output.len() as u64 > LARGEST_OUTPUT {
        let reason = format!("{} printed more than {} MB", name(config), LARGEST_OUTPUT >> 20);
        return Err(ProviderErrorKind::BadAnswer { reason });
    }
    let status =
        child.wait().await.map_err(|error| ProviderErrorKind::Unreachable { reason: error.to_string() })?;
    group.0 = None;
    if !status.success() {
        let complaint = complaint.unwrap_or_default();
        let complaint = String::from_utf8_lossy(&complaint);
        let last = complaint.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        let last: String = last.trim().chars().filter(|c| !c.is_control()).take(300).collect();
        return Err(ProviderErrorKind::Refused {
            reason: format!("{} failed ({status}): {last}", name(config)),
        });
    }
    Ok(output)
}

/// Reads to the end, but keeps one byte more than `most` at most. What comes after is read and thrown away where it is a
/// complaint, so that the program does not wait for a reader.
async fn take(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(most + 1).read_to_end(&mut kept).await?;
        if most == LARGEST_COMPLAINT {
            tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
        }
    }
    Ok(kept)
}

fn name(config: &CommandConfig) -> String {
    config.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The program and what it started, ended when dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// A file for one run, removed afterwards.
struct GivenFile(PathBuf);

impl GivenFile {
    fn write(folder: &Path, ending: &str, bytes: &[u8]) -> io::Result<GivenFile> {
        let mut random = [0; 12];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = GivenFile(folder.join(format!("input-{name}.{ending}")));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(&file.0)?.write_all(bytes)?;
        Ok(file)
    }
}

impl Drop for GivenFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
