//! The configuration files of programs that use MCP servers: where they are, and the entry of `cuebook` in them.
//!
//! Invariant: everything else in a file stays as it is, comments and order included; a file that cannot be read as a whole
//! is not written.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

use crate::args::Client;

/// Name of the entry.
pub(crate) const NAME: &str = "cuebook";
/// The largest file of a client that is read, in bytes: some keep their state in it.
pub(crate) const LIMIT: u64 = 64 * 1024 * 1024;

/// For whom a client is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
}

/// The folders that files of clients are below.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    pub(crate) home: Option<PathBuf>,
    /// Where the system has files of configurations.
    pub(crate) config: Option<PathBuf>,
    /// `$CODEX_HOME`, if it is set.
    pub(crate) codex: Option<PathBuf>,
    pub(crate) project: PathBuf,
}

impl Client {
    pub(crate) const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Cursor, Self::Vscode];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Vscode => "Visual Studio Code",
        }
    }

    /// The file with its servers; `None` without a home.
    pub(crate) fn file(self, scope: Scope, folders: &Folders) -> Option<PathBuf> {
        let (home, project) = (folders.home.as_ref(), &folders.project);
        match (self, scope) {
            (Self::Claude, Scope::Project) => Some(project.join(".mcp.json")),
            (Self::Claude, Scope::User) => Some(home?.join(".claude.json")),
            (Self::Codex, Scope::Project) => Some(project.join(".codex").join("config.toml")),
            (Self::Codex, Scope::User) => {
                let folder = folders.codex.clone().or_else(|| Some(home?.join(".codex")))?;
                Some(folder.join("config.toml"))
            }
            (Self::Cursor, Scope::Project) => Some(project.join(".cursor").join("mcp.json")),
            (Self::Cursor, Scope::User) => Some(home?.join(".cursor").join("mcp.json")),
            (Self::Vscode, Scope::Project) => Some(project.join(".vscode").join("mcp.json")),
            (Self::Vscode, Scope::User) => Some(folders.config.as_ref()?.join("Code").join("User").join("mcp.json")),
        }
    }

    /// The file of the skill document; `None` without a home.
    pub(crate) fn skill(self, scope: Scope, folders: &Folders) -> Option<PathBuf> {
        let of_client = match (self, scope) {
            (Self::Claude, _) => ".claude",
            (Self::Codex, _) => ".agents",
            (Self::Cursor, _) => ".cursor",
            (Self::Vscode, Scope::Project) => ".github",
            (Self::Vscode, Scope::User) => ".copilot",
        };
        let folder = match scope {
            Scope::User => folders.home.as_ref()?,
            Scope::Project => &folders.project,
        };
        Some(folder.join(of_client).join("skills").join(NAME).join("SKILL.md"))
    }

    const fn is_toml(self) -> bool {
        matches!(self, Self::Codex)
    }

    /// Key of the object with the servers.
    const fn servers(self) -> &'static str {
        match self {
            Self::Claude | Self::Cursor => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::Vscode => "servers",
        }
    }
}

/// A file with the entry, and what becomes of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// The text of the file with the entry.
    Changed(String),
    /// The entry is there already.
    Same,
}

/// Enters the server, which is started by a program, into the text of a file. Members of an entry that is there stay, but
/// for the program.
///
/// # Errors
/// If the text cannot be read, or has something else where the entry belongs.
pub(crate) fn enter(client: Client, text: &str, program: &str) -> Result<Entered, String> {
    let changed = if client.is_toml() { in_toml(text, program)? } else { in_json(client, text, program)? };
    Ok(if changed == text { Entered::Same } else { Entered::Changed(changed) })
}

