//! A child process whose output is collected line by line, and which ends with the value.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::process::{Pid, Signal, kill_process};

/// How long a test waits for something that should happen at once. Long, because a loaded machine is no failure.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A running child. Dropping it kills it, by its process id.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Behind a lock only so that threads can share a server.
    lines: Mutex<Receiver<String>>,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<thread::JoinHandle<()>>,
}

/// A child that has ended.
#[derive(Debug)]
pub struct Finished {
    /// None if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    /// Starts the command with both outputs captured. Standard input is as the command says.
    pub fn start(command: &mut Command) -> io::Result<Process> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (sender, lines) = channel();
        let stdout = Arc::new(Mutex::new(String::new()));
        let stderr = Arc::new(Mutex::new(String::new()));
        let out = child.stdout.take().expect("stdout is piped");
        let err = child.stderr.take().expect("stderr is piped");
        let readers =
            vec![collect(out, Arc::clone(&stdout), Some(sender)), collect(err, Arc::clone(&stderr), None)];
        Ok(Process { child, lines: Mutex::new(lines), stdout, stderr, readers })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn stdin(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    /// The next line of standard output, or `None` if the time is over or the output has ended.
    pub fn next_line(&self, within: Duration) -> Option<String> {
        self.lines.lock().expect("no reader panics").recv_timeout(within).ok()
    }

    /// Waits for the end of standard output. True if it came within the time.
    pub fn output_ends(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        let lines = self.lines.lock().expect("no reader panics");
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }

    /// Everything printed so far.
    pub fn printed(&self) -> (String, String) {
        (
            self.stdout.lock().expect("no reader panics").clone(),
            self.stderr.lock().expect("no reader panics").clone(),
        )
    }

    /// Waits for the child to end by itself; kills it and panics if it does not.
    pub fn wait(self) -> Finished {
        self.wait_within(DEADLINE)
    }

    /// The same for what takes longer than the steps of a test.
    pub fn wait_within(mut self, time: Duration) -> Finished {
        if !self.output_ends(time) {
            self.kill();
            let (stdout, stderr) = self.printed();
            panic!("the process did not end within {time:?}\nstdout:\n{stdout}\nstderr:\n{stderr}");
        }
        self.finish()
    }

    /// Asks the child to end (SIGTERM) and waits for it.
    pub fn terminate(self) -> Finished {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// `kill -9`, then waits.
    pub fn kill_now(mut self) -> Finished {
        self.kill();
        self.finish()
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            // The child may have ended already; it is not reaped yet, so the id is still its own.
            let _ = kill_process(pid, signal);
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
    }

    fn finish(mut self) -> Finished {
        let status = self.child.wait().expect("the child can be waited for");
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        let (stdout, stderr) = self.printed();
        Finished { code: status.code(), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// Both outputs, for a failed assertion.
    pub fn output(&self) -> String {
        format!("exit code {:?}\nstdout:\n{}\nstderr:\n{}", self.code, self.stdout, self.stderr)
    }

    /// Panics unless the code is the expected one.
    pub fn expect(self, code: i32) -> Finished {
        assert_eq!(self.code, Some(code), "{}", self.output());
        self
    }
}

fn collect(
    source: impl io::Read + Send + 'static,
    whole: Arc<Mutex<String>>,
    lines: Option<Sender<String>>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut source = io::BufReader::new(source);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match io::BufRead::read_until(&mut source, b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&bytes);
            whole.lock().expect("no reader panics").push_str(&text);
            if let Some(lines) = &lines {
                // The receiver may be gone; the whole output is still collected.
                let _ = lines.send(text.trim_end_matches('\n').to_owned());
            }
        }
    })
}
