//! `dir2mcp costs`: what services were used for, by day, provider, model and task.

use std::collections::BTreeMap;

use clap::Args;
use engine::state_dir;
use jiff::Timestamp;
use model::Usage;
use providers::meter::CostEntry;
use serde_json::{Value, json};

use crate::config::{Loaded, Settings};
use crate::exit::Exit;
use crate::print::bar::grouped;
use crate::print::services::task;
use crate::print::style::{self, Ink};
use crate::print::{self, safe};
use crate::wire;

#[derive(Debug, Clone, Args)]
pub(crate) struct CostsArgs {
    /// Show only the last N days, today included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub days: Option<u32>,
}

pub(crate) fn run(loaded: &Loaded, args: &CostsArgs) -> Result<(), Exit> {
    let settings = &loaded.settings;
    state_dir::check(&settings.root, &settings.state_dir)?;
    let mut entries = wire::costs(settings)?;
    if let Some(days) = args.days {
        let first = Timestamp::now() - jiff::SignedDuration::from_hours(24 * (i64::from(days) - 1));
        let first = day(first);
        entries.retain(|entry| entry.day >= first);
    }
    if settings.output.json {
        return Ok(print::out_json(&as_json(settings, &entries))?);
    }
    Ok(print::out(&as_table(settings, &entries))?)
}

/// What was used today, for `status` and the like; nothing where nothing was.
pub(crate) fn today_line(settings: &Settings) -> Option<String> {
    let entries = wire::costs(settings).ok()?;
    let today = today(&entries);
    (today != Usage::default()).then(|| amounts(&today))
}

fn as_json(settings: &Settings, entries: &[CostEntry]) -> Value {
    let today = today(entries);
    json!({
        "entries": entries,
        "today": today,
        "limits": {
            "calls_per_day": settings.models.calls_per_day,
            "pages_per_day": settings.models.pages_per_day,
        },
    })
}

