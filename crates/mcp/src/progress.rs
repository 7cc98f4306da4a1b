//! Carries a tool's progress reports to the caller, in order, before the tool's answer.

use std::future::Future;
use std::sync::Arc;

use contracts::ProgressSink;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio::sync::{mpsc, oneshot};

use crate::negotiate::PeerDialect;

/// Reports that wait to be sent. A tool that reports faster than the caller reads loses reports, not time.
const WAITING: usize = 32;

/// Runs a call, handing it a sink if the caller asked for progress. Reports that do not advance are dropped: the
/// protocol wants each value to be greater than the one before.
pub(crate) async fn reporting<F, T>(
    context: &RequestContext<RoleServer>,
    dialect: PeerDialect,
    call: impl FnOnce(Option<ProgressSink>) -> F,
) -> T
where
    F: Future<Output = T>,
{
    let Some(token) = context.meta.get_progress_token() else { return call(None).await };
    let (reports, waiting) = mpsc::channel(WAITING);
    let sink: ProgressSink = Arc::new(move |done, total, message| {
        let _ = reports.try_send(ProgressReport { done, total, message });
    });
    let (finished, finish) = oneshot::channel::<()>();
    let sending = send(context.peer.clone(), token, dialect, waiting, finish);
    let running = async {
        let answer = call(Some(sink)).await;
        drop(finished);
        answer
    };
    let (answer, ()) = tokio::join!(running, sending);
    answer
}

struct ProgressReport {
    done: f64,
    total: Option<f64>,
    message: String,
}

async fn send(
    peer: Peer<RoleServer>,
    token: ProgressToken,
    dialect: PeerDialect,
    mut waiting: mpsc::Receiver<ProgressReport>,
    mut finish: oneshot::Receiver<()>,
) {
    let mut last = f64::NEG_INFINITY;
    let mut finished = false;
    loop {
        // What was reported before the end is sent before the answer; a sink that outlives its call is not waited for.
        let report = tokio::select! {
            biased;
            report = waiting.recv() => report,
            _ = &mut finish, if !finished => {
                finished = true;
                waiting.close();
                continue;
            }
        };
        let Some(ProgressReport { done, total, message }) = report else { return };
        if !done.is_finite() || done <= last {
            continue;
        }
        last = done;
        let mut params = ProgressNotificationParam::new(token.clone(), done);
        params.total = total.filter(|total| total.is_finite());
        params.message = Some(message).filter(|message| dialect.annotated && !message.is_empty());
        if peer.notify_progress(params).await.is_err() {
            return;
        }
    }
}
