//! Filling a JSON Schema from a page, by the page's own labels, without a model.
//!
//! The schema is walked from its root. An object takes each member from what the page calls by its name; an
//! array of objects takes the set of like things that fits its members best; an array of scalars takes the list
//! that is called by its name. What nothing on the page is called by stays unfilled, and the answer says so:
//! it never guesses by position.
//!
//! Invariants:
//! - The same page and schema give the same answer.
//! - The answer is validated against the schema before it is returned.
//! - Depth, members, things and text are bounded for every schema and page.

use std::collections::BTreeSet;

use dom_query::{Document, NodeRef};
use serde_json::{Map, Value, json};

use crate::convert::{Content, Scalar, convert, has_words, is_evidently};
use crate::metadata::{Metadata, is_frame};
use crate::pairs::{Pair, content_of, pairs_of};
use crate::records::{MAX_RECORDS, Record, Set, headed, names_of, pairs_in, plain_lists, sets_in, stated};
use crate::words::Words;

/// The largest schema, in bytes of JSON.
const MAX_SCHEMA: usize = 64 << 10;
/// The deepest nesting of a schema that is walked.
const MAX_DEPTH: usize = 12;
/// The most members of an object.
const MAX_MEMBERS: usize = 200;
/// The least fit of a label with the name of a member.
const MIN_FIT: f32 = 0.35;
/// Labels that fit a name this much worse than the best are its rivals, if none says the name and no more.
const RIVALS: f32 = 0.15;
/// The most validation errors that the answer reports.
const MAX_COMPLAINTS: usize = 20;
/// The most values whose quotes, and whose refusals, the answer reports.
const MAX_LISTED: usize = 200;

/// Returns `true` if the schema asks for nothing.
#[must_use]
pub fn is_empty(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.keys().all(|key| key.starts_with('$') || key == "title" || key == "description")
        }
        Value::Bool(accepts) => *accepts,
        Value::Null => true,
        _ => false,
    }
}

/// Why a schema cannot be filled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is larger than what is walked.
    #[error("a schema of {bytes} bytes is larger than the limit of {MAX_SCHEMA}")]
    TooLarge {
        /// Its length as JSON.
        bytes: usize,
    },
    /// It is not a JSON Schema.
    #[error("it is not a JSON Schema: {:.300}", .0.to_string())]
    Invalid(#[source] Box<jsonschema::ValidationError<'static>>),
}

/// Refuses invalid schemas and those beyond the bounds.
///
/// # Errors
/// [`SchemaError`].
pub fn admit(schema: &Value) -> Result<(), SchemaError> {
    let bytes = schema.to_string().len();
    if bytes > MAX_SCHEMA {
        return Err(SchemaError::TooLarge { bytes });
    }
    jsonschema::validator_for(schema).map(drop).map_err(|error| SchemaError::Invalid(Box::new(error)))
}

/// Result of filling a schema.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Filled {
    pub(crate) value: Value,
    /// JSON pointers to members that nothing on the page fits.
    pub(crate) unfilled: Vec<String>,
    /// Where the values that a model quoted stand on the page, by their JSON pointers.
    pub(crate) by_model: Map<String, Value>,
    /// Why what a model said is not believed, by JSON pointers.
    pub(crate) refused: Map<String, Value>,
    /// Why a model that was asked gave no answer.
    pub note: Option<String>,
    /// The validation errors of the answer.
    invalid: Vec<String>,
    /// Limits that ran out, so that something was left out: `depth`, `items`, and those that the caller adds.
    pub truncated: BTreeSet<String>,
}

