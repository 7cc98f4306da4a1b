//! The page of figures.

use std::fmt::Write as _;
use std::time::Duration;

use testkit::measure::{megabytes, milliseconds};

use super::code::{Code, Quality, Side};
use super::formats::Format;
use super::peers::Peer;
use super::secrets::{Secrets, Shown};

pub(super) struct Page {
    /// How often every program built its indexes.
    pub rounds: usize,
    pub versions: Vec<String>,
    pub code: Code,
    pub mixed: Vec<Option<Quality>>,
    pub formats: Vec<Format>,
    pub secrets: Secrets,
    pub installed: Vec<u64>,
}

/// Which way a figure is better.
#[derive(Clone, Copy)]
enum Better {
    Higher,
    Lower,
}

/// One line of a table: a figure of each program, none where it has none.
struct Row {
    label: String,
    better: Better,
    cells: Vec<Option<f64>>,
    unit: &'static str,
}

const NEEDS: &[(&str, [&str; 6])] = &[
    ("runtime", ["none", "none", "Python", "none (brings Node)", "Python, filter programs", "Node"]),
    ("key or account", ["no", "no", "no", "no", "no", "no"]),
    ("download at first use", ["no", "no", "embedding table from a model hub", "no", "no", "no"]),
    ("speaks MCP", ["stdio and HTTP", "no", "stdio", "stdio", "no", "stdio"]),
    ("writes your files", ["no", "no", "no", "no", "no", "yes, within its folders"]),
    ("reports to its makers", ["no", "no", "no", "unless switched off", "no", "no"]),
];

const NOTES: &str = "\
How each program was asked:

- **dir2mcp**: `dir2mcp.search` over stdio with k = 10. The weights of its ranking were chosen on these code questions, among
  others, so its figures on code flatter it; the everyday questions are of our own making too.
- **ripgrep**: one call with the telling words of the question (`rg -i -F -e WORD -e WORD`), files ranked by how many different words they
  hold, then by matching lines. That ranking is ours; ripgrep itself does not rank.
- **semble**: its library in a Python process that stays, with WordLlama's embedding table. Its own table has to be downloaded from a model
  hub; its makers report 0.01 to 0.02 more nDCG@10 with it. Code folders were indexed with its default (`code`), the others with
  `--content all`. It has no command that only indexes: the time includes one question. The Python process answers without MCP
  around it.
- **codegraph**: its one listed tool, `codegraph_explore` with `maxFiles` = 10, over MCP. Files count in the order in which it shows them. It is made for
  questions about symbols and calls, and knows source code only.
- **recoll**: `recollq -o` (any term) from the shell, with Debian's helper programs for PDF, office files and RTF, and with `.go`, `.php`, `.rs`
  and `.ts` declared as text, which its defaults do not do. It reads notebooks where Jupyter is installed, which it was not.
- **MCP filesystem**: it searches names of files, not contents, so most rows do not apply. Opening is `read_text_file`.

A dash means that the program does not do this.
";

