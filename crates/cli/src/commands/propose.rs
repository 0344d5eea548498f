//! `cuebook propose`: test cases for the pages of a site, as a suite for a person to edit.
//!
//! Invariants:
//! - Nothing is typed, clicked or submitted. Pages are opened by their links alone, without those that end a session or
//!   need consent, and requests that may change something are dropped.
//! - Every condition that is written held on the page that was seen.
//! - It ends: pages, addresses of one path, pages of one kind and time are bounded. What was left out is said.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook::{Live, Tab};
use cuebook_datalayer::{MemoryArtifacts, ValueRedactor};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::action::{Action, Navigate};
use cuebook_grammar::candidate::{Candidate, ControlKind, Placement};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Cause, StepOutcome};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::render::one_line;
use cuebook_grammar::report::{ErrorCode, RunError, RunResult};
use cuebook_grammar::risk;
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{DenyAll, Executor as _, NoSecrets};
use cuebook_grammar::step::Step;
use cuebook_page_modeler::LivePageModeler;
use serde_json::{Value, json};
use url::Url;

use crate::args::ProposeArgs;
use crate::browser::{close_tab, open_under};
use crate::compose::digest_key;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::ground;
use crate::interrupt::Signals;
use crate::new_file::NewFile;
use crate::opening;
use crate::progress::{self, counted};
use crate::text::plain;

/// How long a browser may take to start.
const STARTING: Duration = Duration::from_secs(30);
/// How long one page may take.
const PAGE: Duration = Duration::from_secs(15);
/// How long a condition may take to hold.
const HOLDS_MS: u64 = 1_000;
/// Pages that are opened for each case that is asked for.
const PAGES_A_CASE: usize = 4;
/// Addresses of one path that are opened: the others differ in their query.
const QUERIES: u32 = 2;
/// The most addresses that wait.
const WAITING: usize = 1_000;
/// The most notes of one run.
const NOTES: usize = 30;
/// The longest text of a page in a case.
const LONGEST: usize = 60;

/// A proposed case, in the members of a suite file.
struct Proposal {
    name: String,
    url: String,
    narrative: String,
    expect: Vec<Value>,
    candidates: BTreeMap<&'static str, Value>,
    /// Cases for a person to complete, as narratives, with the form's name.
    forms: Vec<(String, String)>,
}

/// Proposed cases, and notes on what was left out.
struct Found {
    cases: Vec<Proposal>,
    notes: Vec<String>,
}

pub(crate) async fn run(args: ProposeArgs, output: Output) -> Exit {
    match proposed(&args, output).await {
        Ok(()) => Exit::OK,
        Err(refusal) => refusal.print(output),
    }
}

async fn proposed(args: &ProposeArgs, output: Output) -> Result<(), Refusal> {
    let place = |path| NewFile::at(path, false, "--output names another file");
    let file = args.output.as_deref().map(place).transpose()?;
    let until = Instant::now() + args.time_limit;
    let policy = ground::policy(&args.policy, &[], Some(&args.url))?.only_reading();
    let mut signals = Signals::listen();
    let tab = signals.guard(open_under(policy.clone(), &args.browser, &args.containment, STARTING)).await?;
    let found = signals.guard(explore(&tab, args, policy, until, output)).await;
    close_tab(tab).await;
    let found = found?;
    if found.cases.is_empty() {
        let why = found.notes.join("; ");
        let error = RunError::new(ErrorCode::NavigationFailed, format!("no page could be proposed: {}", plain(&why)));
        return Err(Refusal { result: RunResult::Failed, error });
    }
    let suite = written(&args.url, &found);
    if let Some(file) = file {
        file.write(&suite)?;
    }
    if output.json {
        let names: Vec<&str> = found.cases.iter().map(|case| case.name.as_str()).collect();
        print_json(&json!({ "suite": suite, "cases": names, "notes": found.notes }));
    } else if args.output.is_none() {
        print_text(&suite);
    }
    if !output.quiet {
        progress::say(&format!(
            "{} proposed; edit the file, then: cuebook test FILE",
            counted(found.cases.len(), "case")
        ));
        found.notes.iter().for_each(|note| progress::say(&format!("note: {}", plain(note))));
    }
    Ok(())
}

