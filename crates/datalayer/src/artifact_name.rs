//! The names of artifacts.

use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::seam::ArtifactKind;
use sha2::{Digest as _, Sha256};

/// The reference to stored bytes.
pub(crate) fn reference(kind: ArtifactKind, media_type: &str, bytes: &[u8]) -> ArtifactRef {
    let sha256 = sha256(bytes);
    let folder: String = sha256.chars().take(2).collect();
    ArtifactRef {
        kind: kind.as_str().to_owned(),
        path: format!("artifacts/{folder}/{sha256}.{}", extension(media_type)),
        sha256,
        media_type: media_type.to_owned(),
        bytes: bytes.len() as u64,
    }
}

/// Returns `true` if `path` is that of a file with this digest, with any known extension.
pub(crate) fn names(path: &str, digest: &str) -> bool {
    let folder: String = digest.chars().take(2).collect();
    path.strip_prefix("artifacts/")
        .and_then(|rest| rest.strip_prefix(folder.as_str()))
        .and_then(|rest| rest.strip_prefix('/'))
        .and_then(|rest| rest.strip_prefix(digest))
        .and_then(|rest| rest.strip_prefix('.'))
        .is_some_and(|extension| EXTENSIONS.iter().any(|(_, known)| *known == extension) || extension == OTHER)
}

const EXTENSIONS: &[(&str, &str)] = &[
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/webp", "webp"),
    ("application/json", "json"),
    ("application/x-ndjson", "jsonl"),
    ("text/plain", "txt"),
    ("text/html", "html"),
];
const OTHER: &str = "bin";

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn extension(media_type: &str) -> &'static str {
    let essence = essence(media_type);
    EXTENSIONS.iter().find(|(known, _)| *known == essence).map_or(OTHER, |(_, extension)| extension)
}

pub(crate) fn is_text(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.is_empty()
        || essence.starts_with("text/")
        || ["json", "xml", "javascript", "form-urlencoded", "form-data"].iter().any(|end| essence.ends_with(end))
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
