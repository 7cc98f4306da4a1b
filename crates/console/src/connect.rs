//! What to copy to connect a client.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use crate::ConsoleParts;
use crate::answer::json_response;

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>) -> Response {
    json_response((state.clients)())
}
