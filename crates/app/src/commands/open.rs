//! `dir2mcp open`: what `dir2mcp.open_file` shows of a file, with line numbers and colours on a terminal.

use clap::Args;
use model::ErrorCode;
use serde_json::{Map, Value, json};

use super::tools;
use crate::config::Loaded;
use crate::exit::{Exit, ExitCode};
use crate::print::style::{self, Ink};
use crate::print::{self, highlight, safe, safe_text};
use crate::wire;

#[derive(Debug, Clone, Args)]
pub(crate) struct OpenArgs {
    /// The file, relative to the directory; with lines (a.rs:12, a.rs:L3-L9), a page (a.pdf#p=3) or a time
    /// (talk.vtt@t=00:30-01:00), as citations have them
    #[arg(value_name = "PATH[:LINES]")]
    pub place: String,
    /// Characters to show at most, from 200 to 50000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(200..=50_000))]
    pub max_chars: Option<u64>,
}

pub(crate) fn run(loaded: &Loaded, args: &OpenArgs) -> Result<(), Exit> {
    let whole = FilePlace { path: bare(&args.place).to_owned(), span: Map::new() };
    let place = parse(&args.place);
    let mut arguments = place.arguments(args.max_chars);
    // A file may be called `a:12`.
    if place.path != whole.path && loaded.settings.root.join(&whole.path).exists() {
        arguments = whole.arguments(args.max_chars);
    } else if let Some((path, range)) = mistaken_range(&whole.path)
        && !loaded.settings.root.join(&whole.path).exists()
    {
        return Err(Exit::new(
            ExitCode::Generic,
            ErrorCode::InvalidRange.as_str(),
            format!("\"{}\" is not a range of lines", safe(range)),
        )
        .hint(format!("Lines count from 1: {0}:12 for one, {0}:3-9 for several.", safe(path))));
    }
    let engine = wire::open_engine(loaded)?;
    let result = tools::call(loaded, engine, "dir2mcp.open_file", arguments)?;
    if loaded.settings.output.json {
        return Ok(print::out_json(&result.structured)?);
    }
    let content = result.structured["content"].as_str().unwrap_or_default();
    let path = result.structured["rel_path"].as_str().unwrap_or_default();
    let first = result.structured["span"]["start_line"].as_u64();
    print::out(&shown(path, content, first))?;
    // What is known beyond the content: cut off, changed since it was indexed.
    for note in result.content.iter().skip(1) {
        print::err(&format!("{}\n", style::err().paint(Ink::Caution, &safe(note))));
    }
    Ok(())
}

