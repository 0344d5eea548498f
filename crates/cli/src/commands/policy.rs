//! `cuebook policy explain`: what a policy decides about a URL, and by which rule.

use cuebook_grammar::plan::Author;
use cuebook_grammar::policy::{Denied, RequestVerdict};
use serde::Serialize;

use crate::args::ExplainArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::ground;
use crate::text::plain;

/// Document that `--json` prints for an explained URL.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Explanation<'a> {
    url: &'a str,
    act: PolicyVerdict,
    load: PolicyVerdict,
    request: PolicyVerdict,
}

/// Decision of the policy about one use of the URL, and the rule that made it.
#[derive(Serialize)]
struct PolicyVerdict {
    allowed: bool,
    rule: &'static str,
    message: Option<String>,
}

impl PolicyVerdict {
    fn allowed(rule: &'static str) -> Self {
        Self::noted(rule, None)
    }

    fn noted(rule: &'static str, message: Option<String>) -> Self {
        Self { allowed: true, rule, message }
    }

    fn denied(denied: Denied) -> Self {
        Self { allowed: false, rule: denied.rule.as_str(), message: Some(denied.message) }
    }
}

pub(crate) fn explain(args: &ExplainArgs, output: Output) -> Exit {
    match explained(args) {
        Ok(explanation) => {
            if output.json {
                print_json(&explanation);
            } else {
                for (what, answer) in
                    [("act", &explanation.act), ("load", &explanation.load), ("request", &explanation.request)]
                {
                    let verdict = if answer.allowed { "allowed" } else { "denied" };
                    let why = answer.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
                    print_text(&plain(&format!("{what:7} {verdict} by rule {}{why}", answer.rule)));
                    print_text("\n");
                }
            }
            if explanation.load.allowed && explanation.request.allowed { Exit::OK } else { Exit::FAILED }
        }
        Err(refusal) => refusal.print(output),
    }
}

fn explained(args: &ExplainArgs) -> Result<Explanation<'_>, Refusal> {
    let (_, policy) = ground::ground(&args.ground)?;
    let url = args.target.as_str();
    let loading = policy.loading(url);
    let act = match policy.navigation(url) {
        // What lets a page load from an origin where the run may act is what lets it act.
        Ok(_) => PolicyVerdict::allowed(loading.as_ref().map_or("default", |(_, opening)| opening.as_str())),
        Err(denied) => PolicyVerdict::denied(denied),
    };
    let load = loading.map_or_else(PolicyVerdict::denied, |(_, opening)| PolicyVerdict::allowed(opening.as_str()));
    let request = match policy.requesting(&args.method, url, policy.gates_effects(Author::Model)) {
        RequestVerdict::Allow => PolicyVerdict::allowed("default"),
        RequestVerdict::Ask(to) => PolicyVerdict::noted("ask", to.map(|to| format!("it would go to {to}"))),
        RequestVerdict::Rewrite(to) => PolicyVerdict::noted("rewrite", Some(format!("it goes to {to}"))),
        RequestVerdict::Respond(response) => {
            let note = format!("it never leaves; its page gets status {}", response.status);
            PolicyVerdict::noted("respond", Some(note))
        }
        RequestVerdict::Deny(denied) => PolicyVerdict::denied(denied),
    };
    Ok(Explanation { url, act, load, request })
}
