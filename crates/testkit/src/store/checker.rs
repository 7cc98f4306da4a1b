//! Whether a history could have happened one operation after another.
//!
//! Each operation takes effect at one moment between its call and its answer. The search walks through the orders that
//! respect this: at each step it may take any operation that was called before the earliest answer that is still
//! outstanding. Orders that took the same operations and left the same files are the same, so each such state is visited
//! once. Operations overlap in small groups, which keeps the states few however long the history is.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::model::StoreModel;
use super::operation::{StoreAnswer, StoreOperation};

/// One operation of a history, with the moments of its call and its answer on one clock.
#[derive(Debug, Clone)]
pub struct StoreEvent {
    pub operation: StoreOperation,
    pub called: u64,
    /// `None`: no answer came. It may have happened at any later moment, or never.
    pub answered: Option<(u64, StoreAnswer)>,
}

/// A history that no order explains.
#[derive(Debug, Clone)]
pub struct Violation {
    /// How many operations the best order could explain.
    pub explained: usize,
    /// What could come next after those, and what each would have had to answer.
    pub stuck_at: Vec<(StoreEvent, StoreAnswer)>,
    /// The files as the best order left them.
    pub files: StoreModel,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "no order explains the history; {} operations can be explained. Then, of these, none fits:",
            self.explained
        )?;
        for (event, expected) in &self.stuck_at {
            writeln!(f, "  {:?} answered {:?}, expected {expected:?}", event.operation, event.answered)?;
        }
        write!(f, "with the files {:?}", self.files.files.keys().collect::<Vec<_>>())
    }
}

/// Looks for an order that explains the history of one project, which was empty at first.
pub fn check_history(events: &[StoreEvent]) -> Result<(), Violation> {
    let mut events: Vec<&StoreEvent> = events.iter().collect();
    events.sort_by_key(|event| event.called);
    let answered = events.iter().filter(|event| event.answered.is_some()).count();
    let mut search = Search { events, seen: HashSet::new(), best: None };
    let mut stack = vec![Order { model: StoreModel::default(), first: 0, taken: Vec::new(), explained: 0 }];
    while let Some(order) = stack.pop() {
        if order.explained == answered {
            return Ok(());
        }
        if !search.seen.insert(order.digest()) {
            continue;
        }
        search.extend(order, &mut stack);
    }
    Err(search.best.unwrap_or_else(|| Violation {
        explained: 0,
        stuck_at: Vec::new(),
        files: StoreModel::default(),
    }))
}

struct Search<'a> {
    /// By the moment of their call.
    events: Vec<&'a StoreEvent>,
    seen: HashSet<u64>,
    /// The furthest that any order came.
    best: Option<Violation>,
}

/// An order under way.
struct Order {
    model: StoreModel,
    /// All events before this one were taken, or have no answer and may be left out.
    first: usize,
    /// Taken events from `first` on, and unanswered ones before it that were taken; ascending.
    taken: Vec<usize>,
    explained: usize,
}

impl Order {
    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.model, self.first, &self.taken).hash(&mut hasher);
        hasher.finish()
    }
}

