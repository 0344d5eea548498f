//! Questions of a run, answered in its page.
//!
//! Invariant: a question has one answer. Once it is answered, or nobody waits for it any more, another answer is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::seam::{Confirm, ConfirmReply, ConfirmRequest};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// The question that a run waits for, if any.
#[derive(Clone, Debug)]
pub struct Questions {
    open: watch::Sender<Option<Arc<Question>>>,
    next: Arc<AtomicU64>,
}

/// A question, until it is taken away.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) number: u64,
    pub(crate) text: String,
    /// An answer in words is asked for, and not consent.
    pub(crate) takes_text: bool,
    reply: std::sync::Mutex<Option<oneshot::Sender<ConfirmReply>>>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { open: watch::Sender::new(None), next: Arc::default() }
    }
}

impl Questions {
    /// Asks in the page and by `other`: the first answer counts.
    #[must_use]
    pub fn beside<C: Confirm>(&self, other: C) -> Asking<C> {
        Asking { questions: self.clone(), other }
    }

    /// The open question, and when it changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Option<Arc<Question>>> {
        self.open.subscribe()
    }

    /// Answers the question of this number. Returns `false` if it is not open any more.
    pub(crate) fn answer(&self, number: u64, reply: ConfirmReply) -> bool {
        let question = self.open.borrow().clone().filter(|question| question.number == number);
        let waits = question.and_then(|question| question.reply.lock().ok()?.take());
        waits.is_some_and(|waits| waits.send(reply).is_ok())
    }

    fn ask(&self, request: &ConfirmRequest) -> (Open<'_>, oneshot::Receiver<ConfirmReply>) {
        let (reply, answer) = oneshot::channel();
        let question = Question {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            text: request.question.clone(),
            takes_text: request.grant.is_none(),
            reply: std::sync::Mutex::new(Some(reply)),
        };
        self.open.send_replace(Some(Arc::new(question)));
        (Open(self), answer)
    }
}

/// Takes the question away when nobody waits any more.
struct Open<'a>(&'a Questions);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.send_replace(None);
    }
}

/// Asks in the page of a run and elsewhere.
#[derive(Debug)]
pub struct Asking<C> {
    questions: Questions,
    other: C,
}

impl<C: Confirm> Confirm for Asking<C> {
    async fn confirm(&mut self, request: &ConfirmRequest, deadline: Deadline) -> ConfirmReply {
        let (_open, answer) = self.questions.ask(request);
        let elsewhere = async {
            match self.other.confirm(request, deadline).await {
                // Whoever is not there does not answer for the page.
                ConfirmReply::Unanswered => std::future::pending().await,
                reply => reply,
            }
        };
        let first = async {
            tokio::select! {
                Ok(reply) = answer => reply,
                reply = elsewhere => reply,
            }
        };
        timeout(deadline.remaining(Instant::now()), first).await.unwrap_or(ConfirmReply::Unanswered)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cuebook_grammar::seam::DenyAll;

    use super::*;

    /// Answers yes at once.
    struct Willing;

    impl Confirm for Willing {
        async fn confirm(&mut self, _: &ConfirmRequest, _: Deadline) -> ConfirmReply {
            ConfirmReply::Yes(None)
        }
    }

    fn request() -> ConfirmRequest {
        ConfirmRequest { question: "Pay?".to_owned(), grant: Some("money@shop.test".to_owned()) }
    }

    fn within(time: Duration) -> Deadline {
        Deadline::after(Instant::now(), time)
    }

    #[tokio::test]
    async fn the_first_answer_counts_and_the_second_is_refused() {
        let questions = Questions::default();
        let mut asking = questions.beside(DenyAll);
        let mut open = questions.watch();
        let page = async {
            let question = open.wait_for(Option::is_some).await.unwrap().clone().unwrap();
            assert!(!questions.answer(question.number + 1, ConfirmReply::Yes(None)), "another question");
            let first = questions.answer(question.number, ConfirmReply::Yes(None));
            (first, questions.answer(question.number, ConfirmReply::No))
        };
        let request = request();
        let (reply, answered) = tokio::join!(asking.confirm(&request, within(Duration::from_secs(60))), page);
        assert_eq!((reply, answered), (ConfirmReply::Yes(None), (true, false)));
        assert!(questions.watch().borrow().is_none());
    }

    #[tokio::test]
    async fn an_answer_elsewhere_takes_the_question_away() {
        let questions = Questions::default();
        let reply = questions.beside(Willing).confirm(&request(), within(Duration::from_secs(60))).await;
        assert_eq!(reply, ConfirmReply::Yes(None));
        assert!(!questions.answer(0, ConfirmReply::No));
    }

    #[tokio::test]
    async fn without_an_answer_it_is_denied_after_its_time() {
        let questions = Questions::default();
        let reply = questions.beside(DenyAll).confirm(&request(), within(Duration::from_millis(20))).await;
        assert_eq!(reply, ConfirmReply::Unanswered);
        assert!(questions.watch().borrow().is_none());
    }
}
