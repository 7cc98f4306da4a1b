//! The time limits of one connection: how long its next request may trickle in, and how slowly its answers may be read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::unsent::Unsent;

/// A client that takes less than this of an answer in the whole time it has does not read it.
const FAIR_PIECE: usize = 64 * 1024;

/// A stream that gives up on clients which send headers or read answers too slowly.
///
/// The HTTP library has one timer for headers, and it also runs between requests; so it serves as the longer idle
/// limit, and the shorter one for headers that have begun to arrive is kept here.
pub(crate) struct TimedStream<S> {
    inner: S,
    phase: Arc<Phase>,
    head: StreamDeadline,
    write: StreamDeadline,
    /// Bytes written since the time for writing began.
    moved: usize,
    unsent: Arc<Unsent>,
}

/// How far a connection is with its current request, shared with the service that answers it.
#[derive(Default)]
pub(crate) struct Phase {
    serving: AtomicBool,
    /// Set when the headers are complete, cleared when that was noticed.
    head_done: AtomicBool,
}

/// Marks the time from the end of a request's headers to the end of its answer.
pub(crate) struct Exchange(Arc<Phase>);

struct StreamDeadline {
    limit: Duration,
    since: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(inner: S, head: Duration, write: Duration, unsent: Arc<Unsent>) -> TimedStream<S> {
        let mut head = StreamDeadline::new(head);
        // A client that connects and says nothing is late already.
        head.start();
        TimedStream {
            inner,
            phase: Arc::default(),
            head,
            write: StreamDeadline::new(write),
            moved: 0,
            unsent,
        }
    }

    /// What the service of this connection needs to begin an [`Exchange`].
    pub(crate) fn phase(&self) -> Arc<Phase> {
        self.phase.clone()
    }
}

impl Exchange {
    pub(crate) fn begin(phase: &Arc<Phase>) -> Exchange {
        phase.serving.store(true, Ordering::Relaxed);
        phase.head_done.store(true, Ordering::Relaxed);
        Exchange(phase.clone())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.0.serving.store(false, Ordering::Relaxed);
    }
}

impl StreamDeadline {
    fn new(limit: Duration) -> StreamDeadline {
        StreamDeadline { limit, since: None, alarm: None }
    }

    fn start(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    fn stop(&mut self) {
        self.since = None;
    }

    /// Fails once the limit has passed; otherwise wakes the task when it does. The timer is armed only here, while
    /// waiting, so that a request that arrives in one piece costs no timer.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let Some(since) = self.since else { return Poll::Pending };
        let deadline = since + self.limit;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if alarm.deadline() != deadline {
            alarm.as_mut().reset(deadline);
        }
        ready!(alarm.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.phase.head_done.swap(false, Ordering::Relaxed) {
            this.head.stop();
        }
        let before = buffer.filled().len();
        match Pin::new(&mut this.inner).poll_read(context, buffer) {
            Poll::Pending => this.head.wait(context),
            Poll::Ready(result) => {
                if buffer.filled().len() > before {
                    this.unsent.note_arrival();
                }
                if !this.phase.serving.load(Ordering::Relaxed) {
                    this.head.start();
                }
                Poll::Ready(result)
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> TimedStream<S> {
    /// Writes, and lets time run while the client takes nothing, or next to nothing.
    fn writing(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let polled = write(Pin::new(&mut self.inner), context);
        match &polled {
            Poll::Pending => {
                self.write.start();
                return self.write.wait(context);
            }
            Poll::Ready(Ok(written)) => {
                self.unsent.sent(*written);
                self.moved += *written;
                if self.moved >= FAIR_PIECE {
                    self.caught_up();
                }
            }
            Poll::Ready(Err(_)) => {}
        }
        polled
    }

    /// Waits until everything that was written has left.
    fn finishing(
        &mut self,
        context: &mut Context<'_>,
        finish: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        let polled = finish(Pin::new(&mut self.inner), context);
        if polled.is_pending() {
            self.write.start();
            return self.write.wait(context);
        }
        self.caught_up();
        polled
    }

    fn caught_up(&mut self) {
        self.moved = 0;
        self.write.stop();
        self.unsent.note_progress();
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writing(context, |inner, context| inner.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writing(context, |inner, context| inner.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.finishing(context, |inner, context| inner.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.finishing(context, |inner, context| inner.poll_shutdown(context))
    }
}
