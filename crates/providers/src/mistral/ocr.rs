//! Mistral's OCR: PDFs and pictures as data URLs, pages as Markdown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use model::{
    Capability, ProviderError, ProviderErrorKind, ProviderFuture, RecognizeInput, RecognizeLimits,
    RecognizedLine, RecognizedPage, TextRecognizer, Usage,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::{HttpCall, ProviderEndpoint};

const DEADLINE: Duration = Duration::from_secs(300);

/// 50 MB and 1,000 pages are the service's own limits, of what base64 makes a third larger. Fewer pages at once keep the
/// work that a kill loses small.
const LIMITS: RecognizeLimits = RecognizeLimits {
    takes_pdf: true,
    picture_types: &["image/png", "image/jpeg", "image/webp", "image/gif", "image/avif"],
    bytes: 36 << 20,
    pages: 32,
    requests: 4,
};

pub(super) struct MistralRecognizer {
    endpoint: ProviderEndpoint,
    model: String,
    /// An older model refuses to say how sure it is and where blocks are.
    is_plain: AtomicBool,
}

impl MistralRecognizer {
    pub(super) fn new(endpoint: ProviderEndpoint, model: String) -> MistralRecognizer {
        MistralRecognizer { endpoint, model, is_plain: AtomicBool::new(false) }
    }

    async fn read(&self, input: RecognizeInput<'_>) -> Result<Vec<RecognizedPage>, ProviderError> {
        let asked: &[u32] = match &input {
            RecognizeInput::Picture { .. } => &[1],
            RecognizeInput::Pdf { pages, .. } => pages,
        };
        let metered = self.endpoint.admit_pages(Capability::Ocr, asked.len())?;
        let answer = match self.request(&input).await {
            Err(error) if is_about_details(&error.kind) && !self.is_plain.swap(true, Ordering::Relaxed) => {
                self.request(&input).await?
            }
            result => result?,
        };
        let pages = answer.usage_info.as_ref().and_then(|usage| usage.pages_processed);
        let used = Usage { pages: pages.unwrap_or(answer.pages.len() as u64), ..Usage::default() };
        metered.record(&self.model, used);
        in_order(answer.pages, asked).map_err(|reason| self.endpoint.bad_answer(reason))
    }

    async fn request(&self, input: &RecognizeInput<'_>) -> Result<OcrAnswer, ProviderError> {
        let data_url = |media_type: &str, bytes: &[u8]| {
            let mut url = format!("data:{media_type};base64,");
            BASE64_STANDARD.encode_string(bytes, &mut url);
            url
        };
        let mut body = json!({ "model": self.model, "include_image_base64": false });
        if !self.is_plain.load(Ordering::Relaxed) {
            body["include_blocks"] = json!(true);
            body["confidence_scores_granularity"] = json!("page");
        }
        match input {
            RecognizeInput::Picture { bytes, media_type } => {
                body["document"] = json!({ "type": "image_url", "image_url": data_url(media_type, bytes) });
            }
            RecognizeInput::Pdf { bytes, pages } => {
                let url = data_url("application/pdf", bytes);
                body["document"] = json!({ "type": "document_url", "document_url": url });
                // Its pages are counted from 0.
                let numbers: Vec<u32> = pages.iter().map(|page| page.saturating_sub(1)).collect();
                body["pages"] = json!(numbers);
            }
        }
        self.endpoint.json(HttpCall::json("ocr", &body).within(DEADLINE)).await
    }
}

impl TextRecognizer for MistralRecognizer {
    fn provider(&self) -> &str {
        self.endpoint.provider()
    }

    fn model(&self) -> &str {
        &self.model
    }

    /// No more pages at once than the user's limits leave for today: a request is paid for as a whole or not sent.
    fn limits(&self) -> RecognizeLimits {
        let left = self.endpoint.pages_left().map_or(LIMITS.pages, |left| left.max(1) as usize);
        RecognizeLimits { pages: LIMITS.pages.min(left), ..LIMITS }
    }

    fn recognize<'a>(&'a self, input: RecognizeInput<'a>) -> ProviderFuture<'a, Vec<RecognizedPage>> {
        Box::pin(self.read(input))
    }
}

#[derive(Deserialize)]
struct OcrAnswer {
    pages: Vec<OcrPage>,
    usage_info: Option<OcrUsage>,
}

