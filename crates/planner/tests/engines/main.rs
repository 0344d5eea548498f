//! The engines against simulated servers that speak real wire formats, and fail in every known way.
//!
//! Each test runs for all engines, and checks everything that must hold whatever a server does.

#[path = "../servers/mod.rs"]
mod servers;

mod engines;
mod page;
mod stage;

mod answers;
mod drafts;
mod faults;
mod filling;
mod invalid;
mod looking;
mod pointing;
mod proxies;
mod requests;
mod waits;
mod wire;

use servers::Dialect;

/// Runs a test once for each dialect, each on a thread that bears its name.
fn each(test: impl AsyncFn(Dialect) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for dialect in Dialect::ALL {
            let on_stage = move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(test(dialect));
            };
            std::thread::Builder::new().name(format!("{dialect:?}")).spawn_scoped(scope, on_stage).expect("a thread");
        }
    });
}
