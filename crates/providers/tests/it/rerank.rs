//! Passages compared with a question.

use std::sync::Arc;

use model::{ProviderErrorKind, Reranker};
use providers::cohere::{Cohere, RerankShape};
use testkit::standins::{Fault, StandIn};

use crate::world::World;

fn reranker(world: &World, stand_in: &StandIn, shape: RerankShape) -> Arc<dyn Reranker> {
    let account = world.account(stand_in, stand_in.key());
    Cohere::new(account, shape, Arc::clone(&world.core)).unwrap().reranker("rerank-v3.5")
}

#[tokio::test]
async fn scores_come_in_the_order_of_the_passages() {
    let (world, stand_in) = (World::new(), StandIn::cohere());
    let passages = ["tax returns of 1901", "the keeper of the lighthouse", "a lighthouse"];
    for (shape, path) in
        [(RerankShape::V2, "/v2/rerank"), (RerankShape::V1, "/v1/rerank"), (RerankShape::Tei, "/rerank")]
    {
        let scores = reranker(&world, &stand_in, shape).scores("lighthouse keeper", &passages).await.unwrap();
        assert!(scores[1] > scores[2] && scores[2] > scores[0], "{shape:?} {scores:?}");
        assert_eq!(stand_in.last_request().path, path);
    }
    assert_eq!(world.used().len(), 3);
}

#[tokio::test]
async fn many_passages_go_in_several_requests() {
    let (world, stand_in) = (World::new(), StandIn::cohere());
    let passages = vec!["x"; 1200];
    let scores = reranker(&world, &stand_in, RerankShape::V2).scores("x", &passages).await.unwrap();
    assert_eq!((scores.len(), stand_in.counts().rerank_calls), (1200, 3));
}

#[tokio::test]
async fn a_passage_without_a_score_is_a_bad_answer() {
    let (world, stand_in) = (World::new(), StandIn::cohere());
    let reranker = reranker(&world, &stand_in, RerankShape::V2);
    for fault in [Fault::OneTooFew, Fault::WrongShape, Fault::NotJson] {
        stand_in.then([fault]);
        let error = reranker.scores("x", &["x", "y"]).await.unwrap_err();
        assert!(matches!(error.kind, ProviderErrorKind::BadAnswer { .. }), "{error}");
    }
    stand_in.then([Fault::Status(401)]);
    assert_eq!(reranker.scores("x", &["x"]).await.unwrap_err().kind, ProviderErrorKind::Auth);
}
