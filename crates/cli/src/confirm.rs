//! Asking the person at the terminal, where there is one.

use std::io::{BufRead as _, IsTerminal as _};
use std::time::Instant;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::seam::{Confirm, ConfirmReply, ConfirmRequest};

use crate::progress;
use crate::text::plain;

/// Asks on standard error and reads standard input; where that is no terminal, nobody is there.
pub(crate) struct Terminal {
    is_interactive: bool,
}

impl Terminal {
    /// With `--json` a program is at the other end: it is not asked.
    pub(crate) fn new(json: bool) -> Self {
        Self { is_interactive: !json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() }
    }
}

impl Confirm for Terminal {
    async fn confirm(&mut self, request: &ConfirmRequest, deadline: Deadline) -> ConfirmReply {
        if !self.is_interactive {
            return ConfirmReply::NoOne;
        }
        progress::say(&plain(&request.question));
        let is_question = request.grant.is_none();
        progress::say(if is_question { "your answer:" } else { "type yes to go on, anything else to stop:" });
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        let wait = deadline.remaining(Instant::now());
        match tokio::time::timeout(wait, line).await {
            Ok(Ok(Ok(line))) if is_question && !line.trim().is_empty() => {
                ConfirmReply::Yes(Some(line.trim().to_owned()))
            }
            Ok(Ok(Ok(line))) if matches!(line.trim().to_lowercase().as_str(), "yes" | "y") => ConfirmReply::Yes(None),
            Ok(Ok(Ok(_))) => ConfirmReply::No,
            _ => ConfirmReply::NoOne,
        }
    }
}
