//! A file system in which one file is never read to the end: a stand-in for a cloud placeholder without a connection, or
//! for a network drive whose server is gone.
//!
//! It speaks just enough of the FUSE protocol for that: a directory with a good file and a bad one.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Opens, shows a size, and never answers a read.
const PLACEHOLDER: &str = "placeholder.md";
/// On the same file system, and readable.
const AT_HAND: &str = "at-hand.md";
/// What the good file says.
const AT_HAND_TEXT: &str = "The windmill is at hand.\n";

// Operations of the protocol.
const LOOKUP: u64 = 1;
const FORGET: u64 = 2;
const GETATTR: u64 = 3;
const OPEN: u64 = 14;
const READ: u64 = 15;
const STATFS: u64 = 17;
const RELEASE: u64 = 18;
const FLUSH: u64 = 25;
const INIT: u64 = 26;
const OPENDIR: u64 = 27;
const READDIR: u64 = 28;
const RELEASEDIR: u64 = 29;
const INTERRUPT: u64 = 36;
const BATCH_FORGET: u64 = 42;

// Files, by number.
const ROOT: u64 = 1;
const BAD: u64 = 2;
const GOOD: u64 = 3;

/// Mounted as long as the value lives.
#[derive(Debug)]
pub struct HangingFiles {
    at: PathBuf,
}

impl HangingFiles {
    pub const PLACEHOLDER: &'static str = PLACEHOLDER;
    pub const AT_HAND: &'static str = AT_HAND;

    /// Mounts it at a directory that exists. `None` where this machine or this user cannot mount FUSE file systems.
    pub fn mount(at: &Path) -> Option<HangingFiles> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse").ok()?;
        // The descriptor is passed as standard input, so that its number is known.
        let mounted = Command::new("mount")
            .args([
                "-i",
                "-t",
                "fuse",
                "-o",
                "fd=0,rootmode=40000,user_id=0,group_id=0,allow_other",
                "hanging",
            ])
            .arg(at)
            .stdin(Stdio::from(device.try_clone().ok()?))
            .stderr(Stdio::null())
            .status()
            .ok()?;
        if !mounted.success() {
            return None;
        }
        thread::spawn(move || serve(device));
        Some(HangingFiles { at: at.to_owned() })
    }
}

impl Drop for HangingFiles {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// Answers the kernel until the file system is gone.
fn serve(mut device: File) {
    let mut request = vec![0; 1 << 18];
    while let Ok(length) = device.read(&mut request) {
        let Some(header) = request.get(..40).filter(|_| length >= 40) else { return };
        let (opcode, unique, node) = (number(&header[4..8]), number(&header[8..16]), number(&header[16..24]));
        let body = &request[40..length];
        let Some(reply) = answer(opcode, node, body) else { continue };
        let (error, body) = match reply {
            Ok(body) => (0, body),
            Err(errno) => (-errno, Vec::new()),
        };
        let mut bytes = ((16 + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(error.to_ne_bytes());
        bytes.extend(unique.to_ne_bytes());
        bytes.extend(body);
        // A request that was interrupted meanwhile is no longer waited for.
        let _ = device.write(&bytes);
    }
}

/// `None` is no answer at all.
fn answer(opcode: u64, node: u64, body: &[u8]) -> Option<Result<Vec<u8>, i32>> {
    const NO_SUCH_FILE: i32 = 2;
    const NOT_IMPLEMENTED: i32 = 38;
    Some(match opcode {
        FORGET | BATCH_FORGET | INTERRUPT => return None,
        INIT => {
            // Version 7.31, reads in the background as every real file system of this kind has them.
            let mut reply = Vec::new();
            for value in [7u32, 31, 1 << 16, 1] {
                reply.extend(value.to_ne_bytes());
            }
            reply.extend([16u16, 12].iter().flat_map(|value| value.to_ne_bytes()));
            reply.extend([1u32 << 16, 1].iter().flat_map(|value| value.to_ne_bytes()));
            reply.resize(64, 0);
            Ok(reply)
        }
        LOOKUP => match body.strip_suffix(&[0]) {
            Some(name) if name == PLACEHOLDER.as_bytes() => Ok(entry(BAD)),
            Some(name) if name == AT_HAND.as_bytes() => Ok(entry(GOOD)),
            _ => Err(NO_SUCH_FILE),
        },
        GETATTR => {
            let mut reply = 60u64.to_ne_bytes().to_vec();
            reply.resize(16, 0);
            reply.extend(attributes(node));
            Ok(reply)
        }
        OPEN | OPENDIR => {
            // What is cached stays cached: else the next to open the file waits for the read that hangs, in a way that no
            // signal ends.
            const KEEP_CACHE: u8 = 2;
            let mut reply = vec![0; 16];
            reply[8] = KEEP_CACHE;
            Ok(reply)
        }
        READDIR => {
            let offset = number(&body[8..16]);
            Ok(if offset == 0 {
                [listed(BAD, 1, PLACEHOLDER), listed(GOOD, 2, AT_HAND)].concat()
            } else {
                Vec::new()
            })
        }
        READ if node == BAD => return None,
        READ => {
            let offset = number(&body[8..16]) as usize;
            Ok(AT_HAND_TEXT.as_bytes().get(offset..).unwrap_or_default().to_vec())
        }
        STATFS => Ok(vec![0; 80]),
        RELEASE | RELEASEDIR | FLUSH => Ok(Vec::new()),
        _ => Err(NOT_IMPLEMENTED),
    })
}

fn entry(node: u64) -> Vec<u8> {
    let mut reply = Vec::new();
    for value in [node, 0, 60, 60] {
        reply.extend(value.to_ne_bytes());
    }
    reply.extend([0; 8]);
    reply.extend(attributes(node));
    reply
}

fn attributes(node: u64) -> Vec<u8> {
    let (size, mode) = match node {
        ROOT => (0, 0o040_755u32),
        GOOD => (AT_HAND_TEXT.len() as u64, 0o100_644),
        _ => (1000, 0o100_644),
    };
    let mut reply = Vec::new();
    for value in [node, size, 1, 1_700_000_000, 1_700_000_000, 1_700_000_000] {
        reply.extend(value.to_ne_bytes());
    }
    for value in [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0] {
        reply.extend(value.to_ne_bytes());
    }
    reply
}

fn listed(node: u64, next: u64, name: &str) -> Vec<u8> {
    const REGULAR: u32 = 8;
    let mut reply = Vec::new();
    reply.extend(node.to_ne_bytes());
    reply.extend(next.to_ne_bytes());
    reply.extend((name.len() as u32).to_ne_bytes());
    reply.extend(REGULAR.to_ne_bytes());
    reply.extend(name.as_bytes());
    reply.resize(reply.len().next_multiple_of(8), 0);
    reply
}

/// A number of four or eight bytes, in the order of this machine.
fn number(bytes: &[u8]) -> u64 {
    match bytes.len() {
        4 => u64::from(u32::from_ne_bytes(bytes.try_into().unwrap_or_default())),
        _ => u64::from_ne_bytes(bytes.try_into().unwrap_or_default()),
    }
}
