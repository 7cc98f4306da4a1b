//! Text in pictures and scanned pages.

use model::{Capability, ProviderErrorKind, RecognizeInput};
use testkit::standins::{Fault, StandIn};

use crate::world::World;

#[tokio::test]
async fn d105_pages_of_a_pdf_are_counted_from_one() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    stand_in.read_pages(|seen| Some(format!("# Page {} of {}", seen.page, seen.media_type)));
    let recognizer = world.mistral(&stand_in).recognizer("mistral-ocr-latest");
    let input = RecognizeInput::Pdf { bytes: b"%PDF-fixture", pages: &[7, 3] };
    let pages = recognizer.recognize(input).await.unwrap();
    let texts: Vec<_> = pages.iter().map(|page| (page.page, page.text.as_str())).collect();
    assert_eq!(texts, [(7, "# Page 7 of application/pdf"), (3, "# Page 3 of application/pdf")]);
    assert_eq!((pages[0].width, pages[0].height, pages[0].confidence), (1700, 2200, Some(0.98)));
    assert_eq!(pages[0].lines[0].area, [100, 100, 1500, 32]);
    let sent = stand_in.last_request().json();
    assert_eq!(sent["pages"], serde_json::json!([6, 2]));
    assert_eq!(sent["document"]["document_url"], "data:application/pdf;base64,JVBERi1maXh0dXJl");
    let (_, model, capability, used) = world.used().remove(0);
    assert_eq!((model.as_str(), capability, used.pages), ("mistral-ocr-latest", Capability::Ocr, 2));
}

#[tokio::test]
async fn a_picture_is_one_page() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    stand_in.read_pages(|seen| Some(String::from_utf8_lossy(seen.bytes).into_owned()));
    let recognizer = world.mistral(&stand_in).recognizer("mistral-ocr-latest");
    let input = RecognizeInput::Picture { bytes: b"as if it were a photo", media_type: "image/jpeg" };
    let pages = recognizer.recognize(input).await.unwrap();
    assert_eq!((pages.len(), pages[0].page, pages[0].text.as_str()), (1, 1, "as if it were a photo"));
    assert_eq!(stand_in.counts().pages, 1);
}

#[tokio::test]
async fn an_older_model_is_asked_for_less() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let recognizer = world.mistral(&stand_in).recognizer("old");
    let input = RecognizeInput::Picture { bytes: b"x", media_type: "image/png" };
    stand_in
        .then([Fault::Refuse("body.confidence_scores_granularity: Extra inputs are not permitted".into())]);
    assert_eq!(recognizer.recognize(input).await.unwrap()[0].confidence, None);
    recognizer.recognize(input).await.unwrap();
    assert_eq!(stand_in.counts().requests, 3, "it remembers");
}

#[tokio::test]
async fn a_missing_page_is_a_bad_answer() {
    let (world, stand_in) = (World::new(), StandIn::mistral());
    let recognizer = world.mistral(&stand_in).recognizer("mistral-ocr-latest");
    stand_in.then([Fault::OneTooFew, Fault::WrongShape, Fault::Status(400)]);
    let input = RecognizeInput::Pdf { bytes: b"%PDF-fixture", pages: &[1, 2] };
    for _ in 0..2 {
        let error = recognizer.recognize(input).await.unwrap_err();
        assert!(matches!(error.kind, ProviderErrorKind::BadAnswer { .. }), "{error}");
    }
    let error = recognizer.recognize(input).await.unwrap_err();
    assert!(matches!(error.kind, ProviderErrorKind::Refused { .. }), "{error}");
}
