//! MiniLM: compares passages with a question by their meaning.

mod wordpiece;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::{ProviderErrorKind, ProviderFuture, Reranker};
use rten::{NodeId, ThreadPool};
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

use super::files::ModelKind;
use super::messages::{ModelAnswer, ModelRequest};
use super::process::{ModelProcess, ModelPrograms};
use super::run::LoadedNetwork;
use wordpiece::PassageVocabulary;

const NAME: &str = "local";

const PATIENCE: Duration = Duration::from_secs(60);

/// The model was trained on texts of 256 tokens; what follows does not count.
const MAX_TOKENS: usize = 256;

/// Compares passages with the sentence model of an extra, in a child process.
#[derive(Debug, Clone)]
pub struct PassageModel {
    process: ModelProcess,
    model: String,
}

impl PassageModel {
    /// `folder` holds the files of the extra, `model` is its name in the catalogue.
    pub fn new(programs: &ModelPrograms, folder: &Path, model: &str) -> PassageModel {
        let process = ModelProcess::new(NAME, programs, ModelKind::Passages, folder, PATIENCE);
        PassageModel { process, model: model.to_owned() }
    }
}

impl Reranker for PassageModel {
    fn provider(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn scores<'a>(&'a self, question: &'a str, passages: &'a [&'a str]) -> ProviderFuture<'a, Vec<f32>> {
        Box::pin(async move {
            let passages: Vec<String> = passages.iter().map(|passage| (*passage).to_owned()).collect();
            let count = passages.len();
            let request = ModelRequest::Rerank { question: question.to_owned(), passages };
            match self.process.ask(request, Vec::new(), None).await? {
                ModelAnswer::Scores(scores) if scores.len() == count => Ok(scores),
                ModelAnswer::Scores(scores) => {
                    let reason = format!("{} scores for {count} passages", scores.len());
                    Err(self.process.error(ProviderErrorKind::BadAnswer { reason }))
                }
                other => Err(self.process.unexpected(other)),
            }
        })
    }
}

/// The model itself, in the child.
pub(super) struct PassageScorer {
    network: LoadedNetwork,
    vocabulary: PassageVocabulary,
    /// Tokens, which of them count, and which of two texts they belong to.
    inputs: [NodeId; 3],
    states: NodeId,
}

impl PassageScorer {
    pub(super) fn load(
        model: Vec<u8>,
        vocabulary: &[u8],
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<PassageScorer, String> {
        let network = LoadedNetwork::load("model.onnx", model, pool)?;
        Ok(PassageScorer {
            vocabulary: PassageVocabulary::read(vocabulary)?,
            inputs: [
                network.node("input_ids")?,
                network.node("attention_mask")?,
                network.node("token_type_ids")?,
            ],
            states: network.node("last_hidden_state")?,
            network,
        })
    }

    /// The cosine between the question and each passage.
    pub(super) fn scores(&self, question: &str, passages: &[String]) -> Result<Vec<f32>, String> {
        let question = self.meaning(question)?;
        let cosine = |passage: &String| {
            let passage = self.meaning(passage)?;
            Ok(question.iter().zip(&passage).map(|(one, other)| one * other).sum())
        };
        passages.iter().map(cosine).collect()
    }

    /// A vector of unit length. Texts go one by one: filling them up to the same length costs more than it saves.
    fn meaning(&self, text: &str) -> Result<Vec<f32>, String> {
        let tokens = self.vocabulary.tokens(text, MAX_TOKENS);
        let count = tokens.len();
        let row = |values: Vec<i32>| Tensor::from_data(&[1, count], values);
        let inputs = [tokens, vec![1; count], vec![0; count]];
        let inputs =
            self.inputs.iter().zip(inputs).map(|(node, values)| (*node, row(values).into())).collect();
        let states = self.network.run(inputs, &[self.states])?.pop();
        let states =
            states.and_then(|states| states.into_tensor::<f32>()).ok_or("the model gave no vectors")?;
        let dimensions = states.shape().last().copied().unwrap_or(1).max(1);
        let mut mean = vec![0.0; dimensions];
        for state in states.into_data().chunks_exact(dimensions) {
            for (sum, value) in mean.iter_mut().zip(state) {
                *sum += value;
            }
        }
        let length = mean.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        Ok(mean.into_iter().map(|value| value / length).collect())
    }
}
