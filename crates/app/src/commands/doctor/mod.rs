//! `dir2mcp doctor`: looks at what usually goes wrong, and says for each problem what to do about it.
#![allow(
    clippy::disallowed_methods,
    reason = "it looks at the state directory and at the kernel's own files"
)]

mod models;

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use policy::{Confinement, ConfinementStatus};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::commands::connect::{CLIENTS, Home};
use crate::config::{self, Loaded, Settings};
use crate::exit::{Exit, ExitCode};
use crate::print::connection::SavedConnection;
use crate::print::style::{self, Ink};
use crate::print::{self, safe};
use crate::wire;

/// Less than this is not enough for an index of an ordinary folder.
const LITTLE_SPACE: u64 = 200 << 20;

/// Watching a folder takes one watch for each folder below it.
const FEW_WATCHES: u64 = 16_384;

/// 1 January 2025: a clock before that was never set.
const EARLIEST: u64 = 1_735_689_600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckVerdict {
    Fine,
    /// It works, with something that should be known.
    Notice,
    Broken,
}

impl CheckVerdict {
    fn word(self) -> &'static str {
        match self {
            CheckVerdict::Fine => "ok",
            CheckVerdict::Notice => "warning",
            CheckVerdict::Broken => "error",
        }
    }
}

/// One thing that was looked at.
struct DoctorCheck {
    name: &'static str,
    verdict: CheckVerdict,
    detail: String,
    remedy: Option<String>,
}

impl DoctorCheck {
    fn fine(name: &'static str, detail: impl Into<String>) -> DoctorCheck {
        DoctorCheck { name, verdict: CheckVerdict::Fine, detail: detail.into(), remedy: None }
    }

    fn notice(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck {
            name,
            verdict: CheckVerdict::Notice,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }

    fn broken(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck {
            name,
            verdict: CheckVerdict::Broken,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }

    fn json(&self) -> Value {
        json!({ "name": self.name, "status": self.verdict.word(), "detail": self.detail, "remedy": self.remedy })
    }

    fn text(&self) -> String {
        let ink = match self.verdict {
            CheckVerdict::Fine => Ink::Good,
            CheckVerdict::Notice => Ink::Caution,
            CheckVerdict::Broken => Ink::Bad,
        };
        let look = style::out();
        let verdict = look.paint(ink, &format!("{:<8}", self.verdict.word()));
        let mut text = format!("{verdict} {:<14} {}\n", self.name, safe(&self.detail));
        if let Some(remedy) = &self.remedy {
            text.push_str(&format!(
                "{:23} {}\n",
                "",
                look.paint(Ink::Heading, &format!("→ {}", safe(remedy)))
            ));
        }
        text
    }
}

pub(crate) fn run(cli: &Cli) -> Result<(), Exit> {
    let mut checks = vec![DoctorCheck::fine("program", format!("dir2mcp {}", env!("CARGO_PKG_VERSION")))];
    match config::load(cli) {
        Ok(mut loaded) => {
            checks.extend(of_the_folder(&loaded));
            checks.extend(models::checks(&mut loaded));
        }
        Err(error) => {
            let exit = Exit::from(error);
            let remedy = exit.hints.join(" ");
            let remedy = if remedy.is_empty() {
                "Correct the setting; docs/configuration.md has all keys.".to_owned()
            } else {
                remedy
            };
            checks.push(DoctorCheck::broken("configuration", exit.messages.join("; "), remedy));
        }
    }
    checks.extend([confinement(), sandbox(), open_files(), watches(), clock(), clients()]);
    let broken = checks.iter().filter(|check| check.verdict == CheckVerdict::Broken).count();
    if cli.global.json {
        let list: Vec<Value> = checks.iter().map(DoctorCheck::json).collect();
        print::out_json(&json!({ "ok": broken == 0, "checks": list }))?;
    } else {
        print::out(&checks.iter().map(DoctorCheck::text).collect::<String>())?;
    }
    match broken {
        0 => Ok(()),
        1 => Err(Exit::new(ExitCode::Generic, "UNHEALTHY", "1 check failed")),
        count => Err(Exit::new(ExitCode::Generic, "UNHEALTHY", format!("{count} checks failed"))),
    }
}

fn of_the_folder(loaded: &Loaded) -> Vec<DoctorCheck> {
    let settings = &loaded.settings;
    let mut checks = vec![DoctorCheck::fine("folder", settings.root.to_string_lossy())];
    checks.push(configuration(loaded));
    checks.push(state_directory(settings));
    checks.push(space(settings));
    checks.push(index(loaded));
    checks.push(writer(settings));
    checks.extend(server(settings));
    checks
}

fn configuration(loaded: &Loaded) -> DoctorCheck {
    let file = match &loaded.settings.config_file {
        Some(path) => path.to_string_lossy().into_owned(),
        None => "no config file; the defaults hold".to_owned(),
    };
    if loaded.warnings.is_empty() {
        return DoctorCheck::fine("configuration", file);
    }
    DoctorCheck::notice(
        "configuration",
        format!("{file}: {}", loaded.warnings.join("; ")),
        "`dir2mcp config print --origins` shows where each value comes from.",
    )
}

fn state_directory(settings: &Settings) -> DoctorCheck {
    let path = &settings.state_dir;
    let shown = path.to_string_lossy().into_owned();
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().unwrap_or(path);
            return match rustix::fs::access(parent, rustix::fs::Access::WRITE_OK) {
                Ok(()) => DoctorCheck::fine("state", format!("{shown} will be made by the first run")),
                Err(error) => DoctorCheck::broken(
                    "state",
                    format!("{shown} cannot be made: {error}"),
                    "Name a writable place with --state-dir.",
                ),
            };
        }
        Err(error) => {
            return DoctorCheck::broken(
                "state",
                format!("{shown}: {error}"),
                "Name another place with --state-dir.",
            );
        }
    };
    if metadata.is_symlink() {
        return DoctorCheck::broken(
            "state",
            format!("{shown} is a symbolic link"),
            "Name its target with --state-dir.",
        );
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return DoctorCheck::notice(
            "state",
            format!("{shown} belongs to another user"),
            "Run as that user, or name a place of your own with --state-dir.",
        );
    }
    if let Err(error) = rustix::fs::access(path, rustix::fs::Access::WRITE_OK) {
        let remedy = format!("chmod u+w {shown}, or name another place with --state-dir.");
        return DoctorCheck::broken("state", format!("{shown} cannot be written: {error}"), remedy);
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return DoctorCheck::notice(
            "state",
            format!("{shown} can be read by others (mode {mode:o})"),
            format!("chmod 700 {shown}"),
        );
    }
    DoctorCheck::fine("state", shown)
}

