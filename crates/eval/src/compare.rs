//! Two evaluations of the same episodes: what changed, and whether it is noise.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::episode::{EpisodeKey, EpisodeResult, Outcome};
use crate::statistics::{float, paired, quantile};
use crate::summary::EvalResults;

/// A difference is no noise below this probability.
const SIGNIFICANT: f64 = 0.05;
/// A median beyond this ratio is slower.
const SLOWER: f64 = 1.1;

/// The difference of two evaluations, over the episodes that both have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Comparison {
    /// Episodes that both have.
    pub episodes: u64,
    /// Episodes that only one has: they do not count.
    pub unpaired: u64,
    /// Episodes that were solved before, of those that both have.
    pub before: u64,
    /// Episodes that are solved now, of those that both have.
    pub after: u64,
    /// Episodes that are solved now, but were not before.
    pub gained: u64,
    /// Episodes that were solved before, but are not now.
    pub lost: u64,
    /// The probability of such a difference if nothing changed, by the exact test of `McNemar`.
    pub probability: f64,
    /// The median of the durations now by those before, over episodes that both solved; `None` if there are none.
    pub median_slowdown: Option<f64>,
    /// The probability that as many of those took longer (or as few) if nothing changed, by the sign test.
    pub slowdown_probability: f64,
    /// Silently wrong before and now.
    pub silent_wrong: (u64, u64),
    /// The tasks whose number of solved episodes changed, the worst first.
    pub changes: Vec<Change>,
}

/// A task that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Change {
    /// Name of the task's suite.
    pub suite: String,
    /// Name of the task in its suite.
    pub task: String,
    /// Episodes that both have.
    pub episodes: u64,
    /// Episodes of the task that were solved before.
    pub before: u64,
    /// Episodes of the task that are solved now.
    pub after: u64,
}

impl Comparison {
    /// Compares two evaluations, episode by episode.
    #[must_use]
    pub fn of(before: &EvalResults, after: &EvalResults) -> Self {
        let judged = |results: &EvalResults| -> BTreeMap<EpisodeKey, EpisodeResult> {
            let judged = results.episodes.iter().filter(|result| result.outcome != Outcome::Broken);
            judged.map(|result| (result.key(), result.clone())).collect()
        };
        let (first, second) = (judged(before), judged(after));
        let all: BTreeSet<&EpisodeKey> = first.keys().chain(second.keys()).collect();
        let pairs: Vec<(&EpisodeResult, &EpisodeResult)> =
            first.iter().filter_map(|(key, result)| Some((result, second.get(key)?))).collect();
        let count = |of: &dyn Fn(&EpisodeResult, &EpisodeResult) -> bool| {
            pairs.iter().filter(|(before, after)| of(before, after)).count() as u64
        };
        let gained = count(&|before, after| !before.is_solved() && after.is_solved());
        let lost = count(&|before, after| before.is_solved() && !after.is_solved());
        let is_wrong = |result: &EpisodeResult| result.outcome == Outcome::SilentlyWrong;
        let both = pairs.iter().filter(|(before, after)| before.is_solved() && after.is_solved());
        let mut ratios: Vec<f64> =
            both.map(|(before, after)| float(after.duration_ms.max(1)) / float(before.duration_ms.max(1))).collect();
        ratios.sort_by(f64::total_cmp);
        let slower = ratios.iter().filter(|ratio| **ratio > 1.0).count() as u64;
        let faster = ratios.iter().filter(|ratio| **ratio < 1.0).count() as u64;
        let mut tasks: BTreeMap<(&str, &str), Change> = BTreeMap::new();
        for (before, after) in &pairs {
            let change = tasks.entry((&before.suite, &before.task)).or_insert_with(|| Change {
                suite: before.suite.clone(),
                task: before.task.clone(),
                episodes: 0,
                before: 0,
                after: 0,
            });
            change.episodes += 1;
            change.before += u64::from(before.is_solved());
            change.after += u64::from(after.is_solved());
        }
        let mut changes: Vec<Change> = tasks.into_values().filter(|change| change.before != change.after).collect();
        changes.sort_by_key(|change| i128::from(change.after) - i128::from(change.before));
        Self {
            episodes: pairs.len() as u64,
            unpaired: all.len() as u64 - pairs.len() as u64,
            before: count(&|before, _| before.is_solved()),
            after: count(&|_, after| after.is_solved()),
            gained,
            lost,
            probability: paired(gained, lost),
            median_slowdown: (!ratios.is_empty()).then(|| quantile(&ratios, 0.5)),
            slowdown_probability: paired(slower, faster),
            silent_wrong: (count(&|before, _| is_wrong(before)), count(&|_, after| is_wrong(after))),
            changes,
        }
    }

