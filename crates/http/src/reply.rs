//! The body of an answer, and what must live exactly as long as it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::connection::Exchange;
use crate::sessions::Visit;

pub(crate) struct Reply {
    inner: BoxBody<Bytes, Infallible>,
    /// Ends the stream early.
    until: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// The session is in use until its answer is out.
    visit: Option<Visit>,
    /// The connection is serving until its answer is out.
    exchange: Option<Exchange>,
}

impl Reply {
    pub(crate) fn empty() -> Reply {
        Reply::stream(Empty::new().boxed())
    }

    pub(crate) fn full(bytes: Bytes) -> Reply {
        Reply::stream(Full::new(bytes).boxed())
    }

    pub(crate) fn stream(inner: BoxBody<Bytes, Infallible>) -> Reply {
        Reply { inner, until: None, visit: None, exchange: None }
    }

    /// For streams with no end of their own, which would otherwise keep a stopping server waiting.
    pub(crate) fn until(mut self, token: &CancellationToken) -> Reply {
        self.until = Some(Box::pin(token.clone().cancelled_owned()));
        self
    }

    pub(crate) fn holding(mut self, visit: Visit) -> Reply {
        self.visit = Some(visit);
        self
    }

    pub(crate) fn during(mut self, exchange: Exchange) -> Reply {
        self.exchange = Some(exchange);
        self
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if polled.is_pending()
            && let Some(until) = &mut self.until
            && until.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
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
