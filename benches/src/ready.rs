//! From the start of the process to the first successful `initialize`.

use std::path::Path;
use std::time::{Duration, Instant};

use testkit::{Era, LEGACY, Program};

use crate::Setting;
use crate::figures::Report;
use crate::measure::{milliseconds, quantile};

pub(crate) fn measure(setting: &Setting, state: &Path, report: &mut Report) -> Result<(), String> {
    let mut existing: Vec<Duration> = (0..7).map(|_| start(setting, state)).collect();
    let mut unseen: Vec<Duration> = (0..7)
        .map(|round| start(setting, &setting.scratch.outside().join(format!("unseen{round}"))))
        .collect();
    let detail = |samples: &mut [Duration]| {
        format!("median of 7, worst {:.0} ms", milliseconds(quantile(samples, 1.0)))
    };
    let worst = detail(&mut existing);
    report.at_most(
        "First `initialize` on the existing index",
        milliseconds(quantile(&mut existing, 0.5)),
        300.0,
        " ms",
        &worst,
    );
    let worst = detail(&mut unseen);
    report.at_most(
        "First `initialize` on the tree, never seen",
        milliseconds(quantile(&mut unseen, 0.5)),
        300.0,
        " ms",
        &worst,
    );
    Ok(())
}

fn start(setting: &Setting, state: &Path) -> Duration {
    let program = Program::at(&setting.binary, &setting.tree).state_dir(state);
    let started = Instant::now();
    let server = program.serve(&[]);
    let reply = server.stranger(Era::Legacy).initialize(LEGACY);
    let took = started.elapsed();
    assert_eq!(reply.status, 200, "initialize: {reply:?}");
    server.kill();
    took
}