impl Filled {
    /// Returns the answer of the step: an object that fits the schema, with members that begin with `$` for what is
    /// missing. An answer that is not an object is under `value`, if such a member is added.
    #[must_use]
    pub fn data(self) -> Value {
        let mut notes = Map::new();
        if !self.unfilled.is_empty() {
            notes.insert("$unfilled".to_owned(), json!(self.unfilled));
        }
        if !self.invalid.is_empty() {
            notes.insert("$invalid".to_owned(), json!(self.invalid));
        }
        for (name, by_path) in [("$byModel", &self.by_model), ("$refused", &self.refused)] {
            if !by_path.is_empty() {
                let listed = by_path.iter().take(MAX_LISTED).map(|(path, what)| (path.clone(), what.clone()));
                notes.insert(name.to_owned(), Value::Object(listed.collect()));
            }
        }
        if let Some(note) = self.note {
            notes.insert("$note".to_owned(), note.into());
        }
        if !self.truncated.is_empty() {
            notes.insert("$truncated".to_owned(), json!(self.truncated));
        }
        match self.value {
            value if notes.is_empty() => value,
            Value::Object(mut members) => {
                members.append(&mut notes);
                Value::Object(members)
            }
            value => {
                notes.insert("value".to_owned(), value);
                Value::Object(notes)
            }
        }
    }

    /// Lists the errors of the answer.
    pub(crate) fn validate(&mut self, schema: &Value) {
        let Ok(validator) = jsonschema::validator_for(schema) else { return };
        let errors = validator.iter_errors(&self.value).take(MAX_COMPLAINTS);
        self.invalid =
            errors.map(|error| format!("{}: {}", error.instance_path(), error).chars().take(300).collect()).collect();
    }
}

/// Fills `schema` from a page's clean HTML and its metadata.
#[must_use]
pub fn fill(schema: &Value, html: &str, metadata: &Metadata, url: &str) -> Filled {
    let document = Document::from(html);
    let linked = metadata.linked_data();
    let root = document.body().unwrap_or_else(|| document.root());
    let mut pairs = pairs_of(&root);
    pairs.extend(page_pairs(metadata, &linked, url));
    let data: Vec<Value> = linked.into_iter().chain(metadata.items.iter().cloned()).collect();
    let mut filler = Filler { root: schema, data: &data, unfilled: Vec::new(), truncated: BTreeSet::new() };
    let scope = Scope { pairs: &pairs, node: Some(&root), is_page: true, called: Words::default(), contested: &[] };
    let value = filler.value(schema, &Words::default(), &scope, "", 0).unwrap_or(Value::Null);
    let Filler { mut unfilled, truncated, .. } = filler;
    unfilled.truncate(200);
    let mut filled = Filled { value, unfilled, truncated, ..Filled::default() };
    filled.validate(schema);
    filled
}

/// The page's metadata as pairs; ranked slightly below what it shows.
fn page_pairs(metadata: &Metadata, linked: &[Value], url: &str) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for item in linked.iter().chain(&metadata.items) {
        // What the page is a part of is not its subject.
        let weight = if is_frame(item) { 0.6 } else { 0.9 };
        pairs.extend(pairs_in(item).into_iter().map(|pair| Pair { weight: pair.weight * weight, ..pair }));
    }
    for (name, value) in &metadata.meta {
        let name = name.rsplit(':').next().unwrap_or(name);
        if let Some(text) = value.as_str() {
            let link = text.starts_with("http").then(|| text.to_owned());
            pairs.push(Pair::new(name, Content { text: text.to_owned(), url: link, exact: None }, 0.6));
        }
    }
    pairs.push(Pair::new("title", Content::text(metadata.title.clone()), 0.55));
    pairs.push(Pair::new("language", Content::text(metadata.language.clone()), 0.5));
    let own = metadata.canonical.clone().filter(|canonical| !canonical.is_empty()).unwrap_or_else(|| url.to_owned());
    pairs.push(Pair::new("url", Content { text: own.clone(), url: Some(own), exact: None }, 0.65));
    pairs
}

/// Where members are searched.
struct Scope<'s, 'a> {
    pairs: &'s [Pair],
    node: Option<&'s NodeRef<'a>>,
    is_page: bool,
    /// Name of the list or object that is filled: `flights`, in which a `flightNumber` may be called a number.
    called: Words,
    /// Members that several objects here want. One that nothing is called has no claim to them.
    contested: &'s [&'s String],
}

