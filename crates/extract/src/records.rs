//! Sets of like things on a page: rows of tables, siblings of one kind, lists that a page states for machines.

use std::collections::HashMap;

use dom_query::{NodeId, NodeRef};
use serde_json::Value;

use crate::convert::Content;
use crate::pairs::{Pair, content_of, pairs_of, text_of};
use crate::words::Words;

/// One of a set.
#[derive(Clone, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) pairs: Vec<Pair>,
    /// The part of the page that it is, for what is nested in it.
    pub(crate) node: Option<NodeRef<'a>>,
}

/// A set of like things.
#[derive(Clone, Debug)]
pub(crate) struct Set<'a> {
    pub(crate) records: Vec<Record<'a>>,
    /// Names of the set: its caption, the heading before it, names of the elements that hold it.
    pub(crate) called: Vec<Words>,
    /// How many of its things were left out.
    pub(crate) left: usize,
}

/// The most things of one set.
pub(crate) const MAX_RECORDS: usize = 2_000;
/// The most sets that are compared.
const MAX_SETS: usize = 400;
/// The most elements that are read.
const MAX_NODES: usize = 100_000;

/// Every set in `scope`: rows and columns of tables first.
pub(crate) fn sets_in<'a>(scope: &NodeRef<'a>) -> Vec<Set<'a>> {
    let mut sets = Vec::new();
    let mut groups = Vec::new();
    for node in std::iter::once(*scope).chain(scope.descendants_it()).take(MAX_NODES) {
        if sets.len() + groups.len() >= MAX_SETS {
            break;
        }
        if node.has_name("table") {
            sets.extend(table(&node));
        }
        groups.extend(siblings(&node));
    }
    sets.extend(groups);
    sets
}

/// The row or the column of a table that has this heading.
pub(crate) fn headed<'a>(scope: &NodeRef<'a>, name: &Words) -> Option<Vec<Pair>> {
    let tables = scope.descendants_it().take(MAX_NODES).filter(|node| node.has_name("table")).take(MAX_SETS);
    let mut records = tables.flat_map(|one| table(&one)).flat_map(|set| set.records);
    let is_it = |record: &Record<'a>| record.pairs.first().is_some_and(|first| Words::of(&first.content.text) == *name);
    records.find(is_it).map(|record| record.pairs)
}

/// A table by the headings of its columns; and by those of its rows, if they have some.
fn table<'a>(table: &NodeRef<'a>) -> Vec<Set<'a>> {
    let mut headings: Vec<String> = Vec::new();
    let mut records: Vec<Record<'a>> = Vec::new();
    let mut left = 0;
    let mut are_rows_headed = true;
    // What reaches down from rows above: by column, for how many rows, and what.
    let mut reaching: HashMap<usize, (usize, Content)> = HashMap::new();
    for row in rows_of(table) {
        let cells: Vec<NodeRef<'a>> =
            row.element_children().into_iter().filter(|cell| cell.has_name("td") || cell.has_name("th")).collect();
        // The corner above the headings of rows may be an empty cell.
        let is_corner = |cell: &NodeRef<'_>| cell.has_name("td") && text_of(cell).is_empty();
        let rest = cells.get(usize::from(cells.first().is_some_and(is_corner))..).unwrap_or_default();
        let is_heading = !rest.is_empty() && rest.iter().all(|cell| cell.has_name("th"));
        if is_heading {
            if records.is_empty() {
                headings = spread(&cells).into_iter().map(|cell| text_of(&cell)).collect();
            }
            continue;
        }
        // A heading over several columns begins a group, or a sum.
        let is_wide = |cell: &NodeRef<'_>| cell.has_name("th") && number_of(cell, "colspan") > 1;
        if headings.is_empty() || cells.is_empty() || cells.iter().any(is_wide) {
            continue;
        }
        if records.len() >= MAX_RECORDS {
            left += 1;
            continue;
        }
        are_rows_headed &= cells.first().is_some_and(|cell| cell.has_name("th"));
        let mut pairs = Vec::new();
        let mut cells = spread(&cells).into_iter();
        for (column, heading) in headings.iter().enumerate() {
            let content = match reaching.get_mut(&column) {
                Some((rows, content)) if *rows > 0 => {
                    *rows -= 1;
                    content.clone()
                }
                _ => {
                    let Some(cell) = cells.next() else { break };
                    let content = content_of(&cell);
                    let rows = number_of(&cell, "rowspan").saturating_sub(1);
                    if rows > 0 {
                        reaching.insert(column, (rows, content.clone()));
                    }
                    content
                }
            };
            pairs.push(Pair::new(heading, content, 1.0));
        }
        pairs.extend(pairs_of(&row).into_iter().map(|pair| Pair { weight: pair.weight * 0.8, ..pair }));
        records.push(Record { pairs, node: Some(row) });
    }
    let mut called = names_of(table);
    if let Some(caption) = table.element_children().into_iter().find(|child| child.has_name("caption")) {
        called.push(Words::of(&text_of(&caption)));
    }
    let corner = headings.first().filter(|corner| !corner.is_empty());
    let columns = if are_rows_headed || corner.is_none() {
        let label = corner.map_or("name", String::as_str);
        let columns = headings.iter().enumerate().skip(1);
        columns.map(|(column, heading)| by_rows(&records, column, label, heading)).collect()
    } else {
        Vec::new()
    };
    let columns = Set { records: columns, called: called.clone(), left: 0 };
    let sets = [Set { records, called, left }, columns];
    sets.into_iter().filter(|set| !set.records.is_empty()).collect()
}

