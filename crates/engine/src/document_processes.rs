//! Processes that read hostile documents: a small pool of children of the same binary, each reading one document at a
//! time under limits of memory and time, with no file and no network of its own. One bad file costs one document.
//!
//! A request is a length (4 bytes, little endian), a header in JSON, a length (8 bytes) and the document; an answer is a length (8 bytes)
//! and the extraction in JSON.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ingest::{DocumentReader, ExtractLimits, Extraction, Format, InProcess};
use model::SkipReason;
use serde::{Deserialize, Serialize};

/// Beyond the document's own time limit: starting the process, sending the bytes.
const GRACE: Duration = Duration::from_secs(15);

/// More text than an extraction may give is damage, or an attack on us.
const MAX_ANSWER_BYTES: u64 = 512 << 20;

/// A child that has read this many documents is replaced: what it keeps between them is bounded.
const MAX_DOCUMENTS: u32 = 500;

/// What the child is told besides the bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: Format,
    name: String,
    limits: ExtractLimits,
}

/// The pool. As many children as there are threads that read at the same time, and none before the first document.
#[derive(Debug)]
pub struct DocumentProcesses {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: ExtractLimits,
    idle: Mutex<Vec<Process>>,
}

impl DocumentProcesses {
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> DocumentProcesses {
        DocumentProcesses { program, arguments, limits: ExtractLimits::default(), idle: Mutex::default() }
    }

    /// The same with other limits.
    pub fn with_limits(self, limits: ExtractLimits) -> DocumentProcesses {
        DocumentProcesses { limits, ..self }
    }

    fn idle_one(&self) -> io::Result<Process> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(process) => Ok(process),
            None => Process::start(&self.program, &self.arguments),
        }
    }
}

impl DocumentReader for DocumentProcesses {
    fn read(&self, format: Format, name: &str, bytes: &[u8]) -> Result<Extraction, String> {
        let header = Header { format, name: name.to_owned(), limits: self.limits.clone() };
        let patience = self.limits.max_time.unwrap_or(Duration::from_secs(60)) + GRACE;
        let mut process = self
            .idle_one()
            .map_err(|error| format!("the process that reads documents could not be started: {error}"))?;
        let reason = match process.ask(&header, bytes, patience) {
            Ok(extraction) => {
                if process.documents < MAX_DOCUMENTS {
                    self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
                }
                return Ok(extraction);
            }
            Err(Lost::Late) => SkipReason::TookTooLong { format: format.to_string() },
            Err(Lost::Gone) => SkipReason::Damaged {
                format: format.to_string(),
                detail: "the process that read it ended: out of memory, or broken by the file".to_owned(),
            },
        };
        Ok(Extraction {
            format,
            title: None,
            units: Vec::new(),
            parts: 0,
            skip: Some(reason),
            diagnostics: Vec::new(),
        })
    }

    /// An idle server keeps no processes.
    fn rest(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

enum Lost {
    /// It did not answer in time, and was ended.
    Late,
    Gone,
}

/// One child and the thread that listens to it.
#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Vec<u8>>,
    documents: u32,
}

impl Process {
    fn start(program: &PathBuf, arguments: &[OsString]) -> io::Result<Process> {
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
        let (sender, answers) = mpsc::channel();
        std::thread::Builder::new().name("documents".to_owned()).spawn(move || {
            while let Ok(answer) = answer(&mut output) {
                if sender.send(answer).is_err() {
                    return;
                }
            }
        })?;
        Ok(Process { child, input, answers, documents: 0 })
    }

    fn ask(&mut self, header: &Header, bytes: &[u8], patience: Duration) -> Result<Extraction, Lost> {
        self.documents += 1;
        // The child waits for nothing else, so it takes the request or is gone.
        send(&mut self.input, header, bytes).map_err(|_| Lost::Gone)?;
        match self.answers.recv_timeout(patience) {
            Ok(answer) => serde_json::from_slice(&answer).map_err(|_| Lost::Gone),
            Err(RecvTimeoutError::Timeout) => Err(Lost::Late),
            Err(RecvTimeoutError::Disconnected) => Err(Lost::Gone),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It holds nothing that a sudden end could lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(to: &mut impl Write, header: &Header, bytes: &[u8]) -> io::Result<()> {
    let header = serde_json::to_vec(header).map_err(io::Error::other)?;
    to.write_all(&(header.len() as u32).to_le_bytes())?;
    to.write_all(&header)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

fn answer(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_ANSWER_BYTES {
        return Err(io::Error::other("an answer of impossible length"));
    }
    let mut answer = Vec::new();
    from.take(length).read_to_end(&mut answer)?;
    Ok(answer)
}

/// The other side: answers requests until there are no more. The caller has taken away what the process may do.
pub fn serve_documents(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
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
        let reader = InProcess { limits: header.limits };
        let extraction = reader.read(header.format, &header.name, &bytes).map_err(io::Error::other)?;
        let answer = serde_json::to_vec(&extraction).map_err(io::Error::other)?;
        to.write_all(&(answer.len() as u64).to_le_bytes())?;
        to.write_all(&answer)?;
        to.flush()?;
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
    fn both_sides_understand_each_other() {
        let mut request = Vec::new();
        let header = Header { format: Format::Rtf, name: "a.rtf".into(), limits: ExtractLimits::default() };
        for _ in 0..2 {
            send(&mut request, &header, br"{\rtf1 The lighthouse keeper.}").unwrap();
        }
        let mut answers = Vec::new();
        serve_documents(&mut request.as_slice(), &mut answers).unwrap();
        let mut rest = answers.as_slice();
        for _ in 0..2 {
            let extraction: Extraction = serde_json::from_slice(&answer(&mut rest).unwrap()).unwrap();
            assert!(extraction.units[0].text.contains("lighthouse keeper"), "{extraction:?}");
        }
        assert!(rest.is_empty());
    }
}
