//! Answers: what happened, and what is different now.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use cuebook_grammar::action::Action;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{EffectRecord, remark};
use cuebook_grammar::record::{StepOrigin, StepResult};
use cuebook_grammar::render::{cut, one_line, quoted};
use cuebook_grammar::report::{ErrorCode, RunError, RunFailure, RunReport, RunResult, StepReport};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most characters of what a step read.
const DATA: usize = 40_000;
/// The most console messages of an answer.
const MESSAGES: usize = 5;

/// The outcome of a call, as sections of Markdown; empty ones are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Answer {
    /// Why the call did not do what it should; absent if it did.
    pub error: Option<String>,
    /// Steps that were done and texts that were read, one step a line. The first line has the verdict.
    pub result: Vec<String>,
    /// The open tabs, where there is more than one.
    pub tabs: Vec<String>,
    /// Address, title and status of the page, if they are not as they were last shown.
    pub page: Vec<String>,
    /// The dialog that blocks the page until it is answered.
    pub modal: Option<String>,
    /// The page, or what changed on it.
    pub snapshot: Option<String>,
    /// Ids of the elements on the page, where it was looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Messages of the console.
    pub events: Vec<String>,
    /// Pictures that were taken.
    pub pictures: Vec<Picture>,
    /// The report of the steps of this call.
    pub report: Option<Box<RunReport>>,
    /// The browser is gone, whatever the steps came to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_browser_gone: bool,
}

pub(crate) fn is_of_gone_browser(report: &RunReport) -> bool {
    report.error.as_ref().is_some_and(|error| error.code == ErrorCode::BrowserGone)
}

/// A picture in the folder of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// Path of the file.
    pub path: PathBuf,
    /// Media type of the file.
    pub media_type: String,
}

impl Answer {
    /// A call that could not be carried out.
    #[must_use]
    pub fn failed(why: impl Into<String>) -> Self {
        Self { error: Some(why.into()), ..Self::default() }
    }

    /// Returns `true` if the browser is gone, so that the session can only be ended.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.is_browser_gone || self.report.as_ref().is_some_and(|report| is_of_gone_browser(report))
    }

    /// The call ended because its page did not answer for this long.
    pub(crate) fn hung(mut self, patience: Duration) -> Self {
        let why = format!(
            "the page's script does not let go: it has not answered for {} s; reload the page, open an address, or close the \
             tab",
            patience.as_secs()
        );
        let error = RunError::new(ErrorCode::DeadlineExceeded, &*why);
        self.report = Some(Box::new(match self.report {
            Some(report) => RunReport { result: RunResult::Failed, error: Some(error), ..*report },
            None => RunReport::without_run(RunResult::Failed, Some(error)),
        }));
        self.error = Some(why);
        self
    }

    /// A page that cannot be seen.
    pub(crate) fn unseen(failure: &RunFailure) -> Self {
        Self { is_browser_gone: is_of_gone_browser(&failure.report), ..Self::failed(failure.to_string()) }
    }

    /// Adds the page as it is now; its address only where that is another one than was shown.
    pub(crate) fn show(&mut self, page: &Observation, is_known: bool, shown: String) {
        if !is_known {
            self.page.push(format!("- Page URL: {}", one_line(&page.url, 2_000)));
            self.page.push(format!("- Page Title: {}", one_line(&page.title, 200)));
            if let Some(status) = page.status.filter(|status| !(200..300).contains(status)) {
                self.page.push(format!("- HTTP status: {status}"));
            }
        }
        if page.dialog.is_none() && page.unseen().is_some() {
            self.page.push(
                "- The page cannot be seen: reload it, open an address, or close the tab if it stays so".to_owned(),
            );
        }
        self.modal = page.dialog.as_ref().map(|dialog| {
            let kind = format!("{:?}", dialog.kind).to_lowercase();
            let message = quoted(&dialog.message, 300);
            format!(
                "- [\"{kind}\" dialog with message {message}]: it blocks the page until it is accepted or dismissed"
            )
        });
        self.snapshot = Some(shown);
        self.ids = page.candidates.iter().map(|candidate| candidate.id.to_string()).collect();
    }

    /// The answer of steps that ran, `title` naming their targets as they were shown.
    pub(crate) fn of(report: RunReport, planned: usize, title: &dyn Fn(&StepReport) -> Option<String>) -> Self {
        let mut answer = Self::default();
        let mut done = 0;
        for steps in report.steps.chunk_by(is_more_of_it) {
            answer.result.push(match steps {
                [step] => line(step, title(step)),
                several => line_of(several),
            });
        }
        for step in &report.steps {
            done += usize::from(step.origin == StepOrigin::Plan && step.result == StepResult::Ok);
            let errors = step.effects.iter().flat_map(|effects| &effects.console_errors);
            let room = MESSAGES.saturating_sub(answer.events.len());
            answer.events.extend(errors.take(room).map(|message| format!("- console error: {}", quoted(message, 300))));
            if step.result == StepResult::Ok {
                answer.read(step, &report);
            }
        }
        if let Some(error) = &report.error {
            let mut why = why_not(error);
            if planned > done && done > 0 {
                why.push_str(&format!("\n{done} of {planned} steps succeeded; the rest was not started"));
            }
            answer.error = Some(why);
        }
        answer.report = Some(Box::new(report));
        answer
    }

    /// Takes in what a step read.
    fn read(&mut self, step: &StepReport, report: &RunReport) {
        let Some(data) = step.data.as_ref().filter(|_| step.origin == StepOrigin::Plan) else { return };
        let member = |name: &str| data.get(name).and_then(Value::as_str);
        match (&step.action.action, data) {
            (Action::Screenshot(_), _) => {
                if let (Some(dir), Some(path)) = (&report.run_dir, member("path")) {
                    let media_type = member("mediaType").unwrap_or("image/png").to_owned();
                    let path = PathBuf::from(dir).join(path);
                    self.result.push(format!("picture: {}", path.display()));
                    self.pictures.push(Picture { path, media_type });
                }
            }
            (Action::WaitForIdle(_), _) => {}
            (_, Value::String(text)) => self.result.push(fenced(&cut(text, DATA))),
            _ => self.result.push(cut(&serde_json::to_string_pretty(data).unwrap_or_default(), DATA)),
        }
    }
}

