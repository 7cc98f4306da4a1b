//! A tool: data that is published, and one function that is run under its limits.

use std::sync::Arc;
use std::time::Duration;

use engine::{AuditLog, AuditNote, AuditTrail, AuditVerdict, AuditWait, Call, Calls, Deadline};
use futures::future::BoxFuture;
use model::{ErrorCode, Failure, PriceClass};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

use crate::arguments::Schema;
use crate::contract::Services;
use crate::service::{CallContext, ProgressSink, SpokenContent, ToolInfo, ToolResult};
use crate::way_out;

/// How a call failed, for callers that are no clients.
pub(crate) struct FailedCall {
    pub(crate) failure: Failure,
    /// The arguments broke the schema, and the contract leaves that to the protocol.
    pub(crate) is_protocol: bool,
}

/// What a contract says of a tool.
pub(crate) struct ToolSpec {
    /// With dots, as the specifications write it.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) input: fn() -> Value,
    pub(crate) output: fn() -> Value,
    /// The code for a number outside its limits.
    pub(crate) out_of_range: ErrorCode,
    pub(crate) timeout: Duration,
    /// It changes nothing that a caller could see.
    pub(crate) read_only: bool,
    /// Calling it again changes nothing more.
    pub(crate) idempotent: bool,
    pub(crate) price: PriceClass,
}

/// One call, its arguments checked.
pub(crate) struct Invocation {
    pub(crate) arguments: Value,
    pub(crate) call: Call,
    /// For tools that take long enough to report.
    pub(crate) progress: Option<ProgressSink>,
    /// The tools that are served together with this one.
    pub(crate) peers: Arc<[Tool]>,
}

/// What a tool says when it succeeds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolOutput {
    pub(crate) content: Vec<String>,
    pub(crate) audio: Vec<SpokenContent>,
    pub(crate) structured: Arc<Value>,
    /// What the caller should know besides, where the contract has a place for it.
    pub(crate) warnings: Vec<String>,
}

impl ToolOutput {
    pub(crate) fn new(content: String, structured: Value) -> ToolOutput {
        ToolOutput {
            content: vec![content],
            audio: Vec::new(),
            structured: Arc::new(structured),
            warnings: Vec::new(),
        }
    }
}

/// How a contract words the end of a call.
pub(crate) trait ResultEnvelope: Send + Sync {
    /// What of the arguments goes into the audit line: nothing that tells what the caller thinks about.
    fn note(&self, arguments: &Value) -> Map<String, Value>;

    /// What replaces a string of an answer, found under this key; `None` where all of it may be shown.
    fn blanked(&self, _key: Option<&str>, _text: &str) -> Option<String> {
        None
    }

    /// Whether the strings under this key leave as they are: a content that belongs to the caller, byte for byte.
    fn is_verbatim(&self, _key: Option<&str>) -> bool {
        false
    }

    /// Whether arguments that break the schema are the protocol's error, not the tool's.
    fn leaves_arguments_to_protocol(&self) -> bool {
        false
    }

    /// The id under which the call is answered and recorded.
    fn request_id(&self, given: Option<String>) -> String {
        given.unwrap_or_default()
    }

    /// Words the end of a call, and says what the audit line calls it. What it gets has passed [`way_out`].
    fn finish(&self, request_id: &str, outcome: Result<ToolOutput, Failure>) -> (ToolResult, AuditVerdict);

    /// The output schema as it is published.
    fn published(&self, output: &Value) -> Map<String, Value>;
}

/// What the tools of one contract have in common.
#[derive(Clone)]
pub(crate) struct ContractFrame {
    pub(crate) envelope: Arc<dyn ResultEnvelope>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) trail: AuditTrail,
}

impl ContractFrame {
    /// Calls are recorded in this log before they are answered.
    pub(crate) fn new(
        services: &Services,
        log: Arc<AuditLog>,
        envelope: impl ResultEnvelope + 'static,
    ) -> ContractFrame {
        let trail = AuditTrail { log, wait: AuditWait::Written, names_caller: false, names_price: false };
        ContractFrame { envelope: Arc::new(envelope), calls: Arc::clone(services.workspace.calls()), trail }
    }

