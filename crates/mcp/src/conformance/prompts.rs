//! Prompts: plain, with arguments, with a resource, with an image, and one that asks first.

use rmcp::ErrorData;
use rmcp::model::*;
use serde_json::{Value, json};

use super::content::PNG;
use super::{accepted, elicitation};

pub(super) fn list() -> Vec<Prompt> {
    let prompt = |name: &str, description: &str, arguments: &[&str]| {
        let arguments: Vec<PromptArgument> = arguments
            .iter()
            .map(|name| PromptArgument::new(*name).with_description(*name).with_required(true))
            .collect();
        Prompt::new(name, Some(description), (!arguments.is_empty()).then_some(arguments))
    };
    vec![
        prompt("test_simple_prompt", "A prompt without arguments", &[]),
        prompt("test_prompt_with_arguments", "A prompt with two arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", "A prompt with a resource", &["resourceUri"]),
        prompt("test_prompt_with_image", "A prompt with an image", &[]),
        prompt("test_input_required_result_prompt", "A prompt that asks first", &[]),
    ]
}

pub(super) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let arguments = request.arguments.as_ref();
        arguments.and_then(|all| all.get(name)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let messages = match request.name.as_str() {
        "test_simple_prompt" => vec![ContentBlock::text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => vec![ContentBlock::text(format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))],
        "test_prompt_with_embedded_resource" => {
            let resource =
                ResourceContents::text("Embedded resource content for testing.", argument("resourceUri"));
            vec![
                ContentBlock::resource(resource.with_mime_type("text/plain")),
                ContentBlock::text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => {
            vec![ContentBlock::image(PNG, "image/png"), ContentBlock::text("Please analyze the image above.")]
        }
        "test_input_required_result_prompt" => {
            let Some(context) = accepted(request.input_responses.as_ref(), "user_context") else {
                let fields = json!({ "context": { "type": "string" } });
                let question = elicitation("What context should the prompt use?", fields)?;
                let questions = InputRequests::from([("user_context".to_owned(), question)]);
                return Ok(InputRequiredResult::from_input_requests(questions).into());
            };
            vec![ContentBlock::text(format!("Use this context: {}", context["context"]))]
        }
        _ => return Err(ErrorData::invalid_params("unknown prompt", None)),
    };
    let messages = messages.into_iter().map(|content| PromptMessage::new(Role::User, content)).collect();
    Ok(GetPromptResult::new(messages).into())
}
