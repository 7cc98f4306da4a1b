//! The thread on which local programs are awaited. Ports are called from several runtimes, some of which live for one call
//! only, so what has to be awaited runs here.

use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// The runtime is started by the first that needs it: a confined server has confined itself by then.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let started =
        Builder::new_multi_thread().worker_threads(1).thread_name("local-models").enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| started))
}

/// Runs a future in the background. Dropping what this returns ends it.
pub(super) fn in_background<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> io::Result<InBackground<T>> {
    Ok(InBackground(runtime()?.spawn(future)))
}

/// Something that runs in the background until it is done or this is dropped.
pub(super) struct InBackground<T>(JoinHandle<T>);

impl<T> Future for InBackground<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        Pin::new(&mut self.0).poll(context).map_err(io::Error::other)
    }
}

impl<T> Drop for InBackground<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
