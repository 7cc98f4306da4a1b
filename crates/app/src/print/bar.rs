//! The moving line on a terminal: a spinner with counts while the folder is walked, then a bar whose total is known,
//! with the rate and the time left.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::Progress;

use super::style;

/// Rates are measured over this long, so that the time left follows what happens now.
const WINDOW: Duration = Duration::from_secs(10);

/// A rate says nothing before this much was seen.
const MEASURED: Duration = Duration::from_secs(1);

pub(crate) struct Bar {
    bar: ProgressBar,
    pace: Mutex<ReadingPace>,
}

/// How many files had been read at recent moments.
#[derive(Default)]
struct ReadingPace {
    job: String,
    marks: Vec<(Instant, u64)>,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        Bar { bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()), pace: Mutex::default() }
    }

    pub(crate) fn draw(&self, progress: &Progress) {
        let rate = self.rate(progress, Instant::now());
        if self.bar.is_hidden() {
            self.bar.reset();
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(120));
        }
        let colour = style::err().colour;
        match progress.to_read {
            // A bar of nothing would be full at once.
            Some(total) if total > 0 => {
                self.bar.set_style(template(if colour {
                    "{bar:24.green/dim} {msg}"
                } else {
                    "{bar:24} {msg}"
                }));
                self.bar.set_length(total);
                self.bar.set_position(progress.read.min(total));
            }
            _ => self.bar.set_style(template(if colour {
                "{spinner:.green} {msg}"
            } else {
                "{spinner} {msg}"
            })),
        }
        self.bar.set_message(message(progress, rate));
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }

    /// Prints something while the line is out of the way.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Files read per second, once that can be said.
    fn rate(&self, progress: &Progress, now: Instant) -> Option<f64> {
        let mut pace = self.pace.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if pace.job != progress.job_id {
            *pace = ReadingPace { job: progress.job_id.clone(), marks: Vec::new() };
        }
        pace.marks.retain(|(when, _)| now.duration_since(*when) <= WINDOW);
        pace.marks.push((now, progress.read));
        let (since, before) = *pace.marks.first()?;
        let elapsed = now.duration_since(since);
        (elapsed >= MEASURED && progress.read > before)
            .then(|| (progress.read - before) as f64 / elapsed.as_secs_f64())
    }
}

/// The text beside the bar.
fn message(progress: &Progress, rate: Option<f64>) -> String {
    let Some(total) = progress.to_read.filter(|total| *total > 0) else {
        let found = grouped(progress.scanned);
        return match (progress.to_read, progress.read) {
            (Some(_), _) => format!("{found} files, finishing"),
            (None, 0) => format!("looking for changes, {found} files found"),
            (None, read) => format!("looking for changes, {found} files found, {} read", grouped(read)),
        };
    };
    let mut text = format!("{}/{} files", grouped(progress.read.min(total)), grouped(total));
    if let Some(rate) = rate {
        text.push_str(&format!(
            "  {}/s",
            if rate < 10.0 { format!("{rate:.1}") } else { grouped(rate as u64) }
        ));
        let left = (total.saturating_sub(progress.read)) as f64 / rate;
        text.push_str(&format!("  {} left", duration(Duration::from_secs_f64(left.min(1e7)))));
    }
    if progress.errors > 0 {
        text.push_str(&format!("  {} failed", grouped(progress.errors)));
    }
    text
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `40 s`, `3 min`, `2 h 10 min`: as exact as such a guess can be.
fn duration(time: Duration) -> String {
    match time.as_secs() {
        0..=1 => "1 s".to_owned(),
        seconds @ 2..=99 => format!("{seconds} s"),
        seconds @ 100..=5999 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

fn template(text: &str) -> ProgressStyle {
    ProgressStyle::with_template(text).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(scanned: u64, read: u64, to_read: Option<u64>) -> Progress {
        Progress { running: true, scanned, read, to_read, ..Progress::nothing() }
    }

    #[test]
    fn there_is_no_total_before_it_is_known_and_never_a_total_of_nothing() {
        assert_eq!(message(&progress(0, 0, None), None), "looking for changes, 0 files found");
        assert_eq!(
            message(&progress(1234, 20, None), Some(5.0)),
            "looking for changes, 1,234 files found, 20 read"
        );
        assert_eq!(message(&progress(6890, 0, Some(0)), None), "6,890 files, finishing");
    }

    #[test]
    fn the_bar_says_how_fast_and_how_long() {
        assert_eq!(message(&progress(9000, 250, Some(1250)), None), "250/1,250 files");
        assert_eq!(message(&progress(9000, 250, Some(1250)), Some(50.0)), "250/1,250 files  50/s  20 s left");
        assert_eq!(message(&progress(9, 1, Some(3)), Some(0.5)), "1/3 files  0.5/s  4 s left");
        let failed = Progress { errors: 2, ..progress(9, 3, Some(3)) };
        assert_eq!(message(&failed, None), "3/3 files  2 failed");
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let bar = Bar::new();
        let start = Instant::now();
        let at = |seconds: u64, read: u64| {
            bar.rate(&progress(1000, read, None), start + Duration::from_secs(seconds))
        };
        assert_eq!(at(0, 0), None);
        assert_eq!(at(2, 100), Some(50.0));
        assert_eq!(at(14, 100), None, "nothing was read lately");
        assert_eq!(at(16, 300), Some(100.0));
        let other = Progress { job_id: "job_2".into(), ..progress(1000, 300, None) };
        assert_eq!(bar.rate(&other, start + Duration::from_secs(20)), None, "a new job begins to measure");
    }

    #[test]
    fn numbers_and_times_are_written_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let shown = [0, 59, 150, 7800].map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(shown, ["1 s", "59 s", "3 min", "2 h 10 min"]);
    }
}