#[derive(Deserialize)]
struct OcrPage {
    index: u32,
    markdown: String,
    #[serde(default)]
    images: Vec<OcrImage>,
    dimensions: Option<OcrSize>,
    confidence_scores: Option<OcrConfidence>,
    /// Kinds that are not known yet may have other fields.
    #[serde(default)]
    blocks: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct OcrImage {
    id: String,
}

#[derive(Deserialize)]
struct OcrSize {
    width: u32,
    height: u32,
}

#[derive(Deserialize)]
struct OcrConfidence {
    average_page_confidence_score: Option<f32>,
}

#[derive(Deserialize)]
struct OcrUsage {
    pages_processed: Option<u64>,
}

/// The pages asked for, in the order asked for.
fn in_order(mut answered: Vec<OcrPage>, asked: &[u32]) -> Result<Vec<RecognizedPage>, String> {
    answered.sort_by_key(|page| page.index);
    let is_asked = |page: &OcrPage| asked.contains(&(page.index + 1));
    // Should it count the pages of the answer instead of those of the document, their order is the document's.
    if answered.len() == asked.len() && !answered.iter().all(is_asked) {
        let mut sorted = asked.to_vec();
        sorted.sort_unstable();
        for (page, number) in answered.iter_mut().zip(sorted) {
            page.index = number.saturating_sub(1);
        }
    }
    asked
        .iter()
        .map(|number| {
            let place = answered.iter().position(|page| page.index + 1 == *number);
            let page = place.map(|place| answered.remove(place));
            page.map(|page| page.normalized(*number)).ok_or_else(|| format!("page {number} is not in it"))
        })
        .collect()
}

impl OcrPage {
    fn normalized(self, page: u32) -> RecognizedPage {
        let (width, height) = self.dimensions.map_or((0, 0), |size| (size.width, size.height));
        RecognizedPage {
            page,
            text: without_pictures(&self.markdown, &self.images),
            width,
            height,
            confidence: self.confidence_scores.and_then(|scores| scores.average_page_confidence_score),
            lines: self.blocks.unwrap_or_default().iter().filter_map(block).collect(),
        }
    }
}

/// A paragraph, title or table with its place.
fn block(block: &Value) -> Option<RecognizedLine> {
    let text = block["content"].as_str().filter(|text| !text.trim().is_empty())?.to_owned();
    let number = |name: &str| block[name].as_f64().map(|number| number.max(0.0) as u32);
    let (left, top) = (number("top_left_x")?, number("top_left_y")?);
    let (right, bottom) = (number("bottom_right_x")?, number("bottom_right_y")?);
    let area = [left, top, right.saturating_sub(left), bottom.saturating_sub(top)];
    Some(RecognizedLine { text, area, confidence: None })
}

/// The page without the marks of pictures inside it, which say nothing.
fn without_pictures(markdown: &str, images: &[OcrImage]) -> String {
    let marks: Vec<String> = images.iter().map(|image| format!("![{0}]({0})", image.id)).collect();
    let mut lines: Vec<&str> = Vec::new();
    for line in markdown.lines() {
        if marks.iter().any(|mark| line.trim() == mark) {
            // Nor the empty line after it.
            while lines.last().is_some_and(|line| line.trim().is_empty()) {
                lines.pop();
            }
        } else {
            lines.push(line);
        }
    }
    lines.join("\n").trim().to_owned()
}

fn is_about_details(kind: &ProviderErrorKind) -> bool {
    let ProviderErrorKind::Refused { reason } = kind else { return false };
    ["confidence_scores_granularity", "include_blocks", "confidence"].iter().any(|sign| reason.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(index: u32) -> OcrPage {
        let text = format!(r#"{{"index":{index},"markdown":"page {index}","images":[],"dimensions":null}}"#);
        serde_json::from_str(&text).unwrap()
    }

    fn texts(answered: &[u32], asked: &[u32]) -> Result<Vec<(u32, String)>, String> {
        let pages = in_order(answered.iter().map(|index| page(*index)).collect(), asked)?;
        Ok(pages.into_iter().map(|page| (page.page, page.text)).collect())
    }

    #[test]
    fn pages_come_as_asked_for() {
        assert_eq!(texts(&[4, 2], &[3, 5]).unwrap(), [(3, "page 2".into()), (5, "page 4".into())]);
        assert_eq!(texts(&[4, 2], &[5, 3]).unwrap(), [(5, "page 4".into()), (3, "page 2".into())]);
        // Counted within the answer.
        assert_eq!(texts(&[0, 1], &[7, 9]).unwrap(), [(7, "page 0".into()), (9, "page 1".into())]);
        assert_eq!(texts(&[0], &[1, 2]), Err("page 2 is not in it".to_owned()));
    }

    #[test]
    fn pictures_leave_no_mark() {
        let images = [OcrImage { id: "img-0.jpeg".into() }];
        let markdown = "# Title\n\n![img-0.jpeg](img-0.jpeg)\n\nText ![other](x.png)\n";
        assert_eq!(without_pictures(markdown, &images), "# Title\n\nText ![other](x.png)");
    }

    #[test]
    fn blocks_have_their_place() {
        let value = json!({
            "type": "text", "content": "Total 12", "top_left_x": 10, "top_left_y": 20, "bottom_right_x": 110, "bottom_right_y": 45,
        });
        assert_eq!(block(&value).unwrap().area, [10, 20, 100, 25]);
        assert_eq!(block(&json!({ "type": "image", "content": "" })), None);
    }
}
