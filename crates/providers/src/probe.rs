//! One cheap question to a provider, for `doctor`: does it answer, is the key good, are the models there?

use std::fmt;
use std::time::Duration;

use model::{ProviderError, ProviderErrorKind};
use serde_json::Value;

use crate::http::{HttpCall, ProviderEndpoint};

const DEADLINE: Duration = Duration::from_secs(10);

/// What the question showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderProbe {
    /// Its name in the configuration and in errors.
    pub provider: String,
    /// Its base URL, or its program.
    pub place: String,
    pub failure: Option<ProviderError>,
    /// What the user can do; nothing where all is well.
    pub remedies: Vec<ProviderRemedy>,
}

/// What a user can do about a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderRemedy {
    /// The key is missing, wrong or expired.
    CheckKey,
    /// Nothing answers there, or something else does.
    CheckAddress,
    /// It is busy, or its account is empty.
    Wait,
    /// It does not offer this model.
    ChooseModel(String),
    /// The key travels unencrypted.
    UseHttps,
    /// The program is not there or fails.
    CheckProgram,
}

impl ProviderProbe {
    pub fn is_fine(&self) -> bool {
        self.remedies.is_empty()
    }
}

impl fmt::Display for ProviderRemedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProviderRemedy::CheckKey => f.write_str("set a valid key; this one was not accepted"),
            ProviderRemedy::CheckAddress => {
                f.write_str("check the base URL, the network and the proxy; for a local server, start it")
            }
            ProviderRemedy::Wait => f.write_str("wait, or look at the account's limits and credit"),
            ProviderRemedy::ChooseModel(model) => {
                write!(f, "choose another model, or install {model} on the server: it does not offer it")
            }
            ProviderRemedy::UseHttps => f.write_str("use an https base URL: the key is sent unencrypted"),
            ProviderRemedy::CheckProgram => f.write_str("check that the program is installed and runs"),
        }
    }
}

/// Asks for the list of models.
pub(crate) async fn probe_models(endpoint: &ProviderEndpoint, path: &str, wanted: &[&str]) -> ProviderProbe {
    let call = HttpCall::get(path).within(DEADLINE).at_most_tries(1);
    let (failure, mut remedies) = match endpoint.bytes(call).await {
        Ok(answer) => (None, missing(&answer, wanted)),
        // It answers, but has no such list.
        Err(ProviderError { kind: ProviderErrorKind::Refused { reason }, .. }) if has_no_list(&reason) => {
            (None, Vec::new())
        }
        Err(error) => {
            let remedy = match &error.kind {
                ProviderErrorKind::Auth => ProviderRemedy::CheckKey,
                ProviderErrorKind::RateLimited { .. } | ProviderErrorKind::Paused { .. } => {
                    ProviderRemedy::Wait
                }
                ProviderErrorKind::Refused { .. }
                | ProviderErrorKind::Unreachable { .. }
                | ProviderErrorKind::BadAnswer { .. } => ProviderRemedy::CheckAddress,
            };
            (Some(error), vec![remedy])
        }
    };
    if endpoint.sends_key_in_the_clear() {
        remedies.push(ProviderRemedy::UseHttps);
    }
    ProviderProbe {
        provider: endpoint.provider().to_owned(),
        place: endpoint.address().as_str().to_owned(),
        failure,
        remedies,
    }
}

fn has_no_list(reason: &str) -> bool {
    ["HTTP 404", "HTTP 405", "HTTP 501"].iter().any(|status| reason.starts_with(status))
}

/// The models that are wanted and not offered. An answer that is not understood says nothing about them.
fn missing(answer: &[u8], wanted: &[&str]) -> Vec<ProviderRemedy> {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        // A page of a proxy or of another server.
        return vec![ProviderRemedy::CheckAddress];
    };
    let list = [&answer["data"], &answer["models"], &answer].into_iter().find_map(Value::as_array);
    let Some(list) = list.filter(|list| !list.is_empty()) else { return Vec::new() };
    let mut offered: Vec<&str> = Vec::new();
    for model in list {
        offered.extend(["id", "name", "model_id"].iter().filter_map(|field| model[*field].as_str()));
        offered.extend(model["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str));
    }
    let is_offered = |name: &str| {
        // Ollama adds a tag to every name.
        offered.iter().any(|model| *model == name || model.strip_suffix(":latest") == Some(name))
    };
    let absent = wanted.iter().filter(|name| !is_offered(name));
    absent.map(|name| ProviderRemedy::ChooseModel((*name).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_are_not_offered() {
        let choose = |name: &str| vec![ProviderRemedy::ChooseModel(name.to_owned())];
        let mistral =
            br#"{"object":"list","data":[{"id":"mistral-small-2603","aliases":["mistral-small-latest"]}]}"#;
        assert_eq!(missing(mistral, &["mistral-small-latest", "x"]), choose("x"));
        let ollama = br#"{"data":[{"id":"nomic-embed-text:latest"}]}"#;
        assert_eq!(missing(ollama, &["nomic-embed-text", "llama3"]), choose("llama3"));
        assert_eq!(missing(br#"[{"model_id":"eleven_v3"}]"#, &["eleven_v3"]), []);
        assert_eq!(missing(br#"{"models":[{"name":"rerank-v3.5"}]}"#, &["rerank-v3.5"]), []);
        assert_eq!(missing(br#"{"data":[]}"#, &["x"]), [], "an empty list says nothing");
        assert_eq!(missing(b"<html>", &[]), [ProviderRemedy::CheckAddress]);
    }
}
