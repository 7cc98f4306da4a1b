//! A store that is simulated, with a fault of one's choice: what the checker of histories has to find.

use super::checker::StoreEvent;
use super::model::StoreModel;
use super::operation::{StoreAnswer, StoreOperation, StoreWriteMode, random_operation};
use crate::Random;

/// What a store could do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedFault {
    /// An acknowledged write is not there.
    LostWrite,
    /// An append happens twice.
    DoubledAppend,
    /// Of two overlapping appends the second starts from the file as it was before the first.
    LostUpdate,
    /// A read answers with what was there a while ago.
    StaleRead,
    /// A move leaves its source in place.
    CopyInsteadOfMove,
    /// A directory is moved by halves.
    PartialMove,
    /// A deleted file comes back.
    Resurrection,
    /// An overwrite cuts off what lies behind it.
    CutTail,
    /// A refused write happens all the same.
    RefusedButDone,
    /// A pattern character in a path matches other paths.
    WildcardDelete,
}

pub const PLANTED_FAULTS: &[PlantedFault] = &[
    PlantedFault::LostWrite,
    PlantedFault::DoubledAppend,
    PlantedFault::LostUpdate,
    PlantedFault::StaleRead,
    PlantedFault::CopyInsteadOfMove,
    PlantedFault::PartialMove,
    PlantedFault::Resurrection,
    PlantedFault::CutTail,
    PlantedFault::RefusedButDone,
    PlantedFault::WildcardDelete,
];

/// The history of some clients who work at once, each with one operation after another. Operations take effect in the
/// order of random moments between their calls and their answers.
pub fn simulated_history(
    fault: Option<PlantedFault>,
    clients: usize,
    operations: usize,
    seed: u64,
) -> Vec<StoreEvent> {
    let mut random = Random::new(seed);
    let mut free_at = vec![0u64; clients];
    // (effect, called, answered, operation)
    let mut planned = Vec::with_capacity(operations);
    for number in 0..operations {
        let client = random.below(clients);
        let called = free_at[client] + 1 + random.below(20) as u64;
        let effect = called + random.below(30) as u64;
        let answered = effect + random.below(30) as u64;
        free_at[client] = answered;
        planned.push((effect, called, answered, random_operation(&mut random, number as u64)));
    }
    planned.sort_by_key(|(effect, ..)| *effect);
    let mut store = FaultyStore { model: StoreModel::default(), former: Vec::new(), fault, random };
    planned
        .into_iter()
        .map(|(_, called, answered, operation)| {
            let answer = store.apply(&operation);
            StoreEvent { operation, called, answered: Some((answered, answer)) }
        })
        .collect()
}

struct FaultyStore {
    model: StoreModel,
    former: Vec<StoreModel>,
    fault: Option<PlantedFault>,
    random: Random,
}

impl FaultyStore {
    fn apply(&mut self, operation: &StoreOperation) -> StoreAnswer {
        self.former.push(self.model.clone());
        let before = self.model.clone();
        let answer = self.model.apply(operation);
        let succeeded = !matches!(answer, StoreAnswer::Refused(_));
        let strikes = self.random.below(8) == 0;
        let Some(fault) = self.fault.filter(|_| strikes) else { return answer };
        match (fault, operation) {
            (PlantedFault::LostWrite, StoreOperation::Write { .. }) if succeeded => self.model = before,
            (PlantedFault::DoubledAppend, StoreOperation::Write { mode: StoreWriteMode::Append, .. })
                if succeeded =>
            {
                self.model.apply(operation);
            }
            (PlantedFault::LostUpdate, StoreOperation::Write { path, mode: StoreWriteMode::Append, .. })
                if succeeded =>
            {
                let old = self.former.iter().rev().skip(4).find_map(|each| each.files.get(path).cloned());
                let own = self.model.files[path][before.files.get(path).map_or(0, Vec::len)..].to_vec();
                if let Some(old) = old {
                    self.model.files.insert(path.clone(), [old, own].concat());
                }
            }
            (PlantedFault::StaleRead, StoreOperation::Read { .. } | StoreOperation::List) => {
                let at = self.former.len().saturating_sub(40);
                return self.former[at].clone().apply(operation);
            }
            (PlantedFault::CopyInsteadOfMove, StoreOperation::Rename { from, .. }) if succeeded => {
                if let Some(content) = before.files.get(from) {
                    self.model.files.insert(from.clone(), content.clone());
                }
            }
            (PlantedFault::PartialMove, StoreOperation::Rename { from, to, .. })
                if succeeded && from != to =>
            {
                let moved = self.model.files.keys().find(|path| path.starts_with(to.as_str())).cloned();
                if let Some((path, content)) = moved.and_then(|path| self.model.files.remove_entry(&path)) {
                    self.model.files.insert(format!("{from}{}", &path[to.len()..]), content);
                }
            }
            (PlantedFault::Resurrection, StoreOperation::Delete { .. }) if succeeded => self.model = before,
            (
                PlantedFault::CutTail,
                StoreOperation::Write { path, content, mode: StoreWriteMode::Overwrite, offset },
            ) if succeeded => {
                if let Some(file) = self.model.files.get_mut(path) {
                    file.truncate(*offset as usize + content.len());
                }
            }
            (PlantedFault::RefusedButDone, StoreOperation::Write { path, content, .. }) if !succeeded => {
                self.model.files.insert(path.clone(), content.clone().into_bytes());
            }
            (PlantedFault::WildcardDelete, StoreOperation::Delete { path, .. })
                if path == "/a_b" && succeeded =>
            {
                self.model.files.retain(|each, _| !each.starts_with("/axb/") && each != "/axb");
            }
            _ => {}
        }
        answer
    }
}
