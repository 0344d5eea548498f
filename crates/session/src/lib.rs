//! A browser session that stays open: calls in, answers out. Servers and shells are built on it.
//!
//! [`Handle::start`] gives an [`Agent`](cuebook::Agent)'s run to a task of its own. Each [`Call`] is a plan, a look at the
//! page or a change of tabs. Its [`Answer`] says first what happened, then what changed on the page since it was last
//! shown, within a budget of tokens.
//!
//! Invariants:
//! - What a call does passes the check, the policy, the executor and the log as a model's plan. Only the address that is
//!   opened is named by whoever holds the session.
//! - An id that is not on the page is refused. It never stands for another element.
//! - Nothing waits for a consent longer than a minute, and a call that is dropped sends no further input.
//! - While a person has the browser, a call only looks.
//! - What a page controls is quoted in every answer.

mod answer;
mod arguments;
mod call;
mod client;
mod consent;
mod context;
mod desk;
mod events;
mod handle;
mod known;
mod person;
mod registry;
mod remote;
mod server;
mod socket;
mod tabs;
mod takeover;
mod target;
mod tool;
mod tools;
mod wire;

pub use answer::{Answer, Picture};
pub use arguments::{Argument, Form};
pub use call::{Call, ContextCall, Fact, Request, Sought};
pub use client::{Client, Reply};
pub use consent::{Asked, Asker, Question};
pub use events::{Event, Events};
pub use handle::{Handle, Progress, RunningCall, SessionEnded};
pub use person::HandedBack;
pub use registry::{BadName, Entry, Registry};
pub use server::{Listener, serve};
pub use tool::{Hint, Order, Tool, Verb};
pub use tools::ToolSet;
