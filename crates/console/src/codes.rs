//! One-time codes: what a link carries instead of the token. A code is good for one exchange within a short time, so that one that is
//! seen later, in a terminal's history or a browser's, is worth nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{MonotonicClock, SystemMonotonicClock};
use subtle::ConstantTimeEq;

/// Codes that wait at a time; a new one pushes out the oldest.
const MOST: usize = 16;

/// What `up` prints has to be found and clicked by a person.
pub const PRINTED_LIFE: Duration = Duration::from_secs(600);

/// What a command makes is opened at once.
pub(crate) const FRESH_LIFE: Duration = Duration::from_secs(60);

/// The codes that may still be exchanged: those this process made, and those that a command left in its state directory, where
/// only the owner can write. The latter need no connection and no token, wherever the token is kept.
pub struct SignInCodes {
    waiting: Mutex<Vec<WaitingCode>>,
    clock: Arc<dyn MonotonicClock>,
    folder: Option<PathBuf>,
}

struct WaitingCode {
    /// A digest, so that comparing tells nothing by the time it takes.
    digest: [u8; 32],
    until: std::time::Instant,
}

impl Default for SignInCodes {
    fn default() -> SignInCodes {
        SignInCodes::new(Arc::new(SystemMonotonicClock))
    }
}

impl SignInCodes {
    pub fn new(clock: Arc<dyn MonotonicClock>) -> SignInCodes {
        SignInCodes { waiting: Mutex::default(), clock, folder: None }
    }

    /// Also takes codes that were left in this folder. What is in it now was left for another server.
    #[must_use]
    pub fn with_folder(self, folder: PathBuf) -> SignInCodes {
        sweep(&folder, Duration::ZERO);
        SignInCodes { folder: Some(folder), ..self }
    }

    /// A code, and the name of the empty file that makes it known to a server.
    pub fn left_for_a_server() -> Option<(String, String)> {
        let code = random_code()?;
        let name = blake3::hash(code.as_bytes()).to_hex().to_string();
        Some((code, name))
    }

    /// A new code; `None` where the system has no random numbers.
    pub fn issue(&self, life: Duration) -> Option<String> {
        let code = random_code()?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MOST {
            waiting.remove(0);
        }
        waiting.push(WaitingCode { digest: digest(&code), until: self.clock.now() + life });
        Some(code)
    }

    /// Whether the code is good; it is not a second time.
    pub fn redeem(&self, code: &str) -> bool {
        let now = self.clock.now();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|known| known.until > now);
        let presented = digest(code);
        let mut found = None;
        for (at, known) in waiting.iter().enumerate() {
            if bool::from(known.digest.ct_eq(&presented)) {
                found = Some(at);
            }
        }
        let is_known = found.map(|at| waiting.remove(at)).is_some();
        drop(waiting);
        is_known || self.folder.as_deref().is_some_and(|folder| redeem_left(folder, code))
    }
}

/// Whether the code was left in the folder a moment ago. Who removes its file has it: there is one who can.
fn redeem_left(folder: &Path, code: &str) -> bool {
    sweep(folder, FRESH_LIFE);
    let file = folder.join(blake3::hash(code.as_bytes()).to_hex().as_str());
    let is_file = std::fs::symlink_metadata(&file).is_ok_and(|facts| facts.is_file());
    is_file && std::fs::remove_file(&file).is_ok()
}

/// Removes what is older than this, or from the future.
#[allow(clippy::disallowed_methods, reason = "a folder of our own in the state directory")]
fn sweep(folder: &Path, age: Duration) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let written = std::fs::symlink_metadata(&path).and_then(|facts| facts.modified());
        let is_fresh = written.is_ok_and(|written| match written.elapsed() {
            Ok(passed) => passed < age,
            // Clocks of file systems may be a little ahead.
            Err(ahead) => !age.is_zero() && ahead.duration() < Duration::from_secs(2),
        });
        if !is_fresh {
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn random_code() -> Option<String> {
    let mut random = [0u8; 16];
    getrandom::fill(&mut random).ok()?;
    Some(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn digest(code: &str) -> [u8; 32] {
    *blake3::hash(code.as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    struct Hand(Mutex<Instant>);

    impl MonotonicClock for Hand {
        fn now(&self) -> Instant {
            *self.0.lock().unwrap()
        }
    }

    #[test]
    fn a_code_works_once() {
        let codes = SignInCodes::default();
        let (first, second) = (codes.issue(FRESH_LIFE).unwrap(), codes.issue(FRESH_LIFE).unwrap());
        assert_ne!(first, second);
        assert!(codes.redeem(&first) && !codes.redeem(&first));
        assert!(!codes.redeem("") && !codes.redeem("guess"));
        assert!(codes.redeem(&second));
    }

    #[test]
    fn a_code_expires() {
        let hand = Arc::new(Hand(Mutex::new(Instant::now())));
        let codes = SignInCodes::new(hand.clone());
        let code = codes.issue(FRESH_LIFE).unwrap();
        let kept = codes.issue(PRINTED_LIFE).unwrap();
        *hand.0.lock().unwrap() += FRESH_LIFE;
        assert!(!codes.redeem(&code));
        assert!(codes.redeem(&kept));
    }

    #[allow(clippy::disallowed_methods, reason = "a folder of the test's own")]
    #[test]
    fn codes_that_were_left_work_once_and_for_a_minute() {
        let dir = tempfile::tempdir().unwrap();
        let leave = |age: Duration| {
            let (code, name) = SignInCodes::left_for_a_server().unwrap();
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
            code
        };
        let before = leave(Duration::ZERO);
        let codes = SignInCodes::default().with_folder(dir.path().to_owned());
        assert!(!codes.redeem(&before), "left before this server was started");
        let (good, old) = (leave(Duration::ZERO), leave(FRESH_LIFE + Duration::from_secs(1)));
        assert!(!codes.redeem(&old));
        assert!(codes.redeem(&good) && !codes.redeem(&good));
        assert!(!codes.redeem("../x") && !codes.redeem(""));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_so_many_wait() {
        let codes = SignInCodes::default();
        let first = codes.issue(FRESH_LIFE).unwrap();
        let later: Vec<String> = (0..MOST).map(|_| codes.issue(FRESH_LIFE).unwrap()).collect();
        assert!(!codes.redeem(&first));
        assert!(later.iter().all(|code| codes.redeem(code)));
    }
}
