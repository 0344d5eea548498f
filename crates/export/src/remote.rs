//! Exports to object stores.
//!
//! An export is made in a folder of this machine, which knows from the list in the store what is whole there; then what
//! is new is uploaded.
//!
//! Invariants:
//! - The list in the store names a file before it is uploaded and before it is removed, and calls it whole only
//!   afterwards. So wherever an export ends, the next one knows what is whole and removes or replaces the rest.
//! - Objects that the list does not name are never read or removed.
//! - No credential is in an error.
//!
//! Deliberately absent: locks. Two exports to one place at a time are not supported.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cuebook_datalayer::RunDir;
use cuebook_grammar::render::with_sources;
use cuebook_grammar::secret::MASK;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _, RetryConfig, WriteMultipart};
use url::Url;

use crate::error::ExportError;
use crate::export::export;
use crate::folder::{LIST, List, Unit, is_below};
use crate::job::{Exported, Options};

/// Files from this size on are uploaded in parts of it, or of larger ones if there would be too many.
const PART: u64 = 10 << 20;
/// The most parts of an object; S3 takes 10,000.
const PARTS: u64 = 9_000;
/// Files that are uploaded at the same time. Each holds at most three parts in memory.
const UPLOADS: usize = 4;
/// Units after which the list is written, so that an interrupted upload goes on from there.
const UNITS: usize = 32;
/// Characters of an error of a store: its answer may be a page.
const ERROR: usize = 600;

/// A place in an object store.
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    address: String,
    /// Values that no error may quote.
    secrets: Vec<String>,
}

