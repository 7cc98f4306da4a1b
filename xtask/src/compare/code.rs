//! Questions about source code (`eval/code-other`): how often the right file is found, and what that costs.

use std::time::{Duration, Instant};

use testkit::measure::{Cost, quantile, run, size_of};

use super::peers::{Peer, Session};
use super::{Content, Site, Work};
use crate::eval::{Corpus, Score};
use crate::process::workspace;

const SET: &str = "code-other";
/// Questions that are also asked from the shell, of the tree that has the most files.
const FROM_SHELL: usize = 12;
/// Asked once before the others, so that no program is timed while it starts.
const WARMING: &str = "error handling";
/// A word that hardly occurs: ripgrep has to read every file.
const RARE: &str = "xylophonist";

/// The figures of all programs, in their order.
pub(super) struct Code {
    pub trees: Vec<String>,
    pub files: usize,
    pub bytes: u64,
    pub questions: usize,
    /// CPU time of one `rg --count` over all trees, as the measure of the machine.
    pub scan: Duration,
    pub sides: Vec<Side>,
}

#[derive(Default)]
pub(super) struct Side {
    pub quality: Option<Quality>,
    pub index: Option<Index>,
    pub answers: Option<Answers>,
    pub shell: Option<Cost>,
}

#[derive(Default, Clone, Copy)]
pub(super) struct Quality {
    pub questions: usize,
    pub first: usize,
    pub in_five: usize,
    pub in_ten: usize,
    pub ndcg: Option<f64>,
}

pub(super) struct Index {
    pub cpu: Duration,
    pub wall: Duration,
    pub memory: u64,
    pub size: u64,
}

pub(super) struct Answers {
    pub median: Duration,
    pub slow: Duration,
    pub resident: Option<u64>,
    /// Bytes of an answer, median.
    pub bytes: u64,
}

impl Quality {
    /// Counts one question by the place of the first right file, from 0.
    pub(super) fn add(&mut self, place: Option<usize>) {
        let within = |most: usize| usize::from(place.is_some_and(|place| place < most));
        self.questions += 1;
        self.first += within(1);
        self.in_five += within(5);
        self.in_ten += within(10);
    }
}

pub(super) fn measure(peers: &[Box<dyn Peer>], work: &Work, rounds: usize) -> Result<Code, String> {
    let corpus = Corpus::lay_out(&workspace().join("eval").join(SET), SET, "")?;
    let mut sites: Vec<Vec<Site>> = Vec::new();
    for (name, folder) in &corpus.folders {
        let copies = peers.iter().map(|peer| work.site(peer.as_ref(), name, folder, Content::Code));
        sites.push(copies.collect::<Result<_, _>>()?);
    }
    let scans = sites.iter().map(|copies| scan(&copies[0]).map(|cost| cost.cpu));
    let scan: Duration = scans.collect::<Result<Vec<_>, _>>()?.into_iter().sum();
    let mut sides: Vec<Side> = peers.iter().map(|_| Side::default()).collect();
    index_all(peers, &sites, rounds, &mut sides)?;
    ask_all(peers, &corpus, &sites, &mut sides)?;
    let counts: Vec<usize> = sites.iter().map(|copies| count(&copies[0].folder)).collect();
    let largest = (0..counts.len()).max_by_key(|tree| counts[*tree]).unwrap_or(0);
    ask_from_shell(peers, &corpus, &sites[largest], largest, &mut sides)?;
    Ok(Code {
        trees: corpus.folders.keys().cloned().collect(),
        files: counts.iter().sum(),
        bytes: corpus.folders.values().map(|folder| size_of(folder)).sum(),
        questions: corpus.questions.len(),
        scan,
        sides,
    })
}

/// One pass of ripgrep over the files; the cheapest of three, since it is what the others are divided by.
fn scan(site: &Site) -> Result<Cost, String> {
    testkit::measure::best(3, || {
        let mut rg = std::process::Command::new("rg");
        run(rg.current_dir(&site.folder).args(["--count", RARE, "./"]))
    })
}

