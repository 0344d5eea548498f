//! The elements that a file of source writes: HTML, JSX and TSX, the templates of Vue.
//!
//! Invariants:
//! - Parsing never fails and is bounded: broken source gives the elements that can be read.
//! - Nothing recurses: a file may nest as deeply as it likes.
//! - A value that the source computes is unknown, never guessed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::{Node, ParseOptions, Parser};

/// The most elements of a file.
const MAX_ELEMENTS: usize = 50_000;
/// The most elements of HTML inside each other: the parser copies their list for every token.
const MAX_DEPTH: usize = 1_000;
/// Elements of HTML without an end.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];
/// The most pieces of text in an element whose text is compared.
const MAX_PIECES: usize = 60;
/// Attributes of templates that repeat their element: Vue, Angular, Alpine.
const REPEATING: [&str; 4] = ["v-for", "*ngFor", "x-for", "ng-repeat"];
/// Attributes of templates by which an element may be absent.
const CHOOSING: [&str; 7] = ["v-if", "v-else-if", "v-else", "v-show", "*ngIf", "x-if", "x-show"];
/// Methods whose callback is called for each item.
const CALLBACKS: [&str; 5] = ["map", "flatMap", "forEach", "from", "reduce"];

/// Places of HTML and Vue that a template computes.
static COMPUTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?s)\{\{.*?\}\}|\{%.*?%\}").ok());
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""([^"]*)"|'([^']*)'|`([^`]*)`"#).ok());
static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"<(/?)([A-Za-z][\w.:-]*)[^<>]*?(/?)>").ok());
static LOOPS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{%-?\s*(?:end)?for\b|\{\{[~-]?\s*[#/]each\b").ok());

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Html,
    Vue,
    Script,
    /// A script without markup.
    Plain,
}

impl Syntax {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Some(match path.extension().and_then(OsStr::to_str)? {
            "html" | "htm" => Self::Html,
            "vue" => Self::Vue,
            "jsx" | "tsx" | "js" | "mjs" => Self::Script,
            "ts" | "mts" | "cjs" => Self::Plain,
            _ => return None,
        })
    }
}

/// The elements of a file, in the order of its text.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    pub(crate) elements: Vec<Element>,
    pieces: Vec<Piece>,
    /// Labels, by the id that they name.
    labels: BTreeMap<String, Vec<usize>>,
    /// `true` if the parser was stopped.
    pub(crate) is_cut: bool,
}

#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) tag: String,
    /// `None` for a value that is computed.
    pub(crate) attributes: BTreeMap<String, Option<String>>,
    pub(crate) parent: Option<usize>,
    /// Where an attribute is inserted, in bytes.
    pub(crate) insert_at: usize,
    /// 1-based line of the tag.
    pub(crate) line: usize,
    /// The loop around it, in this file.
    pub(crate) repeats: Option<String>,
    /// The component that it belongs to.
    pub(crate) owner: String,
    pieces: Range<usize>,
    level: Level,
}

/// How many attributes and how many choices are around something: what differs in them is no plain text of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    attributes: u32,
    choices: u32,
}

#[derive(Debug)]
struct Piece {
    level: Level,
    text: Text,
}

#[derive(Debug)]
enum Text {
    Literal(String),
    /// It is computed. The strings in it may be what it comes to.
    Computed(Vec<String>),
}

/// How the text of an element fits a name, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TextFit {
    /// It is the name.
    Whole,
    /// It is computed, and one of its strings is the name.
    Choice,
    /// It is the name around what is computed.
    Around,
    /// The source says nothing of it.
    Unknown,
    /// It is another text.
    Other,
}

