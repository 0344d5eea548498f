//! Commands on an open session: one for each tool that has a name in a shell.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args as _, FromArgMatches as _};
use cuebook_session::{Argument, Form, Tool, ToolSet, Verb};
use serde_json::{Map, Value, json};

use super::SessionName;

/// The words of a command that are given by their place.
const PLACES: &str = "words";
/// Flags that describe an element instead of naming its id.
const DESCRIPTIONS: [(&str, &str, &str); 4] = [
    ("role", "ROLE", "Role of the element, such as button, with --name"),
    ("label", "TEXT", "Label of a field"),
    ("test-id", "ID", "Test id of the element"),
    ("css", "SELECTOR", "CSS selector of the element"),
];

/// Commands of agent-browser and playwright-cli that have no name here, and what does the same.
const ELSEWHERE: [(&str, &str); 19] = [
    ("list", "sessions"),
    ("close-all", "close --all"),
    ("kill-all", "close --all"),
    ("dblclick", "click TARGET --double-click"),
    ("uncheck", "click TARGET"),
    ("tab-list", "tab list"),
    ("tab-new", "tab new --url URL"),
    ("tab-select", "tab select --tab t2"),
    ("tab-close", "tab close --tab t2"),
    ("dialog-accept", "dialog --accept"),
    ("dialog-dismiss", "dialog"),
    ("go-forward", "batch 'goForward()'"),
    ("forward", "batch 'goForward()'"),
    ("reload", "batch 'reload()'"),
    ("cookie-list", "cookies"),
    ("cookie-set", "cookies set --name NAME --value VALUE --url URL"),
    ("cookie-delete", "cookies clear --name NAME"),
    ("cookie-clear", "cookies clear"),
    ("show", "view"),
];

/// Names our command where that of another project was typed.
pub(super) fn named_elsewhere(error: clap::Error) -> clap::Error {
    let typed = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) => typed.as_str(),
        _ => return error,
    };
    match ELSEWHERE.iter().find(|(theirs, _)| *theirs == typed) {
        Some((_, ours)) => clap::Error::raw(error.kind(), format!("`{typed}` is `cuebook {ours}` here\n")),
        None => error,
    }
}

/// A command on an open session.
#[derive(Debug)]
pub(crate) struct VerbCall {
    pub(crate) name: SessionName,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Map<String, Value>,
    /// `true` to close all sessions.
    pub(crate) is_for_all: bool,
}

fn known() -> impl Iterator<Item = (&'static Tool, Verb)> {
    ToolSet::All.tools().into_iter().filter_map(|tool| Some((tool, tool.verb?)))
}

/// One command for each verb.
pub(super) fn commands() -> impl Iterator<Item = clap::Command> {
    known().map(|(tool, verb)| {
        let mut command = clap::Command::new(verb.name).visible_aliases(verb.aliases.iter().copied());
        if !verb.places.is_empty() {
            let places = || verb.places.iter().filter_map(|place| tool.arguments.iter().find(|it| it.name == *place));
            let named = |it: &Argument| kebab(it.name).to_uppercase();
            let usage =
                places().map(|it| if it.is_needed { format!("<{}>", named(it)) } else { format!("[{}]", named(it)) });
            let usage = usage.collect::<Vec<_>>().join(" ");
            command = command.override_usage(format!("cuebook {} [OPTIONS] {usage}", verb.name));
            let help = places().map(|it| format!("{}: {}", named(it), it.about)).collect::<Vec<_>>().join("; ");
            let words = places().map(named).collect::<Vec<_>>().join(" ");
            let words = Arg::new(PLACES).num_args(0..).value_name(words).help(help);
            command = command.arg(words.allow_negative_numbers(true));
        }
        for argument in tool.arguments.iter().filter(|it| !verb.places.contains(&it.name)) {
            command = command.arg(flag(argument));
        }
        if has_target(tool) {
            for (name, value, help) in DESCRIPTIONS {
                command = command.arg(Arg::new(name).long(name).value_name(value).help(help));
            }
            let name = Arg::new("name").long("name").value_name("NAME").help("Name of the element, with --role");
            command = command.arg(name.requires("role"));
        }
        if verb.name == "close" {
            command = command.arg(Arg::new("all").long("all").action(ArgAction::SetTrue).help("Close all sessions"));
        }
        // The group has words of its own.
        SessionName::augment_args(command).about(about(tool)).long_about(tool.about)
    })
}

