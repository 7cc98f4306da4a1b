//! The providers' own client packages against the stand-in servers of `testkit`, so that tests against a stand-in say something
//! about the real service.

use std::process::Command;

use testkit::standins::{Said, StandIn};

use crate::process::{capture, workspace};
use crate::{Args, tools};

/// With `--serve` the stand-ins run until the terminal is closed.
pub(crate) fn run_or_serve(args: &mut Args) -> Result<(), String> {
    let is_serving = args.switch("--serve");
    args.done()?;
    if !is_serving {
        return run();
    }
    let services = start();
    for (name, stand_in) in &services {
        println!("{name}: {} with the key {}", stand_in.url(), stand_in.key());
    }
    println!("End of input ends them.");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(|error| error.to_string())?;
    Ok(())
}

/// Packages: mistralai, elevenlabs, openai and cohere, of the versions in `requirements-providers.txt`.
pub(crate) fn run() -> Result<(), String> {
    let clients = workspace().join("clients/python");
    let python = tools::python("providers", &clients.join("requirements-providers.txt"))?;
    let services = start();
    let mut drive = Command::new(python);
    drive.arg(clients.join("providers.py"));
    for (name, stand_in) in &services {
        drive.arg(format!("--{name}")).arg(stand_in.url()).arg(stand_in.key());
    }
    let done = capture(&mut drive)?;
    let checks = done.stdout.lines().filter(|line| line.starts_with("ok ")).count();
    if done.code != Some(0) || checks < 20 {
        println!("fail mistralai, elevenlabs, openai, cohere (Python)\n{}", done.output());
        return Err("the providers' clients do not understand the stand-ins".to_owned());
    }
    println!("ok   mistralai, elevenlabs, openai, cohere (Python) against the stand-ins: {checks} checks");
    Ok(())
}

/// One stand-in for each service, all of which say the same.
fn start() -> Vec<(&'static str, StandIn)> {
    let services = vec![
        ("mistral", StandIn::mistral()),
        ("elevenlabs", StandIn::elevenlabs()),
        ("openai", StandIn::openai()),
        ("cohere", StandIn::cohere()),
    ];
    for (_, stand_in) in &services {
        stand_in.answer_chat(|_| "The keeper is Ada.".to_owned());
        stand_in.read_pages(|_| Some(SENTENCE.to_owned()));
        stand_in.hear(|_| Some(vec![Said { start_ms: 0, end_ms: 2500, text: SENTENCE.to_owned() }]));
    }
    services
}

/// What stand-ins read in every picture and hear in every recording; the driver expects it.
const SENTENCE: &str = "The lamp was lit at six.";
