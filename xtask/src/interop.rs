//! Runs `cuebook` in Django's admin, and on instructions that it should refuse, checks the types of the page scripts with
//! TypeScript, has other people's software read exports, axe the pages of runs, a program in Python plan, and npm install.
//!
//! Invariant: every harness runs even if another one fails; what a run achieved is judged by the
//! applications themselves (a database, a server's state), never by `cuebook`'s own report.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use xtask::chrome;
use xtask::commands::{BuildProfile, build_cuebook, build_cuebook_as, build_whole_cuebook, python, root, stage};

use crate::eval;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Of `browsergym`: tasks of `MiniWoB`, separated by commas; twelve unless stated
    #[arg(long, value_name = "NAMES")]
    tasks: Option<String>,
    /// Of `browsergym`: how many seeds a task has, from 0; 10 unless stated
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Run one harness only
    #[arg(long, value_enum)]
    only: Option<Harness>,
    /// Write the tables into the documents
    #[arg(long)]
    docs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Harness {
    /// The types of the scripts for pages, with TypeScript
    Types,
    /// A plan in Django's admin
    Django,
    /// Ordinary and hostile sentences on the built-in site, with the lexical planner
    Sentences,
    /// Exports of runs on the built-in site, in the software that they are for
    Exports,
    /// The pages of runs on the built-in site, with axe
    Report,
    /// A login by a planner in Python
    Planner,
    /// Grammars in XGrammar and llguidance
    Masks,
    /// The packages of this platform, installed by npm
    Packages,
    /// Every tool of `cuebook mcp` and the tasks in Django's admin, by clients of PyPI and npm
    McpClients,
    /// Test ids in the source of two applications of npm, which change their texts
    Suggest,
    /// Clients, sessions and Chrome, each killed 100 times; takes half an hour, so only if it is named
    Killed,
    /// Pages of three sizes and a form, by MCP and by commands, beside three other tools; only if it is named
    Mcp,
    /// Episodes a minute beside `BrowserGym`'s loop over the same tasks; takes half an hour, so only if it is named
    Browsergym,
}

impl Harness {
    /// Those that drive a browser.
    const DRIVING: [Self; 12] = [
        Self::Django,
        Self::Sentences,
        Self::Exports,
        Self::Report,
        Self::Planner,
        Self::Masks,
        Self::Packages,
        Self::McpClients,
        Self::Suggest,
        Self::Killed,
        Self::Mcp,
        Self::Browsergym,
    ];
    /// Those that take long, in a release build.
    const LONG: [Self; 3] = [Self::Killed, Self::Mcp, Self::Browsergym];

    fn title(self) -> &'static str {
        match self {
            Self::Types => "Types of the scripts for pages",
            Self::Django => "Django's admin",
            Self::Sentences => "Sentences",
            Self::Exports => "Exports",
            Self::Report => "Pages of runs",
            Self::Planner => "Planner in Python",
            Self::Masks => "Token masks",
            Self::Packages => "Packages",
            Self::McpClients => "Clients of MCP",
            Self::Suggest => "Test ids",
            Self::Killed => "Killed processes",
            Self::Mcp => "Beside other tools",
            Self::Browsergym => "Beside BrowserGym",
        }
    }

    /// The document that names it, and that its table goes to, relative to the root of the workspace.
    fn document(self) -> &'static str {
        match self {
            Self::Types | Self::Django | Self::McpClients | Self::Killed => "docs/interop.md",
            Self::Exports => "docs/export.md",
            Self::Planner => "docs/planners.md",
            Self::Packages => "docs/installing.md",
            Self::Suggest => "docs/test-ids.md",
            Self::Sentences | Self::Report | Self::Masks | Self::Mcp | Self::Browsergym => "docs/benchmarks.md",
        }
    }

    /// Path of the script that Python runs, or of the project that TypeScript checks.
    fn script(self) -> &'static str {
        match self {
            Self::Types => "interop/tsconfig.json",
            Self::Django => "interop/django_admin.py",
            Self::Sentences => "interop/sentences.py",
            Self::Exports => "interop/exports.py",
            Self::Report => "interop/reports.py",
            Self::Planner => "interop/planner.py",
            Self::Masks => "interop/masks.py",
            Self::Packages => "interop/packages.py",
            Self::McpClients => "interop/mcp_clients.py",
            Self::Suggest => "interop/suggest.py",
            Self::Killed => "interop/killed.py",
            Self::Mcp => "interop/mcp_servers.py",
            Self::Browsergym => "interop/browsergym_loop.py",
        }
    }
}

