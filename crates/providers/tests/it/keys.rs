//! Keys stay secret: not in errors, not in what is printed for debugging, not in logs.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use model::{ChatMessage, ChatRequest, ChatRole, IndexKind, Purpose};
use providers::EmbedModel;
use testkit::standins::{Fault, StandIn};

use crate::world::World;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_key_in_errors_debugging_or_logs() {
    let written = Written::default();
    let log = written.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let (world, stand_in) = (World::new(), StandIn::mistral());
    let secret = stand_in.key().to_owned();
    let mistral = world.mistral(&stand_in);
    let wrong = "fixture-wrong-key-of-the-test";
    let denied = world.mistral_with_key(&stand_in, wrong);
    let broken = world.mistral_with_key(&stand_in, "fixture-broken\nkey");
    let mut shown = String::new();
    let faults = [
        Fault::Refuse("Incorrect API key provided: {key}".into()),
        Fault::Refuse("{key}{key} in [{key}]".into()),
        Fault::Status(401),
        Fault::Status(500),
        Fault::WrongShape,
        Fault::NotJson,
        Fault::Close,
        Fault::CutOff,
        Fault::Redirect("http://127.0.0.1:1/{key}".into()),
        Fault::RateLimited(None),
    ];
    for fault in faults {
        stand_in.then(vec![fault; 4]);
        for provider in [&mistral, &denied, &broken] {
            let model = EmbedModel::new("mistral-embed", 1024);
            let embedder = provider.embedder(model.clone(), model);
            let error = embedder.vectors(IndexKind::Text, Purpose::Passage, &["x"]).await.err();
            shown +=
                &format!("{error:?} {}\n", error.as_ref().map(|error| error.to_string()).unwrap_or_default());
            let request = ChatRequest {
                messages: vec![ChatMessage { role: ChatRole::User, text: "x".into() }],
                ..ChatRequest::default()
            };
            let error = provider.chat("m").chat(&request, Some(&|_| ())).await.err();
            shown += &format!("{error:?}\n");
            shown += &format!("{:?}\n", provider.probe(&[]).await);
        }
    }
    shown +=
        &format!("{:?} {:?} {:?}", world.core, mistral.reach(), providers::http::HttpSettings::default());
    assert!(shown.contains("****"), "a key that came back was replaced: {shown}");
    let log = String::from_utf8_lossy(&written.0.lock().unwrap()).into_owned();
    assert!(log.contains("a request failed"), "the log was written: {log}");
    for key in [secret.as_str(), wrong, "fixture-broken"] {
        assert!(!shown.contains(key), "{shown}");
        assert!(!log.contains(key), "{log}");
    }
}
