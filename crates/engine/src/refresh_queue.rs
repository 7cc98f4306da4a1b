//! Whose turn it is to index: one folder at a time, those with the higher priority first, and no root twice.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// The line of those who wait. A clone is the same line.
#[derive(Clone, Default)]
pub(crate) struct RefreshQueue(Arc<Mutex<WaitingLine>>);

#[derive(Default)]
struct WaitingLine {
    is_busy: bool,
    /// The roots that are indexed or wait for it.
    roots: HashSet<usize>,
    waiting: Vec<Waiting>,
    last: u64,
}

struct Waiting {
    priority: u8,
    /// Who came first goes first.
    number: u64,
    wake: oneshot::Sender<()>,
}

/// A place in the line. Given up when dropped, with the turn if it had it.
pub(crate) struct RefreshTurn {
    queue: RefreshQueue,
    root: usize,
    called: Option<oneshot::Receiver<()>>,
}

/// The root is indexed already, or waits for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RootBusy;

impl RefreshQueue {
    pub(crate) fn enter(&self, root: usize, priority: u8) -> Result<RefreshTurn, RootBusy> {
        let mut line = self.line();
        if !line.roots.insert(root) {
            return Err(RootBusy);
        }
        let called = if std::mem::replace(&mut line.is_busy, true) {
            let (wake, called) = oneshot::channel();
            line.last += 1;
            let number = line.last;
            line.waiting.push(Waiting { priority, number, wake });
            Some(called)
        } else {
            None
        };
        Ok(RefreshTurn { queue: self.clone(), root, called })
    }

    fn line(&self) -> std::sync::MutexGuard<'_, WaitingLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the next one. Those who left the line meanwhile are passed over.
    fn pass_on(&self) {
        let mut line = self.line();
        loop {
            let next = (0..line.waiting.len())
                .min_by_key(|at| (u8::MAX - line.waiting[*at].priority, line.waiting[*at].number));
            let Some(next) = next else {
                line.is_busy = false;
                return;
            };
            if line.waiting.swap_remove(next).wake.send(()).is_ok() {
                return;
            }
        }
    }
}

impl RefreshTurn {
    /// Waits until it is this one's turn.
    pub(crate) async fn come(&mut self) {
        if let Some(called) = self.called.as_mut() {
            // Where the line is gone, there is nothing to wait for.
            let _ = called.await;
            self.called = None;
        }
    }
}

impl Drop for RefreshTurn {
    fn drop(&mut self) {
        self.queue.line().roots.remove(&self.root);
        let had_turn = match self.called.as_mut() {
            None => true,
            // Called in the moment of leaving: then the turn is passed on.
            Some(called) => {
                called.close();
                called.try_recv().is_ok()
            }
        };
        if had_turn {
            self.queue.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn s013_s038_one_at_a_time_by_priority_and_no_root_twice() {
        let queue = RefreshQueue::default();
        let mut first = queue.enter(0, 1).unwrap();
        first.come().await;
        assert!(queue.enter(0, 2).is_err(), "the root is busy");
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (root, priority) in [(1, 0), (2, 1), (3, 2), (4, 2)] {
            let mut turn = queue.enter(root, priority).unwrap();
            let order = Arc::clone(&order);
            tasks.push(tokio::spawn(async move {
                turn.come().await;
                order.lock().unwrap().push(root);
            }));
        }
        // One who leaves before it is called delays no other.
        drop(queue.enter(5, 2).unwrap());
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [3, 4, 2, 1]);
        assert!(queue.enter(0, 1).unwrap().called.is_none(), "the line is empty");
    }
}
