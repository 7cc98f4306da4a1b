//! Killed in the middle of paid work and started again: what was bought is not bought a second time.

use std::collections::HashMap;

use testkit::standins::{Counts, Fault, SeenRequest, StandIn};
use testkit::{Folder, Program};

use super::{mistral, wait_read, with_mistral};

/// Texts, pages and recordings of one batch, as the page about providers says.
const BATCH_OF_TEXTS: usize = 128;
const BATCH_OF_PAGES: usize = 32;
const BATCH_OF_RECORDINGS: usize = 1;

/// Starts a server, kills it in the middle of the work while `under_way` more requests wait for their answers, starts
/// another one and lets it finish.
fn killed_in_the_middle(
    program: &Program,
    mistral: &StandIn,
    in_the_middle: impl Fn(&Counts) -> bool,
    under_way: usize,
) {
    let server = program.serve(&[]);
    mistral.wait_until(in_the_middle);
    mistral.always(Some(Fault::WaitAtGate));
    let sent = mistral.counts().requests;
    mistral.wait_until(|counts| counts.requests >= sent + under_way);
    server.kill();
    mistral.always(None);
    mistral.open_gate();
    let server = program.serve(&[]);
    wait_read(&server);
    server.stop().expect(0);
}

/// How many different things were sent, and how many of them more than once, each time counted.
fn sent(mistral: &StandIn, things: impl Fn(&SeenRequest) -> Vec<String>) -> (usize, usize) {
    let mut times: HashMap<String, usize> = HashMap::new();
    for thing in mistral.requests().iter().flat_map(things) {
        *times.entry(thing).or_default() += 1;
    }
    (times.len(), times.values().map(|times| times - 1).sum())
}

#[test]
fn d099_a_thousand_embeddings_repeat_at_most_one_batch() {
    let (folder, mistral) = (Folder::empty(), StandIn::mistral());
    for number in 0..1000 {
        folder.write(
            &format!("notes/{number}.md"),
            format!("# Note {number}\n\nEntry number {number} of the log.\n"),
        );
    }
    let program = with_mistral(&folder, &mistral);
    killed_in_the_middle(&program, &mistral, |counts| counts.inputs >= 300, 4);
    let (different, repeated) = sent(&mistral, |request| {
        let texts = request.json()["input"].as_array().cloned().unwrap_or_default();
        texts.iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
    });
    assert!(different >= 1000, "{different}");
    assert!(repeated > 0, "nothing was under way");
    assert!(repeated <= BATCH_OF_TEXTS, "{repeated} texts were sent again");
}

#[test]
fn d094_a_thousand_scanned_pages_repeat_at_most_one_batch() {
    let (folder, mistral) = (Folder::empty(), mistral());
    for number in 0..25 {
        folder.write(&format!("scans/{number}.pdf"), scanned_pages(40, number));
    }
    let program = with_mistral(&folder, &mistral).env("DIR2MCP_EMBED_PROVIDER", "builtin");
    killed_in_the_middle(&program, &mistral, |counts| counts.pages >= 300, 1);
    let (different, repeated) = sent(&mistral, |request| {
        let body = request.json();
        let pages = body["pages"].as_array().cloned().unwrap_or_default();
        pages.iter().map(|page| format!("{page} of {}", body["document"]["document_url"])).collect()
    });
    assert_eq!(different, 1000);
    assert!(repeated > 0, "nothing was under way");
    assert!(repeated <= BATCH_OF_PAGES, "{repeated} pages were sent again");
}

#[test]
fn d095_a_thousand_recordings_repeat_at_most_one_batch() {
    let (folder, mistral) = (Folder::empty(), mistral());
    for number in 0..1000 {
        folder.write(&format!("talks/{number}.wav"), recording(number));
    }
    let program = with_mistral(&folder, &mistral).env("DIR2MCP_EMBED_PROVIDER", "builtin");
    killed_in_the_middle(&program, &mistral, |counts| counts.stt_calls >= 300, 1);
    let (different, repeated) = sent(&mistral, |request| {
        request.file().map(|file| format!("{:?}", file.value)).into_iter().collect()
    });
    assert_eq!(different, 1000);
    assert!(repeated > 0, "nothing was under way");
    assert!(repeated <= BATCH_OF_RECORDINGS, "{repeated} recordings were sent again");
}

/// A PDF whose pages are nothing but a picture; another `number` makes another picture.
fn scanned_pages(pages: usize, number: u8) -> Vec<u8> {
    const SIDE: usize = 64;
    let mut picture = vec![255; SIDE * SIDE];
    for row in (8..SIDE - 8).step_by(4) {
        picture[row * SIDE + 8..row * SIDE + 56].fill(number);
    }
    let pages_object = 4 + pages;
    let mut objects: Vec<Vec<u8>> = vec![
        format!("<< /Type /Catalog /Pages {pages_object} 0 R >>").into(),
        {
            let head = format!(
                "<< /Type /XObject /Subtype /Image /Width {SIDE} /Height {SIDE} /ColorSpace /DeviceGray \
                 /BitsPerComponent 8 /Length {} >>\nstream\n",
                picture.len()
            );
            [head.as_bytes(), &picture, b"\nendstream"].concat()
        },
        b"<< /Length 26 >>\nstream\nq 595 0 0 842 0 0 cm /I Do Q\nendstream".to_vec(),
    ];
    for _ in 0..pages {
        objects.push(
            format!(
                "<< /Type /Page /Parent {pages_object} 0 R /MediaBox [0 0 595 842] \
                 /Resources << /XObject << /I 2 0 R >> >> /Contents 3 0 R >>"
            )
            .into(),
        );
    }
    let kids: String = (0..pages).map(|page| format!("{} 0 R ", page + 4)).collect();
    objects.push(format!("<< /Type /Pages /Count {pages} /Kids [{kids}] >>").into());
    let mut pdf = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(pdf.len());
        pdf.extend(format!("{} 0 obj\n", number + 1).bytes());
        pdf.extend(object);
        pdf.extend(b"\nendobj\n");
    }
    let table = pdf.len();
    pdf.extend(format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1).bytes());
    for place in &places {
        pdf.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = places.len() + 1;
    pdf.extend(format!("trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes());
    pdf
}

/// A tenth of a second of sound; another `number` makes another sound.
fn recording(number: u16) -> Vec<u8> {
    let samples: Vec<u8> = (0..1600_u16).flat_map(|at| (at % 40 * (number + 1)).to_le_bytes()).collect();
    let size = samples.len() as u32;
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend((36 + size).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16_u32.to_le_bytes());
    wav.extend([1_u16, 1].map(u16::to_le_bytes).concat());
    wav.extend([16_000_u32, 32_000].map(u32::to_le_bytes).concat());
    wav.extend([2_u16, 16].map(u16::to_le_bytes).concat());
    wav.extend(b"data");
    wav.extend(size.to_le_bytes());
    wav.extend(samples);
    wav
}