fn flag(argument: &Argument) -> Arg {
    let arg = Arg::new(argument.name).long(kebab(argument.name)).help(argument.about);
    match argument.form {
        Form::Flag => arg.action(ArgAction::SetTrue),
        Form::Number => arg.value_name("NUMBER").value_parser(clap::value_parser!(f64)),
        Form::Texts => arg.value_name("TEXT").action(ArgAction::Append),
        Form::One(words) => arg.value_name("WORD").value_parser(words.to_vec()),
        Form::Json | Form::Plan | Form::File => arg.value_name("FILE"),
        _ => arg.value_name("TEXT"),
    }
}

/// The call that was typed; `None` if it is another command.
pub(super) fn called(matches: &ArgMatches) -> Result<Option<VerbCall>, clap::Error> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(None) };
    let Some((tool, verb)) = known().find(|(_, verb)| verb.name == name) else { return Ok(None) };
    let mut arguments = Map::new();
    for argument in tool.arguments.iter().filter(|it| !verb.places.contains(&it.name)) {
        let value = match argument.form {
            // One that the tool needs is off unless it is typed.
            Form::Flag if argument.is_needed => Some(json!(matches.get_flag(argument.name))),
            Form::Flag => matches.get_flag(argument.name).then(|| json!(true)),
            Form::Number => matches.get_one::<f64>(argument.name).map(|number| json!(number)),
            Form::Texts => {
                matches.get_many::<String>(argument.name).map(|texts| texts.map(|text| json!(text)).collect())
            }
            Form::Json => matches.get_one::<String>(argument.name).map(|path| document(path)).transpose()?,
            Form::Plan => matches.get_one::<String>(argument.name).map(|path| plan(path)).transpose()?,
            Form::File => matches.get_one::<String>(argument.name).map(|path| absolute(path)),
            _ => matches.get_one::<String>(argument.name).map(|text| json!(text)),
        };
        arguments.extend(value.map(|value| (argument.name.to_owned(), value)));
    }
    let described = if has_target(tool) { described(matches) } else { None };
    let mut words: Vec<String> = match verb.places.is_empty() {
        true => Vec::new(),
        false => matches.get_many::<String>(PLACES).into_iter().flatten().cloned().collect(),
    };
    let mut places: Vec<&Argument> =
        verb.places.iter().filter_map(|place| tool.arguments.iter().find(|it| it.name == *place)).collect();
    if let Some(described) = described {
        places.retain(|place| place.name != "target");
        arguments.insert("target".to_owned(), json!(described));
    }
    for place in places {
        if words.is_empty() {
            break;
        }
        let value = match place.form {
            Form::Texts => json!(std::mem::take(&mut words)),
            Form::Json => document(&words.remove(0))?,
            Form::Plan => plan(&words.remove(0))?,
            Form::File => absolute(&words.remove(0)),
            _ => json!(words.remove(0)),
        };
        arguments.insert(place.name.to_owned(), value);
    }
    if let Some(word) = words.first() {
        let message = format!("`{}` takes no further word: {word:?}; quote a text that has spaces\n", verb.name);
        return Err(clap::Error::raw(ErrorKind::TooManyValues, message));
    }
    let is_for_all = verb.name == "close" && matches.get_flag("all");
    Ok(Some(VerbCall { name: SessionName::from_arg_matches(matches)?, tool: tool.name, arguments, is_for_all }))
}

/// A path from here, since the session may run in another folder.
fn absolute(path: &str) -> Value {
    json!(std::path::absolute(path).unwrap_or_else(|_| path.into()))
}

fn has_target(tool: &Tool) -> bool {
    tool.arguments.iter().any(|argument| argument.name == "target")
}

/// The element that flags describe.
fn described(matches: &ArgMatches) -> Option<String> {
    let of = |name: &str| matches.get_one::<String>(name);
    match (of("role"), of("name")) {
        (Some(role), Some(name)) => return Some(format!("role={role}[name={}]", json!(name))),
        (Some(role), None) => return Some(format!("role={role}")),
        _ => {}
    }
    let forms = [("label", "label"), ("test-id", "testid"), ("css", "css")];
    forms.into_iter().find_map(|(flag, form)| Some(format!("{form}={}", of(flag)?)))
}