struct Filler<'s> {
    root: &'s Value,
    data: &'s [Value],
    unfilled: Vec<String>,
    truncated: BTreeSet<String>,
}

impl<'s> Filler<'s> {
    /// A value for `schema` that the page calls `name`; `None` if there is nothing.
    fn value(
        &mut self,
        schema: &'s Value,
        name: &Words,
        scope: &Scope<'_, '_>,
        path: &str,
        depth: usize,
    ) -> Option<Value> {
        if depth > MAX_DEPTH {
            self.truncated.insert("depth".to_owned());
            return None;
        }
        let schema = self.resolved(schema);
        if let Some(fixed) = schema.get("const") {
            return Some(fixed.clone());
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = schema.get(choice) {
                let kept = self.unfilled.len();
                for choice in choices.iter().take(20) {
                    self.unfilled.truncate(kept);
                    if let Some(value) =
                        self.value(choice, name, scope, path, depth + 1).filter(|value| !value.is_null())
                    {
                        return Some(value);
                    }
                }
                return None;
            }
        }
        match kind_of(schema) {
            Kind::Object => Some(self.object(schema, name, scope, path, depth)),
            Kind::Array => Some(self.array(schema, name, scope, path, depth)),
            Kind::Scalar(kind) => scalar(schema, kind, name, scope),
        }
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        resolved(self.root, schema)
    }

    fn object(&mut self, schema: &'s Value, name: &Words, scope: &Scope<'_, '_>, path: &str, depth: usize) -> Value {
        let mut members = Map::new();
        let Some(Value::Object(properties)) = schema.get("properties") else { return Value::Object(members) };
        // A nested object is filled from the part of the page with its name, if there is one.
        let place = scope.node.filter(|_| !name.is_empty());
        let part = place.and_then(|node| part_called(node, name));
        let row = place.filter(|_| part.is_none()).and_then(|node| headed(node, name));
        let own = part.as_ref().map(pairs_of).or(row);
        let taken = if own.is_none() && !name.is_empty() { scope.contested } else { &[] };
        let contested = self.contested(properties);
        let scope = Scope {
            pairs: own.as_deref().unwrap_or(scope.pairs),
            node: part.as_ref().or(scope.node),
            is_page: scope.is_page && own.is_none(),
            called: if name.is_empty() { scope.called.clone() } else { name.clone() },
            contested: &contested,
        };
        for (key, member) in properties.iter().take(MAX_MEMBERS) {
            let at = format!("{path}/{}", segment(key));
            let found = if taken.contains(&key) { None } else { self.member(key, member, &scope, &at, depth) };
            match found {
                Some(value) => drop(members.insert(key.clone(), value)),
                None => {
                    let nothing = accepts_null(self.resolved(member)).then_some(Value::Null);
                    members.extend(nothing.map(|nothing| (key.clone(), nothing)));
                    self.unfilled.push(at);
                }
            }
        }
        Value::Object(members)
    }

