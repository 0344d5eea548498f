//! `cuebook config`: the settings that hold, where they are from, and changes to their files.

use std::path::{Path, PathBuf};

use cuebook::environment;
use cuebook_grammar::report::ErrorCode;
use serde::Serialize;
use serde_json::json;
use toml_edit::{Array, DocumentMut, Value};

use crate::args::{ConfigCommand, KeyArgs, ShowArgs, line};
use crate::config::apply;
use crate::config::edit::{self, Readers};
use crate::config::fields::{Field, Form, Table};
use crate::config::files::{self, Kind, Layer, Places, Settings, TRUST};
use crate::config::published;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress::say;
use crate::text::plain;

pub(crate) fn run(command: &ConfigCommand, output: Output) -> Exit {
    let (places, table) = (Places::of_this_process(), Table::of(&line()));
    let done = match command {
        ConfigCommand::Show(args) => show(args, &places, &table, output),
        ConfigCommand::Set(args) => set(args, &places, &table, output),
        ConfigCommand::Path => paths(&places, output),
        ConfigCommand::Trust { folder } => trust(folder.as_deref(), &places, &table, output),
        ConfigCommand::Schema => {
            print_json(&published::schema(&table));
            Ok(())
        }
    };
    done.map_or_else(|refusal| refusal.print(output), |()| Exit::OK)
}

/// The source of a value.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
enum Origin {
    Default,
    User { path: PathBuf },
    Project { path: PathBuf },
    Variable { name: String },
}

impl Origin {
    fn of(layer: &Layer) -> Self {
        let path = layer.path.clone();
        match layer.kind {
            Kind::User => Self::User { path },
            Kind::Project => Self::Project { path },
        }
    }

    fn in_words(&self) -> String {
        match self {
            Self::Default => "default".to_owned(),
            Self::User { path } | Self::Project { path } => plain(&path.display().to_string()),
            Self::Variable { name } => name.clone(),
        }
    }
}

/// A key and the value that a command gets without its flag.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    key: String,
    /// The value as a file has it; none if there is none.
    value: Option<serde_json::Value>,
    origin: Origin,
    #[serde(skip)]
    text: Option<String>,
}

