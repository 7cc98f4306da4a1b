//! A thread that has a provider do work in the background: woken after every change, patient with a provider that fails.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::future::BoxFuture;
use model::{ProviderError, ProviderErrorKind};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::engine::{STOP_WAIT, leave};
use crate::shared::SharedEngine;
use crate::worker::{EngineEvent, EventSink};

/// Pause before a provider that failed is asked again; doubles up to the second one while it keeps failing.
const FIRST_RETRY: Duration = Duration::from_secs(30);
const RAREST_RETRY: Duration = Duration::from_secs(300);

/// One run over all that is pending. Returns why some of it still is.
pub(crate) type ProviderRun =
    for<'a> fn(&'a Arc<SharedEngine>, &'a EventSink) -> BoxFuture<'a, Option<ProviderError>>;

pub(crate) struct ProviderThread {
    /// The work, as it is called in messages.
    what: &'static str,
    run: ProviderRun,
    wake: Arc<Notify>,
    stop: CancellationToken,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl ProviderThread {
    pub(crate) fn new(what: &'static str, run: ProviderRun) -> ProviderThread {
        ProviderThread {
            what,
            run,
            wake: Arc::default(),
            stop: CancellationToken::new(),
            running: Mutex::default(),
        }
    }

    /// Starts the thread, once.
    pub(crate) fn start(&self, shared: &Arc<SharedEngine>, on_event: &EventSink) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return;
        }
        let (what, run) = (self.what, self.run);
        let (wake, stop) = (Arc::clone(&self.wake), self.stop.clone());
        let (shared, events) = (Arc::clone(shared), Arc::clone(on_event));
        let spawned = std::thread::Builder::new().name(what.to_owned()).spawn(move || {
            // Its own: the work goes on while calls keep the server's threads busy.
            match runtime() {
                Ok(runtime) => runtime.block_on(async {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = follow(run, &shared, &wake, &events) => {}
                    }
                }),
                Err(error) => tracing::error!(%error, what, "there is no background work"),
            }
        });
        match spawned {
            Ok(thread) => *running = Some(thread),
            Err(error) => (on_event)(no_thread(what, &error)),
        }
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Does all that is pending before it returns: for a command that ends afterwards.
    pub(crate) fn run_now(&self, shared: &Arc<SharedEngine>, on_event: &EventSink) {
        if shared.stopping.load(Relaxed) {
            return;
        }
        let work = || match runtime() {
            Ok(runtime) => runtime.block_on(async {
                tokio::select! {
                    () = self.stop.cancelled() => {}
                    _ = (self.run)(shared, on_event) => {}
                }
            }),
            Err(error) => (on_event)(no_thread(self.what, &error)),
        };
        // On a thread of its own: the caller may be one that drives a runtime.
        std::thread::scope(|scope| {
            let spawned = std::thread::Builder::new().name(self.what.to_owned()).spawn_scoped(scope, work);
            if let Err(error) = spawned {
                (on_event)(no_thread(self.what, &error));
            }
        });
    }

    /// Ends the thread. What was stored stays.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = running {
            leave(thread, self.what, STOP_WAIT);
        }
    }
}

fn no_thread(what: &str, error: &std::io::Error) -> EngineEvent {
    EngineEvent::Warning(format!("the system grants no thread for {what}: {error}"))
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Works whenever something has changed, and again after a while where the provider failed.
async fn follow(run: ProviderRun, shared: &Arc<SharedEngine>, wake: &Notify, on_event: &EventSink) {
    let mut retry = FIRST_RETRY;
    loop {
        wake.notified().await;
        while shared.is_writer() {
            let Some(error) = run(shared, on_event).await else {
                retry = FIRST_RETRY;
                break;
            };
            let pause = match error.kind {
                // Nothing changes until the user changes the key, and then the process starts again.
                ProviderErrorKind::Auth => return,
                ProviderErrorKind::RateLimited { after: Some(told) }
                | ProviderErrorKind::Paused { after: told, .. } => told,
                _ => retry,
            };
            retry = (2 * retry).min(RAREST_RETRY);
            tokio::time::sleep(pause).await;
        }
    }
}
