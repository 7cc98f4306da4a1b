//! The body of an answer, and what must live exactly as long as it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::timed_stream::Exchange;
use crate::turns::RequestTurn;
use crate::unsent::Unsent;

pub(crate) struct ReplyBody {
    inner: axum::body::Body,
    /// Ends the stream early.
    until: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// The connection is serving until its answer is out.
    exchange: Option<Exchange>,
    /// The request is worked on until its answer is complete.
    turn: Option<RequestTurn>,
    /// Counts what the connection is given to send.
    unsent: Option<Arc<Unsent>>,
}

impl ReplyBody {
    pub(crate) fn new(inner: axum::body::Body) -> ReplyBody {
        ReplyBody { inner, until: None, exchange: None, turn: None, unsent: None }
    }

    /// For streams with no end of their own, which would otherwise keep a stopping server waiting.
    pub(crate) fn until(mut self, token: &CancellationToken) -> ReplyBody {
        self.until = Some(Box::pin(token.clone().cancelled_owned()));
        self
    }

    pub(crate) fn during(mut self, exchange: Exchange, unsent: &Arc<Unsent>) -> ReplyBody {
        self.exchange = Some(exchange);
        self.unsent = Some(Arc::clone(unsent));
        self
    }

    /// For answers that come piece by piece: the work goes on while they are sent.
    pub(crate) fn working(mut self, turn: RequestTurn) -> ReplyBody {
        self.turn = Some(turn);
        self
    }

    /// Whether all of the answer is known already.
    pub(crate) fn is_document(&self) -> bool {
        self.inner.size_hint().exact().is_some()
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if polled.is_pending()
            && let Some(until) = &mut self.until
            && until.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        if let (Poll::Ready(Some(Ok(frame))), Some(unsent)) = (&polled, &self.unsent)
            && let Some(data) = frame.data_ref()
        {
            unsent.queued(data.len());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
