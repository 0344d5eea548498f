//! Moves repeated expressions to shared rules.
//!
//! The tails that every step may have are written once ([`share_tails`]), for all dialects.
//!
//! llama.cpp unrolls a repetition in place, counts every rule that a group expands to, and refuses groups of
//! over 2,000 that are repeated or optional. A rule of its own counts once, and a grammar of forty equal strings is
//! unrolled once and not forty times.
//!
//! Invariant: the sentences are the same.

use super::cfg::{Cfg, Expression, Rule};

/// Returns an equivalent grammar with strings and repetitions as rules. Linear in the grammar times the number of
/// different repetitions.
pub(crate) fn share(cfg: &Cfg) -> Cfg {
    let mut shared = Shared { taken: cfg.rules.iter().map(|rule| rule.name.clone()).collect(), rules: Vec::new() };
    let rules: Vec<Rule> = cfg
        .rules
        .iter()
        .map(|rule| Rule { name: rule.name.clone(), expression: shared.expression(&rule.expression) })
        .collect();
    Cfg { rules: rules.into_iter().chain(shared.rules).collect() }
}

/// The fewest optional parts that are worth a rule.
const TAIL: usize = 3;

/// Returns an equivalent grammar with a rule for each run of optional parts that several sequences end with, or end
/// with but for a closing part. Quadratic in the length of a run, linear in the grammar.
pub(crate) fn share_tails(mut cfg: Cfg) -> Cfg {
    let mut runs: Vec<Vec<Expression>> = Vec::new();
    for rule in &cfg.rules {
        each_run(&rule.expression, &mut |run| runs.push(run.iter().map(|part| (*part).clone()).collect()));
    }
    // The longest tail that a second run has too; the same for every run that has it.
    let mut tails: Vec<Vec<Expression>> = Vec::new();
    for run in &runs {
        let mut suffixes = (0..run.len().saturating_sub(TAIL - 1)).map(|from| &run[from..]);
        let is_shared = |suffix: &&[Expression]| runs.iter().filter(|other| other.ends_with(suffix)).count() > 1;
        if let Some(tail) = suffixes.find(is_shared)
            && !tails.iter().any(|known| known == tail)
        {
            tails.push(tail.to_vec());
        }
    }
    tails.sort_by_key(|tail| std::cmp::Reverse(tail.len()));
    let names: Vec<String> = (1..=tails.len()).map(|number| format!("tail-{number}")).collect();
    let named: Vec<(&[Expression], &str)> =
        tails.iter().zip(&names).map(|(tail, name)| (tail.as_slice(), name.as_str())).collect();
    for rule in &mut cfg.rules {
        rule.expression = with_tails(&rule.expression, &named);
    }
    let rules = named.iter().map(|(tail, name)| Rule {
        name: (*name).to_owned(),
        expression: Expression::Sequence(tail.iter().map(|part| with_tails(part, &named)).collect()),
    });
    cfg.rules.extend(rules.collect::<Vec<_>>());
    cfg
}

/// The runs of at least [`TAIL`] optional parts at the end of sequences, or before their last part.
fn run<'e>(parts: &[&'e Expression]) -> std::ops::Range<usize> {
    let is_optional = |part: &&'e Expression| matches!(part, Expression::Repeat(_, 0, 1));
    let end = match parts.split_last() {
        Some((last, _)) if is_optional(last) => parts.len(),
        Some((_, before)) => before.len(),
        None => 0,
    };
    let length = parts[..end].iter().rev().take_while(|part| is_optional(part)).count();
    if length < TAIL { end..end } else { end - length..end }
}

