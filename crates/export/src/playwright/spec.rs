//! A test for Playwright's runner: what the run did, and what it verified.
//!
//! The steps that worked come in order, repairs included. Postconditions that held become expectations; what Playwright
//! has no word for is named in a comment, and a step without one marks the test with `test.fixme`.
//!
//! Invariant: the test of a run that did not end well never just passes. The step that ended the run comes last, after
//! `test.fail` with the cause if Playwright would fail at it too, after `test.fixme` otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cuebook_grammar::action::{Action, Direction, MouseButton, OptionChoice};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::{Cause, Judged};
use cuebook_grammar::record::{RunResult, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::secret::WireText;
use cuebook_grammar::verdict::Verdict;
use serde_json::{Value, json};

use super::code::{expectations, literal, options, point, target};
use crate::error::ExportError;
use crate::folder::Part;
use crate::job::Job;
use crate::source::{ExportEntry, Pages, RunSource, word};

/// Pixels that a direction scrolls by: most of a viewport.
const SCROLL: i32 = 600;
/// How long a press is unless stated.
const LONG_PRESS_MS: u32 = 600;

/// Writes the test of a run.
pub(crate) fn test(job: &mut Job<'_>, run: &RunSource, part: &mut Part) -> Result<(), ExportError> {
    let mut spec = Spec::default();
    job.read(run, &mut |seen, _: &Pages| {
        match seen {
            ExportEntry::Header(header) => {
                spec.title = header.task.clone().unwrap_or_else(|| header.run_id.to_string())
            }
            ExportEntry::Step(record) => spec.step(record),
            ExportEntry::End(end) => spec.result = Some(end.result),
            _ => {}
        }
        Ok(())
    })?;
    spec.end();
    part.write(spec.finish().as_bytes())
}

#[derive(Default)]
struct Spec {
    title: String,
    body: Vec<String>,
    /// Names of variables of the environment, by the digest of a text that the log does not hold.
    secrets: BTreeMap<String, String>,
    /// Steps that cannot be written.
    missing: Vec<&'static str>,
    has_navigated: bool,
    /// The last attempt that failed, unless the run went on with another step of a plan.
    failed: Option<Box<StepRecord>>,
    /// How the run ended; absent if its log breaks off.
    result: Option<RunResult>,
}

impl Spec {
    fn step(&mut self, record: Box<StepRecord>) {
        match record.result {
            StepResult::Ok => {
                if record.origin != StepOrigin::Repair {
                    self.failed = None;
                }
                self.worked(&record);
            }
            StepResult::Failed | StepResult::Blocked => self.failed = Some(record),
            StepResult::Skipped => {}
        }
    }

    fn worked(&mut self, record: &StepRecord) {
        self.arrive(record);
        if let Carried::Missing = self.carry_out(record) {
            self.missing.push(record.action.action.kind().meta().name);
        }
        self.expect(record, record.post_check.iter().filter(|judged| judged.verdict == Verdict::Holds));
    }

    /// Goes to where the first step found itself.
    fn arrive(&mut self, record: &StepRecord) {
        if record.origin != StepOrigin::Start
            && !self.has_navigated
            && !matches!(record.action.action, Action::Navigate(_))
        {
            self.body.push(format!("await page.goto({});", literal(&record.url)));
        }
        self.has_navigated = true;
    }

    fn carry_out(&mut self, record: &StepRecord) -> Carried {
        match self.action(record) {
            Written::Line(line) => self.body.push(line),
            Written::BeforeLast(line) => self.body.insert(self.body.len().saturating_sub(1), line),
            Written::Nothing => {}
            Written::Missing => {
                self.body.push(format!("// not translated: {}", record.action.action.kind().meta().name));
                return Carried::Missing;
            }
        }
        Carried::Out
    }

    /// Writes conditions as expectations. Returns how many of them could be.
    fn expect<'a>(&mut self, record: &StepRecord, judged: impl Iterator<Item = &'a Judged>) -> usize {
        let mut written = 0;
        for judged in judged {
            match expectations(record, &judged.condition, &mut |text| secret(&mut self.secrets, text)) {
                // A wait states what its default expects again.
                Some(lines) => {
                    written += 1;
                    let new: Vec<_> = lines.into_iter().filter(|line| !is_last(&self.body, line)).collect();
                    self.body.extend(new);
                }
                None if judged.default => {}
                None => self.body.push(format!("// not translated: {}", judged.condition.tag())),
            }
        }
        written
    }

    /// Writes the end of a run that did not end well.
    fn end(&mut self) {
        if self.result == Some(RunResult::Ok) {
            return;
        }
        let Some(record) = self.failed.take() else {
            let how = self
                .result
                .map_or_else(|| "the log breaks off".to_owned(), |one| format!("the run ended: {}", word(&one)));
            self.body.push(format!("test.fixme(true, {});", literal(&format!("{how}, after the steps above"))));
            return;
        };
        self.arrive(&record);
        let at = self.body.len();
        let is_shown = self.failing(&record);
        let cause = record
            .failure
            .as_ref()
            .map_or_else(|| word(&record.result), |failure| format!("{}: {}", failure.cause.as_str(), failure.message));
        let mark = if is_shown { "fail" } else { "fixme" };
        self.body.insert(at, format!("test.{mark}(true, {});", literal(&cause)));
    }

    /// Writes a step that failed. Returns whether Playwright would fail at it for the same reason.
    fn failing(&mut self, record: &StepRecord) -> bool {
        let cause = record.failure.as_ref().map(|failure| failure.cause);
        let unmet = |judged: &&Judged| judged.verdict != Verdict::Holds;
        let unmet_before = self.expect(record, record.pre_check.iter().filter(unmet));
        let action = &record.action.action;
        if let (Some(Cause::HttpError), Action::Navigate(navigate)) = (cause, action)
            && navigate.status.is_none()
        {
            let url = literal(navigate.url.as_str());
            self.body.push(format!("expect((await page.goto({url}))?.status()).toBeLessThan(400);"));
            return true;
        }
        if let Carried::Missing = self.carry_out(record) {
            return false;
        }
        let unmet_after = self.expect(record, record.post_check.iter().filter(unmet));
        let is_judging = matches!(action, Action::WaitFor(_) | Action::Assert(_));
        let is_pointed = matches!(
            action,
            Action::Click(_)
                | Action::Check(_)
                | Action::Uncheck(_)
                | Action::Hover(_)
                | Action::DragTo(_)
                | Action::LongPress(_)
        );
        let is_editing = matches!(action, Action::SetValue(_) | Action::Clear(_));
        match cause {
            Some(Cause::PreconditionFailed) => is_judging || unmet_before > 0,
            Some(Cause::PostconditionFailed) => is_judging || unmet_after > 0,
            Some(Cause::DeadlineExceeded) => is_judging,
            Some(Cause::NavigationFailed) => matches!(action, Action::Navigate(_) | Action::Reload(_)),
            Some(Cause::TargetNotFound | Cause::TargetAmbiguous) => !action.targets().is_empty(),
            Some(Cause::NotVisible | Cause::NotEnabled) => {
                is_pointed || is_editing || matches!(action, Action::Select(_))
            }
            Some(Cause::NotStable | Cause::Covered) => is_pointed,
            Some(Cause::NotEditable) => is_editing,
            Some(Cause::OptionNotFound) => matches!(action, Action::Select(_)),
            _ => false,
        }
    }

    fn action(&mut self, record: &StepRecord) -> Written {
        let on = |of: &TargetRef, call: String| {
            target(record, of).map_or(Written::Missing, |target| Written::Line(format!("await {target}.{call};")))
        };
        let page = |call: String| Written::Line(format!("await page.{call};"));
        match &record.action.action {
            Action::Navigate(a) => page(format!("goto({})", literal(a.url.as_str()))),
            Action::GoBack(_) => page("goBack()".to_owned()),
            Action::GoForward(_) => page("goForward()".to_owned()),
            Action::Reload(_) => page("reload()".to_owned()),
            Action::WaitForIdle(_) => page("waitForLoadState(\"networkidle\")".to_owned()),
            Action::WaitFor(_) | Action::Assert(_) => {
                let condition = record.action.action.condition();
                let secrets = &mut self.secrets;
                let written = condition.and_then(|one| expectations(record, one, &mut |text| secret(secrets, text)));
                written.map_or(Written::Missing, |lines| Written::Line(lines.join("\n  ")))
            }
            Action::Scroll(a) => match (&a.target_ref, a.direction, &a.delta_x, &a.delta_y) {
                (Some(of), None, None, None) => on(of, "scrollIntoViewIfNeeded()".to_owned()),
                (_, direction, x, y) => {
                    let (by_x, by_y) = direction.map_or((0, 0), wheel);
                    let x = x.as_ref().map_or(by_x, |x| x.get());
                    let y = y.as_ref().map_or(by_y, |y| y.get());
                    let there = a.point.map(|at| format!("await page.mouse.move({}, {});\n  ", at.x, at.y));
                    Written::Line(format!("{}await page.mouse.wheel({x}, {y});", there.unwrap_or_default()))
                }
            },
            Action::ScrollUntil(a) => {
                let (across, down) = wheel(a.direction.unwrap_or(Direction::Down));
                let sought = a.sought().and_then(|of| target(record, &of));
                sought.map_or(Written::Missing, |target| {
                    let turn = format!("await page.mouse.wheel({across}, {down});");
                    let look = format!("await expect({target}).toBeInViewport({{ timeout: 500 }});");
                    Written::Line(format!("await expect(async () => {{ {turn} {look} }}).toPass();"))
                })
            }
            Action::Click(a) => {
                let button = a.button.filter(|button| *button != MouseButton::Left).map(|button| json!(button));
                let count = a.count.as_ref().map(|count| json!(count));
                let modifiers = a.modifiers.as_ref().map(|modifiers| json!(modifiers));
                let trial = a.dry_run.filter(|is_dry| *is_dry).map(Value::from);
                let position = point(a.position);
                let options = options(&[
                    ("button", button),
                    ("clickCount", count),
                    ("modifiers", modifiers),
                    ("position", position),
                    ("trial", trial),
                ]);
                on(&a.target_ref, format!("click({options})"))
            }
            Action::Clear(a) => on(&a.target_ref, "clear()".to_owned()),
            Action::SelectText(a) => on(&a.target_ref, "selectText()".to_owned()),
            Action::Type(a) => {
                let text = self.entered(record, a.text.as_ref());
                on(&a.target_ref, format!("pressSequentially({text})"))
            }
            Action::SetValue(a) => {
                let text = self.entered(record, a.value.as_ref());
                on(&a.target_ref, format!("fill({text})"))
            }
            Action::Press(a) => match &a.target_ref {
                Some(of) => on(of, format!("press({})", literal(a.keys.as_str()))),
                None => page(format!("keyboard.press({})", literal(a.keys.as_str()))),
            },
            Action::Select(a) => {
                let choices: Vec<Value> = a.option.choices.iter().map(choice).collect();
                on(&a.target_ref, format!("selectOption({})", Value::from(choices)))
            }
            Action::Check(a) => on(&a.target_ref, format!("check({})", options(&[("position", point(a.position))]))),
            Action::Uncheck(a) => {
                on(&a.target_ref, format!("uncheck({})", options(&[("position", point(a.position))])))
            }
            Action::Hover(a) => on(&a.target_ref, format!("hover({})", options(&[("position", point(a.position))]))),
            Action::Focus(a) => on(&a.target_ref, "focus()".to_owned()),
            Action::DragTo(a) => target(record, &a.to).map_or(Written::Missing, |to| {
                let options =
                    options(&[("sourcePosition", point(a.position)), ("targetPosition", point(a.to_position))]);
                let options = if options.is_empty() { options } else { format!(", {options}") };
                on(&a.target_ref, format!("dragTo({to}{options})"))
            }),
            Action::Upload(a) => on(&a.target_ref, format!("setInputFiles({})", literal(&a.files))),
            Action::LongPress(a) => {
                let delay = a.duration_ms.as_ref().map_or(LONG_PRESS_MS, |ms| ms.get());
                on(&a.target_ref, format!("click({{ delay: {delay} }})"))
            }
            Action::ClickPoint(a) => {
                let button = a.button.filter(|button| *button != MouseButton::Left);
                let button = button.map(|button| format!("button: {}", json!(button)));
                let count = a.count.as_ref().map(|count| format!("clickCount: {}", count.get()));
                let options = button.into_iter().chain(count).collect::<Vec<_>>().join(", ");
                let options = if options.is_empty() { options } else { format!(", {{ {options} }}") };
                page(format!("mouse.click({}, {}{options})", a.point.x, a.point.y))
            }
            Action::LongPressPoint(a) => {
                let delay = a.duration_ms.as_ref().map_or(LONG_PRESS_MS, |ms| ms.get());
                page(format!("mouse.click({}, {}, {{ delay: {delay} }})", a.point.x, a.point.y))
            }
            Action::DragPoints(a) => {
                let moved = a.via.iter().flatten().chain([&a.to]);
                let moved = moved.map(|to| format!("await page.mouse.move({}, {}, {{ steps: 10 }});\n  ", to.x, to.y));
                let (x, y, moved) = (a.from.x, a.from.y, moved.collect::<String>());
                Written::Line(format!(
                    "await page.mouse.move({x}, {y});\n  await page.mouse.down();\n  {moved}await page.mouse.up();"
                ))
            }
            // A dialog is answered by a handler that is there before it opens.
            Action::AcceptDialog(a) => {
                let text = a.text.as_ref().map_or_else(String::new, |text| literal(text.as_str()));
                Written::BeforeLast(format!("page.once(\"dialog\", (dialog) => dialog.accept({text}));"))
            }
            Action::DismissDialog(_) => {
                Written::BeforeLast("page.once(\"dialog\", (dialog) => dialog.dismiss());".to_owned())
            }
            Action::Evaluate(a) => page(format!("evaluate({})", literal(a.script.as_str()))),
            Action::Extract(_)
            | Action::Snapshot(_)
            | Action::Screenshot(_)
            | Action::GetDom(_)
            | Action::SearchPage(_)
            | Action::FindElements(_)
            | Action::ResolveSelector(_)
            | Action::Finish(_) => Written::Nothing,
            Action::SwitchTab(_)
            | Action::CloseTab(_)
            | Action::Fetch(_)
            | Action::ReadFile(_)
            | Action::WriteFile(_)
            | Action::Shell(_)
            | Action::Call(_)
            | Action::Fail(_)
            | Action::AskUser(_) => Written::Missing,
        }
    }

    /// The text that a step entered, or the variable that holds it.
    fn entered(&mut self, record: &StepRecord, text: Option<&WireText>) -> String {
        match (text, record.action.action.credential()) {
            (Some(text), _) => secret(&mut self.secrets, text),
            (None, Some(name)) => variable(&mut self.secrets, name.as_str()),
            (None, None) => literal(""),
        }
    }

    fn finish(self) -> String {
        let mut out = String::from("import { expect, test } from \"@playwright/test\";\n");
        // Writing to a string cannot fail.
        for name in self.secrets.values() {
            let _ = writeln!(
                out,
                "\n// A text that the log does not hold.\nconst {name} = process.env[\"{name}\"] ?? \"\";"
            );
        }
        let _ = writeln!(out, "\ntest({}, async ({{ page }}) => {{", literal(&self.title));
        if let Some(verb) = self.missing.first() {
            let _ = writeln!(out, "  test.fixme(true, \"not translated: {verb}\");");
        }
        for line in self.body {
            let _ = writeln!(out, "  {line}");
        }
        out.push_str("});\n");
        out
    }
}

