//! Changing a file of TOML: comments and order stay, and a file is replaced as a whole.

use std::io::{self, Write as _};
use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::fields::{Field, Form};
use super::value;

/// Sets a key, which may be in the table of a command, to words as they are typed.
///
/// # Errors
/// If the words are no value for the field.
pub(crate) fn set(document: &mut DocumentMut, key: &str, field: &Field, words: &[String]) -> Result<(), String> {
    let one = || match words {
        [word] => Ok(word.clone()),
        _ => Err(format!("{} values are given, and the key takes one", words.len())),
    };
    let mut value = match field.form() {
        Form::Flag => Value::from(one()?.parse::<bool>().map_err(|_| "expected true or false".to_owned())?),
        Form::Number => {
            let word = one()?;
            let whole = word.parse::<i64>().map(Value::from).ok();
            let number = whole.or_else(|| word.parse::<f64>().map(Value::from).ok());
            number.ok_or_else(|| format!("{word:?} is no number"))?
        }
        Form::Text => Value::from(one()?),
        Form::Texts => Value::Array(words.iter().collect::<Array>()),
    };
    value::check(field, words)?;
    let (table, name) = match key.split_once('.') {
        None => (document.as_table_mut(), key),
        Some((section, name)) => {
            let table = document.entry(section).or_insert_with(|| Item::Table(Table::new()));
            (table.as_table_mut().ok_or_else(|| format!("[{section}] is no table in this file"))?, name)
        }
    };
    match table.get_mut(name) {
        Some(old) => {
            if let Some(old) = old.as_value() {
                // A comment behind the value stays.
                *value.decor_mut() = old.decor().clone();
            }
            *old = Item::Value(value);
        }
        None => {
            table.insert(name, Item::Value(value));
        }
    }
    Ok(())
}

/// Adds a word to an array, once.
///
/// # Errors
/// If the key holds something else.
pub(crate) fn add(document: &mut DocumentMut, key: &str, word: &str) -> Result<(), String> {
    let array = document.entry(key).or_insert_with(|| Item::Value(Value::Array(Array::new())));
    let array = array.as_array_mut().ok_or_else(|| format!("`{key}`: expected an array"))?;
    if !array.iter().any(|old| old.as_str() == Some(word)) {
        array.push(word);
    }
    Ok(())
}

/// Who may read a file that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner alone, whatever the system lets.
    Owner,
    /// Whoever the system lets.
    Usual,
}

/// Replaces a file as a whole, or makes it and its folder. One that is there keeps its permissions, and a link stays one.
///
/// # Errors
/// If it cannot be written. Then the file is as it was.
pub(crate) fn replace(path: &Path, text: &str, readers: Readers) -> io::Result<()> {
    let path = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if readers == Readers::Usual {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = readers;
    let mut file = builder.prefix(".cuebook-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(old) = path.metadata() {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