/// A column as a thing: its heading, and its cells by the headings of their rows.
fn by_rows<'a>(rows: &[Record<'_>], column: usize, label: &str, heading: &str) -> Record<'a> {
    // Pairs of a row by the headings of columns come first, and are as sure as can be.
    let cell = |row: &Record<'_>| {
        let content = row.pairs.get(column).filter(|pair| pair.weight >= 1.0)?.content.clone();
        Some(Pair::new(&row.pairs.first()?.content.text, content, 1.0))
    };
    let title = Pair::new(label, Content::text(heading), 1.0);
    Record { pairs: std::iter::once(title).chain(rows.iter().filter_map(cell)).collect(), node: None }
}

/// The rows of a table that are not those of a table in it, or sums at its end.
fn rows_of<'a>(table: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    let mut rows = Vec::new();
    for part in table.element_children() {
        if part.has_name("tr") {
            rows.push(part);
        } else if ["thead", "tbody"].iter().any(|name| part.has_name(name)) {
            rows.extend(part.element_children().into_iter().filter(|row| row.has_name("tr")));
        }
    }
    rows
}

/// Cells, those that span several columns several times.
fn spread<'a>(cells: &[NodeRef<'a>]) -> Vec<NodeRef<'a>> {
    let repeat = |cell: &NodeRef<'a>| std::iter::repeat_n(*cell, number_of(cell, "colspan"));
    cells.iter().flat_map(repeat).take(200).collect()
}

fn number_of(cell: &NodeRef<'_>, name: &str) -> usize {
    cell.attr(name).and_then(|text| text.trim().parse().ok()).unwrap_or(1).clamp(1, 100)
}

/// Children of one kind: of one tag, and of one class where the tag says nothing.
fn siblings<'a>(parent: &NodeRef<'a>) -> Vec<Set<'a>> {
    if !parent.is_element()
        || ["table", "thead", "tbody", "tfoot", "tr", "select"].iter().any(|name| parent.has_name(name))
    {
        return Vec::new();
    }
    let mut order: Vec<String> = Vec::new();
    let mut kinds: HashMap<String, Vec<NodeRef<'a>>> = HashMap::new();
    for child in parent.element_children() {
        let Some(kind) = kind_of(&child) else { continue };
        let same = kinds.entry(kind.clone()).or_default();
        if same.is_empty() {
            order.push(kind);
        }
        same.push(child);
    }
    let called = names_of(parent);
    order
        .into_iter()
        .filter_map(|kind| {
            let mut nodes = kinds.remove(&kind)?;
            let is_named = nodes.first().is_some_and(|node| node.has_attr("itemprop") || node.has_attr("itemtype"));
            if nodes.len() < 2 && !is_named {
                return None;
            }
            let left = nodes.len().saturating_sub(MAX_RECORDS);
            nodes.truncate(MAX_RECORDS);
            let mut called = called.clone();
            called.extend(nodes.first().map(names_of).unwrap_or_default());
            let records = nodes.into_iter().map(|node| Record { pairs: Vec::new(), node: Some(node) }).collect();
            Some(Set { records, called, left })
        })
        .collect()
}

/// Returns the kind of an element: siblings of one kind may form a set. `None` for elements that form none.
fn kind_of(node: &NodeRef<'_>) -> Option<String> {
    let element = node.element_ref()?;
    let tag = element.name.local.to_string();
    const NONE: [&str; 12] = ["br", "hr", "td", "th", "dt", "dd", "caption", "colgroup", "option", "b", "span", "p"];
    let is_own = !NONE.contains(&tag.as_str());
    drop(element);
    let class = node.class().map(|class| class.split_whitespace().next().unwrap_or_default().to_owned());
    let typed = node.attr("itemtype").map(|kind| kind.to_string());
    match (is_own, class.filter(|class| !class.is_empty()), typed) {
        (_, _, Some(typed)) => Some(format!("{tag} {typed}")),
        (true, Some(class), None) if tag == "div" || tag == "section" || tag == "a" => Some(format!("{tag}.{class}")),
        (true, _, None) => Some(tag),
        (false, Some(class), None) if tag == "span" || tag == "p" => Some(format!("{tag}.{class}")),
        _ => None,
    }
}

