//! Processes that read hostile documents and archives: a small pool of children of the same binary, each reading one at a
//! time under limits of memory and time, with no file and no network of its own. One bad file costs one document.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use extract::archive::{Entry, Walked};
use extract::audio::RecordingInfo;
use extract::picture::PagePicture;
use extract::{Extraction, Format, Limits as ExtractLimits};
use model::SkipReason;

use super::protocol::{ChildMessage, Header, Job, Reply, answer, samples_of, send};
use super::{Archive, DocumentReader};

/// Beyond the document's own time limit: starting the process, sending the bytes.
const GRACE: Duration = Duration::from_secs(15);

/// A child that has read this many documents is replaced: what it keeps between them is bounded.
const MAX_DOCUMENTS: u32 = 500;

/// Pages that may end their process, or be late, before the rest of the document is given up.
const MAX_LOST_PAGES: u32 = 3;

/// Every child of this process runs on the same kernel, so what that lacks is said once.
static SAID: Once = Once::new();

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
            unread_pages: Vec::new(),
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

    fn page_pictures(
        &self,
        format: Format,
        bytes: &[u8],
        pages: &[u32],
        visit: &mut dyn FnMut(u32, Result<PagePicture, SkipReason>) -> ControlFlow<()>,
    ) {
        let mut left = pages;
        let mut lost_pages = 0;
        while !left.is_empty() {
            let (given, reason) = match self.some_pictures(format, bytes, left, visit) {
                Pictures::All => return,
                Pictures::Before(given, reason) => (given, reason),
            };
            left = left.get(given..).unwrap_or_default();
            let Some((page, rest)) = left.split_first() else { return };
            if visit(*page, Err(reason.clone())).is_break() {
                return;
            }
            left = rest;
            lost_pages += 1;
            if lost_pages >= MAX_LOST_PAGES || matches!(reason, SkipReason::NotTried { .. }) {
                let mut given_up = left.iter().map(|page| visit(*page, Err(reason.clone())));
                let _ = given_up.find(ControlFlow::is_break);
                return;
            }
        }
    }

    fn recording(&self, format: Format, name: &str, bytes: &[u8]) -> Result<RecordingInfo, SkipReason> {
        let info = self.listen(Job::Probe, format, name, bytes, &mut |_| ControlFlow::Continue(()))?;
        info.ok_or_else(|| Lost::Gone.reason(format))
    }

    fn samples(
        &self,
        format: Format,
        name: &str,
        bytes: &[u8],
        visit: &mut dyn FnMut(&[f32]) -> ControlFlow<()>,
    ) -> Result<Option<RecordingInfo>, SkipReason> {
        self.listen(Job::Samples, format, name, bytes, visit)
    }

    /// An idle server keeps no processes.
    fn release_idle(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// How far one process came.
enum Pictures {
    /// To the end, or to where the caller broke off.
    All,
    /// So many pages; then this became of the next one.
    Before(usize, SkipReason),
}

impl DocumentProcesses {
    /// Pictures of pages by one process, for as long as it lives.
    fn some_pictures(
        &self,
        format: Format,
        bytes: &[u8],
        pages: &[u32],
        visit: &mut dyn FnMut(u32, Result<PagePicture, SkipReason>) -> ControlFlow<()>,
    ) -> Pictures {
        let mut process = match self.idle_one() {
            Ok(process) => process,
            Err(detail) => return Pictures::Before(0, SkipReason::NotTried { detail }),
        };
        let job = Job::Pictures(pages.to_vec());
        let header = Header { job, format, name: String::new(), limits: self.limits.clone() };
        let mut asked = process.send(&header, bytes);
        for (index, page) in pages.iter().enumerate() {
            let picture = match asked.and_then(|()| process.next(self.patience())) {
                Ok((ChildMessage::Picture(head), png)) => head.map(|head| PagePicture {
                    png,
                    width: head.width,
                    height: head.height,
                    kind: head.kind,
                }),
                Ok(_) => return Pictures::Before(index, Lost::Gone.reason(format)),
                Err(lost) => return Pictures::Before(index, lost.reason(format)),
            };
            asked = Ok(());
            if visit(*page, picture).is_break() && index + 1 < pages.len() {
                // The process is in the middle of it, and ends with this.
                return Pictures::All;
            }
        }
        self.keep(process);
        Pictures::All
    }

    /// What is heard in a recording, and what it is.
    fn listen(
        &self,
        job: Job,
        format: Format,
        name: &str,
        bytes: &[u8],
        visit: &mut dyn FnMut(&[f32]) -> ControlFlow<()>,
    ) -> Result<Option<RecordingInfo>, SkipReason> {
        let mut process = self.idle_one().map_err(|detail| SkipReason::NotTried { detail })?;
        let header = Header { job, format, name: name.to_owned(), limits: self.limits.clone() };
        let mut asked = process.send(&header, bytes);
        loop {
            match asked.and_then(|()| process.next(self.patience())) {
                Ok((ChildMessage::Samples, bytes)) => {
                    if visit(&samples_of(&bytes)).is_break() {
                        // The process is in the middle of it, and ends with this.
                        return Ok(None);
                    }
                }
                Ok((ChildMessage::Recording(info), _)) => {
                    self.keep(process);
                    return info.map(Some);
                }
                Ok(_) => return Err(Lost::Gone.reason(format)),
                Err(lost) => return Err(lost.reason(format)),
            }
            asked = Ok(());
        }
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

#[cfg(test)]
mod tests {
    use extract::archive::Mode as ArchiveMode;

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
    fn a_process_that_dies_costs_a_page_and_not_the_reader() {
        let pages: Vec<u32> = (1..=10).collect();
        let mut seen = Vec::new();
        processes("exit 3").page_pictures(Format::Pdf, b"%PDF-1.4", &pages, &mut |page, picture| {
            assert!(matches!(picture, Err(SkipReason::Damaged { .. })), "{picture:?}");
            seen.push(page);
            ControlFlow::Continue(())
        });
        assert_eq!(seen, pages, "every page has an answer");
        let missing = DocumentProcesses::new("/nowhere/at/all".into(), Vec::new());
        let answer = missing.page_picture(Format::Pdf, b"", 1);
        assert!(matches!(answer, Err(SkipReason::NotTried { .. })), "{answer:?}");
        let mut heard = |_: &[f32]| ControlFlow::Continue(());
        let answer = missing.samples(Format::Wav, "a.wav", b"", &mut heard);
        assert!(matches!(answer, Err(SkipReason::NotTried { .. })), "{answer:?}");
        let answer = processes("exit 3").samples(Format::Wav, "a.wav", b"RIFF", &mut heard);
        assert!(matches!(answer, Err(SkipReason::Damaged { .. })), "{answer:?}");
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
}
