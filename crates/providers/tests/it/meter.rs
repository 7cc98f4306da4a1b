//! The ledger of what was paid for: sums, limits, several processes, and kills.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::{Capability, ProviderErrorKind, Usage, UsageMeter, WallClock};
use providers::meter::{CostLedger, LedgerError, SpendLimit, SpendLimits};

#[derive(Debug)]
struct SetClock(Mutex<SystemTime>);

impl SetClock {
    /// 2026-11-18, 20:00 UTC.
    fn new() -> Arc<SetClock> {
        Arc::new(SetClock(Mutex::new(UNIX_EPOCH + Duration::from_secs(1_795_032_000))))
    }

    fn advance(&self, hours: u64) {
        *self.0.lock().unwrap() += Duration::from_secs(hours * 3600);
    }
}

impl WallClock for SetClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }
}

fn ledger(path: &Path) -> CostLedger {
    CostLedger::open(path, SpendLimits::default(), SetClock::new()).unwrap()
}

fn pages(pages: u64) -> Usage {
    Usage { calls: 1, pages, ..Usage::default() }
}

#[test]
fn sums_per_day_provider_model_and_capability() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.jsonl");
    let clock = SetClock::new();
    let ledger = CostLedger::open(&path, SpendLimits::default(), clock.clone()).unwrap();
    ledger.record("mistral", "ocr", Capability::Ocr, pages(3));
    ledger.record("mistral", "ocr", Capability::Ocr, pages(4));
    let tokens = Usage { calls: 1, tokens_in: 9, tokens_out: 5, ..Usage::default() };
    ledger.record("mistral", "small", Capability::Chat, tokens);
    clock.advance(5);
    ledger.record("mistral", "ocr", Capability::Ocr, pages(1));
    let entries = ledger.entries();
    let shown: Vec<_> = entries.iter().map(|entry| (&*entry.day, &*entry.model, entry.used.pages)).collect();
    assert_eq!(shown, [("2026-11-18", "ocr", 7), ("2026-11-18", "small", 0), ("2026-11-19", "ocr", 1)]);
    assert_eq!(ledger.today(), pages(1));
    assert_eq!(entries[1].used, tokens);
    drop(ledger);
    assert_eq!(CostLedger::read(&path).unwrap(), entries, "and again from the file");
    assert_eq!(CostLedger::read(&folder.path().join("none")).unwrap(), []);
}

#[test]
fn a_limit_pauses_until_midnight_and_names_its_setting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.jsonl");
    let clock = SetClock::new();
    let limit = |most, setting| Some(SpendLimit { most, setting });
    let limits =
        SpendLimits { calls: limit(3, "limits.spend.calls"), pages: limit(10, "limits.spend.pages") };
    let ledger = CostLedger::open(&path, limits, clock.clone()).unwrap();
    ledger.record("mistral", "ocr", Capability::Ocr, pages(10));
    let error = ledger.reserve("mistral", Capability::Ocr, pages(1)).unwrap_err();
    let ProviderErrorKind::Paused { after, reason } = error.kind else { panic!("{error}") };
    assert_eq!(after, Duration::from_secs(4 * 3600));
    assert_eq!(reason, "the limit of 10 pages a day (limits.spend.pages) is used up");
    assert_eq!(ledger.reserve("mistral", Capability::Chat, pages(0)), Ok(()), "which needs no pages");
    ledger.release(pages(0));
    // Another process uses up the calls.
    let other = CostLedger::open(&path, limits, clock.clone()).unwrap();
    for _ in 0..2 {
        other.record("openai", "m", Capability::Chat, Usage { calls: 1, ..Usage::default() });
    }
    let error = ledger.reserve("mistral", Capability::Chat, pages(0)).unwrap_err();
    assert!(error.to_string().contains("3 calls a day (limits.spend.calls)"), "{error}");
    clock.advance(4);
    assert_eq!(ledger.reserve("mistral", Capability::Ocr, pages(1)), Ok(()), "a new day");
}

