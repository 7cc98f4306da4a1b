//! Which services a run uses, for whoever starts it: where texts go is said, not found out.

use model::{Capability, ProviderError, ProviderErrorKind};
use serde_json::{Value, json};

use super::safe;
use crate::config::Loaded;
use crate::config::settings::ProviderChoice;
use crate::secrets::SecretName;

/// A service, where it is, and what it is asked for.
struct UsedService {
    name: &'static str,
    host: String,
    tasks: Vec<&'static str>,
}

/// One sentence, or nothing where every provider is on this machine.
pub(crate) fn sentence(loaded: &Loaded) -> Option<String> {
    let used = used(loaded);
    let services: Vec<String> = used
        .iter()
        .map(|service| format!("{} at {} ({})", service.name, safe(&service.host), service.tasks.join(", ")))
        .collect();
    (!services.is_empty()).then(|| services.join("; "))
}

/// The data of the `services` event.
pub(crate) fn event(loaded: &Loaded) -> Value {
    let services = used(loaded);
    json!({
        "services": services
            .iter()
            .map(|service| json!({ "name": service.name, "host": service.host, "tasks": service.tasks }))
            .collect::<Vec<_>>(),
    })
}

fn used(loaded: &Loaded) -> Vec<UsedService> {
    let mut used: Vec<UsedService> = Vec::new();
    let former = &loaded.capabilities.former_embed;
    let former = former.iter().map(|former| (&former.assignment, "questions to its former vectors"));
    let present = loaded.capabilities.all().map(|assignment| (assignment, task(assignment.capability)));
    for (assignment, task) in present.into_iter().chain(former) {
        let Some(url) = base_url(loaded, assignment.usable()) else { continue };
        let name = assignment.provider.as_str();
        match used.iter_mut().find(|service| service.name == name) {
            Some(service) => service.tasks.push(task),
            None => used.push(UsedService { name, host: host(url).to_owned(), tasks: vec![task] }),
        }
    }
    used
}

/// A message of the engine, with what to do where a service refused its key.
pub(crate) fn with_remedy(message: &str) -> String {
    let refused = SecretName::ALL.into_iter().find(|name| {
        name.provider().is_some_and(|provider| {
            message.contains(&ProviderError::new(provider, ProviderErrorKind::Auth).to_string())
        })
    });
    match refused {
        Some(name) => format!("{message}; set a valid {} and start again", name.variable()),
        None => message.to_owned(),
    }
}

/// What a capability is for, in the words of people who do not know the names of the settings.
pub(crate) fn task(capability: Capability) -> &'static str {
    match capability {
        Capability::Embed => "vectors",
        Capability::Chat => "answers",
        Capability::Ocr => "scans",
        Capability::Stt => "recordings",
        Capability::Rerank => "ranking",
        Capability::Tts => "speech",
    }
}

/// The address of a provider that is asked over HTTP.
pub(crate) fn base_url(loaded: &Loaded, provider: ProviderChoice) -> Option<&str> {
    let models = &loaded.settings.models;
    match provider {
        ProviderChoice::Mistral => Some(&models.mistral.base_url),
        ProviderChoice::Openai => Some(&models.openai.base_url),
        ProviderChoice::Elevenlabs => Some(&models.elevenlabs.base_url),
        ProviderChoice::Cohere => Some(&models.cohere.base_url),
        _ => None,
    }
}

/// Host and port of a URL that was checked.
pub(crate) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::{Capabilities, Machine};
    use crate::config::tests::load_in;

    #[test]
    fn a_refused_key_comes_with_its_variable() {
        let told = with_remedy("some passages have no vectors yet (openai: the key was not accepted)");
        assert!(told.ends_with("; set a valid OPENAI_API_KEY and start again"), "{told}");
        assert_eq!(with_remedy("mistral: too many requests"), "mistral: too many requests");
    }

    #[test]
    fn services_are_named_with_what_they_are_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let said = |env: &[(&str, &str)]| {
            let mut loaded = load_in(dir.path(), &["up"], env).unwrap();
            loaded.capabilities = Capabilities::resolve(&loaded, Machine::default()).unwrap();
            sentence(&loaded)
        };
        assert_eq!(said(&[]), None);
        assert_eq!(
            said(&[("MISTRAL_API_KEY", "k"), ("COHERE_API_KEY", "k")]).unwrap(),
            "mistral at api.mistral.ai (vectors, answers, scans, recordings); cohere at api.cohere.com (ranking)"
        );
        let own = [
            ("DIR2MCP_OPENAI_BASE_URL", "http://127.0.0.1:11434/v1"),
            ("DIR2MCP_OPENAI_CHAT_MODEL", "llama3.2"),
        ];
        assert_eq!(said(&own).unwrap(), "openai at 127.0.0.1:11434 (answers)");
    }
}
