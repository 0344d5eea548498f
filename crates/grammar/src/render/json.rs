//! An observation as its own JSON document, within a budget.

use crate::observation::Observation;

use super::budget::{estimate_tokens, kept};
use super::options::TextOptions;
use super::reading;

/// The observation with the most useful candidates that the budget holds; those left out are counted in
/// `truncated`, and candidates of the past are left out first.
#[must_use]
pub fn fit(observation: &Observation, options: &TextOptions) -> Observation {
    let mut shown = observation.clone();
    if options.budget == usize::MAX {
        return shown;
    }
    shown.recent.clear();
    let text_costs: Vec<usize> = shown.texts.iter().map(|line| estimate_tokens(&written(line))).collect();
    let read = reading::kept(&shown.texts, &text_costs, options.budget / 3);
    let unread = read.iter().filter(|kept| !**kept).count();
    shown.texts = shown.texts.into_iter().zip(read).filter_map(|(line, kept)| kept.then_some(line)).collect();
    if unread > 0 {
        let truncated = shown.truncated.get_or_insert_default();
        truncated.texts = truncated.texts.saturating_add(u64::try_from(unread).unwrap_or(u64::MAX));
    }
    let costs: Vec<usize> = shown.candidates.iter().map(|candidate| estimate_tokens(&written(candidate))).collect();
    let candidates = std::mem::take(&mut shown.candidates);
    let room = options.budget.saturating_sub(estimate_tokens(&written(&shown)));
    let kept = kept(&candidates, &costs, room);
    let dropped = kept.iter().filter(|kept| !**kept).count();
    shown.candidates =
        candidates.into_iter().zip(kept).filter_map(|(candidate, kept)| kept.then_some(candidate)).collect();
    if dropped > 0 {
        let truncated = shown.truncated.get_or_insert_default();
        truncated.candidates = truncated.candidates.saturating_add(u64::try_from(dropped).unwrap_or(u64::MAX));
    }
    shown
}

/// [`fit`] as one line of JSON.
#[must_use]
pub fn json(observation: &Observation, options: &TextOptions) -> String {
    written(&fit(observation, options))
}

/// Types of the language always serialise: their maps have text keys.
fn written<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
