//! From files and variables to the arguments of a command line.
//!
//! Arguments outweigh variables, and these outweigh files. A setting that excludes another argument, or holds only beside
//! one, gives way to what outweighs it, so that nothing that is set for good keeps a command from running.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::builder::{BoolishValueParser, Resettable};
use clap::{Arg, ArgAction, Command};
use cuebook::environment;

use super::fields::{canonical, delimiter, field_of, leaf};
use super::files::{Fault, Setting, Settings};
use super::reach::BESIDE;

/// A command line with the values of files.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) line: Command,
    /// Arguments of the called command that have the value of a file.
    pub(crate) configured: BTreeSet<String>,
}

/// Gives every argument that is a field its variable.
pub(crate) fn with_variables(line: Command) -> Command {
    let with_variable = |command: &str, arg: Arg| match field_of(command, &arg) {
        None => arg,
        Some((_, variable, _)) if is_flag(&arg) => arg.value_parser(BoolishValueParser::new()).env(variable),
        Some((_, variable, _)) => arg.env(variable),
    };
    let line = line.mut_args(|arg| with_variable("", arg));
    line.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        each_argument(command, |arg| with_variable(&name, arg))
    })
}

/// The command that is called: the first word that is no flag names it.
pub(crate) fn called<'a>(line: &'a Command, words: &[OsString]) -> Option<&'a Command> {
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    line.find_subcommand(words.find(|word| !word.starts_with('-'))?)
}

/// Source of the value of an argument.
enum Source<'a> {
    /// The variable, which clap reads.
    Variable,
    /// A variable that has no effect, or says that a flag is off.
    Off,
    File(&'a Setting),
}

/// Puts in the values of files for the command that is called, and leaves out variables that do not go with what is typed.
///
/// # Errors
/// If one table of a file sets two keys that exclude each other.
pub(crate) fn applied(line: Command, words: &[OsString], settings: &Settings) -> Result<Applied, Fault> {
    let line = with_variables(line);
    let Some(command) = called(&line, words) else { return Ok(Applied { line, configured: BTreeSet::new() }) };
    let name = command.get_name().to_owned();
    let globals = line.get_arguments().filter(|arg| arg.is_global_set()).cloned();
    let whole = leaf(command).clone().args(globals);
    let sources = sources(canonical(&name), &whole, &typed(&whole, words), settings)?;
    let from_file = |id: &str| matches!(sources.get(id), Some(Source::File(_)));
    let set = |arg: Arg| {
        let is_beside = |needed: &str| from_file(&needed.replace('-', "_"));
        let arg = if beside(&arg).is_some_and(is_beside) { arg.requires(Resettable::Reset) } else { arg };
        match sources.get(arg.get_id().as_str()) {
            None => arg,
            Some(Source::Variable) if matches!(arg.get_action(), ArgAction::Append) => {
                let delimiter = delimiter(&arg);
                arg.value_delimiter(delimiter)
            }
            Some(Source::Variable) => arg,
            Some(Source::Off) => arg.env(None::<&str>),
            Some(Source::File(setting)) if is_flag(&arg) && setting.words == ["false"] => arg.env(None::<&str>),
            // The variable may be set, and blank.
            Some(Source::File(setting)) => arg.env(None::<&str>).required(false).default_values(&setting.words),
        }
    };
    let configured = sources.keys().filter(|id| from_file(id)).map(|id| (*id).to_owned()).collect();
    let line = line.mut_args(set).mut_subcommand(&name, |command| each_argument(command, set));
    Ok(Applied { line, configured })
}

