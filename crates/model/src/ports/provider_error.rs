//! Why a provider outside this process did not do what it was asked.

use std::time::Duration;

use crate::{ErrorCode, Failure, Provider, ProviderFault};

/// The kind decides what the caller does next; provider and details are for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {kind}")]
pub struct ProviderError {
    /// Its name in the configuration, such as `mistral`.
    pub provider: String,
    pub kind: ProviderErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderErrorKind {
    /// The key is missing, wrong or not entitled to this. Asking again with the same key is useless.
    #[error("the key was not accepted")]
    Auth,
    /// Too many requests. The provider may have said when the next one is welcome.
    #[error("too many requests{}", told(.after))]
    RateLimited { after: Option<Duration> },
    /// The provider will not process this input, however often it is asked; another input may pass.
    #[error("the request was refused: {reason}")]
    Refused { reason: String },
    /// No answer came: the network, a timeout, an error inside the provider.
    #[error("no answer: {reason}")]
    Unreachable { reason: String },
    /// An answer came that is not what was asked for.
    #[error("the answer is not usable: {reason}")]
    BadAnswer { reason: String },
    /// A limit of the user's own is used up, or the provider failed so often that it is left alone for a while.
    #[error("paused for {} s: {reason}", .after.as_secs())]
    Paused { after: Duration, reason: String },
}

impl ProviderError {
    pub fn new(provider: impl Into<String>, kind: ProviderErrorKind) -> ProviderError {
        ProviderError { provider: provider.into(), kind }
    }

    /// What a caller is told, with what to do about it. `otherwise` is the code where the fault is not the provider's own,
    /// and where the contract has none for this provider.
    pub fn failure(&self, otherwise: ErrorCode) -> Failure {
        use ProviderErrorKind::{Auth, BadAnswer, Paused, RateLimited, Refused, Unreachable};
        let fault = match &self.kind {
            Auth => Some(ProviderFault::Auth),
            RateLimited { .. } | Paused { .. } => Some(ProviderFault::RateLimit),
            Unreachable { .. } | BadAnswer { .. } => Some(ProviderFault::Failed),
            Refused { .. } => None,
        };
        let named = match self.provider.as_str() {
            "mistral" => Some(Provider::Mistral),
            "elevenlabs" => Some(Provider::Elevenlabs),
            _ => None,
        };
        let code =
            named.zip(fault).map_or(otherwise, |(provider, fault)| ErrorCode::Provider(provider, fault));
        let provider = &self.provider;
        let remedy = match &self.kind {
            Auth => format!(
                "Check the key of {provider} (`dir2mcp doctor` tells where it comes from), then start again."
            ),
            RateLimited { .. } => "Wait a little, then ask again.".to_owned(),
            Paused { after, .. } => format!("Ask again in {} s, or raise limits.spend.", after.as_secs()),
            Refused { .. } => "Another provider or model may accept it.".to_owned(),
            Unreachable { .. } => format!("Check the network and the address of {provider}, then ask again."),
            BadAnswer { .. } => {
                format!("Ask again; if it stays so, check the model that is set for {provider}.")
            }
        };
        Failure::new(code, self.to_string()).hint(remedy)
    }
}

fn told(after: &Option<Duration>) -> String {
    after.map_or_else(String::new, |after| format!("; the next one may come in {} s", after.as_secs_f32()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_provider_and_the_facts() {
        let message = |kind| ProviderError::new("mistral", kind).to_string();
        assert_eq!(message(ProviderErrorKind::Auth), "mistral: the key was not accepted");
        let after = Some(Duration::from_millis(1500));
        assert_eq!(
            message(ProviderErrorKind::RateLimited { after }),
            "mistral: too many requests; the next one may come in 1.5 s"
        );
        assert_eq!(message(ProviderErrorKind::RateLimited { after: None }), "mistral: too many requests");
    }
    #[test]
    fn d140_d141_the_code_tells_whose_fault_it_is() {
        let code = |provider: &str, kind| {
            let failure = ProviderError::new(provider, kind).failure(ErrorCode::OcrFailed);
            assert!(failure.hint.is_some());
            failure.code.as_str()
        };
        let refused = || ProviderErrorKind::Refused { reason: "too dark".to_owned() };
        let limited = || ProviderErrorKind::RateLimited { after: None };
        assert_eq!(code("mistral", ProviderErrorKind::Auth), "MISTRAL_AUTH");
        assert_eq!(code("elevenlabs", limited()), "ELEVENLABS_RATE_LIMIT");
        assert_eq!(code("mistral", ProviderErrorKind::BadAnswer { reason: String::new() }), "MISTRAL_FAILED");
        assert_eq!(code("mistral", refused()), "OCR_FAILED");
        assert_eq!(code("local", limited()), "OCR_FAILED");
    }
}
