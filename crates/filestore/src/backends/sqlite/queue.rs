//! What waits to be written: one lane per project, served in turn, so that one project's flood does not hold up another.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::Failure;
use rusqlite::Connection;

use super::fault::busy;
use crate::project::ProjectScope;

/// Whose change it is; `None` for what belongs to no project.
pub(super) type Lane = Option<ProjectScope>;

/// A change that waits, with whoever waits for it.
pub(super) trait Waiting: Send {
    /// Nobody wants to know how it ends.
    fn is_abandoned(&self) -> bool;

    /// Makes the change. It may be made again, if the transaction it was part of came to nothing.
    fn run(&mut self, conn: &Connection) -> Ran;

    /// Tells how it ended: as the last run did, or with a failure of what surrounded it.
    fn settle(self: Box<Self>, failure: Option<Failure>);
}

/// How a change went, as far as its transaction is concerned.
pub(super) enum Ran {
    Well,
    /// It is to be undone, without harm to others.
    Refused,
    /// As [`Ran::Refused`], and the connection is not to be trusted any more.
    Spoiled,
}

pub(super) struct Queued {
    pub(super) deadline: Instant,
    pub(super) work: Box<dyn Waiting>,
}

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lanes: HashMap<Lane, VecDeque<Queued>>,
    /// The lanes that have something, the next one first.
    turns: VecDeque<Lane>,
    waiting: usize,
    closed: bool,
}

impl Queue {
    /// Gives the work back if the queue is closed.
    pub(super) fn push(&self, lane: Lane, queued: Queued) -> Result<(), Queued> {
        let mut state = self.state();
        if state.closed {
            return Err(queued);
        }
        state.waiting += 1;
        let State { lanes, turns, .. } = &mut *state;
        let works = lanes.entry(lane.clone()).or_default();
        if works.is_empty() {
            turns.push_back(lane);
        }
        works.push_back(queued);
        self.changed.notify_all();
        Ok(())
    }

    /// The next one that is still wanted and in time; the others are settled.
    pub(super) fn pop(&self) -> Option<Box<dyn Waiting>> {
        loop {
            let queued = self.state().pop()?;
            if queued.work.is_abandoned() {
                continue;
            }
            if queued.deadline <= Instant::now() {
                queued.work.settle(Some(busy()));
                continue;
            }
            return Some(queued.work);
        }
    }

    /// Settles what has waited too long. False if nothing is left.
    pub(super) fn expire(&self) -> bool {
        let now = Instant::now();
        let mut overdue = Vec::new();
        let left = {
            let mut state = self.state();
            for works in state.lanes.values_mut() {
                // Deadlines of a lane are in order, as all wait equally long.
                while works.front().is_some_and(|first| first.deadline <= now) {
                    overdue.extend(works.pop_front());
                }
            }
            state.waiting -= overdue.len();
            let State { lanes, turns, .. } = &mut *state;
            lanes.retain(|_, works| !works.is_empty());
            turns.retain(|lane| lanes.contains_key(lane));
            state.waiting > 0
        };
        for queued in overdue {
            queued.work.settle(Some(busy()));
        }
        left
    }

    /// Settles all that waits.
    pub(super) fn fail_all(&self, failure: &Failure) {
        while let Some(queued) = { self.state().pop() } {
            queued.work.settle(Some(failure.clone()));
        }
    }

    /// Waits until something is there. False once the queue is closed and empty.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.state();
        while state.waiting == 0 && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting > 0
    }

    /// Waits until `count` are there, but not for long.
    pub(super) fn gather(&self, count: usize, patience: Duration) {
        let state = self.state();
        let _ = self
            .changed
            .wait_timeout_while(state, patience, |state| state.waiting < count && !state.closed)
            .unwrap_or_else(PoisonError::into_inner);
    }

    pub(super) fn len(&self) -> usize {
        self.state().waiting
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pop(&mut self) -> Option<Queued> {
        let lane = self.turns.pop_front()?;
        let works = self.lanes.get_mut(&lane)?;
        let queued = works.pop_front();
        if works.is_empty() {
            self.lanes.remove(&lane);
        } else {
            self.turns.push_back(lane);
        }
        self.waiting -= 1;
        queued
    }
}

#[cfg(test)]
mod tests {
    use model::TenantId;

    use super::*;
    use crate::project::ProjectName;

    struct Named(&'static str, std::sync::mpsc::Sender<(&'static str, bool)>);

    impl Waiting for Named {
        fn is_abandoned(&self) -> bool {
            false
        }

        fn run(&mut self, _: &Connection) -> Ran {
            Ran::Well
        }

        fn settle(self: Box<Self>, failure: Option<Failure>) {
            self.1.send((self.0, failure.is_none())).unwrap();
        }
    }

    fn lane(project: &str) -> Lane {
        let tenant = TenantId::from_digest([0; 32]);
        Some(ProjectScope::new(tenant, ProjectName::parse(project).unwrap()))
    }

    fn push(queue: &Queue, project: &str, work: Named, wait: Duration) {
        let queued = Queued { deadline: Instant::now() + wait, work: Box::new(work) };
        assert!(queue.push(lane(project), queued).is_ok());
    }

    #[test]
    fn f120_projects_take_turns_and_each_keeps_its_order() {
        let (sender, settled) = std::sync::mpsc::channel();
        let queue = Queue::default();
        let minute = Duration::from_secs(60);
        for (project, name) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2")]
        {
            push(&queue, project, Named(name, sender.clone()), minute);
        }
        while let Some(work) = queue.pop() {
            work.settle(None);
        }
        drop(sender);
        let order: Vec<&str> = settled.iter().map(|(name, _)| name).collect();
        assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn what_waited_too_long_is_told_so() {
        let (sender, settled) = std::sync::mpsc::channel();
        let queue = Queue::default();
        push(&queue, "a", Named("late", sender.clone()), Duration::ZERO);
        push(&queue, "b", Named("in time", sender), Duration::from_secs(60));
        assert!(queue.expire());
        assert_eq!(settled.recv().unwrap(), ("late", false));
        assert_eq!(queue.len(), 1);
        queue.pop().unwrap().settle(None);
        assert_eq!(settled.recv().unwrap(), ("in time", true));
    }
}