/// Letters as they are compared: without case and white space, which styles change.
pub(crate) fn normal(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

impl Element {
    /// The literal value of an attribute.
    pub(crate) fn literal(&self, name: &str) -> Option<&str> {
        self.attributes.get(name)?.as_deref()
    }

    /// Returns `true` if it is written as a component, which may not pass an attribute on.
    pub(crate) fn is_component(&self) -> bool {
        self.tag.starts_with(char::is_uppercase) || self.tag.contains(['.', '-'])
    }
}

impl Markup {
    /// Reads a file; `stem` names the component of a file that names none.
    pub(crate) fn read(text: &str, syntax: Syntax, stem: &str) -> Self {
        let language = match syntax {
            Syntax::Html | Syntax::Vue => tree_sitter_html::LANGUAGE,
            // It reads scripts without types as well.
            Syntax::Script => tree_sitter_typescript::LANGUAGE_TSX,
            Syntax::Plain => return Self::default(),
        };
        let mut parser = Parser::new();
        let is_deep = syntax != Syntax::Script && is_deep(text);
        if is_deep || parser.set_language(&language.into()).is_err() {
            return Self { is_cut: true, ..Self::default() };
        }
        // The parser calls once in a hundred operations: a count, unlike a clock, ends at the same place each time.
        let mut left = 10_000 + text.len() / 4;
        let mut count = |_: &tree_sitter::ParseState| {
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let bytes = text.as_bytes();
        let mut chunk = |at: usize, _| bytes.get(at..).unwrap_or_default();
        let options = ParseOptions::new().progress_callback(&mut count);
        let Some(tree) = parser.parse_with_options(&mut chunk, None, Some(options)) else {
            return Self { is_cut: true, ..Self::default() };
        };
        let mut reader = Reader { text, is_script: syntax == Syntax::Script, ..Reader::default() };
        reader.scope.owner = Some(pascal(stem));
        // From the first loop to the end of the last: what is between two of them is rather left out than doubled.
        let mut loops = LOOPS.iter().flat_map(|loops| loops.find_iter(text)).filter(|_| syntax == Syntax::Html);
        let first = loops.next().map_or(0, |found| found.start());
        reader.template_loops = first..loops.last().map_or(first, |found| found.start());
        let mut cursor = tree.walk();
        // A node finds its parent only by a search from the root.
        let mut parents: Vec<Node<'_>> = Vec::new();
        'all: loop {
            let node = cursor.node();
            if reader.enter(node, &parents) && cursor.goto_first_child() {
                parents.push(node);
                continue;
            }
            loop {
                reader.leave(cursor.node(), parents.len());
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    break 'all;
                }
                parents.pop();
            }
        }
        reader.markup
    }

    /// The text of an element, compared with a name that is [`normal`].
    pub(crate) fn fit(&self, element: &Element, name: &str) -> TextFit {
        let pieces = self.pieces.get(element.pieces.clone()).unwrap_or_default();
        if pieces.len() > MAX_PIECES {
            return TextFit::Unknown;
        }
        // Literal text, cut where something is computed.
        let (mut parts, mut choices) = (vec![String::new()], Vec::new());
        for piece in pieces.iter().filter(|piece| piece.level.attributes == element.level.attributes) {
            match (&piece.text, parts.last_mut()) {
                (Text::Literal(text), Some(part)) if piece.level == element.level => {
                    *part += &normal(text);
                    continue;
                }
                (Text::Literal(text), _) => choices.push(normal(text)),
                (Text::Computed(texts), _) => choices.extend(texts.iter().map(|text| normal(text))),
            }
            parts.push(String::new());
        }
        let literal = parts.concat();
        let letters = literal.chars().filter(|c| c.is_alphanumeric()).count();
        if name.is_empty() {
            TextFit::Unknown
        } else if literal == name {
            TextFit::Whole
        } else if literal.is_empty() && choices.iter().any(|choice| choice == name) {
            TextFit::Choice
        } else if parts.len() > 1 && letters >= 3 && is_around(&parts, name) {
            TextFit::Around
        } else if literal.is_empty() || element.is_component() {
            TextFit::Unknown
        } else {
            TextFit::Other
        }
    }

    /// The literal texts of the labels of a control, each [`normal`]: those around it, and those that name its id.
    pub(crate) fn labels(&self, control: &Element) -> Vec<String> {
        let by_id = control.literal("id").and_then(|id| self.labels.get(id));
        let labels = by_id.into_iter().flatten().filter_map(|at| self.elements.get(*at));
        let around = self.around(control).filter(|around| around.tag == "label");
        let text = |label: &Element| {
            let own = &control.pieces;
            let pieces = label.pieces.clone().filter(|at| !own.contains(at)).take(MAX_PIECES);
            let texts = pieces.filter_map(|at| match &self.pieces.get(at)?.text {
                Text::Literal(text) => Some(normal(text)),
                Text::Computed(_) => None,
            });
            texts.collect::<String>()
        };
        labels.chain(around).map(text).filter(|text| !text.is_empty()).collect()
    }

    /// Literal texts of an element, each [`normal`]; none of one that has many.
    pub(crate) fn texts(&self, element: &Element) -> impl Iterator<Item = String> {
        let pieces = self.pieces.get(element.pieces.clone()).filter(|pieces| pieces.len() <= 10 * MAX_PIECES);
        pieces.unwrap_or_default().iter().filter_map(|piece| match &piece.text {
            Text::Literal(text) => Some(normal(text)),
            Text::Computed(_) => None,
        })
    }

    /// The elements around one, the nearest first.
    pub(crate) fn around(&self, element: &Element) -> impl Iterator<Item = &Element> {
        let up = |at: Option<usize>| at.and_then(|at| self.elements.get(at));
        std::iter::successors(up(element.parent), move |around| up(around.parent)).take(40)
    }
}

