//! Signals that end a run.

use std::task::Poll;

use cuebook_grammar::report::RunResult;
use cuebook_repair::Interrupt;

#[cfg(unix)]
type Signal = tokio::signal::unix::Signal;
#[cfg(windows)]
type Signal = tokio::signal::windows::CtrlC;

/// On the first SIGINT or SIGTERM the run ends in order, on the second the process exits. A browser that we started exits
/// when the pipe to it closes. Signals count from this call on, not from the first poll.
pub(crate) fn interrupt_on_signals(interrupt: Interrupt) -> impl Future<Output = ()> + Send {
    #[cfg(unix)]
    let mut signals = {
        use tokio::signal::unix::{SignalKind, signal};
        [signal(SignalKind::interrupt()), signal(SignalKind::terminate())]
    };
    #[cfg(windows)]
    let mut signals = [tokio::signal::windows::ctrl_c()];
    async move {
        next_of(&mut signals).await;
        interrupt.trigger();
        next_of(&mut signals).await;
        exit_now();
    }
}

async fn next_of(signals: &mut [std::io::Result<Signal>]) {
    std::future::poll_fn(|context| {
        let mut polled = signals.iter_mut().flatten().map(|signal| signal.poll_recv(context));
        if polled.any(|polled| polled.is_ready()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[expect(clippy::disallowed_methods, reason = "the second interrupt must not wait for cleanup")]
fn exit_now() {
    std::process::exit(i32::from(RunResult::Interrupted.exit_code()));
}