fn space(settings: &Settings) -> DoctorCheck {
    let path = settings.state_dir.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(path) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let shown = format!("{} MB free", free >> 20);
            if free < LITTLE_SPACE {
                let remedy = "Make room, or name a place on another disk with --state-dir.";
                DoctorCheck::notice("disk", shown, remedy)
            } else {
                DoctorCheck::fine("disk", shown)
            }
        }
        Err(error) => DoctorCheck::notice("disk", format!("cannot be asked: {error}"), "Look with `df`."),
    }
}

fn index(loaded: &Loaded) -> DoctorCheck {
    let settings = &loaded.settings;
    if !settings.state_dir.join("meta.sqlite").exists() {
        return DoctorCheck::notice("index", "there is none yet", "dir2mcp up, or dir2mcp index");
    }
    let opened = wire::open_engine_for_reading(loaded);
    match opened {
        Ok(engine) => {
            let progress = engine.progress();
            let running = SavedConnection::running(&settings.state_dir).is_some();
            let detail = format!(
                "{} searchable, {} not searchable, {} chunks",
                progress.searchable, progress.not_searchable, progress.chunks_total
            );
            if progress.running && !running && engine::writer_of(&settings.state_dir).is_none() {
                return DoctorCheck::notice(
                    "index",
                    format!("{detail}; the last run was interrupted"),
                    "dir2mcp index",
                );
            }
            DoctorCheck::fine("index", detail)
        }
        Err(error) => {
            let exit = Exit::from(error);
            let remedy =
                if exit.hints.is_empty() { "dir2mcp reindex".to_owned() } else { exit.hints.join(" ") };
            DoctorCheck::broken("index", exit.messages.join("; "), remedy)
        }
    }
}

fn writer(settings: &Settings) -> DoctorCheck {
    match engine::writer_of(&settings.state_dir) {
        Some(holder) => {
            DoctorCheck::fine("lock", format!("held by the writer ({holder}); other processes read"))
        }
        None => DoctorCheck::fine("lock", "free"),
    }
}

