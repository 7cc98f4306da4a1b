//! Texts become vectors.

use model::{Capability, Embedder, IndexKind, ProviderErrorKind, Purpose, Usage};
use providers::EmbedModel;
use providers::mistral::{EMBED_CODE_MODEL, EMBED_TEXT_MODEL, Mistral};
use std::sync::Arc;
use testkit::standins::{Fault, StandIn};

use crate::world::World;

fn usual(mistral: &Mistral) -> Arc<dyn Embedder> {
    let of = |name: &str| EmbedModel::new(name, EmbedModel::known_dimensions(name).unwrap());
    mistral.embedder(of(EMBED_TEXT_MODEL), of(EMBED_CODE_MODEL))
}

#[tokio::test]
async fn d104_mistral_embeds_text_and_code_with_a_model_each() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = usual(&world.mistral(&stand_in));
    let texts = ["the lighthouse keeper", "a keeper of the lighthouse", "tax returns"];
    let vectors = embedder.vectors(IndexKind::Text, Purpose::Passage, &texts).await.unwrap();
    let nearness = |a: usize, b: usize| -> f32 {
        vectors[a].iter().zip(&vectors[b]).map(|(one, other)| one * other).sum()
    };
    assert!(nearness(0, 1) > 0.6 && nearness(0, 2) < 0.3, "in the order of the texts");
    assert_eq!((embedder.model(IndexKind::Text), vectors[0].len()), ("mistral-embed", 1024));

    let code = embedder.vectors(IndexKind::Code, Purpose::Question, &["fn main() {}"]).await.unwrap();
    assert_eq!((embedder.model(IndexKind::Code), code[0].len()), ("codestral-embed", 1536));
    let models: Vec<_> = stand_in.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(models, ["mistral-embed", "codestral-embed"]);
    assert_eq!(stand_in.counts().inputs, 4);
    let (provider, model, capability, used) = world.used().remove(0);
    assert_eq!(
        (provider.as_str(), model.as_str(), capability),
        ("mistral", "mistral-embed", Capability::Embed)
    );
    assert!(used.calls == 1 && used.tokens_in > 0, "{used:?}");
}

#[tokio::test]
async fn a_chosen_length_is_asked_for_in_the_words_of_the_provider() {
    let (world, mistral, openai) = (World::new(), StandIn::mistral(), StandIn::openai());
    let of = |name: &str| EmbedModel { is_chosen: true, ..EmbedModel::new(name, 256) };
    let embedders = [
        world.mistral(&mistral).embedder(of("codestral-embed"), of("codestral-embed")),
        world.openai(&openai).embedder(of("text-embedding-3-small"), of("text-embedding-3-small")),
    ];
    for embedder in embedders {
        let vectors = embedder.vectors(IndexKind::Code, Purpose::Passage, &["x"]).await.unwrap();
        assert_eq!(vectors[0].len(), 256);
        assert!(embedder.model(IndexKind::Code).ends_with("@256"));
    }
    assert_eq!(mistral.last_request().json()["output_dimension"], 256);
    assert_eq!(openai.last_request().json()["dimensions"], 256);
}

#[tokio::test]
async fn what_is_too_much_at_once_is_halved() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    stand_in.refuse_more_inputs_than(10);
    let embedder = usual(&world.mistral(&stand_in));
    let texts: Vec<String> = (0..70).map(|number| format!("text {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.vectors(IndexKind::Text, Purpose::Passage, &texts).await.unwrap();
    assert_eq!((vectors.len(), stand_in.counts().inputs), (70, 70), "none twice");
    let alone = embedder.vectors(IndexKind::Text, Purpose::Passage, &texts[69..]).await.unwrap();
    assert_eq!(vectors[69], alone[0], "in order");
    assert!(stand_in.counts().embed_calls <= 8 + 1);
}

#[tokio::test]
async fn many_texts_go_in_several_requests() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = usual(&world.mistral(&stand_in));
    let texts = vec!["text"; 300];
    assert_eq!(embedder.vectors(IndexKind::Text, Purpose::Passage, &texts).await.unwrap().len(), 300);
    assert_eq!(stand_in.counts().embed_calls, 3);
}

#[tokio::test]
async fn a_local_server_needs_no_key_and_costs_nothing() {
    let (world, stand_in) = (World::new(), StandIn::local_openai());
    let openai = world.openai(&stand_in);
    assert_eq!(openai.dimensions("my-model").await.unwrap(), 1536);
    let model = EmbedModel::new("my-model", 1536);
    let embedder = openai.embedder(model.clone(), model);
    embedder.vectors(IndexKind::Text, Purpose::Passage, &["x"]).await.unwrap();
    assert!(stand_in.requests().iter().all(|request| request.header("authorization").is_none()));
    assert_eq!(world.used(), []);
    let first = stand_in.requests()[0].json();
    assert_eq!(first["encoding_format"], "float");
}

#[tokio::test]
async fn wrong_answers_are_bad_answers() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = usual(&world.mistral(&stand_in));
    for fault in
        [Fault::WrongShape, Fault::NotJson, Fault::Dimensions(7), Fault::OneTooFew, Fault::Huge(65 << 20)]
    {
        stand_in.then([fault.clone()]);
        let error = embedder.vectors(IndexKind::Text, Purpose::Passage, &["a", "b"]).await.unwrap_err();
        assert!(matches!(error.kind, ProviderErrorKind::BadAnswer { .. }), "{fault:?}: {error}");
    }
    assert_eq!(stand_in.counts().requests, 5, "asking again would cost the same again");
}

#[tokio::test]
async fn a_ports_future_may_run_anywhere() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let embedder = usual(&world.mistral(&stand_in));
    // A runtime that lives for one call only, as the engine's questions have.
    for _ in 0..3 {
        let embedder = Arc::clone(&embedder);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(embedder.vectors(IndexKind::Text, Purpose::Question, &["x"])).unwrap().len()
        });
        assert_eq!(thread.join().unwrap(), 1);
    }
    assert_eq!(
        world.used().iter().map(|(.., used)| used.calls).sum::<u64>(),
        Usage { calls: 3, ..Usage::default() }.calls
    );
}
