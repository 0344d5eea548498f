//! Who may set a field: a decision for every flag, by name.

/// Who may set a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Any file and a variable.
    Free,
    /// A file of the user or a trusted folder and a variable; another file, only within its folder.
    Inside,
    /// A file of the user or a trusted folder, and a variable: it widens what a run may do, see, keep or cost.
    Trusted(&'static str),
    /// A variable, and no file.
    Secret,
    /// Nothing but the flag: it says what one call does.
    Once,
}

/// A flag that is stated with a command is a field of that command alone: `mcp.tools` is `tools` of the table `[mcp]`.
/// Others are the same field in every command that has the flag.
const ROWS: &[(Reach, &[&str])] = {
    use Reach::{Free, Inside, Once, Secret, Trusted};
    &[
        (Free, &["json", "headed", "viewport", "timeout", "plan-timeout", "no-repair", "repair-rungs"]),
        (Free, &["run.explain", "observe.format", "observe.scope", "observe.budget", "observe.locators"]),
        (Free, &["device", "locale", "timezone", "geolocation", "color-scheme", "mcp.live-schema"]),
        (Free, &["start.idle", "mcp.idle", "site.port", "site.seed", "test.retries", "replay.similarity"]),
        (Free, &["propose.max", "propose.time-limit"]),
        (Free, &["minimize.max-replays", "minimize.time-limit", "eval.limit", "eval.no-repair", "stats.price"]),
        (Free, &["suggest.attribute", "alerts.every"]),
        (Inside, &["out", "eval.out", "alerts.rules", "alerts.state"]),
        (Trusted("it hides what a run says"), &["quiet"]),
        (Trusted("it prints more of what pages hold"), &["verbose"]),
        (Trusted("it names a program that is run"), &["chrome"]),
        (Trusted("it attaches to a browser that is in use"), &["cdp"]),
        (Trusted("it takes protection away"), &["no-sandbox", "direct", "isolation"]),
        (Trusted("it allows further origins"), &["allow", "read"]),
        (Trusted("it replaces the policy"), &["policy"]),
        (Trusted("it may switch questions off"), &["gate", "profile", "grant"]),
        (Trusted("it opens files on this machine"), &["root", "file-root"]),
        (Trusted("it names secrets and where they may be typed"), &["secrets"]),
        (Trusted("it begins as somebody who is logged in"), &["storage", "copy-profile"]),
        (Trusted("it grants pages more of the browser"), &["permission"]),
        (Trusted("it keeps more of what a page shows"), &["record", "record-cdp", "record-network"]),
        (Trusted("it changes what pages get"), &["drift"]),
        (Trusted("it changes what pages get"), &["eval.drift"]),
        (Trusted("it writes files under names that pages choose"), &["downloads"]),
        (Trusted("it opens a port on this machine"), &["watch", "port", "mcp.http", "mcp.host"]),
        (Trusted("it may name a session that is logged in elsewhere"), &["session"]),
        (Trusted("it may run a program, or send pages to a server"), &["planner", "eval.planner"]),
        (Trusted("it may run a program, or send pages to a server"), &["exec.repair-planner"]),
        (Trusted("it sends the text of pages to a server"), &["fill-by-model"]),
        (Trusted("it says which server reads the pages, and with which key"), &["base-url", "api-key-env"]),
        (Trusted("it says which model reads the pages, and what it costs"), &["model", "engine-mode"]),
        (Trusted("it instructs the model"), &["prompt", "known-plans"]),
        (Trusted("it sends pictures of pages to a server"), &["vision", "vision-after-failure", "vision-features"]),
        (Trusted("it says which model sees the pages"), &["vision-model"]),
        (
            Trusted("it says which server sees the pages, and with which key"),
            &["vision-base-url", "vision-api-key-env"],
        ),
        (Trusted("it allows further cost"), &["answer-tokens", "run-tokens", "drafts"]),
        (Trusted("it starts more browsers at a time"), &["test.jobs", "eval.jobs"]),
        (Trusted("it offers further tools"), &["mcp.tools"]),
        (Trusted("it runs a program"), &["alerts.exec"]),
        (Secret, &["mcp.token", "alerts.webhook"]),
        (
            Once,
            &["tab", "open", "url", "calls", "plan", "observation", "credential", "wait-for", "drift-seed", "offline"],
        ),
        (Once, &["save-storage"]),
        (Once, &["run.goal", "run.dry-run", "exec.fixtures", "save.last", "check.model", "policy.method"]),
        (Once, &["propose.output"]),
        (Once, &["record.output", "record.force", "record.for", "record.headless", "schema.target"]),
        (Once, &["replay.strict", "replay.heal", "replay.ignore", "replay.requests", "minimize.out", "report.out"]),
        (
            Once,
            &["test.filter", "test.shard", "test.junit", "test.html", "test.update", "stats.prometheus", "stats.gate"],
        ),
        (Once, &["eval.suite", "eval.seeds", "eval.task", "eval.split", "eval.shard", "eval.queue", "eval.fresh"]),
        (
            Once,
            &[
                "eval.errors",
                "eval.goals",
                "eval.baseline",
                "eval.ratchet",
                "stats.tolerance",
                "stats.slower",
                "stats.by",
                "query.csv",
                "query.tables",
            ],
        ),
        (Once, &["suggest.source", "suggest.write"]),
        (Once, &["alerts.once", "alerts.prometheus"]),
        (Once, &["prune.older", "prune.larger", "prune.keep", "prune.dry-run", "delete-data.dry-run"]),
        (
            Once,
            &[
                "export.to",
                "export.out",
                "export.redact",
                "export.rewrite",
                "export.check",
                "export.pictures",
                "doctor.quick",
                "doctor.fix",
            ],
        ),
        (Once, &["install.for", "install.project", "install.print", "install.skill"]),
    ]
};

/// Flags that hold only beside another one.
pub(super) const BESIDE: [(&str, &str); 15] = [
    ("tab", "cdp"),
    ("port", "watch"),
    ("open", "watch"),
    ("drift-seed", "drift"),
    ("token", "http"),
    ("host", "http"),
    ("idle", "http"),
    ("strict", "offline"),
    ("fill-by-model", "repair-planner"),
    ("vision-model", "vision-features"),
    ("vision-base-url", "vision-features"),
    ("vision-api-key-env", "vision-features"),
    ("tolerance", "gate"),
    ("slower", "gate"),
    ("ratchet", "baseline"),
];

/// The row of a flag of a command: its name there, and who may set it.
pub(super) fn row(command: &str, flag: &str) -> Option<(&'static str, Reach)> {
    let find = |wanted: &str| {
        let rows = ROWS.iter().flat_map(|(reach, names)| names.iter().map(move |name| (*name, *reach)));
        rows.into_iter().find(|(name, _)| *name == wanted)
    };
    find(&format!("{command}.{flag}")).or_else(|| find(flag))
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|(_, names)| names.iter().copied())
}
