//! From pages of a document to recognised pages: as one request for several where the recogniser reads PDF files itself, by
//! a picture of each otherwise.

use std::ops::ControlFlow;
use std::time::Duration;

use extract::Format;
use model::{
    ProviderError, ProviderErrorKind, RecognizeInput, RecognizeLimits, RecognizedLine, RecognizedPage,
    SkipReason, TextRecognizer,
};

use crate::documents::{ContentKind, DocumentReader};
use crate::kept::KeptPage;
use crate::pace::ProviderPace;

use super::desk::LoadedDocument;

/// A request without an answer counts as lost after this time, whatever the provider's client does about it.
const REQUEST_DEADLINE: Duration = Duration::from_secs(300);

/// Pages of one request, whatever the provider takes: so many are lost with a kill at most.
const MOST_PAGES: usize = 32;

/// An answer that makes no sense is asked for once more.
const MOST_BAD_ANSWERS: u32 = 2;

/// Pages drawn in one go: the document is parsed once for all of them.
const DRAWN_TOGETHER: usize = 8;

/// What came of a request: pages, and those that will not be read, with the reason.
#[derive(Debug, Default)]
pub(super) struct PageAnswer {
    pub(super) read: Vec<KeptPage>,
    pub(super) refused: Vec<(u32, String)>,
    /// Pages whose pictures could not be made, through no fault of theirs.
    pub(super) not_tried: Option<String>,
}

impl PageAnswer {
    fn refused(page: u32, reason: String) -> PageAnswer {
        PageAnswer { refused: vec![(page, reason)], ..PageAnswer::default() }
    }
}

/// How the pages of a document are asked for.
pub(super) enum PageRequests {
    /// As the PDF that they are in, one request after the other: the whole file goes out with each.
    Pdf(Vec<Vec<u32>>),
    /// As pictures, drawn in groups.
    Pictures(Vec<Vec<u32>>),
}

impl PageRequests {
    pub(super) fn of(limits: &RecognizeLimits, document: &LoadedDocument, pages: &[u32]) -> PageRequests {
        let groups = |together: usize| pages.chunks(together).map(<[u32]>::to_vec).collect();
        let is_pdf = matches!(document.kind, ContentKind::Document(Format::Pdf, _));
        if is_pdf && limits.takes_pdf && document.bytes.len() <= limits.bytes {
            PageRequests::Pdf(groups(limits.pages.clamp(1, MOST_PAGES)))
        } else {
            PageRequests::Pictures(groups(DRAWN_TOGETHER))
        }
    }
}

/// Asks a recogniser at the provider's pace.
#[derive(Clone, Copy)]
pub(super) struct PageReader<'a> {
    pub(super) recognizer: &'a dyn TextRecognizer,
    pub(super) pace: &'a ProviderPace,
    pub(super) document: &'a LoadedDocument,
}

impl PageReader<'_> {
    /// Asks for pages of a PDF together, and for each alone if they are refused: one of them may be to blame.
    pub(super) async fn read_pdf(self, pages: Vec<u32>) -> Result<PageAnswer, ProviderError> {
        let refusal = match self.ask_pdf(&pages).await? {
            Ok(read) => return Ok(PageAnswer { read, ..PageAnswer::default() }),
            Err(reason) => reason,
        };
        if let [page] = *pages {
            return Ok(PageAnswer::refused(page, refusal));
        }
        let mut answer = PageAnswer::default();
        for page in pages {
            // When the first two are refused by themselves, it is the file that is refused.
            if answer.read.is_empty() && answer.refused.len() >= 2 {
                answer.refused.push((page, refusal.clone()));
                continue;
            }
            match self.ask_pdf(&[page]).await? {
                Ok(read) => answer.read.extend(read),
                Err(reason) => answer.refused.push((page, reason)),
            }
        }
        Ok(answer)
    }

    /// Asks for one page by its picture.
    pub(super) async fn read_picture(self, page: u32, picture: Drawn) -> Result<PageAnswer, ProviderError> {
        let (bytes, media_type) = match &picture {
            Drawn::AsItIs(media_type) => (self.document.bytes.as_slice(), *media_type),
            Drawn::Png(png) => (png.as_slice(), "image/png"),
            Drawn::Refused(reason) => return Ok(PageAnswer::refused(page, reason.clone())),
            Drawn::NotTried(detail) => {
                return Ok(PageAnswer { not_tried: Some(detail.clone()), ..PageAnswer::default() });
            }
        };
        let most = self.recognizer.limits().bytes;
        if bytes.len() > most {
            let reason = format!("its picture has {} bytes; {most} are taken", bytes.len());
            return Ok(PageAnswer::refused(page, reason));
        }
        let input = RecognizeInput::Picture { bytes, media_type };
        Ok(match self.ask(input, &[page]).await? {
            Ok(read) => PageAnswer { read, ..PageAnswer::default() },
            Err(reason) => PageAnswer::refused(page, reason),
        })
    }

    async fn ask_pdf(self, pages: &[u32]) -> Result<Result<Vec<KeptPage>, String>, ProviderError> {
        self.ask(RecognizeInput::Pdf { bytes: &self.document.bytes, pages }, pages).await
    }

    async fn ask(
        self,
        input: RecognizeInput<'_>,
        pages: &[u32],
    ) -> Result<Result<Vec<KeptPage>, String>, ProviderError> {
        let kept = |page| KeptPage {
            provider: self.recognizer.provider().to_owned(),
            model: self.recognizer.model().to_owned(),
            page,
        };
        let answer = request(self.recognizer, self.pace, input, pages).await?;
        Ok(answer.map(|read| read.into_iter().map(kept).collect()))
    }
}

