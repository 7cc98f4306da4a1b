//! A transcriber with the user's preferences: the language of the recordings, and whether times are wanted.

use std::sync::Arc;

use model::{ProviderFuture, TranscribeInput, TranscribeLimits, Transcriber, Transcript};

pub struct PreferredTranscriber {
    inner: Arc<dyn Transcriber>,
    language: Option<String>,
    timestamps: bool,
    model: String,
}

impl PreferredTranscriber {
    /// `language` counts where a caller names none; without `timestamps` nobody gets times.
    pub fn new(
        inner: Arc<dyn Transcriber>,
        language: Option<String>,
        timestamps: bool,
    ) -> PreferredTranscriber {
        // What changes the text is part of the name under which it is kept.
        let mut model = inner.model().to_owned();
        if let Some(language) = &language {
            model.push_str(&format!(" {language}"));
        }
        if !timestamps {
            model.push_str(" without times");
        }
        PreferredTranscriber { inner, language, timestamps, model }
    }
}

impl Transcriber for PreferredTranscriber {
    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> TranscribeLimits {
        self.inner.limits()
    }

    fn transcribe<'a>(&'a self, input: TranscribeInput<'a>) -> ProviderFuture<'a, Transcript> {
        self.inner.transcribe(TranscribeInput {
            language: input.language.or(self.language.as_deref()),
            timestamps: input.timestamps && self.timestamps,
            ..input
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use model::Audio;

    use super::*;

    #[derive(Default)]
    struct Noting(Mutex<Vec<(Option<String>, bool)>>);

    impl Transcriber for Noting {
        fn provider(&self) -> &str {
            "noting"
        }

        fn model(&self) -> &str {
            "m"
        }

        fn limits(&self) -> TranscribeLimits {
            TranscribeLimits { takes_files: true, bytes: 1, requests: 1 }
        }

        fn transcribe<'a>(&'a self, input: TranscribeInput<'a>) -> ProviderFuture<'a, Transcript> {
            self.0.lock().unwrap().push((input.language.map(str::to_owned), input.timestamps));
            Box::pin(async { Ok(Transcript::default()) })
        }
    }

    #[tokio::test]
    async fn the_caller_s_language_comes_before_the_user_s() {
        let noting = Arc::new(Noting::default());
        let inner = || Arc::clone(&noting) as Arc<dyn Transcriber>;
        let input = |language| TranscribeInput {
            audio: Audio::Samples(&[]),
            language,
            timestamps: true,
            on_progress: None,
        };
        let german = PreferredTranscriber::new(inner(), Some("de".into()), true);
        german.transcribe(input(None)).await.unwrap();
        german.transcribe(input(Some("fr"))).await.unwrap();
        let timeless = PreferredTranscriber::new(inner(), None, false);
        timeless.transcribe(input(None)).await.unwrap();
        assert_eq!(
            *noting.0.lock().unwrap(),
            [(Some("de".into()), true), (Some("fr".into()), true), (None, false)]
        );
        assert_eq!((german.model(), timeless.model()), ("m de", "m without times"));
        assert_eq!(PreferredTranscriber::new(inner(), None, true).model(), "m");
    }
}
