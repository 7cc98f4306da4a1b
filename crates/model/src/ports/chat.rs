//! The port behind which a language model writes answers.

use serde_json::Value;

use super::ProviderFuture;

/// A language model that continues a conversation.
pub trait ChatModel: Send + Sync {
    /// Its name in the configuration and in errors.
    fn provider(&self) -> &str;

    fn model(&self) -> &str;

    /// Answers the request. `on_text` gets each piece of the answer as it arrives; together they are the answer's text.
    /// Dropping the future ends the request.
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
        on_text: Option<&'a (dyn Fn(&str) + Send + Sync)>,
    ) -> ProviderFuture<'a, ChatAnswer>;
}

/// What is asked of a language model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatRequest {
    /// What the program wants of the model; text of documents never belongs here.
    pub system: String,
    /// The conversation, oldest first; the last one is the user's.
    pub messages: Vec<ChatMessage>,
    /// Tokens that the answer may have.
    pub max_tokens: Option<u32>,
    /// Where the answer has to be JSON of this schema.
    pub schema: Option<AnswerSchema>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    pub role: ChatRole,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatRole {
    User,
    Assistant,
}

/// The JSON that an answer has to be. The caller still checks the answer against it.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSchema {
    /// Letters, digits and underscores.
    pub name: String,
    pub schema: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatAnswer {
    pub text: String,
    /// The model stopped because it was allowed no more tokens.
    pub is_cut: bool,
    /// Zero where the provider does not say.
    pub tokens_in: u64,
    pub tokens_out: u64,
}