struct Explorer<'a> {
    tab: &'a Tab,
    executor: LiveExecutor,
    modeler: LivePageModeler,
    policy: Policy,
    until: Instant,
    notes: Vec<String>,
}

async fn explore(
    tab: &Tab,
    args: &ProposeArgs,
    policy: Policy,
    until: Instant,
    output: Output,
) -> Result<Found, Refusal> {
    let live = Live::on(tab, digest_key()?, Arc::new(ValueRedactor::default()));
    let options = ExecutorOptions { screenshots: ScreenshotMode::Off, ..ExecutorOptions::default() };
    let executor = live.executor(NoSecrets, MemoryArtifacts::default(), options);
    let mut explorer = Explorer { tab, executor, modeler: opening::modeler(&live), policy, until, notes: Vec::new() };
    let most = usize::try_from(args.max).unwrap_or(usize::MAX);
    let mut waiting = VecDeque::from([args.url.clone()]);
    let mut known = BTreeSet::from([args.url.clone()]);
    let mut paths: HashMap<String, u32> = HashMap::new();
    let (mut kinds, mut names) = (BTreeSet::new(), BTreeSet::new());
    let (mut opened, mut alike, mut queries) = (0, 0_usize, 0_usize);
    let mut cases: Vec<Proposal> = Vec::new();
    while let Some(url) = waiting.front().cloned() {
        if cases.len() >= most || opened >= most.saturating_mul(PAGES_A_CASE) || Instant::now() >= until {
            break;
        }
        waiting.pop_front();
        opened += 1;
        if !output.quiet {
            progress::say(&format!("  {}", plain(&url)));
        }
        let Some(page) = explorer.open(&url).await? else { continue };
        // Pages of one kind lead to pages of one kind.
        if !kinds.insert(page.fingerprint.clone()) {
            alike += 1;
            continue;
        }
        if let Some(case) = explorer.case(&page, &args.url, &mut names).await? {
            cases.push(case);
        }
        for url in links(&page, &explorer.policy) {
            let path = url.split('?').next().unwrap_or_default().to_owned();
            if waiting.len() >= WAITING || !known.insert(url.clone()) {
                continue;
            }
            let count = paths.entry(path).or_default();
            *count += 1;
            if *count > QUERIES {
                queries += 1;
            } else {
                waiting.push_back(url);
            }
        }
    }
    let mut notes = explorer.notes;
    let left = [
        (alike, "page", "like one that has a case"),
        (queries, "address", "that only a query tells from others"),
        (waiting.len(), "link", "not followed (--max, --time-limit)"),
    ];
    notes.extend(left.iter().filter(|(count, ..)| *count > 0).map(|(count, what, why)| {
        let what = if *what == "address" && *count != 1 { format!("{count} addresses") } else { counted(*count, what) };
        format!("{what} {why}")
    }));
    Ok(Found { cases, notes })
}