/// Returns `true` if more tags are open at a place than a page has.
fn is_deep(text: &str) -> bool {
    let mut open = 0_usize;
    TAG.iter().flat_map(|tag| tag.captures_iter(text)).any(|tag| {
        let part = |at: usize| tag.get(at).map_or("", |part| part.as_str());
        match (part(1), part(3)) {
            ("/", _) => open = open.saturating_sub(1),
            (_, "/") => {}
            _ => open += usize::from(!VOID.contains(&part(2).to_ascii_lowercase().as_str())),
        }
        open > MAX_DEPTH
    })
}

/// Returns `true` if the parts stand in the name in this order, the first at its start and the last at its end.
fn is_around(parts: &[String], name: &str) -> bool {
    let [first, between @ .., last] = parts else { return false };
    let Some(mut rest) = name.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str())) else {
        return false;
    };
    between.iter().all(|part| {
        let at = rest.find(part.as_str());
        rest = at.and_then(|at| rest.get(at + part.len()..)).unwrap_or_default();
        at.is_some()
    })
}

/// `save-button`, `SaveButton` and `saveButton` as a component is called.
pub(crate) fn pascal(name: &str) -> String {
    let mut out = String::new();
    for part in name.split(['-', '_', ' ']) {
        let mut letters = part.chars();
        out.extend(letters.next().into_iter().flat_map(char::to_uppercase).chain(letters));
    }
    out
}

/// State inside of a node, which ends with it.
#[derive(Clone, Default)]
struct Scope {
    level: Level,
    /// The nearest element around.
    around: Option<usize>,
    repeats: Option<String>,
    owner: Option<String>,
    /// The piece whose strings are read.
    computed: Option<usize>,
}

#[derive(Default)]
struct Reader<'t> {
    text: &'t str,
    is_script: bool,
    markup: Markup,
    scope: Scope,
    /// Scopes to return to, with the depths of their nodes and the elements that end there.
    outer: Vec<(usize, Scope, Option<usize>)>,
    /// `true` between the node of an element and its tag.
    is_opening: bool,
    /// Text of HTML that is being read.
    run: Option<Range<usize>>,
    /// Where the templates of a server repeat.
    template_loops: Range<usize>,
}

impl<'t> Reader<'t> {
    fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Begins a scope that ends with the node at this depth.
    fn begin(&mut self, depth: usize) -> &mut Scope {
        self.outer.push((depth, self.scope.clone(), None));
        &mut self.scope
    }

    fn leave(&mut self, node: Node<'_>, depth: usize) {
        if matches!(node.kind(), "element" | "document") {
            self.flush();
        }
        while let Some((_, scope, element)) = self.outer.pop_if(|(at, ..)| *at == depth) {
            self.scope = scope;
            if let Some(element) = element.and_then(|at| self.markup.elements.get_mut(at)) {
                element.pieces.end = self.markup.pieces.len();
            }
        }
    }