/// In a pipe the content alone; on a terminal its line numbers and colours too.
fn shown(path: &str, content: &str, first: Option<u64>) -> String {
    let look = style::out();
    let ended =
        |text: String| if text.is_empty() || text.ends_with('\n') { text } else { format!("{text}\n") };
    if !look.colour {
        return ended(safe_text(content).into_owned());
    }
    let text = safe_text(content);
    let coloured = highlight::lines(path, &text, look);
    let last = first.unwrap_or(1) + coloured.len() as u64;
    let digits = last.to_string().len();
    let mut shown = String::new();
    for (at, line) in coloured.iter().enumerate() {
        if let Some(first) = first {
            let number = format!("{:>digits$}", first + at as u64);
            shown.push_str(&look.paint(Ink::Aside, &number));
            shown.push_str("  ");
        }
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

/// A file and the part of it that is wanted.
#[derive(Debug, PartialEq)]
struct FilePlace {
    path: String,
    span: Map<String, Value>,
}

impl FilePlace {
    fn arguments(&self, max_chars: Option<u64>) -> Map<String, Value> {
        let mut arguments = Map::from_iter([("rel_path".to_owned(), json!(self.path))]);
        arguments.extend(self.span.clone());
        arguments.extend(max_chars.map(|most| ("max_chars".to_owned(), json!(most))));
        arguments
    }
}

/// A citation without its brackets.
fn bare(text: &str) -> &str {
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text)
}

fn parse(text: &str) -> FilePlace {
    let text = bare(text);
    let place = |path: &str, fields: &[(&str, u64)]| FilePlace {
        path: path.to_owned(),
        span: fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect(),
    };
    if let Some((path, range)) = text.rsplit_once("@t=")
        && let Some((start, end)) = range.split_once('-')
        && let (Some(start), Some(end)) = (milliseconds(start), milliseconds(end))
    {
        return place(path, &[("start_ms", start), ("end_ms", end)]);
    }
    for mark in ["#p=", "#page="] {
        if let Some((path, page)) = text.rsplit_once(mark)
            && let Ok(page) = page.parse()
        {
            return place(path, &[("page", page)]);
        }
    }
    if let Some((path, lines)) = text.rsplit_once([':', '#'])
        && !path.is_empty()
        && let Some((start, end)) = lines_of(lines)
    {
        // `a.rs:12:5` names a column too, which compilers print.
        if let Some((shorter, line)) = path.rsplit_once(':')
            && let (Some((line, _)), true) = (lines_of(line), start == end && !lines.contains(['L', '-']))
        {
            return place(shorter, &[("start_line", line), ("end_line", line)]);
        }
        return place(path, &[("start_line", start), ("end_line", end)]);
    }
    place(text, &[])
}

/// `12`, `L12`, `3-9` or `L3-L9`.
fn lines_of(text: &str) -> Option<(u64, u64)> {
    let number =
        |text: &str| text.strip_prefix('L').unwrap_or(text).parse::<u64>().ok().filter(|line| *line > 0);
    match text.split_once('-') {
        Some((start, end)) => Some((number(start)?, number(end)?)),
        None => number(text).map(|line| (line, line)),
    }
}

/// The path and the rest of `a.md:0`, `a.md:1-` or `a.md:9-3`, which is meant as lines but does not name any.
fn mistaken_range(text: &str) -> Option<(&str, &str)> {
    let (path, range) = text.rsplit_once(':')?;
    let is_like_lines = range.contains(|c: char| c.is_ascii_digit())
        && range.chars().all(|c| c.is_ascii_digit() || matches!(c, 'L' | '-' | ',' | '.' | ':'));
    let names_lines = lines_of(range).is_some_and(|(start, end)| start <= end);
    (!path.is_empty() && is_like_lines && !names_lines).then_some((path, range))
}

/// `mm:ss` in milliseconds.
fn milliseconds(text: &str) -> Option<u64> {
    let (minutes, seconds) = text.split_once(':')?;
    Some((minutes.parse::<u64>().ok()? * 60 + seconds.parse::<u64>().ok()?) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_as_citations_editors_and_compilers_write_them() {
        let of = |text: &str| {
            let place = parse(text);
            format!("{} {}", place.path, Value::Object(place.span))
        };
        let lines = |start: u64, end: u64| format!("src/a.rs {{\"start_line\":{start},\"end_line\":{end}}}");
        assert_eq!(of("src/a.rs"), "src/a.rs {}");
        for text in ["src/a.rs:L3-L9", "[src/a.rs:L3-L9]", "src/a.rs:3-9", "src/a.rs#L3-L9", "src/a.rs:L3-9"]
        {
            assert_eq!(of(text), lines(3, 9), "{text}");
        }
        for text in ["src/a.rs:12", "src/a.rs:L12", "src/a.rs#L12", "src/a.rs:12:5"] {
            assert_eq!(of(text), lines(12, 12), "{text}");
        }
        assert_eq!(of("[a.pdf#p=3]"), "a.pdf {\"page\":3}");
        assert_eq!(of("a.pdf#page=3"), "a.pdf {\"page\":3}");
        assert_eq!(of("[m.vtt@t=00:30-61:01]"), "m.vtt {\"start_ms\":30000,\"end_ms\":3661000}");
        assert_eq!(of("notes: today.md"), "notes: today.md {}");
        assert_eq!(of("a.rs:0"), "a.rs:0 {}");
    }

    #[test]
    fn ranges_that_name_no_lines() {
        for (text, range) in [
            ("a.md:0", "0"),
            ("a.md:1-", "1-"),
            ("a.md:-5", "-5"),
            ("a.md:9-3", "9-3"),
            ("a.md:1,5", "1,5"),
            ("a.md:L0-L2", "L0-L2"),
        ] {
            assert_eq!(mistaken_range(text), Some(("a.md", range)), "{text}");
        }
        for text in ["a.md", "a.md:3", "a.md:3-9", "a.md:3:7", "notes: today.md", "a:b.md"] {
            assert_eq!(mistaken_range(text), None, "{text}");
        }
    }
}
