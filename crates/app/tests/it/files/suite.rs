//! Runs the cases of a topic on one server, several at a time, and says which of them failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Backend, Tenant, World};

/// One case: what it holds, and how.
pub(super) struct Case {
    /// Begins with the lines of the contract.
    pub(super) name: String,
    run: Box<dyn Fn(&mut Tenant<'_>) + Send + Sync>,
}

impl Case {
    pub(super) fn new(
        name: impl Into<String>,
        run: impl Fn(&mut Tenant<'_>) + Send + Sync + 'static,
    ) -> Case {
        Case { name: name.into(), run: Box::new(run) }
    }

    /// The lines of the contract that the name begins with.
    pub(super) fn lines(&self) -> Vec<u32> {
        let parts = self.name.split('_');
        parts.map_while(|part| part.strip_prefix('f')?.parse().ok()).collect()
    }
}

/// Writing waits for the disk: cases that wait side by side are faster.
const AT_ONCE: usize = 4;

/// Runs all cases, each as a tenant that nobody was before.
pub(super) fn run_cases(backend: Backend, settings: &str, cases: &[Case]) {
    let world = World::start(backend, settings);
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let run = || (case.run)(&mut world.tenant());
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                        let said = panic.downcast_ref::<String>().map(String::as_str);
                        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
                        failed.lock().expect("no holder panics").push(format!("{}: {said}", case.name));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no holder panics");
    let (lost, all) = (failed.len(), cases.len());
    assert!(lost == 0, "{lost} of {all} cases failed on {backend:?}:\n  {}\n", failed.join("\n  "));
}

/// A test per topic and backend, and the list of all cases.
macro_rules! on_both_backends {
    ($($topic:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $topic() {
                super::suite::run_cases(super::Backend::Sqlite, super::$topic::SETTINGS, &super::$topic::cases());
            })*
        }

        mod postgres {
            $(#[test]
            fn $topic() {
                super::suite::run_cases(super::Backend::Postgres, super::$topic::SETTINGS, &super::$topic::cases());
            })*
        }

        fn all_cases() -> Vec<Case> {
            [$($topic::cases()),*].into_iter().flatten().collect()
        }
    };
}
pub(super) use on_both_backends;
