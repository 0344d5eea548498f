//! The stages of acting, as values that can only be made in order: [`Target`], [`Ready`], [`Armed`], [`Sent`].
//!
//! Invariants, which hold because nothing else makes these values:
//! - Input devices are in an [`Armed`] and nowhere else, and that needs a [`Ready`] target (or a verb that names none)
//!   and the proof that the page is watched.
//! - Sending consumes an [`Armed`] and is recorded in the [`Ledger`], which cannot be taken back.
//! - What is held is released when an [`Armed`] or a [`Sent`] is dropped, however that comes about.
//!
//! It depends on nothing, so that `tests/act/stages.rs` can show which orders do not compile.

use std::ops::{Deref, DerefMut};

/// Something that was found for a target.
#[derive(Clone, Debug)]
pub(crate) struct Target<E>(E);

impl<E> Target<E> {
    pub(crate) fn found(element: E) -> Self {
        Self(element)
    }

    /// The same target, by a part of it that stands for it: its field, or an option of its list.
    pub(crate) fn part(&self, part: impl FnOnce(&E) -> E) -> Self {
        Self(part(&self.0))
    }

    /// It can be acted on now, at this spot.
    pub(crate) fn ready<S>(self, spot: S) -> Ready<E, S> {
        Ready { target: self, spot }
    }
}

impl<E> Deref for Target<E> {
    type Target = E;
    fn deref(&self) -> &E {
        &self.0
    }
}

/// A target that can be acted on.
#[derive(Clone, Debug)]
pub(crate) struct Ready<E, S> {
    target: Target<E>,
    spot: S,
}

impl<E, S> Ready<E, S> {
    pub(crate) fn target(&self) -> &Target<E> {
        &self.target
    }

    /// Devices for input to this target, and to nothing else.
    pub(crate) fn arm<D: Release>(&self, _: Watching, devices: D) -> Armed<D> {
        Armed(Holding(devices))
    }
}

impl<E, S> Deref for Ready<E, S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.spot
    }
}

/// The page was sampled and is watched: what becomes true from here on counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watching(());

impl Watching {
    pub(crate) fn begun() -> Self {
        Self(())
    }
}

/// What must be let go of when a gesture ends.
pub(crate) trait Release {
    /// Called once.
    fn release(&mut self);
}

struct Holding<D: Release>(D);

impl<D: Release> Drop for Holding<D> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Devices that nothing was sent by.
pub(crate) struct Armed<D: Release>(Holding<D>);

impl<D: Release> Armed<D> {
    /// For verbs that name no target: a point, or what has the focus.
    pub(crate) fn anywhere(_: Watching, devices: D) -> Self {
        Self(Holding(devices))
    }

    /// Begins the gesture: from here on the step has acted.
    pub(crate) fn send(self, ledger: &mut Ledger) -> Sent<D> {
        ledger.record();
        Sent(self.0)
    }
}

/// A gesture that was begun. Dropping it ends it.
pub(crate) struct Sent<D: Release>(Holding<D>);

impl<D: Release> Deref for Sent<D> {
    type Target = D;
    fn deref(&self) -> &D {
        &self.0.0
    }
}

impl<D: Release> DerefMut for Sent<D> {
    fn deref_mut(&mut self) -> &mut D {
        &mut self.0.0
    }
}

/// Whether a step has acted. It never forgets.
#[derive(Debug, Default)]
pub(crate) struct Ledger(bool);

impl Ledger {
    /// Something is about to be sent, by a script of ours or a command if not by devices.
    pub(crate) fn record(&mut self) {
        self.0 = true;
    }

    pub(crate) fn has_acted(&self) -> bool {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Counting<'a>(&'a Cell<u32>);

    impl Release for Counting<'_> {
        fn release(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn devices_are_released_once_however_a_gesture_ends() {
        let released = Cell::new(0);
        let armed = || Target::found("it").ready("here").arm(Watching::begun(), Counting(&released));
        drop(armed());
        assert_eq!(released.replace(0), 1, "armed and never sent");
        let mut ledger = Ledger::default();
        let sent = armed().send(&mut ledger);
        assert_eq!(released.get(), 0, "sent and under way");
        drop(sent);
        assert_eq!(released.replace(0), 1);
        assert!(ledger.has_acted());
        let cancelled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _sent = armed().send(&mut Ledger::default());
            panic!("in the middle");
        }));
        assert!(cancelled.is_err());
        assert_eq!(released.get(), 1, "unwound");
    }
}