impl Search<'_> {
    fn extend(&mut self, order: Order, stack: &mut Vec<Order>) {
        let mut fits = Vec::new();
        let mut misfits = Vec::new();
        for at in self.candidates(&order) {
            let event = self.events[at];
            let mut model = order.model.clone();
            let answer = model.apply(&event.operation);
            match &event.answered {
                Some((_, seen)) if *seen != answer => misfits.push((event.clone(), answer)),
                // What nobody heard of and changes nothing explains nothing.
                None if model == order.model => {}
                _ => fits.push((at, model)),
            }
        }
        if fits.is_empty() && self.best.as_ref().is_none_or(|best| best.explained <= order.explained) {
            self.best =
                Some(Violation { explained: order.explained, stuck_at: misfits, files: order.model.clone() });
        }
        // The last pushed is tried first: answered operations before those that may never have happened.
        fits.sort_by_key(|(at, _)| (self.events[*at].answered.is_some(), std::cmp::Reverse(*at)));
        for (at, model) in fits {
            stack.push(self.after(&order, at, model));
        }
    }

    /// The events that may come next: not taken yet, and called before the earliest outstanding answer.
    fn candidates(&self, order: &Order) -> Vec<usize> {
        let untaken = |at: &usize| order.taken.binary_search(at).is_err();
        let mut deadline = u64::MAX;
        let mut found = Vec::new();
        // Unanswered events before `first` stay possible for ever.
        found.extend((0..order.first).filter(|at| self.events[*at].answered.is_none()).filter(untaken));
        for at in (order.first..self.events.len()).filter(untaken) {
            let event = self.events[at];
            if event.called > deadline {
                break;
            }
            found.push(at);
            if let Some((answered, _)) = &event.answered {
                deadline = deadline.min(*answered);
            }
        }
        found.retain(|at| self.events[*at].called <= deadline);
        found
    }

    fn after(&self, order: &Order, at: usize, model: StoreModel) -> Order {
        let mut taken = order.taken.clone();
        if let Err(place) = taken.binary_search(&at) {
            taken.insert(place, at);
        }
        let mut first = order.first;
        while first < self.events.len() {
            if taken.binary_search(&first).is_err() && self.events[first].answered.is_some() {
                break;
            }
            first += 1;
        }
        // Answered events before `first` are all taken: they need not be remembered.
        taken.retain(|each| *each >= first || self.events[*each].answered.is_none());
        let explained = order.explained + usize::from(self.events[at].answered.is_some());
        Order { model, first, taken, explained }
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::StoreWriteMode;
    use super::super::planted::{PLANTED_FAULTS, simulated_history};
    use super::*;

    fn append(content: &str) -> StoreOperation {
        StoreOperation::Write {
            path: "/a".into(),
            content: content.into(),
            mode: StoreWriteMode::Append,
            offset: 0,
        }
    }

    fn event(operation: StoreOperation, called: u64, answered: u64, answer: StoreAnswer) -> StoreEvent {
        StoreEvent { operation, called, answered: Some((answered, answer)) }
    }

    #[test]
    fn overlapping_appends_may_come_in_either_order_but_not_in_both() {
        let read = |called, text: &str| {
            let read = StoreOperation::Read { path: "/a".into() };
            event(read, called, called + 1, StoreAnswer::Content(text.into()))
        };
        let appends = [
            event(append("x"), 0, 10, StoreAnswer::Written(1)),
            event(append("y"), 5, 15, StoreAnswer::Written(1)),
        ];
        for text in ["xy", "yx"] {
            assert!(check_history(&[appends.as_slice(), &[read(20, text)]].concat()).is_ok(), "{text}");
        }
        assert!(check_history(&[appends.as_slice(), &[read(20, "xy"), read(22, "yx")]].concat()).is_err());
        assert!(check_history(&[appends.as_slice(), &[read(20, "x")]].concat()).is_err());
    }

    #[test]
    fn what_was_never_answered_may_have_happened_or_not() {
        let unanswered = StoreEvent { operation: append("x"), called: 0, answered: None };
        let stat =
            |called, answer| event(StoreOperation::Stat { path: "/a".into() }, called, called + 1, answer);
        let nothing = stat(10, StoreAnswer::Nothing);
        let there = stat(20, StoreAnswer::File(1));
        assert!(check_history(&[unanswered.clone(), nothing.clone()]).is_ok());
        assert!(check_history(&[unanswered.clone(), nothing, there.clone()]).is_ok());
        let gone = stat(30, StoreAnswer::Nothing);
        assert!(check_history(&[unanswered, there, gone]).is_err());
    }

    #[test]
    fn right_histories_are_accepted_and_each_planted_fault_is_found() {
        for seed in 0..5 {
            let history = simulated_history(None, 6, 200, seed);
            assert!(check_history(&history).is_ok(), "{}", check_history(&history).unwrap_err());
        }
        for fault in PLANTED_FAULTS {
            let found =
                (0..20).any(|seed| check_history(&simulated_history(Some(*fault), 6, 200, seed)).is_err());
            assert!(found, "{fault:?}");
        }
    }
}
