//! What the HTTP server tells operators of the roots: whether they can be searched yet, and the numbers behind
//! `/metrics`.

use std::sync::Arc;

use engine::Workspace;

pub(crate) struct WorkspaceVitals(pub Arc<Workspace>);

impl dir2mcp_http::Vitals for WorkspaceVitals {
    fn is_ready(&self) -> bool {
        self.0.is_built()
    }

    fn metrics(&self) -> String {
        self.0.metrics_page(env!("CARGO_PKG_VERSION"))
    }
}