/// Returns `true` if the line was just written.
fn is_last(body: &[String], line: &str) -> bool {
    body.last().is_some_and(|last| last == line)
}

enum Carried {
    Out,
    Missing,
}

enum Written {
    Line(String),
    BeforeLast(String),
    /// Reading, which a test has no use for.
    Nothing,
    Missing,
}

const fn wheel(direction: Direction) -> (i32, i32) {
    const FAR: i32 = 1_000_000;
    match direction {
        Direction::Up => (0, -SCROLL),
        Direction::Down => (0, SCROLL),
        Direction::Left => (-SCROLL, 0),
        Direction::Right => (SCROLL, 0),
        Direction::Top => (0, -FAR),
        Direction::Bottom => (0, FAR),
    }
}

fn choice(choice: &OptionChoice) -> Value {
    match choice {
        OptionChoice::Index(index) => json!({ "index": index }),
        other => json!(other),
    }
}

fn secret(secrets: &mut BTreeMap<String, String>, text: &WireText) -> String {
    match text {
        WireText::Clear(text) => literal(text.as_str()),
        WireText::Redacted(digest) => variable(secrets, digest.as_str()),
    }
}

fn variable(secrets: &mut BTreeMap<String, String>, key: &str) -> String {
    let name = format!("SECRET_{}", secrets.len() + 1);
    secrets.entry(key.to_owned()).or_insert(name).clone()
}
