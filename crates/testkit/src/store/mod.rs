//! The file store seen from outside: its operations as data, a plain model of what they do, and a checker that says whether a
//! history of concurrent operations could have happened one after another.

mod calls;
mod checker;
mod model;
mod operation;
mod planted;

pub use calls::StoreCall;
pub use checker::{StoreEvent, Violation, check_history};
pub use model::StoreModel;
pub use operation::{StoreAnswer, StoreOperation, StoreWriteMode, random_operation};
pub use planted::{PLANTED_FAULTS, PlantedFault, simulated_history};
