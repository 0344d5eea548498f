//! Episodes that several machines take from an object store, one each: what a dead one had begun is done by another.
//!
//! A claim is an object that only one can create (`claims/EPISODE/N.json`, by a conditional write); it holds for a time,
//! the lease. Then the next claim may be created. A result is an object that only one can create
//! (`results/EPISODE.json`), too: a worker that comes back after its lease finds that somebody else was first.
//!
//! Invariants:
//! - An episode has at most one result, however many workers die or come back.
//! - Nothing is ever overwritten or removed.
//!
//! Needs a store with conditional writes: S3 (and those compatible with it that have `If-None-Match`), Google Cloud
//! Storage, Azure, or a directory. Whether a lease is over is read from the store's times and this machine's clock; a
//! lease is far longer than clocks differ.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::TryStreamExt as _;
use object_store::path::Path as Key;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode};
use url::Url;

use crate::episode::{EpisodeKey, EpisodeResult};
use crate::error::EvalError;

/// Results that are read at once.
const CONNECTIONS: usize = 16;
/// Longest error of a store that is quoted, in characters: its answer may be a page.
const ERROR: usize = 600;

/// Episodes in an object store.
#[derive(Clone, Debug)]
pub struct Queue {
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    lease: Duration,
}

/// Result of an attempt to take an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// This worker has it now.
    Ours,
    /// Another worker is at it.
    Taken,
    /// It has a result already.
    Done,
}

impl Queue {
    /// The queue at `s3://BUCKET/PREFIX`, `gs://…`, `az://…` or `file:///DIRECTORY`. `settings` are the variables of its
    /// provider: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, … `lease` must be longer than an episode may take. Connects to
    /// nothing.
    ///
    /// # Errors
    /// [`EvalError::Queue`]
    pub fn open(
        url: &Url,
        settings: impl IntoIterator<Item = (String, String)>,
        lease: Duration,
    ) -> Result<Self, EvalError> {
        if let (true, Ok(path)) = (url.scheme() == "file", url.to_file_path()) {
            std::fs::create_dir_all(&path).map_err(|source| EvalError::File { path, source })?;
        }
        let (store, prefix) = object_store::parse_url_opts(url, settings).map_err(failed)?;
        Ok(Self { store: Arc::from(store), prefix, lease })
    }

    fn result(&self, key: &EpisodeKey) -> Key {
        // A part of a path escapes what a name may not have.
        self.prefix.clone().join("results").join(key.suite.as_str()).join(format!("{}.{}.json", key.task, key.seed))
    }

    fn claim_of(&self, key: &EpisodeKey, number: u32) -> Key {
        let episode = format!("{}.{}", key.task, key.seed);
        self.prefix.clone().join("claims").join(key.suite.as_str()).join(episode).join(format!("{number}.json"))
    }

    /// Tries to take an episode.
    pub(crate) async fn claim(&self, key: &EpisodeKey) -> Result<Claim, EvalError> {
        match self.store.head(&self.result(key)).await {
            Ok(_) => return Ok(Claim::Done),
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        for number in 0.. {
            let claim = self.claim_of(key, number);
            if self.create(&claim, b"{}".to_vec()).await? {
                return Ok(Claim::Ours);
            }
            let begun = SystemTime::from(self.store.head(&claim).await.map_err(failed)?.last_modified);
            if SystemTime::now().duration_since(begun).unwrap_or_default() < self.lease {
                return Ok(Claim::Taken);
            }
        }
        Ok(Claim::Taken)
    }

    /// Hands in a result. `false` if the episode has one already, which counts.
    pub(crate) async fn deliver(&self, result: &EpisodeResult) -> Result<bool, EvalError> {
        let bytes = serde_json::to_vec(result)
            .map_err(|error| failed(Error::Generic { store: "queue", source: Box::new(error) }))?;
        self.create(&self.result(&result.key()), bytes).await
    }

    async fn create(&self, key: &Key, bytes: Vec<u8>) -> Result<bool, EvalError> {
        match self.store.put_opts(key, bytes.into(), PutMode::Create.into()).await {
            Ok(_) => Ok(true),
            // Some stores answer a condition that fails with one, some with the other.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// Reads the results of every machine so far.
    pub(crate) async fn results(&self) -> Result<Vec<EpisodeResult>, EvalError> {
        let below = self.prefix.clone().join("results");
        let objects = self.store.list(Some(&below)).map_err(failed);
        let results = objects.map_ok(|object| async move {
            let bytes = self.store.get(&object.location).await.map_err(failed)?.bytes().await.map_err(failed)?;
            let path = object.location.to_string().into();
            serde_json::from_slice(&bytes).map_err(|source| EvalError::Result { path, line: 1, source })
        });
        results.try_buffer_unordered(CONNECTIONS).try_collect().await
    }
}

/// Without what a store may say at length.
fn failed(error: Error) -> EvalError {
    let text: String = error.to_string().chars().take(ERROR).collect();
    EvalError::Queue { message: text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u64) -> EpisodeKey {
        EpisodeKey { suite: "own".to_owned(), task: "log in / out".to_owned(), seed }
    }

    #[tokio::test]
    async fn an_episode_is_taken_once_until_its_lease_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let url = Url::from_directory_path(folder.path()).unwrap();
        let open = |lease| Queue::open(&url, [], lease).unwrap_or_else(|error| panic!("{error}"));
        let (patient, hasty) = (open(Duration::from_secs(600)), open(Duration::ZERO));
        assert_eq!(patient.claim(&key(1)).await.unwrap(), Claim::Ours);
        assert_eq!(patient.claim(&key(1)).await.unwrap(), Claim::Taken);
        assert_eq!(patient.claim(&key(2)).await.unwrap(), Claim::Ours);
        assert_eq!(hasty.claim(&key(1)).await.unwrap(), Claim::Ours, "whoever had it is taken for dead");
    }

    #[tokio::test]
    async fn the_first_result_counts() {
        let folder = tempfile::tempdir().unwrap();
        let url = Url::from_directory_path(folder.path()).unwrap();
        let queue = Queue::open(&url, [], Duration::ZERO).unwrap_or_else(|error| panic!("{error}"));
        let result: EpisodeResult = serde_json::from_value(serde_json::json!({
            "suite": "own", "task": "log in / out", "seed": 1, "split": "test", "outcome": "solved", "steps": 1,
            "repairs": 0, "plannerCalls": 0, "inputTokens": 0, "outputTokens": 0, "durationMs": 5,
        }))
        .unwrap();
        assert!(queue.deliver(&result).await.unwrap());
        let other = EpisodeResult { duration_ms: 9, ..result.clone() };
        assert!(!queue.deliver(&other).await.unwrap());
        assert_eq!(queue.claim(&key(1)).await.unwrap(), Claim::Done);
        assert_eq!(queue.results().await.unwrap(), [result]);
    }
}
