//! The doings of a person while they have the browser of a session, kept beside its log.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use cuebook::Session;
use cuebook::datalayer::replay::Recording as Replayable;
use cuebook::recorder::{RecordError, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Version of the files, raised as those of records are.
const VERSION: &str = "1.0";
/// Files of one session.
const MOST: u32 = 1_000;

/// The end of the time in which a person had the browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandedBack {
    /// When the person took over, in milliseconds since 1970.
    pub since_ms: u64,
    /// How long they had it.
    pub duration_ms: u64,
    /// Steps that they did.
    pub steps: usize,
    /// File that has the steps as a plan; absent if none is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
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

    /// Ends it, and writes its steps into the folder of the log.
    pub(crate) async fn end(self, folder: Option<&str>, mut back: HandedBack) -> HandedBack {
        // The last tab may be closed, and the recording over.
        self.stop.send(()).ok();
        let recorded = match self.task.await {
            Ok(Ok(recorded)) => recorded,
            Ok(Err(error)) => {
                tracing::warn!(%error, "what the person did is not recorded");
                return back;
            }
            Err(_) => return back,
        };
        back.steps = recorded.steps.len();
        back.file = folder.and_then(|folder| match keep(Path::new(folder), &recorded, &back) {
            Ok(file) => Some(file),
            Err(error) => {
                tracing::warn!(%error, "what the person did cannot be written");
                None
            }
        });
        back
    }
}

fn keep(folder: &Path, recorded: &Recorded, back: &HandedBack) -> std::io::Result<PathBuf> {
    let done = recorded.steps.iter().map(|done| (done.step.clone(), done.targets.clone()));
    // Nothing was done, or nothing that could be found again; the notes say what.
    let plan = Replayable::of_steps(None, done).ok().map(|recording| recording.plan);
    let document = json!({
        "schemaVersion": VERSION,
        "sinceMs": back.since_ms,
        "durationMs": back.duration_ms,
        "plan": plan,
        "notes": recorded.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    for number in 1..=MOST {
        let path = folder.join(format!("person-{number}.json"));
        match options.open(&path) {
            Ok(mut file) => {
                file.write_all(serde_json::to_string_pretty(&document)?.as_bytes())?;
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other(format!("{MOST} files are enough")))
}
