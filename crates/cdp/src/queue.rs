//! A bounded single-consumer queue that never blocks its producer and reports what it dropped.
//!
//! Invariants: at most `capacity` items plus one marker wait; a marker stands exactly where items were
//! dropped; `next` is cancellation safe.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

/// The most unread control events of a page or the browser; beyond them the newest are dropped.
const CONTROL_LANE: usize = 65_536;

/// Entry read from a queue.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry<T> {
    Item(T),
    /// This many items were dropped here.
    Lagged(u64),
}

pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Notify,
    capacity: usize,
}

struct State<T> {
    entries: VecDeque<Entry<T>>,
    is_closed: bool,
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State { entries: VecDeque::new(), is_closed: false }),
            changed: Notify::new(),
            capacity: capacity.max(1),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, item: T) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        if state.entries.len() < self.capacity {
            state.entries.push_back(Entry::Item(item));
        } else if let Some(Entry::Lagged(missed)) = state.entries.back_mut() {
            *missed = missed.saturating_add(1);
        } else {
            state.entries.push_back(Entry::Lagged(1));
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Closes the queue: entries in it can still be read, and no more are added.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    pub(crate) fn try_next(&self) -> Option<Entry<T>> {
        self.lock().entries.pop_front()
    }

    pub(crate) async fn next(&self) -> Option<Entry<T>> {
        loop {
            {
                let mut state = self.lock();
                if let Some(entry) = state.entries.pop_front() {
                    return Some(entry);
                }
                if state.is_closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }
}

/// A subscriber's end of a bounded queue. Dropping it unsubscribes.
pub struct Events<T> {
    queue: Arc<Queue<T>>,
    lagged: fn(u64) -> T,
}

impl<T> Events<T> {
    /// `lagged` marks the place where this many events were dropped.
    pub(crate) fn new(queue: Arc<Queue<T>>, lagged: fn(u64) -> T) -> Self {
        Self { queue, lagged }
    }

    /// A stream that has ended, with its last event.
    pub(crate) fn ended(last: T, lagged: fn(u64) -> T) -> Self {
        let queue = Queue::new(1);
        queue.push(last);
        queue.close();
        Self { queue, lagged }
    }

    /// Waits for the next event; `None` once its source is gone and all was read. Cancellation safe. The caller bounds
    /// the wait.
    pub async fn next(&mut self) -> Option<T> {
        self.queue.next().await.map(|entry| self.event(entry))
    }

    /// The next event if one is waiting.
    pub fn try_next(&mut self) -> Option<T> {
        self.queue.try_next().map(|entry| self.event(entry))
    }

    fn event(&self, entry: Entry<T>) -> T {
        match entry {
            Entry::Item(event) => event,
            Entry::Lagged(missed) => (self.lagged)(missed),
        }
    }
}

/// The subscribers of one stream of control events.
pub(crate) struct Lanes<T>(Vec<Weak<Queue<T>>>);

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Lanes<T> {
    pub(crate) fn subscribe(&mut self, lagged: fn(u64) -> T) -> Events<T> {
        let queue = Queue::new(CONTROL_LANE);
        self.0.push(Arc::downgrade(&queue));
        Events::new(queue, lagged)
    }

    /// Sends an event to all subscribers, and forgets those that are gone.
    pub(crate) fn emit(&mut self, event: &T) {
        self.0.retain(|lane| lane.upgrade().map(|lane| lane.push(event.clone())).is_some());
    }

    /// Ends the stream: what is queued can still be read.
    pub(crate) fn close(&mut self) {
        for lane in self.0.drain(..).filter_map(|lane| lane.upgrade()) {
            lane.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Queue};

    #[tokio::test]
    async fn overflow_leaves_one_marker_where_items_were_dropped() {
        let queue = Queue::new(2);
        for item in 0..5 {
            queue.push(item);
        }
        assert_eq!(queue.try_next(), Some(Entry::Item(0)));
        queue.push(5);
        assert_eq!(queue.try_next(), Some(Entry::Item(1)));
        queue.push(6);
        assert_eq!(queue.next().await, Some(Entry::Lagged(4)));
        assert_eq!(queue.next().await, Some(Entry::Item(6)));
        assert_eq!(queue.try_next(), None);
    }

    #[tokio::test]
    async fn closing_wakes_the_reader_after_the_rest_was_read() {
        let queue = Queue::new(8);
        queue.push(1);
        let reader = {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut seen = Vec::new();
                while let Some(Entry::Item(item)) = queue.next().await {
                    seen.push(item);
                }
                seen
            })
        };
        tokio::task::yield_now().await;
        queue.push(2);
        queue.close();
        queue.push(3);
        assert_eq!(reader.await.unwrap(), [1, 2]);
    }
}
