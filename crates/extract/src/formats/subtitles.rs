//! Subtitles of both kinds: what is said, in pieces of half a minute with their times.

use model::Pointer;

use crate::formats::{entities, txt};
use crate::sink::{Outcome, Sink, broken};

/// Cues are a breath long; half a minute can be understood.
const PIECE_MS: u64 = 30_000;

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let text = txt::decode(bytes, sink)?;
    let mut piece: Option<(u64, u64, String)> = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        sink.meter.spend(1)?;
        let Some((start, end)) = times(line) else { continue };
        sink.parts = sink.parts.saturating_add(1);
        let mut said = String::new();
        while let Some(line) = lines.next_if(|line| !line.trim().is_empty() && times(line).is_none()) {
            // Without an empty line between two cues this is the number of the next one.
            if line.trim().bytes().all(|byte| byte.is_ascii_digit())
                && lines.peek().is_some_and(|next| times(next).is_some())
            {
                break;
            }
            said.push_str(&plain(line));
            said.push('\n');
        }
        match &mut piece {
            Some((from, to, text)) if start >= *from && end.saturating_sub(*from) <= PIECE_MS => {
                *to = end.max(*to);
                text.push_str(&said);
            }
            _ => {
                if let Some((start_ms, end_ms, text)) = piece.replace((start, end.max(start), said)) {
                    sink.unit(Pointer::Time { start_ms, end_ms }, None, &text)?;
                }
            }
        }
    }
    match piece {
        Some((start_ms, end_ms, text)) => sink.unit(Pointer::Time { start_ms, end_ms }, None, &text),
        None => broken("it has no times"),
    }
}

/// `00:01:02,500 --> 00:01:04,000`, with a point or a comma, with or without hours.
fn times(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_once("-->")?;
    Some((milliseconds(start.trim())?, milliseconds(end.split_whitespace().next()?)?))
}

fn milliseconds(text: &str) -> Option<u64> {
    let (clock, fraction) = text.split_once([',', '.']).unwrap_or((text, "0"));
    let mut seconds = 0u64;
    for part in clock.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.trim().parse().ok()?)?;
    }
    let thousandths: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    seconds.checked_mul(1000)?.checked_add(thousandths)
}

/// Without the marks for italics, colours, positions and voices; a voice's name stays.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['<', '{']) {
        out.push_str(&rest[..at]);
        let close = if rest[at..].starts_with('<') { '>' } else { '}' };
        let Some(end) = rest[at..].find(close) else {
            rest = &rest[at..];
            break;
        };
        let mark = &rest[at + 1..at + end];
        if let Some(voice) = mark.strip_prefix("v ") {
            out.push_str(&format!("{}: ", voice.trim()));
        } else if close == '}' && !mark.starts_with('\\') {
            out.push_str(&rest[at..=at + end]);
        }
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    entities::unescape(&out)
}

#[cfg(test)]
mod tests {
    use super::{plain, times};

    #[test]
    fn times_of_both_kinds() {
        assert_eq!(times("00:01:02,500 --> 00:01:04,000"), Some((62_500, 64_000)));
        assert_eq!(times("01:02.5 --> 01:04.000 align:start"), Some((62_500, 64_000)));
        assert_eq!(times("a --> b"), None);
        assert_eq!(times("99999999999999999999:00 --> 1"), None);
    }

    #[test]
    fn marks() {
        assert_eq!(plain("<i>a</i> {\\an8}b <v Ann>c {d} &amp; <e"), "a b Ann: c {d} & <e");
    }
}
