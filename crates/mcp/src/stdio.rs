//! MCP over standard input and output: one JSON-RPC message per line, both eras.
//!
//! The reading and the writing are ours, the dispatch is rmcp's. rmcp's own line transport says nothing to a line
//! that is not JSON, ends when a notification comes before `initialize`, and lets two requests share an id.

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::serve_directly_with_ct;
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::envelope::{self, INVALID_PARAMS, MessageKind, Rejection};

/// A longer line is answered with an error and skipped, not kept.
pub const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Requests being worked on before reading pauses.
const MAX_IN_FLIGHT: usize = 1024;
/// Ids of cancelled requests that may not come back: their handlers might still be about to answer.
const MAX_CANCELLED: usize = 1024;
/// How long running calls may go on after the parent process closed its end.
const GRACE: Duration = Duration::from_secs(5);
/// How long a request that should be immediate holds up the next line.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the last lines may take to leave.
const FLUSH: Duration = Duration::from_secs(2);
const QUEUE: usize = 16;

#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
    #[error("cannot start a thread for standard input or output: {0}")]
    Thread(#[source] io::Error),
}

/// Serves the parent process until it closes standard input or `cancel` fires.
///
/// Reading and writing block threads that belong to no runtime: one that waits for a line that never comes does not
/// keep the process from ending.
pub async fn serve_stdio(server: impl ServerHandler, cancel: CancellationToken) -> Result<(), StdioError> {
    let (frames, incoming) = mpsc::channel(QUEUE);
    let (outgoing, lines) = mpsc::channel(QUEUE);
    let (done, written) = oneshot::channel();
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("stdin").spawn(move || read_thread(io::stdin(), &frames)).map_err(StdioError::Thread)?;
    thread("stdout")
        .spawn(move || {
            let _ = done.send(write_thread(io::stdout(), lines));
        })
        .map_err(StdioError::Thread)?;
    serve(server, incoming, outgoing, async { written.await.unwrap_or(Ok(())) }, GRACE, cancel).await
}

/// Serves one peer over any pair of byte streams, as [`serve_stdio`] does. `grace` is how long running calls may go on
/// after the input has ended.
pub async fn serve_io<R, W>(
    server: impl ServerHandler,
    reader: R,
    writer: W,
    grace: Duration,
    cancel: CancellationToken,
) -> Result<(), StdioError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (frames, incoming) = mpsc::channel(QUEUE);
    let (outgoing, lines) = mpsc::channel(QUEUE);
    let reading = tokio::spawn(read_task(reader, frames));
    let writing = tokio::spawn(write_task(writer, lines));
    let tasks = [reading.abort_handle(), writing.abort_handle()];
    let written = async { writing.await.unwrap_or_else(|error| Err(io::Error::other(error))) };
    let result = serve(server, incoming, outgoing, written, grace, cancel).await;
    for task in tasks {
        task.abort();
    }
    result
}

async fn serve(
    server: impl ServerHandler,
    incoming: mpsc::Receiver<InputFrame>,
    outgoing: mpsc::Sender<Vec<u8>>,
    written: impl Future<Output = io::Result<()>>,
    grace: Duration,
    cancel: CancellationToken,
) -> Result<(), StdioError> {
    let stop = cancel.child_token();
    let handshakes = server.supported_protocol_versions().iter().any(ProtocolVersion::has_initialize);
    let transport = LineTransport::new(incoming, outgoing, handshakes, grace, stop.clone());
    // No handshake is awaited: each request says, or has said, which era it belongs to.
    let running = serve_directly_with_ct(server, transport, None, stop.clone());
    let ended = running.waiting();
    tokio::pin!(ended, written);
    let written = tokio::select! {
        _ = &mut ended => timeout(FLUSH, written).await.unwrap_or(Ok(())),
        // The output is closed: no answer can arrive any more.
        result = &mut written => {
            stop.cancel();
            let _ = ended.await;
            result
        }
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(StdioError::Output(error)),
        _ => Ok(()),
    }
}

