//! The engines against simulated servers that speak real wire formats, and fail in every known way.

#[path = "../servers/mod.rs"]
mod servers;

mod wire;
mod page;
