//! Artifacts: the files of a run, named by their content.
//!
//! Invariants:
//! - A file is stored once, as `artifacts/<2 digits>/<SHA-256>.<extension>`, and gets its name when it is complete. Its
//!   content may be lost in a power failure; a reader finds out by the digest.
//! - A reference from a log opens only the file that its digest names.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::redaction::redacted_data;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink, Redactor};
use serde_json::Value;

use crate::artifact_name::{is_text, names, reference, sha256};
use crate::error::{DataError, Doing, shown};
use crate::run_dir::RunDir;

/// The artifacts of one run.
#[derive(Clone)]
pub struct ArtifactStore {
    run: PathBuf,
    redactor: Option<Arc<dyn Redactor>>,
    next_part: Arc<AtomicU64>,
}

impl ArtifactStore {
    /// The store in the folder of a run. Text goes through `redactor`.
    #[must_use]
    pub fn new(dir: &RunDir, redactor: Option<Arc<dyn Redactor>>) -> Self {
        Self { run: dir.path().to_owned(), redactor, next_part: Arc::default() }
    }

    /// Reads an artifact and compares it with its digest. Blocks.
    ///
    /// # Errors
    /// [`DataError::Artifact`] if the reference is not one of this store, or the content does not match it;
    /// [`DataError::Io`].
    pub fn read(&self, reference: &ArtifactRef) -> Result<Vec<u8>, DataError> {
        let wrong = |seen: String| DataError::Artifact { expected: shown(&reference.sha256), seen };
        let is_digest = reference.sha256.len() == 64
            && reference.sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !is_digest || !names(&reference.path, &reference.sha256) {
            return Err(wrong(format!("the path {}", shown(&reference.path))));
        }
        let path = self.run.join(&reference.path);
        let bytes = fs::read(&path).map_err(DataError::io(Doing::Read, &path))?;
        let seen = sha256(&bytes);
        if seen == reference.sha256 { Ok(bytes) } else { Err(wrong(seen)) }
    }

    fn put(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, DataError> {
        let bytes = self.redacted(media_type, bytes);
        let reference = reference(kind, media_type, &bytes);
        let path = self.run.join(&reference.path);
        if fs::metadata(&path).is_ok_and(|there| there.is_file() && there.len() == reference.bytes) {
            return Ok(reference);
        }
        let folder = path.parent().unwrap_or(&self.run);
        fs::create_dir_all(folder).map_err(DataError::io(Doing::Create, folder))?;
        let number = self.next_part.fetch_add(1, Ordering::Relaxed);
        let part = path.with_extension(format!("{number}.part"));
        let write = || {
            let mut file = OpenOptions::new().write(true).create_new(true).open(&part)?;
            file.write_all(&bytes)
        };
        let stored = write()
            .map_err(DataError::io(Doing::Write, &part))
            .and_then(|()| fs::rename(&part, &path).map_err(DataError::io(Doing::Rename, &path)));
        if let Err(error) = stored {
            // The disk may be full. The first error is returned.
            let _ = fs::remove_file(&part);
            return Err(error);
        }
        Ok(reference)
    }

    fn redacted(&self, media_type: &str, bytes: Vec<u8>) -> Vec<u8> {
        let redactor = self.redactor.as_deref().filter(|redactor| is_text(media_type) && !redactor.is_idle());
        let Some(redactor) = redactor else { return bytes };
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str::<Value>(&text) {
            let clean = redacted_data(&value, Some(redactor));
            return if clean == value { bytes } else { clean.to_string().into_bytes() };
        }
        match redactor.redact(&text) {
            clean if clean == text => bytes,
            clean => clean.into_owned().into_bytes(),
        }
    }
}

impl ArtifactSink for ArtifactStore {
    type Error = DataError;

