//! Everyday questions over a mixed folder: pasted errors, identifiers, CVE numbers, quoted phrases, typing errors, cells of
//! spreadsheets, notes of slides, mails and plain questions; and questions that nothing there answers.
//!
//! Needs no download. The questions were written before the answers were looked at. Every second one is for tuning
//! (`tune`); the others (`check`) are only counted.

mod corpus;
mod others;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Client, Era, Program};

use crate::process::{target, workspace};

pub(crate) struct Question {
    class: String,
    pub(crate) text: String,
    /// Any of them is right; empty where nothing answers.
    pub(crate) files: Vec<String>,
    answer: String,
    is_check: bool,
}

/// Counts of one class or one half.
#[derive(Default, Clone)]
struct Tally {
    questions: usize,
    first: usize,
    in_three: usize,
    visible: usize,
    answered: usize,
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        self.questions += 1;
        self.first += usize::from(outcome.rank == Some(0));
        self.in_three += usize::from(outcome.rank.is_some_and(|rank| rank < 3));
        self.visible += usize::from(outcome.visible);
        self.answered += usize::from(outcome.answered);
    }

    fn row(&self, name: &str) -> String {
        let share = |count: usize| format!("{:.1} %", 100.0 * count as f64 / self.questions.max(1) as f64);
        let Tally { questions, first, in_three, visible, answered } = *self;
        format!(
            "| {name} | {questions} | {} | {} | {} | {} |\n",
            share(first),
            share(in_three),
            share(visible),
            share(answered)
        )
    }
}

struct Outcome {
    /// The place of the first right file, from 0, each file counted once.
    rank: Option<usize>,
    /// The answer stands in the snippet of the first hit, and that is of a right file.
    visible: bool,
    /// `ask` quotes it; where nothing answers: says so.
    answered: bool,
}

/// A folder with questions about it.
pub(super) struct QuestionSet {
    /// Its folder below `eval`.
    pub(super) name: &'static str,
    /// The heading of its figures, and what the folder is.
    title: &'static str,
    about: &'static str,
    among_others: bool,
}

pub(super) const EVERYDAY: QuestionSet = QuestionSet {
    name: "everyday",
    title: "Everyday questions",
    about: "A mixed folder of some 440 files",
    among_others: true,
};

/// The set that the tests ask as well (`labelled_questions`).
pub(super) const ANSWERS: QuestionSet = QuestionSet {
    name: "answers",
    title: "Labelled questions",
    about: "The folder of a ferry company: Markdown, text, tables, mail, code, settings and web pages",
    among_others: false,
};

/// Makes the folder of the everyday questions, and reads them.
pub(crate) fn lay_out() -> Result<(PathBuf, Vec<Question>), String> {
    EVERYDAY.lay_out()
}

impl QuestionSet {
    fn lay_out(&self) -> Result<(PathBuf, Vec<Question>), String> {
        let set = workspace().join("eval").join(self.name);
        let folder = target().join("eval").join(self.name);
        let folder = corpus::lay_out(&set.join("corpus.txt"), &folder, self.among_others)?;
        Ok((folder, questions(&set.join("questions.tsv"))?))
    }
}

