//! Asks the person at the terminal, if there is one.
//!
//! Invariant: only input after a question answers it. One thread reads the terminal until the process ends: a read cannot
//! be cancelled, and two readers would each get a part of the input.

use std::io::{BufRead, BufReader, IsTerminal as _};
use std::time::Instant;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::seam::{Confirm, ConfirmReply, ConfirmRequest};
use tokio::sync::mpsc::{Receiver, channel};

use crate::progress;
use crate::text::plain;

/// Capacity of the channel of lines. Lines before a question are discarded.
const LINES: usize = 16;

/// Asks on standard error and reads standard input.
pub(crate) enum Terminal {
    /// There is no terminal.
    Absent,
    /// Not read before the first question: a background process that reads its terminal is stopped.
    Unread(Box<dyn BufRead + Send>),
    Read(Receiver<String>),
}

impl Terminal {
    /// With `--json`, a program reads the output, and no question is asked.
    pub(crate) fn new(json: bool) -> Self {
        if json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Self::Absent;
        }
        Self::Unread(Box::new(BufReader::new(std::io::stdin())))
    }

    /// The lines that are typed from now on. Earlier ones are discarded.
    fn lines(&mut self) -> Option<&mut Receiver<String>> {
        if let Self::Unread(_) = self
            && let Self::Unread(mut input) = std::mem::replace(self, Self::Absent)
        {
            let (sender, receiver) = channel(LINES);
            std::thread::spawn(move || {
                let mut line = String::new();
                while input.read_line(&mut line).is_ok_and(|read| read > 0) {
                    if sender.blocking_send(std::mem::take(&mut line)).is_err() {
                        break;
                    }
                }
            });
            *self = Self::Read(receiver);
        }
        let Self::Read(receiver) = self else { return None };
        while receiver.try_recv().is_ok() {}
        Some(receiver)
    }
}

impl Confirm for Terminal {
    async fn confirm(&mut self, request: &ConfirmRequest, deadline: Deadline) -> ConfirmReply {
        let Some(lines) = self.lines() else { return ConfirmReply::Unanswered };
        progress::say(&plain(&request.question));
        let is_question = request.grant.is_none();
        progress::say(if is_question { "your answer:" } else { "type yes to continue, anything else to stop:" });
        let Ok(Some(line)) = tokio::time::timeout(deadline.remaining(Instant::now()), lines.recv()).await else {
            return ConfirmReply::Unanswered;
        };
        match line.trim() {
            answer if is_question && !answer.is_empty() => ConfirmReply::Yes(Some(answer.to_owned())),
            answer if ["yes", "y"].contains(&answer.to_lowercase().as_str()) => ConfirmReply::Yes(None),
            _ => ConfirmReply::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// A keyboard: reads block until something is typed.
    struct Keyboard(mpsc::Receiver<&'static str>);

    impl Read for Keyboard {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let typed = self.0.recv().unwrap_or_default();
            buffer[..typed.len()].copy_from_slice(typed.as_bytes());
            Ok(typed.len())
        }
    }

    async fn ask(terminal: &mut Terminal, patience: Duration) -> ConfirmReply {
        let request = ConfirmRequest { question: "Pay?".to_owned(), grant: Some("money@shop.test".to_owned()) };
        terminal.confirm(&request, Deadline::after(Instant::now(), patience)).await
    }

    #[tokio::test]
    async fn an_answer_after_the_deadline_does_not_answer_the_next_question() {
        let (keys, typed) = mpsc::channel();
        let mut terminal = Terminal::Unread(Box::new(BufReader::new(Keyboard(typed))));
        assert_eq!(ask(&mut terminal, Duration::ZERO).await, ConfirmReply::Unanswered);
        keys.send("yes\n").unwrap();
        let Terminal::Read(lines) = &terminal else { panic!("expected a reader") };
        while lines.is_empty() {
            tokio::task::yield_now().await;
        }
        let (asking, typing) = tokio::join!(ask(&mut terminal, Duration::from_secs(60)), async {
            tokio::task::yield_now().await;
            keys.send("no\n")
        });
        typing.unwrap();
        assert_eq!(asking, ConfirmReply::No);
    }

    #[tokio::test]
    async fn the_answer_after_a_question_that_timed_out_is_not_lost() {
        let (keys, typed) = mpsc::channel();
        let mut terminal = Terminal::Unread(Box::new(BufReader::new(Keyboard(typed))));
        assert_eq!(ask(&mut terminal, Duration::ZERO).await, ConfirmReply::Unanswered);
        let (asking, typing) = tokio::join!(ask(&mut terminal, Duration::from_secs(60)), async {
            tokio::task::yield_now().await;
            keys.send("yes\n")
        });
        typing.unwrap();
        assert_eq!(asking, ConfirmReply::Yes(None));
        drop(keys);
        assert_eq!(ask(&mut terminal, Duration::from_secs(60)).await, ConfirmReply::Unanswered);
    }
}
