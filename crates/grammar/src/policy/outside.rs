//! Resources that a run may use outside the page: hosts to fetch from, directories, commands.
//!
//! Invariants:
//! - Nothing is open that an operator did not declare.
//! - A command line is words. What a shell would expand is refused, unless that very line was declared as one
//!   for a shell.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Component, Path};

use url::Url;

use crate::policy::{Denied, OriginRule, Rule};
use crate::render::excerpt;

/// The most words of a command line.
const MAX_WORDS: usize = 200;

/// Resources outside the page that an operator declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Origins that `fetch` may request, besides those that a run may act on.
    pub hosts: Vec<OriginRule>,
    /// Directories whose files may be read.
    pub read_roots: Vec<String>,
    /// Directories whose files may be read and written.
    pub write_roots: Vec<String>,
    /// Commands that `shell` may run, as words.
    pub commands: Vec<CommandRule>,
    /// Whole lines for a shell.
    pub shell_lines: Vec<String>,
    /// The programs of registered actions, as words, by the name of the action.
    pub programs: BTreeMap<String, Vec<String>>,
}

/// A command that may run: these words, and what may follow them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRule {
    words: Vec<String>,
    takes_more: bool,
}

/// A command that may run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A program and its arguments, with no shell between.
    Program {
        /// The program to run.
        program: String,
        /// Arguments of the program.
        args: Vec<String>,
    },
    /// A line for a shell, as it was declared.
    Shell(String),
}

/// A command that is not a list of words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadCommand {
    /// An unclosed quote, or a backslash at the end.
    #[error("a quote is not closed, or the line ends in a backslash")]
    Open,
    /// Something that a shell would act on.
    #[error("`{0}` needs a shell, and none reads it: quote it, or for `shell` declare the whole line in `shellLines`")]
    Shell(char),
    /// Nothing, or more words than there may be.
    #[error("a command has 1 to {MAX_WORDS} words, not {0}")]
    Count(usize),
}

impl CommandRule {
    /// Reads a declaration: words, and `*` as the last one where any further words may follow.
    ///
    /// # Errors
    /// [`BadCommand`]
    pub fn parse(text: &str) -> Result<Self, BadCommand> {
        let trimmed = text.trim_end();
        let (front, takes_more) = match trimmed.strip_suffix(" *") {
            Some(front) => (front, true),
            None => (trimmed, false),
        };
        Ok(Self { words: words(front)?, takes_more })
    }

    fn covers(&self, words: &[String]) -> bool {
        words.starts_with(&self.words) && (self.takes_more || words.len() == self.words.len())
    }
}

impl Outside {
    /// The declared command that `line` runs.
    ///
    /// # Errors
    /// [`Denied`] with rule `command`.
    pub fn command(&self, line: &str) -> Result<CommandLine, Denied> {
        if self.shell_lines.iter().any(|declared| declared == line) {
            return Ok(CommandLine::Shell(line.to_owned()));
        }
        let denied = |message: String| Denied { rule: Rule::Command, message };
        let words = words(line).map_err(|error| denied(error.to_string()))?;
        if self.commands.iter().any(|rule| rule.covers(&words)) {
            let mut words = words.into_iter();
            let program = words.next().unwrap_or_default();
            return Ok(CommandLine::Program { program, args: words.collect() });
        }
        Err(denied(format!("`{}` is not a declared command", excerpt(line, 100))))
    }

    /// Checks that `file` lies below a directory that is open for reading, by its path alone: the executor follows
    /// links before it opens anything. A relative path starts at any of the directories.
    ///
    /// # Errors
    /// [`Denied`] with rule `root`, and how to declare a directory.
    pub fn reading(&self, file: &str) -> Result<(), Denied> {
        let path = Path::new(file);
        let escapes = path
            .components()
            .try_fold(0_usize, |depth, part| match part {
                Component::ParentDir => depth.checked_sub(1),
                Component::Normal(_) => Some(depth + 1),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => Some(depth),
            })
            .is_none();
        let climbs = path.components().any(|part| part == Component::ParentDir);
        let roots = || self.read_roots.iter().chain(&self.write_roots);
        let is_open = |root: &String| if path.is_absolute() { !climbs && path.starts_with(root) } else { !escapes };
        if roots().any(is_open) {
            return Ok(());
        }
        let seen = match roots().next() {
            None => "no directory is declared for reading".to_owned(),
            Some(_) => {
                let declared: Vec<&str> = roots().map(String::as_str).collect();
                format!("it lies outside of {}", declared.join(", "))
            }
        };
        let parent = path.parent().filter(|_| path.is_absolute()).and_then(Path::to_str).unwrap_or("DIR");
        let (file, seen, parent) = (excerpt(file, 200), excerpt(&seen, 200), excerpt(parent, 200));
        let how = format!("add \"roots\": {{\"read\": [\"{parent}\"]}} to the policy, or --root {parent}");
        Err(Denied { rule: Rule::Root, message: format!("upload of {file} is not allowed: {seen} ({how})") })
    }

