//! Processes that read hostile documents and archives: a small pool of children of the same binary, each reading one at a
//! time under limits of memory and time, with no file and no network of its own. One bad file costs one document.
//!
//! A request is a length (4 bytes, little endian), a header in JSON, a length (8 bytes) and the document. An answer is a
//! length (4 bytes), a head in JSON, a length (8 bytes) and a body: the members of an archive come one by one, each as such
//! an answer, and the child waits with the next one until the last was taken.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use extract::archive::{Entry, Mode as ArchiveMode, Walked};
use extract::{Extraction, Format, Limits as ExtractLimits};
use model::SkipReason;
use serde::{Deserialize, Serialize};

use super::{Archive, DocumentReader, InProcess};

/// Beyond the document's own time limit: starting the process, sending the bytes.
const GRACE: Duration = Duration::from_secs(15);

/// More text than an extraction may give is damage, or an attack on us.
const MAX_ANSWER_BYTES: u64 = 512 << 20;

/// A child that has read this many documents is replaced: what it keeps between them is bounded.
const MAX_DOCUMENTS: u32 = 500;

/// Every child of this process runs on the same kernel, so what that lacks is said once.
static SAID: Once = Once::new();

/// What the child is told besides the bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    job: Job,
    format: Format,
    name: String,
    limits: ExtractLimits,
}

#[derive(Debug, Serialize, Deserialize)]
enum Job {
    Extract,
    Members(ArchiveMode),
    Member(String),
}

/// What the child says; bytes of members are the body.
#[derive(Debug, Serialize, Deserialize)]
enum ChildMessage {
    /// Said first, where the kernel did not take away all that it could.
    Unconfined {
        missing: String,
    },
    Extraction(Extraction),
    Member {
        path: String,
    },
    /// An entry that has no bytes.
    Entry(Entry),
    /// The end of a walk.
    Walked(Walked),
    /// One member, if there is such a one.
    Content {
        found: bool,
    },
}

type Reply = (ChildMessage, Vec<u8>);

/// The pool. As many children as there are threads that read at the same time, and none before the first document.
#[derive(Debug)]
pub struct DocumentProcesses {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: ExtractLimits,
    idle: Mutex<Vec<ChildProcess>>,
}

impl DocumentProcesses {
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> DocumentProcesses {
        DocumentProcesses { program, arguments, limits: ExtractLimits::default(), idle: Mutex::default() }
    }

    /// The same with other limits.
    pub fn with_limits(self, limits: ExtractLimits) -> DocumentProcesses {
        DocumentProcesses { limits, ..self }
    }

    fn idle_one(&self) -> Result<ChildProcess, String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(process) => Ok(process),
            None => ChildProcess::start(&self.program, &self.arguments)
                .map_err(|error| format!("the process that reads documents could not be started: {error}")),
        }
    }

    /// Keeps a process that has answered for the next document.
    fn keep(&self, process: ChildProcess) {
        if process.documents < MAX_DOCUMENTS {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        }
    }

    fn patience(&self) -> Duration {
        self.limits.max_time.unwrap_or(Duration::from_secs(60)) + GRACE
    }

    fn header(&self, job: Job, archive: &Archive<'_>) -> Header {
        let limits = ExtractLimits {
            max_member_bytes: archive.max_member_bytes,
            // It waits while its members are indexed; the time of each answer is counted here.
            max_time: None,
            ..self.limits.clone()
        };
        Header { job, format: archive.format, name: archive.name.to_owned(), limits }
    }
}

impl DocumentReader for DocumentProcesses {
    fn read(&self, format: Format, name: &str, bytes: &[u8]) -> Result<Extraction, String> {
        let header = Header { job: Job::Extract, format, name: name.to_owned(), limits: self.limits.clone() };
        let mut process = self.idle_one()?;
        let answer = process.send(&header, bytes).and_then(|()| process.next(self.patience()));
        let skip = match answer {
            Ok((ChildMessage::Extraction(extraction), _)) => {
                self.keep(process);
                return Ok(extraction);
            }
            Ok(_) => Lost::Gone.reason(format),
            Err(lost) => lost.reason(format),
        };
        Ok(Extraction {
            format,
            title: None,
            units: Vec::new(),
            parts: 0,
            skip: Some(skip),
            diagnostics: Vec::new(),
        })
    }

    fn members(
        &self,
        archive: &Archive<'_>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Walked, String> {
        let mut process = self.idle_one()?;
        let mut entries = 0;
        let mut answer = process.send(&self.header(Job::Members(archive.mode), archive), archive.bytes);
        loop {
            let entry = match answer.and_then(|()| process.next(self.patience())) {
                Ok((ChildMessage::Member { path }, bytes)) => Entry::Member { path, bytes },
                Ok((ChildMessage::Entry(entry), _)) => entry,
                Ok((ChildMessage::Walked(walked), _)) => {
                    self.keep(process);
                    return Ok(walked);
                }
                Ok(_) => return Ok(ended(archive, entries, &Lost::Gone)),
                Err(lost) => return Ok(ended(archive, entries, &lost)),
            };
            entries += 1;
            if visit(entry).is_break() {
                // The process is in the middle of it, and ends with this.
                return Ok(Walked { entries, refused: None, stopped: None });
            }
            answer = Ok(());
        }
    }