fn show(args: &ShowArgs, places: &Places, table: &Table, output: Output) -> Result<(), Refusal> {
    let settings = Settings::read(places, table)?;
    if let Some(key) = &args.key {
        known(table, key)?;
    }
    let keys = table.keys().into_iter().filter(|key| args.key.as_ref().is_none_or(|wanted| wanted == key));
    let mut shown: Vec<Shown> = keys.filter_map(|key| Some(value_of(table.find(&key)?, &key, &settings))).collect();
    if args.key.is_none() && !args.all {
        shown.retain(|shown| !matches!(shown.origin, Origin::Default));
    }
    if output.json {
        let files = settings
            .layers
            .iter()
            .map(|layer| json!({ "kind": layer.kind.as_str(), "path": layer.path, "isTrusted": layer.is_trusted }));
        let ignored = settings.ignored.iter();
        let ignored = ignored.map(|one| json!({ "key": one.key, "path": one.path, "why": one.why }));
        print_json(&json!({
            "files": files.collect::<Vec<_>>(),
            "values": shown,
            "ignored": ignored.collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    for Shown { key, text, origin, .. } in &shown {
        let origin = if args.origin { format!("  # {}", origin.in_words()) } else { String::new() };
        match (text, &args.key) {
            (Some(text), Some(_)) => print_text(&format!("{}{origin}\n", plain(text))),
            (Some(text), None) => print_text(&format!("{key} = {}{origin}\n", plain(text))),
            (None, Some(_)) => {}
            (None, None) => print_text(&format!("# {key}\n")),
        }
    }
    for one in settings.ignored.iter().filter(|one| args.key.as_ref().is_none_or(|key| *key == one.key)) {
        let path = plain(&one.path.display().to_string());
        print_text(&format!(
            "# ignored: {} of {path}, since the folder is not trusted: {}\n",
            plain(&one.key),
            one.why
        ));
    }
    Ok(())
}

/// The value of a key: that of its variable, else of the last file that has it, else the default.
fn value_of(field: &Field, key: &str, settings: &Settings) -> Shown {
    let in_file = || {
        let setting = settings.settings.iter().filter(|setting| setting.key == key).max_by_key(|it| it.layer)?;
        Some((setting.words.clone(), Origin::of(settings.layers.get(setting.layer)?)))
    };
    let by_variable = || {
        let value = environment::variable(&field.variable).filter(|_| field.key == key)?;
        let words = match field.form() {
            Form::Texts => value.split(field.delimiter()).map(str::to_owned).collect(),
            // Other words are an error of the command.
            Form::Flag if apply::is_no(&value) => vec!["false".to_owned()],
            Form::Flag => vec!["true".to_owned()],
            _ => vec![value],
        };
        Some((words, Origin::Variable { name: field.variable.clone() }))
    };
    let by_default = || {
        let words = field.arg.get_default_values().iter().filter(|_| field.key == key);
        (words.map(|word| word.to_string_lossy().into_owned()).collect(), Origin::Default)
    };
    let (words, origin) = by_variable().or_else(in_file).unwrap_or_else(by_default);
    let text = match (field.form(), words.as_slice()) {
        (_, []) => None,
        (Form::Flag | Form::Number, [word, ..]) => Some(word.clone()),
        (Form::Text, [word, ..]) => Some(Value::from(word.as_str()).to_string()),
        (Form::Texts, words) => Some(Value::Array(words.iter().collect::<Array>()).to_string()),
    };
    let value = match (field.form(), words.as_slice()) {
        (_, []) => None,
        (Form::Flag | Form::Number, [word, ..]) => Some(serde_json::from_str(word).unwrap_or_else(|_| json!(word))),
        (Form::Text, [word, ..]) => Some(json!(word)),
        (Form::Texts, words) => Some(json!(words)),
    };
    Shown { key: key.to_owned(), value, origin, text }
}

fn known<'a>(table: &'a Table, key: &str) -> Result<&'a Field, Refusal> {
    table.find(key).ok_or_else(|| {
        let nearest = table.nearest(key).map_or_else(String::new, |near| format!("; the nearest is `{near}`"));
        Refusal::invalid(ErrorCode::Usage, format!("unknown key `{}`{nearest}", plain(key)))
    })
}

fn set(args: &KeyArgs, places: &Places, table: &Table, output: Output) -> Result<(), Refusal> {
    let field = known(table, &args.key)?;
    let path = if args.project { places.project_file().ok_or_else(no_files)? } else { user_file(places)? };
    if let Some(folder) = path.parent().filter(|folder| args.project && !files::is_inside(&path, folder)) {
        let why =
            format!("{} leads out of {}", plain(&path.display().to_string()), plain(&folder.display().to_string()));
        return Err(Refusal::invalid(ErrorCode::Usage, why));
    }
    let mut document = read(&path)?;
    let mut words = args.values.clone();
    if field.is_path() {
        for word in words.iter_mut().filter(|word| !word.starts_with("~/")) {
            *word = portable(word, path.parent().filter(|_| args.project))?;
        }
    }
    let wrong = |why: String| Refusal::invalid(ErrorCode::Usage, format!("`{}`: {}", args.key, plain(&why)));
    edit::set(&mut document, &args.key, field, &words).map_err(wrong)?;
    write(&path, &document, if args.project { Readers::Usual } else { Readers::Owner })?;
    said(&path, &format!("{} is set", args.key), output);
    if args.project {
        let settings = Settings::read(places, table)?;
        if let Some(ignored) = settings.ignored.iter().find(|one| one.key == args.key) {
            say(&format!("note: it has no effect until the folder is trusted: {}", ignored.why));
        }
    }
    Ok(())
}

/// A path as a file has it: absolute, or relative to the folder of the file that it is below.
fn portable(word: &str, folder: Option<&Path>) -> Result<String, Refusal> {
    let invalid = |why: String| Refusal::invalid(ErrorCode::Usage, why);
    let path = std::path::absolute(word).map_err(|error| invalid(format!("{}: {error}", plain(word))))?;
    let path = folder.and_then(|folder| path.strip_prefix(folder).ok()).map_or_else(|| path.clone(), Path::to_owned);
    path.into_os_string().into_string().map_err(|path| invalid(format!("{} is not text", path.display())))
}

fn paths(places: &Places, output: Output) -> Result<(), Refusal> {
    let files = [(Kind::User, places.user.clone()), (Kind::Project, places.project_file())];
    let files: Vec<(Kind, PathBuf)> = files.into_iter().filter_map(|(kind, path)| Some((kind, path?))).collect();
    if output.json {
        let files =
            files.iter().map(|(kind, path)| json!({ "kind": kind.as_str(), "path": path, "exists": path.exists() }));
        print_json(&json!({ "files": files.collect::<Vec<_>>() }));
        return Ok(());
    }
    for (kind, path) in files {
        let state = if path.exists() { "" } else { " (missing)" };
        print_text(&format!("{}: {}{state}\n", kind.as_str(), plain(&path.display().to_string())));
    }
    Ok(())
}

/// Adds a folder to those that the user trusts, and says what its file may set from now on.
fn trust(folder: Option<&Path>, places: &Places, table: &Table, output: Output) -> Result<(), Refusal> {
    let invalid = |why: String| Refusal::invalid(ErrorCode::Usage, why);
    let folder = folder.map(Path::to_owned).or_else(|| places.project.clone()).ok_or_else(no_files)?;
    let shown = plain(&folder.display().to_string());
    let folder = folder.canonicalize().map_err(|error| invalid(format!("{shown}: {error}")))?;
    if !folder.join(files::PROJECT_FILE).is_file() {
        return Err(invalid(format!("{shown} has no {}", files::PROJECT_FILE)));
    }
    let there = Places { project: Some(folder.clone()), ..places.clone() };
    let ignored = Settings::read(&there, table)?.ignored;
    let path = user_file(places)?;
    let mut document = read(&path)?;
    let word = folder.to_str().ok_or_else(|| invalid(format!("{shown} is not text")))?;
    edit::add(&mut document, TRUST, word).map_err(|why| invalid(plain(&why)))?;
    write(&path, &document, Readers::Owner)?;
    let keys: Vec<String> = ignored.iter().filter(|one| one.key != TRUST).map(|one| plain(&one.key)).collect();
    let keys = if keys.is_empty() { String::new() } else { format!(", which sets {}", keys.join(", ")) };
    said(&path, &format!("trusts {}{keys}", plain(word)), output);
    Ok(())
}

fn user_file(places: &Places) -> Result<PathBuf, Refusal> {
    places.user.clone().ok_or_else(no_files)
}

fn no_files() -> Refusal {
    let why = "there is no home for a configuration, or CUEBOOK_CONFIG is `none`: name a file by CUEBOOK_CONFIG";
    Refusal::invalid(ErrorCode::Usage, why)
}

fn read(path: &Path) -> Result<DocumentMut, Refusal> {
    Ok(files::document(path)?.unwrap_or_default())
}

fn write(path: &Path, document: &DocumentMut, readers: Readers) -> Result<(), Refusal> {
    let failed =
        |error| Refusal::invalid(ErrorCode::CannotWrite, format!("{}: {error}", plain(&path.display().to_string())));
    edit::replace(path, &document.to_string(), readers).map_err(failed)
}

fn said(path: &Path, what: &str, output: Output) {
    if output.json {
        print_json(&json!({ "path": path }));
    } else if !output.quiet {
        say(&format!("{}: {what}", plain(&path.display().to_string())));
    }
}