/// rmcp's view of the two streams.
struct LineTransport {
    incoming: mpsc::Receiver<InputFrame>,
    outgoing: mpsc::Sender<Vec<u8>>,
    ledger: Arc<RequestLedger>,
    /// A refusal that still has to be sent. Kept here because `receive` may be dropped while it waits.
    refusal: Option<Vec<u8>>,
    /// A request that is answered before the next line is read, and until when to believe in that.
    awaited: Option<(RequestId, Instant)>,
    /// Whether a revision with a handshake is served at all.
    handshakes: bool,
    /// Whether a legacy handshake has been asked for.
    initialized: bool,
    grace: Duration,
    /// Set once the input has ended: when to give up on running calls.
    closing: Option<Instant>,
    stop: CancellationToken,
}

#[derive(Debug, thiserror::Error)]
#[error("the output is closed")]
struct OutputClosed;

enum MessageAdmission {
    Pass(Box<ClientJsonRpcMessage>),
    Refuse(Rejection),
    Ignore,
}

impl LineTransport {
    fn new(
        incoming: mpsc::Receiver<InputFrame>,
        outgoing: mpsc::Sender<Vec<u8>>,
        handshakes: bool,
        grace: Duration,
        stop: CancellationToken,
    ) -> Self {
        LineTransport {
            incoming,
            outgoing,
            ledger: Arc::default(),
            refusal: None,
            awaited: None,
            handshakes,
            initialized: false,
            grace,
            closing: None,
            stop,
        }
    }

    fn admit(&mut self, line: &[u8]) -> MessageAdmission {
        let envelope = match envelope::read(line) {
            Ok(envelope) => envelope,
            Err(rejection) => return MessageAdmission::Refuse(rejection),
        };
        let message = serde_json::from_value::<ClientJsonRpcMessage>(Value::Object(envelope.body));
        match (envelope.kind, message) {
            (MessageKind::Request { id, method }, Ok(message)) => self.admit_request(id, &method, message),
            (MessageKind::Request { id, .. }, Err(_)) => {
                MessageAdmission::Refuse(Rejection::invalid("not a request", id))
            }
            (MessageKind::Notification { method }, Ok(message)) => {
                if method == "notifications/cancelled"
                    && let Some(id) = cancelled_id(&message)
                {
                    // A cancelled request gets no answer, so no client waits for one.
                    self.ledger.cancel(&id);
                }
                MessageAdmission::Pass(Box::new(message))
            }
            (MessageKind::Response, Ok(message)) => MessageAdmission::Pass(Box::new(message)),
            // Notifications and responses are not answered.
            (MessageKind::Notification { .. } | MessageKind::Response, Err(_)) => MessageAdmission::Ignore,
        }
    }

    fn admit_request(&mut self, id: Value, method: &str, message: ClientJsonRpcMessage) -> MessageAdmission {
        let JsonRpcMessage::Request(request) = &message else {
            return MessageAdmission::Refuse(Rejection::invalid("not a request", id));
        };
        if matches!(request.request, ClientRequest::InitializeRequest(_)) {
            self.initialized = self.handshakes;
        }
        if !self.initialized && !states_its_era(method, &request.request) {
            let message = "send initialize first, or give the protocol version in _meta".to_owned();
            return MessageAdmission::Refuse(Rejection { code: INVALID_PARAMS, message, id });
        }
        if !self.ledger.open(&request.id) {
            return MessageAdmission::Refuse(Rejection::invalid("this id is already in use", id));
        }
        // Calls run side by side. The rest is immediate, and is answered in the order it was asked: a client may send
        // its handshake and its first requests in one breath.
        if !matches!(method, "tools/call" | "subscriptions/listen") {
            self.awaited = Some((request.id.clone(), Instant::now() + PATIENCE));
        }
        MessageAdmission::Pass(Box::new(message))
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = OutputClosed;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), OutputClosed>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let outgoing = self.outgoing.clone();
        let ledger = self.ledger.clone();
        async move {
            let sent = outgoing.send(line(&message)).await;
            if let Some(id) = answered {
                ledger.close(&id);
            }
            sent.map_err(|_| OutputClosed)
        }
    }

    /// May be dropped at any `await` and called again; whatever must survive that is kept in `self`.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.refusal.is_some() {
                let room = self.outgoing.reserve().await.ok()?;
                if let Some(refusal) = self.refusal.take() {
                    room.send(refusal);
                }
            }
            if let Some((id, until)) = &self.awaited {
                let _ = timeout_at(*until, self.ledger.until(|ledger| !ledger.is_open(id))).await;
                self.awaited = None;
            }
            self.ledger.until(|ledger| ledger.len() < MAX_IN_FLIGHT).await;
            if let Some(until) = self.closing {
                if timeout_at(until, self.ledger.until(|ledger| ledger.len() == 0)).await.is_err() {
                    self.stop.cancel();
                }
                return None;
            }
            let refusal = match self.incoming.recv().await {
                None => {
                    self.closing = Some(Instant::now() + self.grace);
                    continue;
                }
                Some(InputFrame::TooLong) => {
                    Rejection::invalid(format!("a message has at most {MAX_LINE_BYTES} bytes"), Value::Null)
                }
                Some(InputFrame::Line(bytes)) => match self.admit(&bytes) {
                    MessageAdmission::Pass(message) => return Some(*message),
                    MessageAdmission::Refuse(rejection) => rejection,
                    MessageAdmission::Ignore => continue,
                },
            };
            tracing::debug!(code = refusal.code, "refused a line");
            self.refusal = Some(line(&refusal));
        }
    }

    async fn close(&mut self) -> Result<(), OutputClosed> {
        Ok(())
    }
}

