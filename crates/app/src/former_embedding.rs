//! Remembers which services made the vectors of a state directory, so that they can still be asked when another one has
//! taken their place: the vectors that are there answer until the new ones are complete, and only their maker can embed a
//! question for them.
//!
//! Names are remembered, addresses and keys are not: a state directory may have come with a folder, and must not decide
//! where a key is sent.

use std::path::{Path, PathBuf};

use providers::EmbedModel;
use serde::{Deserialize, Serialize};

use crate::config::files;
use crate::config::settings::{Models, ProviderChoice};

const FILE: &str = "embedders.json";
const FORMAT: u32 = 1;
/// Services that are remembered.
const MOST: usize = 3;
/// The files of vectors that a former model made, as the index calls them.
const FORMER_FILES: [&str; 2] = ["vectors_text.former.hnsw", "vectors_code.former.hnsw"];

/// A service and its models for text and code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VectorMaker {
    provider: MakerName,
    text: MakerModel,
    code: MakerModel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MakerName {
    Mistral,
    Openai,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct MakerModel {
    name: String,
    dimensions: usize,
    is_chosen: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct MakerFile {
    format: u32,
    /// The last one first.
    embedders: Vec<VectorMaker>,
}

impl VectorMaker {
    /// The service that a configuration names; none where vectors are made on this machine.
    pub(crate) fn of(provider: ProviderChoice, models: &Models) -> Option<VectorMaker> {
        let known = |name: &String| {
            MakerModel::from(EmbedModel::new(name, EmbedModel::known_dimensions(name).unwrap_or_default()))
        };
        match provider {
            ProviderChoice::Mistral => Some(VectorMaker {
                provider: MakerName::Mistral,
                text: known(&models.mistral.embed_text_model),
                code: known(&models.mistral.embed_code_model),
            }),
            ProviderChoice::Openai => {
                let openai = &models.openai;
                let known = EmbedModel::known_dimensions(&openai.embed_model);
                let dimensions = openai.embed_dimensions.or(known).unwrap_or_default();
                let model = MakerModel {
                    name: openai.embed_model.clone(),
                    dimensions,
                    // Another length than the model's own has to be asked for.
                    is_chosen: known.is_some_and(|known| known != dimensions),
                };
                Some(VectorMaker { provider: MakerName::Openai, text: model.clone(), code: model })
            }
            _ => None,
        }
    }

    pub(crate) fn provider(&self) -> ProviderChoice {
        match self.provider {
            MakerName::Mistral => ProviderChoice::Mistral,
            MakerName::Openai => ProviderChoice::Openai,
        }
    }

    /// The models for text and for code.
    pub(crate) fn models(&self) -> [EmbedModel; 2] {
        [&self.text, &self.code].map(|model| EmbedModel {
            name: model.name.clone(),
            dimensions: model.dimensions,
            is_chosen: model.is_chosen,
        })
    }
}

impl From<EmbedModel> for MakerModel {
    fn from(EmbedModel { name, dimensions, is_chosen }: EmbedModel) -> MakerModel {
        MakerModel { name, dimensions, is_chosen }
    }
}

/// Who else may have made vectors that still answer.
pub(crate) fn former(state_dir: &Path, present: &VectorMaker) -> Vec<VectorMaker> {
    let recorded = recorded(state_dir);
    let is_changing = recorded.first().is_some_and(|last| last != present)
        || FORMER_FILES.iter().any(|name| files::is_file(&state_dir.join(name)));
    recorded.into_iter().filter(|maker| is_changing && maker != present).collect()
}

/// Notes who makes vectors from now on. Without it, words answer alone after the next change.
pub(crate) fn remember(state_dir: &Path, present: &VectorMaker, former: &[VectorMaker]) {
    let embedders: Vec<VectorMaker> = [present].into_iter().chain(former).take(MOST).cloned().collect();
    if recorded(state_dir) == embedders {
        return;
    }
    let written = serde_json::to_string(&MakerFile { format: FORMAT, embedders })
        .map_err(std::io::Error::other)
        .and_then(|text| files::write(&path(state_dir), &(text + "\n"), 0o600));
    if let Err(error) = written {
        tracing::warn!(%error, "who made the vectors could not be written down");
    }
}

fn recorded(state_dir: &Path) -> Vec<VectorMaker> {
    let Ok(Some(file)) = files::read_if_present(&path(state_dir)) else { return Vec::new() };
    match serde_json::from_str::<MakerFile>(&file.text) {
        Ok(read) if read.format == FORMAT => read.embedders,
        _ => Vec::new(),
    }
}

fn path(state_dir: &Path) -> PathBuf {
    state_dir.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker(provider: MakerName, name: &str) -> VectorMaker {
        let model = MakerModel { name: name.to_owned(), dimensions: 4, is_chosen: false };
        VectorMaker { provider, text: model.clone(), code: model }
    }

    #[test]
    fn another_maker_is_remembered_until_its_vectors_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        let (old, new) = (maker(MakerName::Mistral, "a"), maker(MakerName::Openai, "b"));
        assert_eq!(former(state, &old), []);
        remember(state, &old, &[]);
        assert_eq!(former(state, &old), []);
        assert_eq!(former(state, &new), std::slice::from_ref(&old));
        remember(state, &new, std::slice::from_ref(&old));
        assert_eq!(former(state, &new), [], "unless the index has set its vectors aside");
        std::fs::write(state.join(FORMER_FILES[0]), "").unwrap();
        assert_eq!(former(state, &new), [old]);
        std::fs::write(state.join(FILE), "{").unwrap();
        assert_eq!(former(state, &new), []);
    }
}