impl Explorer<'_> {
    fn note(&mut self, note: String) {
        if self.notes.len() < NOTES {
            self.notes.push(one_line(&note, 300));
        }
    }

    /// The page at an address; `None`, with a note, if it cannot be proposed.
    ///
    /// # Errors
    /// If the browser is gone.
    async fn open(&mut self, url: &str) -> Result<Option<Observation>, Refusal> {
        let now = Instant::now();
        let deadline = Deadline::after(now, PAGE.min(self.until.saturating_duration_since(now)));
        let blank = Observation::blank(self.tab.page.clone(), "about:blank");
        let draft = PlanDraft::of(Author::Operator, vec![Step::from(Action::Navigate(Navigate::to(url)))]);
        if let Err(why) = self.step(&draft, &blank, deadline).await? {
            self.note(format!("{url}: {why}"));
            return Ok(None);
        }
        let page = match opening::observe(&mut self.modeler, self.tab, Scope::Full, deadline).await {
            Ok(page) => page,
            Err(refusal) if refusal.result == RunResult::Failed => {
                self.note(format!("{url}: {}", refusal.error.message));
                return Ok(None);
            }
            Err(refusal) => return Err(refusal),
        };
        let why = match (&page.dialog, page.unseen()) {
            (Some(_), _) => "a dialog blocks it".to_owned(),
            (_, Some(why)) => why.to_owned(),
            _ if self.policy.navigation(&page.url).is_err() => "it leads to an origin that is not allowed".to_owned(),
            _ if page.sketch.empty => "it shows nothing".to_owned(),
            _ if page.sketch.challenge.is_some() => "it asks for a person".to_owned(),
            _ => return Ok(Some(page)),
        };
        self.note(format!("{url}: {why}"));
        Ok(None)
    }

    /// Runs the only step of a draft; in words, why it failed.
    async fn step(
        &mut self,
        draft: &PlanDraft,
        page: &Observation,
        deadline: Deadline,
    ) -> Result<Result<(), String>, Refusal> {
        let bound = match draft.check(page, &self.policy).and_then(|plan| plan.bind(0, page)) {
            Ok(bound) => bound,
            Err(violations) => return Ok(Err(violations.to_string())),
        };
        let outcome = self.executor.run_step(&self.tab.page, &bound, page, &mut DenyAll, deadline).await;
        match outcome.map_err(|error| opening::broken(&error))? {
            StepOutcome::Failed(failure) if failure.cause == Cause::BrowserGone => {
                Err(Refusal::unusable(failure.cause, failure.message))
            }
            StepOutcome::Failed(failure) => Ok(Err(failure.message)),
            _ => Ok(Ok(())),
        }
    }

    /// The case of a page: of its address, heading, title and main control, whatever holds.
    async fn case(
        &mut self,
        page: &Observation,
        start: &str,
        names: &mut BTreeSet<String>,
    ) -> Result<Option<Proposal>, Refusal> {
        let Ok(url) = Url::parse(&page.url) else { return Ok(None) };
        let is_short = |text: &&str| !text.is_empty() && text.chars().count() <= LONGEST;
        let heading = page.sketch.headings.iter().min_by_key(|heading| heading.level).map(|it| it.text.as_str());
        let heading = heading.filter(is_short);
        let title = Some(page.title.as_str()).filter(is_short);
        let mut wanted = vec![(json!({ "kind": "urlMatches", "pattern": address_pattern(&url) }), None)];
        if let Some(heading) = heading {
            let locator = json!({ "strategy": "byRole", "role": "heading", "name": heading, "nth": 0 });
            wanted.push((json!({ "kind": "visible", "target": "heading" }), Some(("heading", locator))));
        }
        if let Some(title) = title {
            wanted.push((json!({ "kind": "titleMatches", "pattern": format!("^{}$", escaped(title)) }), None));
        }
        let control = page.candidates.iter().find(|it| is_main_control(it));
        if let Some(locator) = control.and_then(|it| serde_json::to_value(it.locators.first()?).ok()) {
            wanted.push((json!({ "kind": "visible", "target": "control" }), Some(("control", locator))));
        }
        let (mut expect, mut candidates) = (Vec::new(), BTreeMap::new());
        for (condition, target) in wanted {
            let declared: BTreeMap<_, _> = target.iter().cloned().collect();
            let step = json!({ "type": "waitFor", "condition": condition, "timeoutMs": HOLDS_MS });
            let draft = json!({ "version": "1.0", "candidates": declared, "steps": [step] });
            let Ok(draft) = PlanDraft::read_value(draft, Author::Operator) else { continue };
            let now = Instant::now();
            let deadline = Deadline::after(now, PAGE.min(self.until.saturating_duration_since(now)));
            if self.step(&draft, page, deadline).await?.is_ok() {
                expect.push(condition);
                candidates.extend(target);
            }
        }
        if expect.is_empty() {
            self.note(format!("{}: nothing that it shows lasts", page.url));
            return Ok(None);
        }
        let place = url.path().trim_matches('/');
        let about = heading.or(title).or(Some(place)).filter(|text| !words_of(text).is_empty()).unwrap_or("The page");
        let about = one_line(about, LONGEST);
        let mut name = format!("{about} is shown");
        for number in 2.. {
            if names.insert(words_of(&name)) {
                break;
            }
            name = format!("{about} is shown ({number})");
        }
        let narrative = match heading.filter(|text| !text.contains('"')) {
            Some(text) if candidates.contains_key("heading") => format!("Verify that \"{text}\" is shown"),
            _ => format!("Go to {}", &url[url::Position::BeforePath..url::Position::AfterQuery]),
        };
        let base = Url::parse(start).ok().filter(|start| start.origin() == url.origin());
        let whole = url[..url::Position::AfterQuery].to_owned();
        let relative = base.map(|_| url[url::Position::BeforePath..url::Position::AfterQuery].to_owned());
        let url = relative.unwrap_or(whole);
        Ok(Some(Proposal { name, url, narrative, expect, candidates, forms: forms(page) }))
    }
}