/// A JSON document in a file, or on standard input for `-`; an argument that begins like one is one.
fn document(path: &str) -> Result<Value, clap::Error> {
    let text = text_of(path, path.trim_start().starts_with(['{', '[']))?;
    serde_json::from_str(&text).map_err(|error| refusal(path, &error))
}

/// A plan like a [`document`]. In lines it is left to the session to read; an argument that has a call is one.
fn plan(path: &str) -> Result<Value, clap::Error> {
    let is_call = path.contains('(') && !Path::new(path).exists();
    Ok(json!(text_of(path, is_call || path.trim_start().starts_with(['{', '[']))?))
}

fn text_of(path: &str, is_text: bool) -> Result<String, clap::Error> {
    match path {
        "-" => std::io::read_to_string(std::io::stdin()).map_err(|error| refusal(path, &error)),
        text if is_text => Ok(text.to_owned()),
        path => std::fs::read_to_string(path).map_err(|error| refusal(path, &error)),
    }
}

fn refusal(path: &str, why: &dyn std::error::Error) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{path}: {why}\n"))
}

/// The first sentence, as help texts are: without a stop.
fn about(tool: &Tool) -> String {
    let first = tool.about.split_inclusive(". ").next().unwrap_or(tool.about);
    first.trim_end().trim_end_matches('.').to_owned()
}

/// A name as flags have it: `doubleClick` as `double-click`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> Result<VerbCall, clap::Error> {
        let command = clap::Command::new("cuebook").subcommands(commands());
        let matches = command.try_get_matches_from([&["cuebook"], words].concat())?;
        Ok(called(&matches)?.expect("a verb"))
    }

    #[test]
    fn commands_of_other_projects_are_answered_with_those_that_do_the_same() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/migrating.md");
        let document = std::fs::read_to_string(document).unwrap();
        let parsed = |words: Vec<String>| super::super::line().try_get_matches_from(words);
        for (theirs, ours) in ELSEWHERE {
            let error = parsed(vec!["cuebook".to_owned(), theirs.to_owned()]).map_err(named_elsewhere).unwrap_err();
            assert!(error.to_string().contains(&format!("`{theirs}` is `cuebook {ours}` here")), "{error}");
            let ours = cuebook_grammar::policy::command_words(&format!("cuebook {ours}")).unwrap();
            parsed(ours).unwrap();
            assert!(document.contains(&format!("`{theirs}`")), "docs/migrating.md does not have {theirs}");
        }
        let unknown = parsed(vec!["cuebook".to_owned(), "clck".to_owned()]).map_err(named_elsewhere).unwrap_err();
        assert!(unknown.to_string().contains("'click'"), "{unknown}");
    }

    #[test]
    fn words_go_to_their_places_and_descriptions_stand_for_ids() {
        for (words, arguments) in [
            (&["click", "c3"][..], json!({ "target": "c3" })),
            (
                &["click", "--role", "button", "--name", "Log \"in\""],
                json!({ "target": "role=button[name=\"Log \\\"in\\\"\"]" }),
            ),
            (&["type", "c3", "-5"], json!({ "target": "c3", "text": "-5" })),
            (
                &["fill", "--label", "User", "ann", "--submit"],
                json!({ "target": "label=User", "text": "ann", "submit": true }),
            ),
            (&["select", "c4", "Blue", "Red"], json!({ "target": "c4", "values": ["Blue", "Red"] })),
            (&["dialog"], json!({ "accept": false })),
            (&["wait", "--text-gone", "Loading"], json!({ "textGone": "Loading" })),
            (&["goto", "shop.test", "--tab", "t2"], json!({ "url": "shop.test", "tab": "t2" })),
            (&["batch", "[{\"type\": \"reload\"}]"], json!({ "plan": "[{\"type\": \"reload\"}]" })),
            (&["batch", "click(c3)\nreload()"], json!({ "plan": "click(c3)\nreload()" })),
        ] {
            let call = typed(words).unwrap();
            assert_eq!(Value::Object(call.arguments), arguments, "{words:?}");
        }
        assert!(typed(&["type", "c3", "two", "words"]).unwrap_err().to_string().contains("quote a text"));
        assert!(typed(&["click", "--name", "Log in"]).is_err());
        assert!(typed(&["batch", "/nowhere.json"]).unwrap_err().to_string().contains("/nowhere.json"));
    }
}
