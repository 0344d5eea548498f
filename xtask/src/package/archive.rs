//! Archives of a release: the program in a folder, with what has to go with it.
//!
//! Invariant: the same files make the same bytes, whenever and by whomever they are packed.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use sha2::{Digest as _, Sha256};

use super::platform::Platform;

/// A file of an archive, by its path in the folder.
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    pub(crate) is_program: bool,
}

/// Packs files into an archive of the platform.
pub(crate) fn pack(platform: &Platform, version: &str, entries: &[Entry], into: &Path) -> Result<()> {
    let folder = platform.folder(version);
    let file = into.join(platform.archive(version));
    let out = File::create(&file).with_context(|| format!("{} cannot be written", file.display()))?;
    let mode = |entry: &Entry| if entry.is_program { 0o755 } else { 0o644 };
    if platform.is_windows() {
        let mut zip = zip::ZipWriter::new(out);
        for entry in entries {
            let options = zip::write::SimpleFileOptions::default()
                .last_modified_time(zip::DateTime::default())
                .unix_permissions(mode(entry));
            zip.start_file(format!("{folder}/{}", entry.path), options)?;
            zip.write_all(&entry.content)?;
        }
        zip.finish()?.flush()?;
        return Ok(());
    }
    let mut tar = tar::Builder::new(GzBuilder::new().mtime(0).write(out, Compression::best()));
    for entry in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(entry.content.len().try_into()?);
        header.set_mode(mode(entry));
        header.set_mtime(0);
        tar.append_data(&mut header, format!("{folder}/{}", entry.path), entry.content.as_slice())?;
    }
    tar.into_inner()?.finish()?.flush()?;
    Ok(())
}

/// The program in an archive of the platform.
pub(crate) fn program(platform: &Platform, version: &str, archive: &Path) -> Result<Vec<u8>> {
    let wanted = format!("{}/{}", platform.folder(version), platform.program());
    let file = File::open(archive).with_context(|| format!("{} cannot be read", archive.display()))?;
    let mut program = Vec::new();
    if platform.is_windows() {
        zip::ZipArchive::new(file)?.by_name(&wanted)?.read_to_end(&mut program)?;
        return Ok(program);
    }
    for entry in tar::Archive::new(GzDecoder::new(file)).entries()? {
        let mut entry = entry?;
        if entry.path()? == Path::new(&wanted) {
            entry.read_to_end(&mut program)?;
            return Ok(program);
        }
    }
    bail!("expected {wanted} in {}", archive.display())
}

/// The SHA-256 of a file, in hexadecimal.
pub(crate) fn digest(file: &Path) -> Result<String> {
    let content = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::super::platform::PLATFORMS;
    use super::{Entry, digest, pack, program};

    #[test]
    fn an_archive_holds_the_program_and_is_the_same_again() -> anyhow::Result<()> {
        let folder = std::env::temp_dir().join(format!("cuebook-archives-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        for platform in &PLATFORMS {
            let program_of = Entry { path: platform.program().to_owned(), content: vec![7; 3000], is_program: true };
            let other = Entry { path: "README.md".to_owned(), content: b"read me".to_vec(), is_program: false };
            let entries = [program_of, other];
            let archive = folder.join(platform.archive("1.2.3"));
            pack(platform, "1.2.3", &entries, &folder)?;
            let first = digest(&archive)?;
            assert_eq!(program(platform, "1.2.3", &archive)?, vec![7; 3000]);
            pack(platform, "1.2.3", &entries, &folder)?;
            assert_eq!(digest(&archive)?, first, "{}", platform.target);
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    }
}
