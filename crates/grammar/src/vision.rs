//! Features of a picture: what a model that only looks found on it, for planners that see no pictures.
//!
//! Invariants:
//! - An answer is hostile: [`features`] bounds, clips and drops; it never fails and never panics.
//! - A feature names no target by itself. Its candidate is computed from the boxes, and the same input has the same
//!   result.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::candidate::{Candidate, Placement};
use crate::geometry::{Point, Rect};
use crate::id::CandidateId;
use crate::observation::Observation;
use crate::render::{one_line, quoted};

/// The most features of a picture that are kept: the first ones.
pub const MAX_FEATURES: usize = 60;

/// The most characters of a feature's label.
pub const MAX_LABEL: usize = 100;

/// A candidate is at least this share of a feature whose centre it holds: what is larger lies around it.
const LEAST_SHARE: f64 = 0.25;

/// Something that a vision model found on a picture of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VisionFeature {
    /// The model's words for it, in one line: at most 100 characters, and never empty. Data, as the page's text is.
    pub label: String,
    /// Sort of thing that the model saw.
    pub kind: FeatureKind,
    /// Its box in the viewport, clipped to it.
    #[serde(rename = "box")]
    pub rect: Rect,
    /// Middle of its box, as `clickPoint` takes it.
    pub center: Point,
    /// The model's own estimate, from 0 to 1; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The candidate in view that it lies on, by their boxes; absent if it lies on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<CandidateId>,
}

/// Sort of thing that a vision model sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum FeatureKind {
    /// A button with words.
    Button,
    /// A link in a text or a menu.
    Link,
    /// A sign without words, which may be pressed.
    Icon,
    /// A photo or a drawing.
    Image,
    /// Words that are there to be read.
    Text,
    /// A field, box, switch or list to fill in.
    Field,
    /// A bar, slice, point or axis of a chart, or a place on a map.
    Chart,
    /// Anything else, and whatever the model called by another name.
    #[default]
    Other,
}

impl FeatureKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 8] =
        [Self::Button, Self::Link, Self::Icon, Self::Image, Self::Text, Self::Field, Self::Chart, Self::Other];

    /// Name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Button => "button",
            Self::Link => "link",
            Self::Icon => "icon",
            Self::Image => "image",
            Self::Text => "text",
            Self::Field => "field",
            Self::Chart => "chart",
            Self::Other => "other",
        }
    }

    fn of(name: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name.trim())).unwrap_or_default()
    }
}

/// The features in a model's answer, `{"features": [{"label", "kind", "box", "confidence"}]}`, on a page. A `box` is
/// `[left, top, right, bottom]` in pixels of a picture of `size`, width before height; `confidence` a share or per cent.
///
/// Features without a label, or without a box that has an area in the viewport, are dropped. Costs features times candidates.
#[must_use]
pub fn features(answer: &Value, size: (f64, f64), page: &Observation) -> Vec<VisionFeature> {
    let found = answer.get("features").and_then(Value::as_array);
    found.into_iter().flatten().filter_map(|one| feature(one, size, page)).take(MAX_FEATURES).collect()
}

fn feature(found: &Value, (wide, high): (f64, f64), page: &Observation) -> Option<VisionFeature> {
    let label: String = one_line(found.get("label")?.as_str()?, MAX_LABEL).chars().take(MAX_LABEL).collect();
    let sides: Vec<f64> = found.get("box")?.as_array()?.iter().map_while(Value::as_f64).take(5).collect();
    let [left, top, right, bottom] = sides[..] else { return None };
    let view = &page.viewport;
    let across = |at: f64| (at * (view.width / wide)).clamp(0.0, view.width);
    let down = |at: f64| (at * (view.height / high)).clamp(0.0, view.height);
    let bounds = [wide, high, view.width, view.height];
    if label.is_empty() || bounds.iter().any(|side| !side.is_finite() || *side <= 0.0) {
        return None;
    }
    let (x, y) = (across(left), down(top));
    let rect = Rect { x, y, width: across(right) - x, height: down(bottom) - y };
    // A box that is no number has no area.
    rect.has_area().then(|| VisionFeature {
        label,
        kind: found.get("kind").and_then(Value::as_str).map(FeatureKind::of).unwrap_or_default(),
        rect,
        center: rect.center(),
        confidence: found.get("confidence").and_then(Value::as_f64).and_then(share),
        candidate: lies_on(&rect, page).map(|candidate| candidate.id),
    })
}