    /// The log says who called.
    pub(crate) fn naming_callers(mut self) -> ContractFrame {
        self.trail.names_caller = true;
        self
    }

    /// The log says what a call costs.
    pub(crate) fn naming_prices(mut self) -> ContractFrame {
        self.trail.names_price = true;
        self
    }
}

type Handler = Arc<dyn Fn(Invocation) -> BoxFuture<'static, Result<ToolOutput, Failure>> + Send + Sync>;

pub(crate) struct Tool {
    spec: ToolSpec,
    input: Schema,
    output: Arc<Schema>,
    handler: Handler,
    frame: ContractFrame,
}

impl Tool {
    /// Panics only on a schema of ours that is not valid, which the tests of every contract would show.
    pub(crate) fn new<F, R>(frame: &ContractFrame, spec: ToolSpec, handler: F) -> Tool
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, Failure>> + Send + 'static,
    {
        let compile = |document: Value, side: &str| match Schema::compile(document) {
            Ok(schema) => schema,
            Err(error) => panic!("the {side} schema of {} is wrong: {error}", spec.name),
        };
        let input = compile((spec.input)(), "input");
        let output = Arc::new(compile((spec.output)(), "output"));
        let handler: Handler = Arc::new(move |invocation| Box::pin(handler(invocation)));
        Tool { spec, input, output, handler, frame: frame.clone() }
    }

    /// The same tool with another published default of one argument.
    pub(crate) fn defaulting(mut self, argument: &str, value: Value) -> Tool {
        let mut document = (self.spec.input)();
        document["properties"][argument]["default"] = value;
        match Schema::compile(document) {
            Ok(schema) => self.input = schema,
            Err(error) => panic!("the input schema of {} is wrong: {error}", self.spec.name),
        }
        self
    }

    pub(crate) fn name(&self) -> &'static str {
        self.spec.name
    }

    /// What is published, under the given name.
    pub(crate) fn info(&self, name: String) -> ToolInfo {
        let object = |schema: &Schema| Arc::new(schema.document().as_object().cloned().unwrap_or_default());
        ToolInfo {
            name,
            title: self.spec.title,
            description: self.spec.description,
            input_schema: object(&self.input),
            output_schema: Arc::new(self.frame.envelope.published(self.output.document())),
            read_only: self.spec.read_only,
            idempotent: self.spec.idempotent,
            price: self.spec.price,
            timeout: self.spec.timeout,
        }
    }

    /// Checks the arguments and runs the handler. The failure comes besides, for callers that are no clients.
    ///
    /// Whoever stops waiting (a limit, a cancellation, a client that is gone) also stops the work: the engine asks
    /// between its phases whether anybody waits.
    pub(crate) async fn run(
        &self,
        arguments: Map<String, Value>,
        context: CallContext,
        peers: &Arc<[Tool]>,
    ) -> (ToolResult, Option<FailedCall>) {
        let ContractFrame { envelope, calls, trail } = &self.frame;
        let arguments = Value::Object(way_out::enter(arguments));
        let request_id = context.request_id.as_deref().map(|id| engine::visible(id).into_owned());
        let note = AuditNote {
            request_id: envelope.request_id(request_id),
            price_class: self.spec.price,
            metadata: envelope.note(&arguments),
        };
        let request_id = note.request_id.clone();
        let cancel = context.cancel.child_token();
        let _stops_work = cancel.clone().drop_guard();
        let call = Call {
            tool: self.spec.name,
            caller: context.caller,
            deadline: Some(Deadline::after(self.spec.timeout)),
            cancel,
        };
        let progress = context.progress.map(|sink| way_out::reports(envelope, sink));
        let checked = self.input.check(&arguments, self.spec.out_of_range);
        let is_protocol = checked.is_err() && envelope.leaves_arguments_to_protocol();
        let work = async {
            checked?;
            let peers = Arc::clone(peers);
            self.work(Invocation { arguments, call: call.clone(), progress, peers }).await
        };
        let word = |outcome| {
            let outcome = way_out::leave(&**envelope, outcome);
            let failed = outcome.as_ref().err().cloned().map(|failure| FailedCall { failure, is_protocol });
            let (result, verdict) = envelope.finish(&request_id, outcome);
            ((result, failed), verdict)
        };
        calls.run(&call, trail, note, work, word).await
    }

    /// Runs the handler in a task of its own, so that a panic in it ends one call and nothing else.
    async fn work(&self, invocation: Invocation) -> Result<ToolOutput, Failure> {
        let Call { cancel, deadline, .. } = invocation.call.clone();
        let deadline = deadline.unwrap_or_else(|| Deadline::after(self.spec.timeout));
        let work = (self.handler)(invocation);
        let schema = Arc::clone(&self.output);
        let mut task = AbortedOnDrop(tokio::spawn(async move {
            let output = work.await?;
            assert_conforms(&schema, &output);
            Ok(output)
        }));
        tokio::select! {
            biased;
            done = &mut task.0 => done.unwrap_or_else(|error| {
                // The panic's message may hold anything; it goes to the log, where panics go.
                tracing::error!(tool = self.spec.name, panicked = error.is_panic(), "a call ended abnormally");
                Err(Failure::new(ErrorCode::InternalError, "the call could not be completed"))
            }),
            () = cancel.cancelled() => Err(Failure::new(ErrorCode::Cancelled, "the call was cancelled")),
            () = deadline.reached() => Err(deadline.failure()),
        }
    }
}

