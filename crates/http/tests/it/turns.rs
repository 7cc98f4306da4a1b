//! Work waits for its client's turn, whichever route it came by.

use std::sync::Arc;

use axum::routing::{get, post};
use dir2mcp_http::{Route, RouteLimits, WaitsForTurn};
use futures::future::join_all;
use tokio::sync::{Semaphore, watch};

use crate::harness::{self, Server, token};
use crate::wire::{Ask, Wire};

/// Handlers that say when they begin and wait to be released.
#[derive(Clone)]
struct Work {
    begun: Arc<watch::Sender<usize>>,
    release: Arc<Semaphore>,
}

impl Work {
    fn new() -> Work {
        Work { begun: Arc::new(watch::Sender::new(0)), release: Arc::new(Semaphore::new(0)) }
    }

    async fn run(self) -> &'static str {
        self.begun.send_modify(|begun| *begun += 1);
        self.release.acquire().await.expect("open").forget();
        "done"
    }

    async fn until_begun(&self, count: usize) {
        self.begun.subscribe().wait_for(|begun| *begun >= count).await.expect("alive");
    }
}

/// More requests than one client may have under way: those begin, the rest wait until others are answered.
#[tokio::test]
async fn one_client_has_a_bounded_number_of_requests_under_way() {
    const ASKED: usize = 80;
    let work = Work::new();
    let (with_body, without) = (work.clone(), work.clone());
    let posted = post(move |_: String| with_body.run());
    let fetched = get(move || without.run());
    let server = Server::start([
        Route::new("/post", posted),
        Route::new("/get", fetched)
            .limits(RouteLimits { turn: WaitsForTurn::BeforeService, ..RouteLimits::default() }),
    ])
    .await;
    let most = (4 * std::thread::available_parallelism().map_or(2, usize::from)).max(16);
    assert!(most < ASKED, "this machine has too many processors for the test");
    let asks = (0..ASKED).map(async |n| {
        let mut wire = Wire::open(server.address).await;
        let ask = if n % 2 == 0 { harness::post("/post", "x") } else { Ask::new("GET", "/get") };
        wire.ask(&ask.token(&token())).await.text()
    });
    let check = async {
        work.until_begun(most).await;
        // The others have arrived as well when a route that costs nothing answers on a later connection.
        assert_eq!(server.ask(&Ask::new("GET", "/healthz")).await.status, 200);
        assert_eq!(*work.begun.borrow(), most, "the rest waits");
        work.release.add_permits(ASKED);
    };
    let (answers, ()) = tokio::join!(join_all(asks), check);
    assert!(answers.iter().all(|answer| answer == "done"), "{answers:?}");
    assert_eq!(*work.begun.borrow(), ASKED);
    server.stop().await;
}
