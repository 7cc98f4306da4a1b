//! The program on a pseudo-terminal: what a person sees, and what they type.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Duration;

use crate::sandbox::Sandbox;

/// The program on a terminal of its own.
pub(crate) struct Terminal {
    child: std::process::Child,
    master: File,
    output: mpsc::Receiver<Vec<u8>>,
    screen: String,
    seen: usize,
}

impl Terminal {
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Terminal {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = || fs::OpenOptions::new().read(true).write(true).open(&name).unwrap();
        let mut command = sandbox.command(arguments);
        let child = command.stdin(slave()).stdout(slave()).stderr(slave()).spawn().unwrap();
        drop(command);
        let master = File::from(master);
        let mut reader = master.try_clone().unwrap();
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Ends with an error once the child has closed its side.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { child, master, output, screen: String::new(), seen: 0 }
    }

    /// Waits for the question and types a line.
    pub(crate) fn answer(&mut self, question: &str, line: &str) {
        while !self.screen[self.seen..].contains(question) {
            assert!(self.read(), "waiting for {question:?}: {}", self.screen);
        }
        self.seen = self.screen.len();
        self.master.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Reads to the end; the program must have succeeded.
    pub(crate) fn finish(self) -> String {
        self.ends(0)
    }

    /// The same for a program that leaves with this code.
    pub(crate) fn ends(mut self, code: i32) -> String {
        while self.read() {}
        assert_eq!(self.child.wait().unwrap().code(), Some(code), "{}", self.screen);
        self.screen
    }

    fn read(&mut self) -> bool {
        match self.output.recv_timeout(Duration::from_secs(60)) {
            Ok(bytes) => {
                self.screen.push_str(&String::from_utf8_lossy(&bytes));
                true
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => false,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the program waits: {}", self.screen),
        }
    }
}