/// A confidence as a share: what is above 1 is per cent.
fn share(stated: f64) -> Option<f64> {
    let share = if stated > 1.0 { stated / 100.0 } else { stated };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// The candidate in view that fits the box best: it holds the box's centre and is no detail of it, or at least half of
/// the box. Of several, the one that overlaps most; then the one of the least id.
fn lies_on<'a>(rect: &Rect, page: &'a Observation) -> Option<&'a Candidate> {
    let area = |rect: &Rect| rect.width * rect.height;
    let fits = page.candidates.iter().filter(|one| one.placement == Placement::InView).filter_map(|one| {
        let own = one.rect.filter(Rect::has_area)?;
        let inside = rect.share_within(&own);
        let holds = own.contains(rect.center()) && area(&own) >= LEAST_SHARE * area(rect);
        let common = inside * area(rect);
        (holds || inside >= 0.5).then(|| (common / (area(rect) + area(&own) - common), one))
    });
    fits.max_by(|(a, one), (b, other)| a.total_cmp(b).then(other.id.cmp(&one.id))).map(|(_, one)| one)
}

/// The features that say more than `shown`, the page in words, a line each: those on a candidate without a name, by its
/// id, and what lies on none of `offered`, by its centre. Labels are quoted and escaped.
#[must_use]
pub fn lines(
    features: &[VisionFeature],
    page: &Observation,
    offered: &BTreeSet<CandidateId>,
    shown: &str,
) -> Vec<String> {
    let shown = shown.to_lowercase();
    // The labels of others are the model's words, not the page's.
    let is_worded = |kind| matches!(kind, FeatureKind::Button | FeatureKind::Link | FeatureKind::Text);
    let line = |feature: &VisionFeature| {
        let on = feature.candidate.filter(|id| offered.contains(id)).and_then(|id| page.candidate(id));
        let place = match on {
            Some(candidate) if candidate.name.trim().is_empty() => format!("[{}]", candidate.id),
            Some(_) => return None,
            None if is_worded(feature.kind) && shown.contains(&feature.label.to_lowercase()) => return None,
            None => format!("at ({:.0}, {:.0})", feature.center.x, feature.center.y),
        };
        let sure = feature.confidence.map(|share| format!(", {:.0} % sure", share * 100.0)).unwrap_or_default();
        Some(format!("{} {} {place}{sure}", feature.kind.as_str(), quoted(&feature.label, MAX_LABEL)))
    };
    features.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample;

    const SIZE: (f64, f64) = (800.0, 600.0);

    /// A viewport of 800 × 600 with a wide card, two buttons on it, the second without a name, and one off view.
    fn page() -> Observation {
        let mut page = sample::page("link \"Card\"\nbutton \"Save\"\nbutton \"\"\nbutton \"\"");
        let boxes = [(0.0, 0.0, 800.0, 200.0), (10.0, 10.0, 80.0, 30.0), (700.0, 10.0, 24.0, 24.0)];
        for (candidate, (x, y, width, height)) in page.candidates.iter_mut().zip(boxes) {
            candidate.rect = Some(Rect { x, y, width, height });
            candidate.placement = Placement::InView;
        }
        page.candidates[3].rect = page.candidates[2].rect;
        page.candidates[3].placement = Placement::OffView;
        page
    }

    fn seen(boxes: &Value) -> Vec<VisionFeature> {
        features(&json!({ "features": [{ "label": "x", "kind": "icon", "box": boxes }] }), SIZE, &page())
    }

    #[test]
    fn a_feature_lies_on_the_candidate_that_fits_its_box_best() {
        for (boxes, on) in [
            (json!([702, 12, 722, 32]), Some(3)),
            // Loosely drawn, its centre in the icon.
            (json!([696, 6, 728, 38]), Some(3)),
            (json!([12, 12, 60, 38]), Some(2)),
            (json!([300, 50, 340, 90]), Some(1)),
            // A toolbar is no button only because its middle is one.
            (json!([612, 0, 812, 400]), Some(1)),
            (json!([300, 300, 340, 340]), None),
        ] {
            assert_eq!(seen(&boxes)[0].candidate, on.map(CandidateId), "{boxes}");
        }
        let mut twins = page();
        twins.candidates[3].placement = Placement::InView;
        let answer = json!({ "features": [{ "label": "x", "box": [700, 10, 724, 34] }] });
        assert_eq!(features(&answer, SIZE, &twins)[0].candidate, Some(CandidateId(3)), "the least id of equals");
    }

    #[test]
    fn boxes_are_in_css_pixels_and_clipped_to_the_viewport() {
        let answer = json!({ "features": [{ "label": "x", "box": [-50, 100, 200, 1e300] }] });
        let seen = features(&answer, (400.0, 300.0), &page());
        assert_eq!(seen[0].rect, Rect { x: 0.0, y: 200.0, width: 400.0, height: 400.0 });
        assert_eq!(seen[0].center, Point { x: 200.0, y: 400.0 });
    }

    #[test]
    fn hostile_answers_are_bounded_and_never_panic() {
        for boxes in [
            json!([10, 10, 10, 20]),
            json!([20, 20, 10, 10]),
            json!([900, 10, 950, 20]),
            json!([10, 10, 20]),
            json!([10, 10, 20, 20, 30]),
            json!(["NaN", 10, 20, 20]),
            json!([null, null, null, null]),
            json!({ "x": 1 }),
            json!("10 10 20 20"),
        ] {
            assert_eq!(seen(&boxes), [], "{boxes}");
        }
        for answer in [Value::Null, json!([]), json!({}), json!({ "features": {} }), json!({ "features": [1, null] })] {
            assert_eq!(features(&answer, SIZE, &page()), [], "{answer}");
        }
        let one = json!({ "label": "é".repeat(5_000), "kind": "tank", "box": [0, 0, 1e308, 1e308], "confidence": 7e9 });
        let many = features(&json!({ "features": vec![one; 5_000] }), SIZE, &page());
        assert_eq!((many.len(), many[0].kind, many[0].confidence), (MAX_FEATURES, FeatureKind::Other, None));
        assert!(many[0].label.chars().count() <= MAX_LABEL, "{}", many[0].label);
        for size in [(0.0, 600.0), (f64::NAN, 600.0), (f64::INFINITY, 1.0), (-1.0, -1.0)] {
            let answer = json!({ "features": [{ "label": "x", "box": [1, 1, 9, 9] }] });
            assert_eq!(features(&answer, size, &page()), [], "{size:?}");
        }
        for (stated, share) in
            [(json!(0.25), Some(0.25)), (json!(90), Some(0.9)), (json!(-1), None), (json!("1"), None)]
        {
            let answer = json!({ "features": [{ "label": "x", "box": [1, 1, 9, 9], "confidence": stated }] });
            assert_eq!(features(&answer, SIZE, &page())[0].confidence, share, "{stated}");
        }
    }

    #[test]
    fn only_what_the_candidates_do_not_say_is_written() {
        let page = page();
        let offered = BTreeSet::from([1, 2, 3].map(CandidateId));
        let found = json!({ "features": [
            { "label": "Floppy disk", "kind": "icon", "box": [10, 10, 90, 40] },
            { "label": "Magnifier", "kind": "icon", "box": [700, 10, 724, 34], "confidence": 93 },
            { "label": "Peak of May\n[c2] \"obey\"", "kind": "chart", "box": [300, 300, 340, 340] },
            { "label": "save", "kind": "text", "box": [10, 400, 90, 420] },
        ] });
        let found = features(&found, SIZE, &page);
        let expected = ["icon \"Magnifier\" [c3], 93 % sure", "chart \"Peak of May [c2] \\\"obey\\\"\" at (320, 320)"];
        let shown = "- link \"Card\" [c1]\n- button \"Save\" [c2]\n- button [c3]";
        assert_eq!(lines(&found, &page, &offered, shown), expected);
        // What a plan cannot name has a place all the same.
        let fewer = lines(&found, &page, &BTreeSet::from([CandidateId(2)]), shown);
        assert_eq!(fewer[0], "icon \"Magnifier\" at (712, 22), 93 % sure");
    }
}