fn server(settings: &Settings) -> Vec<DoctorCheck> {
    if let Some(running) = SavedConnection::running(&settings.state_dir) {
        return vec![DoctorCheck::fine("server", format!("runs at {}", running.url))];
    }
    let listen = &settings.server.listen;
    let mut checks = vec![DoctorCheck::fine("server", "not running; dir2mcp up starts it")];
    if listen.port != 0 {
        let address = listen.to_string();
        checks.push(match TcpListener::bind(&address) {
            Ok(_) => DoctorCheck::fine("port", format!("{address} is free")),
            Err(error) => DoctorCheck::broken(
                "port",
                format!("{address} cannot be used: {error}"),
                "Stop what uses it, or choose another port with --listen (port 0 takes a free one).",
            ),
        });
    }
    checks
}

/// Landlock holds for one thread for good, so a thread of its own tries it.
fn confinement() -> DoctorCheck {
    let tried = std::thread::spawn(|| policy::confine(&Confinement::default())).join();
    let remedy = "The server still checks every path itself. Landlock needs Linux 5.13 or newer, with `landlock` in the \
                  kernel's list of security modules.";
    match tried {
        Ok(ConfinementStatus::Enforced) => {
            DoctorCheck::fine("confinement", "Landlock confines the server to its folders")
        }
        Ok(ConfinementStatus::Partial) => DoctorCheck::notice(
            "confinement",
            "this kernel's Landlock covers some kinds of access only",
            remedy,
        ),
        Ok(ConfinementStatus::Unavailable { reason }) => DoctorCheck::notice("confinement", reason, remedy),
        Err(_) => DoctorCheck::notice("confinement", "it could not be tried", remedy),
    }
}

/// The child that reads documents says itself which walls it could not put up.
fn sandbox() -> DoctorCheck {
    let name = "documents";
    let started = std::env::current_exe().and_then(|program| {
        Command::new(program).arg(wire::WORKER_COMMAND).stdin(Stdio::null()).stderr(Stdio::null()).output()
    });
    match started {
        Ok(output) if output.status.success() && output.stdout.is_empty() => {
            DoctorCheck::fine(name, "are read by a sandboxed process (Landlock, seccomp, limits)")
        }
        Ok(output) if output.status.success() => DoctorCheck::notice(
            name,
            "are read by a process that this kernel cannot fully sandbox",
            "Use a kernel with Landlock and seccomp, or leave documents of strangers out.",
        ),
        Ok(output) => DoctorCheck::broken(
            name,
            format!("the process that reads them ended with {}", output.status),
            "PDF and Office files will not be searchable; report this with the output of `uname -a`.",
        ),
        Err(error) => DoctorCheck::broken(
            name,
            format!("the process that reads them cannot be started: {error}"),
            "Put the program where it may be executed.",
        ),
    }
}

fn open_files() -> DoctorCheck {
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < 1024 => DoctorCheck::notice(
            "open files",
            format!("at most {limit}"),
            "ulimit -n 4096, before the server is started",
        ),
        Some(limit) => DoctorCheck::fine("open files", format!("at most {limit}")),
        None => DoctorCheck::fine("open files", "no limit"),
    }
}

fn watches() -> DoctorCheck {
    let path = "/proc/sys/fs/inotify/max_user_watches";
    let limit = fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    match limit {
        Some(limit) if limit < FEW_WATCHES => DoctorCheck::notice(
            "watching",
            format!(
                "at most {limit} folders; beyond that changes are found by looking again every few minutes"
            ),
            "sysctl fs.inotify.max_user_watches=524288",
        ),
        Some(limit) => DoctorCheck::fine("watching", format!("up to {limit} folders")),
        None => DoctorCheck::notice(
            "watching",
            "the kernel's limit cannot be read",
            "Changes are found by looking again.",
        ),
    }
}

fn clock() -> DoctorCheck {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    if now.as_secs() < EARLIEST {
        return DoctorCheck::broken(
            "clock",
            "it is set to a time before 2025",
            "Set the clock, for example with timedatectl.",
        );
    }
    DoctorCheck::fine("clock", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

fn clients() -> DoctorCheck {
    let home = Home::find();
    let found: Vec<&str> = CLIENTS
        .iter()
        .filter(|client| home.as_ref().is_some_and(|home| client.is_installed(home)))
        .map(|client| client.id)
        .collect();
    if found.is_empty() {
        DoctorCheck::fine("clients", "none found; `dir2mcp connect` lists those that are known")
    } else {
        DoctorCheck::fine(
            "clients",
            format!("{}; connect one with `dir2mcp connect CLIENT`", found.join(", ")),
        )
    }
}
