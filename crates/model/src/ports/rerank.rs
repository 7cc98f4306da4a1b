//! The port behind which passages are compared with the question, one by one.

use super::ProviderFuture;

pub trait Reranker: Send + Sync {
    /// Its name in the configuration and in errors.
    fn provider(&self) -> &str;

    fn model(&self) -> &str;

    /// How well each passage answers the question, in the order of the passages. Only the order of the numbers means something.
    fn scores<'a>(&'a self, question: &'a str, passages: &'a [&'a str]) -> ProviderFuture<'a, Vec<f32>>;
}
