//! Texts that a document shows, and where each is drawn, from `DOMSnapshot.captureSnapshot`: closed shadow roots and
//! generated text included.
//!
//! Invariant: no number of it is trusted to be within a list.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::Deserialize;

/// A box in device pixels of its document: left, top, width, height.
pub(super) type Quad = [f64; 4];

/// The documents of a session, the root first.
#[derive(Debug, Deserialize)]
pub(super) struct Snapshot {
    pub(super) documents: Vec<Document>,
    pub(super) strings: Vec<String>,
}

/// One document. Texts are places in [`Snapshot::strings`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    pub(super) frame_id: i64,
    nodes: Nodes,
    layout: Layout,
    text_boxes: TextBoxes,
    #[serde(default)]
    pub(super) scroll_offset_x: f64,
    #[serde(default)]
    pub(super) scroll_offset_y: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Nodes {
    parent_index: Vec<i64>,
    node_name: Vec<i64>,
    node_value: Vec<i64>,
    backend_node_id: Vec<i64>,
    attributes: Vec<Vec<i64>>,
    text_value: Rare,
    input_value: Rare,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Rare {
    index: Vec<usize>,
    value: Vec<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Layout {
    node_index: Vec<usize>,
    bounds: Vec<Quad>,
    text: Vec<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TextBoxes {
    layout_index: Vec<usize>,
    bounds: Vec<Quad>,
    start: Vec<usize>,
    length: Vec<usize>,
}

/// Attributes that a page shows as text.
const SHOWN: [&str; 4] = ["alt", "label", "placeholder", "value"];

pub(super) fn text(strings: &[String], index: i64) -> Option<&str> {
    strings.get(usize::try_from(index).ok()?).map(String::as_str)
}

impl Document {
    /// The boxes of the `fields`, by backend node, and of whatever shows a text in which `find` finds something.
    pub(super) fn hidden(
        &self,
        strings: &[String],
        fields: &HashSet<i64>,
        find: &dyn Fn(&str) -> Vec<Range<usize>>,
    ) -> Vec<Quad> {
        let mut hidden = self.texts(strings, find);
        let drawn: HashMap<usize, Vec<Quad>> =
            self.layout.node_index.iter().zip(&self.layout.bounds).fold(HashMap::new(), |mut drawn, (node, quad)| {
                drawn.entry(*node).or_insert_with(Vec::new).push(*quad);
                drawn
            });
        for node in self.controls(strings, fields, find) {
            // An option is drawn by its select.
            let mut at = Some(node);
            for _ in 0..4 {
                let Some(node) = at else { break };
                if let Some(quads) = drawn.get(&node) {
                    hidden.extend(quads);
                    break;
                }
                let is_part = matches!(self.name(strings, node), Some("#text" | "OPTION" | "OPTGROUP"));
                at = self.nodes.parent_index.get(node).and_then(|at| usize::try_from(*at).ok()).filter(|_| is_part);
            }
        }
        hidden
    }

    /// The boxes of drawn text: of its lines as they are drawn, and of all lines of a text that is drawn otherwise than it
    /// is written.
    fn texts(&self, strings: &[String], find: &dyn Fn(&str) -> Vec<Range<usize>>) -> Vec<Quad> {
        let mut lines: HashMap<usize, Vec<usize>> = HashMap::new();
        for (line, layout) in self.text_boxes.layout_index.iter().enumerate() {
            lines.entry(*layout).or_default().push(line);
        }
        let mut drawn = Joined::default();
        let mut written = Joined::default();
        for (at, (index, node)) in self.layout.text.iter().zip(&self.layout.node_index).enumerate() {
            let Some(shown) = text(strings, *index) else { continue };
            drawn.push(at, shown);
            let value = self.nodes.node_value.get(*node).and_then(|value| text(strings, *value)).unwrap_or("");
            let is_other = !letters(value).eq(letters(shown));
            written.push(if is_other { at } else { usize::MAX }, value);
        }
        let mut hidden = Vec::new();
        for (at, within) in drawn.parts(&find(&drawn.text)) {
            let Some(shown) = self.layout.text.get(at).and_then(|index| text(strings, *index)) else { continue };
            let units = |bytes: usize| shown.get(..bytes).map_or(usize::MAX, |before| before.encode_utf16().count());
            let (from, to) = (units(within.start), units(within.end));
            for line in lines.get(&at).into_iter().flatten() {
                let boxes = &self.text_boxes;
                let (start, length) = (boxes.start.get(*line), boxes.length.get(*line));
                let begins = start.copied().unwrap_or(0);
                let ends = length.map_or(usize::MAX, |length| begins.saturating_add(*length));
                if begins < to && from < ends {
                    hidden.extend(boxes.bounds.get(*line));
                }
            }
        }
        for (at, _) in written.parts(&find(&written.text)) {
            let boxes = lines.get(&at).into_iter().flatten();
            hidden.extend(boxes.filter_map(|line| self.text_boxes.bounds.get(*line)));
        }
        hidden
    }

    /// The nodes that are fields, or show a value or an attribute in which something is found.
    fn controls(
        &self,
        strings: &[String],
        fields: &HashSet<i64>,
        find: &dyn Fn(&str) -> Vec<Range<usize>>,
    ) -> Vec<usize> {
        let holds = |index: i64| text(strings, index).is_some_and(|text| !find(text).is_empty());
        let of_field = self.nodes.backend_node_id.iter().enumerate().filter(|(_, id)| fields.contains(id));
        let mut nodes: Vec<usize> = of_field.map(|(node, _)| node).collect();
        for rare in [&self.nodes.text_value, &self.nodes.input_value] {
            nodes.extend(rare.index.iter().zip(&rare.value).filter(|(_, value)| holds(**value)).map(|(node, _)| *node));
        }
        for (node, attributes) in self.nodes.attributes.iter().enumerate() {
            let shown = |pair: &&[i64]| {
                let [name, value] = **pair else { return false };
                text(strings, name).is_some_and(|name| SHOWN.contains(&name)) && holds(value)
            };
            if attributes.chunks_exact(2).any(|pair| shown(&pair)) {
                nodes.push(node);
            }
        }
        for (node, value) in self.nodes.node_value.iter().enumerate() {
            let parent = self.nodes.parent_index.get(node).and_then(|parent| usize::try_from(*parent).ok());
            let is_option = parent.is_some_and(|parent| self.name(strings, parent) == Some("OPTION"));
            if is_option && holds(*value) {
                nodes.push(node);
            }
        }
        nodes
    }

    fn name<'a>(&self, strings: &'a [String], node: usize) -> Option<&'a str> {
        text(strings, *self.nodes.node_name.get(node)?)
    }
}

/// Returns the characters of a text except white space, which may be collapsed where the text is shown.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace())
}

