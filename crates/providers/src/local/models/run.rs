//! Small helpers around `rten`: loading a model, and running it on named inputs.

use std::sync::Arc;

use rten::{Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView};

/// A model and the threads it runs on.
pub(super) struct LoadedNetwork {
    model: Model,
    pool: Option<Arc<ThreadPool>>,
}

impl LoadedNetwork {
    pub(super) fn load(
        name: &str,
        bytes: Vec<u8>,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<LoadedNetwork, String> {
        let mut options = rten::ModelOptions::with_all_ops();
        options.prepack_weights(true);
        let model = options.load(bytes).map_err(|error| format!("{name}: {error}"))?;
        Ok(LoadedNetwork { model, pool })
    }

    pub(super) fn node(&self, name: &str) -> Result<NodeId, String> {
        self.model.node_id(name).map_err(|error| error.to_string())
    }

    /// What the file says about itself under a name.
    pub(super) fn metadata(&self, name: &str) -> Option<String> {
        let mut fields = self.model.metadata().fields();
        fields.find(|(field, _)| *field == name).map(|(_, value)| value.to_owned())
    }

    pub(super) fn inputs(&self) -> &[NodeId] {
        self.model.input_ids()
    }

    pub(super) fn outputs(&self) -> &[NodeId] {
        self.model.output_ids()
    }

    pub(super) fn run(
        &self,
        inputs: Vec<(NodeId, ValueOrView<'_>)>,
        outputs: &[NodeId],
    ) -> Result<Vec<Value>, String> {
        let options = RunOptions::default().with_thread_pool(self.pool.clone());
        self.model.run(inputs, outputs, Some(options)).map_err(|error| error.to_string())
    }

    /// The first output for a single input.
    pub(super) fn run_one(&self, input: ValueOrView<'_>) -> Result<Value, String> {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let [Some(into), Some(from)] = [inputs.first(), outputs.first()] else {
            return Err("the model has no input or no output".to_owned());
        };
        let mut values = self.run(vec![(*into, input)], &[*from])?;
        values.pop().ok_or_else(|| "the model gave no output".to_owned())
    }
}