    /// Returns `true` if what is inside counts.
    fn enter(&mut self, node: Node<'_>, parents: &[Node<'_>]) -> bool {
        if self.markup.elements.len() >= MAX_ELEMENTS {
            self.markup.is_cut = true;
            return false;
        }
        let depth = parents.len();
        match node.kind() {
            // HTML
            "text" | "entity" => {
                let start = self.run.take().map_or(node.start_byte(), |run| run.start);
                self.run = Some(start..node.end_byte());
            }
            "script_element"
            | "style_element"
            | "comment"
            | "end_tag"
            | "erroneous_end_tag"
            | "jsx_closing_element" => {
                self.flush();
                return false;
            }
            "start_tag" | "self_closing_tag" => {
                self.flush();
                let attributes = self.attributes_of_html(node);
                if let Some(name) = REPEATING.iter().find(|name| attributes.contains_key(**name)) {
                    self.scope.repeats = Some(format!("`{name}`"));
                }
                self.scope.level.choices += u32::from(CHOOSING.iter().any(|name| attributes.contains_key(*name)));
                if let Some(name) = node.named_child(0).filter(|name| name.kind() == "tag_name") {
                    self.add(name, name.end_byte(), attributes);
                }
                return false;
            }
            // Both
            "element" | "jsx_element" | "jsx_self_closing_element" => {
                self.flush();
                self.begin(depth).computed = None;
                self.is_opening = true;
                if node.kind() == "jsx_self_closing_element" {
                    self.begin_tag(node);
                }
            }
            // Scripts
            "jsx_opening_element" => self.begin_tag(node),
            "jsx_attribute" => {
                let scope = self.begin(depth);
                (scope.level.attributes, scope.computed) = (scope.level.attributes + 1, None);
            }
            "jsx_text" | "html_character_reference" => self.push(Text::Literal(decoded(self.source(node)))),
            "jsx_expression" if parents.last().is_some_and(|parent| parent.kind() == "jsx_element") => {
                let Some(only) = node.named_child(0).filter(|only| only.kind() != "comment") else { return false };
                if let Some(text) = self.string(only) {
                    self.push(Text::Literal(text));
                    return false;
                }
                self.push(Text::Computed(Vec::new()));
                let piece = self.markup.pieces.len().checked_sub(1);
                let scope = self.begin(depth);
                (scope.level.choices, scope.computed) = (scope.level.choices + 1, piece);
            }
            "string" | "template_string" => {
                let piece = self.scope.computed.and_then(|at| self.markup.pieces.get_mut(at));
                if let Some(Piece { text: Text::Computed(texts), .. }) = piece {
                    texts.extend(string_of(node, self.text));
                }
            }
            "arguments" => {
                let called = parents.last().and_then(|call| call.child_by_field_name("function"));
                let method = called.and_then(|called| called.child_by_field_name("property"));
                if let Some(method) = method.map(|method| self.source(method)).filter(|name| CALLBACKS.contains(name)) {
                    self.begin(depth).repeats = Some(format!("`.{method}()`"));
                }
            }
            "for_statement" | "for_in_statement" | "while_statement" => {
                self.begin(depth).repeats = Some("a loop".to_owned());
            }
            "function_declaration" | "class_declaration" | "variable_declarator" => {
                let name = node.child_by_field_name("name").map(|name| self.source(name));
                if let Some(name) = name.filter(|name| name.starts_with(char::is_uppercase)) {
                    self.begin(depth).owner = Some(name.to_owned());
                }
            }
            _ => {}
        }
        true
    }

    fn attributes_of_html(&self, tag: Node<'_>) -> BTreeMap<String, Option<String>> {
        let mut all = BTreeMap::new();
        for attribute in tag.named_children(&mut tag.walk()).filter(|node| node.kind() == "attribute") {
            let Some(name) = attribute.named_child(0) else { continue };
            let value = attribute.named_child(1).map_or("", |value| self.source(value)).trim_matches(['"', '\'']);
            let name = self.source(name);
            let bound = name.strip_prefix("v-bind:").or_else(|| name.strip_prefix(':'));
            let bound = bound.or_else(|| name.strip_prefix('[').and_then(|name| name.strip_suffix(']')));
            let is_computed = bound.is_some() || value.contains("{{") || value.contains("{%");
            all.insert(bound.unwrap_or(name).to_owned(), (!is_computed).then(|| decoded(value)));
        }
        all
    }

    fn begin_tag(&mut self, node: Node<'_>) {
        // A fragment has no name.
        let Some(name) = node.child_by_field_name("name") else { return };
        let end = node.child_by_field_name("type_arguments").unwrap_or(name).end_byte();
        let mut all = BTreeMap::new();
        for attribute in node.named_children(&mut node.walk()).filter(|node| node.kind() == "jsx_attribute") {
            let Some(key) = attribute.named_child(0) else { continue };
            let value = attribute.named_child(1);
            let inner = value.filter(|value| value.kind() == "jsx_expression").and_then(|value| value.named_child(0));
            let value = value.map_or(Some(String::new()), |value| self.string(inner.unwrap_or(value)));
            let key = match self.source(key) {
                "className" => "class",
                "htmlFor" => "for",
                key => key,
            };
            all.insert(key.to_owned(), value);
        }
        self.add(name, end, all);
    }

    fn string(&self, node: Node<'_>) -> Option<String> {
        string_of(node, self.text)
    }

    fn add(&mut self, name: Node<'_>, insert_at: usize, attributes: BTreeMap<String, Option<String>>) {
        let (here, tag) = (self.markup.elements.len(), self.source(name));
        let own = |name: &str| attributes.get(name).cloned().flatten();
        // An image is read by its alternative text, and what a component is given may be its text.
        if tag.starts_with(char::is_uppercase) {
            self.push(Text::Computed(attributes.values().flatten().take(20).cloned().collect()));
        } else if let Some(alt) = own("alt").filter(|_| tag.eq_ignore_ascii_case("img")) {
            self.push(Text::Literal(alt));
        }
        if let Some(id) = own("for").filter(|_| tag == "label") {
            self.markup.labels.entry(id).or_default().push(here);
        }
        let start = self.markup.pieces.len();
        let is_mixed = tag.contains(char::is_uppercase) && tag.contains(char::is_lowercase);
        let by_template = self.template_loops.contains(&insert_at).then(|| "a loop of the template".to_owned());
        self.markup.elements.push(Element {
            tag: if self.is_script || is_mixed { tag.to_owned() } else { tag.to_ascii_lowercase() },
            attributes,
            parent: self.scope.around,
            insert_at,
            line: name.start_position().row + 1,
            repeats: self.scope.repeats.clone().or(by_template),
            owner: self.scope.owner.clone().unwrap_or_default(),
            pieces: start..start,
            level: self.scope.level,
        });
        // A tag that is never closed, in broken source, holds nothing.
        if std::mem::take(&mut self.is_opening)
            && let Some((.., element)) = self.outer.last_mut()
        {
            (*element, self.scope.around) = (Some(here), Some(here));
        }
    }

    fn push(&mut self, text: Text) {
        let is_empty = matches!(&text, Text::Literal(text) if text.trim().is_empty());
        if !is_empty {
            self.markup.pieces.push(Piece { level: self.scope.level, text });
        }
    }

    /// Ends a run of text in HTML.
    fn flush(&mut self) {
        let Some(run) = self.run.take() else { return };
        let text = self.text.get(run).unwrap_or_default();
        let mut at = 0;
        for found in COMPUTED.iter().flat_map(|computed| computed.find_iter(text)) {
            self.push(Text::Literal(decoded(text.get(at..found.start()).unwrap_or_default())));
            at = found.end();
            let quoted = QUOTED.iter().flat_map(|quoted| quoted.captures_iter(found.as_str()));
            let texts = quoted.filter_map(|it| it.iter().skip(1).flatten().next().map(|it| it.as_str().to_owned()));
            self.push(Text::Computed(texts.take(20).collect()));
        }
        self.push(Text::Literal(decoded(text.get(at..).unwrap_or_default())));
    }
}

/// The value of a string that is not computed.
fn string_of(node: Node<'_>, text: &str) -> Option<String> {
    let is_plain = match node.kind() {
        "string" => true,
        "template_string" => node.named_children(&mut node.walk()).all(|part| part.kind() != "template_substitution"),
        _ => false,
    };
    let text = text.get(node.byte_range())?;
    is_plain.then(|| decoded(text.get(1..text.len().saturating_sub(1)).unwrap_or_default()))
}

/// Text with the commonest character references resolved.
fn decoded(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&nbsp;", " ")];
    named.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)).replace("&amp;", "&")
}