/// Whether a request can be served without a handshake before it.
fn states_its_era(method: &str, request: &ClientRequest) -> bool {
    use rmcp::model::GetMeta;
    matches!(method, "ping" | "initialize" | "server/discover")
        || request.get_meta().protocol_version().is_some()
}

fn cancelled_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    use rmcp::model::ClientNotification::CancelledNotification;
    match message {
        JsonRpcMessage::Notification(notification) => match &notification.notification {
            CancelledNotification(cancelled) => cancelled.params.request_id.clone(),
            _ => None,
        },
        _ => None,
    }
}

/// One message on one line: JSON text has no raw line ends inside.
fn line(message: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_else(|error| {
        let message = format!("the answer cannot be written: {error}");
        Rejection { code: -32603, message, id: Value::Null }.to_value().to_string().into_bytes()
    });
    line.push(b'\n');
    line
}

/// The requests that have no answer yet.
#[derive(Default)]
struct RequestLedger {
    entries: Mutex<RequestEntries>,
    changed: Notify,
}

#[derive(Default)]
struct RequestEntries {
    open: HashSet<RequestId>,
    cancelled: VecDeque<RequestId>,
}

impl RequestEntries {
    fn is_open(&self, id: &RequestId) -> bool {
        self.open.contains(id)
    }

    fn len(&self) -> usize {
        self.open.len()
    }
}

impl RequestLedger {
    /// False if the id belongs to a request that runs, or to one whose answer could still turn up.
    fn open(&self, id: &RequestId) -> bool {
        self.with(|entries| {
            let free = !entries.is_open(id) && !entries.cancelled.contains(id);
            if free {
                entries.open.insert(id.clone());
            }
            free
        })
    }

    fn close(&self, id: &RequestId) {
        self.with(|entries| entries.open.remove(id));
        self.changed.notify_waiters();
    }

    fn cancel(&self, id: &RequestId) {
        self.with(|entries| {
            if entries.open.remove(id) {
                if entries.cancelled.len() == MAX_CANCELLED {
                    entries.cancelled.pop_front();
                }
                entries.cancelled.push_back(id.clone());
            }
        });
        self.changed.notify_waiters();
    }

    async fn until(&self, reached: impl Fn(&RequestEntries) -> bool) {
        loop {
            // Created before the check, so that a change in between is not missed.
            let changed = self.changed.notified();
            if self.with(|entries| reached(entries)) {
                return;
            }
            changed.await;
        }
    }