fn as_table(settings: &Settings, entries: &[CostEntry]) -> String {
    if entries.is_empty() {
        return "Nothing was paid for: no service was used.\n".to_owned();
    }
    let look = style::out();
    let head = [
        "day",
        "provider",
        "model",
        "task",
        "calls",
        "pages",
        "minutes",
        "tokens in",
        "tokens out",
        "characters",
    ];
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
    for entry in entries {
        rows.push(row(&entry.day, &entry.provider, &safe(&entry.model), task(entry.capability), &entry.used));
    }
    let mut sum = Usage::default();
    let mut by_provider: BTreeMap<&str, Usage> = BTreeMap::new();
    for entry in entries {
        add(&mut sum, &entry.used);
        add(by_provider.entry(&entry.provider).or_default(), &entry.used);
    }
    if entries.len() > 1 {
        if by_provider.len() > 1 {
            rows.extend(by_provider.iter().map(|(provider, used)| row("total", provider, "", "", used)));
        }
        rows.push(row("total", "", "", "", &sum));
    }
    let widths: Vec<usize> = (0..head.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            // Numbers end where their column does.
            .map(|(column, (cell, width))| match column {
                0..4 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        let line = cells.join("  ");
        let line = line.trim_end();
        text.push_str(&if at == 0 { look.paint(Ink::Heading, line) } else { line.to_owned() });
        text.push('\n');
    }
    text.push_str(&limits(settings, &today(entries)));
    text
}

/// How much of the day's limits is used up.
fn limits(settings: &Settings, today: &Usage) -> String {
    let line = |limit: Option<u64>, used: u64, what: &str| {
        limit.map_or(String::new(), |limit| {
            format!("Limit: {} of {} {what} used today (UTC)\n", grouped(used), grouped(limit))
        })
    };
    line(settings.models.calls_per_day, today.calls, "calls")
        + &line(settings.models.pages_per_day, today.pages, "pages")
}

fn row(day: &str, provider: &str, model: &str, task: &str, used: &Usage) -> Vec<String> {
    let number = |number: u64| if number == 0 { "-".to_owned() } else { grouped(number) };
    let minutes = match used.audio_ms {
        0 => "-".to_owned(),
        ms => format!("{:.1}", ms as f64 / 60_000.0),
    };
    vec![
        day.to_owned(),
        provider.to_owned(),
        model.to_owned(),
        task.to_owned(),
        number(used.calls),
        number(used.pages),
        minutes,
        number(used.tokens_in),
        number(used.tokens_out),
        number(used.characters),
    ]
}

/// The same on one line.
fn amounts(used: &Usage) -> String {
    let mut parts = Vec::new();
    let mut part = |number: u64, one: &str, many: &str| {
        if number > 0 {
            parts.push(format!("{} {}", grouped(number), if number == 1 { one } else { many }));
        }
    };
    part(used.calls, "call", "calls");
    part(used.pages, "page", "pages");
    part(used.audio_ms.div_ceil(1000), "second of audio", "seconds of audio");
    part(used.tokens_in + used.tokens_out, "token", "tokens");
    part(used.characters, "character read aloud", "characters read aloud");
    parts.join(", ")
}

fn today(entries: &[CostEntry]) -> Usage {
    let today = day(Timestamp::now());
    let mut sum = Usage::default();
    entries.iter().filter(|entry| entry.day == today).for_each(|entry| add(&mut sum, &entry.used));
    sum
}

/// As the ledger names days: in UTC.
fn day(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d").to_string()
}

fn add(sum: &mut Usage, used: &Usage) {
    sum.calls += used.calls;
    sum.pages += used.pages;
    sum.audio_ms += used.audio_ms;
    sum.tokens_in += used.tokens_in;
    sum.tokens_out += used.tokens_out;
    sum.characters += used.characters;
}

#[cfg(test)]
mod tests {
    use model::Capability;

    use super::*;
    use crate::config::tests::load_in;

    fn entry(day: &str, provider: &str, capability: Capability, used: Usage) -> CostEntry {
        CostEntry { day: day.into(), provider: provider.into(), model: "m".into(), capability, used }
    }

    #[test]
    fn a_table_with_totals_and_limits() {
        let dir = tempfile::tempdir().unwrap();
        let env = [("DIR2MCP_LIMITS_SPEND_CALLS_PER_DAY", "2000")];
        let settings = load_in(dir.path(), &["costs"], &env).unwrap().settings;
        let embed = Usage { calls: 1200, tokens_in: 34_567, ..Usage::default() };
        let ocr = Usage { calls: 2, pages: 9, ..Usage::default() };
        let stt = Usage { calls: 1, audio_ms: 90_000, ..Usage::default() };
        let entries = [
            entry("2026-01-02", "mistral", Capability::Embed, embed),
            entry("2026-01-02", "mistral", Capability::Ocr, ocr),
            entry("2026-01-03", "elevenlabs", Capability::Stt, stt),
        ];
        assert_eq!(
            as_table(&settings, &entries),
            "\
day         provider    model  task        calls  pages  minutes  tokens in  tokens out  characters
2026-01-02  mistral     m      vectors     1,200      -        -     34,567           -           -
2026-01-02  mistral     m      scans           2      9        -          -           -           -
2026-01-03  elevenlabs  m      recordings      1      -      1.5          -           -           -
total       elevenlabs                         1      -      1.5          -           -           -
total       mistral                        1,202      9        -     34,567           -           -
total                                      1,203      9      1.5     34,567           -           -
Limit: 0 of 2,000 calls used today (UTC)
"
        );
        assert_eq!(as_table(&settings, &[]), "Nothing was paid for: no service was used.\n");
        assert_eq!(amounts(&embed), "1,200 calls, 34,567 tokens");
        assert_eq!(amounts(&stt), "1 call, 90 seconds of audio");
    }
}
