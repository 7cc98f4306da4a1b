//! The child's side: reads what it is sent and answers, one request after the other.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use extract::archive::{Entry, Mode as ArchiveMode};
use extract::picture::PagePicture;
use model::SkipReason;

use super::protocol::{ChildMessage, Header, Job, PictureHead, sample_bytes, send};
use super::{Archive, DocumentReader, InProcess};

/// Answers requests until there are no more. The caller has taken away what the process may do, and says
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
        Job::Pictures(pages) => {
            let mut sent = Ok(());
            let mut visit = |_, picture: Result<PagePicture, SkipReason>| {
                let (head, png) = match picture {
                    Ok(PagePicture { png, width, height, kind }) => {
                        (Ok(PictureHead { width, height, kind }), png)
                    }
                    Err(reason) => (Err(reason), Vec::new()),
                };
                sent = send(to, &ChildMessage::Picture(head), &png);
                if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            reader.page_pictures(format, bytes, &pages, &mut visit);
            sent
        }
        Job::Probe => send(to, &ChildMessage::Recording(reader.recording(format, &name, bytes)), &[]),
        Job::Samples => {
            let mut sent = Ok(());
            let mut visit = |samples: &[f32]| {
                sent = send(to, &ChildMessage::Samples, &sample_bytes(samples));
                if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let heard = reader.samples(format, &name, bytes, &mut visit);
            sent?;
            match heard.transpose() {
                Some(heard) => send(to, &ChildMessage::Recording(heard), &[]),
                None => Err(io::Error::other("the other side broke off")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use extract::{Format, Limits as ExtractLimits};

    use super::super::protocol::{answer, samples_of};
    use super::*;

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
        let png = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
        let (job, name) = (Job::Pictures(vec![1, 2]), String::new());
        send(&mut request, &Header { job, format: Format::Gif, name, limits: limits.clone() }, png).unwrap();
        // Two samples of a recording, at the rate that is wanted.
        let wav = b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\x04\0\0\0\0\x40\0\xc0";
        for job in [Job::Probe, Job::Samples] {
            let header =
                Header { job, format: Format::Wav, name: "a.wav".to_owned(), limits: limits.clone() };
            send(&mut request, &header, wav).unwrap();
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
        let (ChildMessage::Picture(Ok(head)), png) = answer(&mut rest).unwrap() else { panic!() };
        assert_eq!((head.width, head.height, png.starts_with(b"\x89PNG")), (1, 1, true));
        assert!(matches!(answer(&mut rest).unwrap(), (ChildMessage::Picture(Err(_)), _)));
        let (ChildMessage::Recording(Ok(info)), _) = answer(&mut rest).unwrap() else { panic!() };
        assert_eq!((info.sample_rate, info.codec.as_str()), (16_000, "pcm_s16le"));
        let (ChildMessage::Samples, samples) = answer(&mut rest).unwrap() else { panic!() };
        assert_eq!(samples_of(&samples), [0.5, -0.5]);
        assert!(matches!(answer(&mut rest).unwrap(), (ChildMessage::Recording(Ok(_)), _)));
        assert!(rest.is_empty());
    }
}
