//! Where a text stands: matches with their surroundings, frame and nearest candidate.

use std::time::Instant;

use cuebook_grammar::action::SearchPage;
use cuebook_grammar::id::PageId;
use cuebook_grammar::seam::Finding;
use cuebook_grammar::text_match::Pattern;
use cuebook_probe::ProbeError;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Map, json};

use super::in_frames::{in_frames, nearest_candidate};
use crate::error::ModelError;
use crate::model::clean;
use crate::modeler::LivePageModeler;

/// The most hits that are returned.
const HITS: usize = 100;
/// The most characters of text that are read from one frame.
const TEXT_BUDGET: u32 = 1_000_000;

#[derive(Deserialize)]
struct Texts {
    blocks: Vec<(String, u64)>,
    whole: bool,
}

pub(super) async fn search_page(
    modeler: &mut LivePageModeler,
    page: &PageId,
    search: &SearchPage,
    until: Instant,
) -> Result<Finding, ModelError> {
    let regex = if search.regex == Some(true) {
        match Pattern::new(search.query.as_str()).and_then(|pattern| pattern.compile()) {
            Ok(regex) => regex,
            Err(error) => return Ok(Finding::Refused(error.to_string())),
        }
    } else {
        match RegexBuilder::new(&regex::escape(search.query.as_str().trim())).case_insensitive(true).build() {
            Ok(regex) => regex,
            Err(_) => return Ok(Finding::Refused("expected a shorter text".to_owned())),
        }
    };
    let around = search.context.map_or(80, |count| usize::try_from(count.get()).unwrap_or(80)).min(2_000);
    let probe = modeler.probe(page, until).await?;
    let mut hits = Vec::new();
    let mut total = 0_usize;
    let mut whole = true;
    for frame in in_frames(&probe, "(cb, limit) => cb.walk.texts(limit)", &[TEXT_BUDGET.into()], until).await? {
        let texts: Texts = serde_json::from_str(&frame.text).map_err(ProbeError::from)?;
        whole &= texts.whole;
        for (text, nearest) in &texts.blocks {
            for found in hits_in(&regex, text, around) {
                total += 1;
                if hits.len() < HITS {
                    let mut hit = Map::from_iter([
                        ("match".to_owned(), found.0.into()),
                        ("context".to_owned(), found.1.into()),
                        ("nearest".to_owned(), nearest_candidate(modeler, page, &frame.world, *nearest)),
                    ]);
                    frame.tag(&mut hit);
                    hits.push(hit);
                }
            }
        }
    }
    Ok(Finding::Data(json!({ "total": total, "hits": hits, "wholePage": whole })))
}

/// Matches with their surroundings, cut between characters.
fn hits_in(regex: &Regex, text: &str, around: usize) -> Vec<(String, String)> {
    regex
        .find_iter(text)
        .filter(|found| !found.is_empty())
        .take(HITS)
        .map(|found| {
            let before = text.get(..found.start()).unwrap_or_default();
            let skip = before.chars().count().saturating_sub(around);
            let before: String = before.chars().skip(skip).collect();
            let after = clean::cut(text.get(found.end()..).unwrap_or_default(), around);
            (clean::cut(found.as_str(), 500), format!("{before}{}{after}", found.as_str()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_comes_with_its_surroundings_cut_between_characters() {
        let regex = Regex::new("b+").unwrap();
        assert_eq!(hits_in(&regex, "ääbbéé", 1), [("bb".to_owned(), "äbbé".to_owned())]);
    }
}
