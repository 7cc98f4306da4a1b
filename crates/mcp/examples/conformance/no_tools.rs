//! The tools of a server that is asked about everything but tools.

use contracts::{CallContext, CallRefused, ToolInfo, ToolResult, ToolService};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

/// The product's tools need a folder.
pub(crate) struct NoTools;

impl ToolService for NoTools {
    fn tools(&self) -> &[ToolInfo] {
        &[]
    }

    fn call(
        &self,
        name: &str,
        _: Option<Map<String, Value>>,
        _: CallContext,
    ) -> BoxFuture<'_, Result<ToolResult, CallRefused>> {
        std::future::ready(Err(CallRefused::UnknownTool(name.to_owned()))).boxed()
    }

    fn has(&self, _: &str) -> bool {
        false
    }

    fn instructions(&self) -> String {
        String::new()
    }
}
