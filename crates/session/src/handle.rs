//! A session in a task of its own, and how to speak to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cuebook::repair::Interrupt;
use cuebook::{Agent, Session};
use cuebook_grammar::report::RunReport;
use tokio::sync::{mpsc, oneshot};

use crate::answer::Answer;
use crate::call::Request;
use crate::consent::{Asked, Question};
use crate::desk::Desk;
use crate::events::{Event, Events, Feed, Hub};
use crate::person::{HandedBack, Recording};
use crate::takeover::TakeOver;

/// Time for closing a browser.
const CLOSING: Duration = Duration::from_secs(5);

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
    /// `None` if another process serves the session.
    person: Option<TakeOver>,
    hub: Hub,
    calls: Arc<AtomicU64>,
}

pub(crate) enum Job {
    Call { number: u64, request: Request, interrupt: Interrupt, progress: mpsc::Sender<Progress> },
    End(oneshot::Sender<(Agent, RunReport)>),
    Close(oneshot::Sender<Option<String>>),
    Pause(oneshot::Sender<u64>),
    Resume(oneshot::Sender<Option<HandedBack>>),
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
    number: u64,
    is_done: bool,
}

impl RunningCall {
    /// Number of the call, by which [events](Handle::events) name it.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

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
    /// Gives a session to a task. `asked` is the other end of the [`Asker`](crate::Asker) that its agent was built
    /// with. With `opens_loopback`, addresses of this machine may be opened although the policy does not name them.
    #[must_use]
    pub fn start(session: Session, asked: Asked, opens_loopback: bool) -> Self {
        let (jobs, receiver) = mpsc::channel(16);
        let log = session.log().map(str::to_owned);
        let hub = Hub::new();
        let person = TakeOver::new(hub.clone());
        let feed = Feed::new(session.events(), hub.clone());
        let served = Served {
            desk: Desk::new(session, opens_loopback, asked.is_asking),
            questions: asked.questions,
            feed,
            person: person.clone(),
            recording: None,
        };
        tokio::spawn(served.serve(receiver, hub.clone()));
        Self { jobs, log, person: Some(person), hub, calls: Arc::default() }
    }

    /// A handle whose jobs somebody else carries out, and those jobs.
    pub(crate) fn carried(hub: Hub) -> (Self, mpsc::Receiver<Job>) {
        let (jobs, receiver) = mpsc::channel(16);
        (Self { jobs, log: None, person: None, hub, calls: Arc::default() }, receiver)
    }

    /// Events from now on. Of a session that another process serves, only those of the calls of this handle.
    #[must_use]
    pub fn events(&self) -> Events {
        self.hub.watch()
    }

    /// A person takes the browser over: the call that runs is interrupted, later ones may only look until
    /// [`resume`](Self::resume), and the doings of the person are recorded. Returns since when, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`SessionEnded`], also if another process serves the session.
    pub async fn pause(&self) -> Result<u64, SessionEnded> {
        // At once, and not after the call that runs.
        self.person.as_ref().ok_or(SessionEnded)?.begin();
        let (sender, receiver) = oneshot::channel();
        self.jobs.send(Job::Pause(sender)).await.map_err(|_| SessionEnded)?;
        receiver.await.map_err(|_| SessionEnded)
    }

