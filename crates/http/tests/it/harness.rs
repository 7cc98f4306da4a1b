//! A server with the routes of one test.

use std::net::SocketAddr;
use std::sync::Arc;

use dir2mcp_http::{
    BearerTokens, Credential, HttpConfig, HttpError, HttpSite, NoVitals, Route, SecretToken, bind,
};
use model::Identity;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::wire::{Answer, Ask, Wire};

/// Built from parts, so that no scanner takes it for a secret.
pub(crate) fn token() -> String {
    ["alpha", "canary", "0123456789"].join("-")
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) cancel: CancellationToken,
    task: JoinHandle<Result<(), HttpError>>,
}

impl Server {
    pub(crate) async fn start(routes: impl IntoIterator<Item = Route>) -> Server {
        let alice = Credential { identity: Identity::new("alice"), token: SecretToken::new(token()) };
        let auth = Arc::new(BearerTokens::new(&[alice]).expect("a usable token"));
        let bound = bind(HttpConfig { auth, ..HttpConfig::default() }).await.expect("binds");
        let address = bound.local_addr();
        let site = routes.into_iter().fold(HttpSite::default().vitals(Arc::new(NoVitals)), HttpSite::route);
        let cancel = CancellationToken::new();
        let task = tokio::spawn(bound.serve(site, cancel.clone()));
        Server { address, cancel, task }
    }

    /// One request on its own connection.
    pub(crate) async fn ask(&self, ask: &Ask) -> Answer {
        Wire::open(self.address).await.ask(ask).await
    }

    pub(crate) async fn ask_as_alice(&self, ask: Ask) -> Answer {
        self.ask(&ask.token(&token())).await
    }

    pub(crate) async fn stop(self) {
        self.cancel.cancel();
        self.task.await.expect("no panic").expect("stops well");
    }
}

/// The public code of a refusal in plain JSON.
pub(crate) fn code(answer: &Answer) -> String {
    answer.json()["error"]["code"].as_str().unwrap_or_else(|| panic!("no code in {answer:?}")).to_owned()
}

/// A JSON document to post.
pub(crate) fn post(path: &str, body: &str) -> Ask {
    Ask { target: path.into(), ..Ask::post(body) }
}
