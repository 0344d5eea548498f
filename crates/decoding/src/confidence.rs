//! How sure a model was of each step of a plan that it wrote.

use std::ops::Range;

use crate::read::{Form, is_step_line};
use crate::scan::Scan;

/// Members of a step, as JSON, that follow what it does.
const AFTERTHOUGHTS: [&str; 6] = ["timeoutMs", "explanation", "pre", "post", "estimatedRisk", "confidence"];

/// A token of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenProbability {
    /// Its bytes, which need not be whole characters.
    pub bytes: Vec<u8>,
    /// The probability with which the model chose it, from 0 to 1.
    pub probability: f64,
}

/// The confidence of each step of an answer, in order: the probability of what it does, which is its verb with target and
/// arguments. Its conditions and remarks do not count. Empty if `tokens` are not those of `text`, or `form` is neither
/// [`Form::Plan`] nor [`Form::Lines`].
///
/// Cost: linear in the answer.
#[must_use]
pub fn confidences(text: &str, form: Form, tokens: &[TokenProbability]) -> Vec<f64> {
    let mut end = 0;
    let mut ends = Vec::with_capacity(tokens.len());
    for token in tokens {
        if !text.as_bytes().get(end..).is_some_and(|rest| rest.starts_with(&token.bytes)) {
            return Vec::new();
        }
        end += token.bytes.len();
        ends.push(end);
    }
    if end != text.len() {
        return Vec::new();
    }
    let of = |act: Range<usize>| {
        let reached =
            tokens.iter().zip(&ends).filter(|(token, end)| **end > act.start && **end - token.bytes.len() < act.end);
        reached.map(|(token, _)| token.probability).product()
    };
    match form {
        Form::Lines => acts_of_lines(text).map(of).collect(),
        Form::Plan => acts_of_plan(text).into_iter().map(of).collect(),
        _ => Vec::new(),
    }
}

/// Where each line that is a step says what the step does.
fn acts_of_lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = from + (line.len() - line.trim_start().len());
        from += line.len();
        is_step_line(line).then(|| start..start + call(line.trim()))
    })
}

/// The length of the call that a step begins with: up to the bracket that closes it.
fn call(step: &str) -> usize {
    let mut quotes = Quotes::default();
    let mut depth = 0_u32;
    for (at, byte) in step.bytes().enumerate() {
        match byte {
            _ if quotes.holds(byte) => {}
            b'(' => depth += 1,
            b')' if depth <= 1 => return at + 1,
            b')' => depth -= 1,
            _ => {}
        }
    }
    step.len()
}

/// Where each step of a plan, as JSON, says what it does.
fn acts_of_plan(text: &str) -> Vec<Range<usize>> {
    let from = text.find('{').unwrap_or(text.len());
    let mut scan = Scan::default();
    let mut acts = Vec::new();
    for (at, byte) in text.bytes().enumerate().skip(from) {
        if let Some(step) = scan.take(byte) {
            let start = from + step.from;
            acts.push(start..start + members(text.get(start..=at).unwrap_or_default()));
        }
    }
    acts
}

/// The length of the members of a step up to the first of [`AFTERTHOUGHTS`].
fn members(step: &str) -> usize {
    let mut quotes = Quotes::default();
    let (mut depth, mut string) = (0_u32, 0);
    for (at, byte) in step.bytes().enumerate() {
        let was_open = quotes.is_open;
        if quotes.holds(byte) {
            if !was_open {
                string = at;
            }
            continue;
        }
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 1 => {
                let name = step.get(string..at).unwrap_or_default().trim_end().trim_matches('"');
                if AFTERTHOUGHTS.contains(&name) {
                    return string;
                }
            }
            _ => {}
        }
    }
    step.len()
}

/// Strings in quotes, with escapes.
#[derive(Default)]
struct Quotes {
    is_open: bool,
    is_escaped: bool,
}