    /// The members that more than one of these objects wants.
    fn contested(&self, properties: &'s Map<String, Value>) -> Vec<&'s String> {
        let inner = properties.values().filter_map(|member| self.resolved(member).get("properties")?.as_object());
        let mut seen = BTreeSet::new();
        inner.flat_map(Map::keys).filter(|key| !seen.insert(*key)).collect()
    }

    /// A member by its key, or by the title that the schema gives it.
    fn member(
        &mut self,
        key: &str,
        schema: &'s Value,
        scope: &Scope<'_, '_>,
        path: &str,
        depth: usize,
    ) -> Option<Value> {
        let kept = self.unfilled.len();
        if let Some(value) = self.value(schema, &Words::of(key), scope, path, depth + 1).filter(is_something) {
            return Some(value);
        }
        let title = self.resolved(schema).get("title").and_then(Value::as_str)?;
        self.unfilled.truncate(kept);
        self.value(schema, &Words::of(title), scope, path, depth + 1).filter(is_something)
    }

    fn array(&mut self, schema: &'s Value, name: &Words, scope: &Scope<'_, '_>, path: &str, depth: usize) -> Value {
        let any = &Value::Null;
        let items = self.resolved(schema.get("items").unwrap_or(any));
        let limit = schema
            .get("maxItems")
            .and_then(Value::as_u64)
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(MAX_RECORDS)
            .min(MAX_RECORDS);
        match kind_of(items) {
            Kind::Object => self.things(items, name, scope, path, depth, limit),
            Kind::Array => Value::Array(Vec::new()),
            Kind::Scalar(kind) => {
                let mut values = Vec::new();
                let wants_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
                for content in plain(name, scope) {
                    let value = convert(&content, kind, format_of(items), options_of(items));
                    values.extend(value.filter(|value| !wants_unique || !values.contains(value)));
                }
                values.truncate(limit);
                Value::Array(values)
            }
        }
    }

    /// The set of like things that fits the members best.
    fn things(
        &mut self,
        items: &'s Value,
        name: &Words,
        scope: &Scope<'_, '_>,
        path: &str,
        depth: usize,
        limit: usize,
    ) -> Value {
        let mut sets = if scope.is_page { stated(self.data) } else { Vec::new() };
        sets.extend(scope.node.map(sets_in).unwrap_or_default());
        let wanted: Vec<(Words, &Value)> = match items.get("properties") {
            Some(Value::Object(properties)) => properties
                .iter()
                .take(MAX_MEMBERS)
                .map(|(key, schema)| (Words::of(key), self.resolved(schema)))
                .collect(),
            _ => Vec::new(),
        };
        let mut best: Option<(f32, Set<'_>)> = None;
        for mut set in sets {
            let score = fit_of(&mut set, &wanted, name);
            if score > best.as_ref().map_or(0.0, |(best, _)| *best) {
                best = Some((score, set));
            }
        }
        let Some((_, set)) = best else { return Value::Array(Vec::new()) };
        if set.left > 0 || set.records.len() > limit {
            self.truncated.insert("items".to_owned());
        }
        let mut values = Vec::new();
        for mut record in set.records.into_iter().take(limit) {
            record.ready();
            let scope = Scope {
                pairs: &record.pairs,
                node: record.node.as_ref(),
                is_page: false,
                called: name.clone(),
                contested: &[],
            };
            let kept = self.unfilled.len();
            let value = self.object(items, &Words::default(), &scope, &format!("{path}/{}", values.len()), depth + 1);
            // An empty row, such as one that spans the table, is not an item.
            if value.as_object().is_some_and(|members| members.values().any(is_something)) {
                values.push(value);
            } else {
                self.unfilled.truncate(kept);
            }
        }
        Value::Array(values)
    }
}

/// Returns the schema that `$ref` leads to within the whole schema.
pub(crate) fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..8 {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { break };
        let Some(found) = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) else { break };
        schema = found;
    }
    if let (Some(Value::Array(all)), None) = (schema.get("allOf"), schema.get("properties")) {
        return all.first().unwrap_or(schema);
    }
    schema
}

/// The name of a member as a part of a JSON pointer.
pub(crate) fn segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

pub(crate) fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => members.values().any(is_something),
        _ => true,
    }
}