/// An error with all violations; where there is none, with its code.
pub(crate) fn why_not(error: &RunError) -> String {
    match &error.violations[..] {
        [] => error.to_string(),
        [_] => error.message.clone(),
        several => {
            let listed: Vec<String> = several.iter().take(20).map(|one| format!("- {}", one.in_words())).collect();
            format!("{} violations\n{}", several.len(), listed.join("\n"))
        }
    }
}

/// A text of the page between fences that it cannot close, so that none of its lines passes for one of ours.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

/// A step in one line, with its effect.
pub(crate) fn line(step: &StepReport, title: Option<String>) -> String {
    let verb = step.action.action.kind().meta().name;
    let target = step.action.action.target();
    let object = match (title, target) {
        (Some(title), Some(id)) => format!("{verb} {title} [{id}]"),
        (None, Some(id)) => format!("{verb} [{id}]"),
        _ => verb.to_owned(),
    };
    let why = if step.origin == StepOrigin::Repair { " (repair)" } else { "" };
    let repaired = match step.repairs {
        0 => String::new(),
        1 => " after 1 repair".to_owned(),
        repairs => format!(" after {repairs} repairs"),
    };
    match (&step.result, &step.failure) {
        (StepResult::Ok, _) => {
            let said = said(step);
            let said = if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) };
            let verdict = if step.no_observed_effect { "no effect" } else { "ok" };
            format!("{verdict}{repaired}: {object}{why}{said}")
        }
        (_, Some(failure)) => {
            format!("failed{repaired}: {object}{why}: {}: {}", failure.cause.as_str(), failure.message)
        }
        (_, None) => format!("not run: {object}{why}"),
    }
}

/// Effects and remarks of a step.
fn said(step: &StepReport) -> Vec<String> {
    let effects = step.effects.as_ref();
    let asked = match &step.action.action {
        Action::Navigate(navigate) => Some(navigate.url.as_str()),
        _ => None,
    };
    let mut said: Vec<String> = effects.map(|effects| happened(effects, asked)).unwrap_or_default();
    said.extend(remark(step.action.action.kind(), step.no_observed_effect, &step.post, effects));
    said
}