/// Builds `cuebook`, runs the harnesses, and fails if one of them falls short.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let is_wanted = |harness: &Harness| match arguments.only {
        Some(only) => only == *harness,
        None => !Harness::LONG.contains(harness),
    };
    let mut short = Vec::new();
    if is_wanted(&Harness::Types)
        && let Err(error) = stage(Harness::Types.title(), &mut types())
    {
        short.push(format!("{error:#}"));
    }
    let driving: Vec<Harness> = Harness::DRIVING.into_iter().filter(is_wanted).collect();
    if !driving.is_empty() {
        let python = python()?;
        let chrome = chrome::find_or_install()?;
        let cuebook = if driving.contains(&Harness::Exports) {
            // `query` is built nowhere else.
            build_whole_cuebook()?
        } else if driving.iter().any(|harness| Harness::LONG.contains(harness)) {
            build_cuebook_as(BuildProfile::Release)?
        } else {
            build_cuebook()?
        };
        if driving.contains(&Harness::Browsergym) {
            eval::fetch_miniwob(&python)?;
        }
        for harness in driving {
            let mut command = command_of(harness, &python, arguments);
            command.arg("--chrome").arg(&chrome).arg("--cuebook").arg(&cuebook);
            if let Err(error) = stage(harness.title(), &mut command) {
                short.push(format!("{error:#}"));
            }
        }
    }
    if short.is_empty() { Ok(()) } else { bail!("{}", short.join("; ")) }
}

/// Node runs TypeScript, in the version that is named here. No build needs either.
fn types() -> Command {
    let mut command = Command::new("npx");
    command.args(["--yes", "--package", "typescript@5.9.3", "tsc", "--project", Harness::Types.script()]);
    command.current_dir(root());
    command
}

fn command_of(harness: Harness, python: &str, arguments: &Arguments) -> Command {
    let mut command = Command::new(python);
    // The harness's modules are read in place; nothing is to be left beside them.
    command.current_dir(root()).env("PYTHONDONTWRITEBYTECODE", "1").arg(Path::new(harness.script()));
    if harness == Harness::Browsergym {
        if let Some(tasks) = &arguments.tasks {
            command.args(["--tasks", tasks]);
        }
        if let Some(seeds) = arguments.seeds {
            command.args(["--seeds", &seeds.to_string()]);
        }
    }
    // A planner leaves no table.
    if arguments.docs && harness != Harness::Planner {
        command.args(["--docs", harness.document()]);
    }
    if arguments.docs && harness == Harness::Browsergym {
        command.args(["--json", "bench/browsergym.json"]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Harness, command_of};

    #[test]
    fn only_a_harness_of_tasks_is_told_tasks_and_seeds() {
        let arguments = Arguments { tasks: Some("a,b".to_owned()), seeds: Some(3), only: None, docs: true };
        let words = |harness| {
            let command = command_of(harness, "python3", &arguments);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words(Harness::Django), ["interop/django_admin.py", "--docs", "docs/interop.md"]);
        let browsergym = words(Harness::Browsergym);
        assert_eq!(browsergym[1..5], ["--tasks", "a,b", "--seeds", "3"]);
        assert_eq!(browsergym[5..], ["--docs", "docs/benchmarks.md", "--json", "bench/browsergym.json"]);
    }
}
