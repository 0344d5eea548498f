//! Members that nothing on the page is called, quoted from its text by a model: what is asked, and what is believed.
//!
//! Invariants:
//! - A value is converted from a quote that stands in the text which the model was given, white space aside, and by the
//!   code that converts what the page labels. A quote is whole words; that of a number is all of a number.
//! - What is not believed stays unfilled, with the reason.
//! - Members, quotes and reasons are bounded for every schema and answer.

use cuebook_grammar::filling::{Column, MAX_QUOTE, MAX_QUOTES, Wanted, WantedForm};
use cuebook_grammar::render::{cut, one_line, quoted};
use dom_query::Document;
use serde_json::{Map, Value, json};

use crate::convert::{Content, Scalar, convert, number};
use crate::fill::{Filled, Kind, accepts_null, format_of, is_something, kind_of, options_of, resolved, segment};

/// The most members that are asked for at a time, those of items included.
const MAX_ASKED: usize = 60;
/// The most characters of the text that a model is given.
const MAX_TEXT: usize = 40_000;
/// The most paths that stay unfilled.
const MAX_UNFILLED: usize = 200;
/// The most characters of the line around a quote.
const LINE: usize = 200;

/// A member that is open.
struct Open<'s> {
    wanted: Wanted,
    /// JSON pointer of the member.
    path: &'s str,
    schema: &'s Value,
    /// Names and schemas of the members of its items; empty for a value and a list of values.
    columns: Vec<(&'s str, &'s Value)>,
}

/// Returns `true` for the address of a link, which a page's text does not show.
fn is_link(schema: &Value) -> bool {
    matches!(format_of(schema), Some("uri" | "url" | "iri" | "uri-reference"))
}

impl Filled {
    /// Returns what a model may be asked for: the members that nothing on the page is called, in order. Objects are
    /// asked for by their members, and lists by theirs; what lies deeper in an item of a list is not asked for.
    #[must_use]
    pub fn wanted(&self, schema: &Value) -> Vec<Wanted> {
        self.open(schema).into_iter().map(|open| open.wanted).collect()
    }

