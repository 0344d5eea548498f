//! Reading a page without a model: where a text stands, what a selector matches, which candidate it names.

use std::time::Instant;

use cuebook_grammar::action::{FindElements, ResolveSelector, SearchPage};
use cuebook_grammar::id::{NodeKey, PageId};
use cuebook_grammar::locator::{ByCss, ByXPath, Locator, Strategy};
use cuebook_grammar::observation::Scope;
use cuebook_grammar::seam::{Finding, Query};
use cuebook_grammar::text_match::Pattern;
use cuebook_probe::{Ask, Probe, ProbeError, ProbeWorld};
use futures_util::future::join_all;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::ModelError;
use crate::model::clean;
use crate::modeler::LivePageModeler;
use crate::render::text::{TextOptions, render};

/// Hits that are told.
const HITS: usize = 100;
/// Characters of text that are read from one frame.
const TEXT_BUDGET: u32 = 1_000_000;

pub(crate) async fn explore(
    modeler: &mut LivePageModeler,
    page: &PageId,
    query: &Query,
    until: Instant,
) -> Result<Finding, ModelError> {
    match query {
        Query::Snapshot(scope) => {
            let observation = modeler.observe_page(page, *scope, until).await?;
            Ok(Finding::Data(Value::String(render(&observation, &TextOptions::default()))))
        }
        Query::Search(search) => search_page(modeler, page, search, until).await,
        Query::Find(find) => find_elements(modeler, page, find, until).await,
        Query::Resolve(selector) => resolve(modeler, page, selector, until).await,
    }
}

#[derive(Deserialize)]
struct Texts {
    blocks: Vec<(String, u64)>,
    whole: bool,
}

async fn search_page(
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
    for (frame, world, text) in
        in_frames(&probe, "(cb, limit) => cb.walk.texts(limit)", &[TEXT_BUDGET.into()], until).await?
    {
        let texts: Texts = serde_json::from_str(&text).map_err(ProbeError::from)?;
        whole &= texts.whole;
        for (text, nearest) in &texts.blocks {
            for found in hits_in(&regex, text, around) {
                total += 1;
                if hits.len() < HITS {
                    hits.push(json!({
                        "match": found.0, "context": found.1, "frame": frame,
                        "nearest": nearest_candidate(modeler, page, &world, *nearest),
                    }));
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
            let after: String = text.get(found.end()..).unwrap_or_default().chars().take(around).collect();
            (clean::cut(found.as_str(), 500), format!("{before}{}{after}", found.as_str()))
        })
        .collect()
}

fn nearest_candidate(modeler: &LivePageModeler, page: &PageId, world: &ProbeWorld, node: u64) -> Value {
    if node == 0 {
        return Value::Null;
    }
    modeler.candidate_at(page, &world.key(node)).map_or(Value::Null, |id| Value::String(id.to_string()))
}

#[derive(Deserialize)]
struct Found {
    total: u64,
    elements: Vec<Value>,
}

async fn find_elements(
    modeler: &mut LivePageModeler,
    page: &PageId,
    find: &FindElements,
    until: Instant,
) -> Result<Finding, ModelError> {
    let within: Option<NodeKey> = match &find.within {
        None => None,
        Some(target) => {
            let node = target.candidate_id().and_then(|id| modeler.node(page, id));
            if node.is_none() {
                return Ok(Finding::Refused(format!("expected a candidate of the last observation, saw `{target}`")));
            }
            node
        }
    };
    let probe = modeler.probe(page, until).await?;
    let attributes: Vec<&str> = find.attributes.iter().flatten().map(|name| name.as_str()).collect();
    let node = within.as_ref().map_or(0, |key| key.node);
    let args = [json!(find.selector.as_str()), json!(attributes), json!(node), json!(HITS)];
    let function = "(cb, selector, attributes, within, limit) => cb.walk.find(selector, attributes, within, limit)";
    let answers = match in_frames(&probe, function, &args, until).await {
        Err(ModelError::Probe(ProbeError::BadSelector { message })) => {
            return Ok(Finding::Refused(format!("expected a valid selector: {message}")));
        }
        other => other?,
    };
    let mut total = 0;
    let mut elements = Vec::new();
    for (frame, world, text) in answers {
        if within.as_ref().is_some_and(|key| key.frame != world.frame().as_str()) {
            continue;
        }
        let found: Found = serde_json::from_str(&text).map_err(ProbeError::from)?;
        total += found.total;
        for mut element in found.elements {
            if elements.len() >= HITS {
                break;
            }
            if let Some(object) = element.as_object_mut() {
                object.remove("node");
                let nearest = object.get("nearest").and_then(Value::as_u64).unwrap_or(0);
                object.insert("nearest".into(), nearest_candidate(modeler, page, &world, nearest));
                object.insert("frame".into(), frame.into());
            }
            elements.push(element);
        }
    }
    Ok(Finding::Data(json!({ "total": total, "elements": elements })))
}

async fn resolve(
    modeler: &mut LivePageModeler,
    page: &PageId,
    selector: &ResolveSelector,
    until: Instant,
) -> Result<Finding, ModelError> {
    let strategy = match (&selector.css, &selector.xpath) {
        (Some(css), None) => Strategy::Css(ByCss { selector: css.clone() }),
        (None, Some(xpath)) => Strategy::XPath(ByXPath { expression: xpath.clone() }),
        _ => return Ok(Finding::Refused("expected one of css and xpath".to_owned())),
    };
    let probe = modeler.probe(page, until).await?;
    let located = match probe.locate(&Locator::from(strategy), &Ask::default(), until).await {
        Err(ProbeError::BadSelector { message }) => {
            return Ok(Finding::Refused(format!("expected a valid selector: {message}")));
        }
        other => other?,
    };
    let Some(found) = located.unique() else {
        return Ok(Finding::Refused(format!("expected 1 element, saw {}", located.matches.len())));
    };
    let key = found.key.clone();
    if let Some(id) = modeler.candidate_at(page, &key) {
        return Ok(Finding::Candidate(id));
    }
    modeler.observe_page(page, Scope::Full, until).await?;
    Ok(match modeler.candidate_at(page, &key) {
        Some(id) => Finding::Candidate(id),
        None => Finding::Refused(format!(
            "expected something that can be acted on, saw {} {}",
            found.facts.role,
            json!(clean::cut(&found.facts.name, 80))
        )),
    })
}

/// One call in every frame; frames that went away are left out.
async fn in_frames(
    probe: &Probe,
    function: &str,
    args: &[Value],
    until: Instant,
) -> Result<Vec<(usize, ProbeWorld, String)>, ModelError> {
    let frames = probe.page().frames();
    let answers = join_all(frames.iter().take(100).map(|frame| async {
        let world = probe.world(&frame.id, until).await?;
        let text: String = world.call(function, args, until).await?;
        Ok::<_, ProbeError>((world, text))
    }))
    .await;
    let mut found = Vec::new();
    for (index, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok((world, text)) => found.push((index, world, text)),
            Err(ProbeError::Gone) if index > 0 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
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
