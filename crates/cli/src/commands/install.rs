//! `cuebook install`: the MCP server or the skill document in the configuration of a client.

use std::io;
use std::path::{Path, PathBuf};

use cuebook::environment;
use cuebook_grammar::report::ErrorCode;
use serde_json::json;

use super::skill;
use crate::args::{Client, InstallArgs};
use crate::clients::{self, Entered, Folders, LIMIT, Scope};
use crate::config::edit::{Readers, replace};
use crate::config::files::{is_inside, text};
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress::say;
use crate::text::{plain, plain_lines};

pub(crate) fn run(args: &InstallArgs, output: Output) -> Exit {
    match install(args, output) {
        Ok(()) => Exit::OK,
        Err(refusal) => refusal.print(output),
    }
}

fn install(args: &InstallArgs, output: Output) -> Result<(), Refusal> {
    let folders = folders();
    let scope = if args.project { Scope::Project } else { Scope::User };
    let no_home = || Refusal::invalid(ErrorCode::Usage, "there is no home directory; --project writes to the project");
    let (path, changed) = if args.skill {
        let path = args.client.skill(scope, &folders).ok_or_else(no_home)?;
        let document = skill::document();
        let is_same = read(&path)? == document;
        (path, if is_same { Entered::Same } else { Entered::Changed(document) })
    } else {
        let path = args.client.file(scope, &folders).ok_or_else(no_home)?;
        let program = program(scope)?;
        let old = read(&path)?;
        let entered = clients::enter(args.client, &old, &program).map_err(|why| {
            let path = plain(&path.display().to_string());
            let snippet = plain_lines(&clients::snippet(args.client, &program));
            let why = plain(&why);
            Refusal::invalid(ErrorCode::Usage, format!("{path}: {why}. Nothing was written. The entry is:\n{snippet}"))
        })?;
        (path, entered)
    };
    if args.project && !is_inside(&path, &folders.project) {
        let why = format!("{} leads out of the project", plain(&path.display().to_string()));
        return Err(Refusal::invalid(ErrorCode::Usage, why));
    }
    if args.print {
        let text = match changed {
            Entered::Changed(text) => text,
            Entered::Same => read(&path)?,
        };
        if output.json {
            print_json(&json!({ "path": path, "text": text }));
        } else {
            say(&plain(&path.display().to_string()));
            print_text(&text);
        }
        return Ok(());
    }
    let is_changed = matches!(changed, Entered::Changed(_));
    if let Entered::Changed(text) = changed {
        let readers = if args.project || args.skill { Readers::Usual } else { Readers::Owner };
        replace(&path, &text, readers).map_err(|error| {
            Refusal::invalid(ErrorCode::CannotWrite, format!("{}: {error}", plain(&path.display().to_string())))
        })?;
    }
    say_written(args, &path, is_changed, output);
    Ok(())
}

fn say_written(args: &InstallArgs, path: &Path, is_changed: bool, output: Output) {
    if output.json {
        print_json(&json!({ "path": path, "isChanged": is_changed }));
        return;
    }
    if output.quiet {
        return;
    }
    let what = if args.skill { "the skill document" } else { "the server `cuebook`" };
    let done = if is_changed { "has" } else { "had" };
    let path = plain(&path.display().to_string());
    let next = match (args.client, args.project) {
        (Client::Codex, true) if !args.skill => "; Codex reads it in projects that it trusts",
        _ if is_changed => "; start the client again to use it",
        _ => "",
    };
    say(&format!("{path} {done} {what} for {}{next}", args.client.title()));
}

/// The program of the entry. In the file of a project, which others share, it is the name; clients with windows have no
/// `$PATH` of a shell, so the user's has the path.
fn program(scope: Scope) -> Result<String, Refusal> {
    if scope == Scope::Project {
        if !clients::is_there(clients::NAME, environment::path().as_deref()) {
            say("note: there is no `cuebook` in $PATH, where clients of this project will look for it");
        }
        return Ok(clients::NAME.to_owned());
    }
    this_program().ok_or_else(|| {
        Refusal::unusable(ErrorCode::Usage, "the path of this program is not known, or not text; use --print")
    })
}

/// The path of this program.
pub(crate) fn this_program() -> Option<String> {
    std::env::current_exe().ok()?.into_os_string().into_string().ok()
}

/// The folders of this user and this project.
pub(crate) fn folders() -> Folders {
    Folders {
        home: dirs::home_dir(),
        config: dirs::config_dir(),
        codex: environment::variable("CODEX_HOME").map(PathBuf::from),
        project: project(),
    }
}

/// The folder of the project: the next one up with a repository in it, else this one.
fn project() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_owned()
}

/// The text of a file; none if it is missing.
fn read(path: &Path) -> Result<String, Refusal> {
    match text(path, LIMIT) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => {
            Err(Refusal::invalid(ErrorCode::Unreadable, format!("{}: {error}", plain(&path.display().to_string()))))
        }
    }
}
