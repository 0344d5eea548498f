//! An MCP server over a browser session.
//!
//! Invariants:
//! - Every tool has one flat object for its arguments: no `oneOf`, `anyOf` or `allOf`, and no argument that it ignores.
//! - What goes wrong with a page, a plan or an argument is the result of the tool, with `isError`; the server goes on.
//! - Nothing is started before the first call of a tool.

mod server;

pub use server::{Opener, Server, serve_stdio};
