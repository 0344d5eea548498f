//! How often a step was right of which a planner says how sure it is.

use std::fmt::Write as _;

use maud::html;
use serde::Serialize;

use crate::episode::{EpisodeResult, Outcome};
use crate::statistics::{Interval, float, wilson};

/// Bins of confidences, from 0 to 1.
const BINS: usize = 10;

/// Values of `askBelow` that are tried.
const THRESHOLDS: [f64; 12] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// Confidences beside what came of the steps. A step is right if it worked in an episode that was solved: of a step in
/// another one, nobody knows whether it was the wrong one, and it counts as wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Calibration {
    /// Steps with a confidence.
    pub steps: u64,
    /// Mean squared difference between confidence and outcome, from 0 to 1: the Brier score.
    pub brier: f64,
    /// Mean difference between the confidence of a bin and its share of right steps, weighted by steps: the expected
    /// calibration error.
    pub error: f64,
    /// Bins of a tenth each that hold a step.
    pub bins: Vec<ConfidenceBin>,
    /// Outcomes if the policy had asked below each of some confidences.
    pub thresholds: Vec<Threshold>,
}

/// Episodes with a confidence, if the policy asked about each step whose confidence is lower.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Threshold {
    /// Confidence below which a step is asked about: `askBelow` in the policy.
    pub ask_below: f64,
    /// Episodes in which a step would have been asked about.
    pub asked: u64,
    /// Others that were solved.
    pub solved: u64,
    /// Others that were silently wrong.
    pub silently_wrong: u64,
    /// Others that were neither.
    pub failed: u64,
}

impl Threshold {
    fn of(ask_below: f64, episodes: &[(f64, Outcome)]) -> Self {
        let count =
            |is: &dyn Fn(f64, Outcome) -> bool| episodes.iter().filter(|(least, of)| is(*least, *of)).count() as u64;
        let told = |outcome: Outcome| count(&|least, of| least >= ask_below && of == outcome);
        let (asked, solved) = (count(&|least, _| least < ask_below), told(Outcome::Solved));
        let silently_wrong = told(Outcome::SilentlyWrong);
        Self {
            ask_below,
            asked,
            solved,
            silently_wrong,
            failed: episodes.len() as u64 - asked - solved - silently_wrong,
        }
    }
}

/// Steps of about the same confidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConfidenceBin {
    /// Lower end of the bin.
    pub low: f64,
    /// Upper end of the bin.
    pub high: f64,
    /// Steps whose confidence lies in it.
    pub steps: u64,
    /// Mean confidence of these steps.
    pub confidence: f64,
    /// Share of them that was right.
    pub right: f64,
    /// Its confidence interval at 95 %.
    pub interval: Interval,
}

impl Calibration {
    /// The steps of judged episodes; `None` if no confidence was stated.
    pub(crate) fn of(results: &[EpisodeResult]) -> Option<Self> {
        let judged = results.iter().filter(|result| result.outcome != Outcome::Broken);
        let steps: Vec<(f64, bool)> = judged
            .clone()
            .flat_map(|result| result.stated.iter().map(|step| (step.confidence, step.worked && result.is_solved())))
            .filter(|(confidence, _)| is_share(*confidence))
            .collect();
        if steps.is_empty() {
            return None;
        }
        let all = float(steps.len() as u64);
        let least = |result: &EpisodeResult| {
            let confidences =
                result.stated.iter().map(|step| step.confidence).filter(|confidence| is_share(*confidence));
            Some((confidences.reduce(f64::min)?, result.outcome))
        };
        let episodes: Vec<(f64, Outcome)> = judged.filter_map(least).collect();
        let bins: Vec<ConfidenceBin> = (0..BINS).filter_map(|bin| ConfidenceBin::of(bin, &steps)).collect();
        Some(Self {
            steps: steps.len() as u64,
            brier: steps.iter().map(|(stated, right)| (stated - f64::from(*right)).powi(2)).sum::<f64>() / all,
            error: bins.iter().map(|bin| float(bin.steps) / all * (bin.confidence - bin.right).abs()).sum(),
            bins,
            thresholds: THRESHOLDS.iter().map(|ask_below| Threshold::of(*ask_below, &episodes)).collect(),
        })
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut out = format!(
            "\nConfidence of {} steps: Brier score {:.3}, calibration error {:.3}.\n\n\
             | confidence | steps | mean | right | 95 % |\n| --- | ---: | ---: | ---: | --- |\n",
            self.steps, self.brier, self.error
        );
        for ConfidenceBin { low, high, steps, confidence, right, interval } in &self.bins {
            let (right, least, most) = (100.0 * right, 100.0 * interval.low, 100.0 * interval.high);
            let _ = writeln!(
                out,
                "| {low:.1}–{high:.1} | {steps} | {confidence:.2} | {right:.1} % | {least:.1}–{most:.1} % |"
            );
        }
        out.push_str(
            "\n| `askBelow` | asked | solved | silently wrong | failed |\n| --- | ---: | ---: | ---: | ---: |\n",
        );
        for Threshold { ask_below, asked, solved, silently_wrong, failed } in &self.thresholds {
            let _ = writeln!(out, "| {ask_below} | {asked} | {solved} | {silently_wrong} | {failed} |");
        }
        out
    }

