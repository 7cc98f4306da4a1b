//! A server process behind a guard that ends it when its users are gone, and how processes share one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::fs::statvfs;
use rustix::process::geteuid;

const GUARD: &str = include_str!("guard.sh");

/// The account that servers run as where the tests run as root: PostgreSQL refuses to be root.
const NOBODY: u32 = 65_534;

/// Free bytes that a file system in memory has to have.
const MEMORY_ROOM: u64 = 2 << 30;

/// What to start.
pub(super) struct ServerPlan {
    pub command: Vec<OsString>,
    /// A shell command that succeeds once the process `$SERVER` answers.
    pub ready: String,
    /// The signal that ends the server.
    pub stop: &'static str,
}

/// A running server that belongs to this process. It ends with the value, and with the process.
#[derive(Debug)]
pub(super) struct Guarded {
    guard: Child,
    orders: Option<ChildStdin>,
}

impl Guarded {
    /// Starts a server whose data lies in `folder`, and waits until it answers.
    pub(super) fn start(folder: &Path, plan: &ServerPlan) -> Result<Guarded, String> {
        let mut guard = spawn(folder, None, plan)?;
        let orders = guard.stdin.take();
        Ok(Guarded { guard, orders })
    }

    /// Ends the server and leaves its folder.
    pub(super) fn stop(mut self) {
        self.order("stop\n");
    }

    /// Kills the server with `SIGKILL` and leaves its folder.
    pub(super) fn crash(mut self) {
        self.order("crash\n");
    }

    #[cfg(test)]
    pub(super) fn kill_guard(&mut self) {
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }

    fn order(&mut self, order: &str) {
        if let Some(mut orders) = self.orders.take() {
            // A guard that is gone has ended its server already.
            let _ = orders.write_all(order.as_bytes());
        }
        let _ = self.guard.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.order("");
    }
}

/// A server that all processes of a run share. Whoever holds the value keeps it running.
#[derive(Debug)]
pub(super) struct Shared {
    /// What the process that started the server wrote about it.
    pub address: String,
    /// The kernel frees this lock when the process ends, however it ends.
    _use: File,
}

impl Shared {
    /// Joins those who use the server of this name, or starts it. `prepare` makes a folder and a plan, and says what the others
    /// have to know.
    pub(super) fn join(
        name: &str,
        prepare: impl Fn() -> Result<(PathBuf, ServerPlan, String), String>,
        answers: impl Fn(&str) -> bool,
    ) -> Result<Shared, String> {
        let locks = tools().join("shared").join(name);
        fs::create_dir_all(&locks).map_err(|error| format!("{}: {error}", locks.display()))?;
        let starting = open(&locks.join("start"))?;
        starting.lock().map_err(|error| error.to_string())?;
        // While a former server is ended, this waits.
        let users = open(&locks.join("users"))?;
        users.lock_shared().map_err(|error| error.to_string())?;
        let address = locks.join("address");
        if open(&locks.join("keeper"))?.try_lock().is_err()
            && let Ok(address) = fs::read_to_string(&address)
            && answers(&address)
        {
            return Ok(Shared { address, _use: users });
        }
        let mut last = String::new();
        // Another program may take the free port before the server does.
        for _ in 0..3 {
            let (folder, plan, facts) = prepare()?;
            match spawn(&folder, Some(&locks), &plan) {
                Ok(_) => {
                    fs::write(&address, &facts).map_err(|error| error.to_string())?;
                    return Ok(Shared { address: facts, _use: users });
                }
                Err(error) => last = error,
            }
            let _ = fs::remove_dir_all(folder);
        }
        Err(last)
    }
}

/// Starts the guard and waits for its word. With `locks` it outlives this process.
fn spawn(folder: &Path, locks: Option<&Path>, plan: &ServerPlan) -> Result<Child, String> {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "guard"]).arg(folder).arg(locks.unwrap_or(Path::new("")));
    command.args([plan.stop, &plan.ready]);
    if geteuid().is_root() {
        let nobody = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".into()];
        command.args(nobody);
    }
    command.args(&plan.command);
    command.stdin(if locks.is_some() { Stdio::null() } else { Stdio::piped() });
    // A group of its own: what ends the test's group must not end the guard before it has cleaned up.
    command.stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0).current_dir("/");
    let mut guard = command.spawn().map_err(|error| format!("sh cannot be started: {error}"))?;
    let mut output = BufReader::new(guard.stdout.take().expect("stdout is piped"));
    let mut said = String::new();
    let _ = output.read_line(&mut said);
    if said.trim() == "ready" {
        return Ok(guard);
    }
    for line in output.lines().map_while(Result::ok) {
        said.push_str(&line);
        said.push('\n');
    }
    let _ = guard.wait();
    let program = plan.command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    Err(format!("{program} does not start: {said}"))
}

/// A new folder that the server may write to. One that need not outlive the machine is kept in memory where there is room: on a
/// busy disk a database of its own costs a test almost a second, there a twentieth.
pub(super) fn server_folder(name: &str, is_durable: bool) -> Result<PathBuf, String> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("dir2mcp-test-").suffix(name);
    let memory = Path::new("/dev/shm");
    let has_room = statvfs(memory).is_ok_and(|room| room.f_bavail * room.f_frsize > MEMORY_ROOM);
    let folder = if has_room && !is_durable { folder.tempdir_in(memory) } else { folder.tempdir() };
    let folder = folder.map_err(|error| error.to_string())?.keep();
    give_away(&folder)?;
    Ok(folder)
}

/// Lets the account of the server own a file or folder.
pub(super) fn give_away(path: &Path) -> Result<(), String> {
    if geteuid().is_root() {
        return chown(path, Some(NOBODY), Some(NOBODY))
            .map_err(|error| format!("{}: {error}", path.display()));
    }
    Ok(())
}

/// A command as the account of the server.
pub(super) fn as_server(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if geteuid().is_root() {
        command.gid(NOBODY).uid(NOBODY);
    }
    command
}

/// A port that nobody listens on at the moment.
pub(super) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

/// Where `cargo xtask tools` puts programs.
pub(super) fn tools() -> PathBuf {
    crate::fetched_packages().parent().map(Path::to_owned).unwrap_or_default()
}

fn open(path: &Path) -> Result<File, String> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| format!("{}: {error}", path.display()))
}
