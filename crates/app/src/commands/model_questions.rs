//! The wizard's questions about models: a server that was found on this machine, or a service.

use providers::EmbedModel;

use super::config_init::Answers;
use crate::capabilities::{Capabilities, Machine};
use crate::config::Loaded;
use crate::config::keys::Key;
use crate::config::settings::ProviderChoice;
use crate::config::value::ConfigValue;
use crate::exit::Exit;
use crate::local_servers::LocalServer;
use crate::print::prompt::{Prompter, confirm};
use crate::print::safe;

/// Models that are listed for a server; the rest is counted.
const SHOWN: usize = 5;

/// A service, and what it can do here.
const SERVICES: [(&str, &[Key]); 2] = [
    ("mistral", &[Key::EmbedProvider, Key::ChatProvider, Key::OcrProvider, Key::SttProvider]),
    ("openai", &[Key::EmbedProvider, Key::ChatProvider, Key::SttProvider]),
];

pub(super) fn ask(
    loaded: &Loaded,
    found: &Capabilities,
    servers: &[LocalServer],
    prompter: &mut dyn Prompter,
) -> Result<Answers, Exit> {
    prompter.say(&format!("\nModels now:\n{}", summary(found)))?;
    for server in servers {
        let answers = offer(server, prompter)?;
        if !answers.is_empty() {
            return Ok(answers);
        }
    }
    service(loaded, found, prompter)
}

/// Who does what, a line each, and how to get what is missing.
fn summary(found: &Capabilities) -> String {
    let row = |name: &str, who: &str| format!("  {name:<11} {who}\n");
    let or = |provider: ProviderChoice, builtin: &'static str, off: &'static str| match provider {
        ProviderChoice::Builtin => builtin,
        ProviderChoice::Off => off,
        other => other.as_str(),
    };
    [
        row("vectors", or(found.embed.usable(), "built in", "off")),
        row("answers", or(found.chat.usable(), "sentences quoted from the files", "off")),
        row("scans", or(found.ocr.usable(), "", "not read (install Tesseract, or dir2mcp extras add ocr)")),
        row("recordings", or(found.stt.usable(), "", "not read (dir2mcp extras add speech)")),
    ]
    .concat()
}

/// Asks whether to use a server on this machine, and with which models.
fn offer(server: &LocalServer, prompter: &mut dyn Prompter) -> Result<Answers, Exit> {
    let shown: Vec<_> = server.models.iter().take(SHOWN).map(|model| safe(model)).collect();
    let more = match server.models.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    prompter.say(&format!(
        "\n{} answers at {} with {}{more}.\n",
        server.name,
        server.base_url,
        if shown.is_empty() { "no models".to_owned() } else { shown.join(", ") }
    ))?;
    let text = |text: &str| ConfigValue::Text(text.to_owned());
    let mut answers = Answers::new();
    if let Some(model) = server.chat_model()
        && confirm(prompter, "Let it write answers? [y/N] ")?
    {
        let chosen = prompter.ask(&format!("Model, openai.chat_model [{}]: ", safe(model)))?;
        let chosen = if chosen.trim().is_empty() { model } else { chosen.trim() };
        answers.push((Key::OpenaiChatModel, text(chosen)));
        answers.push((Key::ChatProvider, text("openai")));
    }
    if let Some(model) = server.embedding_model()
        && confirm(prompter, &format!("Let it make vectors with {}? [y/N] ", safe(model)))?
    {
        let known = EmbedModel::known_dimensions(model);
        let dimensions = if known.is_none() { server.dimensions(model) } else { None };
        match (known, dimensions) {
            (None, None) => prompter.say("  It gave no vector for a test; vectors stay as they are.\n")?,
            (_, measured) => {
                answers.push((Key::OpenaiEmbedModel, text(model)));
                answers.extend(
                    measured.map(|length| (Key::OpenaiEmbedDimensions, ConfigValue::Int(length as u64))),
                );
                answers.push((Key::EmbedProvider, text("openai")));
            }
        }
    }
    if !answers.is_empty() {
        answers.insert(0, (Key::OpenaiBaseUrl, text(&server.base_url)));
    }
    Ok(answers)
}

fn service(loaded: &Loaded, found: &Capabilities, prompter: &mut dyn Prompter) -> Result<Answers, Exit> {
    prompter.say(
        "\nA service is sent the texts, scans and recordings of this folder that it is to work on, and is paid for it.\n",
    )?;
    loop {
        let answer = prompter.ask("Use a service: none, mistral or openai [as it is]: ")?;
        let answer = answer.trim().to_ascii_lowercase();
        if answer.is_empty() {
            return Ok(Answers::new());
        }
        if answer == "none" {
            return Ok(without_services(loaded, &found.machine));
        }
        if let Some((name, keys)) = SERVICES.iter().find(|(name, _)| *name == answer) {
            return Ok(keys.iter().map(|key| (*key, ConfigValue::Text((*name).to_owned()))).collect());
        }
        prompter.say("  expected none, mistral or openai\n")?;
    }
}

/// Keeps everything on this machine, whatever keys there are.
fn without_services(loaded: &Loaded, machine: &Machine) -> Answers {
    let local = |is_there: bool| if is_there { "local" } else { "off" };
    [
        (Key::EmbedProvider, "builtin"),
        (Key::ChatProvider, "builtin"),
        (Key::OcrProvider, local(machine.tesseract.is_some() || machine.ocr_extra)),
        (Key::SttProvider, local(machine.speech_extra.is_some())),
        (Key::RerankProvider, local(machine.rerank_extra)),
        (Key::TtsProvider, "off"),
    ]
    .into_iter()
    .filter(|(key, _)| {
        let is_local = |text: &str| ["builtin", "local", "off", "tesseract"].contains(&text);
        !is_local(loaded.values.text(*key))
    })
    .map(|(key, choice)| (key, ConfigValue::Text(choice.to_owned())))
    .collect()
}