    fn with<T>(&self, use_entries: impl FnOnce(&mut RequestEntries) -> T) -> T {
        use_entries(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum InputFrame {
    Line(Vec<u8>),
    TooLong,
}

/// Cuts a byte stream into lines, never holding more than one line of [`MAX_LINE_BYTES`].
#[derive(Default)]
struct Framer {
    line: Vec<u8>,
    skipping: bool,
}

impl Framer {
    /// The frames completed by one read; a read of nothing is the end, which completes the last line.
    fn cut(&mut self, bytes: &[u8]) -> Vec<InputFrame> {
        let mut frames = Vec::new();
        if bytes.is_empty() {
            self.finish(&mut frames)
        } else {
            self.push(bytes, &mut frames)
        }
        frames
    }

    fn push(&mut self, mut bytes: &[u8], frames: &mut Vec<InputFrame>) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end], frames);
            self.finish(frames);
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes, frames);
    }

    fn extend(&mut self, bytes: &[u8], frames: &mut Vec<InputFrame>) {
        if self.skipping {
            return;
        }
        if self.line.len() + bytes.len() > MAX_LINE_BYTES {
            self.line = Vec::new();
            self.skipping = true;
            frames.push(InputFrame::TooLong);
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    /// The line is complete; blank lines are no messages.
    fn finish(&mut self, frames: &mut Vec<InputFrame>) {
        self.skipping = false;
        let line = std::mem::take(&mut self.line);
        if !line.trim_ascii().is_empty() {
            frames.push(InputFrame::Line(line));
        }
    }
}

const CHUNK: usize = 64 * 1024;

fn read_thread(mut input: impl Read, frames: &mpsc::Sender<InputFrame>) {
    let mut framer = Framer::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match input.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::warn!(%error, "cannot read standard input");
                0
            }
        };
        for frame in framer.cut(&chunk[..count]) {
            if frames.blocking_send(frame).is_err() {
                return;
            }
        }
        if count == 0 {
            return;
        }
    }
}

async fn read_task(mut input: impl AsyncRead + Unpin, frames: mpsc::Sender<InputFrame>) {
    let mut framer = Framer::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match input.read(&mut chunk).await {
            Ok(count) => count,
            Err(error) => {
                tracing::warn!(%error, "cannot read the input");
                0
            }
        };
        for frame in framer.cut(&chunk[..count]) {
            if frames.send(frame).await.is_err() {
                return;
            }
        }
        if count == 0 {
            return;
        }
    }
}

fn write_thread(mut output: impl Write, mut lines: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(line) = lines.blocking_recv() {
        output.write_all(&line)?;
        output.flush()?;
    }
    Ok(())
}

async fn write_task(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        output.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(reads: &[&[u8]]) -> Vec<InputFrame> {
        let mut framer = Framer::default();
        let mut all = Vec::new();
        for read in reads.iter().chain([&b""[..]].iter()) {
            all.extend(framer.cut(read));
        }
        all
    }

    fn line_of(text: &str) -> InputFrame {
        InputFrame::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_cut_wherever_the_reads_end() {
        assert_eq!(frames(&[b"{\"a\"", b":1}\n{}", b"\n"]), [line_of("{\"a\":1}"), line_of("{}")]);
        assert_eq!(frames(&[b"\n \r\n\t\n"]), []);
        assert_eq!(frames(&[b"{}\r\n"]), [line_of("{}\r")]);
        // The last line counts without a line end too.
        assert_eq!(frames(&[b"{}\n[]"]), [line_of("{}"), line_of("[]")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once_and_skipped() {
        let long = vec![b'x'; MAX_LINE_BYTES];
        assert_eq!(frames(&[&long, b"y", &long, b"\n{}\n"]), [InputFrame::TooLong, line_of("{}")]);
        assert_eq!(frames(&[&long, b"\n"]), [InputFrame::Line(long.clone())]);
        assert_eq!(frames(&[&long, b"y"]), [InputFrame::TooLong]);
    }

    #[test]
    fn an_id_is_free_again_after_its_answer_but_not_after_its_cancellation() {
        let ledger = RequestLedger::default();
        let id = RequestId::Number(1);
        assert!(ledger.open(&id));
        assert!(!ledger.open(&id));
        ledger.close(&id);
        assert!(ledger.open(&id));
        ledger.cancel(&id);
        assert!(!ledger.open(&id));
        for other in 0..2 * MAX_CANCELLED as i64 {
            let other = RequestId::Number(10 + other);
            assert!(ledger.open(&other));
            ledger.cancel(&other);
        }
        assert!(ledger.with(|entries| entries.cancelled.len()) <= MAX_CANCELLED);
    }
}