    /// Command lines that run, as a grammar spells them: declared words without what may follow them, and lines
    /// for a shell.
    pub fn spelled_commands(&self) -> impl Iterator<Item = String> {
        let quoted = |word: &String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
            if word.is_empty() || !word.chars().all(is_plain) {
                format!("'{}'", word.replace('\'', "'\\''"))
            } else {
                word.clone()
            }
        };
        let words = self.commands.iter().map(move |rule| rule.words.iter().map(quoted).collect::<Vec<_>>().join(" "));
        words.chain(self.shell_lines.iter().cloned())
    }

    /// Returns `true` if an entry names this very address.
    pub(super) fn names(&self, ip: IpAddr) -> bool {
        self.hosts.iter().any(|rule| rule.names(ip))
    }

    /// Returns `true` if `url` is on a declared host.
    pub(super) fn covers(&self, url: &Url) -> bool {
        self.hosts.iter().any(|rule| rule.covers(url))
    }
}

/// Splits a line into words: blanks separate, quotes and backslashes keep together, nothing expands.
///
/// # Errors
/// [`BadCommand`], also for what a shell would act on.
pub fn words(line: &str) -> Result<Vec<String>, BadCommand> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '\\') => {
                let next = chars.next().ok_or(BadCommand::Open)?;
                let word = word.get_or_insert_default();
                if !matches!(next, '"' | '\\') {
                    word.push('\\');
                }
                word.push(next);
            }
            (Some('"'), '$' | '`') => return Err(BadCommand::Shell(c)),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().push(chars.next().ok_or(BadCommand::Open)?),
            (None, '|' | '&' | ';' | '<' | '>' | '$' | '`' | '(' | ')' | '*' | '?' | '\n' | '\r' | '\0') => {
                return Err(BadCommand::Shell(c));
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(BadCommand::Open);
    }
    words.extend(word);
    match words.len() {
        1..=MAX_WORDS => Ok(words),
        count => Err(BadCommand::Count(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside() -> Outside {
        Outside {
            commands: ["git log *", "date", "'my tool' --safe"].map(|rule| CommandRule::parse(rule).unwrap()).to_vec(),
            shell_lines: vec!["ls | wc -l".to_owned()],
            ..Outside::default()
        }
    }

    fn program(program: &str, args: &[&str]) -> CommandLine {
        CommandLine::Program { program: program.to_owned(), args: args.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn declared_words_run_and_a_star_lets_more_follow() {
        assert_eq!(outside().command("date"), Ok(program("date", &[])));
        assert_eq!(outside().command("git log -n 1"), Ok(program("git", &["log", "-n", "1"])));
        assert_eq!(outside().command("'my tool' \"--safe\""), Ok(program("my tool", &["--safe"])));
        assert_eq!(
            outside().command(r#"git log --author='A; B' "it\"s" a\ b"#),
            Ok(program("git", &["log", "--author=A; B", "it\"s", "a b"]))
        );
    }

    #[test]
    fn nothing_else_runs() {
        for line in [
            "",
            " ",
            "git",
            "git push",
            "date now",
            "gitlog",
            "/bin/date",
            "date; rm -rf /",
            "date && id",
            "git log $(id)",
            "git log `id`",
            "git log \"$HOME\"",
            "git log > out",
            "git log *",
            "git log\nid",
            "git log 'open",
            "git log \\",
            "ls | wc",
            "ls",
        ] {
            assert_eq!(outside().command(line).map_err(|denied| denied.rule), Err(Rule::Command), "{line:?}");
        }
    }

    #[test]
    fn a_line_for_a_shell_runs_as_it_was_declared() {
        assert_eq!(outside().command("ls | wc -l"), Ok(CommandLine::Shell("ls | wc -l".to_owned())));
        assert!(Outside::default().command("ls | wc -l").is_err());
    }

    #[test]
    fn a_file_may_be_read_below_a_declared_directory_by_its_path() {
        let declared =
            Outside { read_roots: vec!["/srv/in".into()], write_roots: vec!["/srv/out".into()], ..outside() };
        for open in ["/srv/in/a.txt", "/srv/out/b/c", "a.txt", "sub/../a.txt"] {
            assert_eq!(declared.reading(open), Ok(()), "{open}");
        }
        for closed in ["/srv/inside", "/etc/passwd", "../a.txt", "sub/../../a.txt", "/srv/in/../../etc/passwd"] {
            let denied = declared.reading(closed).unwrap_err();
            assert!(denied.rule == Rule::Root && denied.message.contains("outside of /srv/in, /srv/out"), "{denied:?}");
        }
        let denied = outside().reading("/tmp/a.txt").unwrap_err();
        assert_eq!(
            denied.message,
            "upload of /tmp/a.txt is not allowed: no directory is declared for reading \
             (add \"roots\": {\"read\": [\"/tmp\"]} to the policy, or --root /tmp)"
        );
    }
}
