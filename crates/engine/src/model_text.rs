//! The one way of text to a language model, and how long one is waited for.

use std::time::Duration;

use model::{
    ChatAnswer, ChatModel, ChatRequest, ErrorCode, Failure, Provider, ProviderError, ProviderErrorKind,
    ProviderFault,
};
use policy::Redactor;
use retrieve::fence::Fence;

use crate::call::Call;

/// How long a model may take for one answer. Tools that ask one allow their callers more.
pub(crate) const CHAT_WAIT: Duration = Duration::from_secs(100);

/// Text as a model may read it: what must not be shown is blanked, and hidden characters are gone, so that it reads what a
/// person would see.
pub(crate) fn cleaned(redactor: &Redactor, text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    policy::without_hidden(&redactor.redact(&lines)).into_owned()
}

/// Fences that no file can know.
pub(crate) fn new_fence() -> Result<Fence, Failure> {
    let mut drawn = [0u8; 12];
    getrandom::fill(&mut drawn).map_err(|error| {
        Failure::new(ErrorCode::InternalError, "the system gives no random bytes")
            .because(std::io::Error::other(error.to_string()))
    })?;
    Ok(Fence::new(drawn))
}

/// The failure of a provider for which no contract has a code of its own.
pub(crate) fn failure_of(error: &ProviderError) -> Failure {
    let fault = match error.kind {
        ProviderErrorKind::Auth => ProviderFault::Auth,
        ProviderErrorKind::RateLimited { .. } | ProviderErrorKind::Paused { .. } => ProviderFault::RateLimit,
        _ => ProviderFault::Failed,
    };
    error.failure(ErrorCode::Provider(Provider::Other, fault))
}

/// Asks a model. The outer failure is the caller's end: it cancelled, or its time is over.
pub(crate) async fn converse(
    call: &Call,
    chat: &dyn ChatModel,
    request: &ChatRequest,
    on_text: Option<&(dyn Fn(&str) + Send + Sync)>,
) -> Result<Result<ChatAnswer, ProviderError>, Failure> {
    let asked = tokio::time::timeout(CHAT_WAIT, chat.chat(request, on_text));
    tokio::select! {
        biased;
        failure = call.ended() => Err(failure),
        done = asked => Ok(done.unwrap_or_else(|_| {
            let reason = format!("no answer within {} s", CHAT_WAIT.as_secs());
            Err(ProviderError::new(chat.provider(), ProviderErrorKind::Unreachable { reason }))
        })),
    }
}
