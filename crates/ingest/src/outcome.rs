//! What became of one entry that a scan met. Every entry has exactly one outcome, so that the counters add up:
//! scanned = indexed + skipped + errors, where the unchanged ones are among the skipped.

use index::DocChange;
use model::{DocStatus, IgnoreRule};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileOutcome {
    Indexed,
    /// Searchable before, and the same now.
    Unchanged,
    /// Left out, for a reason that its row says.
    Skipped,
    /// It could not be read, for a reason that its row says.
    Failed,
    /// Known before and gone now. It was not met, so it is not among the scanned.
    Deleted,
    /// It was met and was gone when it was opened.
    Vanished {
        was_known: bool,
    },
    /// It was met, and a rule keeps out what it leads to.
    Ignored {
        rule: IgnoreRule,
        was_known: bool,
    },
    /// A member was counted, and then its archive was refused as a whole.
    Withdrawn(Box<FileOutcome>),
    /// A member was counted, and then turned out to be something else.
    Corrected {
        before: Box<FileOutcome>,
        now: Box<FileOutcome>,
    },
}

impl FileOutcome {
    /// The outcome of a change that says by itself what it is about; a touched row needs [`FileOutcome::of_known`].
    pub(crate) fn of_change(change: &DocChange) -> FileOutcome {
        match change {
            DocChange::Put { document, .. } => FileOutcome::of_new(document.status()),
            DocChange::Touch { .. } => FileOutcome::Unchanged,
            DocChange::Delete { .. } => FileOutcome::Deleted,
        }
    }

    fn of_new(status: DocStatus) -> FileOutcome {
        match status {
            DocStatus::Ok => FileOutcome::Indexed,
            DocStatus::Skipped => FileOutcome::Skipped,
            DocStatus::Error => FileOutcome::Failed,
        }
    }

    /// The outcome of a row that stays as it was.
    pub(crate) fn of_known(status: DocStatus) -> FileOutcome {
        match status {
            DocStatus::Ok => FileOutcome::Unchanged,
            DocStatus::Skipped => FileOutcome::Skipped,
            DocStatus::Error => FileOutcome::Failed,
        }
    }
}