/// Returns `true` if nothing is to be said of either step but that it went well, as of the other.
fn is_more_of_it(one: &StepReport, other: &StepReport) -> bool {
    let is_plain = |step: &StepReport| {
        let is_done = step.result == StepResult::Ok && step.origin == StepOrigin::Plan && step.repairs == 0;
        is_done
            && step.data.is_none()
            && !step.no_observed_effect
            && step.action.action.target().is_some()
            && said(step).is_empty()
    };
    one.action.action.kind() == other.action.action.kind() && is_plain(one) && is_plain(other)
}

/// Steps of one verb of which nothing more is to be said, in one line.
fn line_of(steps: &[StepReport]) -> String {
    let verb = steps.first().map_or("", |step| step.action.action.kind().meta().name);
    let targets = steps.iter().filter_map(|step| step.action.action.target()).map(|id| format!("[{id}]"));
    format!("ok: {verb} {}", targets.collect::<Vec<_>>().join(" "))
}

/// The effects of a step in words, those that matter to whoever asked for it: not that the address is the one `asked` for.
fn happened(effects: &EffectRecord, asked: Option<&str>) -> Vec<String> {
    let mut said = Vec::new();
    match &effects.url_after {
        Some(url) if asked == Some(url) => {}
        Some(url) => said.push(format!("the page is now {}", quoted(url, 60))),
        None if effects.new_document => said.push("the page was loaded again".to_owned()),
        None => {}
    }
    said.extend(effects.new_tabs.iter().map(|url| format!("a tab opened at {}", quoted(url, 200))));
    said.extend(effects.closed_tabs.iter().map(|_| "a tab closed".to_owned()));
    said.extend(effects.downloads.iter().map(|download| download.in_words()));
    if let Some(first) = effects.denied.first() {
        let more = effects.denied.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let place = first.url.as_ref().unwrap_or(&first.host);
        said.push(format!("the policy denied a request to {}{more}", quoted(place, 200)));
    }
    if said.is_empty() && !effects.states.is_empty() {
        said.push(effects.states.iter().map(|state| one_line(state, 60)).collect::<Vec<_>>().join(", "));
    }
    said
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sections = [
            ("Error", self.error.clone().unwrap_or_default()),
            ("Result", self.result.join("\n")),
            ("Open tabs", self.tabs.join("\n")),
            ("Page", self.page.join("\n")),
            ("Modal state", self.modal.clone().unwrap_or_default()),
            ("Snapshot", self.snapshot.clone().unwrap_or_default()),
            ("Events", self.events.join("\n")),
        ];
        let mut is_first = true;
        for (title, text) in sections.iter().filter(|(_, text)| !text.is_empty()) {
            let gap = if is_first { "" } else { "\n" };
            is_first = false;
            writeln!(f, "{gap}### {title}\n{}", text.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::PageId;

    use super::*;

    #[test]
    fn no_text_of_a_page_passes_for_a_section() {
        assert_eq!(fenced("a\n### Result\nok\n"), "```\na\n### Result\nok\n```");
        assert_eq!(fenced("```\n### Result"), "````\n```\n### Result\n````");
    }

    #[test]
    fn a_page_that_does_not_answer_is_said_to_be_left() {
        let mut page = Observation::blank(PageId::new("p"), "http://a.test/");
        let mut shown = Answer::default();
        shown.show(&page, true, String::new());
        assert_eq!(shown.page, [""; 0]);
        let frame = serde_json::json!([{ "url": "http://a.test/", "origin": "", "omitted": "it did not answer" }]);
        page.frames = serde_json::from_value(frame).unwrap();
        shown.show(&page, true, String::new());
        assert!(shown.page.concat().contains("reload it, open an address"), "{:?}", shown.page);
    }

    #[test]
    fn sections_stand_in_their_order_and_empty_ones_are_left_out() {
        let answer = Answer {
            error: Some("gone".to_owned()),
            modal: Some("- a dialog".to_owned()),
            page: vec!["- Page URL: about:blank".to_owned()],
            ..Answer::default()
        };
        let text = "### Error\ngone\n\n### Page\n- Page URL: about:blank\n\n### Modal state\n- a dialog\n";
        assert_eq!(answer.to_string(), text);
    }
}
