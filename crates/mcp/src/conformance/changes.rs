//! Tools that pretend to change a list, and the subscriptions that hear of it.

use rmcp::model::*;
use rmcp::service::SubscriptionContext;
use tokio::sync::broadcast;

use super::{text, tool};

pub(super) struct Changes {
    happened: broadcast::Sender<Change>,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Tools,
    Prompts,
}

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_trigger_tool_change", "Announces that the list of tools changed", &[]),
        tool("test_trigger_prompt_change", "Announces that the list of prompts changed", &[]),
    ]
}

impl Changes {
    pub(super) fn new() -> Changes {
        Changes { happened: broadcast::Sender::new(16) }
    }

    pub(super) fn call(&self, tool: &str) -> CallToolResponse {
        let change = if tool == "test_trigger_tool_change" { Change::Tools } else { Change::Prompts };
        let heard = self.happened.send(change).unwrap_or_default();
        text(format!("{heard} subscriptions heard of the change"))
    }

    /// The sink drops what the subscriber did not ask for.
    pub(super) async fn listen(&self, context: SubscriptionContext) {
        let mut changes = self.happened.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return,
                change = changes.recv() => change,
            };
            let _ = match change {
                Ok(Change::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return,
            };
        }
    }
}
