//! Runs the local providers by hand, to look at what they read and how long they take:
//! `cargo run --release -p dir2mcp-providers --example models -- ocr FOLDER PICTURE...`

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::error::Error;
use std::ffi::OsString;
use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use model::{Audio, RecognizeInput, Reranker, TextRecognizer, TranscribeInput, Transcriber};
use providers::local::{
    LocalRecognizer, ModelChild, ModelPrograms, PassageModel, PictureModel, SpeechModel, Tesseract,
    TesseractConfig, find_program,
};

const HELP: &str = "\
child KIND FOLDER THREADS     what the others start to run a model
ocr FOLDER PICTURE...         read with the models of the extra `ocr` in FOLDER
tesseract PICTURE...          read with Tesseract
local FOLDER PICTURE...       read with both, as a server does
transcribe FOLDER WAV...      write down 16 kHz mono recordings with the models of an extra for speech
rerank FOLDER QUESTION PASSAGE...
";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        print!("{HELP}");
        return Ok(());
    };
    let paths: Vec<PathBuf> = rest.iter().map(PathBuf::from).collect();
    let mut programs = ModelPrograms::new(std::env::current_exe()?, vec!["child".into()]);
    programs.threads = 1;
    let pictures = |folder: &Path| PictureModel::new(&programs, folder, "pp-ocr");
    match command.to_string_lossy().as_ref() {
        "child" => Ok(ModelChild::open(rest)?.serve(&mut stdin().lock(), &mut stdout().lock(), "")?),
        "ocr" => recognize(&pictures(&paths[0]), &paths[1..]),
        "tesseract" => recognize(&tesseract()?, &paths),
        "local" => recognize(&LocalRecognizer::new(tesseract()?, pictures(&paths[0])), &paths[1..]),
        "transcribe" => transcribe(&SpeechModel::new(&programs, &paths[0], "whisper"), &paths[1..]),
        "rerank" => {
            let texts: Vec<String> =
                rest[1..].iter().map(|text| text.to_string_lossy().into_owned()).collect();
            let passages: Vec<&str> = texts[1..].iter().map(String::as_str).collect();
            let model = PassageModel::new(&programs, &paths[0], "minilm");
            let scores = futures::executor::block_on(model.scores(&texts[0], &passages))?;
            println!("{scores:?}");
            Ok(())
        }
        _ => Err(HELP.into()),
    }
}

fn tesseract() -> Result<Tesseract, Box<dyn Error>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = find_program("tesseract", &path).ok_or("Tesseract is not installed")?;
    Ok(Tesseract::new(TesseractConfig { program, languages: Some("eng".into()), data: None })?)
}

fn recognize(recognizer: &dyn TextRecognizer, pictures: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    for path in pictures {
        let bytes = std::fs::read(path)?;
        let started = Instant::now();
        let input = RecognizeInput::Picture { bytes: &bytes, media_type: "image/png" };
        let pages = futures::executor::block_on(recognizer.recognize(input))?;
        let took = started.elapsed().as_secs_f32();
        for page in pages {
            println!("== {} {took:.2} s, confidence {:?}", path.display(), page.confidence);
            println!("{}", page.text);
        }
    }
    Ok(())
}

fn transcribe(model: &SpeechModel, recordings: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    for path in recordings {
        // 16-bit samples behind a header of 44 bytes.
        let file = std::fs::read(path)?;
        let samples: Vec<f32> = file[44..]
            .as_chunks::<2>()
            .0
            .iter()
            .map(|bytes| f32::from(i16::from_le_bytes(*bytes)) / 32768.0)
            .collect();
        let started = Instant::now();
        let input = TranscribeInput {
            audio: Audio::Samples(&samples),
            language: None,
            timestamps: true,
            on_progress: None,
        };
        let transcript = futures::executor::block_on(model.transcribe(input))?;
        let (took, length) = (started.elapsed().as_secs_f32(), samples.len() as f32 / 16_000.0);
        println!("== {} {took:.2} s for {length:.1} s, {:?}", path.display(), transcript.language);
        for segment in transcript.segments {
            println!("{:>6} {:>6} {}", segment.start_ms, segment.end_ms, segment.text);
        }
    }
    Ok(())
}
