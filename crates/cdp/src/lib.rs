//! The wire to Chrome: discovery, launch, sessions, typed commands, lossless bounded events.
//!
//! A [`Browser`] is launched or attached to; it owns one connection. Each target that it is attached
//! to is a flat [`Session`]; a [`Page`] gathers the sessions of one tab (its own and those of its
//! out-of-process frames), keeps its frame tree and the one isolated [`World`] per frame that is ours.
//!
//! Invariants:
//! - Every call ends: with its reply, at its deadline, or at once when its session goes away.
//! - The reader never waits for a subscriber. Queues are bounded and report what they dropped.
//! - An event without a subscriber is never decoded beyond its envelope.
//! - No policy about pages: no selectors, no retries, no knowledge of the language.
//! - Reads no environment variables, prints nothing, logs no parameters.
//!
//! Cost: a call is one allocation for the message and one map entry; a reply is parsed once, borrowing,
//! from the bytes that came off the wire.

mod attach;
mod browser;
mod browser_events;
mod connection;
mod discover;
mod domain;
mod emulate;
mod emulation;
mod error;
mod frames;
mod ids;
mod launch;
mod message;
mod namespace;
mod opened;
mod page;
mod process;
mod profile_dir;
pub mod protocol;
mod queue;
mod session;
mod sharing;
mod target_info;
mod targets;
mod transport;
mod world;

pub mod paused;
pub mod wire;

pub use browser::{Browser, BrowserVersion, ContextId};
pub use browser_events::{BrowserEvent, BrowserEvents, DownloadState};
pub use connection::{Direction, WireTap};
pub use discover::{ChromeBinary, DiscoverError, PlaceKind, SearchPlaces, find_chrome};
pub use domain::Domain;
pub use emulate::EmulationError;
pub use emulation::{BadSetting, ColorScheme, Device, Emulation, Geolocation};
pub use error::{AttachError, CallError, GoneReason, LaunchError, PageError, WorldError};
pub use ids::{DocumentId, ExecutionContextId, FrameId, SessionId, TargetId};
pub use launch::{LaunchOptions, Sandbox, Transport, Window, is_root};
pub use message::RawReply;
pub use namespace::Namespace;
pub use page::{
    DetachKind, DialogAnswer, DialogKind, DomainGuard, Frame, GotoError, Navigated, OpenDialog, Page, PageEvent,
    PageEvents, WaitUntil,
};
pub use profile_dir::{SweepReport, sweep};
pub use queue::Events;
pub use session::{Call, Delivery, EventQueue, RawEvent, Session, SessionKind, Shorten};
pub use sharing::{AttachOptions, OpenTab};
pub use world::World;
