//! Commands on an open session: one for each tool that has a name in a shell.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args as _, FromArgMatches as _};
use cuebook_decoding::read::ElementName;
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

/// Those flags as typed.
const FLAGS: [&str; 4] = ["--role", "--label", "--test-id", "--css"];

/// Commands of agent-browser and playwright-cli, and the same in our words. Words that follow are added to ours.
const ELSEWHERE: [(&str, &str); 39] = [
    ("dblclick", "click --double-click"),
    ("scrollintoview", "scroll"),
    ("tab-list", "tab list"),
    ("tab-new", "tab new"),
    ("tab-select", "tab select"),
    ("tab-close", "tab close"),
    ("dialog-accept", "dialog --accept"),
    ("dialog-dismiss", "dialog"),
    ("dialog accept", "dialog --accept"),
    ("dialog dismiss", "dialog"),
    ("errors", "console error"),
    ("cookie-list", "cookies list"),
    ("cookie-get", "cookies list"),
    ("cookie-set", "cookies set"),
    ("cookie-delete", "cookies clear"),
    ("cookie-clear", "cookies clear"),
    ("cookies get", "cookies list"),
    ("storage local get", "storage local"),
    ("storage session get", "storage session"),
    ("localstorage-list", "storage local"),
    ("localstorage-get", "storage local"),
    ("sessionstorage-list", "storage session"),
    ("sessionstorage-get", "storage session"),
    ("state save", "state-save"),
    ("state load", "state-load"),
    ("network requests", "requests"),
    ("network route", "route"),
    ("network unroute", "unroute"),
    ("set viewport", "resize"),
    ("set device", "emulate --device"),
    ("set geo", "emulate --geolocation"),
    ("set offline on", "emulate --offline true"),
    ("set offline off", "emulate --offline false"),
    ("set media", "emulate --color-scheme"),
    ("list", "sessions"),
    ("list --all", "sessions"),
    ("close-all", "close --all"),
    ("kill-all", "close --all"),
    ("show", "view"),
];

type IsMeant = fn(&str) -> bool;

/// Commands that are ours for something else, and what they mean with such a word after them.
const ALSO: [(&str, &str, IsMeant); 2] = [("check", "tick", is_element), ("eval", "evaluate", is_script)];

/// Commands of theirs that are none here, and what does the same.
const REFUSED: [(&str, &str); 6] = [
    (
        "keydown",
        "a key is released in the step that presses it: `cuebook press Control+A`, `cuebook click --modifiers Shift`",
    ),
    (
        "keyup",
        "a key is released in the step that presses it: `cuebook press Control+A`, `cuebook click --modifiers Shift`",
    ),
    ("frame", "ids name the elements of all frames, and a snapshot has them: no frame is to be entered"),
    ("run-code", "steps run by `cuebook batch`, a script in the page by `cuebook evaluate`"),
    ("set headers", "they are `headers` of a rule in a policy file: `cuebook start --policy FILE`"),
    (
        "set credentials",
        "they are `basicAuth` of a rule in a policy file, by the name of a secret: `cuebook start --policy FILE`",
    ),
];

/// Puts a command of another project in our words.
///
/// # Errors
/// If the command is none here; the message names what does the same.
pub(super) fn put_in_our_words(words: &mut Vec<OsString>) -> Result<(), clap::Error> {
    // Flags before the command take no values.
    let first = words.iter().skip(1).position(|word| !word.to_string_lossy().starts_with('-'));
    let Some(at) = first.map(|at| at + 1) else { return Ok(()) };
    let typed: Vec<String> = words.iter().skip(at).map(|word| word.to_string_lossy().into_owned()).collect();
    let begins =
        |theirs: &str| theirs.split(' ').count() <= typed.len() && theirs.split(' ').zip(&typed).all(|(a, b)| a == b);
    if let Some((theirs, why)) = REFUSED.iter().find(|(theirs, _)| begins(theirs)) {
        return Err(clap::Error::raw(ErrorKind::InvalidSubcommand, format!("there is no `{theirs}` here: {why}\n")));
    }
    let same = ELSEWHERE.iter().filter(|(theirs, _)| begins(theirs)).max_by_key(|(theirs, _)| theirs.len());
    let also = ALSO.iter().find(|(name, _, is_meant)| begins(name) && typed.get(1).is_some_and(|word| is_meant(word)));
    if let Some((theirs, ours)) = same.copied().or_else(|| also.map(|(theirs, ours, _)| (*theirs, *ours))) {
        words.splice(at..at + theirs.split(' ').count(), ours.split(' ').map(OsString::from));
    }
    Ok(())
}

/// Returns `true` for what names an element, and no plan in a file.
fn is_element(word: &str) -> bool {
    let is_described = ["--name"].into_iter().chain(FLAGS).any(|flag| word.split('=').next() == Some(flag));
    is_described || ElementName::read(word).is_ok() && !word.ends_with(".json") && !Path::new(word).exists()
}