/// The picture of a page.
pub(super) enum Drawn {
    /// The document is a picture that the recogniser decodes itself: its media type.
    AsItIs(&'static str),
    Png(Vec<u8>),
    /// There is no picture of it.
    Refused(String),
    /// The reader failed, and may not the next time.
    NotTried(String),
}

/// Pictures of pages. May take long.
pub(super) fn draw(
    reader: &dyn DocumentReader,
    document: &LoadedDocument,
    pages: &[u32],
    limits: &RecognizeLimits,
) -> Vec<(u32, Drawn)> {
    let Some(format) = extract::sniff(document.path.file_name(), &document.bytes) else {
        let why = "its format is not decoded";
        return pages.iter().map(|page| (*page, Drawn::Refused(why.to_owned()))).collect();
    };
    if let Some(known) = format.media_type().filter(|_| format.is_picture())
        && limits.picture_types.contains(&known)
        && document.bytes.len() <= limits.bytes
    {
        return pages.iter().map(|page| (*page, Drawn::AsItIs(known))).collect();
    }
    let mut drawn = Vec::with_capacity(pages.len());
    reader.page_pictures(format, &document.bytes, pages, &mut |page, picture| {
        drawn.push((
            page,
            match picture {
                Ok(picture) => Drawn::Png(picture.png),
                Err(SkipReason::NotTried { detail }) => Drawn::NotTried(detail),
                Err(reason) => Drawn::Refused(reason.to_string()),
            },
        ));
        ControlFlow::Continue(())
    });
    drawn
}

/// One request, repeated at the provider's pace until it is answered or refused; the error ends the run.
async fn request(
    recognizer: &dyn TextRecognizer,
    pace: &ProviderPace,
    input: RecognizeInput<'_>,
    pages: &[u32],
) -> Result<Result<Vec<RecognizedPage>, String>, ProviderError> {
    let mut bad_answers = 0;
    loop {
        let turn = pace.turn().await?;
        let answer = tokio::time::timeout(REQUEST_DEADLINE, recognizer.recognize(input)).await;
        let error = match answer.map(|answer| answer.and_then(|read| checked(recognizer, read, pages))) {
            Ok(Ok(read)) => {
                pace.succeeded();
                return Ok(Ok(read));
            }
            Ok(Err(ProviderError { kind: ProviderErrorKind::Refused { reason }, .. })) => {
                pace.succeeded();
                return Ok(Err(reason));
            }
            Ok(Err(ProviderError { kind: ProviderErrorKind::BadAnswer { reason }, .. })) => {
                bad_answers += 1;
                pace.succeeded();
                if bad_answers >= MOST_BAD_ANSWERS {
                    return Ok(Err(format!("the answer is not usable: {reason}")));
                }
                continue;
            }
            Ok(Err(error)) => error,
            Err(_) => {
                let reason = format!("none within {} s", REQUEST_DEADLINE.as_secs());
                ProviderError::new(recognizer.provider(), ProviderErrorKind::Unreachable { reason })
            }
        };
        tracing::warn!(%error, "pages could not be recognised");
        pace.failed(turn, error)?;
    }
}

/// The pages that were asked for, in their order.
fn checked(
    recognizer: &dyn TextRecognizer,
    read: Vec<RecognizedPage>,
    pages: &[u32],
) -> Result<Vec<RecognizedPage>, ProviderError> {
    let bad = |reason| ProviderError::new(recognizer.provider(), ProviderErrorKind::BadAnswer { reason });
    // A picture does not know which page it is of.
    if let ([page], 1) = (pages, read.len()) {
        return Ok(read.into_iter().map(|one| RecognizedPage { page: *page, ..tidied(one) }).collect());
    }
    let mut read = read;
    pages
        .iter()
        .map(|page| {
            let at = read.iter().position(|one| one.page == *page);
            let at = at.ok_or_else(|| bad(format!("page {page} is missing")))?;
            Ok(tidied(read.swap_remove(at)))
        })
        .collect()
}

fn tidied(page: RecognizedPage) -> RecognizedPage {
    let line = |line: RecognizedLine| RecognizedLine { text: tidy(&line.text), ..line };
    RecognizedPage {
        text: tidy(&page.text),
        lines: page.lines.into_iter().map(line).collect(),
        confidence: page.confidence.filter(|confidence| confidence.is_finite()),
        ..page
    }
}

/// A text as all extracted ones are: `\n` line ends, no other control characters, nothing blank at its end.
pub(super) fn tidy(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(['\r', '\x0c'], "\n");
    let kept = text.chars().filter(|char| !char.is_control() || matches!(char, '\n' | '\t'));
    kept.collect::<String>().trim_end().to_owned()
}
