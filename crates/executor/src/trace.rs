//! Traces: what a step came to know and awaited, line by line, so that it can be judged again without a browser.
//!
//! A trace holds what the pages held, secrets included: only tests record.

use std::time::{Duration, Instant};

use cuebook_grammar::condition::Condition;
use serde::{Deserialize, Serialize};

use crate::seen::Event;
use crate::settling::{Awaited, Bounds};
use crate::tape::Tape;

/// One line of a trace.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Line {
    /// A step begins on a page.
    Step { main_frame: String, url: String, waits: bool },
    /// An event that the step took in.
    Event(Event),
    /// From here on, the step awaits these. Moments are counted from the beginning of the step.
    Awaits {
        awaited: Vec<AwaitedRecord>,
        frames: usize,
        lingers_for: Option<Duration>,
        until: Duration,
        answer_by: Duration,
    },
    /// The page was asked for its answer to the input, if it can be.
    Asked { can_answer: bool },
    /// A frame replied; `answered`: with that answer.
    Replied { answered: bool },
    /// The frames that have not replied are not waited for.
    GaveUp,
    /// The step waits for nothing any more. When each condition came true, in milliseconds from the input.
    Settled { held_at: Vec<Option<u32>> },
}

/// A condition that is awaited.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AwaitedRecord {
    condition: Condition,
    is_default: bool,
    until: Duration,
    span: Option<Duration>,
}