impl Quotes {
    /// Takes a byte. Returns `true` if it belongs to a string, its quotes included.
    fn holds(&mut self, byte: u8) -> bool {
        let was_open = self.is_open;
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if was_open => self.is_escaped = true,
            b'"' => self.is_open = !was_open,
            _ => {}
        }
        was_open || self.is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of one byte each: those of `doubted` are chosen with one half.
    fn tokens(text: &str, doubted: &str) -> Vec<TokenProbability> {
        let from = text.find(doubted).unwrap();
        let probability = |at: usize| if (from..from + doubted.len()).contains(&at) { 0.5 } else { 1.0 };
        let token = |(at, byte)| TokenProbability { bytes: vec![byte], probability: probability(at) };
        text.bytes().enumerate().map(token).collect()
    }

    fn seen(text: &str, form: Form, doubted: &str) -> Vec<f64> {
        confidences(text, form, &tokens(text, doubted))
    }

    #[test]
    fn what_a_line_does_counts_and_its_conditions_do_not() {
        let text = "# c1 (first)\ngoal: visible(c1)\nsetValue(c3,\"a) => (\\\"\") => visible(c1)\n\
                    waitFor(visible(c2)) if enabled(c1)\nfinish()";
        for (doubted, expected) in [
            ("irs", [1.0, 1.0, 1.0]),
            ("oal: vis", [1.0, 1.0, 1.0]),
            ("set", [0.125, 1.0, 1.0]),
            ("c3", [0.25, 1.0, 1.0]),
            ("=> (", [0.0625, 1.0, 1.0]),
            (") => vis", [0.5, 1.0, 1.0]),
            ("(c2))", [1.0, 0.03125, 1.0]),
            ("c1)\nfi", [1.0, 1.0, 0.25]),
        ] {
            assert_eq!(seen(text, Form::Lines, doubted), expected, "{doubted}");
        }
    }

    #[test]
    fn what_a_step_as_json_does_counts_and_its_conditions_do_not() {
        let text = r#" {"steps":[{"type":"setValue","targetRef":"c1","value":"pre\":[","timeoutMs":5,"post":[{"type":"exists","target":"c1"}]},{"type":"press","keys":["a","b"],"pre":[]}],"last":{"type":"click","targetRef":"c2"}}"#;
        for (doubted, expected) in [
            (" {\"steps\":", [1.0, 1.0, 1.0]),
            ("re\\\":[", [0.015625, 1.0, 1.0]),
            (":5", [1.0, 1.0, 1.0]),
            ("exists", [1.0, 1.0, 1.0]),
            ("a\",\"b", [1.0, 0.03125, 1.0]),
            ("c2", [1.0, 1.0, 0.25]),
        ] {
            assert_eq!(seen(text, Form::Plan, doubted), expected, "{doubted}");
        }
        assert_eq!(seen(r#"{"steps":[{"type":"#, Form::Plan, "type"), [0.0; 0]);
    }

    #[test]
    fn tokens_of_another_text_say_nothing() {
        let text = "click(c1)";
        let mut all = tokens(text, "c1");
        assert_eq!(confidences(text, Form::Lines, &all), [0.25]);
        assert_eq!(confidences(text, Form::ToolCalls, &all), [0.0; 0]);
        assert_eq!(confidences("click(c2)", Form::Lines, &all), [0.0; 0]);
        assert_eq!(confidences("click(c1)\n", Form::Lines, &all), [0.0; 0]);
        all.pop();
        assert_eq!(confidences(text, Form::Lines, &all), [0.0; 0]);
        assert_eq!(confidences("", Form::Lines, &[]), [0.0; 0]);
    }

    #[test]
    fn a_token_that_two_steps_share_counts_for_both() {
        let token = |text: &str, probability| TokenProbability { bytes: text.as_bytes().to_vec(), probability };
        let all = [token("click(c1", 1.0), token(")\ncl", 0.5), token("ick(c2)", 0.5)];
        assert_eq!(confidences("click(c1)\nclick(c2)", Form::Lines, &all), [0.5, 0.25]);
    }
}
