//! The server's side: one child per model, kept for a while after its last request.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use model::{ProviderError, ProviderErrorKind};
use rustix::process::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedSender;

use super::files::ModelKind;
use super::messages::{ModelAnswer, ModelRequest, body_length, frame, head_length};
use crate::local::background::in_background;
use crate::local::sys;

/// Every child runs on the same kernel, so what that lacks is said once.
static SAID: Once = Once::new();

/// How the children that run models are started: this program, with a command that leads to
/// [`ModelChild`](super::ModelChild).
#[derive(Debug, Clone)]
pub struct ModelPrograms {
    pub program: PathBuf,
    /// The command; what the child needs follows it.
    pub arguments: Vec<OsString>,
    /// A child without work ends after this time: a model in memory is hundreds of megabytes.
    pub idle: Duration,
    pub threads: usize,
}

impl ModelPrograms {
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> ModelPrograms {
        let threads = crate::local::processes_at_once();
        ModelPrograms { program, arguments, idle: Duration::from_secs(60), threads }
    }
}

/// One model, whose requests are answered one after the other by one child.
#[derive(Debug, Clone)]
pub(super) struct ModelProcess {
    provider: &'static str,
    program: PathBuf,
    arguments: Vec<OsString>,
    idle: Duration,
    threads: usize,
    /// A child that says nothing for this long is ended.
    patience: Duration,
    /// Holds the child between requests; the lock is the queue.
    child: Arc<tokio::sync::Mutex<Option<ModelPipes>>>,
    /// Counts requests, so that a timer knows whether there was another one.
    requests: Arc<Mutex<u64>>,
}

impl ModelProcess {
    pub(super) fn new(
        provider: &'static str,
        programs: &ModelPrograms,
        kind: ModelKind,
        folder: &std::path::Path,
        patience: Duration,
    ) -> ModelProcess {
        let mut arguments = programs.arguments.clone();
        arguments.extend(kind.arguments(folder));
        ModelProcess {
            provider,
            program: programs.program.clone(),
            arguments,
            idle: programs.idle,
            threads: programs.threads,
            patience,
            child: Arc::default(),
            requests: Arc::default(),
        }
    }

    /// Asks the child, in the background. Dropping this future ends the child if it is at work on it.
    pub(super) async fn ask(
        &self,
        request: ModelRequest,
        body: Vec<u8>,
        progress: Option<UnboundedSender<u64>>,
    ) -> Result<ModelAnswer, ProviderError> {
        let process = self.clone();
        let gone = |error: io::Error| self.unreachable(error.to_string());
        let answer = in_background(async move { process.ask_here(&request, &body, progress).await });
        answer.map_err(gone)?.await.map_err(gone)?
    }

    pub(super) fn error(&self, kind: ProviderErrorKind) -> ProviderError {
        ProviderError::new(self.provider, kind)
    }

    /// An answer of another kind than was asked for.
    pub(super) fn unexpected(&self, answer: ModelAnswer) -> ProviderError {
        self.error(match answer {
            ModelAnswer::Refused { reason } => ProviderErrorKind::Refused { reason },
            ModelAnswer::Broken { reason } => ProviderErrorKind::Unreachable {
                reason: format!(
                    "the model could not be loaded ({reason}); remove the extra and add it again"
                ),
            },
            _ => ProviderErrorKind::BadAnswer {
                reason: "the model process answered something else".to_owned(),
            },
        })
    }

    async fn ask_here(
        &self,
        request: &ModelRequest,
        body: &[u8],
        progress: Option<UnboundedSender<u64>>,
    ) -> Result<ModelAnswer, ProviderError> {
        let mut slot = self.child.lock().await;
        // A child that ended while it waited is not this request's fault.
        let waiting = slot.take().and_then(ModelPipes::if_alive);
        let mut pipes = match waiting {
            Some(pipes) => pipes,
            None => self.start().map_err(|error| {
                self.unreachable(format!("the process that runs models could not be started: {error}"))
            })?,
        };
        let head = frame(request, body.len()).map_err(|error| self.unreachable(error.to_string()))?;
        let failed = |error: io::Error| match error.kind() {
            // A busy machine, more likely than this input: it may be tried again.
            io::ErrorKind::TimedOut => {
                self.unreachable(format!("nothing happened for {} s", self.patience.as_secs()))
            }
            // It ends without a word when it needs more memory than it may have.
            _ => self.error(ProviderErrorKind::Refused {
                reason: "the process that runs the model ended: out of memory, or broken by this input"
                    .to_owned(),
            }),
        };
        let send = async {
            pipes.input.write_all(&head).await?;
            pipes.input.write_all(body).await
        };
        let sent = tokio::time::timeout(self.patience, send).await;
        sent.map_err(|_| io::ErrorKind::TimedOut.into()).and_then(|sent| sent).map_err(failed)?;
        let answer = loop {
            let next = tokio::time::timeout(self.patience, pipes.next()).await;
            match next.map_err(|_| io::ErrorKind::TimedOut.into()).and_then(|next| next).map_err(failed)? {
                ModelAnswer::Unconfined { missing } => {
                    SAID.call_once(|| tracing::warn!(missing, "models run with fewer walls than usual"));
                }
                ModelAnswer::Progress(done) => {
                    if let Some(progress) = &progress {
                        // Whoever asked may have stopped listening.
                        let _ = progress.send(done);
                    }
                }
                answer => break answer,
            }
        };
        *slot = Some(pipes);
        drop(slot);
        self.end_when_idle();
        Ok(answer)
    }

    fn start(&self) -> io::Result<ModelPipes> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .env("RTEN_NUM_THREADS", self.threads.to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A confined server cannot open /dev/null; what a child says here is dropped with the pipe.
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        drop(child.stderr.take());
        if let Some(pid) = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            sys::lower_priority(pid);
        }
        let missing = || io::Error::other("no pipe to the process");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        Ok(ModelPipes { input, output, child })
    }

    fn end_when_idle(&self) {
        let number = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            *requests += 1;
            *requests
        };
        let (child, requests, idle) = (Arc::clone(&self.child), Arc::clone(&self.requests), self.idle);
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            let is_last = || *requests.lock().unwrap_or_else(PoisonError::into_inner) == number;
            // A request that is under way holds the lock, and starts a timer of its own.
            if let Ok(mut slot) = child.try_lock()
                && is_last()
            {
                slot.take();
            }
        });
    }

    fn unreachable(&self, reason: String) -> ProviderError {
        self.error(ProviderErrorKind::Unreachable { reason })
    }
}

/// A child and the pipes to it. Dropping it ends the child.
#[derive(Debug)]
struct ModelPipes {
    input: ChildStdin,
    output: ChildStdout,
    child: Child,
}

impl ModelPipes {
    fn if_alive(mut self) -> Option<ModelPipes> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }

    async fn next(&mut self) -> io::Result<ModelAnswer> {
        let mut length = [0; 4];
        self.output.read_exact(&mut length).await?;
        let head = self.exactly(head_length(length)?).await?;
        let mut length = [0; 8];
        self.output.read_exact(&mut length).await?;
        // Answers have no body.
        self.exactly(body_length(length)?).await?;
        serde_json::from_slice(&head).map_err(io::Error::other)
    }

    async fn exactly(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.output).take(length).read_to_end(&mut bytes).await?;
        if (bytes.len() as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }
}
