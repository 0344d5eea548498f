//! A session in a task of its own, and how to speak to it.

use cuebook::repair::Interrupt;
use cuebook::{Agent, Session};
use cuebook_grammar::report::RunReport;
use tokio::sync::{mpsc, oneshot};

use crate::answer::Answer;
use crate::call::Request;
use crate::consent::Question;
use crate::context::Files;
use crate::desk::Desk;

/// The session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session has ended")]
pub struct SessionEnded;

/// Speaks to a session. Calls of all clones are carried out one after another. The session ends with
/// [`end`](Self::end), or when the last handle is dropped.
#[derive(Clone, Debug)]
pub struct Handle {
    jobs: mpsc::Sender<Job>,
    log: Option<String>,
}

enum Job {
    Call { request: Request, interrupt: Interrupt, progress: mpsc::Sender<Progress> },
    End(oneshot::Sender<(Agent, RunReport)>),
}

/// News of a call while it is carried out.
#[derive(Debug)]
pub enum Progress {
    /// It goes on once this is answered.
    Asks(Question),
    /// The call is over.
    Done(Box<Answer>),
}

/// A call that is carried out. Dropping it interrupts the call before it sends further input.
#[derive(Debug)]
pub struct RunningCall {
    progress: mpsc::Receiver<Progress>,
    interrupt: Interrupt,
    is_done: bool,
}

impl RunningCall {
    /// The news that come next.
    ///
    /// # Errors
    /// [`SessionEnded`] if the session ended before the call did.
    pub async fn next(&mut self) -> Result<Progress, SessionEnded> {
        let next = self.progress.recv().await.ok_or(SessionEnded);
        self.is_done = !matches!(next, Ok(Progress::Asks(_)));
        next
    }

    /// Interrupts the call before it sends further input. Its answer says how far it came.
    pub fn cancel(&self) {
        self.interrupt.trigger();
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if !self.is_done {
            self.interrupt.trigger();
        }
    }
}

impl Handle {
    /// Gives a session to a task. `questions` is the other end of the [`Asker`](crate::Asker) that its agent was built
    /// with. With `opens_loopback`, addresses of this machine may be opened although the policy does not name them.
    /// Files that calls name lie where `files` says.
    #[must_use]
    pub fn start(session: Session, questions: mpsc::Receiver<Question>, opens_loopback: bool, files: Files) -> Self {
        let (jobs, receiver) = mpsc::channel(16);
        let log = session.log().map(str::to_owned);
        tokio::spawn(serve(Desk::new(session, opens_loopback, files), receiver, questions));
        Self { jobs, log }
    }

    /// The folder of the log; `None` if it is kept in memory.
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        self.log.as_deref()
    }

    /// Begins a call, after those that were begun before.
    ///
    /// # Errors
    /// [`SessionEnded`]
    pub async fn begin(&self, request: Request) -> Result<RunningCall, SessionEnded> {
        let interrupt = Interrupt::default();
        let (progress, receiver) = mpsc::channel(1);
        let job = Job::Call { request, interrupt: interrupt.clone(), progress };
        self.jobs.send(job).await.map_err(|_| SessionEnded)?;
        Ok(RunningCall { progress: receiver, interrupt, is_done: false })
    }

    /// Carries out a call, denying whatever it asks.
    ///
    /// # Errors
    /// [`SessionEnded`]
    pub async fn call(&self, request: Request) -> Result<Answer, SessionEnded> {
        let mut running = self.begin(request).await?;
        loop {
            match running.next().await? {
                Progress::Asks(question) => drop(question),
                Progress::Done(answer) => return Ok(*answer),
            }
        }
    }

    /// Ends the session, and returns its agent and the report of all of its steps.
    ///
    /// # Errors
    /// [`SessionEnded`] if it had ended already.
    pub async fn end(&self) -> Result<(Agent, RunReport), SessionEnded> {
        let (sender, receiver) = oneshot::channel();
        self.jobs.send(Job::End(sender)).await.map_err(|_| SessionEnded)?;
        receiver.await.map_err(|_| SessionEnded)
    }
}

async fn serve(mut desk: Desk, mut jobs: mpsc::Receiver<Job>, mut questions: mpsc::Receiver<Question>) {
    while let Some(job) = jobs.recv().await {
        match job {
            Job::Call { request, interrupt, progress } => {
                let answer = attend(&mut desk, request, &interrupt, &progress, &mut questions).await;
                // Whoever called may have gone.
                progress.send(Progress::Done(Box::new(answer))).await.ok();
            }
            Job::End(reply) => {
                // Whoever asked for the end may have gone: the agent is dropped then, and closes what it opened.
                reply.send(desk.into_session().end().await).ok();
                return;
            }
        }
    }
    let (agent, _) = desk.into_session().end().await;
    agent.close().await.ok();
}

/// Carries out a call, and passes its questions on.
async fn attend(
    desk: &mut Desk,
    request: Request,
    interrupt: &Interrupt,
    progress: &mpsc::Sender<Progress>,
    questions: &mut mpsc::Receiver<Question>,
) -> Answer {
    let mut work = Box::pin(desk.perform(request, interrupt));
    loop {
        tokio::select! {
            answer = &mut work => return answer,
            Some(question) = questions.recv() => {
                // One whose caller is gone is dropped, and so denied.
                progress.send(Progress::Asks(question)).await.ok();
            }
        }
    }
}