/// How well a set fits the members that are wanted of each thing: its first things are tried.
fn fit_of(set: &mut Set<'_>, wanted: &[(Words, &Value)], name: &Words) -> f32 {
    let mut sum = 0.0;
    let tried = set.records.len().min(3);
    for record in set.records.iter_mut().take(tried) {
        record.ready();
        for (words, schema) in wanted {
            sum += match kind_of(schema) {
                Kind::Scalar(kind) => best_pair(words, name, &record.pairs, |content| {
                    convert(content, kind, format_of(schema), options_of(schema))
                })
                .map_or(0.0, |(_, fit)| fit),
                Kind::Object | Kind::Array => 0.0,
            };
        }
    }
    let count = |length: usize| f32::from(u16::try_from(length).unwrap_or(u16::MAX));
    let called = set.called.iter().map(|called| name.fits(called)).fold(0.0, f32::max);
    let fit = sum / count(tried.max(1)) / count(wanted.len().max(1));
    // One thing alone is hardly a set, and names alone are hardly a reason.
    let lone = if set.records.len() < 2 { 0.5 } else { 1.0 };
    let many = 0.02 * (count(set.records.len()).min(64.0)).log2();
    if fit < 0.2 { 0.0 } else { (fit + many) * lone + 0.5 * called }
}

pub(crate) enum Kind {
    Object,
    Array,
    Scalar(Scalar),
}

pub(crate) fn kind_of(schema: &Value) -> Kind {
    let stated = match schema.get("type") {
        Some(Value::String(kind)) => Some(kind.as_str()),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => None,
    };
    match stated {
        Some("object") => Kind::Object,
        Some("array") => Kind::Array,
        Some(kind) => Kind::Scalar(Scalar::parse(kind).unwrap_or(Scalar::Any)),
        None if schema.get("properties").is_some() => Kind::Object,
        None if schema.get("items").is_some() => Kind::Array,
        None => Kind::Scalar(Scalar::Any),
    }
}

pub(crate) fn accepts_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => false,
    }
}

pub(crate) fn format_of(schema: &Value) -> Option<&str> {
    schema.get("format").and_then(Value::as_str)
}

pub(crate) fn options_of(schema: &Value) -> Option<&[Value]> {
    schema.get("enum").and_then(Value::as_array).map(Vec::as_slice)
}

/// The best of the contents that are called by these words and convert. Where the best labels say more than the words, or
/// are equally good, and name different values, none is: which one is meant would be a guess.
fn best_pair(
    name: &Words,
    within: &Words,
    pairs: &[Pair],
    convert: impl Fn(&Content) -> Option<Value>,
) -> Option<(Value, f32)> {
    let mut fits: Vec<(f32, &Pair)> = pairs
        .iter()
        .map(|pair| (name.fits(&pair.label) * pair.weight, pair))
        .filter(|(fit, pair)| *fit >= MIN_FIT && is_called(name, within, pair))
        .collect();
    // Stable: of equals, the first of the document.
    fits.sort_by(|a, b| b.0.total_cmp(&a.0));
    let found = fits.into_iter().take(50);
    let mut found = found.filter_map(|(fit, pair)| convert(&pair.content).map(|value| (value, fit, pair)));
    let (value, best, pair) = found.next()?;
    let says_no_more = name.lacking(&pair.label).next().is_none() && pair.label.lacking(name).next().is_none();
    let nearly = if says_no_more { best - 0.01 } else { best - RIVALS };
    let is_rival = |(other, _, rival): (Value, f32, &Pair)| {
        // A text that holds the other is the same place of the page.
        let (one, two) = (&pair.content.text, &rival.content.text);
        let is_same_place = value.is_string() && (has_words(one, two) || has_words(two, one));
        other != value && !is_same_place
    };
    (!found.take_while(|(_, fit, _)| *fit > nearly).any(is_rival)).then_some((value, best))
}

/// Returns `true` if a label leaves out no more of a name than what goes without saying: the name of what it is in, and at
/// the end a kind that the content shows.
fn is_called(name: &Words, within: &Words, pair: &Pair) -> bool {
    const SMALL: [&str; 7] = ["are", "at", "has", "is", "of", "on", "the"];
    let goes_unsaid = |word: &str| {
        within.contains(word)
            || SMALL.contains(&word)
            || (name.last() == Some(word) && is_evidently(&pair.content, word))
    };
    name.lacking(&pair.label).all(goes_unsaid)
}

