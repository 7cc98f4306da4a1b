//! `cargo xtask torture`: several servers on one file store, killed while several writers work, and a checker of what they saw.

use std::fs;
use std::path::Path;

use testkit::scenario::{Torture, torture};
use testkit::store::{PLANTED_FAULTS, check_history, simulated_history};
use testkit::{Database, Folder, Postgres, Program, Redis};

use crate::Args;
use crate::process::{Profile, build};

/// Where a file store keeps its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreBackend {
    Sqlite,
    Postgres,
}

impl StoreBackend {
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreBackend::Sqlite => "SQLite",
            StoreBackend::Postgres => "PostgreSQL",
        }
    }
}

/// `--backend sqlite|postgres`; both unless said.
pub(crate) fn store_backends(args: &mut Args) -> Result<Vec<StoreBackend>, String> {
    match args.value("--backend")?.as_deref() {
        None => Ok(vec![StoreBackend::Sqlite, StoreBackend::Postgres]),
        Some("sqlite") => Ok(vec![StoreBackend::Sqlite]),
        Some("postgres") => Ok(vec![StoreBackend::Postgres]),
        Some(other) => Err(format!("--backend is sqlite or postgres, not {other:?}")),
    }
}

/// A folder, and the servers that a store on this backend needs.
pub(crate) struct StoreHome {
    folder: Folder,
    /// Dropped before its server.
    _database: Option<Database>,
    pub(crate) postgres: Option<Postgres>,
    _redis: Option<Redis>,
    /// The lines below `files:` that name the store.
    pub(crate) store: String,
}

impl StoreHome {
    /// With `forgets`, a crash of the machine would lose what was acknowledged: enough where only processes are killed.
    pub(crate) fn new(backend: StoreBackend, forgets: bool) -> StoreHome {
        let folder = Folder::from("//- note.txt\nThe store lies beside this folder.");
        if backend == StoreBackend::Sqlite {
            let store = format!("path: {}\n", folder.outside().join("shared.sqlite").display());
            return StoreHome { folder, _database: None, postgres: None, _redis: None, store };
        }
        let postgres = if forgets { Postgres::private() } else { Postgres::durable() };
        let (database, redis) = (postgres.database(), Redis::private());
        let store = format!(
            "backend: postgres\npostgres:\n  url: {}\nredis:\n  url: {}\n",
            database.url(),
            redis.url()
        );
        StoreHome { folder, _database: Some(database), postgres: Some(postgres), _redis: Some(redis), store }
    }

    /// The binary on this store; any key is a tenant.
    pub(crate) fn program(&self, binary: &Path) -> Program {
        let config = self.folder.outside().join("config.yaml");
        let store: String = self.store.lines().map(|line| format!("  {line}\n")).collect();
        fs::write(&config, format!("version: 1\nfiles:\n  auth: passthrough\n{store}"))
            .expect("a temporary file can be written");
        Program::new(binary, &self.folder).flag("--config").flag(config)
    }
}

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let operations: usize = args.number("--operations", 20_000)?;
    let projects = args.number("--projects", 20)?;
    let seed = args.number("--seed", 1)? as u64;
    let kills = args.number("--kills", 4)?;
    let backends = store_backends(args)?;
    args.done()?;
    find_planted_faults()?;
    let binary = build(Profile::Release)?;
    for backend in backends {
        let home = StoreHome::new(backend, true);
        let crash = || {
            if let Some(postgres) = &home.postgres {
                postgres.crash();
            }
        };
        let plan = Torture {
            servers: if backend == StoreBackend::Sqlite { 2 } else { 3 },
            writers: 8,
            projects,
            operations: operations / projects.max(1),
            kills,
            seed,
            store: home.store.clone(),
            crash: home.postgres.is_some().then_some(&crash as &(dyn Fn() + Sync)),
        };
        let report = torture(&binary, &plan, &|line| println!("{line}"))?;
        println!(
            "torture: {}, {} servers: {} operations ({} changes, {} refused), {} kills of servers, {} crashes of the \
             database, {} repeated; every history is explained, nothing is lost or doubled, and all is found within {:.1} s",
            backend.name(),
            plan.servers,
            report.operations,
            report.changes,
            report.refused,
            report.kills,
            report.crashes,
            report.repeated,
            report.converged.as_secs_f64()
        );
    }
    Ok(())
}

/// A checker that finds nothing proves nothing.
fn find_planted_faults() -> Result<(), String> {
    for fault in PLANTED_FAULTS {
        if !(0..20).any(|seed| check_history(&simulated_history(Some(*fault), 6, 200, seed)).is_err()) {
            return Err(format!("the checker does not find {fault:?}"));
        }
    }
    println!("torture: the checker finds {0} of {0} planted faults", PLANTED_FAULTS.len());
    Ok(())
}
