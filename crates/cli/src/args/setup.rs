//! The flags of commands that set up this machine: `doctor`, `config`, `install`, `completions` and `man`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::{BrowserArgs, EngineArgs, PlannerArg, planner};

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Do not start the browser
    #[arg(long)]
    pub(crate) quick: bool,
    /// Mend what can be mended, and check again: install Chromium (on Debian, as root), remove what dead sessions and
    /// browsers left, take permissions of others away, and correct the entries of clients
    #[arg(long)]
    pub(crate) fix: bool,
    /// Directory for the logs that is checked
    #[arg(long, value_name = "DIR", default_value = "cuebook-runs")]
    pub(crate) out: PathBuf,
    /// File of secrets that is checked
    #[arg(long, value_name = "FILE")]
    pub(crate) secrets: Option<PathBuf>,
    /// Planner to explain: as for `run`
    #[arg(long, value_parser = planner, default_value = "auto", value_name = "PLANNER")]
    pub(crate) planner: PlannerArg,
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the settings that hold here
    Show(ShowArgs),
    /// Set a key in a file, and keep the rest of the file as it is
    Set(KeyArgs),
    /// Print the paths of the files, which may be missing
    Path,
    /// Let the file of a project set every key. Read it first
    Trust {
        /// Folder that holds the file [default: that of the file that holds here]
        folder: Option<PathBuf>,
    },
    /// Print the JSON Schema of a file
    Schema,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// Only this key, such as timeout or mcp.tools
    pub(crate) key: Option<String>,
    /// Say where each value is from
    #[arg(long)]
    pub(crate) origin: bool,
    /// List every key, also those without a value
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args)]
pub(crate) struct KeyArgs {
    /// Key, such as timeout; with the command, such as run.timeout, for that command alone
    pub(crate) key: String,
    /// Value; several for a list
    #[arg(required = true)]
    pub(crate) values: Vec<String>,
    /// Write the file of the user, as without a flag
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// Write cuebook.toml of the project
    #[arg(long)]
    pub(crate) project: bool,
}

/// A program that uses MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code, by .mcp.json or ~/.claude.json
    Claude,
    /// Codex, by its config.toml
    Codex,
    /// Cursor, by its mcp.json
    Cursor,
    /// Visual Studio Code: .vscode/mcp.json or that of the user
    Vscode,
}

#[derive(Args)]
pub(crate) struct InstallArgs {
    /// Client whose file is written
    #[arg(long = "for", value_name = "CLIENT")]
    pub(crate) client: Client,
    /// Write the file of the project folder instead of the user's
    #[arg(long)]
    pub(crate) project: bool,
    /// Print what would be written, and where, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Write the skill document of `cuebook skill` instead of the server, where the client reads skills
    #[arg(long)]
    pub(crate) skill: bool,
}

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that the script is for
    pub(crate) shell: Shell,
}

#[derive(Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages, which is made if it is missing
    pub(crate) dir: PathBuf,
}
