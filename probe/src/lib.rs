//! The one script of ours that runs in a page, in an isolated world, and typed calls to it.