    /// Returns the visible text of clean HTML, a line for each block and row: at most 40,000 characters, and `true` if there
    /// are more. Links have their addresses if one is wanted.
    #[must_use]
    pub fn text(&self, schema: &Value, html: &str) -> (String, bool) {
        let document = Document::from(html);
        let open = self.open(schema);
        let wants_links = |open: &Open<'_>| {
            is_link(open.schema)
                || is_link(chosen(schema, items_of(open.schema)))
                || open.columns.iter().any(|(_, schema)| is_link(schema))
        };
        if open.iter().any(wants_links) {
            for link in document.select("a[href]").nodes() {
                let href = link.attr("href").unwrap_or_default().replace('&', "&amp;").replace('<', "&lt;");
                link.append_html(format!(" ({href}) "));
            }
        }
        // Formatting would run these together with what follows, so that no quote of either were of whole words.
        const BLOCKS: &str = "address, aside, caption, details, fieldset, figcaption, figure, footer, form, header, legend, \
            main, menu, nav, summary";
        for block in document.select(BLOCKS).nodes() {
            block.rename("div");
        }
        for term in document.select("dt").nodes() {
            term.append_html(" ");
        }
        for description in document.select("dd").nodes() {
            description.append_html("<br>");
        }
        let text = document.formatted_text();
        (text.chars().take(MAX_TEXT).collect(), text.chars().nth(MAX_TEXT).is_some())
    }

    /// Takes the values of `answer` whose quotes stand in `text`, and notes why others are refused. `answer` is what a
    /// model said to [`wanted`](Self::wanted), and may be anything.
    pub fn take(&mut self, schema: &Value, text: &str, answer: &Value) {
        let page = Page::of(text);
        let mut judged = Judged { page: &page, by_model: Map::new(), refused: Map::new(), unfilled: Vec::new() };
        let mut found = Vec::new();
        for open in self.open(schema) {
            let Some(said) = answer.get(&open.wanted.key).filter(|said| says_something(said)) else { continue };
            let value = match &open.wanted.form {
                WantedForm::Quote => judged.quote(said, open.path, open.path, open.schema),
                WantedForm::Quotes => Some(judged.list(said, open.path, chosen(schema, items_of(open.schema)))),
                WantedForm::Items(_) => Some(judged.items(said, &open)),
            };
            found.extend(value.filter(is_something).map(|value| (open.path.to_owned(), value)));
        }
        let Judged { by_model, refused, unfilled, .. } = judged;
        (self.by_model, self.refused) = (by_model, refused);
        for (path, value) in found {
            put(&mut self.value, &path, value);
        }
        self.unfilled.extend(unfilled);
        let value = &self.value;
        self.unfilled.retain(|path| !value.pointer(path).is_some_and(is_something));
        self.unfilled.truncate(MAX_UNFILLED);
        self.validate(schema);
    }

    fn open<'s>(&'s self, schema: &'s Value) -> Vec<Open<'s>> {
        let mut all: Vec<Open<'s>> = Vec::new();
        let mut asked = 0;
        // A list that is the whole answer is no member that could be unfilled.
        let whole = (!is_something(&self.value) && !self.value.is_object()).then_some("");
        for path in whole.into_iter().chain(self.unfilled.iter().map(String::as_str)) {
            let Some(own) = schema_at(schema, path) else { continue };
            let mut columns = Vec::new();
            let form = match kind_of(own) {
                Kind::Object => continue,
                Kind::Scalar(_) => WantedForm::Quote,
                Kind::Array => {
                    let items = chosen(schema, items_of(own));
                    match (kind_of(items), items.get("properties")) {
                        (Kind::Scalar(_), _) => WantedForm::Quotes,
                        (Kind::Object, Some(Value::Object(properties))) => {
                            let members = properties.iter().take(MAX_ASKED);
                            columns.extend(members.map(|(name, member)| (name.as_str(), chosen(schema, member))));
                            WantedForm::Items(columns.iter().enumerate().filter_map(column).collect())
                        }
                        _ => continue,
                    }
                }
            };
            asked += match &form {
                WantedForm::Items(columns) if columns.is_empty() => continue,
                WantedForm::Items(columns) => columns.len(),
                _ => 1,
            };
            if asked > MAX_ASKED {
                break;
            }
            let name = path.rsplit('/').next().unwrap_or_default();
            let wanted = Wanted {
                key: key('v', all.len(), name),
                about: about(if path.is_empty() { "the list" } else { path }, own),
                form,
            };
            all.push(Open { wanted, path, schema: own, columns });
        }
        all
    }
}

/// How a member of an item is asked for, if it is a single value.
fn column((at, (name, schema)): (usize, &(&str, &Value))) -> Option<Column> {
    let is_scalar = matches!(kind_of(schema), Kind::Scalar(_));
    is_scalar.then(|| Column { key: key('c', at, name), about: about(name, schema) })
}

/// The schema of the member at a pointer.
fn schema_at<'s>(root: &'s Value, path: &str) -> Option<&'s Value> {
    let mut schema = chosen(root, root);
    for name in path.split('/').skip(1) {
        let inner = match kind_of(schema) {
            Kind::Array => schema.get("items")?,
            _ => schema.get("properties")?.get(name.replace("~1", "/").replace("~0", "~"))?,
        };
        schema = chosen(root, inner);
    }
    Some(schema)
}

/// The schema without references, and of several the first that is not for nothing.
fn chosen<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let schema = resolved(root, schema);
    let choices = ["anyOf", "oneOf"].iter().find_map(|choice| schema.get(choice)?.as_array());
    let Some(choices) = choices else { return schema };
    let mut choices = choices.iter().map(|choice| resolved(root, choice));
    choices.find(|choice| !matches!(kind_of(choice), Kind::Scalar(Scalar::Null))).unwrap_or(schema)
}

fn items_of(schema: &Value) -> &Value {
    static ANY: Value = Value::Null;
    schema.get("items").unwrap_or(&ANY)
}