/// Asks all questions of the binary and gives the page of figures. `verbose` prints what went wrong.
pub(super) fn run(binary: &Path, set: &QuestionSet, verbose: bool) -> Result<String, String> {
    let (folder, questions) = set.lay_out()?;
    let state = target().join("eval/state").join(set.name);
    let program = Program::at(binary, &folder).state_dir(&state);
    let done = program.run(&["index"]);
    if done.code != Some(0) {
        return Err(done.output());
    }
    let mut server = program.stdio(&[]).connect(Era::Modern);
    server.wait_indexed();
    let mut halves = [Tally::default(), Tally::default()];
    let mut classes: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut silence = [(0, 0), (0, 0)];
    for question in &questions {
        let found = server.expect("dir2mcp.search", json!({ "query": question.text, "k": 10 }));
        let answer = server.expect("dir2mcp.ask", json!({ "question": question.text }));
        let outcome = question.judge(&found, &answer);
        if question.files.is_empty() {
            let (silent, asked) = &mut silence[usize::from(question.is_check)];
            *asked += 1;
            *silent += usize::from(outcome.answered);
        } else {
            halves[usize::from(question.is_check)].add(&outcome);
            classes.entry(&question.class).or_default().add(&outcome);
        }
        if verbose && (outcome.rank != Some(0) || !outcome.visible || !outcome.answered) {
            question.complain(&found, &answer, &outcome);
        }
    }
    let QuestionSet { name, title, about, .. } = set;
    let mut page = format!(
        "\n## {title}\n\n{about} (`eval/{name}`), `dir2mcp.search` with k = 10. *Visible*: the first snippet is of \
         the right file and shows the answer. *Answered*: the extractive answer of `dir2mcp.ask` quotes it. Every second question \
         was looked at while tuning (tune), the others were only counted (check).\n\n\
         | | questions | right file first | in the first three | visible | answered |\n|---|---|---|---|---|---|\n",
    );
    for (name, tally) in ["tune", "check"].iter().zip(&halves) {
        page.push_str(&tally.row(name));
    }
    for (class, tally) in &classes {
        page.push_str(&tally.row(class));
    }
    let [(tune, of_tune), (check, of_check)] = silence;
    let _ = writeln!(
        page,
        "\nQuestions that nothing in the folder answers, and `ask` says so: {tune} of {of_tune} (tune), {check} of {of_check} (check)."
    );
    Ok(page)
}

impl Question {
    fn judge(&self, found: &Value, answer: &Value) -> Outcome {
        let hits: Vec<&Value> = found["hits"].as_array().into_iter().flatten().collect();
        let mut files: Vec<&str> = Vec::new();
        for path in hits.iter().filter_map(|hit| hit["rel_path"].as_str()) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        let is_right = |path: &str| self.files.iter().any(|file| file == path);
        let text = answer["answer"].as_str().unwrap_or_default();
        let silent = text.starts_with("Nothing in this folder answers that");
        let shows = |text: &str| flat(text).contains(&flat(&self.answer));
        Outcome {
            rank: files.iter().position(|path| is_right(path)),
            visible: hits.first().is_some_and(|hit| {
                hit["rel_path"].as_str().is_some_and(is_right) && hit["snippet"].as_str().is_some_and(shows)
            }),
            answered: if self.files.is_empty() { silent } else { !silent && shows(text) },
        }
    }

    fn complain(&self, found: &Value, answer: &Value, outcome: &Outcome) {
        let half = if self.is_check { "check" } else { "tune" };
        let rank = outcome.rank.map_or("none".to_owned(), |rank| (rank + 1).to_string());
        println!(
            "\n[{} {half}] {} → rank {rank}, visible {}, answered {}",
            self.class, self.text, outcome.visible, outcome.answered
        );
        if self.is_check {
            return;
        }
        for hit in found["hits"].as_array().into_iter().flatten().take(2) {
            println!(
                "   {} {}\n{}",
                hit["rel_path"],
                hit["score"],
                hit["snippet"].as_str().unwrap_or_default()
            );
        }
        println!("   ASK {}", answer["answer"].as_str().unwrap_or_default());
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn questions(path: &Path) -> Result<Vec<Question>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines()
        .skip(1)
        .enumerate()
        .map(|(number, line)| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [class, text, files, answer] = fields.as_slice() else {
                return Err(format!("{}: {line:?} does not have four fields", path.display()));
            };
            let files = files.split(';').filter(|file| !file.is_empty()).map(str::to_owned).collect();
            Ok(Question {
                class: (*class).to_owned(),
                text: (*text).to_owned(),
                files,
                answer: (*answer).to_owned(),
                is_check: number % 2 == 1,
            })
        })
        .collect()
}