/// Our own output is checked wherever a test or a developer runs it; a released server does not pay for it.
fn assert_conforms(schema: &Schema, output: &ToolOutput) {
    if cfg!(debug_assertions) {
        assert!(!output.content.is_empty(), "a tool result without content");
        if let Some(complaint) = schema.complaint(&output.structured) {
            panic!("structuredContent breaks the output schema: {complaint}");
        }
    }
}

/// A task that is aborted when this is dropped.
struct AbortedOnDrop(JoinHandle<Result<ToolOutput, Failure>>);

impl Drop for AbortedOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use model::Caller;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::dir2mcp::Bare;

    /// What tools under test have in common: nothing is recorded.
    pub(crate) fn frame() -> ContractFrame {
        let redactor = policy::Redactor::new(&policy::SecretPatterns::Default).unwrap();
        let log = Arc::new(AuditLog::new(None, Arc::new(redactor)));
        let trail = AuditTrail { log, wait: AuditWait::Queued, names_caller: true, names_price: true };
        ContractFrame { envelope: Arc::new(Bare), calls: Arc::default(), trail }
    }

    /// No tools beside the one under test.
    fn alone() -> Arc<[Tool]> {
        Arc::new([])
    }

    pub(crate) fn context() -> CallContext {
        CallContext {
            caller: Caller::stdio(),
            cancel: CancellationToken::new(),
            progress: None,
            request_id: None,
        }
    }

    pub(crate) fn spec(name: &'static str) -> ToolSpec {
        ToolSpec {
            name,
            title: "Test",
            description: "A tool for tests.",
            input: || json!({"type": "object", "additionalProperties": false, "properties": {"n": {"type": "integer", "minimum": 1}}}),
            output: || json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
            out_of_range: ErrorCode::InvalidRange,
            timeout: Duration::from_secs(5),
            read_only: true,
            idempotent: true,
            price: PriceClass::Free,
        }
    }

    /// What holds for the tools of every contract.
    pub(crate) fn assert_well_formed(specs: &[ToolSpec], published: &dyn Fn(&Value) -> Map<String, Value>) {
        for spec in specs {
            assert!(!spec.description.is_empty(), "{}", spec.name);
            assert_eq!((spec.input)()["additionalProperties"], false, "{}", spec.name);
            for document in [(spec.input)(), (spec.output)(), published(&(spec.output)()).into()] {
                assert_eq!(document["type"], "object", "{}", spec.name);
                assert!(jsonschema::meta::is_valid(&document), "{}", spec.name);
                assert!(Schema::compile(document).is_ok(), "{}", spec.name);
            }
        }
    }

    /// What `tools/list` shows of a contract, as a page that a reviewer reads.
    pub(crate) fn listed(
        schema_version: u32,
        specs: &[ToolSpec],
        published: &dyn Fn(&Value) -> Map<String, Value>,
    ) -> String {
        let tool = |spec: &ToolSpec| {
            json!({
                "name": spec.name,
                "title": spec.title,
                "description": spec.description,
                "inputSchema": (spec.input)(),
                "outputSchema": published(&(spec.output)()),
            })
        };
        let tools: Vec<Value> = specs.iter().map(tool).collect();
        serde_json::to_string_pretty(&json!({ "schemaVersion": schema_version, "tools": tools })).unwrap()
    }

    fn code(result: &ToolResult) -> &str {
        assert!(result.is_error, "{result:?}");
        result.structured["error"]["code"].as_str().unwrap()
    }

    #[tokio::test]
    async fn d132_a_call_that_works() {
        let tool = Tool::new(&frame(), spec("t.ok"), |invocation| async move {
            assert_eq!(invocation.call.tool, "t.ok");
            Ok(ToolOutput::new("done".into(), json!({"n": invocation.arguments["n"]})))
        });
        let arguments = json!({"n": 3}).as_object().cloned().unwrap();
        let result = tool.run(arguments, context(), &alone()).await.0;
        assert_eq!(
            result,
            ToolResult {
                content: vec!["done".into()],
                audio: Vec::new(),
                structured: json!({"n": 3}).into(),
                is_error: false
            }
        );
    }

    #[tokio::test]
    async fn what_is_published_admits_success_and_failure_and_nothing_else() {
        let tool =
            Tool::new(&frame(), spec("t.fail"), |_| async { Err(Failure::new(ErrorCode::Timeout, "late")) });
        let published = Value::Object((*tool.info("t.fail".into()).output_schema).clone());
        assert_eq!(published["type"], "object");
        let published = Schema::compile(published).unwrap();
        let failed = tool.run(Map::new(), context(), &alone()).await.0;
        assert_eq!(published.complaint(&failed.structured), None);
        assert_eq!(published.complaint(&json!({"n": 1})), None);
        for neither in [json!({}), json!({"error": {"code": "X"}})] {
            assert!(published.complaint(&neither).is_some(), "{neither}");
        }
    }

    #[tokio::test]
    async fn arguments_are_checked_before_anything_runs() {
        let tool = Tool::new(&frame(), spec("t.never"), |_| async { panic!("must not run") });
        let result = tool.run(json!({"n": 0}).as_object().cloned().unwrap(), context(), &alone()).await.0;
        assert_eq!(code(&result), "INVALID_RANGE");
        let result = tool.run(json!({"m": 0}).as_object().cloned().unwrap(), context(), &alone()).await.0;
        assert_eq!(code(&result), "INVALID_FIELD");
    }

    #[tokio::test]
    async fn a_panic_ends_one_call_and_says_nothing() {
        let tool = Tool::new(&frame(), spec("t.panic"), |_| async { panic!("secret inside") });
        let result = tool.run(Map::new(), context(), &alone()).await.0;
        assert_eq!(code(&result), "INTERNAL_ERROR");
        assert!(!format!("{result:?}").contains("secret"));
    }

    #[tokio::test]
    async fn output_that_breaks_its_schema_is_our_error() {
        let tool =
            Tool::new(&frame(), spec("t.bad"), |_| async { Ok(ToolOutput::new("x".into(), json!({}))) });
        assert_eq!(code(&tool.run(Map::new(), context(), &alone()).await.0), "INTERNAL_ERROR");
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_limit_holds_and_stops_the_work() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let sender = std::sync::Mutex::new(Some(sender));
        let tool = Tool::new(&frame(), spec("t.slow"), move |invocation| {
            let sender = sender.lock().unwrap().take();
            tokio::spawn(async move {
                invocation.call.cancel.cancelled().await;
                sender.map(|sender| sender.send(()));
            });
            std::future::pending()
        });
        let result = tool.run(Map::new(), context(), &alone()).await.0;
        assert_eq!(code(&result), "TIMEOUT");
        assert_eq!(result.structured["error"]["retryable"], true);
        receiver.await.expect("the call's token was cancelled");
    }

    #[tokio::test]
    async fn a_cancelled_call_says_so() {
        let tool = Tool::new(&frame(), spec("t.cancelled"), |_| std::future::pending());
        let context = context();
        context.cancel.cancel();
        assert_eq!(code(&tool.run(Map::new(), context, &alone()).await.0), "CANCELLED");
    }
}