/// The sources of the arguments of a command that are not typed.
fn sources<'a>(
    name: &str,
    command: &'a Command,
    typed: &[&'a Arg],
    settings: &'a Settings,
) -> Result<BTreeMap<&'a str, Source<'a>>, Fault> {
    let excludes = |a: &Arg, b: &Arg| {
        let one = |a: &Arg, b: &Arg| command.get_arg_conflicts_with(a).iter().any(|arg| arg.get_id() == b.get_id());
        one(a, b) || one(b, a)
    };
    let mut sources = BTreeMap::new();
    let mut set: Vec<&Arg> = typed.to_vec();
    let mut in_files: Vec<(&Arg, &Setting)> = Vec::new();
    for arg in command.get_arguments().filter(|arg| typed.iter().all(|other| other.get_id() != arg.get_id())) {
        let Some((key, variable, _)) = field_of(name, arg) else { continue };
        let value = environment::variable(&variable);
        let id = arg.get_id().as_str();
        match value {
            Some(value) if is_off(arg, &value) || typed.iter().any(|other| excludes(arg, other)) => {
                sources.insert(id, Source::Off);
            }
            Some(_) => {
                sources.insert(id, Source::Variable);
                set.push(arg);
            }
            // One that is blank is as none.
            None => {
                sources.insert(id, Source::Off);
                in_files.extend(settings.find(name, &key).map(|setting| (arg, setting)));
            }
        }
    }
    in_files.sort_by_key(|(_, setting)| std::cmp::Reverse((setting.layer, setting.key.contains('.'))));
    let mut chosen: Vec<(&Arg, &Setting)> = Vec::new();
    for (arg, setting) in in_files {
        let other = chosen.iter().find(|(other, _)| excludes(arg, other));
        if let Some((_, other)) = other.filter(|(_, other)| is_of_same_table(setting, other)) {
            let path = settings.layers.get(setting.layer).map(|layer| layer.path.clone()).unwrap_or_default();
            return Err(Fault { path, why: format!("`{}` and `{}` exclude each other", other.key, setting.key) });
        }
        if other.is_none() && !set.iter().any(|other| excludes(arg, other)) {
            sources.insert(arg.get_id().as_str(), Source::File(setting));
            chosen.push((arg, setting));
        }
    }
    set.extend(chosen.into_iter().map(|(arg, _)| arg));
    for arg in command.get_arguments() {
        let is_alone = |needed: &str| {
            let knows = command.get_arguments().any(|arg| arg.get_long() == Some(needed));
            knows && !set.iter().any(|arg| arg.get_long() == Some(needed))
        };
        let id = arg.get_id().as_str();
        if matches!(sources.get(id), Some(Source::Variable)) && beside(arg).is_some_and(is_alone) {
            sources.insert(id, Source::Off);
        }
    }
    Ok(sources)
}

fn is_of_same_table(one: &Setting, other: &Setting) -> bool {
    one.layer == other.layer && one.key.contains('.') == other.key.contains('.')
}

/// The flag that an argument needs beside it.
fn beside(arg: &Arg) -> Option<&'static str> {
    BESIDE.iter().find(|(flag, _)| arg.get_long() == Some(*flag)).map(|(_, needed)| *needed)
}

fn is_flag(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

fn is_off(arg: &Arg, value: &str) -> bool {
    is_flag(arg) && is_no(value)
}

/// `true` for a value of a variable by which a flag is off.
pub(crate) fn is_no(value: &str) -> bool {
    ["n", "no", "f", "false", "off", "0"].contains(&value.to_ascii_lowercase().as_str())
}

/// The arguments whose flags stand among the words.
fn typed<'a>(command: &'a Command, words: &[OsString]) -> Vec<&'a Arg> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--").collect();
    let is_typed = |arg: &&Arg| {
        words.iter().any(|word| match word.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long.split_once('=').map_or(long, |(name, _)| name)),
            None => word
                .strip_prefix('-')
                .and_then(|short| short.chars().next())
                .is_some_and(|c| arg.get_short() == Some(c)),
        })
    };
    command.get_arguments().filter(is_typed).collect()
}

/// Changes each argument of a command, or of the one that its only subcommand has.
fn each_argument(command: Command, mut change: impl FnMut(Arg) -> Arg) -> Command {
    if std::ptr::eq(leaf(&command), &command) {
        return command.mut_args(change);
    }
    command.mut_subcommands(|inner| inner.mut_args(&mut change))
}
