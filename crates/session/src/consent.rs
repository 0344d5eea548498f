//! Questions to whoever holds a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::seam::{Confirm, ConfirmReply, ConfirmRequest};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Time for an answer. Without one the step is denied.
const PATIENCE: Duration = Duration::from_secs(60);

/// A question that a step waits for. Dropping it leaves it unanswered, which denies.
#[derive(Debug)]
pub struct Question {
    /// Text of the question, escaped.
    pub text: String,
    /// The grant that would have made it unnecessary; absent for a question of the plan itself.
    pub grant: Option<String>,
    reply: oneshot::Sender<ConfirmReply>,
}

impl Question {
    /// A question, and where its answer arrives.
    pub(crate) fn new(text: String, grant: Option<String>) -> (Self, oneshot::Receiver<ConfirmReply>) {
        let (reply, answer) = oneshot::channel();
        (Self { text, grant, reply }, answer)
    }

    /// Returns `true` while the step waits: nobody else has answered, and its time is not over.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.reply.is_closed()
    }

    /// Waits until no answer is waited for any more, as somebody else has given one, or the time for it is over.
    pub async fn taken_back(&mut self) {
        self.reply.closed().await;
    }

    /// Answers the question, once.
    pub fn answer(self, reply: ConfirmReply) {
        // Whoever asked may have given up.
        self.reply.send(reply).ok();
    }
}

/// Asks whoever holds the session. It is given to the builder of the agent.
#[derive(Debug)]
pub struct Asker {
    sender: mpsc::Sender<Question>,
    is_asking: Arc<AtomicBool>,
}

/// Where the questions of an [`Asker`] arrive.
#[derive(Debug)]
pub struct Asked {
    pub(crate) questions: mpsc::Receiver<Question>,
    /// `true` while a step waits for an answer.
    pub(crate) is_asking: Arc<AtomicBool>,
}

impl Asker {
    /// A way to ask, and where the questions arrive.
    #[must_use]
    pub fn new() -> (Self, Asked) {
        let (sender, questions) = mpsc::channel(1);
        let is_asking = Arc::<AtomicBool>::default();
        (Self { sender, is_asking: is_asking.clone() }, Asked { questions, is_asking })
    }
}

struct Asking<'a>(&'a AtomicBool);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Confirm for Asker {
    async fn confirm(&mut self, request: &ConfirmRequest, deadline: Deadline) -> ConfirmReply {
        let (question, answer) = Question::new(request.question.clone(), request.grant.clone());
        let patience = deadline.remaining(Instant::now()).min(PATIENCE);
        let asked = async {
            self.sender.send(question).await.ok()?;
            answer.await.ok()
        };
        self.is_asking.store(true, Ordering::Relaxed);
        // Also where whoever waits for the answer gives up.
        let _asking = Asking(&self.is_asking);
        timeout(patience, asked).await.ok().flatten().unwrap_or(ConfirmReply::Unanswered)
    }
}