    /// Returns `true` if the number of solved episodes changed by more than chance explains, at 5 %.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.probability < SIGNIFICANT
    }

    /// Returns `true` if it is slower: the median by more than a tenth, and by more than chance explains, at 5 %.
    /// Another machine, or a busy one, is slower, too.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        self.median_slowdown.is_some_and(|ratio| ratio > SLOWER) && self.slowdown_probability < SIGNIFICANT
    }

    /// Returns `true` if it is worse: significantly fewer solved, or more silently wrong.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.silent_wrong.1 > self.silent_wrong.0 || (self.lost > self.gained && self.is_significant())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::episode::Episode;
    use crate::suite::Suite;

    fn results(outcomes: &[Outcome]) -> EvalResults {
        let suite = std::sync::Arc::new(Suite::built_in("site").unwrap_or_else(|error| panic!("{error}")));
        let task = suite.tasks[0].clone();
        let of = |(seed, outcome): (usize, &Outcome)| {
            let episode = Episode { suite: suite.clone(), task: task.clone(), seed: seed as u64 };
            EpisodeResult { outcome: *outcome, ..EpisodeResult::broken(&episode, "", Duration::from_millis(100)) }
        };
        EvalResults::new(outcomes.iter().enumerate().map(of).collect())
    }

    #[test]
    fn a_few_differences_are_noise_and_many_are_not() {
        let solved = vec![Outcome::Solved; 20];
        let failing = |count: usize| {
            let mut outcomes = solved.clone();
            outcomes[..count].fill(Outcome::Failed);
            results(&outcomes)
        };
        let before = results(&solved);
        let few = Comparison::of(&before, &failing(3));
        assert!(few.lost == 3 && !few.is_significant() && !few.is_worse());
        let many = Comparison::of(&before, &failing(8));
        assert!(many.is_significant() && many.is_worse() && many.changes.len() == 1);
        assert!(!Comparison::of(&failing(8), &before).is_worse(), "better is not worse");
    }

    #[test]
    fn one_more_that_is_silently_wrong_is_worse() {
        let before = results(&[Outcome::Solved, Outcome::Failed]);
        assert!(Comparison::of(&before, &results(&[Outcome::Solved, Outcome::SilentlyWrong])).is_worse());
    }

    #[test]
    fn what_takes_longer_is_slower() {
        let before = results(&[Outcome::Solved; 20]);
        let taking = |ms: &dyn Fn(u64) -> u64| {
            let mut now = before.clone();
            now.episodes.iter_mut().for_each(|result| result.duration_ms = ms(result.seed));
            Comparison::of(&before, &now)
        };
        assert!(taking(&|_| 150).is_slower());
        assert!(!taking(&|_| 105).is_slower(), "within a tenth");
        assert!(!taking(&|seed| if seed < 11 { 150 } else { 50 }).is_slower(), "some are faster");
    }

    #[test]
    fn what_broke_is_not_compared() {
        let comparison = Comparison::of(&results(&[Outcome::Solved, Outcome::Broken]), &results(&[Outcome::Solved; 2]));
        assert_eq!((comparison.episodes, comparison.unpaired), (1, 1));
    }
}
