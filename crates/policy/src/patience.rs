//! Reads that may never come back: they are done by a thread that can be left behind.
//!
//! A read from a network file system whose server is gone, from a FUSE file system whose program hangs, or of a cloud
//! placeholder without a connection can take for ever, and no signal ends it. Whoever waits for it does so with a
//! deadline; the thread that hangs stays until the kernel lets go of it, and there is a bound on how many may hang.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Threads that may hang at one time.
const MOST_LEFT_BEHIND: usize = 64;
/// From so many on, the file system itself is sick rather than one file: the others are given less time.
const MANY: usize = 3;
const SHORTER: Duration = Duration::from_secs(5);
/// Threads kept for the next read.
const MOST_IDLE: usize = 8;

static DEADLINE_MS: AtomicU64 = AtomicU64::new(30_000);
static LEFT_BEHIND: AtomicUsize = AtomicUsize::new(0);
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());
/// What hangs now. It is not touched again before it comes back: a second attempt would hang as well, and some wait in the
/// kernel in a way that keeps the whole process from ending.
static HANGING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

type Job = Box<dyn FnOnce() + Send>;

/// The state of a job, shared by the thread that waits and the thread that works.
const UNDER_WAY: u8 = 0;
const DONE: u8 = 1;
const ABANDONED: u8 = 2;

/// How long a file may take to be opened, or to be read, where it may hang. Holds for the whole process.
pub fn set_read_deadline(deadline: Duration) {
    DEADLINE_MS.store(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
}

/// Runs `work` on the file or directory at `path`, and gives up on it after the deadline.
pub fn within_deadline<T, F>(path: &Path, work: F) -> io::Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    if hanging_paths().contains(path) {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "an earlier attempt still hangs"));
    }
    let hanging = LEFT_BEHIND.load(Ordering::Relaxed);
    if hanging >= MOST_LEFT_BEHIND {
        let message = format!("not tried, because {hanging} other files hang");
        return Err(io::Error::new(io::ErrorKind::TimedOut, message));
    }
    let whole = Duration::from_millis(DEADLINE_MS.load(Ordering::Relaxed));
    let deadline = if hanging < MANY { whole } else { whole.min(SHORTER) };
    let (answer, answered) = channel();
    let progress = Arc::new(AtomicU8::new(UNDER_WAY));
    let (at_work, working_on) = (Arc::clone(&progress), path.to_owned());
    hand_over(Box::new(move || {
        let result = work();
        if at_work.swap(DONE, Ordering::AcqRel) == ABANDONED {
            LEFT_BEHIND.fetch_sub(1, Ordering::Relaxed);
            hanging_paths().remove(&working_on);
        }
        // The one who waited may be gone.
        let _ = answer.send(result);
    }))?;
    let late = || {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer within {} seconds", deadline.as_secs_f32()),
        )
    };
    match answered.recv_timeout(deadline) {
        Ok(result) => Ok(result),
        Err(RecvTimeoutError::Timeout) => {
            // Counted first: the thread may come back at any moment and count itself out.
            LEFT_BEHIND.fetch_add(1, Ordering::Relaxed);
            hanging_paths().insert(path.to_owned());
            match progress.compare_exchange(UNDER_WAY, ABANDONED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => Err(late()),
                Err(_) => {
                    LEFT_BEHIND.fetch_sub(1, Ordering::Relaxed);
                    hanging_paths().remove(path);
                    answered.recv().map_err(|_| late())
                }
            }
        }
        // The work panicked; that has been reported where panics are.
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("reading ended abnormally")),
    }
}

fn hanging_paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    HANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the job to a thread that has nothing to do, or to a new one.
fn hand_over(job: Job) -> io::Result<()> {
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let job = match idle {
        Some(thread) => match thread.send(job) {
            Ok(()) => return Ok(()),
            Err(returned) => returned.0,
        },
        None => job,
    };
    let (jobs, next) = channel::<Job>();
    std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
        let mut job = job;
        loop {
            job();
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() >= MOST_IDLE {
                return;
            }
            idle.push(jobs.clone());
            drop(idle);
            match next.recv() {
                Ok(more) => job = more,
                Err(_) => return,
            }
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because the deadline and the count belong to the whole process.
    #[test]
    fn what_hangs_is_left_behind_and_the_others_go_on() {
        let path = |n: usize| PathBuf::from(format!("/file/{n}"));
        assert_eq!(within_deadline(&path(0), || 7).unwrap(), 7);
        set_read_deadline(Duration::from_millis(20));
        let (let_go, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let hang = |n| {
            let held = Arc::clone(&held);
            within_deadline(&path(n), move || held.lock().unwrap().recv().is_ok())
        };
        for n in 0..MOST_LEFT_BEHIND {
            assert_eq!(hang(n).unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert!(hang(0).unwrap_err().to_string().contains("earlier attempt"), "it is not touched again");
        assert_eq!(LEFT_BEHIND.load(Ordering::Relaxed), MOST_LEFT_BEHIND);
        assert!(
            within_deadline(&path(MOST_LEFT_BEHIND), || 8).unwrap_err().to_string().contains("hang"),
            "there is a bound"
        );
        drop(let_go);
        while LEFT_BEHIND.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        assert_eq!(within_deadline(&path(0), || 9).unwrap(), 9);
        assert!(IDLE.lock().unwrap().len() <= MOST_IDLE);
    }
}
