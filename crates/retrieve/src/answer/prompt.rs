//! The question as a language model gets it: the operator's words and our rules, the question, the fenced sources.

use model::{ChatMessage, ChatRequest, ChatRole};

use super::sources::PackedSource;
use crate::fence::{Fence, harmless};

/// Tokens that an answer may have: some 700 words.
pub const ANSWER_TOKENS: u32 = 1024;

/// What a model writes where the sources do not answer.
pub(super) const NO_ANSWER: &str = "NO ANSWER IN THE SOURCES";

/// The request for one question. `question` must have passed the same cleaning as the sources.
pub fn answer_request(
    system_prompt: &str,
    question: &str,
    sources: &[PackedSource],
    fence: &Fence,
) -> ChatRequest {
    let rules = format!(
        "You answer a question from passages of files.\n\
         Rules:\n\
         1. Use only the sources. Where they do not answer the question, write exactly: {NO_ANSWER}\n\
         2. End every sentence with the number of the source it comes from, in brackets: [1], or [1][3]. Cite no source \
         that does not say it.\n\
         3. Write numbers, names and dates as the sources write them. Do not compute, estimate or add any.\n\
         4. Answer in the language of the question, in a few plain sentences or a short list. No images, no links that the \
         sources do not hold.\n\
         5. {}",
        fence.rule(),
    );
    let system = match system_prompt.trim() {
        "" => rules,
        prompt => format!("{prompt}\n\n{rules}"),
    };
    let mut user = format!("Question:\n{}\n\nSources:\n", harmless(question.trim()));
    for source in sources {
        user.push_str(&fence.around(source.number, &source.title(), &source.text));
    }
    user.push_str(
        "\nAnswer the question above from these sources, with the number of a source after every sentence.",
    );
    ChatRequest {
        system,
        messages: vec![ChatMessage { role: ChatRole::User, text: user }],
        max_tokens: Some(ANSWER_TOKENS),
        schema: None,
    }
}

/// Whether a model says that the sources do not answer.
pub(super) fn says_no_answer(text: &str) -> bool {
    let words = |text: &str| {
        let letters = |c: char| if c.is_alphanumeric() { c.to_ascii_uppercase() } else { ' ' };
        text.chars().map(letters).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    words(text) == NO_ANSWER
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, Citation, Span};

    use super::*;

    fn source(number: usize, path: &str, text: &str) -> PackedSource {
        let span = Span::Lines { start_line: 1, end_line: 9 };
        let citation = Citation { chunk_id: ChunkId(1), rel_path: path.into(), span };
        PackedSource {
            number,
            citation,
            shown_path: path.into(),
            above: "Guide > Install".into(),
            text: text.into(),
        }
    }

    #[test]
    fn d113_the_prompt_is_system_prompt_question_and_cited_contexts() {
        let fence = Fence::new([3; 12]);
        let sources = [source(1, "a.md", "One.\nTwo."), source(2, "b.pdf", "Three.")];
        let request = answer_request("Be brief.", "how many?", &sources, &fence);
        assert!(request.system.starts_with("Be brief.\n\nYou answer a question"));
        assert!(request.system.contains(fence.marker()), "the model is told which marker is ours");
        assert!(!request.system.contains("One."), "text of files is never in the system prompt");
        let [message] = &request.messages[..] else { panic!("one message") };
        let text = &message.text;
        assert!(text.starts_with("Question:\nhow many?\n\nSources:\n<<<SOURCE 1 "), "{text}");
        assert!(text.contains("| [a.md:L1-L9] Guide > Install\n| One.\n| Two.\n<<<END 1 "), "{text}");
        assert!(answer_request("", "q", &sources, &fence).system.starts_with("You answer"));
    }

    #[test]
    fn a_model_may_say_that_nothing_answers() {
        assert!(
            says_no_answer(" No answer in the sources.\n") && says_no_answer("**NO ANSWER IN THE SOURCES**")
        );
        assert!(!says_no_answer("There is no answer in the sources but a hint [1]."));
    }
}
