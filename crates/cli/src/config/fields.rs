//! The fields of a configuration, read from the arguments of the command line.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, ArgAction, Command};
use cuebook_session::ToolSet;

use super::reach::{Reach, row};

/// Commands whose settings are those of another one: `serve` is what `start` runs.
const SAME: [(&str, &str); 1] = [("serve", "start")];
/// Commands whose table has another name: `watch` is a key.
const RENAMED: [(&str, &str); 1] = [("watch", "alerts")];

/// Form of a value in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Flag,
    Number,
    Text,
    Texts,
}

/// Something that files and variables can set.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its key: `timeout`, or `mcp.tools` for one of a single command.
    pub(crate) key: String,
    pub(crate) variable: String,
    pub(crate) reach: Reach,
    /// The commands that have it; none if all have.
    pub(crate) commands: BTreeSet<String>,
    pub(crate) arg: Arg,
}

impl Field {
    pub(crate) fn form(&self) -> Form {
        let kind = self.arg.get_value_parser().type_id();
        let numbers = [
            TypeId::of::<u8>(),
            TypeId::of::<u16>(),
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<usize>(),
            TypeId::of::<f64>(),
        ];
        match self.arg.get_action() {
            ArgAction::SetTrue => Form::Flag,
            ArgAction::Append => Form::Texts,
            ArgAction::Count => Form::Number,
            _ if numbers.iter().any(|number| kind == *number) => Form::Number,
            _ => Form::Text,
        }
    }

    /// The character between the values of a list in its variable.
    pub(crate) fn delimiter(&self) -> char {
        delimiter(&self.arg)
    }

    /// `true` if files may set it.
    pub(crate) fn has_key(&self) -> bool {
        matches!(self.reach, Reach::Free | Reach::Inside | Reach::Trusted(_))
    }

    /// `true` if its value is a path.
    pub(crate) fn is_path(&self) -> bool {
        let names = self.arg.get_value_names().unwrap_or_default();
        names.iter().any(|name| matches!(name.as_str(), "FILE" | "DIR"))
    }
}

/// The fields of all commands.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) fields: BTreeMap<String, Field>,
    /// Commands that have a table of their own in a file.
    pub(crate) sections: BTreeSet<String>,
}

impl Table {
    /// The fields of a command line.
    pub(crate) fn of(line: &Command) -> Self {
        let mut fields: BTreeMap<String, Field> = BTreeMap::new();
        for arg in line.get_arguments() {
            add(&mut fields, "", arg);
        }
        for command in line.get_subcommands().filter(|command| !command.is_hide_set()) {
            for arg in leaf(command).get_arguments() {
                add(&mut fields, canonical(command.get_name()), arg);
            }
        }
        let commands = fields.values().filter(|field| field.has_key()).flat_map(|field| field.commands.iter().cloned());
        // A key of that name leaves no room for a table.
        let sections = commands.filter(|command| !fields.contains_key(command) && !is_verb(command)).collect();
        Self { fields, sections }
    }

    /// The field of a key, which may be in the table of a command: `run.timeout` is `timeout`.
    pub(crate) fn find(&self, key: &str) -> Option<&Field> {
        let field = match key.split_once('.') {
            None => self.fields.get(key),
            Some((section, name)) => {
                let own = self.fields.get(key);
                let shared = || self.fields.get(name).filter(|field| field.commands.contains(section));
                own.or_else(shared).filter(|_| self.sections.contains(section))
            }
        };
        field.filter(|field| field.has_key())
    }

    /// Every key that a file may hold.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for field in self.fields.values().filter(|field| field.has_key()) {
            keys.push(field.key.clone());
            if !field.key.contains('.') {
                let sections = field.commands.iter().filter(|command| self.sections.contains(*command));
                keys.extend(sections.map(|section| format!("{section}.{}", field.key)));
            }
        }
        keys.sort();
        keys
    }

    /// The known key that is most like another one.
    pub(crate) fn nearest(&self, key: &str) -> Option<String> {
        let last =
            |key: &str| key.rsplit_once('.').map_or(key, |(_, name)| name).to_ascii_lowercase().replace(['-', '_'], "");
        let likeness =
            |known: &str| strsim::jaro_winkler(&last(known), &last(key)) + 0.1 * strsim::jaro_winkler(known, key);
        let known = self.keys().into_iter().map(|known| (likeness(&known), known));
        let best = known.max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(likeness, _)| *likeness > 0.8).map(|(_, known)| known)
    }
}

/// The field of an argument of a command, as it is called there; `None` if nothing but its flag sets it.
pub(super) fn field_of(command: &str, arg: &Arg) -> Option<(String, String, Reach)> {
    let flag = arg.get_long()?;
    let (name, reach) = row(canonical(command), flag).filter(|_| !is_of_verb(command, flag))?;
    (reach != Reach::Once).then(|| (key_of(name), variable_of(name), reach))
}

/// The character between the values of a list in a variable: a comma, unless the values themselves have one.
pub(super) fn delimiter(arg: &Arg) -> char {
    let names = arg.get_value_names().unwrap_or_default();
    if names.iter().any(|name| name.contains(',')) { ';' } else { ',' }
}

/// The command that stands for another one in files.
pub(super) fn canonical(command: &str) -> &str {
    SAME.iter().chain(&RENAMED).find(|(other, _)| *other == command).map_or(command, |(_, same)| same)
}

/// The command that a table of a file is for.
pub(super) fn command_of(section: &str) -> &str {
    RENAMED.iter().find(|(_, table)| *table == section).map_or(section, |(command, _)| command)
}

/// The command whose arguments these are: that of the only subcommands of one that has none itself.
pub(super) fn leaf(command: &Command) -> &Command {
    let has_own = command.get_arguments().any(|arg| !arg.is_global_set());
    let mut inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    match (has_own, inner.next(), inner.next()) {
        (false, Some(only), None) => only,
        _ => command,
    }
}

/// A verb of a session has arguments for what it does; only the session is a setting.
fn is_of_verb(command: &str, flag: &str) -> bool {
    flag != "session" && is_verb(command)
}

/// `true` for a command on an open session.
pub(super) fn is_verb(command: &str) -> bool {
    ToolSet::All.tools().into_iter().filter_map(|tool| tool.verb).any(|verb| verb.name == command)
}

fn add(fields: &mut BTreeMap<String, Field>, command: &str, arg: &Arg) {
    let Some((key, variable, reach)) = field_of(command, arg) else { return };
    let field = fields.entry(key.clone());
    let field = field.or_insert_with(|| Field { key, variable, reach, commands: BTreeSet::new(), arg: arg.clone() });
    if !command.is_empty() {
        field.commands.insert(command.to_owned());
    }
}

/// `mcp.file-root` as files write it: `mcp.fileRoot`.
fn key_of(name: &str) -> String {
    let mut out = String::new();
    let mut is_next_upper = false;
    for letter in name.chars() {
        match letter {
            '-' => is_next_upper = true,
            letter if is_next_upper => {
                out.push(letter.to_ascii_uppercase());
                is_next_upper = false;
            }
            letter => out.push(letter),
        }
    }
    out
}

/// `mcp.file-root` as the environment has it: `CUEBOOK_MCP_FILE_ROOT`.
fn variable_of(name: &str) -> String {
    format!("CUEBOOK_{}", name.replace(['.', '-'], "_").to_ascii_uppercase())
}
