//! An MCP server over browser sessions: over standard input and output, or HTTP for several clients.
//!
//! Invariants:
//! - Every tool has one flat object for its arguments: no `oneOf`, `anyOf` or `allOf`, and no argument that it ignores.
//! - What goes wrong with a page, a plan or an argument is the result of the tool, with `isError`; the server goes on.
//! - Nothing is started before the first call of a tool.
//! - A file that a call names lies in a root of the client, if the client has roots.
//! - Over HTTP, nothing is answered without the token, under another host's name, or to a web page.

mod consent;
mod live;
mod progress;
mod roots;
mod serve;
mod server;
mod sessions;

pub use serve::{HttpOptions, Offer, serve_http, serve_stdio};
pub use sessions::Opener;
