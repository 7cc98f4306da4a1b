//! The threads on which requests to providers run.
//!
//! A connection belongs to the runtime that opened it, and ports are called from several runtimes, some of which live for one
//! call only. So requests run here, and their callers wait for them.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Requests mostly wait, so a few threads serve many.
const THREADS: usize = 2;

pub struct ProviderRuntime(Option<Runtime>);

/// Work that was handed over. Dropping it ends the work. `None` where the runtime ended first.
pub(crate) struct Running<T>(JoinHandle<T>);

impl ProviderRuntime {
    /// Starts the threads. A process that confines itself does so before, since threads that already run stay free.
    pub fn new() -> io::Result<Arc<ProviderRuntime>> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("providers")
            .enable_all()
            .build()?;
        Ok(Arc::new(ProviderRuntime(Some(runtime))))
    }

    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Running<T> {
        let runtime = self.0.as_ref().expect("taken out only when dropped");
        Running(runtime.spawn(work))
    }
}

impl Drop for ProviderRuntime {
    fn drop(&mut self) {
        // The last owner may be a task of any runtime, where waiting for threads is not allowed.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl<T> Future for Running<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        match Pin::new(&mut self.0).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(result)) => Poll::Ready(Some(result)),
            Poll::Ready(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Poll::Ready(None),
            },
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
