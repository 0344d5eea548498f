//! Builds llama.cpp's server, its reader of grammars as a program, and the model, below `target/engine`:
//! `venv` has the tools, `sdist` and `src` the sources, `build` what cmake makes of them, `bin` the reader.
//!
//! Invariant: what exists is not built again; what a failed attempt left behind is rebuilt.

use std::env::{join_paths, split_paths};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::commands::{environment, python, root, stage};

/// The package that holds the sources.
pub(super) const SOURCE: &str = "llama.cpp of llama-cpp-python 0.3.36";
const PACKAGE: &str = "llama_cpp_python-0.3.36";

/// Options that leave out parts of llama.cpp: none of them is needed to serve one small model on this machine.
const OPTIONS: [&str; 12] = [
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_OPENMP=OFF",
    "-DGGML_CCACHE=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-GNinja",
];

/// Paths of the built engine.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) server: PathBuf,
    pub(super) model: PathBuf,
    pub(super) folder: PathBuf,
}

/// Builds what is missing. The server takes from ten to thirty minutes the first time.
pub(super) fn build(seed: u32) -> Result<Engine> {
    let folder = root().join("target/engine");
    fs::create_dir_all(&folder)?;
    tools(&folder)?;
    sources(&folder)?;
    server(&folder)?;
    validator(&folder)?;
    let model = folder.join(format!("noise-{seed}.gguf"));
    let mut write = Command::new(folder.join("venv/bin/python"));
    write.env("PYTHONDONTWRITEBYTECODE", "1").arg(root().join("interop/tiny_model.py")).arg(&model);
    stage("model of random weights", write.args(["--seed", &seed.to_string()]))?;
    Ok(Engine { server: folder.join("build/bin/llama-server"), model, folder })
}

fn tools(folder: &Path) -> Result<()> {
    let venv = folder.join("venv");
    let has_all = ["cmake", "ninja", "gguf-dump"].iter().all(|tool| venv.join("bin").join(tool).exists());
    if has_all {
        return Ok(());
    }
    stage("Python environment", Command::new(python()?).args(["-m", "venv"]).arg(&venv))?;
    let mut install = Command::new(venv.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "-r"]).arg(root().join("interop/engine-tools.txt"));
    stage("tools", &mut install)
}

fn sources(folder: &Path) -> Result<()> {
    let source = llama(folder);
    if source.join("CMakeLists.txt").exists() && source.join("tests/test-gbnf-validator.cpp").exists() {
        return Ok(());
    }
    let archive = folder.join("sdist").join(format!("{PACKAGE}.tar.gz"));
    if !archive.exists() {
        let mut download = Command::new(folder.join("venv/bin/python"));
        download.args(["-m", "pip", "download", "--no-deps", "--require-hashes"]);
        download.args(["--no-binary", "llama-cpp-python", "-d"]).arg(folder.join("sdist"));
        stage("sources", download.arg("-r").arg(root().join("interop/engine-source.txt")))?;
    }
    fs::create_dir_all(folder.join("src"))?;
    stage("unpack", Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(folder.join("src")))
}

fn llama(folder: &Path) -> PathBuf {
    folder.join("src").join(PACKAGE).join("vendor/llama.cpp")
}

fn server(folder: &Path) -> Result<()> {
    let build = folder.join("build");
    if build.join("bin/llama-server").exists() {
        return Ok(());
    }
    let path = with_tools(folder)?;
    let mut configure = Command::new(folder.join("venv/bin/cmake"));
    configure.env("PATH", &path).arg("-S").arg(llama(folder)).arg("-B").arg(&build).args(OPTIONS);
    stage("configure llama.cpp", &mut configure)?;
    let mut compile = Command::new(folder.join("venv/bin/ninja"));
    stage("compile llama.cpp", compile.env("PATH", &path).arg("-C").arg(&build).args(["-j2", "llama-server"]))
}

/// The path with the tools of the environment in front.
fn with_tools(folder: &Path) -> Result<OsString> {
    let former = environment("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.join("venv/bin")).chain(split_paths(&former));
    join_paths(folders).context("a folder of PATH has a separator in its name")
}

/// llama.cpp's own reader of grammars as a program; `crates/decoding/tests/decode/llama.rs` judges with it.
fn validator(folder: &Path) -> Result<()> {
    let program = folder.join("bin/gbnf-validator");
    if program.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder.join("bin"))?;
    let source = llama(folder);
    let mut compile = Command::new(environment("CXX").unwrap_or_else(|| "c++".into()));
    compile.args(["-O1", "-std=c++17"]);
    for include in ["include", "ggml/include", "src"] {
        compile.arg("-I").arg(source.join(include));
    }
    compile.arg(source.join("tests/test-gbnf-validator.cpp"));
    for library in ["src/libllama.a", "ggml/src/libggml.a", "ggml/src/libggml-cpu.a", "ggml/src/libggml-base.a"] {
        let library = folder.join("build").join(library);
        ensure!(library.exists(), "expected {} of the server's build", library.display());
        compile.arg(library);
    }
    stage("llama.cpp's reader of grammars", compile.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program))
}