impl Page {
    pub(super) fn text(&self, peers: &[Box<dyn Peer>]) -> String {
        let names: Vec<&str> = peers.iter().map(|peer| peer.name()).collect();
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let mut page = format!(
            "# How it compares\n\nFigures of dir2mcp beside programs that people use for the same purpose. `cargo xtask compare --write` measures them and \
             writes this page: every program on the same files, in one run on {cores} cores, taking turns. Times of questions are medians, indexing was measured {} on a machine that also did other \
             work, so compare columns, not machines. The best figure of a row is bold. [How each program was asked](#method) is at the end.\n\n",
            match self.rounds {
                1 => "once".to_owned(),
                rounds => format!("{rounds} times (median)"),
            }
        );
        let _ = writeln!(page, "| | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
        let _ = writeln!(page, "| version | {} |", self.versions.join(" | "));
        for (label, cells) in NEEDS {
            let _ = writeln!(page, "| {label} | {} |", cells.join(" | "));
        }
        let sizes = self.installed.iter().map(|bytes| format!("{:.0}", megabytes(*bytes)));
        let _ = writeln!(
            page,
            "| on the disk without the runtime, MB | {} |",
            sizes.collect::<Vec<_>>().join(" | ")
        );

        let code = &self.code;
        let _ = write!(
            page,
            "\n## Questions about code\n\n{} questions in plain words over {} packages ({}), {} files, {:.0} MB: the questions of `eval/code-other`.\n\n",
            code.questions,
            code.trees.len(),
            code.trees.join(", "),
            code.files,
            megabytes(code.bytes)
        );
        let quality: Vec<Option<Quality>> = code.sides.iter().map(|side| side.quality).collect();
        let mut tables = vec![table(&mut page, &names, quality_rows(&quality))];

        let _ = write!(
            page,
            "\n## Cost on these packages\n\nOne pass of `rg --count` over all of them takes {:.2} s of CPU time; indexing is also given as a multiple of \
             that. A question goes to a server that runs already; where a program has no server, a process is started for it.\n\n",
            code.scan.as_secs_f64()
        );
        tables.push(table(&mut page, &names, cost_rows(code)));

        let _ = write!(
            page,
            "\n## Questions about a mixed folder\n\nThe everyday questions of `eval/everyday` over some 440 spreadsheets, slides, PDFs, letters, mails, notes, \
             logs and sources.\n\n"
        );
        tables.push(table(&mut page, &names, quality_rows(&self.mixed)));

        let _ = write!(
            page,
            "\n## Formats\n\nOne document of each format, made by the usual libraries, each with a word of its own. The mark means that a search for the word \
             finds the document.\n\n| | {} |\n|---|{}\n",
            names.join(" | "),
            "---|".repeat(names.len())
        );
        for format in &self.formats {
            let marks = format.found.iter().map(|found| match found {
                Some(true) => "yes",
                Some(false) => "no",
                None => "–",
            });
            let _ = writeln!(page, "| {} | {} |", format.name, marks.collect::<Vec<_>>().join(" | "));
        }
        let sums = (0..names.len()).map(|which| {
            let can_search = self.formats.iter().all(|format| format.found[which].is_some());
            let count = self.formats.iter().filter(|format| format.found[which] == Some(true)).count();
            if can_search { format!("{count} of {}", self.formats.len()) } else { "–".to_owned() }
        });
        let _ = writeln!(page, "| **found** | {} |", sums.collect::<Vec<_>>().join(" | "));

        let _ = write!(
            page,
            "\n## Credentials\n\n{} files with one made-up credential each (keys, tokens, passwords; in configuration, code, notes, mail and tables). Shown \
             means that the value itself is in the answer. Of {} harmless files that look similar, all should be found.\n\n",
            self.secrets.planted, self.secrets.harmless
        );
        let counted = |of: fn(&Shown) -> Option<usize>| {
            self.secrets.sides.iter().map(|side| of(side).map(|count| count as f64)).collect()
        };
        let rows = vec![
            row("credentials shown by a search", Better::Lower, counted(|side| side.by_search), ""),
            row(
                "credentials shown when the file is opened",
                Better::Lower,
                counted(|side| side.by_opening),
                "",
            ),
            row("harmless files found", Better::Higher, counted(|side| side.harmless_found), ""),
        ];
        tables.push(table(&mut page, &names, rows));

        let _ =
            write!(page, "\n## Where another program does better\n\n{}", where_others_win(&names, &tables));
        for format in self.formats.iter().filter(|format| format.found[0] == Some(false)) {
            let finders = (0..names.len()).filter(|which| format.found[*which] == Some(true));
            let finders: Vec<&str> = finders.map(|which| names[which]).collect();
            if !finders.is_empty() {
                let _ =
                    writeln!(page, "- {}: found by {}, not by {}", format.name, finders.join(", "), names[0]);
            }
        }
        let _ = write!(page, "\n## Method\n\n{NOTES}");
        page
    }
}

fn row(label: &str, better: Better, cells: Vec<Option<f64>>, unit: &'static str) -> Row {
    Row { label: label.to_owned(), better, cells, unit }
}

fn quality_rows(sides: &[Option<Quality>]) -> Vec<Row> {
    let share = |of: fn(&Quality) -> usize| -> Vec<Option<f64>> {
        let percent = |quality: &Quality| 100.0 * of(quality) as f64 / quality.questions.max(1) as f64;
        sides.iter().map(|side| side.as_ref().map(percent)).collect()
    };
    let mut rows = vec![
        row("right file first", Better::Higher, share(|quality| quality.first), " %"),
        row("right file in the first five", Better::Higher, share(|quality| quality.in_five), " %"),
        row("right file in the first ten", Better::Higher, share(|quality| quality.in_ten), " %"),
    ];
    if sides.iter().flatten().any(|quality| quality.ndcg.is_some()) {
        let ndcg = sides.iter().map(|side| side.and_then(|quality| quality.ndcg)).collect();
        rows.push(row("nDCG@10", Better::Higher, ndcg, ""));
    }
    rows
}

fn cost_rows(code: &Code) -> Vec<Row> {
    let of =
        |value: &dyn Fn(&Side) -> Option<f64>| -> Vec<Option<f64>> { code.sides.iter().map(value).collect() };
    let seconds = Duration::as_secs_f64;
    let lower = |label, cells, unit| row(label, Better::Lower, cells, unit);
    let scan = seconds(&code.scan);
    vec![
        lower("indexing, CPU time", of(&|side| Some(seconds(&side.index.as_ref()?.cpu))), " s"),
        lower(
            "indexing, times `rg --count`",
            of(&|side| Some(seconds(&side.index.as_ref()?.cpu) / scan)),
            "",
        ),
        lower("indexing, wall time", of(&|side| Some(seconds(&side.index.as_ref()?.wall))), " s"),
        lower("indexing, peak memory", of(&|side| Some(megabytes(side.index.as_ref()?.memory))), " MB"),
        lower("size of the index", of(&|side| Some(megabytes(side.index.as_ref()?.size))), " MB"),
        lower("a question, median", of(&|side| Some(milliseconds(side.answers.as_ref()?.median))), " ms"),
        lower("a question, 95 % below", of(&|side| Some(milliseconds(side.answers.as_ref()?.slow))), " ms"),
        lower(
            "memory of the running server",
            of(&|side| Some(megabytes(side.answers.as_ref()?.resident?))),
            " MB",
        ),
        lower(
            "size of an answer, median",
            of(&|side| Some(side.answers.as_ref()?.bytes as f64 / 1e3)),
            " kB",
        ),
        lower(
            "a question from the shell, wall time",
            of(&|side| Some(milliseconds(side.shell?.wall))),
            " ms",
        ),
        lower("a question from the shell, CPU time", of(&|side| Some(milliseconds(side.shell?.cpu))), " ms"),
        lower("a question from the shell, memory", of(&|side| Some(megabytes(side.shell?.memory))), " MB"),
    ]
}

/// Writes the rows, the best figure of each in bold, and hands them back.
fn table(page: &mut String, names: &[&str], rows: Vec<Row>) -> Vec<Row> {
    let _ = writeln!(page, "| | {} |\n|---|{}", names.join(" | "), "---:|".repeat(names.len()));
    for row in &rows {
        let best = row.best();
        let cells = row.cells.iter().map(|cell| match cell {
            None => "–".to_owned(),
            Some(value) if Some(shown(*value)) == best.map(shown) => {
                format!("**{}{}**", shown(*value), row.unit)
            }
            Some(value) => format!("{}{}", shown(*value), row.unit),
        });
        let _ = writeln!(page, "| {} | {} |", row.label, cells.collect::<Vec<_>>().join(" | "));
    }
    rows
}

impl Row {
    fn best(&self) -> Option<f64> {
        let values = self.cells.iter().flatten().copied();
        match self.better {
            Better::Higher => values.max_by(f64::total_cmp),
            Better::Lower => values.min_by(f64::total_cmp),
        }
    }
}

/// Every figure in which another program does better than the first one.
fn where_others_win(names: &[&str], tables: &[Vec<Row>]) -> String {
    let mut list = String::new();
    for row in tables.iter().flatten() {
        let (Some(Some(ours)), Some(best)) = (row.cells.first(), row.best()) else { continue };
        if shown(*ours) == shown(best) {
            continue;
        }
        let winner = row.cells.iter().position(|cell| *cell == Some(best)).unwrap_or(0);
        let _ = writeln!(
            list,
            "- {}: {} {}{unit}, {} {}{unit}",
            row.label,
            names[winner],
            shown(best),
            names[0],
            shown(*ours),
            unit = row.unit
        );
    }
    list
}

/// Three significant digits, more or less.
fn shown(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 && value < 1000.0 => format!("{value:.0}"),
        value if value < 1.0 => format!("{value:.3}"),
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}
