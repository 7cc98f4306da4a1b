//! What `doctor` says of models: every service is asked once, every program and extra is looked at.

use model::{Capability, DocType};
use providers::extras::ExtraState;

use super::DoctorCheck;
use crate::capabilities::{Assignment, Capabilities, Lack, NO_LOCAL_OCR};
use crate::config::Loaded;
use crate::config::keys::KeySpec;
use crate::config::settings::ProviderChoice;
use crate::print::services::{base_url, task};
use crate::secrets::Secret;
use crate::wire;

pub(super) fn checks(loaded: &mut Loaded) -> Vec<DoctorCheck> {
    match wire::capabilities(loaded) {
        Ok(found) => loaded.capabilities = found,
        Err(exit) => {
            let remedy = "Repair the keychain or the secrets file, or set the key in the environment.";
            return vec![DoctorCheck::broken("keys", exit.messages.join("; "), remedy)];
        }
    }
    let found = &loaded.capabilities;
    let mut checks: Vec<DoctorCheck> = found
        .all()
        .into_iter()
        .filter(|assignment| base_url(loaded, assignment.usable()).is_none())
        .map(|assignment| on_this_machine(loaded, found, assignment))
        .collect();
    checks.extend(services(loaded, found).iter().map(|service| asked(loaded, service)));
    checks.extend(extras(loaded));
    checks
}

/// A capability that no service serves.
fn on_this_machine(loaded: &Loaded, found: &Capabilities, assignment: &Assignment) -> DoctorCheck {
    let name = task(assignment.capability);
    let key = KeySpec::of(assignment.key).path;
    if let Some(lack) = &assignment.lacks {
        let detail = format!("{key}: {} cannot be used", assignment.provider.as_str());
        return DoctorCheck::broken(
            name,
            detail,
            match lack {
                Lack::Secret(secret) => format!("Set {}, or run: dir2mcp config init", secret.variable()),
                Lack::Means(sentence) => sentence.clone(),
            },
        );
    }
    match (assignment.provider, assignment.capability) {
        (ProviderChoice::Builtin, Capability::Chat) => {
            DoctorCheck::fine(name, "quoted from the files; no chat model is set")
        }
        (ProviderChoice::Builtin, _) => DoctorCheck::fine(name, "built in"),
        (ProviderChoice::Off, Capability::Ocr) if !assignment.is_named => unread(
            loaded,
            name,
            &[DocType::Image, DocType::Pdf],
            "images and scanned pages are not read",
            &format!("{NO_LOCAL_OCR}. Or set a key of Mistral."),
        ),
        (ProviderChoice::Off, Capability::Stt) if !assignment.is_named => unread(
            loaded,
            name,
            &[DocType::Audio],
            "recordings are not transcribed",
            "Run: dir2mcp extras add speech. Or set a key of Mistral, ElevenLabs or OpenAI.",
        ),
        (ProviderChoice::Off, _) => DoctorCheck::fine(name, "off"),
        _ => local(loaded, found, assignment),
    }
}

/// A notice only where there is something to read.
fn unread(loaded: &Loaded, name: &'static str, types: &[DocType], detail: &str, remedy: &str) -> DoctorCheck {
    match types.iter().any(|doc_type| wire::holds(&loaded.settings, *doc_type)) {
        true => DoctorCheck::notice(name, detail, remedy),
        false => DoctorCheck::fine(name, format!("{detail}; there are none")),
    }
}

/// A program or an extra: it is started once.
fn local(loaded: &Loaded, found: &Capabilities, assignment: &Assignment) -> DoctorCheck {
    let name = task(assignment.capability);
    let made = wire::local_provider(loaded, assignment);
    match made {
        Ok(model) => DoctorCheck::fine(name, model),
        Err(exit) => {
            let remedy = match (&found.machine.tesseract, assignment.capability) {
                (Some(_), Capability::Ocr) => {
                    "Check ocr.language and the language data of Tesseract (tesseract --list-langs)."
                }
                _ => "Check the program, or choose another provider.",
            };
            DoctorCheck::broken(name, exit.messages.join("; "), remedy)
        }
    }
}

/// A service with all that it is used for.
struct UsedService<'a> {
    assignment: &'a Assignment,
    secret: Option<&'a Secret>,
    tasks: Vec<&'static str>,
    models: Vec<String>,
}

/// Services, one for each key.
fn services<'a>(loaded: &'a Loaded, found: &'a Capabilities) -> Vec<UsedService<'a>> {
    let mut services: Vec<UsedService<'a>> = Vec::new();
    for assignment in found.all() {
        if base_url(loaded, assignment.usable()).is_none() {
            continue;
        }
        let (secret, models) = (assignment.secret.as_ref(), wire::models_of(loaded, assignment));
        let known = services
            .iter_mut()
            .find(|service| service.assignment.provider == assignment.provider && service.secret == secret);
        match known {
            Some(service) => {
                service.tasks.push(task(assignment.capability));
                service.models.extend(models);
            }
            None => services.push(UsedService {
                assignment,
                secret,
                tasks: vec![task(assignment.capability)],
                models,
            }),
        }
    }
    services
}

fn asked(loaded: &Loaded, service: &UsedService<'_>) -> DoctorCheck {
    let name = service.assignment.provider.as_str();
    let mut models: Vec<&str> = service.models.iter().map(String::as_str).collect();
    models.dedup();
    let probe = match wire::probe(loaded, service.assignment, &models) {
        Ok(probe) => probe,
        Err(exit) => return DoctorCheck::broken(name, exit.messages.join("; "), exit.hints.join(" ")),
    };
    let what = format!("{} for {} ({})", probe.place, service.tasks.join(", "), models.join(", "));
    let remedies: Vec<String> = probe.remedies.iter().map(ToString::to_string).collect();
    match probe.failure {
        Some(failure) => DoctorCheck::broken(name, format!("{what}: {failure}"), remedies.join("; ")),
        None if probe.remedies.is_empty() => DoctorCheck::fine(name, what),
        None => DoctorCheck::notice(name, what, remedies.join("; ")),
    }
}

/// Extras that are there but cannot be used.
fn extras(loaded: &Loaded) -> Vec<DoctorCheck> {
    let Some(store) = wire::extras(loaded) else { return Vec::new() };
    let listings = store.list();
    let installed: Vec<&str> = listings
        .iter()
        .filter(|listing| listing.state == ExtraState::Installed)
        .map(|listing| listing.extra.name)
        .collect();
    let mut checks = vec![DoctorCheck::fine(
        "extras",
        match installed.is_empty() {
            true => "none; `dir2mcp extras` lists them".to_owned(),
            false => installed.join(", "),
        },
    )];
    for listing in &listings {
        if matches!(listing.state, ExtraState::Outdated | ExtraState::Damaged) {
            let name = listing.extra.name;
            let detail = format!("{name} is {}", listing.state.as_str());
            checks.push(DoctorCheck::broken("extras", detail, format!("dir2mcp extras add {name}")));
        }
    }
    checks
}
