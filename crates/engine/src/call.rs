//! What every call brings along, and how its work is run: off the async threads, and stopped when the caller cancels, is
//! gone or has waited long enough.

use std::time::Duration;

use model::{Caller, ErrorCode, Failure, Stop};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Who asks, by which tool, how long the answer may take, and how to stop it.
#[derive(Debug, Clone)]
pub struct Call {
    pub tool: &'static str,
    pub caller: Caller,
    pub deadline: Option<Deadline>,
    pub cancel: CancellationToken,
}

/// When an answer is too late.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    /// How long the call may take in all.
    limit: Duration,
}

impl Deadline {
    /// So long from now.
    pub fn after(limit: Duration) -> Deadline {
        Deadline { at: Instant::now() + limit, limit }
    }

    /// Waits until it is there.
    pub async fn reached(&self) {
        tokio::time::sleep_until(self.at).await;
    }

    /// What a caller is told then.
    pub fn failure(&self) -> Failure {
        let seconds = self.limit.as_secs_f32();
        Failure::new(ErrorCode::Timeout, format!("no answer within {seconds} seconds"))
    }
}

impl Call {
    /// A call from the command line: it ends with the process.
    pub fn cli(tool: &'static str) -> Call {
        Call { tool, caller: Caller::cli(), deadline: None, cancel: CancellationToken::new() }
    }

    /// The same call, whose work goes on when the caller does not wait any more.
    pub(crate) fn detached(&self) -> Call {
        Call { deadline: None, cancel: CancellationToken::new(), ..self.clone() }
    }

    /// Completes with the reason when there is no more use in an answer.
    pub(crate) async fn ended(&self) -> Failure {
        let reached = async {
            match &self.deadline {
                Some(deadline) => deadline.reached().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => cancelled(),
            () = reached => self.deadline.as_ref().map_or_else(cancelled, Deadline::failure),
        }
    }

    /// Runs work off the async threads. It is told to stop as soon as its answer has no use: the caller
    /// cancelled, the deadline has passed, or this future was dropped. Work that has not begun by then never does.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let stop = Stop::never();
        let _stops = StopOnDrop(stop.clone());
        let task = tokio::task::spawn_blocking({
            let stop = stop.clone();
            move || {
                stop.check()?;
                work(&stop)
            }
        });
        tokio::select! {
            biased;
            failure = self.ended() => {
                if failure.code == ErrorCode::Timeout {
                    stop.expire();
                }
                Err(failure)
            }
            done = task => done.unwrap_or_else(|error| {
                tracing::error!(%error, tool = self.tool, "a call ended abnormally");
                Err(Failure::new(ErrorCode::InternalError, "the call ended abnormally; see the server's log"))
            }),
        }
    }
}

fn cancelled() -> Failure {
    Failure::new(ErrorCode::Cancelled, "the call was cancelled")
}

/// Stops the work when the one who waits for it goes.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Work that ends only when it is told to, and says so.
    fn endless(told: mpsc::Sender<ErrorCode>) -> impl FnOnce(&Stop) -> Result<(), Failure> + Send {
        move |stop| loop {
            if let Err(failure) = stop.check() {
                let _ = told.send(failure.code);
                return Err(failure);
            }
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn a_cancelled_call_stops_its_work() {
        let call = Call::cli("test");
        let (told, heard) = mpsc::channel();
        let cancel = call.cancel.clone();
        let waiting = tokio::spawn(async move { call.blocking(endless(told)).await });
        cancel.cancel();
        assert_eq!(waiting.await.unwrap().unwrap_err().code, ErrorCode::Cancelled);
        // Either the work was told to stop, or it never began.
        assert!(matches!(heard.recv(), Ok(ErrorCode::Cancelled) | Err(_)));
    }

    #[tokio::test]
    async fn a_call_whose_time_is_over_stops_its_work() {
        let call = Call { deadline: Some(Deadline::after(Duration::from_millis(5))), ..Call::cli("test") };
        let (told, heard) = mpsc::channel();
        let failure = call.blocking(endless(told)).await.unwrap_err();
        assert_eq!(
            (failure.code, failure.message.as_str()),
            (ErrorCode::Timeout, "no answer within 0.005 seconds")
        );
        assert!(matches!(heard.recv(), Ok(ErrorCode::Timeout | ErrorCode::Cancelled) | Err(_)));
    }

    #[tokio::test]
    async fn a_client_that_is_gone_stops_its_work() {
        let (told, heard) = mpsc::channel();
        let (began, begun) = tokio::sync::oneshot::channel();
        let waiting = tokio::spawn(async move {
            let work = endless(told);
            Call::cli("test")
                .blocking(move |stop| {
                    let _ = began.send(());
                    work(stop)
                })
                .await
        });
        begun.await.unwrap();
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        assert_eq!(heard.recv(), Ok(ErrorCode::Cancelled));
    }
}