    fn member(&self, archive: &Archive<'_>, path: &str) -> Result<Option<Vec<u8>>, String> {
        let mut process = self.idle_one()?;
        let header = self.header(Job::Member(path.to_owned()), archive);
        let answer = process.send(&header, archive.bytes).and_then(|()| process.next(self.patience()));
        match answer {
            Ok((ChildMessage::Content { found }, bytes)) => {
                self.keep(process);
                Ok(found.then_some(bytes))
            }
            Ok(_) => Err(Lost::Gone.reason(archive.format).to_string()),
            Err(lost) => Err(lost.reason(archive.format).to_string()),
        }
    }

    /// An idle server keeps no processes.
    fn release_idle(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// A walk whose process did not come to its end: what it gave counts.
fn ended(archive: &Archive<'_>, entries: u32, lost: &Lost) -> Walked {
    let reason = lost.reason(archive.format);
    match entries {
        0 => Walked { entries, refused: Some(reason), stopped: None },
        _ => Walked { entries, refused: None, stopped: Some(reason.to_string()) },
    }
}

enum Lost {
    /// It did not answer in time, and was ended.
    Late,
    Gone,
}

impl Lost {
    fn reason(&self, format: Format) -> SkipReason {
        let format = format.to_string();
        match self {
            Lost::Late => SkipReason::TookTooLong { format },
            Lost::Gone => SkipReason::Damaged {
                format,
                detail: "the process that read it ended: out of memory, or broken by the file".to_owned(),
            },
        }
    }
}

/// One child and the thread that listens to it.
#[derive(Debug)]
struct ChildProcess {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Reply>,
    documents: u32,
}

impl ChildProcess {
    fn start(program: &PathBuf, arguments: &[OsString]) -> io::Result<ChildProcess> {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Nobody reads it, and there is nothing to say: a confined server cannot open /dev/null.
            .stderr(Stdio::piped())
            .spawn()?;
        drop(child.stderr.take());
        let input = child.stdin.take().ok_or_else(|| io::Error::other("no pipe to the process"))?;
        let mut output = child.stdout.take().ok_or_else(|| io::Error::other("no pipe from the process"))?;
        // No more than one answer ahead: members may be large, and there may be many.
        let (sender, answers) = mpsc::sync_channel(1);
        std::thread::Builder::new().name("documents".to_owned()).spawn(move || {
            while let Ok(answer) = answer(&mut output) {
                if sender.send(answer).is_err() {
                    return;
                }
            }
        })?;
        Ok(ChildProcess { child, input, answers, documents: 0 })
    }

    fn send(&mut self, header: &Header, bytes: &[u8]) -> Result<(), Lost> {
        self.documents += 1;
        // The child waits for nothing else, so it takes the request or is gone.
        send(&mut self.input, header, bytes).map_err(|_| Lost::Gone)
    }

    fn next(&mut self, patience: Duration) -> Result<Reply, Lost> {
        loop {
            match self.answers.recv_timeout(patience) {
                Ok((ChildMessage::Unconfined { missing }, _)) => {
                    SAID.call_once(|| {
                        tracing::warn!(missing, "documents are read with fewer walls than usual")
                    });
                }
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => return Err(Lost::Late),
                Err(RecvTimeoutError::Disconnected) => return Err(Lost::Gone),
            }
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // It holds nothing that a sudden end could lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a message of either side: its head and its body.
fn send(to: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head).map_err(io::Error::other)?;
    to.write_all(&(head.len() as u32).to_le_bytes())?;
    to.write_all(&head)?;
    to.write_all(&(body.len() as u64).to_le_bytes())?;
    to.write_all(body)?;
    to.flush()
}

fn answer(from: &mut impl Read) -> io::Result<Reply> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let head = bounded(from, u32::from_le_bytes(length).into())?;
    let head = serde_json::from_slice(&head).map_err(io::Error::other)?;
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    Ok((head, bounded(from, u64::from_le_bytes(length))?))
}

/// Reads that many bytes; more than an answer can have is an error.
fn bounded(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_ANSWER_BYTES {
        return Err(io::Error::other("an answer of impossible length"));
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

/// The other side: answers requests until there are no more. The caller has taken away what the process may do, and says
/// what of it the kernel could not do.
pub fn serve_documents(from: &mut impl Read, to: &mut impl Write, missing: &str) -> io::Result<()> {
    if !missing.is_empty() {
        send(to, &ChildMessage::Unconfined { missing: missing.to_owned() }, &[])?;
    }
    loop {
        let mut length = [0; 4];
        match from.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut header = vec![0; u32::from_le_bytes(length) as usize];
        from.read_exact(&mut header)?;
        let header: Header = serde_json::from_slice(&header).map_err(io::Error::other)?;
        let mut length = [0; 8];
        from.read_exact(&mut length)?;
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        from.read_exact(&mut bytes)?;
        serve(header, &bytes, to)?;
    }
}

fn serve(header: Header, bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
    let Header { job, format, name, limits } = header;
    let archive =
        |mode| Archive { format, name: &name, bytes, mode, max_member_bytes: limits.max_member_bytes };
    let reader = InProcess { limits: limits.clone() };
    match job {
        Job::Extract => {
            let extraction = reader.read(format, &name, bytes).map_err(io::Error::other)?;
            send(to, &ChildMessage::Extraction(extraction), &[])
        }
        Job::Members(mode) => {
            let mut sent = Ok(());
            let mut visit = |entry| {
                sent = match entry {
                    Entry::Member { path, bytes } => send(to, &ChildMessage::Member { path }, &bytes),
                    entry => send(to, &ChildMessage::Entry(entry), &[]),
                };
                if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let walked = reader.members(&archive(mode), &mut visit).map_err(io::Error::other)?;
            sent?;
            send(to, &ChildMessage::Walked(walked), &[])
        }
        Job::Member(path) => {
            let member = reader.member(&archive(ArchiveMode::Deep), &path).map_err(io::Error::other)?;
            let found = member.is_some();
            send(to, &ChildMessage::Content { found }, &member.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(script: &str) -> DocumentProcesses {
        let limits = ExtractLimits { max_time: Some(Duration::ZERO), ..ExtractLimits::default() };
        DocumentProcesses::new("/bin/sh".into(), vec!["-c".into(), script.into()]).with_limits(limits)
    }

    #[test]
    fn a_process_that_dies_costs_one_document() {
        for script in
            ["exit 3", "kill -9 $$", "head -c 4 >/dev/null; exit 0", "echo nonsense-that-is-long-enough"]
        {
            let pool = processes(script);
            for _ in 0..2 {
                let answer = pool.read(Format::Pdf, "a.pdf", b"%PDF-1.4").unwrap();
                assert!(matches!(answer.skip, Some(SkipReason::Damaged { .. })), "{script}: {answer:?}");
            }
        }
        let missing = DocumentProcesses::new("/nowhere/at/all".into(), Vec::new());
        assert!(missing.read(Format::Pdf, "a.pdf", b"").unwrap_err().contains("could not be started"));
    }

    #[test]
    fn a_lost_archive_keeps_what_it_gave() {
        let archive = Archive {
            format: Format::Zip,
            name: "a.zip",
            bytes: b"PK",
            mode: ArchiveMode::Deep,
            max_member_bytes: 1000,
        };
        let pool = processes("exit 3");
        let walked = pool.members(&archive, &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(matches!(walked.refused, Some(SkipReason::Damaged { .. })), "{walked:?}");
        assert!(pool.member(&archive, "x").unwrap_err().contains("ended"));
        assert!(ended(&archive, 7, &Lost::Late).stopped.is_some());
    }

    #[test]
    fn both_sides_understand_each_other() {
        let mut request = Vec::new();
        let limits = ExtractLimits::default();
        let name = "a.rtf".to_owned();
        let header = Header { job: Job::Extract, format: Format::Rtf, name, limits: limits.clone() };
        for _ in 0..2 {
            send(&mut request, &header, br"{\rtf1 The lighthouse keeper.}").unwrap();
        }
        // One file, packed: an archive of one member.
        let mut packed = Vec::new();
        packed.extend_from_slice(b"\x1F\x8B\x08\0\0\0\0\0\0\xFF");
        packed.extend_from_slice(&[1, 2, 0, 0xFD, 0xFF, b'h', b'i']);
        packed.extend_from_slice(&[0xAC, 0x2A, 0x93, 0xD8, 2, 0, 0, 0]);
        for job in [Job::Members(ArchiveMode::Deep), Job::Member("a.txt".into()), Job::Member("b".into())] {
            let name = "a.txt.gz".to_owned();
            let header = Header { job, format: Format::TarGz, name, limits: limits.clone() };
            send(&mut request, &header, &packed).unwrap();
        }
        let mut answers = Vec::new();
        serve_documents(&mut request.as_slice(), &mut answers, "").unwrap();
        let mut rest = answers.as_slice();
        for _ in 0..2 {
            let (ChildMessage::Extraction(extraction), _) = answer(&mut rest).unwrap() else { panic!() };
            assert!(extraction.units[0].text.contains("lighthouse keeper"), "{extraction:?}");
        }
        let (ChildMessage::Member { path }, bytes) = answer(&mut rest).unwrap() else { panic!() };
        assert_eq!((path.as_str(), bytes.as_slice()), ("a.txt", b"hi".as_slice()));
        assert!(matches!(answer(&mut rest).unwrap(), (ChildMessage::Walked(_), _)));
        let (ChildMessage::Content { found: true }, bytes) = answer(&mut rest).unwrap() else { panic!() };
        assert_eq!(bytes, b"hi");
        assert!(matches!(answer(&mut rest).unwrap(), (ChildMessage::Content { found: false }, _)));
        assert!(rest.is_empty());
    }
}
