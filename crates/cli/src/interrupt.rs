//! Signals that end a command.

use std::task::Poll;

use cuebook_grammar::report::{ErrorCode, RunError, RunResult};
use cuebook_repair::Interrupt;

use crate::exit::Refusal;

#[cfg(unix)]
type Signal = tokio::signal::unix::Signal;
#[cfg(windows)]
type Signal = tokio::signal::windows::CtrlC;

/// SIGINT and SIGTERM, or Ctrl-C.
pub(crate) struct Signals(Vec<std::io::Result<Signal>>);

impl Signals {
    /// Signals count from this call on. They no longer end the process.
    pub(crate) fn listen() -> Self {
        #[cfg(unix)]
        let signals = {
            use tokio::signal::unix::{SignalKind, signal};
            vec![signal(SignalKind::interrupt()), signal(SignalKind::terminate())]
        };
        #[cfg(windows)]
        let signals = vec![tokio::signal::windows::ctrl_c()];
        Self(signals)
    }

    /// Carries out `work` unless a signal comes first.
    pub(crate) async fn guard<T>(&mut self, work: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
        tokio::select! {
            biased;
            () = self.next() => {
                let error = RunError::new(ErrorCode::Interrupted, "the command was interrupted");
                Err(Refusal { result: RunResult::Interrupted, error })
            }
            done = work => done,
        }
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let mut polled = self.0.iter_mut().flatten().map(|signal| signal.poll_recv(context));
            if polled.any(|polled| polled.is_ready()) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// On the first signal the run ends in order, on the second the process exits. A browser that we started exits when the
/// pipe to it closes. Signals count from this call on, not from the first poll.
pub(crate) fn interrupt_on_signals(interrupt: Interrupt) -> impl Future<Output = ()> + Send {
    let mut signals = Signals::listen();
    async move {
        signals.next().await;
        interrupt.trigger();
        signals.next().await;
        exit_now();
    }
}

#[expect(clippy::disallowed_methods, reason = "the second interrupt must not wait for cleanup")]
fn exit_now() {
    std::process::exit(i32::from(RunResult::Interrupted.exit_code()));
}
