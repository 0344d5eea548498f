//! The doings of a person while they have the browser of a session, which its log has as their steps.

use cuebook::Session;
use cuebook::recorder::{RecordError, Recorded};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The end of the time in which a person had the browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandedBack {
    /// When the person took over, in milliseconds since 1970.
    pub since_ms: u64,
    /// How long they had it.
    pub duration_ms: u64,
    /// Steps that they did, which the log has.
    pub steps: usize,
    /// Doings that are not among the steps, or that a replay cannot repeat alone; also why nothing is in the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A recording that goes on.
#[derive(Debug)]
pub(crate) struct Recording {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Recorded, RecordError>>,
}

impl Recording {
    /// Begins in the current tab. `None` if there is no browser to record in.
    pub(crate) fn begin(session: &Session) -> Option<Self> {
        let recorder = session.recorder().ok()??;
        let (stop, stopped) = oneshot::channel::<()>();
        let tab = session.page().clone();
        let task = tokio::spawn(async move {
            let stopped = async {
                // Whoever began it may be gone.
                stopped.await.ok();
            };
            recorder.record_on(&tab, stopped).await
        });
        Some(Self { stop, task })
    }

    /// Ends it, and logs its steps.
    pub(crate) async fn end(self, session: &mut Session, since_ms: u64, duration_ms: u64) -> HandedBack {
        // The last tab may be closed, and the recording over.
        self.stop.send(()).ok();
        let nothing = |why: String| HandedBack { since_ms, duration_ms, steps: 0, notes: vec![why] };
        let recorded = match self.task.await {
            Ok(Ok(recorded)) => recorded,
            Ok(Err(error)) => return nothing(format!("nothing is recorded: {error}")),
            Err(_) => return nothing("nothing is recorded: the recording broke off".to_owned()),
        };
        let (steps, notes) = (recorded.steps.len(), recorded.notes.iter().map(ToString::to_string).collect());
        match session.hand_back(since_ms, recorded).await {
            Ok(()) => HandedBack { since_ms, duration_ms, steps, notes },
            Err(failure) => nothing(format!("what was done is not in the log: {failure}")),
        }
    }
}
