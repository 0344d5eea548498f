//! The stages of acting, as values that can only be made in order: [`Looking`], [`Target`], [`Ready`], [`Armed`],
//! [`Sent`], [`Judged`].
//!
//! Invariants, which hold because nothing else makes these values:
//! - A [`Target`] is found by a step that is [`Looking`] for it.
//! - Input devices are in an [`Armed`] and nowhere else, and that needs a [`Ready`] target (or a verb that names none)
//!   and the proof that the page is watched.
//! - Sending consumes an [`Armed`] and is recorded in [`Looking`], which forgets it only for a gesture whose guard knows
//!   that the page saw no press ([`Guarded`]), once for each gesture.
//! - Only a [`Judged`] step can succeed. It is made of a gesture that ended, of a target that needed none, of a verb
//!   without a target, or of a step that was interrupted after it had sent something.
//! - What is held is released when an [`Armed`] or a [`Sent`] is dropped, on success, failure and cancellation alike.
//!
//! It depends on nothing, so that `tests/act/stages.rs` can show which orders do not compile.

use std::ops::{Deref, DerefMut};

/// A step from its beginning: whether its page is watched, and how often it has sent something.
#[derive(Debug)]
pub(crate) struct Looking {
    watching: Option<Watching>,
    /// Without what was stopped before the page saw a press.
    sent: u32,
}

impl Looking {
    pub(crate) const fn begin() -> Self {
        Self { watching: None, sent: 0 }
    }

    /// The element that the step means.
    pub(crate) fn found<E>(&self, element: E) -> Target<E> {
        Target(element)
    }

    /// The page was sampled and is watched from now on.
    pub(crate) fn watch(&mut self) -> Watching {
        *self.watching.insert(Watching(()))
    }

    pub(crate) const fn watching(&self) -> Option<Watching> {
        self.watching
    }

    /// Something is about to be sent: by a script or a command, if not by devices.
    pub(crate) fn record(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    pub(crate) const fn has_acted(&self) -> bool {
        self.sent > 0
    }

    /// For verbs without a target: they opened a page, answered a dialog, read or waited.
    pub(crate) const fn untargeted(&self) -> Judged {
        Judged(())
    }

    /// For a step that a dialog or the end of its tab interrupted; `None` if it had not sent anything.
    pub(crate) fn interrupted(&self) -> Option<Judged> {
        self.has_acted().then_some(Judged(()))
    }
}

/// The proof that a step may succeed: what it did, or had no need to do, is judged by its postconditions.
#[derive(Debug)]
pub(crate) struct Judged(());

/// The element that was found for a target.
#[derive(Clone, Debug)]
pub(crate) struct Target<E>(E);

impl<E> Target<E> {
    /// Returns this target represented by a part of it: its field, or an option of its list.
    pub(crate) fn part(&self, part: impl FnOnce(&E) -> E) -> Self {
        Self(part(&self.0))
    }

    /// It was as wanted already, or was only to be inspected.
    pub(crate) const fn untouched(&self) -> Judged {
        Judged(())
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

/// Devices that must be released when a gesture ends.
pub(crate) trait Release {
    /// Releases all that is held; called once.
    fn release(&mut self);
}

struct Holding<D: Release>(D);

impl<D: Release> Drop for Holding<D> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Devices that have not sent anything.
pub(crate) struct Armed<D: Release>(Holding<D>);

impl<D: Release> Armed<D> {
    /// For verbs that name no target: a point, or what has the focus.
    pub(crate) fn anywhere(_: Watching, devices: D) -> Self {
        Self(Holding(devices))
    }

    /// Begins the gesture: from here on the step has acted.
    pub(crate) fn send(self, looking: &mut Looking) -> Sent<D> {
        looking.record();
        Sent(self.0)
    }
}

/// A gesture that was begun. Dropping it ends it.
pub(crate) struct Sent<D: Release>(Holding<D>);

/// Report of a guard on a gesture.
pub(crate) trait Guarded {
    /// Returns `true` if all input of the gesture was answered, and its guard stopped it at its first press: the page
    /// received no press, no release and no click. Its target must also still mean what it did, so that it may be
    /// looked up again.
    fn is_stopped_whole(&self) -> bool;
}

impl<D: Release> Sent<D> {
    /// Ends the gesture, which yields the proof that the step may be judged.
    pub(crate) fn end(self) -> Judged {
        Judged(())
    }

    /// Ends the gesture; one that the page saw nothing of counts as never sent.
    pub(crate) fn end_guarded(self, looking: &mut Looking, report: &impl Guarded) -> Judged {
        if report.is_stopped_whole() {
            looking.sent = looking.sent.saturating_sub(1);
        }
        self.end()
    }
}

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
        let mut looking = Looking::begin();
        let watching = looking.watch();
        let armed = |looking: &Looking| looking.found("it").ready("here").arm(watching, Counting(&released));
        drop(armed(&looking));
        assert_eq!(released.replace(0), 1, "armed and never sent");
        assert!(looking.interrupted().is_none(), "nothing was sent");
        let sent = armed(&looking).send(&mut looking);
        assert_eq!(released.get(), 0, "sent and under way");
        let Judged(()) = sent.end();
        assert_eq!(released.replace(0), 1, "ended");
        assert!(looking.has_acted() && looking.interrupted().is_some());
        looking.sent = 0;
        let cancelled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _sent = armed(&looking).send(&mut looking);
            panic!("in the middle");
        }));
        assert!(cancelled.is_err());
        assert_eq!(released.get(), 1, "unwound");
    }

    struct Stopped(bool);

    impl Guarded for Stopped {
        fn is_stopped_whole(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn only_a_gesture_that_was_stopped_whole_is_forgotten() {
        let released = Cell::new(0);
        let mut looking = Looking::begin();
        let watching = looking.watch();
        let gesture = |looking: &mut Looking, stopped| {
            let sent = looking.found("it").ready("here").arm(watching, Counting(&released)).send(looking);
            let Judged(()) = sent.end_guarded(looking, &Stopped(stopped));
        };
        gesture(&mut looking, true);
        assert!(!looking.has_acted(), "the page saw nothing");
        gesture(&mut looking, false);
        gesture(&mut looking, true);
        assert!(looking.has_acted(), "the gesture before reached the page");
        assert_eq!(released.get(), 3);
    }
}
