//! The points of a job at which a worker may vanish, for tests that make it vanish at each of them.

use std::sync::Arc;

macro_rules! fault_points {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum FaultPoint {
            $($(#[$doc])* $name,)*
        }

        impl FaultPoint {
            pub const ALL: &'static [FaultPoint] = &[$(FaultPoint::$name,)*];
        }
    };
}

fault_points! {
    BeforeClaim,
    AfterClaim,
    AfterGrouping,
    BeforeLoad,
    AfterLoad,
    AfterStaleCheck,
    BeforeCutting,
    AfterCutting,
    BeforeImmediateVectors,
    AfterImmediateVectors,
    BeforeReplace,
    AfterReplace,
    BeforeRemove,
    AfterRemove,
    BeforeMissingVectors,
    AfterMissingVectors,
    BeforeCredential,
    AfterCredential,
    BeforeExtend,
    AfterExtend,
    BeforeEmbedding,
    AfterEmbedding,
    BeforeStoreVectors,
    AfterStoreVectors,
    BeforeForget,
    AfterForget,
    BeforeRetry,
    AfterRetry,
    BeforeFinish,
    AfterFinish,
}

/// Called at each point. A test's panics there, which ends the worker as a crash would.
pub trait IndexFaults: Send + Sync + 'static {
    fn at(&self, point: FaultPoint);
}

struct NoFaults;

impl IndexFaults for NoFaults {
    fn at(&self, _point: FaultPoint) {}
}

/// Nothing happens anywhere.
pub fn no_faults() -> Arc<dyn IndexFaults> {
    Arc::new(NoFaults)
}