impl Line {
    /// A step begins to await these; `lingers_by`: until when it waits for its requests, if it states nothing.
    pub(crate) fn awaits(
        tape: &Tape,
        awaited: &[Awaited],
        frames: usize,
        lingers_by: Option<Instant>,
        bounds: Bounds,
    ) -> Self {
        let stated = |one: &Awaited| AwaitedRecord {
            condition: one.condition.clone(),
            is_default: one.is_default,
            until: tape.after(one.until),
            span: one.span,
        };
        Self::Awaits {
            awaited: awaited.iter().map(stated).collect(),
            frames,
            lingers_for: lingers_by.map(|by| tape.after(by)),
            until: tape.after(bounds.until),
            answer_by: tape.after(bounds.answer_by),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cuebook_grammar::ledger::downloads::Downloads;
    use cuebook_grammar::secret::DigestKey;

    use super::*;
    use crate::facts::Gathered;
    use crate::seen::Seen;
    use crate::settling::{Next, QUIET, Settling};
    use crate::tape;
    use crate::traffic::Traffic;

    type Entry = tape::Entry<Line>;

    /// How long the executor may take to notice what it knows, on a busy machine.
    const NOTICING: Duration = Duration::from_millis(250);

    /// How a step ended.
    #[derive(Debug, PartialEq)]
    struct End {
        /// Which conditions came true.
        held: Vec<bool>,
        at: Duration,
    }

    fn read(text: &str) -> Vec<Entry> {
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }

    /// The committed steps, by file and line.
    fn traces() -> Vec<(String, Vec<Entry>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
        let mut steps: Vec<(String, Vec<Entry>)> = Vec::new();
        for path in folder.read_dir().unwrap().map(|file| file.unwrap().path()) {
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            for (line, entry) in (1..).zip(read(&std::fs::read_to_string(&path).unwrap())) {
                if matches!(entry.line, Line::Step { .. }) {
                    steps.push((format!("{name}:{line}"), Vec::new()));
                }
                steps.last_mut().unwrap().1.push(entry);
            }
        }
        steps
    }

    fn recorded_end(trace: &[Entry]) -> End {
        let settled = trace.iter().find_map(|entry| match &entry.line {
            Line::Settled { held_at } => Some((entry.at, held_at)),
            _ => None,
        });
        let (at, held_at) = settled.unwrap();
        End { held: held_at.iter().map(Option::is_some).collect(), at }
    }

    /// Waits as the executor does, on what the trace says, without the browser and without the time.
    struct Replay<'a, 't> {
        seen: &'a mut Seen<'t>,
        settling: Settling,
        awaited: Vec<Awaited>,
        bounds: Bounds,
    }

    impl Replay<'_, '_> {
        /// Goes on until `until`; returns when the step ends, if it does before.
        fn pass(&mut self, mut now: Instant, until: Option<Instant>) -> Option<Instant> {
            loop {
                if self.settling.is_told() {
                    self.seen.add_urls(now);
                }
                let events = self.seen.events();
                self.settling.weigh(self.seen, &mut self.awaited, &events, now);
                if until.is_none() && self.settling.wants_answer(&self.awaited) {
                    self.settling.asked(false);
                }
                let wake = match self.settling.next(self.seen, &self.awaited, now, self.bounds) {
                    Next::Done => return Some(now),
                    Next::Anything(wake) | Next::Document(wake) => wake,
                    Next::Answers if until.is_none() => {
                        self.settling.give_up();
                        continue;
                    }
                    Next::Answers => return None,
                };
                if until.is_some_and(|until| until <= wake) {
                    return None;
                }
                now = wake;
                if self.settling.wants_quiet(self.seen, &self.awaited) {
                    self.seen.on(Event::Quiet { span: QUIET }, now);
                }
            }
        }
    }

    fn replay(trace: &[Entry]) -> End {
        let began = Instant::now();
        let mut lines = trace.iter();
        let Some(Entry { line: Line::Step { main_frame, url, waits }, .. }) = lines.next() else {
            panic!("expected the beginning of a step")
        };
        let (mut traffic, mut downloads) = (Traffic::new(main_frame, began), Downloads::default());
        let gathered = Gathered::new(Vec::new(), DigestKey::new([9; 32]), url.clone());
        let mut seen = Seen::new(gathered, &mut traffic, &mut downloads, 0, *waits, began);
        let awaits = loop {
            let entry = lines.next().unwrap();
            match &entry.line {
                Line::Event(event) => drop(seen.on(event.clone(), began + entry.at)),
                Line::Awaits { awaited, frames, lingers_for, until, answer_by } => {
                    break (entry.at, awaited, *frames, *lingers_for, *until, *answer_by);
                }
                _ => {}
            }
        };
        let (at, stated, frames, lingers_for, until, answer_by) = awaits;
        let awaited =
            |one: &AwaitedRecord| Awaited::new(one.condition.clone(), one.is_default, began + one.until, one.span);
        let awaited: Vec<Awaited> = stated.iter().map(awaited).collect();
        let lingers_by = began + lingers_for.unwrap_or_default();
        let settling = Settling::new(&awaited, frames, lingers_for.is_some(), lingers_by, began + at);
        let bounds = Bounds { until: began + until, answer_by: began + answer_by };
        let mut replay = Replay { seen: &mut seen, settling, awaited, bounds };
        let mut now = began + at;
        let mut end = None;
        for entry in lines {
            let then = began + entry.at;
            end = replay.pass(now, Some(then));
            if end.is_some() || matches!(entry.line, Line::Settled { .. }) {
                break;
            }
            now = then;
            match &entry.line {
                Line::Event(Event::Quiet { .. }) => {}
                Line::Event(event) => drop(replay.seen.on(event.clone(), then)),
                Line::Asked { can_answer } => replay.settling.asked(*can_answer),
                Line::Replied { answered: true } => replay.settling.answered(),
                Line::Replied { answered: false } => replay.settling.told(),
                Line::GaveUp => replay.settling.give_up(),
                Line::Step { .. } | Line::Awaits { .. } | Line::Settled { .. } => {}
            }
        }
        let end = end.or_else(|| replay.pass(now, None)).unwrap();
        End {
            held: replay.awaited.iter().map(|one| one.held_at.is_some()).collect(),
            at: end.saturating_duration_since(began),
        }
    }

    #[test]
    fn what_was_recorded_is_judged_as_it_was_and_as_soon() {
        let traces = traces();
        assert!(traces.len() >= 90, "{}", traces.len());
        let differs = |(name, trace): &(String, Vec<Entry>)| {
            let (now, then) = (replay(trace), recorded_end(trace));
            let is_soon = now.at <= then.at + NOTICING && now.at + NOTICING >= then.at;
            (now.held != then.held || !is_soon).then(|| format!("{name}: {now:?}, recorded {then:?}"))
        };
        let different: Vec<String> = traces.iter().filter_map(differs).collect();
        assert!(different.is_empty(), "{}", different.join("\n"));
    }

    #[test]
    fn a_condition_that_came_true_needs_what_showed_it() {
        for (name, mut trace) in traces() {
            let whole = replay(&trace);
            let waits = trace.iter().position(|entry| matches!(entry.line, Line::Awaits { .. })).unwrap();
            let idles = |one: &AwaitedRecord| {
                let mut idles = false;
                one.condition.visit(&mut |part| idles |= matches!(part, Condition::NetworkIdle(_)));
                idles
            };
            if matches!(&trace[waits].line, Line::Awaits { awaited, .. } if awaited.iter().any(idles)) {
                // Nothing at all is what it awaits.
                continue;
            }
            // Without anything that arrived once the step had its input, nothing is seen to have changed.
            let input = trace.iter().position(|entry| matches!(entry.line, Line::Event(Event::Input)));
            let from = input.map_or(waits, |input| input.min(waits));
            let mut index = 0;
            trace.retain(|entry| {
                index += 1;
                index - 1 <= from || !matches!(entry.line, Line::Event(_))
            });
            let blind = replay(&trace);
            let gained = blind.held.iter().zip(&whole.held).any(|(blind, whole)| *blind && !*whole);
            assert!(!gained, "{name}: {blind:?}, with all that was seen {whole:?}");
        }
    }
}