/// The program of the entry in the text of a file; `None` if there is no entry that starts one.
///
/// # Errors
/// If the text cannot be read.
pub(crate) fn program(client: Client, text: &str) -> Result<Option<String>, String> {
    if client.is_toml() {
        let document = toml_of(text)?;
        let servers = document.get(client.servers()).and_then(Item::as_table_like);
        let entry = servers.and_then(|servers| servers.get(NAME)).and_then(Item::as_table_like);
        return Ok(entry.and_then(|entry| entry.get("command")?.as_str().map(str::to_owned)));
    }
    let value = json_of(text)?.to_serde_value().unwrap_or_default();
    Ok(value[client.servers()][NAME]["command"].as_str().map(str::to_owned))
}

/// The text that a person pastes where a file cannot be written.
pub(crate) fn snippet(client: Client, program: &str) -> String {
    let text = if client.is_toml() { "" } else { "{}" };
    match enter(client, text, program) {
        Ok(Entered::Changed(text)) => text,
        _ => String::new(),
    }
}

/// The members of a new entry.
fn members(client: Client, program: &str) -> Map<String, Value> {
    let mut members = Map::new();
    if matches!(client, Client::Claude | Client::Vscode) {
        members.insert("type".to_owned(), json!("stdio"));
    }
    members.insert("command".to_owned(), json!(program));
    members.insert("args".to_owned(), json!(["mcp"]));
    members
}

const REMOTE: &str = "the entry `cuebook` is of a server at a URL; remove it first";

fn in_json(client: Client, text: &str, program: &str) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = json_of(text)?;
    let not_object = |what: &str| format!("{what} is no object");
    let document = root.object_value().ok_or_else(|| not_object("the document"))?;
    let servers = inner(&document, client.servers()).ok_or_else(|| not_object(client.servers()))?;
    let is_new = servers.get(NAME).is_none();
    let entry = inner(&servers, NAME).ok_or_else(|| not_object("the entry `cuebook`"))?;
    if entry.get("url").is_some() {
        return Err(REMOTE.to_owned());
    }
    for (name, value) in members(client, program) {
        match entry.get(&name) {
            Some(old)
                if name == "command" && old.value().and_then(|old| old.to_serde_value()).as_ref() != Some(&value) =>
            {
                old.set_value(input(&value));
            }
            Some(_) => {}
            None if is_new || name != "type" => {
                entry.append(&name, input(&value));
            }
            None => {}
        }
    }
    Ok(root.to_string())
}

/// The object of a name, which is made if it is missing; `None` if there is something else.
fn inner(object: &CstObject, name: &str) -> Option<CstObject> {
    match object.get(name) {
        Some(_) => object.object_value(name),
        None => object.append(name, CstInputValue::Object(Vec::new())).object_value(),
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::String(text) => CstInputValue::String(text.clone()),
        other => CstInputValue::String(other.to_string()),
    }
}

/// Reads JSON with comments and trailing commas, as clients do, and nothing that they would not.
fn json_of(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| format!("not JSON: {error}"))
}

fn toml_of(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| format!("not TOML: {}", error.message()))
}

fn in_toml(text: &str, program: &str) -> Result<String, String> {
    let mut document = toml_of(text)?;
    let servers = document.entry(Client::Codex.servers()).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let not_table = |what: &str| format!("{what} is no table");
    let servers = servers.as_table_like_mut().ok_or_else(|| not_table(Client::Codex.servers()))?;
    let entry = servers.entry(NAME).or_insert_with(|| Item::Table(Table::new()));
    let entry: &mut dyn TableLike = entry.as_table_like_mut().ok_or_else(|| not_table("the entry `cuebook`"))?;
    if entry.contains_key("url") {
        return Err(REMOTE.to_owned());
    }
    match entry.get_mut("command") {
        Some(old) if old.as_str() == Some(program) => {}
        // A comment above it stays.
        Some(old) => *old = toml_edit::value(program),
        None => {
            entry.insert("command", toml_edit::value(program));
        }
    }
    if !entry.contains_key("args") {
        entry.insert("args", toml_edit::value(Array::from_iter(["mcp"])));
    }
    Ok(document.to_string())
}

