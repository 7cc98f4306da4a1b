//! From the start of the process to the first successful `initialize`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use testkit::{Era, Folder, LEGACY, Program};

use crate::Setting;
use crate::figures::Report;
use crate::measure::{milliseconds, quantile};

/// A folder of the size that the goal speaks of.
const FILES: usize = 50_000;

pub(crate) fn measure(setting: &Setting, state: &Path, report: &mut Report) -> Result<(), String> {
    let mut figure = |name: &str, tree: &Path, states: &dyn Fn(usize) -> PathBuf| {
        let mut samples: Vec<Duration> =
            (0..7).map(|round| start(&setting.binary, tree, &states(round))).collect();
        let worst = format!("median of 7, worst {:.0} ms", milliseconds(quantile(&mut samples, 1.0)));
        report.at_most(name, milliseconds(quantile(&mut samples, 0.5)), 300.0, " ms", &worst);
    };
    figure("First `initialize` on the existing index", &setting.tree, &|_| state.to_owned());
    let unseen = |round| setting.scratch.outside().join(format!("unseen{round}"));
    figure("First `initialize` on the tree, never seen", &setting.tree, &unseen);

    let folder = Folder::empty();
    for file in 0..FILES {
        folder.write(
            &format!("part{}/note{file}.md", file / 500),
            format!("# Note {file}\n\nOn subject {file}.\n"),
        );
    }
    let state = folder.outside().join("existing");
    Program::at(&setting.binary, folder.path()).state_dir(&state).run(&["index", "--quiet"]).expect(0);
    figure("First `initialize` on an existing index of 50,000 files", folder.path(), &|_| state.clone());
    let unseen = |round| folder.outside().join(format!("unseen{round}"));
    figure("First `initialize` on 50,000 files, never seen", folder.path(), &unseen);
    Ok(())
}

fn start(binary: &Path, tree: &Path, state: &Path) -> Duration {
    let program = Program::at(binary, tree).state_dir(state);
    let started = Instant::now();
    let server = program.serve(&[]);
    let reply = server.stranger(Era::Legacy).initialize(LEGACY);
    let took = started.elapsed();
    assert_eq!(reply.status, 200, "initialize: {reply:?}");
    server.kill();
    took
}
