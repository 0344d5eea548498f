//! A part of a page as labels with contents.
//!
//! A label may be a table's heading, a term, the name of a control, a property of microdata, an attribute that
//! a page's author wrote for scripts, or words before a colon. Each has a weight: how sure it is that the label
//! is meant for the content.

use dom_query::NodeRef;

use crate::convert::{Content, is_money};
use crate::words::Words;

/// A label, its content, and how sure it is that they belong together.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) label: Words,
    pub(crate) content: Content,
    pub(crate) weight: f32,
}

impl Pair {
    pub(crate) fn new(label: &str, content: Content, weight: f32) -> Self {
        Self { label: Words::of(label), content, weight }
    }
}

/// The most nodes of one part that are read.
const MAX_NODES: usize = 20_000;
/// The most pairs of one part.
const MAX_PAIRS: usize = 4_000;
/// The most characters of a content.
const MAX_TEXT: usize = 5_000;
/// The most characters before a colon that are a label, and of a text that may have one.
const MAX_LABEL: usize = 40;
const MAX_LABELLED: usize = 400;

/// Every pair in `scope`, in the order of the document.
pub(crate) fn pairs_of(scope: &NodeRef<'_>) -> Vec<Pair> {
    let mut pairs = Pairs::default();
    pairs.attributes(scope);
    for node in scope.descendants_it().take(MAX_NODES) {
        if pairs.found.len() >= MAX_PAIRS {
            break;
        }
        if node.is_element() {
            pairs.element(&node);
        }
    }
    pairs.found.retain(|pair| !pair.label.is_empty());
    pairs.found
}

#[derive(Default)]
struct Pairs {
    found: Vec<Pair>,
    has_heading: bool,
    has_link: bool,
    has_image: bool,
}

impl Pairs {
    fn put(&mut self, label: &str, content: Content, weight: f32) {
        self.found.push(Pair::new(label, content, weight));
    }

    fn element(&mut self, node: &NodeRef<'_>) {
        self.attributes(node);
        let name = node.node_name().unwrap_or_default();
        match &*name {
            "dt" => self.term(node),
            "th" => self.row_heading(node),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if !self.has_heading => {
                self.has_heading = true;
                self.put("name", content_of(node), 0.7);
            }
            "a" => self.link(node),
            "img" if !self.has_image => {
                self.has_image = true;
                self.put("image", content_of(node), 0.6);
            }
            "table" => self.rows(node),
            "time" => {
                self.put("date", content_of(node), 0.7);
                self.put("time", content_of(node), 0.6);
            }
            _ => {}
        }
        if is_leaf(node) {
            self.leaf(node);
        }
    }

    /// Adds the content of an element under the names that its attributes give it.
    fn attributes(&mut self, node: &NodeRef<'_>) {
        const CALLED: [(&str, f32); 11] = [
            ("itemprop", 1.0),
            ("property", 0.95),
            ("data-field", 0.95),
            ("data-label", 0.95),
            ("data-title", 0.9),
            ("data-name", 0.8),
            ("aria-label", 0.9),
            ("data-testid", 0.8),
            ("data-test", 0.8),
            ("id", 0.75),
            ("class", 0.7),
        ];
        let Some(element) = node.element_ref() else { return };
        let called: Vec<(String, f32)> = element
            .attrs
            .iter()
            .filter_map(|attribute| {
                let (_, weight) = CALLED.iter().find(|(name, _)| *name == &*attribute.name.local)?;
                Some((attribute.value.to_string(), *weight))
            })
            .collect();
        drop(element);
        if called.is_empty() {
            return;
        }
        let content = content_of(node);
        for (label, weight) in called {
            // One class is one name; the other attributes are one name each.
            if weight < 0.75 || (weight - 1.0).abs() < f32::EPSILON {
                label.split_whitespace().take(8).for_each(|label| self.put(label, content.clone(), weight));
            } else if label.trim() != content.text {
                self.put(&label, content.clone(), weight);
            }
        }
    }

    fn term(&mut self, node: &NodeRef<'_>) {
        let label = text_of(node);
        let mut next = node.next_element_sibling();
        for _ in 0..20 {
            let Some(element) = next else { break };
            let name = element.node_name().unwrap_or_default();
            match &*name {
                "dd" => {
                    self.put(&label, content_of(&element), 1.0);
                    break;
                }
                "dt" => next = element.next_element_sibling(),
                _ => break,
            }
        }
    }

    /// The rows of a table without headings, all of two cells: a label and its content.
    fn rows(&mut self, node: &NodeRef<'_>) {
        let inner = || node.descendants_it().take(MAX_NODES);
        let rows: Vec<_> = inner().filter(|node| node.has_name("tr")).map(|row| row.element_children()).collect();
        let is_pair = |row: &Vec<NodeRef<'_>>| row.len() == 2 && row.iter().all(|cell| cell.has_name("td"));
        if !rows.iter().all(is_pair) {
            return;
        }
        for row in rows {
            if let [label, content] = row.as_slice() {
                let label = text_of(label);
                if label.chars().count() <= MAX_LABEL {
                    self.put(&label, content_of(content), 0.9);
                }
            }
        }
    }