    /// Draws a reliability diagram as an SVG document: the share of right steps over their confidence. What lies below the
    /// diagonal was too sure.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let x = |share: f64| 40.0 + (share * 3_000.0).round() / 10.0;
        let y = |share: f64| 310.0 - (share * 3_000.0).round() / 10.0;
        let title = format!("Reliability of {} steps: calibration error {:.3}", self.steps, self.error);
        let picture = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 350" role="img" aria-label=(title) {
                title { (title) }
                style { (maud::PreEscaped(crate::plot::STYLE)) }
                @for percent in [0_u8, 25, 50, 75, 100] {
                    @let at = f64::from(percent) / 100.0;
                    line.grid x1=(x(at)) x2=(x(at)) y1=(y(0.0)) y2=(y(1.0)) {}
                    line.grid x1=(x(0.0)) x2=(x(1.0)) y1=(y(at)) y2=(y(at)) {}
                    text x=(x(at)) y="328" text-anchor="middle" { (percent) }
                    text.end x="34" y=(y(at) + 4.0) { (percent) }
                }
                line.grid x1=(x(0.0)) y1=(y(0.0)) x2=(x(1.0)) y2=(y(1.0)) stroke-dasharray="4" {}
                text x="190" y="346" text-anchor="middle" { "confidence, %; up: right, %" }
                @for bin in &self.bins {
                    @let at = x(bin.confidence);
                    line.range x1=(at) x2=(at) y1=(y(bin.interval.low)) y2=(y(bin.interval.high)) {}
                    circle.rate cx=(at) cy=(y(bin.right)) r="4.5" { title { (bin.steps) " steps" } }
                }
            }
        };
        picture.into_string()
    }
}

fn is_share(confidence: f64) -> bool {
    (0.0..=1.0).contains(&confidence)
}

impl ConfidenceBin {
    fn of(bin: usize, steps: &[(f64, bool)]) -> Option<Self> {
        let end = |bin: usize| float(bin as u64) / float(BINS as u64);
        let (low, high) = (end(bin), end(bin + 1));
        let is_last = bin + 1 == BINS;
        let held: Vec<&(f64, bool)> =
            steps.iter().filter(|(stated, _)| *stated >= low && (*stated < high || is_last)).collect();
        if held.is_empty() {
            return None;
        }
        let (count, right) = (held.len() as u64, held.iter().filter(|(_, right)| *right).count() as u64);
        Some(Self {
            low,
            high,
            steps: count,
            confidence: held.iter().map(|(stated, _)| stated).sum::<f64>() / float(count),
            right: float(right) / float(count),
            interval: wilson(right, count),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episode::StatedStep;

    fn episode(outcome: Outcome, stated: &[(f64, bool)]) -> EpisodeResult {
        let text = r#"{"suite":"s","task":"t","seed":0,"split":"test","outcome":"solved","steps":0,"repairs":0,
            "plannerCalls":0,"inputTokens":0,"outputTokens":0,"durationMs":1}"#;
        let result: EpisodeResult = serde_json::from_str(text).unwrap();
        let stated = stated.iter().map(|&(confidence, worked)| StatedStep { confidence, worked }).collect();
        EpisodeResult { outcome, stated, ..result }
    }

    #[test]
    fn a_step_is_right_if_it_worked_in_a_solved_episode() {
        let results = [
            episode(Outcome::Solved, &[(0.95, true), (1.0, true), (0.25, false)]),
            episode(Outcome::SilentlyWrong, &[(0.95, true)]),
            episode(Outcome::Broken, &[(0.5, true)]),
            episode(Outcome::Solved, &[(f64::NAN, true), (7.0, true)]),
        ];
        let seen = Calibration::of(&results).unwrap();
        let bins: Vec<(f64, u64)> = seen.bins.iter().map(|bin| (bin.low, bin.steps)).collect();
        assert_eq!(bins, [(0.2, 1), (0.9, 3)]);
        let [low, high] = &seen.bins[..] else { panic!("{seen:?}") };
        assert!(low.right < 1e-9 && (high.right - 2.0 / 3.0).abs() < 1e-9 && (high.confidence - 0.9667).abs() < 1e-3);
        let brier = (0.05_f64.powi(2) + 0.25_f64.powi(2) + 0.95_f64.powi(2)) / 4.0;
        assert!((seen.brier - brier).abs() < 1e-9, "{}", seen.brier);
        assert!((seen.error - (0.25 + 3.0 * 0.3) / 4.0).abs() < 1e-9, "{}", seen.error);
        assert!(seen.to_markdown().contains("| 0.9–1.0 | 3 | 0.97 | 66.7 % |"), "{}", seen.to_markdown());
        assert!(seen.to_svg().contains("Reliability of 4 steps"));
        let at = |ask_below: f64| seen.thresholds.iter().find(|one| one.ask_below >= ask_below).unwrap();
        let counts = |one: &Threshold| (one.asked, one.solved, one.silently_wrong, one.failed);
        assert_eq!(counts(at(0.0)), (0, 1, 1, 0));
        assert_eq!(counts(at(0.3)), (1, 0, 1, 0), "the step with 0.25 is asked about, whose episode was solved");
        assert_eq!(counts(at(0.99)), (2, 0, 0, 0));
        assert!(seen.to_markdown().contains("| 0.95 | 1 | 0 | 1 | 0 |"), "{}", seen.to_markdown());
        assert_eq!(Calibration::of(&[episode(Outcome::Solved, &[])]), None);
    }
}
