//! `cargo xtask eval`: how often the binary finds the right file, on sets of labelled questions.
//!
//! A set has `queries.jsonl`, `qrels.tsv` and either `corpus.jsonl` or `packages.tsv`; packages are fetched by name from
//! their registries. One is in `eval/`; the others are not part of the source tree, since their licences differ, and
//! `--sets` names the folder that holds them. `--everyday` and `--answers` ask the
//! questions of those folders alone, which need no download.

mod definitions;
pub(crate) mod everyday;
mod packages;
mod score;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Client, Era, Program};

use crate::Args;
use crate::process::{Profile, build, target, workspace};
use score::Judgements;
pub(crate) use score::Score;

/// The sets that are known, and what they are about.
const SETS: [(&str, &str); 5] = [
    ("code-dev", "plain questions over 13 packages, relevant files"),
    ("code-more", "the same over 18 packages in 12 languages"),
    ("code-other", "the same over 8 packages in other languages"),
    ("code-cosqa-dev", "web queries for Python functions (CoSQA)"),
    ("prose-cranfield", "questions over abstracts, graded (Cranfield)"),
];

/// How large a bundle may be.
const BUNDLE_FILES: usize = 5;
const BUNDLE_LINES: usize = 400;

const NO_VECTORS: &[&str] =
    &["vector_share_code=0", "vector_share_text=0", "vector_share_symbol=0", "called=0", "vector_floor=9"];
const NO_WORDS: &[&str] =
    &["vector_share_code=1", "vector_share_text=1", "vector_share_symbol=1", "vector_floor=-1"];
const NO_SIGNALS: &[&str] = &[
    "called=0",
    "coverage=0",
    "defines_identifier=0",
    "defines_words=0",
    "title=0",
    "file_stem=0",
    "folders=0",
    "coherence=0",
    "feedback=0",
];