    async fn store(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, DataError> {
        let (store, media_type) = (self.clone(), media_type.to_owned());
        tokio::task::spawn_blocking(move || store.put(kind, &media_type, bytes))
            .await
            .map_err(|_| DataError::WorkerGone)?
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::RunId;

    use super::*;
    use crate::redactor::ValueRedactor;

    fn dir() -> (tempfile::TempDir, RunDir) {
        let out = tempfile::tempdir().unwrap();
        let dir = RunDir::create(out.path(), &RunId::new("r1")).unwrap();
        (out, dir)
    }

    fn files(dir: &RunDir) -> Vec<String> {
        let mut names = Vec::new();
        for folder in fs::read_dir(dir.artifacts_path()).unwrap() {
            for file in fs::read_dir(folder.unwrap().path()).unwrap() {
                names.push(file.unwrap().file_name().into_string().unwrap());
            }
        }
        names
    }

    #[tokio::test]
    async fn equal_content_is_stored_once_and_reads_back() {
        let (_out, dir) = dir();
        let store = ArtifactStore::new(&dir, None);
        let put = |kind| store.store(kind, "image/png", b"pixels".to_vec());
        let (before, after) = tokio::join!(put(ArtifactKind::ScreenshotBefore), put(ArtifactKind::ScreenshotAfter));
        let (before, after) = (before.unwrap(), after.unwrap());
        assert_eq!((before.kind.as_str(), after.kind.as_str()), ("screenshotBefore", "screenshotAfter"));
        assert_eq!(before.sha256, after.sha256);
        assert_eq!(before.path, format!("artifacts/{}/{}.png", before.sha256.get(..2).unwrap(), before.sha256));
        assert_eq!(files(&dir), [format!("{}.png", before.sha256)]);
        assert_eq!(store.read(&after).unwrap(), b"pixels");
    }

    #[tokio::test]
    async fn changed_content_is_an_error() {
        let (_out, dir) = dir();
        let store = ArtifactStore::new(&dir, None);
        let reference = store.store(ArtifactKind::DomDiff, "text/plain; charset=utf-8", b"old".to_vec()).await.unwrap();
        assert!(reference.path.ends_with(".txt"));
        fs::write(dir.path().join(&reference.path), "new").unwrap();
        assert!(matches!(store.read(&reference), Err(DataError::Artifact { .. })));
    }

    #[tokio::test]
    async fn a_reference_opens_only_its_own_file() {
        let (_out, dir) = dir();
        let store = ArtifactStore::new(&dir, None);
        let good = store.store(ArtifactKind::Screenshot, "image/png", b"x".to_vec()).await.unwrap();
        for path in ["/etc/passwd", "../../etc/passwd", "log.jsonl", &format!("{}/../../../x", good.path), ""] {
            let reference = ArtifactRef { path: path.to_owned(), ..good.clone() };
            assert!(matches!(store.read(&reference), Err(DataError::Artifact { .. })), "{path}");
        }
        let reference = ArtifactRef { sha256: "../..".into(), path: "artifacts/../../..".into(), ..good };
        assert!(matches!(store.read(&reference), Err(DataError::Artifact { .. })));
    }

    #[tokio::test]
    async fn text_is_redacted_and_pictures_are_not() {
        let (_out, dir) = dir();
        let redactor = Arc::new(ValueRedactor::new(["hunter22"]));
        let store = ArtifactStore::new(&dir, Some(redactor));
        let json = br#"{"name":"hunter22","n":[1,"x"]}"#.to_vec();
        let tree = store.store(ArtifactKind::AxSubtree, "application/json", json).await.unwrap();
        let read: serde_json::Value = serde_json::from_slice(&store.read(&tree).unwrap()).unwrap();
        assert_eq!(read, serde_json::json!({ "name": "[redacted]", "n": [1, "x"] }));
        let picture = store.store(ArtifactKind::Screenshot, "image/png", b"hunter22".to_vec()).await.unwrap();
        assert_eq!(store.read(&picture).unwrap(), b"hunter22");
    }

    #[tokio::test]
    async fn a_file_in_place_of_the_folder_is_an_error() {
        let (_out, dir) = dir();
        fs::remove_dir(dir.artifacts_path()).unwrap();
        fs::write(dir.artifacts_path(), "").unwrap();
        let store = ArtifactStore::new(&dir, None);
        let error = store.store(ArtifactKind::Screenshot, "image/png", b"x".to_vec()).await.unwrap_err();
        assert!(matches!(error, DataError::Io { doing: Doing::Create, .. }), "{error}");
    }
}
