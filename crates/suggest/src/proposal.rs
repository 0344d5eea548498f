//! From fragile targets and a source to a patch that adds test ids.
//!
//! Invariants:
//! - Only a place that fits better than every other one gets an id, and an element gets one id.
//! - An id stands nowhere else in the source, and on no page of the runs.
//! - The same logs and the same source give the same patch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use cuebook_datalayer::fragile::{Fragile, FragileTarget};
use regex::Regex;
use serde::Serialize;
use similar::TextDiff;

use crate::error::SuggestError;
use crate::markup::Element;
use crate::matching::{self, Place, Places};
use crate::naming;
use crate::source::{Source, SourceFile};

/// The most places that are named where several fit.
const NAMED: usize = 20;

/// A string that could be an id.
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"["'`]([\p{L}\p{N}-]{1,100})["'`]"#).ok());

/// Suggestions for the fragile targets of runs.
#[derive(Debug)]
pub struct Proposal<'s> {
    /// One for each target, in the order of the targets.
    pub suggestions: Vec<Suggestion>,
    source: &'s Source,
    changes: Vec<(&'s SourceFile, String)>,
}

/// A target, and what comes of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Suggestion {
    /// The target, with what runs show of it.
    pub target: FragileTarget,
    /// Result of the search for its source.
    pub outcome: Outcome,
}

/// Result of the search for the source of a target.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "result")]
#[non_exhaustive]
pub enum Outcome {
    /// The patch gives it an id.
    Added {
        /// The id that it gets.
        test_id: String,
        /// Where it is written.
        place: Place,
    },
    /// The source gives it an id already: the runs are older, or go by another locator.
    Present {
        /// The attribute and its value; only the attribute if the value is computed.
        attribute: String,
        /// Where it is written.
        place: Place,
    },
    /// Nothing in the source fits: it comes from elsewhere, or its texts are computed.
    NotFound,
    /// Several places fit equally well.
    Ambiguous {
        /// The first 20 of them.
        places: Vec<Place>,
    },
    /// One place makes many elements, so that one id would be many.
    Repeated {
        /// The loop, or what a page shows.
        by: String,
        /// Where it is written.
        place: Place,
    },
    /// A component is given its name, and may not pass an attribute on to the page.
    Component {
        /// The first 20 of them.
        places: Vec<Place>,
    },
}

/// The attributes that carry test ids.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The one that a patch adds.
    pub chosen: &'a str,
    /// All that are recognised.
    pub all: &'a [String],
}

/// Looks for the source of each target, and gives it an id where there is one place for it. Costs a comparison of each
/// target with each element of the source.
#[must_use]
pub fn suggest<'s>(source: &'s Source, fragile: Fragile, attributes: Attributes<'_>) -> Proposal<'s> {
    let repeated = matching::repeated_components(source);
    let outcomes: Vec<Outcome> = fragile
        .targets
        .iter()
        .map(|target| outcome(source, target, &repeated, attributes, matching::places(source, target)))
        .collect();
    // Ids are given in the order of the source.
    let mut wanted: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (number, outcome) in outcomes.iter().enumerate() {
        if let Outcome::Added { place, .. } = outcome {
            wanted.entry(place.at).or_insert(number);
        }
    }
    let mut ids: BTreeMap<(usize, usize), String> = BTreeMap::new();
    let mut taken = fragile.test_ids;
    taken.extend(words(source, attributes.all));
    for (at, number) in wanted {
        let (Some(target), Some((file, element))) = (fragile.targets.get(number), written(source, at)) else {
            continue;
        };
        let name = if target.name.is_empty() { described(element) } else { target.name.clone() };
        let around = file.markup.around(element).find_map(|around| around.literal("id")).filter(|id| *id != "app");
        let mut names = naming::names(target.role, &name, around.filter(|id| *id != "root"), &file.path);
        if let Some(id) = names.find(|id| !taken.contains(id)) {
            taken.insert(id.clone());
            ids.insert(at, id);
        }
    }
    let changes = changes(source, &ids, attributes.chosen);
    let suggestions = fragile.targets.into_iter().zip(outcomes).map(|(target, mut outcome)| {
        if let Outcome::Added { test_id, place } = &mut outcome {
            *test_id = ids.get(&place.at).cloned().unwrap_or_default();
        }
        Suggestion { target, outcome }
    });
    Proposal { suggestions: suggestions.collect(), source, changes }
}

impl Proposal<'_> {
    /// The changes as a unified diff with paths below the source folder, `a/` and `b/` in front; empty if there are none.
    #[must_use]
    pub fn patch(&self) -> String {
        let diff = |(file, text): &(&SourceFile, String)| {
            let (from, to) = (format!("a/{}", file.path), format!("b/{}", file.path));
            TextDiff::from_lines(&file.text, text).unified_diff().context_radius(3).header(&from, &to).to_string()
        };
        self.changes.iter().map(diff).collect()
    }

    /// Paths of the files that the patch changes, below the source folder.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.changes.iter().map(|(file, _)| file.path.as_str())
    }

    /// Writes the changes. Nothing is written if a file is not what it was when it was read, or is no longer a regular file
    /// of the folder.
    ///
    /// # Errors
    /// [`SuggestError::Changed`], [`SuggestError::Outside`] and [`SuggestError::Write`]
    pub fn write(&self) -> Result<(), SuggestError> {
        self.source.write(&self.changes)
    }
}

fn outcome(
    source: &Source,
    target: &FragileTarget,
    repeated: &BTreeMap<String, String>,
    attributes: Attributes<'_>,
    places: Places,
) -> Outcome {
    let Places { mut elements, mut components } = places;
    let fitting = elements.len();
    if let Some(score) = elements.first().map(|best| best.score) {
        elements.retain(|place| place.score == score);
        // Of elements inside each other, the innermost has the text.
        let outer: BTreeSet<_> = elements.iter().flat_map(|place| around(source, place.at)).collect();
        elements.retain(|place| !outer.contains(&place.at));
    }
    components.truncate(NAMED);
    let place = match elements.len() {
        0 if components.is_empty() => return Outcome::NotFound,
        0 => return Outcome::Component { places: components },
        1 => elements.swap_remove(0),
        _ => {
            elements.truncate(NAMED);
            return Outcome::Ambiguous { places: elements };
        }
    };
    let Some((_, element)) = written(source, place.at) else { return Outcome::NotFound };
    if let Some(name) = attributes.all.iter().find(|name| element.attributes.contains_key(name.as_str())) {
        let value = element.literal(name).map_or_else(String::new, |value| format!("={value:?}"));
        return Outcome::Present { attribute: format!("{name}{value}"), place };
    }
    let by_source = element.repeats.as_ref().or_else(|| repeated.get(&element.owner)).cloned();
    let also = target.others.iter().find(|other| place.is_around && matching::fits_too(source, &place, other));
    let by_page = (usize::try_from(target.alike).unwrap_or(usize::MAX) > fitting)
        .then(|| format!("a page has {} of them", target.alike))
        .or_else(|| also.map(|other| format!("a page has {other:?} as well")));
    match by_source.or(by_page) {
        Some(by) => Outcome::Repeated { by, place },
        None => Outcome::Added { test_id: String::new(), place },
    }
}

fn written(source: &Source, (file, element): (usize, usize)) -> Option<(&SourceFile, &Element)> {
    let file = source.files.get(file)?;
    Some((file, file.markup.elements.get(element)?))
}

/// The positions of the elements around one.
fn around(source: &Source, (file, at): (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
    let elements = source.files.get(file).map(|file| &file.markup.elements[..]).unwrap_or_default();
    let up = move |at: &usize| elements.get(*at).and_then(|element| element.parent);
    std::iter::successors(up(&at), up).take(40).map(move |at| (file, at))
}

/// Words for an element without a name: what its author calls it.
fn described(element: &Element) -> String {
    let own =
        ["id", "name", "placeholder", "title", "class", "type"].into_iter().find_map(|name| element.literal(name));
    own.unwrap_or(&element.tag).to_owned()
}

/// Words that the source has as strings, and its test ids.
fn words(source: &Source, attributes: &[String]) -> BTreeSet<String> {
    let quoted = source.files.iter().flat_map(|file| {
        QUOTED.iter().flat_map(|quoted| quoted.captures_iter(&file.text)).filter_map(|found| found.get(1))
    });
    let elements = source.files.iter().flat_map(|file| &file.markup.elements);
    let ids = elements.flat_map(|element| attributes.iter().filter_map(|name| element.literal(name)));
    quoted.map(|word| word.as_str()).chain(ids).map(str::to_owned).collect()
}

fn changes<'s>(
    source: &'s Source,
    ids: &BTreeMap<(usize, usize), String>,
    attribute: &str,
) -> Vec<(&'s SourceFile, String)> {
    let files: BTreeSet<usize> = ids.keys().map(|(file, _)| *file).collect();
    let changed = files.into_iter().filter_map(|at| {
        let file = source.files.get(at)?;
        let mut text = file.text.clone();
        // From the end, so that the places before stay where they are.
        for ((_, element), id) in ids.range((at, 0)..=(at, usize::MAX)).rev() {
            let insert_at = file.markup.elements.get(*element)?.insert_at;
            text.insert_str(insert_at, &format!(" {attribute}=\"{id}\""));
        }
        Some((file, text))
    });
    changed.collect()
}