#[test]
fn what_is_set_aside_for_requests_under_way_counts() {
    let folder = tempfile::tempdir().unwrap();
    let limit = |most, setting| Some(SpendLimit { most, setting });
    let limits = SpendLimits { calls: limit(5, "calls"), pages: limit(40, "pages") };
    let path = folder.path().join("costs.jsonl");
    let ledger = CostLedger::open(&path, limits, SetClock::new()).unwrap();
    let reserve = |number| ledger.reserve("mistral", Capability::Ocr, pages(number));
    assert_eq!(reserve(32), Ok(()));
    assert_eq!(ledger.pages_left(), Some(8));
    assert!(reserve(9).is_err(), "41 of 40");
    assert_eq!(reserve(8), Ok(()));
    assert!(reserve(1).is_err());
    // One is answered, the other is not.
    ledger.record("mistral", "ocr", Capability::Ocr, pages(32));
    ledger.release(pages(32));
    ledger.release(pages(8));
    assert_eq!((ledger.pages_left(), reserve(8)), (Some(8), Ok(())));
}

#[test]
fn what_a_power_cut_left_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.jsonl");
    ledger(&path).record("mistral", "ocr", Capability::Ocr, pages(2));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"day\":\"2026-11-18\",\"prov");
    std::fs::write(&path, bytes).unwrap();
    let reopened = ledger(&path);
    reopened.record("mistral", "ocr", Capability::Ocr, pages(5));
    assert_eq!(reopened.today(), Usage { calls: 2, ..pages(7) });
}

#[test]
fn a_newer_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.jsonl");
    std::fs::write(&path, "{\"costs_format\":2}\n").unwrap();
    let error = CostLedger::open(&path, SpendLimits::default(), SetClock::new()).unwrap_err();
    assert!(matches!(error, LedgerError::Newer { found: 2, .. }), "{error}");
}

/// Starts the running test a second time, in a process of its own that writes to the ledger.
fn child(test: &str, path: &Path, lines: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("LEDGER_OF_THE_TEST", path)
        .env("LINES_OF_THE_TEST", lines.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Whether this process is such a child; then it has done its work.
#[allow(clippy::print_stdout, reason = "the parent counts the lines")]
fn is_child() -> bool {
    let Some(path) = std::env::var_os("LEDGER_OF_THE_TEST") else { return false };
    let ledger = ledger(Path::new(&path));
    let lines: u64 = std::env::var("LINES_OF_THE_TEST").unwrap().parse().unwrap();
    for number in 0..lines {
        ledger.record("mistral", "ocr", Capability::Ocr, pages(1));
        println!("written {number}");
    }
    true
}

#[test]
fn several_processes_lose_nothing() {
    if is_child() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.jsonl");
    let mut children: Vec<Child> =
        (0..3).map(|_| child("meter::several_processes_lose_nothing", &path, 3000)).collect();
    let ledger = ledger(&path);
    for _ in 0..1000 {
        ledger.record("mistral", "ocr", Capability::Ocr, pages(1));
    }
    for child in &mut children {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.filter(|line| line.as_ref().unwrap().contains("written")).count(), 3000);
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(ledger.today(), Usage { calls: 10_000, ..pages(10_000) });
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 10_000 * 100, "the lines were replaced by their sums: {size} bytes");
}

#[test]
fn a_kill_loses_nothing_that_was_written() {
    if is_child() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.jsonl");
    let mut seen = 0;
    for _ in 0..5 {
        let mut child = child("meter::a_kill_loses_nothing_that_was_written", &path, 1_000_000);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        seen += lines.by_ref().filter(|line| line.as_ref().unwrap().contains("written")).take(1500).count()
            as u64;
        child.kill().unwrap();
        child.wait().unwrap();
        // What was printed before the kill took effect.
        seen += lines.filter(|line| line.as_ref().is_ok_and(|line| line.contains("written"))).count() as u64;
    }
    let written = ledger(&path).today().pages;
    assert!(written >= seen && written <= seen + 5, "{seen} seen, {written} in the file");
}