/// What is switched off in turn, and how.
const ABLATIONS: [(&str, &[&[&str]]); 17] = [
    ("words only", &[NO_VECTORS]),
    ("words alone, no signal", &[NO_VECTORS, NO_SIGNALS]),
    ("vectors alone, no signal", &[NO_WORDS, NO_SIGNALS]),
    ("no other forms of words", &[&["variant=0"]]),
    ("no words from the best passages", &[&["feedback=0"]]),
    ("no leaning on the best passages", &[&["lean=0"]]),
    ("no definitions", &[&["definition=0", "defines_identifier=0", "defines_words=0"]]),
    ("nothing word for word", &[&["verbatim=0"]]),
    ("no titles of prose", &[&["title=0"]]),
    ("no file names", &[&["file_stem=0"]]),
    ("no folder names", &[&["folders=0"]]),
    ("no meaning of names", &[&["called=0"]]),
    ("no coherence of files", &[&["coherence=0"]]),
    ("no coverage", &[&["coverage=0"]]),
    ("older versions beside newer ones", &[&["older=1"]]),
    ("headers beside their sources", &[&["header=1"]]),
    (
        "no places (tests, examples, fronts, ...)",
        &[&[
            "tests=1",
            "examples=1",
            "vendored=1",
            "generated=1",
            "package_front=1",
            "declarations=1",
            "legacy=1",
            "tooling=1",
            "platform=1",
        ]],
    ),
];

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    for (switch, set) in [("--everyday", &everyday::EVERYDAY), ("--answers", &everyday::ANSWERS)] {
        if args.switch(switch) {
            return ask_set(args, switch, set);
        }
    }
    let sets: Vec<PathBuf> =
        args.value("--sets")?.map(PathBuf::from).into_iter().chain([workspace().join("eval")]).collect();
    let (ablations, write) = (args.switch("--ablations"), args.switch("--write"));
    let weights = args.value("--weights")?.unwrap_or_default();
    args.done()?;
    let binary = build(Profile::Release)?;
    let corpora: Vec<Corpus> = SETS
        .iter()
        .filter_map(|known| {
            Some((known, sets.iter().map(|sets| sets.join(known.0)).find(|set| set.is_dir())?))
        })
        .map(|((name, about), set)| Corpus::lay_out(&set, name, about))
        .collect::<Result<_, _>>()?;

    let given: Vec<&str> = weights.split(',').filter(|weight| !weight.is_empty()).collect();
    let mut page = String::from(
        "# How often the right file is found\n\nMade by `cargo xtask eval --sets PATH --ablations --write`. nDCG@10 (gain \
         2^grade - 1), recall@10 and MRR@10, best chunk per file, asked of the built binary over MCP with \
         `index: auto`. The weights of the ranking were chosen on these sets; on others expect less.\n\n",
    );
    let _ = writeln!(page, "| set | questions | nDCG@10 | recall@10 | MRR@10 |\n|---|---|---|---|---|");
    let (mut details, mut bundles) = (String::new(), String::new());
    for corpus in &corpora {
        corpus.index(&binary)?;
        let score = corpus.ask(&binary, &given);
        let line = format!(
            "| {}: {} | {} | **{:.3}** | {:.3} | {:.3} |",
            corpus.name, corpus.about, score.questions, score.ndcg, score.recall, score.mrr
        );
        println!("{line}");
        let _ = writeln!(page, "{line}");
        if let Some((holding, lines)) = corpus.bundle(&binary) {
            let share = holding as f64 / score.questions.max(1) as f64;
            let line = format!(
                "\nBundles of at most {BUNDLE_FILES} files and {BUNDLE_LINES} lines (`repo.build_context_bundle`, words only) for the \
                 questions of {}: {holding} of {} ({:.1} %) hold a relevant file, {lines:.0} lines on average.\n",
                corpus.name,
                score.questions,
                share * 100.0
            );
            println!("{line}");
            bundles.push_str(&line);
        }
        for (group, score) in &score.groups {
            let _ = writeln!(details, "| {} | {group} | {} | {:.3} |", corpus.name, score.1, score.0);
        }
    }
    page.push_str(&bundles);
    let definitions = definitions::measure(&corpora, &binary);
    println!("{definitions}");
    if !details.is_empty() {
        let _ = write!(page, "\n| set | group | questions | nDCG@10 |\n|---|---|---|---|\n{details}");
    }
    page.push_str(&definitions);
    if ablations {
        let names: Vec<&str> = corpora.iter().map(|corpus| corpus.name.as_str()).collect();
        let dashes = "---|".repeat(names.len() + 1);
        let _ = write!(
            page,
            "\n## What each part is worth (nDCG@10)\n\n| | {} |\n|{dashes}\n",
            names.join(" | ")
        );
        for (name, changes) in ABLATIONS {
            let scores: Vec<String> = corpora
                .iter()
                .map(|corpus| {
                    format!(
                        "{:.3}",
                        corpus.ask(&binary, &[given.as_slice(), &changes.concat()].concat()).ndcg
                    )
                })
                .collect();
            let line = format!("| {name} | {} |", scores.join(" | "));
            println!("{line}");
            let _ = writeln!(page, "{line}");
        }
    }
    page.push_str(&everyday::run(&binary, &everyday::EVERYDAY, false)?);
    if write {
        let file = workspace().join("eval/results.md");
        std::fs::create_dir_all(workspace().join("eval"))
            .and_then(|()| std::fs::write(&file, page))
            .map_err(|error| error.to_string())?;
        println!("wrote {}", file.display());
    }
    Ok(())
}

fn ask_set(args: &mut Args, switch: &str, set: &everyday::QuestionSet) -> Result<(), String> {
    let (verbose, write) = (args.switch("--verbose"), args.switch("--write"));
    let profile = if args.switch("--debug") { Profile::Debug } else { Profile::Release };
    args.done()?;
    let page = everyday::run(&build(profile)?, set, verbose)?;
    println!("{page}");
    if write {
        let title = format!("# How questions are answered\n\nMade by `cargo xtask eval {switch} --write`.\n");
        let file = workspace().join("eval").join(set.name).join("results.md");
        std::fs::write(&file, format!("{title}{page}")).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// One set, laid out as folders that can be indexed.
pub(crate) struct Corpus {
    name: String,
    about: String,
    pub(crate) questions: Vec<Question>,
    pub(crate) judgements: Judgements,
    /// By the part of a document's id before the path; one folder for sets that are one corpus.
    pub(crate) folders: BTreeMap<String, PathBuf>,
}

pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) folder: String,
    groups: Vec<String>,
}

impl Corpus {
    pub(crate) fn lay_out(set: &Path, name: &str, about: &str) -> Result<Corpus, String> {
        let cache = target().join("eval").join(name);
        let packaged = set.join("packages.tsv").is_file();
        let folders = match packaged {
            true => packages::lay_out(&set.join("packages.tsv"), &cache)?,
            false => BTreeMap::from([(String::new(), lay_out_texts(&set.join("corpus.jsonl"), &cache)?)]),
        };
        let judgements = Judgements::read(&set.join("qrels.tsv"))?;
        let questions = lines(&set.join("queries.jsonl"))?
            .iter()
            .map(|question| {
                let text = |key: &str| question[key].as_str().unwrap_or_default().to_owned();
                let groups =
                    ["category", "repo"].iter().map(|key| text(key)).filter(|group| !group.is_empty());
                Question {
                    id: text("id"),
                    text: text("text"),
                    folder: text("repo"),
                    groups: groups.collect(),
                }
            })
            .filter(|question| judgements.knows(&question.id))
            .collect();
        Ok(Corpus { name: name.into(), about: about.into(), questions, judgements, folders })
    }

