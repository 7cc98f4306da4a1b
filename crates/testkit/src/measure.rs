//! What a process costs, and what its files take.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// User and system time.
    pub cpu: Duration,
    pub wall: Duration,
    /// Peak resident bytes.
    pub memory: u64,
}

impl Cost {
    /// Both, one after the other.
    pub fn then(self, next: Cost) -> Cost {
        Cost { cpu: self.cpu + next.cpu, wall: self.wall + next.wall, memory: self.memory.max(next.memory) }
    }
}

/// Runs a command to its end. Exit codes above 1 are errors (1 is "nothing found" for ripgrep).
pub fn run(command: &mut Command) -> Result<Cost, String> {
    let started = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let used = child.wait4().map_err(|error| format!("{command:?}: {error}"))?;
    if !matches!(used.status.code(), Some(0 | 1)) {
        return Err(format!("{command:?}: {}", used.status));
    }
    Ok(Cost {
        cpu: used.rusage.utime + used.rusage.stime,
        wall: started.elapsed(),
        memory: used.rusage.maxrss,
    })
}

/// The cheapest of several runs: what the work costs when nothing disturbs it.
pub fn best(times: usize, mut attempt: impl FnMut() -> Result<Cost, String>) -> Result<Cost, String> {
    let mut best: Option<Cost> = None;
    for _ in 0..times {
        let cost = attempt()?;
        if best.is_none_or(|best| cost.cpu < best.cpu) {
            best = Some(cost);
        }
    }
    best.ok_or_else(|| "measured nothing".to_owned())
}

/// CPU time of a running process so far, threads that have ended included. Read in ticks of 10 ms.
pub fn cpu_of(pid: u32) -> Result<Duration, String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|error| error.to_string())?;
    let after = stat.rsplit_once(')').ok_or("an unexpected /proc/PID/stat")?.1;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Ok(Duration::from_millis((ticks(11) + ticks(12)) * 10))
}

/// Resident bytes of a running process and of its children.
pub fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
    let own = kilobytes.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) * 1024;
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children: u64 = tasks
        .flat_map(|task| {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            children.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>()
        })
        .map(resident)
        .sum();
    own + children
}

/// The sum of the sizes of all files below a directory.
pub fn size_of(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size_of(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |metadata| metadata.len()),
            _ => 0,
        })
        .sum()
}

pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The value that `share` of the samples do not exceed.
pub fn quantile(samples: &mut [Duration], share: f64) -> Duration {
    samples.sort_unstable();
    samples
        .get(((samples.len() as f64 * share) as usize).min(samples.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}