/// `true` if a file could be started as the program of an entry: one by its path, or by its name in `$PATH`.
pub(crate) fn is_there(program: &str, path: Option<&std::ffi::OsStr>) -> bool {
    if Path::new(program).components().count() > 1 {
        return Path::new(program).is_file();
    }
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    path.is_some_and(|path| {
        std::env::split_paths(path).any(|folder| folder.join(program).is_file() || folder.join(&file).is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/opt/cuebook/bin/cuebook";

    fn entered(client: Client, text: &str) -> String {
        match enter(client, text, PROGRAM).unwrap() {
            Entered::Changed(text) => text,
            Entered::Same => panic!("nothing changed"),
        }
    }

    #[test]
    fn an_entry_is_made_once_in_every_form() {
        for client in Client::ALL {
            let text = entered(client, "");
            assert_eq!(program(client, &text), Ok(Some(PROGRAM.to_owned())), "{text}");
            assert_eq!(enter(client, &text, PROGRAM), Ok(Entered::Same), "{text}");
            assert_eq!(snippet(client, PROGRAM).trim(), text.trim());
        }
        let vscode: Value = serde_json::from_str(&entered(Client::Vscode, "")).unwrap();
        let entry = json!({ "type": "stdio", "command": PROGRAM, "args": ["mcp"] });
        assert_eq!(vscode, json!({ "servers": { "cuebook": entry } }));
        let codex = entered(Client::Codex, "");
        assert_eq!(codex, format!("[mcp_servers.cuebook]\ncommand = \"{PROGRAM}\"\nargs = [\"mcp\"]\n"));
    }

    #[test]
    fn everything_else_stays_comments_included() {
        let text = "// mine\n{\n  // theirs\n  \"inputs\": [],\n  \"servers\": {\n    \"other\": { \"command\": \"x\" }, // last\n  }\n}\n";
        let changed = entered(Client::Vscode, text);
        for kept in ["// mine\n", "// theirs\n", "\"inputs\": [],", "\"other\": { \"command\": \"x\" }", "// last"] {
            assert!(changed.contains(kept), "{kept}: {changed}");
        }
        let toml = "model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[tui]\ntheme = \"dark\"\n";
        let changed = entered(Client::Codex, toml);
        let without =
            changed.replace(&format!("\n[mcp_servers.cuebook]\ncommand = \"{PROGRAM}\"\nargs = [\"mcp\"]\n"), "");
        assert_eq!(without, toml, "{changed}");
    }

    #[test]
    fn an_entry_keeps_its_arguments_and_variables_and_gets_the_program() {
        let text =
            r#"{"mcpServers":{"cuebook":{"command":"/gone/cuebook","args":["mcp","--tools","slim"],"env":{"A":"b"}}}}"#;
        let changed: Value = serde_json::from_str(&entered(Client::Claude, text)).unwrap();
        let entry = json!({ "command": PROGRAM, "args": ["mcp", "--tools", "slim"], "env": { "A": "b" } });
        assert_eq!(changed, json!({ "mcpServers": { "cuebook": entry } }));
    }

    #[test]
    fn what_is_broken_or_something_else_is_refused() {
        for (client, text) in [
            (Client::Claude, "{"),
            (Client::Claude, "[]"),
            (Client::Claude, r#"{"mcpServers": []}"#),
            (Client::Claude, r#"{"mcpServers": {"cuebook": 1}}"#),
            (Client::Claude, r#"{"mcpServers": {"cuebook": {"url": "http://a.test"}}}"#),
            (Client::Cursor, "{'mcpServers': {}}"),
            (Client::Cursor, "{} {}"),
            (Client::Codex, "[mcp_servers"),
            (Client::Codex, "mcp_servers = 1"),
            (Client::Codex, "[mcp_servers.cuebook]\nurl = \"http://a.test\""),
        ] {
            assert!(enter(client, text, PROGRAM).is_err(), "{text}");
        }
    }
}