    fn program(&self, binary: &Path, folder: &str) -> Option<Program> {
        let path = self.folders.get(folder)?;
        let state =
            target().join("eval/state").join(&self.name).join(if folder.is_empty() { "all" } else { folder });
        Some(Program::at(binary, path).state_dir(&state))
    }

    fn index(&self, binary: &Path) -> Result<(), String> {
        for folder in self.folders.keys() {
            let Some(program) = self.program(binary, folder) else { continue };
            let done = program.run(&["index"]);
            if done.code != Some(0) {
                return Err(format!("{} {folder}: {}", self.name, done.output()));
            }
        }
        Ok(())
    }

    /// Asks every question of a server over standard input, and scores the answers.
    fn ask(&self, binary: &Path, weights: &[&str]) -> Score {
        let mut score = Score::default();
        for folder in self.folders.keys() {
            let Some(mut program) = self.program(binary, folder) else { continue };
            if !weights.is_empty() {
                program = program.flag("--weight").flag(weights.join(","));
            }
            let mut server = program.stdio(&[]).connect(Era::Modern);
            server.wait_indexed();
            for question in self.questions.iter().filter(|question| question.folder == *folder) {
                let answer = server.expect("dir2mcp.search", json!({ "query": question.text, "k": 50 }));
                let found = answer["hits"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|hit| hit["rel_path"].as_str());
                let found = found.map(|path| self.document(folder, path));
                score.add(&self.judgements, &question.id, found, &question.groups);
            }
        }
        score.finish()
    }

    /// Bundles for the questions of a set of packages: how many hold a relevant file, and their mean number of lines.
    fn bundle(&self, binary: &Path) -> Option<(usize, f64)> {
        if self.folders.contains_key("") {
            return None;
        }
        let (mut holding, mut lines, mut asked) = (0, 0.0, 0.0);
        for folder in self.folders.keys() {
            let Some(program) = self.program(binary, folder) else { continue };
            let mut server = program.stdio(&["--tools", "dir2mcp,repo"]).connect(Era::Modern);
            server.wait_indexed();
            for question in self.questions.iter().filter(|question| question.folder == *folder) {
                let budget = json!({ "max_files": BUNDLE_FILES, "max_total_lines": BUNDLE_LINES });
                let arguments = json!({ "prompt": question.text, "budget": budget });
                let answer = server.expect("repo.build_context_bundle", arguments);
                let result = &answer["result"];
                lines += result["totals"]["selected_lines"].as_f64().unwrap_or(0.0);
                asked += 1.0;
                let chosen = result["selections"].as_array().into_iter().flatten();
                let mut chosen = chosen.filter_map(|selection| selection["path"].as_str());
                let holds = chosen
                    .any(|path| self.judgements.is_relevant(&question.id, &self.document(folder, path)));
                holding += usize::from(holds);
            }
        }
        Some((holding, lines / f64::max(asked, 1.0)))
    }

    /// The id of a document: `package:path`, or the name of the file that a text was written to.
    pub(crate) fn document(&self, folder: &str, path: &str) -> String {
        match folder {
            "" => path.rsplit_once('.').map_or(path, |(stem, _)| stem).to_owned(),
            folder => format!("{folder}:{path}"),
        }
    }
}

/// Writes each text of a corpus to a file of its own.
fn lay_out_texts(corpus: &Path, cache: &Path) -> Result<PathBuf, String> {
    let folder = cache.join("texts");
    if folder.join(".complete").exists() {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for document in lines(corpus)? {
        let text = |key: &str| document[key].as_str().unwrap_or_default();
        let ending = Path::new(text("path")).extension().and_then(|ending| ending.to_str()).unwrap_or("txt");
        std::fs::write(folder.join(format!("{}.{ending}", text("id"))), text("text"))
            .map_err(|error| error.to_string())?;
    }
    std::fs::write(folder.join(".complete"), "").map_err(|error| error.to_string())?;
    Ok(folder)
}

fn lines(path: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display())))
        .collect()
}
