//! `pipe`: a short list of calls, in which the answer of one feeds the arguments of the next.

use std::time::Duration;

use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::output;
use crate::arguments::typed;
use crate::service::CallContext;
use crate::text::shown;
use crate::tool::{Invocation, Tool, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "pipe",
    title: "Run several tools",
    description: "Run up to 10 tools of this server in order. inputs puts a value of an earlier answer, found by a JSON \
                  pointer, into the arguments at another: {\"/content\": {\"step\": 0, \"pointer\": \"/content\"}} writes what step 0 \
                  read. A step that fails ends the list.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidQuery,
    timeout: Duration::from_secs(120),
    read_only: false,
    idempotent: false,
    price: PriceClass::Free,
};

const MOST_STEPS: usize = 10;

/// Bytes of all answers together, as JSON.
const MOST_BYTES: usize = 8 * 1024 * 1024;

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_STEPS,
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "tool": { "type": "string", "description": "A tool of this server, but pipe." },
                        "arguments": { "type": "object", "description": "As the tool takes them." },
                        "inputs": {
                            "type": "object",
                            "description": "From a JSON pointer into the arguments to a value of an earlier answer.",
                            "additionalProperties": {
                                "type": "object",
                                "additionalProperties": false,
                                "properties": {
                                    "step": { "type": "integer", "minimum": 0, "description": "An earlier step, from 0 on." },
                                    "pointer": { "type": "string", "description": "Into its answer; empty is all of it." }
                                },
                                "required": ["step", "pointer"]
                            }
                        }
                    },
                    "required": ["tool"]
                }
            }
        },
        "required": ["steps"]
    })
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "results": {
                "type": "array",
                "description": "The answers, as far as the list was run.",
                "items": {
                    "type": "object",
                    "properties": {
                        "tool": { "type": "string" },
                        "is_error": { "type": "boolean" },
                        "output": { "type": "object" }
                    },
                    "required": ["tool", "is_error", "output"]
                }
            },
            "completed": { "type": "boolean", "description": "All steps were run, and none failed." }
        },
        "required": ["results", "completed"]
    })
}

#[derive(Debug, Deserialize)]
struct PipeArguments {
    steps: Vec<PipeStep>,
}

#[derive(Debug, Deserialize)]
struct PipeStep {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    inputs: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct PipeSource {
    step: usize,
    pointer: String,
}

pub(super) async fn run(invocation: Invocation) -> Result<ToolOutput, Failure> {
    let Invocation { arguments, call, peers, .. } = invocation;
    let PipeArguments { steps } = typed(arguments)?;
    let tools = steps.iter().map(|step| tool_of(&peers, &step.tool)).collect::<Result<Vec<&Tool>, _>>()?;
    let (mut answers, mut results): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    let (mut bytes, mut completed) = (0, true);
    for (at, (step, tool)) in steps.into_iter().zip(tools).enumerate() {
        let arguments = fed(at, step, &answers)?;
        let context = CallContext {
            caller: call.caller.clone(),
            cancel: call.cancel.child_token(),
            progress: None,
            request_id: None,
        };
        let (result, _) = tool.run(arguments, context, &peers).await;
        bytes += result.structured.to_string().len();
        if bytes > MOST_BYTES {
            return Err(Failure::new(
                ErrorCode::PayloadTooLarge,
                format!("step {at} makes the answers exceed {MOST_BYTES} bytes"),
            )
            .hint("What the steps before it changed stays changed. Read less at once."));
        }
        results
            .push(json!({ "tool": tool.name(), "is_error": result.is_error, "output": *result.structured }));
        answers.push((*result.structured).clone());
        if result.is_error {
            completed = false;
            break;
        }
    }
    Ok(output(json!({ "results": results, "completed": completed })))
}

/// The tool behind a step, in either spelling of its name. A pipe in a pipe could run for ever.
fn tool_of<'a>(peers: &'a [Tool], name: &str) -> Result<&'a Tool, Failure> {
    let is_named = |tool: &&Tool| tool.name() == name || tool.name().replace('.', "_") == name;
    let found = peers.iter().find(is_named).filter(|tool| tool.name() != SPEC.name);
    found.ok_or_else(|| {
        Failure::new(ErrorCode::InvalidQuery, format!("there is no tool \"{}\" for a pipe", shown(name)))
    })
}

/// The step's arguments with what earlier answers feed into them.
fn fed(at: usize, step: PipeStep, answers: &[Value]) -> Result<Map<String, Value>, Failure> {
    let refused = |what: String| Failure::new(ErrorCode::InvalidQuery, format!("step {at}: {what}"));
    let mut arguments = Value::Object(step.arguments);
    for (target, source) in step.inputs {
        let PipeSource { step, pointer } = typed(source)?;
        let Some(answer) = answers.get(step) else {
            return Err(refused(format!("there is no step {step} before it")));
        };
        let Some(value) = answer.pointer(&pointer) else {
            return Err(refused(format!("the answer of step {step} has nothing at \"{}\"", shown(&pointer))));
        };
        put(&mut arguments, &target, value.clone())
            .map_err(|()| refused(format!("\"{}\" is no place in its arguments", shown(&target))))?;
    }
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        _ => Err(refused("its arguments must be an object".into())),
    }
}

/// Puts a value at a JSON pointer; the last step of the pointer may be new, what is above it must be there.
fn put(into: &mut Value, pointer: &str, value: Value) -> Result<(), ()> {
    let (above, name) = pointer.rsplit_once('/').ok_or(())?;
    let name = name.replace("~1", "/").replace("~0", "~");
    match into.pointer_mut(above).ok_or(())? {
        Value::Object(map) => {
            map.insert(name, value);
            Ok(())
        }
        Value::Array(items) => {
            let at: usize = name.parse().map_err(|_| ())?;
            *items.get_mut(at).ok_or(())? = value;
            Ok(())
        }
        _ => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f162_values_are_put_at_pointers() {
        let mut value = json!({ "a": { "b/c": 1 }, "list": [1, 2] });
        put(&mut value, "/content", json!("x")).unwrap();
        put(&mut value, "/a/b~1c", json!(2)).unwrap();
        put(&mut value, "/list/1", json!(3)).unwrap();
        assert_eq!(value, json!({ "a": { "b/c": 2 }, "list": [1, 3], "content": "x" }));
        for bad in ["", "content", "/nope/x", "/list/9", "/list/x", "/content/x"] {
            assert!(put(&mut value, bad, json!(0)).is_err(), "{bad}");
        }
    }

    #[test]
    fn f162_a_step_is_fed_by_earlier_ones_only() {
        let step = |inputs: Value| PipeStep {
            tool: "file_write".into(),
            arguments: json!({ "project": "p" }).as_object().cloned().unwrap(),
            inputs: inputs.as_object().cloned().unwrap(),
        };
        let answers = [json!({ "content": "hello", "n": [7] })];
        let fine = step(
            json!({ "/content": { "step": 0, "pointer": "/content" }, "/offset": { "step": 0, "pointer": "/n/0" } }),
        );
        let arguments = Value::Object(fed(1, fine, &answers).unwrap());
        assert_eq!(arguments, json!({ "project": "p", "content": "hello", "offset": 7 }));
        for bad in [
            json!({ "/content": { "step": 1, "pointer": "" } }),
            json!({ "/content": { "step": 0, "pointer": "/nothing" } }),
            json!({ "nowhere": { "step": 0, "pointer": "/content" } }),
        ] {
            assert_eq!(fed(1, step(bad), &answers).unwrap_err().code, ErrorCode::InvalidQuery);
        }
    }
}