fn scalar(schema: &Value, kind: Scalar, name: &Words, scope: &Scope<'_, '_>) -> Option<Value> {
    let convert = |content: &Content| convert(content, kind, format_of(schema), options_of(schema));
    best_pair(name, &scope.called, scope.pairs, convert).map(|(value, _)| value)
}

/// The part of a page that is called by this name: the smallest that is so named and has parts itself.
fn part_called<'a>(scope: &NodeRef<'a>, name: &Words) -> Option<NodeRef<'a>> {
    let mut best: Option<(f32, NodeRef<'a>)> = None;
    for node in scope.descendants_it().take(50_000) {
        if !node.is_element() || node.element_children().is_empty() {
            continue;
        }
        let fit = names_of(&node).iter().map(|called| name.fits(called)).fold(0.0, f32::max);
        if fit >= 0.6 && best.as_ref().is_none_or(|(best, _)| fit > *best) {
            best = Some((fit, node));
        }
    }
    best.map(|(_, node)| node)
}

/// The contents of a list of plain things.
fn plain(name: &Words, scope: &Scope<'_, '_>) -> Vec<Content> {
    let Some(node) = scope.node else {
        return split(name, scope);
    };
    let of = |nodes: &[NodeRef<'_>]| nodes.iter().map(content_of).collect::<Vec<_>>();
    let is = |word: &str| name.fits(&Words::of(word)) >= 0.95;
    if is("headings") && !is("name") {
        return of(&all(node, &["h1", "h2", "h3", "h4", "h5", "h6"]));
    }
    let mut best: Option<(f32, Vec<Content>)> = None;
    let mut offer = |fit: f32, found: Vec<Content>| {
        if fit >= MIN_FIT && !found.is_empty() && best.as_ref().is_none_or(|(best, _)| fit > *best) {
            best = Some((fit, found));
        }
    };
    for (called, items) in plain_lists(node) {
        let whole = called.iter().filter(|called| name.lacking(called).next().is_none());
        offer(whole.map(|called| name.fits(called)).fold(0.0, f32::max), of(&items));
    }
    for set in sets_in(node) {
        // A column of a table.
        let fit = |pair: &Pair| if pair.weight >= 1.0 { name.fits(&pair.label) } else { 0.0 };
        let column: Vec<Content> = set
            .records
            .iter()
            .filter_map(|record: &Record<'_>| {
                record.pairs.iter().find(|pair| fit(pair) >= 0.9).map(|pair| pair.content.clone())
            })
            .collect();
        if !column.is_empty() {
            offer(0.85, column);
        }
    }
    let named: Vec<Content> = scope
        .pairs
        .iter()
        .filter(|pair| name.fits(&pair.label) * pair.weight >= 0.65 && !pair.content.text.is_empty())
        .map(|pair| pair.content.clone())
        .collect();
    if named.len() > 1 {
        offer(0.6, named);
    }
    if let Some((_, found)) = best {
        return found;
    }
    if is("url") {
        return of(&all(node, &["a"]));
    }
    if is("image") {
        return of(&all(node, &["img"]));
    }
    split(name, scope)
}

fn all<'a>(scope: &NodeRef<'a>, tags: &[&str]) -> Vec<NodeRef<'a>> {
    scope.descendants_it().filter(|node| tags.iter().any(|tag| node.has_name(tag))).take(MAX_RECORDS).collect()
}

/// One content that lists several things.
fn split(name: &Words, scope: &Scope<'_, '_>) -> Vec<Content> {
    let text = |content: &Content| (!content.text.is_empty()).then(|| Value::String(content.text.clone()));
    let found = best_pair(name, &scope.called, scope.pairs, text);
    let Some((Value::String(text), _)) = found else { return Vec::new() };
    text.split([',', ';', '•', '|', '\n']).map(str::trim).filter(|part| !part.is_empty()).map(Content::text).collect()
}