/// `v3_unitPrice`: every dialect takes letters, digits and `_` as names.
fn key(kind: char, at: usize, name: &str) -> String {
    let plain = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40);
    format!("{kind}{}_{}", at + 1, plain.collect::<String>())
}

/// `/price (number): the price with tax`.
fn about(path: &str, schema: &Value) -> String {
    let text = |member: &str| schema.get(member).and_then(Value::as_str);
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("any")
        }
        _ => "any",
    };
    let format = format_of(schema).map(|format| format!(", format {format}")).unwrap_or_default();
    let options = options_of(schema).map(|options| {
        let options: Vec<String> = options.iter().take(20).map(Value::to_string).collect();
        format!(", one of {}", options.join(", "))
    });
    let said = text("description").or_else(|| text("title")).map(|said| format!(": {said}"));
    one_line(&format!("{path} ({kind}{format}{}){}", options.unwrap_or_default(), said.unwrap_or_default()), 300)
}

fn list(said: &Value) -> &[Value] {
    let all = said.as_array().map(Vec::as_slice).unwrap_or_default();
    all.get(..usize::try_from(MAX_QUOTES).unwrap_or(usize::MAX)).unwrap_or(all)
}

fn says_something(said: &Value) -> bool {
    match said {
        Value::String(text) => !text.trim().is_empty(),
        other => is_something(other),
    }
}

/// Puts a value at a pointer, and the objects that lead there.
fn put(root: &mut Value, path: &str, value: Value) {
    let mut place = root;
    for name in path.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")) {
        if place.is_null() {
            *place = json!({});
        }
        let next = match place {
            Value::Object(members) => Some(members.entry(name).or_insert(Value::Null)),
            Value::Array(items) => name.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            _ => None,
        };
        let Some(next) = next else { return };
        place = next;
    }
    *place = value;
}

/// The text of a page with its white space folded.
struct Page {
    text: String,
    /// The bytes at which its lines end.
    ends: Vec<usize>,
}

impl Page {
    fn of(text: &str) -> Self {
        let mut page = Self { text: String::with_capacity(text.len()), ends: Vec::new() };
        for line in text.lines() {
            for word in line.split_whitespace() {
                if !page.text.is_empty() {
                    page.text.push(' ');
                }
                page.text.push_str(word);
            }
            page.ends.push(page.text.len());
        }
        page
    }

    /// The line around some bytes, cut in the middle of a long one.
    fn line(&self, from: usize, to: usize) -> String {
        let at = self.ends.partition_point(|end| *end <= from);
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(self.text.len()).max(to);
        let before: Vec<char> = self.text.get(begin..from).unwrap_or_default().chars().rev().take(LINE / 2).collect();
        let before: String = before.into_iter().rev().collect();
        cut(format!("{before}{}", self.text.get(from..end).unwrap_or_default()).trim(), LINE.max(to - from + LINE / 2))
    }

    /// The value of a quote that stands here, with the quote and the line around it.
    fn value(&self, said: &Value, schema: &Value) -> Result<(Value, Value), &'static str> {
        let Value::String(said) = said else { return Err("which is no text") };
        let quote = said.split_whitespace().collect::<Vec<_>>().join(" ");
        if u32::try_from(quote.chars().count()).is_ok_and(|length| length > MAX_QUOTE) {
            return Err("which is too long for a quote");
        }
        if !quote.contains(char::is_alphanumeric) {
            return Err("which has neither a letter nor a digit");
        }
        let Kind::Scalar(kind) = kind_of(schema) else { return Err("which is no single value") };
        let is_number = matches!(kind, Scalar::Number | Scalar::Integer);
        let (from, to) = self.find(&quote, is_number).ok_or("which does not stand in the page's text")?;
        if is_number && has_several_numbers(&quote) {
            return Err("which has more than one number");
        }
        let value = convert(&Content::text(quote.clone()), kind, format_of(schema), options_of(schema));
        let value = value.filter(|value| !value.is_null()).ok_or("which is not of the kind that is wanted")?;
        Ok((value, json!({ "quote": quote, "line": self.line(from, to) })))
    }

    /// Where a quote stands as whole words, and as a whole number if it is to be one.
    fn find(&self, quote: &str, is_number: bool) -> Option<(usize, usize)> {
        self.text.match_indices(quote).map(|(from, found)| (from, from + found.len())).take(1_000).find(|(from, to)| {
            let (before, after) =
                (self.text.get(..*from).unwrap_or_default(), self.text.get(*to..).unwrap_or_default());
            let is_cut = |left: Option<char>, right: Option<char>| {
                left.zip(right).is_some_and(|(left, right)| is_in_word(left) && is_in_word(right))
            };
            if is_cut(before.chars().next_back(), quote.chars().next())
                || is_cut(quote.chars().next_back(), after.chars().next())
            {
                return false;
            }
            // With what stands right beside it, it must be the number that it is alone: not 5 of -5, nor 200 of 1,200, nor
            // 16 of 16/02/2026.
            let begin = before.rfind(' ').map_or(0, |space| space + 1);
            let end = to + after.find(' ').unwrap_or(after.len());
            let word = self.text.get(begin..end).unwrap_or_default();
            !is_number || (number(word) == number(quote) && (!has_several_numbers(word) || has_several_numbers(quote)))
        })
    }
}

