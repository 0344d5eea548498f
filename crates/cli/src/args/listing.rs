//! The list of commands in the help of the program.

/// The commands by what they are for.
pub(super) const GROUPS: [(&str, &[&str]); 11] = [
    ("Run tasks and plans", &["run", "exec", "observe"]),
    (
        "Hold a browser",
        &[
            "open",
            "back",
            "forward",
            "reload",
            "batch",
            "save",
            "start",
            "sessions",
            "events",
            "pause",
            "resume",
            "close",
            "detach",
            "delete-data",
            "mcp",
        ],
    ),
    ("Look and read", &["snapshot", "diff", "find", "read", "get", "is", "screenshot", "pdf"]),
    (
        "Act",
        &[
            "click", "type", "select", "tick", "uncheck", "press", "focus", "hover", "scroll", "drag", "upload",
            "dialog", "evaluate",
        ],
    ),
    ("Wait and switch tabs", &["wait", "tab"]),
    (
        "State and settings of a session",
        &["cookies", "storage", "auth", "state-save", "state-load", "emulate", "resize"],
    ),
    ("Console and network of a session", &["console", "requests", "route", "unroute"]),
    ("Write plans and policies", &["record", "check", "schema", "policy"]),
    ("Test and measure", &["test", "propose", "replay", "minimize", "suggest", "eval"]),
    ("Read recorded runs", &["view", "report", "film", "stats", "watch", "judge", "query", "export", "prune"]),
    ("Set up", &["doctor", "config", "install", "skill", "completions", "man", "site", "help"]),
];

/// Lists the commands by groups: clap has headings for flags only.
pub(super) fn grouped(command: clap::Command) -> clap::Command {
    let mut list = String::new();
    for (heading, names) in GROUPS {
        list.push_str(&format!("{heading}:\n"));
        for name in names {
            let about = match command.find_subcommand(name).and_then(clap::Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this message or the help of the given command".to_owned(),
            };
            list.push_str(&format!("  {name:<13}{about}\n"));
        }
        list.push('\n');
    }
    let list = list.trim_end();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\n\nOptions:\n{{options}}"
    ))
}