/// Texts in a row without anything between: a secret may be spread over several.
#[derive(Default)]
struct Joined {
    text: String,
    /// Where each begins, and what it is of.
    starts: Vec<(usize, usize)>,
}

impl Joined {
    fn push(&mut self, of: usize, text: &str) {
        self.starts.push((self.text.len(), of));
        self.text.push_str(text);
    }

    /// The parts of the texts that lie in the ranges.
    fn parts(&self, ranges: &[Range<usize>]) -> Vec<(usize, Range<usize>)> {
        let ends = self.starts.iter().skip(1).map(|(start, _)| *start).chain([self.text.len()]);
        let spans: Vec<(usize, usize, usize)> =
            self.starts.iter().zip(ends).map(|((start, of), end)| (*start, end, *of)).collect();
        let mut parts = Vec::new();
        for range in ranges {
            let first = spans.partition_point(|(_, end, _)| *end <= range.start);
            for (start, end, of) in spans.iter().skip(first).take_while(|(start, _, _)| *start < range.end) {
                let within = range.start.max(*start) - start..range.end.min(*end) - start;
                parts.push((*of, within));
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A document of texts, each in one box that is as wide as it has letters.
    fn document(texts: &[&str]) -> Snapshot {
        let strings: Vec<&str> = ["#text"].into_iter().chain(texts.iter().copied()).collect();
        let count = texts.len();
        let all: Vec<usize> = (0..count).collect();
        let values: Vec<usize> = (1..=count).collect();
        let quads: Vec<[usize; 4]> =
            texts.iter().enumerate().map(|(at, text)| [0, at * 10, text.chars().count(), 10]).collect();
        let lengths: Vec<usize> = texts.iter().map(|text| text.encode_utf16().count()).collect();
        serde_json::from_value(json!({
            "strings": strings,
            "documents": [{
                "frameId": 0,
                "nodes": { "parentIndex": vec![-1; count], "nodeName": vec![0; count], "nodeValue": values,
                    "backendNodeId": values, "attributes": vec![json!([]); count] },
                "layout": { "nodeIndex": all, "bounds": quads, "text": values },
                "textBoxes": { "layoutIndex": all, "bounds": quads, "start": vec![0; count], "length": lengths },
            }],
        }))
        .unwrap()
    }

    fn hidden(snapshot: &Snapshot, secret: &str) -> Vec<f64> {
        let find = |text: &str| text.match_indices(secret).map(|(at, found)| at..at + found.len()).collect::<Vec<_>>();
        let quads = snapshot.documents[0].hidden(&snapshot.strings, &HashSet::new(), &find);
        quads.into_iter().map(|quad| quad[1]).collect()
    }

    #[test]
    fn texts_that_hold_a_secret_are_hidden() {
        let shown = document(&["before", "is hunter2!", "after"]);
        assert_eq!(hidden(&shown, "hunter2"), [10.0]);
        assert!(hidden(&shown, "hunter3").is_empty());
    }

    #[test]
    fn a_secret_over_several_texts_hides_all_of_them() {
        assert_eq!(hidden(&document(&["x", "hun", "t", "er2", "y"]), "hunter2"), [10.0, 20.0, 30.0]);
    }

    #[test]
    fn of_a_text_in_lines_those_with_the_secret_are_hidden() {
        let mut snapshot = document(&["äöü😀 hunter2 ends"]);
        let boxes = &mut snapshot.documents[0].text_boxes;
        *boxes = serde_json::from_value(json!({ "layoutIndex": [0, 0, 0], "start": [0, 6, 10], "length": [6, 4, 9],
            "bounds": [[0, 0, 9, 9], [0, 10, 9, 9], [0, 20, 9, 9]] }))
        .unwrap();
        // The face is two units of UTF-16: the secret is the units 6 to 12.
        assert_eq!(hidden(&snapshot, "hunter2"), [10.0, 20.0]);
    }

    #[test]
    fn a_text_that_is_drawn_otherwise_is_hidden_as_a_whole() {
        let mut snapshot = document(&["my hunter2"]);
        snapshot.strings.push("MY HUNTER2".to_owned());
        snapshot.documents[0].layout.text = vec![2];
        assert_eq!(hidden(&snapshot, "hunter2"), [0.0]);
    }

    #[test]
    fn numbers_beyond_the_lists_are_ignored() {
        let mut snapshot = document(&["hunter2"]);
        snapshot.documents[0].text_boxes.layout_index = vec![7];
        snapshot.documents[0].nodes = serde_json::from_value(json!({ "parentIndex": [0, 9, -4], "nodeName": [99],
            "nodeValue": [1, 1], "attributes": [[1], [1, 1, 1]], "inputValue": { "index": [5], "value": [1] } }))
        .unwrap();
        assert!(hidden(&snapshot, "hunter2").is_empty());
    }
}