/// Returns `true` for letters and digits of scripts that put spaces between words.
fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{530}'
}

/// The answer of a model, while it is judged.
struct Judged<'p> {
    page: &'p Page,
    by_model: Map<String, Value>,
    refused: Map<String, Value>,
    /// Members of its items that it did not find.
    unfilled: Vec<String>,
}

impl Judged<'_> {
    /// The value of a quote, if it stands on the page and is of the kind that is wanted. It becomes the value at `path`;
    /// `said_at` is its place in what the model said.
    fn quote(&mut self, said: &Value, path: &str, said_at: &str, schema: &Value) -> Option<Value> {
        match self.page.value(said, schema) {
            Ok((value, proof)) => {
                self.by_model.insert(path.to_owned(), proof);
                Some(value)
            }
            Err(reason) => {
                let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
                let reason = format!("the model said {}, {reason}", quoted(&said, 100));
                self.refused.insert(said_at.to_owned(), reason.into());
                None
            }
        }
    }

    fn list(&mut self, said: &Value, path: &str, schema: &Value) -> Value {
        let mut values = Vec::new();
        for (at, said) in list(said).iter().enumerate().filter(|(_, said)| says_something(said)) {
            let value = self.quote(said, &format!("{path}/{}", values.len()), &format!("{path}/{at}"), schema);
            values.extend(value);
        }
        Value::Array(values)
    }

    fn items(&mut self, said: &Value, open: &Open<'_>) -> Value {
        let mut items = Vec::new();
        for (said_at, item) in list(said).iter().enumerate() {
            let at = format!("{}/{}", open.path, items.len());
            let mut members = Map::new();
            let mut missing = Vec::new();
            for (column, (name, schema)) in open.columns.iter().enumerate() {
                let path = format!("{at}/{}", segment(name));
                let said_at = format!("{}/{said_at}/{}", open.path, segment(name));
                let said = item.get(key('c', column, name)).filter(|said| says_something(said));
                match said.and_then(|said| self.quote(said, &path, &said_at, schema)) {
                    Some(value) => drop(members.insert((*name).to_owned(), value)),
                    None => {
                        let nothing = accepts_null(schema).then(|| ((*name).to_owned(), Value::Null));
                        members.extend(nothing);
                        missing.push(path);
                    }
                }
            }
            if members.values().any(is_something) {
                items.push(Value::Object(members));
                self.unfilled.extend(missing);
            }
        }
        Value::Array(items)
    }
}

/// Returns `true` if a quote holds more than one number, so that it does not say which one is meant.
fn has_several_numbers(quote: &str) -> bool {
    let is_inner = |c: char| matches!(c, '.' | ',' | '\'' | '’');
    let parts = quote.split(|c: char| !c.is_ascii_digit() && !is_inner(c));
    parts.filter(|part| part.contains(|c: char| c.is_ascii_digit())).count() > 1
}
