//! What the HTTP server tells operators of the roots: whether they can be searched yet, and the numbers behind
//! `/metrics`.

use std::sync::Arc;

use engine::smart::Roots;

pub(crate) struct Vitals(pub Arc<Roots>);

impl dir2mcp_http::Vitals for Vitals {
    fn is_ready(&self) -> bool {
        self.0.engines().iter().all(|engine| engine.is_built())
    }

    fn metrics(&self) -> String {
        engine::metrics_page(self.0.engines(), env!("CARGO_PKG_VERSION"))
    }
}
