//! Whisper's decoder, one token at a time, with what it remembers between them.

use rten::{NodeId, Value, ValueOrView};
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

use crate::local::models::run::LoadedNetwork;

/// All sizes of Whisper have heads of this width.
const HEAD: usize = 64;

pub(super) struct TokenDecoder {
    network: LoadedNetwork,
    token: NodeId,
    sound: NodeId,
    /// Whether there is anything to remember.
    remembers: NodeId,
    logits: NodeId,
    /// For each layer what is remembered of the text (keys, values) and of the sound (keys, values).
    past: Vec<[NodeId; 4]>,
    present: Vec<[NodeId; 4]>,
}

/// What the decoder remembers after some tokens. That of the text is small and grows; that of the sound is large and stays.
#[derive(Clone, Default)]
pub(super) struct TextMemory(Vec<Value>);

pub(super) struct SoundMemory {
    states: Value,
    caches: Vec<Value>,
}

impl TokenDecoder {
    pub(super) fn new(network: LoadedNetwork) -> Result<TokenDecoder, String> {
        let layer = |side: &str, number: usize| -> Result<[NodeId; 4], String> {
            let node = |part: &str| network.node(&format!("{side}.{number}.{part}"));
            Ok([node("decoder.key")?, node("decoder.value")?, node("encoder.key")?, node("encoder.value")?])
        };
        let past: Vec<[NodeId; 4]> =
            (0..).map_while(|number| layer("past_key_values", number).ok()).collect();
        let present: Result<Vec<[NodeId; 4]>, String> =
            (0..past.len()).map(|number| layer("present", number)).collect();
        if past.is_empty() {
            return Err("decoder.onnx: it remembers nothing".to_owned());
        }
        Ok(TokenDecoder {
            token: network.node("input_ids")?,
            sound: network.node("encoder_hidden_states")?,
            remembers: network.node("use_cache_branch")?,
            logits: network.node("logits")?,
            present: present?,
            past,
            network,
        })
    }

    /// Begins with a token; gives the scores of the next one, and what is remembered of it and of the sound.
    pub(super) fn begin(
        &self,
        states: Value,
        token: u32,
    ) -> Result<(Vec<f32>, TextMemory, SoundMemory), String> {
        let heads = states.shape().last().copied().unwrap_or(0) / HEAD;
        let nothing = Value::from(Tensor::<f32>::zeros(&[1, heads, 0, HEAD]));
        let mut inputs = self.inputs(token, false);
        inputs.push((self.sound, (&states).into()));
        for node in self.past.iter().flatten() {
            inputs.push((*node, (&nothing).into()));
        }
        let wanted: Vec<NodeId> =
            std::iter::once(self.logits).chain(self.present.iter().flatten().copied()).collect();
        let mut values = self.network.run(inputs, &wanted)?.into_iter();
        let logits = scores(values.next())?;
        let (mut text, mut caches) = (TextMemory::default(), Vec::new());
        for (at, value) in values.enumerate() {
            if at % 4 < 2 { text.0.push(value) } else { caches.push(value) }
        }
        Ok((logits, text, SoundMemory { states, caches }))
    }

    /// Goes on with a token; gives the scores of the next one.
    pub(super) fn next(
        &self,
        text: &mut TextMemory,
        sound: &SoundMemory,
        token: u32,
    ) -> Result<Vec<f32>, String> {
        let mut inputs = self.inputs(token, true);
        inputs.push((self.sound, (&sound.states).into()));
        let mut remembered = std::mem::take(&mut text.0).into_iter();
        for (layer, caches) in self.past.iter().zip(sound.caches.chunks(2)) {
            for (node, value) in layer[..2].iter().zip(&mut remembered) {
                inputs.push((*node, value.into()));
            }
            for (node, value) in layer[2..].iter().zip(caches) {
                inputs.push((*node, value.into()));
            }
        }
        let grown = self.present.iter().flat_map(|layer| &layer[..2]).copied();
        let wanted: Vec<NodeId> = std::iter::once(self.logits).chain(grown).collect();
        let mut values = self.network.run(inputs, &wanted)?.into_iter();
        let logits = scores(values.next())?;
        text.0 = values.collect();
        Ok(logits)
    }

    fn inputs(&self, token: u32, remembers: bool) -> Vec<(NodeId, ValueOrView<'static>)> {
        vec![
            (self.token, Tensor::from_data(&[1, 1], vec![token as i32]).into()),
            (self.remembers, Tensor::from_data(&[1], vec![i32::from(remembers)]).into()),
        ]
    }
}

/// The scores after the last token.
fn scores(logits: Option<Value>) -> Result<Vec<f32>, String> {
    let logits = logits.and_then(Value::into_tensor::<f32>).ok_or("the decoder gave no scores")?;
    let words = logits.shape().last().copied().unwrap_or(0);
    let all = logits.into_data();
    Ok(all[all.len() - words..].to_vec())
}