/// Every program indexes every tree from nothing, in turn, several times.
fn index_all(
    peers: &[Box<dyn Peer>],
    sites: &[Vec<Site>],
    rounds: usize,
    sides: &mut [Side],
) -> Result<(), String> {
    let mut costs: Vec<Vec<Cost>> = peers.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds.max(1) {
        let mut sums: Vec<Option<Cost>> = peers.iter().map(|_| None).collect();
        for copies in sites {
            for turn in 0..peers.len() {
                let which = (turn + round) % peers.len();
                if let Some(cost) = copies[which].index(peers[which].as_ref())? {
                    sums[which] = Some(sums[which].map_or(cost, |sum| sum.then(cost)));
                }
            }
        }
        for (costs, sum) in costs.iter_mut().zip(sums) {
            costs.extend(sum);
        }
        println!("indexed all trees, round {} of {rounds}", round + 1);
    }
    for (which, mut costs) in costs.into_iter().enumerate() {
        if costs.is_empty() {
            continue;
        }
        costs.sort_by_key(|cost| cost.cpu);
        let middle = costs[costs.len() / 2];
        let stored = |site: &Site| size_of(&site.state) + size_of(&site.folder.join(".codegraph"));
        sides[which].index = Some(Index {
            cpu: middle.cpu,
            wall: middle.wall,
            memory: middle.memory,
            size: sites.iter().map(|copies| stored(&copies[which])).sum(),
        });
    }
    Ok(())
}

/// Every program answers every question, in turn.
fn ask_all(
    peers: &[Box<dyn Peer>],
    corpus: &Corpus,
    sites: &[Vec<Site>],
    sides: &mut [Side],
) -> Result<(), String> {
    let mut scores: Vec<Score> = peers.iter().map(|_| Score::default()).collect();
    let mut took: Vec<Vec<Duration>> = peers.iter().map(|_| Vec::new()).collect();
    let mut sizes: Vec<Vec<u64>> = peers.iter().map(|_| Vec::new()).collect();
    let mut residents: Vec<Option<u64>> = peers.iter().map(|_| None).collect();
    for (tree, copies) in corpus.folders.keys().zip(sites) {
        let mut sessions: Vec<Option<Box<dyn Session>>> =
            peers.iter().zip(copies).map(|(peer, site)| peer.open(site)).collect::<Result<_, _>>()?;
        for session in sessions.iter_mut().flatten() {
            session.ask(WARMING)?;
        }
        for (number, question) in corpus.questions.iter().filter(|each| each.folder == *tree).enumerate() {
            for turn in 0..peers.len() {
                let which = (turn + number) % peers.len();
                let Some(session) = &mut sessions[which] else { continue };
                let started = Instant::now();
                let answer = session.ask(&question.text)?;
                took[which].push(started.elapsed());
                sizes[which].push(answer.text.len() as u64);
                let found: Vec<String> =
                    answer.files.iter().map(|path| corpus.document(tree, path)).collect();
                let quality = sides[which].quality.get_or_insert_default();
                quality.add(corpus.judgements.place(&question.id, &found));
                scores[which].add(&corpus.judgements, &question.id, found.into_iter(), &[]);
            }
        }
        for (resident, session) in residents.iter_mut().zip(&sessions) {
            *resident = session.as_ref().and_then(|session| session.resident()).max(*resident);
        }
    }
    for (which, score) in scores.into_iter().enumerate() {
        let Some(quality) = &mut sides[which].quality else { continue };
        quality.ndcg = Some(score.finish().ndcg);
        sizes[which].sort_unstable();
        sides[which].answers = Some(Answers {
            median: quantile(&mut took[which], 0.5),
            slow: quantile(&mut took[which], 0.95),
            resident: residents[which],
            bytes: sizes[which][sizes[which].len() / 2],
        });
    }
    Ok(())
}

/// Some questions from the shell: what a process costs that starts, answers and ends. The median by wall time.
fn ask_from_shell(
    peers: &[Box<dyn Peer>],
    corpus: &Corpus,
    copies: &[Site],
    tree: usize,
    sides: &mut [Side],
) -> Result<(), String> {
    let tree = corpus.folders.keys().nth(tree).ok_or("there is no tree")?;
    let mut costs: Vec<Vec<Cost>> = peers.iter().map(|_| Vec::new()).collect();
    for question in corpus.questions.iter().filter(|each| each.folder == *tree).take(FROM_SHELL) {
        for (which, peer) in peers.iter().enumerate() {
            if let Some(mut command) = peer.ask_once(&copies[which], &question.text) {
                costs[which].push(run(&mut command)?);
            }
        }
    }
    for (side, mut costs) in sides.iter_mut().zip(costs) {
        costs.sort_by_key(|cost| cost.wall);
        side.shell = costs.get(costs.len() / 2).copied();
    }
    Ok(())
}

fn count(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count(&entry.path()),
            Ok(kind) => usize::from(kind.is_file()),
            Err(_) => 0,
        })
        .sum()
}