fn each_run<'e>(expression: &'e Expression, take: &mut dyn FnMut(&[&'e Expression])) {
    match expression {
        Expression::Sequence(_) => {
            let parts = expression.flat();
            let run = run(&parts);
            if !run.is_empty() {
                take(&parts[run]);
            }
            parts.into_iter().for_each(|part| each_run(part, take));
        }
        Expression::Choice(parts) => parts.iter().for_each(|part| each_run(part, take)),
        Expression::Repeat(inner, ..) => each_run(inner, take),
        _ => {}
    }
}

fn with_tails(expression: &Expression, tails: &[(&[Expression], &str)]) -> Expression {
    match expression {
        Expression::Sequence(_) => {
            let parts = expression.flat();
            let run = run(&parts);
            let ends = |tail: &[Expression]| {
                run.len() >= tail.len() && parts[run.end - tail.len()..run.end].iter().zip(tail).all(|(a, b)| **a == *b)
            };
            let tail = tails.iter().find(|(tail, _)| ends(tail));
            let (from, name) = tail.map_or((run.end, None), |(tail, name)| (run.end - tail.len(), Some(*name)));
            let before = parts[..from].iter().map(|part| with_tails(part, tails));
            let after = parts[run.end..].iter().map(|part| with_tails(part, tails));
            let name = name.map(|name| Expression::Rule(name.to_owned()));
            Expression::Sequence(before.chain(name).chain(after).collect())
        }
        Expression::Choice(parts) => Expression::Choice(parts.iter().map(|part| with_tails(part, tails)).collect()),
        Expression::Repeat(inner, min, max) => Expression::Repeat(Box::new(with_tails(inner, tails)), *min, *max),
        other => other.clone(),
    }
}

struct Shared {
    taken: Vec<String>,
    rules: Vec<Rule>,
}

impl Shared {
    fn expression(&mut self, expression: &Expression) -> Expression {
        match expression {
            Expression::JsonString(min, max) => self.rule(&format!("text-{min}-{max}"), expression.clone()),
            Expression::Pattern(max) => self.expression(&Expression::spelled_pattern(*max)),
            Expression::Repeat(inner, min, max) => {
                let repeated = Expression::Repeat(Box::new(self.expression(inner)), *min, *max);
                if *max <= 1 { repeated } else { self.rule(&format!("some-{min}-{max}"), repeated) }
            }
            Expression::Sequence(parts) => Expression::Sequence(self.all(parts)),
            Expression::Choice(parts) => Expression::Choice(self.all(parts)),
            Expression::Literal(_) | Expression::Class(_) | Expression::Rule(_) | Expression::Integer(..) => {
                expression.clone()
            }
        }
    }

    fn all(&mut self, parts: &[Expression]) -> Vec<Expression> {
        parts.iter().map(|part| self.expression(part)).collect()
    }

    fn rule(&mut self, name: &str, expression: Expression) -> Expression {
        if let Some(known) = self.rules.iter().find(|rule| rule.expression == expression) {
            return Expression::Rule(known.name.clone());
        }
        let mut unique = name.to_owned();
        let mut number = 1_u32;
        while self.taken.contains(&unique) {
            number = number.saturating_add(1);
            unique = format!("{name}-{number}");
        }
        self.taken.push(unique.clone());
        self.rules.push(Rule { name: unique.clone(), expression });
        Expression::Rule(unique)
    }
}

impl Cfg {
    /// An upper bound of the rules that llama.cpp counts for one repetition, which is what it limits: those of
    /// the repeated expression times the repetitions. A rule that was counted before counts again here.
    pub(crate) fn greatest_repetition(&self) -> u64 {
        let mut greatest = 0;
        for rule in &self.rules {
            rules_of(&rule.expression, &mut greatest);
        }
        greatest
    }
}

/// The number of rules that the parser makes of an expression.
fn rules_of(expression: &Expression, greatest: &mut u64) -> u64 {
    let times = |inner: u64, max: u32, greatest: &mut u64| {
        *greatest = (*greatest).max(inner.max(1).saturating_mul(u64::from(max.max(1))));
    };
    match expression {
        Expression::Literal(_) | Expression::Class(_) => 0,
        Expression::Rule(_) => 1,
        Expression::Integer(min, max) => rules_of(&Expression::digits(*min, *max), greatest),
        Expression::Pattern(max) => rules_of(&Expression::spelled_pattern(*max), greatest),
        Expression::Sequence(parts) => parts.iter().map(|part| rules_of(part, greatest)).sum(),
        Expression::Choice(parts) => parts.iter().map(|part| rules_of(part, greatest)).sum::<u64>().saturating_add(1),
        Expression::Repeat(inner, min, max) => {
            let inside = rules_of(inner, greatest);
            // What is no group is one character or one rule.
            let is_group = matches!(**inner, Expression::Sequence(_) | Expression::Choice(_) | Expression::Integer(..));
            let inside = if is_group { inside.saturating_add(1) } else { inside };
            times(if is_group { inside } else { 1 }, *max, greatest);
            inside.saturating_add(u64::from(max.saturating_sub(*min)))
        }
        Expression::JsonString(min, max) => {
            times(1, *max, greatest);
            u64::from(max.saturating_sub(*min)).saturating_add(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn optional_text() -> Expression {
        Expression::Sequence(vec![Expression::literal("x"), Expression::JsonString(0, 1_999)]).optional()
    }

    #[test]
    fn a_long_string_within_an_optional_part_counts_in_its_own_rule_only() {
        let inline = Cfg { rules: vec![Rule { name: "root".to_owned(), expression: optional_text() }] };
        assert!(inline.greatest_repetition() > 2_000);
        assert_eq!(share(&inline).greatest_repetition(), 1_999);
    }

    #[test]
    fn equal_repetitions_share_a_rule_whose_name_nobody_has() {
        let both = Expression::Sequence(vec![optional_text(), optional_text()]);
        let named = Rule { name: "text-0-1999".to_owned(), expression: Expression::literal("") };
        let shared = share(&Cfg { rules: vec![Rule { name: "root".to_owned(), expression: both }, named] });
        let names: Vec<&str> = shared.rules.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names, ["root", "text-0-1999", "text-0-1999-2"]);
    }
}