    /// The person hands the browser back; `None` if they had not taken it over.
    ///
    /// # Errors
    /// [`SessionEnded`], also if another process serves the session.
    pub async fn resume(&self) -> Result<Option<HandedBack>, SessionEnded> {
        let (sender, receiver) = oneshot::channel();
        self.jobs.send(Job::Resume(sender)).await.map_err(|_| SessionEnded)?;
        receiver.await.map_err(|_| SessionEnded)
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
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let job = Job::Call { number, request, interrupt: interrupt.clone(), progress };
        self.jobs.send(job).await.map_err(|_| SessionEnded)?;
        Ok(RunningCall { progress: receiver, interrupt, number, is_done: false })
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
    /// [`SessionEnded`] if it had ended already, or another process serves it.
    pub async fn end(&self) -> Result<(Agent, RunReport), SessionEnded> {
        let (sender, receiver) = oneshot::channel();
        self.jobs.send(Job::End(sender)).await.map_err(|_| SessionEnded)?;
        receiver.await.map_err(|_| SessionEnded)
    }

    /// Ends the session and closes what it opened, whoever else holds it. Returns the folder of its log.
    pub async fn close(&self) -> Option<String> {
        let (sender, receiver) = oneshot::channel();
        self.jobs.send(Job::Close(sender)).await.ok()?;
        receiver.await.ok().flatten()
    }

    /// Leaves the session: it is closed, unless another process serves it. Returns the folder of the log of one that is
    /// closed.
    pub async fn leave(&self) -> Option<String> {
        if self.person.is_some() { self.close().await } else { None }
    }
}

/// The session in its task.
struct Served {
    desk: Desk,
    questions: mpsc::Receiver<Question>,
    feed: Feed,
    person: TakeOver,
    recording: Option<Recording>,
}

impl Served {
    async fn serve(mut self, mut jobs: mpsc::Receiver<Job>, hub: Hub) {
        let end = loop {
            match jobs.recv().await {
                Some(Job::Call { number, request, interrupt, progress }) => {
                    let answer = match self.person.admit(&request, &interrupt) {
                        Ok(()) => self.attend(number, request, &interrupt, &progress, &hub).await,
                        Err(why) => Answer::failed(why),
                    };
                    // Whoever called may have gone.
                    progress.send(Progress::Done(Box::new(answer))).await.ok();
                }
                Some(Job::Pause(reply)) => {
                    // Another one may have handed the browser back meanwhile.
                    let since_ms = self.person.begun();
                    if self.recording.is_none() {
                        self.recording = Recording::begin(self.desk.session());
                    }
                    // As above.
                    reply.send(since_ms).ok();
                }
                Some(Job::Resume(reply)) => {
                    // As above.
                    reply.send(self.hand_back(&hub).await).ok();
                }
                Some(Job::End(reply)) => break Some(reply),
                Some(Job::Close(reply)) => {
                    // As above.
                    reply.send(self.close(&hub).await).ok();
                    return;
                }
                None => break None,
            }
        };
        match end {
            Some(reply) => {
                self.hand_back(&hub).await;
                let (agent, report) = self.desk.into_session().end().await;
                hub.send(Event::Ended { log: report.run_dir.clone() });
                // Whoever asked for the end may have gone: the agent is dropped then, and closes what it opened.
                reply.send((agent, report)).ok();
            }
            None => drop(self.close(&hub).await),
        }
    }

    /// Ends the time of the person, if they have the browser.
    async fn hand_back(&mut self, hub: &Hub) -> Option<HandedBack> {
        let (since_ms, duration_ms) = self.person.end()?;
        let back = match self.recording.take() {
            // This task carries calls out: nobody acts until all that the person did is logged.
            Some(recording) => recording.end(self.desk.session_mut(), since_ms, duration_ms).await,
            None => HandedBack { since_ms, duration_ms, steps: 0, notes: Vec::new() },
        };
        hub.send(Event::Resumed { since_ms, duration_ms, steps: back.steps });
        Some(back)
    }

    async fn close(mut self, hub: &Hub) -> Option<String> {
        self.hand_back(hub).await;
        let (agent, report) = self.desk.into_session().end().await;
        hub.send(Event::Ended { log: report.run_dir.clone() });
        if tokio::time::timeout(CLOSING, agent.close()).await.is_err() {
            tracing::warn!("the browser did not close in time");
        }
        report.run_dir
    }

    /// Carries out a call, and passes its questions and events on.
    async fn attend(
        &mut self,
        number: u64,
        request: Request,
        interrupt: &Interrupt,
        progress: &mpsc::Sender<Progress>,
        hub: &Hub,
    ) -> Answer {
        let Self { desk, questions, feed, .. } = self;
        feed.begin(number);
        let mut work = Box::pin(desk.perform(request, interrupt));
        let answer = loop {
            tokio::select! {
                answer = &mut work => break answer,
                Some(question) = questions.recv() => {
                    hub.send(Event::Question { call: number, text: question.text.clone() });
                    // One whose caller is gone is dropped, and so denied.
                    progress.send(Progress::Asks(question)).await.ok();
                }
                () = feed.pass() => {}
            }
        };
        feed.drain().await;
        answer
    }
}