/// Matches the path of an address, and its query if there is none.
fn address_pattern(url: &Url) -> String {
    let end = if url.query().is_none() && url.fragment().is_none() { "$" } else { "" };
    format!("{}{end}", escaped(url.path()))
}

fn escaped(text: &str) -> String {
    let escape = |c: char| r"\.+*?()|[]{}^$#&-~".contains(c).then_some('\\').into_iter().chain([c]);
    text.chars().flat_map(escape).collect()
}

/// The letters and digits of a name in lower case: those of the cases of a suite have to differ.
fn words_of(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn is_main_control(candidate: &Candidate) -> bool {
    candidate.frame == 0
        && candidate.role != Role::Link
        && candidate.placement == Placement::InView
        && candidate.occlusion.is_none()
        && !candidate.ambiguous
        && !candidate.name.is_empty()
        && candidate.locators.first().is_some_and(|locator| !Locator::is_raw(locator))
}

/// Where the links of a page lead, in their order, without fragments: links that only open something, on open origins.
fn links(page: &Observation, policy: &Policy) -> Vec<String> {
    let links = page.candidates.iter().filter(|it| it.role == Role::Link && !risk::of_click(it).needs_consent());
    let addresses = links.filter_map(|it| Url::parse(it.destination.as_deref()?).ok()).map(|mut url| {
        url.set_fragment(None);
        url.to_string()
    });
    let mut found: Vec<String> = addresses.filter(|url| policy.navigation(url).is_ok()).collect();
    let mut seen = BTreeSet::new();
    found.retain(|url| url.len() <= 2_000 && seen.insert(url.clone()));
    found
}

/// The forms of a page: a narrative with a placeholder for each field, up to its button.
fn forms(page: &Observation) -> Vec<(String, String)> {
    let mut forms: Vec<(&str, Vec<&Candidate>)> = Vec::new();
    for candidate in page.candidates.iter().filter(|it| it.frame == 0 && !it.name.is_empty()) {
        let Some(form) = candidate.form.as_deref() else { continue };
        match forms.iter_mut().find(|(name, _)| *name == form) {
            Some((_, parts)) => parts.push(candidate),
            None => forms.push((form, vec![candidate])),
        }
    }
    let narrative = |(form, parts): (&str, Vec<&Candidate>)| {
        let mut clauses: Vec<String> = Vec::new();
        for part in parts.iter().take(20) {
            let name = one_line(&part.name, LONGEST);
            match part.control {
                ControlKind::Select => clauses.push(format!("Select <OPTION> from {name}")),
                ControlKind::Check => clauses.push(format!("Tick {name}")),
                ControlKind::Plain | ControlKind::File => {}
                _ => clauses.push(format!("Type <{}> into {name}", words_of(&name).to_uppercase())),
            }
        }
        let button = parts.iter().find(|it| it.role == Role::Button);
        clauses.extend(button.map(|it| format!("Press \"{}\"", one_line(&it.name, LONGEST))));
        (clauses.len() > 1).then(|| (one_line(form, LONGEST), clauses.join(". ")))
    };
    forms.into_iter().take(5).filter_map(narrative).collect()
}

/// The text of the suite file.
fn written(start: &str, found: &Found) -> String {
    let origin = Url::parse(start).map_or_else(|_| start.to_owned(), |url| url.origin().ascii_serialization());
    let mut text = format!(
        "# Proposed by `cuebook propose`: each page and what it showed. Edit it: what matters, and what a person does.\n\
         # Cases that stand in comments are to be filled in.\n\nurl = {}\n",
        inline(&json!(origin))
    );
    for case in &found.cases {
        text.push_str(&member_lines(case));
        for (form, narrative) in &case.forms {
            let name = format!("{}: the form {form} is sent", case.name.trim_end_matches(" is shown"));
            let lines = [
                "# To be filled in: the values in < >, and what holds then.".to_owned(),
                "# [[case]]".to_owned(),
                format!("# name = {}", inline(&json!(name.chars().take(100).collect::<String>()))),
                format!("# narrative = {}", inline(&json!(narrative))),
                format!("# url = {}", inline(&json!(case.url))),
                "# expect = [{ kind = \"urlMatches\", pattern = \"<WHERE IT LEADS>\" }]".to_owned(),
            ];
            let _ = write!(text, "\n{}\n", lines.join("\n"));
        }
    }
    if !found.notes.is_empty() {
        text.push_str("\n# Not proposed:\n");
    }
    for note in &found.notes {
        let _ = writeln!(text, "# - {}", plain(note));
    }
    text
}

fn member_lines(case: &Proposal) -> String {
    let mut text = format!(
        "\n[[case]]\nname = {}\nnarrative = {}\nurl = {}\nexpect = [\n",
        inline(&json!(case.name)),
        inline(&json!(case.narrative)),
        inline(&json!(case.url))
    );
    for condition in &case.expect {
        let _ = writeln!(text, "    {},", inline(condition));
    }
    text.push_str("]\n");
    for (name, locator) in &case.candidates {
        let _ = writeln!(text, "candidates.{name} = {}", inline(locator));
    }
    text
}

/// A value in TOML, in one line. A string of JSON is a basic string, except for one character that JSON need not escape.
fn inline(value: &Value) -> String {
    let joined = |items: Vec<String>| items.join(", ");
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            format!("{{ {} }}", joined(members.map(|(name, value)| format!("{name} = {}", inline(value))).collect()))
        }
        Value::Array(items) => format!("[{}]", joined(items.iter().map(inline).collect())),
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_of_hostile_names_is_valid_and_runs_what_it_says() {
        let name = "It's \"quoted\"\n[[case]]\u{1b}[2J";
        let case = Proposal {
            name: name.to_owned(),
            url: "/a?b".to_owned(),
            narrative: name.to_owned(),
            expect: vec![json!({ "kind": "titleMatches", "pattern": escaped(name) })],
            candidates: BTreeMap::from([("heading", json!({ "strategy": "byRole", "role": "heading", "name": name }))]),
            forms: vec![("login".to_owned(), "Type <USER> into User".to_owned())],
        };
        let found = Found { cases: vec![case], notes: vec![format!("/x: {name}")] };
        let text = written("https://shop.test/start", &found);
        let read: toml::Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let cases = read["case"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!((cases.len(), read["url"].as_str()), (1, Some("https://shop.test")));
        assert_eq!(cases[0]["candidates"]["heading"]["name"].as_str(), Some(name));
        assert!(text.contains("\n# narrative = \"Type <USER> into User\"") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn an_address_is_matched_by_its_path() {
        let pattern = |url: &str| address_pattern(&Url::parse(url).unwrap_or_else(|error| panic!("{error}")));
        assert_eq!(pattern("https://a.test/b.c"), r"/b\.c$");
        assert_eq!(pattern("https://a.test/b?token=1"), "/b");
    }
}