/// Returns the names of an element by its attributes, and by the heading or label before it.
pub(crate) fn names_of(node: &NodeRef<'_>) -> Vec<Words> {
    let mut names: Vec<Words> = ["id", "aria-label", "class", "itemprop", "data-testid", "data-field"]
        .iter()
        .filter_map(|name| node.attr(name))
        .map(|name| Words::of(&name))
        .collect();
    let mut before = node.prev_element_sibling();
    let mut around = Some(*node);
    // The heading may stand before what holds the list.
    for _ in 0..2 {
        if before.is_none() {
            around = around.and_then(|node| node.parent());
            before = around.as_ref().and_then(|node| node.prev_element_sibling());
        }
    }
    if let Some(before) = before {
        let is_heading = ["h1", "h2", "h3", "h4", "h5", "h6", "dt", "label", "legend", "summary", "th"]
            .iter()
            .any(|name| before.has_name(name));
        let text = text_of(&before);
        if is_heading || text.ends_with(':') {
            names.push(Words::of(&text));
        }
    }
    names.retain(|words| !words.is_empty());
    names
}

impl<'a> Record<'a> {
    /// Its pairs, read now if they were not.
    pub(crate) fn ready(&mut self) {
        if self.pairs.is_empty()
            && let Some(node) = &self.node
        {
            self.pairs = pairs_of(node);
            self.pairs.push(Pair::new("name", content_of(node), 0.35));
            self.pairs.push(Pair::new("text", content_of(node), 0.35));
        }
    }
}

/// Sets that a page states as data: arrays of objects.
pub(crate) fn stated<'a>(data: &[Value]) -> Vec<Set<'a>> {
    let mut sets: Vec<Set<'a>> = Vec::new();
    let mut by_type: HashMap<String, Vec<&Value>> = HashMap::new();
    for item in data {
        let kind = item.get("@type").map(Value::to_string).unwrap_or_default();
        by_type.entry(kind).or_default().push(item);
        lists(item, 0, &mut sets);
    }
    let mut kinds: Vec<_> = by_type.into_iter().collect();
    kinds.sort_by(|a, b| a.0.cmp(&b.0));
    for (kind, items) in kinds {
        if items.len() > 1 {
            sets.push(set_of(&items, &kind));
        }
    }
    sets.truncate(MAX_SETS);
    sets
}

fn lists(value: &Value, depth: usize, sets: &mut Vec<Set<'_>>) {
    let Value::Object(members) = value else { return };
    if depth > 5 || sets.len() >= MAX_SETS {
        return;
    }
    for (name, member) in members {
        match member {
            Value::Array(items) if items.iter().all(Value::is_object) && !items.is_empty() => {
                let inner: Vec<&Value> =
                    items.iter().map(|item| item.get("item").filter(|item| item.is_object()).unwrap_or(item)).collect();
                sets.push(set_of(&inner, name));
            }
            Value::Object(_) => lists(member, depth + 1, sets),
            _ => {}
        }
    }
}

fn set_of<'a>(items: &[&Value], name: &str) -> Set<'a> {
    let left = items.len().saturating_sub(MAX_RECORDS);
    let records = items.iter().take(MAX_RECORDS).map(|item| Record { pairs: pairs_in(item), node: None }).collect();
    Set { records, called: vec![Words::of(name)], left }
}

/// The members of an object as pairs, those of objects in it a little less surely.
pub(crate) fn pairs_in(value: &Value) -> Vec<Pair> {
    let mut pairs = Vec::new();
    members(value, 1.0, 0, &mut pairs);
    pairs
}

fn members(value: &Value, weight: f32, depth: usize, pairs: &mut Vec<Pair>) {
    let Value::Object(object) = value else { return };
    if depth > 3 || pairs.len() > 500 {
        return;
    }
    for (name, member) in object {
        if name.starts_with('@') {
            continue;
        }
        let first = match member {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            other => other,
        };
        match first {
            Value::String(text) => {
                let url = (text.starts_with("http://") || text.starts_with("https://")).then(|| text.clone());
                pairs.push(Pair::new(name, Content { text: text.clone(), url, exact: None }, weight));
            }
            Value::Number(_) | Value::Bool(_) => pairs.push(Pair::new(name, Content::text(first.to_string()), weight)),
            Value::Object(inner) => {
                let named =
                    inner.get("name").or_else(|| inner.get("@id")).or_else(|| inner.get("url")).and_then(Value::as_str);
                if let Some(named) = named {
                    pairs.push(Pair::new(name, Content::text(named), weight * 0.9));
                }
                members(first, weight * 0.85, depth + 1, pairs);
            }
            _ => {}
        }
    }
}

/// The things of a list that is called one of these, as contents.
pub(crate) fn plain_lists<'a>(scope: &NodeRef<'a>) -> Vec<(Vec<Words>, Vec<NodeRef<'a>>)> {
    let mut lists = Vec::new();
    let mut seen: Vec<NodeId> = Vec::new();
    for node in scope.descendants_it().take(MAX_NODES) {
        if lists.len() >= MAX_SETS {
            break;
        }
        if (node.has_name("ul") || node.has_name("ol") || node.has_name("menu")) && !seen.contains(&node.id) {
            seen.push(node.id);
            let items =
                node.element_children().into_iter().filter(|item| item.has_name("li")).take(MAX_RECORDS).collect();
            lists.push((names_of(&node), items));
        }
    }
    lists
}