impl Bucket {
    /// The place that `url` names: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`. `settings`
    /// are the variables of its provider: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, … Others are ignored. Connects to
    /// nothing.
    ///
    /// # Errors
    /// [`ExportError::Address`] if the URL is of another kind; [`ExportError::Remote`] if settings are missing or do
    /// not fit together.
    pub fn open(url: &Url, settings: impl IntoIterator<Item = (String, String)>) -> Result<Self, ExportError> {
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if !is_plain || url.host_str().is_none_or(str::is_empty) {
            let expected = "a bucket and a prefix, such as s3://bucket/prefix, and credentials in the environment";
            return Err(ExportError::address(url, expected));
        }
        let mut settings: Vec<(String, String)> =
            settings.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        // Who names an endpoint without TLS means it.
        if settings.iter().any(|(name, value)| name.starts_with("aws_endpoint") && value.starts_with("http://")) {
            settings.push(("aws_allow_http".to_owned(), "true".to_owned()));
        }
        let is_secret =
            |name: &str| ["key", "secret", "token", "password", "credential"].iter().any(|w| name.contains(w));
        let secrets = settings.iter().filter(|(name, value)| is_secret(name) && value.len() >= 4);
        let mut place = Self {
            store: Arc::new(object_store::memory::InMemory::new()),
            prefix: Key::from_url_path(url.path()).map_err(|_| ExportError::address(url, "a prefix of plain parts"))?,
            address: url.to_string(),
            secrets: secrets.map(|(_, value)| value.clone()).collect(),
        };
        macro_rules! store {
            ($builder:ty) => {{
                let builder = <$builder>::new().with_url(url.as_str()).with_retry(retry());
                let built = settings.into_iter().fold(builder, |builder, (name, value)| match name.parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                });
                Arc::new(built.build().map_err(|error| place.failed("use", &error))?)
            }};
        }
        place.store = match url.scheme() {
            "s3" => store!(AmazonS3Builder),
            "gs" => store!(GoogleCloudStorageBuilder),
            "az" => store!(MicrosoftAzureBuilder),
            _ => return Err(ExportError::address(url, "s3://, gs:// or az://")),
        };
        Ok(place)
    }

    /// A place in any store. `address` stands for it in messages.
    pub fn over(store: Arc<dyn ObjectStore>, prefix: Key, address: impl Into<String>) -> Self {
        Self { store, prefix, address: address.into(), secrets: Vec::new() }
    }

    /// As [`export`](crate::export()), with the store in the place of a folder. `options.out` is an empty folder in
    /// which new files are made; what is in it afterwards is of no use.
    ///
    /// # Errors
    /// Those of [`export`](crate::export()), and [`ExportError::Remote`]. What was uploaded is kept by the next export.
    pub async fn export(
        &self,
        runs: &[RunDir],
        options: &Options,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Exported, ExportError> {
        let folder = &options.out;
        let before = self.list().await?;
        let there = self.present(&before, options).await?;
        if !before.text.is_empty() {
            let path = folder.join(LIST);
            fs::write(&path, &before.text).map_err(ExportError::io(&path))?;
        }
        for name in &there {
            // In the place of the object: an export asks only whether a file is there.
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(ExportError::io(parent))?;
            File::create(&path).map_err(ExportError::io(&path))?;
        }
        let exported = export(runs, options, progress).map_err(|error| self.named(error))?;
        let after = List::read(folder)?;
        if exported.written.is_empty() && after.text == before.text {
            return Ok(exported);
        }
        self.publish(folder, &before, &after, &exported.written, &there).await?;
        Ok(exported)
    }

    /// Files that the list names and the store has.
    async fn present(&self, list: &List, options: &Options) -> Result<BTreeSet<String>, ExportError> {
        let units = list.units();
        let named: BTreeSet<&str> = units.values().flat_map(|unit| &unit.files).map(String::as_str).collect();
        let mut objects = self.store.list(Some(&self.prefix));
        let mut there = BTreeSet::new();
        while let Some(object) = objects.try_next().await.map_err(|error| self.failed("list", &error))? {
            let Some(parts) = object.location.prefix_match(&self.prefix) else { continue };
            let name = parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/");
            if list.text.is_empty() {
                let (format, redaction) = (options.format.as_str(), options.redaction.as_str());
                let path = self.address.clone().into();
                return Err(ExportError::OtherExport { path, format, redaction, seen: "other objects".to_owned() });
            }
            if named.contains(name.as_str()) && is_below(&name) {
                there.insert(name);
            }
        }
        Ok(there)
    }

    async fn publish(
        &self,
        folder: &Path,
        before: &List,
        after: &List,
        written: &[String],
        there: &BTreeSet<String>,
    ) -> Result<(), ExportError> {
        let written: BTreeSet<&str> = written.iter().map(String::as_str).collect();
        let (old, new) = (before.units(), after.units());
        let is_new = |unit: &Unit| unit.files.iter().any(|file| written.contains(file.as_str()));
        let added: Vec<&Unit> = new.values().filter(|unit| is_new(unit)).collect();
        // First the names of all that changes, as interrupted: see `folder`.
        let goes_on = before.lines().next() == after.lines().next();
        let mut text: String = if goes_on { before.lines().collect() } else { after.lines().take(1).collect() };
        let changed = old.values().filter(|unit| new.get(&unit.name) != Some(unit) || is_new(unit));
        let gone: Vec<String> = there.iter().filter(|name| !folder.join(name).is_file()).cloned().collect();
        for unit in changed.chain(added.iter().copied()) {
            let also = old.get(&unit.name).into_iter().chain(new.get(&unit.name)).flat_map(|unit| unit.files.clone());
            let files = also.collect::<BTreeSet<String>>().into_iter().collect();
            say(&mut text, &Unit { inputs: String::new(), files, ..unit.clone() })?;
        }
        self.put_list(text.clone()).await?;
        for name in gone {
            match self.store.delete(&self.key(&name)).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(self.failed("remove a file of", &error)),
            }
        }
        for units in added.chunks(UNITS) {
            let files: Vec<&String> = units.iter().flat_map(|unit| &unit.files).collect();
            let uploads = files.into_iter().map(|name| self.upload(folder, name));
            stream::iter(uploads).buffer_unordered(UPLOADS).try_collect::<()>().await?;
            for unit in units {
                say(&mut text, unit)?;
            }
            self.put_list(text.clone()).await?;
        }
        self.put_list(after.text.clone()).await
    }

    async fn upload(&self, folder: &Path, name: &str) -> Result<(), ExportError> {
        let path = folder.join(name);
        let failed = |error| self.failed("write a file of", &error);
        let mut file = File::open(&path).map_err(ExportError::io(&path))?;
        let size = file.metadata().map_err(ExportError::io(&path))?.len();
        let part = PART.max(size / PARTS);
        let mut next = move || -> Result<Vec<u8>, ExportError> {
            let mut bytes = Vec::new();
            file.by_ref().take(part).read_to_end(&mut bytes).map_err(ExportError::io(&path))?;
            Ok(bytes)
        };
        if size <= PART {
            self.store.put(&self.key(name), next()?.into()).await.map_err(failed)?;
            return Ok(());
        }
        let upload = self.store.put_multipart(&self.key(name)).await.map_err(failed)?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, usize::try_from(part).unwrap_or(usize::MAX));
        loop {
            let read = match writer.wait_for_capacity(2).await.map_err(failed) {
                Ok(()) => next(),
                Err(error) => Err(error),
            };
            match read {
                Ok(bytes) if bytes.is_empty() => break,
                Ok(bytes) => writer.put(bytes.into()),
                Err(error) => {
                    // Parts that stay behind are not visible, and stores can be set up to remove them.
                    writer.abort().await.ok();
                    return Err(error);
                }
            }
        }
        writer.finish().await.map_err(failed)?;
        Ok(())
    }

    async fn list(&self) -> Result<List, ExportError> {
        let got = match self.store.get(&self.key(LIST)).await {
            Ok(found) => found.bytes().await,
            Err(object_store::Error::NotFound { .. }) => return Ok(List::default()),
            Err(error) => Err(error),
        };
        let bytes = got.map_err(|error| self.failed("read", &error))?;
        Ok(List { text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    async fn put_list(&self, text: String) -> Result<(), ExportError> {
        self.store.put(&self.key(LIST), text.into()).await.map_err(|error| self.failed("write", &error))?;
        Ok(())
    }

    fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.prefix.clone(), |key, part| key.join(part))
    }

    fn failed(&self, what: &'static str, error: &object_store::Error) -> ExportError {
        // Queries of URLs may be signed.
        let word =
            |word: &str| word.split_once('?').filter(|_| word.contains("://")).map_or(word, |(url, _)| url).to_owned();
        let mut message = with_sources(error).split(' ').map(word).collect::<Vec<String>>().join(" ");
        for secret in &self.secrets {
            message = message.replace(secret.as_str(), MASK);
        }
        let message = message.chars().take(ERROR).collect();
        ExportError::Remote { what, address: self.address.clone(), message }
    }

    /// An error that names this place in the stead of the folder.
    fn named(&self, error: ExportError) -> ExportError {
        match error {
            ExportError::OtherExport { format, redaction, seen, .. } => {
                ExportError::OtherExport { path: self.address.clone().into(), format, redaction, seen }
            }
            other => other,
        }
    }
}

fn say(text: &mut String, unit: &Unit) -> Result<(), ExportError> {
    text.push_str(&serde_json::to_string(unit)?);
    text.push('\n');
    Ok(())
}

/// Half a minute, where three would look as if it hung.
fn retry() -> RetryConfig {
    RetryConfig { max_retries: 5, retry_timeout: Duration::from_secs(30), ..RetryConfig::default() }
}