/// Returns `true` for what is no command of `eval`, which has no words of its own.
fn is_script(word: &str) -> bool {
    !word.starts_with('-') && !["compare", "merge", "help"].contains(&word)
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
        for argument in flags(tool, verb) {
            command = command.arg(flag(argument));
        }
        if has_target(tool) {
            for (name, value, help) in DESCRIPTIONS {
                let others = DESCRIPTIONS.iter().map(|(other, ..)| *other).filter(|other| *other != name);
                let flag = Arg::new(name).long(name).value_name(value).help(help);
                command = command.arg(flag.conflicts_with_all(others));
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

/// The arguments that flags have: all but those that a place always has.
fn flags(tool: &'static Tool, verb: Verb) -> impl Iterator<Item = &'static Argument> {
    tool.arguments.iter().filter(move |it| !it.is_needed || !verb.places.contains(&it.name))
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
    for argument in flags(tool, verb) {
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
    arguments.extend(described.map(|described| ("target".to_owned(), json!(described))));
    places.retain(|place| !arguments.contains_key(place.name));
    for place in places {
        let Some(word) = words.first() else { break };
        if !place.is_needed && !fits(place.form, word) {
            continue;
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
    if is_for_all && matches.value_source("session") == Some(ValueSource::CommandLine) {
        let message = "`close` ends all sessions with --all, or the one of --session, and not both\n";
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
    }
    Ok(Some(VerbCall { name: SessionName::from_arg_matches(matches)?, tool: tool.name, arguments, is_for_all }))
}

/// Returns `false` for a word that is meant for the place after one that may stay empty.
fn fits(form: Form, word: &str) -> bool {
    match form {
        Form::Number => word.parse::<f64>().is_ok(),
        Form::One(_) => word.chars().all(|c| c.is_ascii_alphabetic()),
        _ => true,
    }
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

    fn in_our_words(words: &[&str]) -> Result<Vec<OsString>, clap::Error> {
        let mut words: Vec<OsString> = ["cuebook"].iter().chain(words).map(OsString::from).collect();
        put_in_our_words(&mut words)?;
        Ok(words)
    }

    fn typed(words: &[&str]) -> Result<VerbCall, clap::Error> {
        let command = clap::Command::new("cuebook").subcommands(commands());
        let matches = command.try_get_matches_from(in_our_words(words)?)?;
        Ok(called(&matches)?.expect("a verb"))
    }

    #[test]
    fn commands_of_other_projects_are_known_or_refused_with_the_reason() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/migrating.md");
        let document = std::fs::read_to_string(document).unwrap();
        let is_ours = |name: &str| super::super::line().find_subcommand(name).is_some();
        for (theirs, ours) in ELSEWHERE {
            assert!(!is_ours(theirs), "{theirs} is ours");
            let ours = ours.split(' ').map(OsString::from);
            let expected: Vec<OsString> =
                [OsString::from("cuebook"), "--json".into()].into_iter().chain(ours).collect();
            let words: Vec<&str> = ["--json"].into_iter().chain(theirs.split(' ')).collect();
            assert_eq!(in_our_words(&words).unwrap(), expected, "{theirs}");
            assert!(expected.get(2).and_then(|name| name.to_str()).is_some_and(is_ours), "{expected:?}");
        }
        for (theirs, why) in REFUSED {
            let words: Vec<&str> = theirs.split(' ').collect();
            assert!(in_our_words(&words).unwrap_err().to_string().contains(why), "{theirs}");
            for ours in why.split('`').skip(1).step_by(2).filter_map(|span| span.strip_prefix("cuebook ")) {
                assert!(ours.split(' ').next().is_some_and(is_ours), "{ours}");
            }
            assert!(document.contains(&format!("`{theirs}`")), "docs/migrating.md does not have {theirs}");
        }
        let unknown = super::super::line().try_get_matches_from(in_our_words(&["clck"]).unwrap()).unwrap_err();
        assert!(unknown.to_string().contains("'click'"), "{unknown}");
    }

    #[test]
    fn a_plan_is_checked_and_an_element_is_ticked() {
        for (words, verb) in [
            (&["check", "c3"][..], "tick"),
            (&["check", "@c3"], "tick"),
            (&["check", "--role", "checkbox"], "tick"),
            (&["check", "--label=Keep"], "tick"),
            (&["check", "plan.json"], "check"),
            (&["check", "./plan.json"], "check"),
            (&["check", "Cargo.toml"], "check"),
            (&["check", "-"], "check"),
            (&["check", "--model", "plan.json"], "check"),
            (&["check"], "check"),
            (&["eval", "document.title"], "evaluate"),
            (&["eval", "merge", "a"], "eval"),
            (&["eval", "--suite", "site"], "eval"),
            (&["eval"], "eval"),
        ] {
            assert_eq!(in_our_words(words).unwrap()[1], verb, "{words:?}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for words in [
            &["click", "--role", "button", "--name", "Go", "--css", "#n"][..],
            &["click", "--label", "Agree", "--test-id", "agree"],
            &["type", "--label", "Name", "--css", "#p", "zzz"],
            &["close", "--all", "-s", "one"],
        ] {
            let error = typed(words).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{words:?}: {error}");
        }
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
            (&["dblclick", "c3"], json!({ "target": "c3", "doubleClick": true })),
            (&["tab-new", "shop.test"], json!({ "action": "new", "tab": "shop.test" })),
            (&["dialog", "accept", "Ann"], json!({ "accept": true, "promptText": "Ann" })),
            (&["set", "viewport", "800", "600"], json!({ "width": "800", "height": "600" })),
            (&["set", "offline", "on"], json!({ "offline": "true" })),
            (&["cookie-set", "lang", "de"], json!({ "action": "set", "name": "lang", "value": "de" })),
            (&["tab", "select", "--tab", "t2"], json!({ "action": "select", "tab": "t2" })),
            (&["cookies", "set", "--name", "a", "b"], json!({ "action": "set", "name": "a", "value": "b" })),
            (&["scroll", "c3"], json!({ "target": "c3" })),
            (&["scroll", "up", "300"], json!({ "direction": "up", "amount": "300" })),
            (&["scroll", "300", "c3"], json!({ "amount": "300", "target": "c3" })),
            (&["scroll", "sideways"], json!({ "direction": "sideways" })),
            (&["get", "attr", "c3", "href"], json!({ "what": "attr", "target": "c3", "attribute": "href" })),
            (&["get", "attr", "href", "--css", "a"], json!({ "what": "attr", "target": "css=a", "attribute": "href" })),
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