    /// Numbers that are called by the word after them, each in a part of its own: `2 replies · 318 views`.
    fn counts(&mut self, text: &str) {
        const MIN_LETTERS: usize = 3;
        // A comma within a number separates nothing.
        for part in text.split(['·', '•', '|']).flat_map(|part| part.split(", ")) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(word), None) = (words.next(), words.next(), words.next()) else { continue };
            let is_number = number.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
            if is_number && word.chars().count() >= MIN_LETTERS && word.chars().all(char::is_alphabetic) {
                self.put(word, Content::text(number), 0.6);
            }
        }
    }

    /// A heading of a row, before its only cell: which of several is meant, the headings of their columns say.
    fn row_heading(&mut self, node: &NodeRef<'_>) {
        let before = node.prev_element_sibling();
        if before.is_some_and(|before| before.has_name("th")) {
            return;
        }
        let cell = node.next_element_sibling().filter(|next| next.has_name("td"));
        if let Some(cell) = cell.filter(|cell| cell.next_element_sibling().is_none()) {
            self.put(&text_of(node), content_of(&cell), 1.0);
        }
    }

    fn link(&mut self, node: &NodeRef<'_>) {
        let content = content_of(node);
        let Some(url) = &content.url else { return };
        if url.starts_with("mailto:") {
            self.put("email", content, 0.8);
        } else if url.starts_with("tel:") {
            self.put("phone", content, 0.8);
        } else if !self.has_link {
            self.has_link = true;
            self.put("url", content.clone(), 0.6);
            self.put("name", content, 0.5);
        }
    }

    /// An element that no block divides.
    fn leaf(&mut self, node: &NodeRef<'_>) {
        let text = text_of(node);
        if text.is_empty() || text.chars().count() > MAX_LABELLED {
            return;
        }
        if is_money(&text) {
            self.put("price", Content::text(text.clone()), 0.6);
        }
        self.counts(&text);
        let Some((label, rest)) = text.split_once([':', '：']) else { return };
        let rest = rest.trim();
        if rest.is_empty() {
            // The content is beside it.
            if let Some(next) = node.next_element_sibling()
                && label.chars().count() <= MAX_LABEL
            {
                self.put(label, content_of(&next), 0.9);
            }
        } else if label.chars().count() <= MAX_LABEL && !rest.starts_with("//") {
            let whole = content_of(node);
            self.put(label, Content { text: rest.to_owned(), exact: None, ..whole }, 0.9);
        }
    }
}

/// Returns the content that an element shows.
pub(crate) fn content_of(node: &NodeRef<'_>) -> Content {
    let attribute = |name: &str| node.attr(name).map(|text| text.to_string()).filter(|text| !text.is_empty());
    let mut content = Content { text: text_of(node), ..Content::default() };
    content.exact = attribute("content").or_else(|| attribute("datetime")).or_else(|| attribute("data-value"));
    content.url = attribute("href").or_else(|| attribute("src"));
    if content.url.is_none() {
        let inner = node.descendants_it().take(50).find(|inner| inner.has_name("a") || inner.has_name("img"));
        content.url =
            inner.and_then(|inner| inner.attr("href").or_else(|| inner.attr("src"))).map(|url| url.to_string());
    }
    if content.exact.is_none() {
        let time = node.descendants_it().take(20).find(|inner| inner.has_name("time"));
        content.exact = time.and_then(|time| time.attr("datetime")).map(|text| text.to_string());
    }
    if content.text.is_empty()
        && let Some(alt) = attribute("alt")
    {
        content.text = alt;
    }
    content
}

/// The text of an element, white space collapsed, at most a few thousand characters.
pub(crate) fn text_of(node: &NodeRef<'_>) -> String {
    let mut raw = String::new();
    for inner in node.descendants_it().take(MAX_NODES) {
        if raw.len() > MAX_TEXT * 2 {
            break;
        }
        if inner.is_text() {
            inner.query(|inner| {
                if let dom_query::NodeData::Text { contents } = &inner.data {
                    raw.push_str(contents);
                }
            });
        } else if is_apart(&inner) {
            raw.push(' ');
        }
    }
    let collapsed: Vec<&str> = raw.split_whitespace().collect();
    collapsed.join(" ").chars().take(MAX_TEXT).collect()
}

/// Returns `true` if an element's text stands apart from the text before it.
fn is_apart(node: &NodeRef<'_>) -> bool {
    const APART: [&str; 24] = [
        "p",
        "div",
        "li",
        "tr",
        "td",
        "th",
        "br",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "dt",
        "dd",
        "section",
        "article",
        "ul",
        "ol",
        "table",
        "output",
        "figcaption",
        "blockquote",
        "img",
    ];
    node.element_ref().is_some_and(|element| APART.contains(&&*element.name.local))
}

/// Returns `true` if an element has text and holds no blocks.
fn is_leaf(node: &NodeRef<'_>) -> bool {
    node.element_children().iter().all(|child| {
        child.element_ref().is_some_and(|element| {
            matches!(
                &*element.name.local,
                "a" | "b"
                    | "strong"
                    | "em"
                    | "i"
                    | "span"
                    | "small"
                    | "abbr"
                    | "time"
                    | "code"
                    | "output"
                    | "br"
                    | "sub"
                    | "sup"
                    | "del"
                    | "ins"
                    | "s"
                    | "u"
                    | "q"
                    | "mark"
            )
        })
    })
}
