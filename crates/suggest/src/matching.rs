//! Which element of the source an element of a page comes from.
//!
//! Invariants:
//! - An element that the source says is another one never counts, whatever else agrees.
//! - Each point of a score is evidence that is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use cuebook_datalayer::fragile::FragileTarget;
use cuebook_grammar::candidate::ControlKind;
use cuebook_grammar::locator::{ByLabel, ByPlaceholder, Strategy};
use cuebook_grammar::role::Role;
use cuebook_grammar::text_match::TextPattern;
use regex::Regex;
use serde::Serialize;
use url::Url;

use crate::markup::{Element, TextFit, normal, pascal};
use crate::source::{Source, SourceFile};

/// Components of routers, which pass attributes on to their `a`.
const LINKS: [&str; 6] = ["Link", "NavLink", "RouterLink", "NuxtLink", "router-link", "nuxt-link"];

/// Kinds of inputs that are never another one.
const SPECIAL: [ControlKind; 4] = [ControlKind::Password, ControlKind::Check, ControlKind::File, ControlKind::Plain];
static SIMPLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\[(?<name>[\w-]+)[~^$*|]?=["']?(?<value>[^"'\]]*)["']?\]|(?<kind>[.#]?)(?<word>[\w-]+)"#).ok()
});

/// An element of the source, with why it is the one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Place {
    /// Path below the source folder.
    pub file: String,
    /// 1-based line of the tag.
    pub line: usize,
    /// The tag or the component.
    pub tag: String,
    /// Facts that it shares with the element of the page.
    pub evidence: Vec<String>,
    #[serde(skip)]
    pub(crate) at: (usize, usize),
    #[serde(skip)]
    pub(crate) score: u32,
    /// `true` if only text around what is computed fits.
    #[serde(skip)]
    pub(crate) is_around: bool,
}

/// The places that fit a target, best first.
#[derive(Default)]
pub(crate) struct Places {
    pub(crate) elements: Vec<Place>,
    /// Components that are given its name.
    pub(crate) components: Vec<Place>,
}

pub(crate) fn places(source: &Source, target: &FragileTarget) -> Places {
    let mut found = Places::default();
    let wanted = Wanted::of(target);
    for (file_at, file) in source.files.iter().enumerate() {
        for (at, element) in file.markup.elements.iter().enumerate() {
            let kind = wanted.kind(element);
            let Some((score, evidence, is_around)) = kind.and_then(|_| wanted.grade(file, element)) else { continue };
            let place = Place {
                file: file.path.clone(),
                line: element.line,
                tag: element.tag.clone(),
                evidence,
                at: (file_at, at),
                score,
                is_around,
            };
            match kind {
                Some(Kind::Component) => found.components.push(place),
                _ => found.elements.push(place),
            }
        }
    }
    // The sort is stable: equals stay in the order of files and lines.
    found.elements.sort_by_key(|place| std::cmp::Reverse(place.score));
    found.components.sort_by_key(|place| std::cmp::Reverse(place.score));
    found
}

/// Returns `true` if the text of the element, computed in part, fits this name as well.
pub(crate) fn fits_too(source: &Source, place: &Place, name: &str) -> bool {
    let file = source.files.get(place.at.0);
    let element = file.and_then(|file| file.markup.elements.get(place.at.1));
    file.zip(element).is_some_and(|(file, element)| file.markup.fit(element, &normal(name)) == TextFit::Around)
}

/// Finds what repeats components: of each, where it stands in a loop or in a component that does.
pub(crate) fn repeated_components(source: &Source) -> BTreeMap<String, String> {
    let mut repeated: BTreeMap<String, String> = BTreeMap::new();
    let uses: Vec<(String, &SourceFile, &Element)> = source
        .files
        .iter()
        .flat_map(|file| file.markup.elements.iter().map(move |element| (file, element)))
        .filter(|(_, element)| element.is_component())
        .map(|(file, element)| (pascal(element.tag.rsplit('.').next().unwrap_or_default()), file, element))
        .collect();
    loop {
        let before = repeated.len();
        for (name, file, element) in &uses {
            let by = element.repeats.clone().or_else(|| repeated.get(&element.owner).cloned());
            if let Some(by) = by.filter(|_| !repeated.contains_key(name)) {
                let by = if element.repeats.is_some() { format!("{by} in {}:{}", file.path, element.line) } else { by };
                repeated.insert(name.clone(), by);
            }
        }
        if repeated.len() == before {
            return repeated;
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Element,
    Component,
}

/// A target, as it is compared: what runs and plans say of it, flat.
#[derive(Default)]
struct Wanted<'t> {
    role: Role,
    name: &'t str,
    normal_name: String,
    tag: Option<String>,
    id: Option<String>,
    /// Ids around it that look hand-written.
    within: BTreeSet<&'t str>,
    labels: BTreeSet<String>,
    /// Texts around it, without the kinds of what has them.
    around: BTreeSet<String>,
    classes: BTreeSet<&'t str>,
    /// Attributes by their names: `placeholder`, `alt`, `title`, and those of a selector.
    attributes: BTreeMap<&'t str, &'t str>,
    control: Option<ControlKind>,
    href: Option<Url>,
    page: Option<Url>,
    is_named_by_content: bool,
}

impl<'t> Wanted<'t> {
    fn of(target: &'t FragileTarget) -> Self {
        let mut wanted = Self { role: target.role, name: &target.name, ..Self::default() };
        wanted.normal_name = normal(&target.name);
        wanted.page = Url::parse(&target.page).ok();
        if let Some(candidate) = target.candidate.as_deref() {
            let mut path = candidate.fingerprint.path.split('>').map(|part| part.split('[').next().unwrap_or_default());
            if let Some(own) = path.next_back() {
                let (tag, id) = own.split_once('#').map_or((own, None), |(tag, id)| (tag, Some(id)));
                (wanted.tag, wanted.id) = (Some(tag.to_owned()), id.map(str::to_owned));
            }
            wanted.within =
                path.filter_map(|part| Some(part.split_once('#')?.1)).chain(candidate.form.as_deref()).collect();
            wanted.labels.extend(candidate.label.as_deref().map(normal));
            let around = [&candidate.context, &candidate.surroundings].into_iter().flatten();
            let said = around.map(|text| normal(text.split_once(": ").map_or(text.as_str(), |(_, text)| text)));
            wanted.around = said.filter(|text| text.len() > 2).collect();
            wanted.attributes.extend(candidate.placeholder.as_deref().map(|text| ("placeholder", text)));
            wanted.href = candidate.destination.as_deref().and_then(|href| Url::parse(href).ok());
            wanted.control = Some(candidate.control);
        }
        if let Some(element) = target.element.as_deref() {
            wanted.tag = wanted.tag.or(Some(element.tag.clone())).filter(|tag| !tag.is_empty());
            wanted.labels.extend(element.labels.iter().map(|label| normal(label)));
            wanted.classes.extend(element.classes.iter().map(String::as_str));
            let known = [("placeholder", &element.placeholder), ("alt", &element.alt), ("title", &element.title)];
            wanted.attributes.extend(known.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))));
        }
        match target.locator.as_ref().map(|locator| &locator.strategy) {
            Some(Strategy::Css(by)) => wanted.add_selector(by.selector.as_str()),
            Some(Strategy::Label(ByLabel { text: TextPattern::Literal(text), .. })) => {
                wanted.labels.insert(normal(text.as_str()));
            }
            Some(Strategy::Placeholder(ByPlaceholder { text: TextPattern::Literal(text), .. })) => {
                wanted.attributes.insert("placeholder", text.as_str());
            }
            _ => {}
        }
        let is_field = matches!(wanted.tag.as_deref(), Some("input" | "select" | "textarea"));
        wanted.is_named_by_content =
            !(target.role.is_text_entry() || target.role.is_checkable() || is_field && target.role != Role::Button);
        wanted
    }

    /// Adds what the last compound of a selector asks for: `button.primary[type=submit]`.
    fn add_selector(&mut self, selector: &'t str) {
        let last = selector.rsplit([' ', '>', '+', '~']).next().unwrap_or_default();
        let simple = last.split(':').next().unwrap_or_default();
        for part in SIMPLE.iter().flat_map(|part| part.captures_iter(simple)) {
            let group = |name: &str| part.name(name).map_or("", |group| group.as_str());
            match (group("kind"), group("word")) {
                ("", "") => drop(self.attributes.insert(group("name"), group("value"))),
                (".", class) => drop(self.classes.insert(class)),
                ("#", id) => self.id = Some(id.to_owned()),
                (_, tag) => self.tag = Some(tag.to_ascii_lowercase()),
            }
        }
    }

    fn kind(&self, element: &Element) -> Option<Kind> {
        let tag = element.tag.as_str();
        let is_link = LINKS.contains(&tag) && self.role == Role::Link;
        let is_alike = match &self.tag {
            Some(wanted) => wanted.eq_ignore_ascii_case(tag),
            None => !element.is_component() && is_of_role(element, self.role),
        };
        match is_link || is_alike {
            true => Some(Kind::Element),
            false => element.is_component().then_some(Kind::Component),
        }
    }

    /// The score and its evidence; `None` if nothing says that it is this element, or something that it is not.
    fn grade(&self, file: &SourceFile, element: &Element) -> Option<(u32, Vec<String>, bool)> {
        let mut grade = Grade::default();
        let kind =
            element.attributes.get("type").map_or(Some("text"), Option::as_deref).filter(|_| element.tag == "input");
        if let (Some(kind), Some(wanted)) = (kind.map(control_of), self.control)
            && kind != wanted
            && (kind != ControlKind::Text || SPECIAL.contains(&wanted))
        {
            return None;
        }
        grade.attribute(element, "id", self.id.as_deref(), 8)?;
        // The name that assistive technology reads comes first from `aria-label`, so another one is another element.
        let name = Some(self.name).filter(|name| !name.is_empty());
        grade.attribute(element, "aria-label", name, 6)?;
        for (name, value) in &self.attributes {
            grade.attribute(element, name, Some(value), 4)?;
        }
        for attribute in ["placeholder", "alt", "title"].into_iter().filter(|name| !self.attributes.contains_key(name))
        {
            if element.literal(attribute).map(normal).is_some_and(|value| value == self.normal_name) {
                grade.attribute(element, attribute, name, 4)?;
            }
        }
        let is_labelled =
            element.attributes.keys().any(|name| matches!(name.as_str(), "aria-label" | "aria-labelledby"));
        if !self.is_named_by_content {
            let labels = file.markup.labels(element);
            if let Some(label) = labels.iter().find(|label| **label == self.normal_name || self.labels.contains(*label))
            {
                let shown = if *label == self.normal_name { self.name } else { label };
                grade.add(6, true, || format!("label {shown:?}"));
            } else if !is_labelled && name.is_some() && labels.iter().any(|label| !self.normal_name.contains(label)) {
                return None;
            }
        } else if element.tag == "input" {
            grade.attribute(element, "value", name, 6)?;
        } else if !is_labelled {
            let fit = file.markup.fit(element, &self.normal_name);
            let points = match fit {
                TextFit::Whole => 6,
                TextFit::Choice => 5,
                TextFit::Around => 3,
                TextFit::Unknown => 0,
                TextFit::Other => return None,
            };
            grade.is_around = fit == TextFit::Around;
            grade.add(points, true, || format!("text {:?}", self.name));
        }
        if element.is_component() && !grade.identifies && name.is_some() {
            let is_name = |value: &Option<String>| value.as_deref().map(normal).as_ref() == Some(&self.normal_name);
            if let Some((given, _)) = element.attributes.iter().find(|(_, value)| is_name(value)) {
                grade.add(6, true, || format!("{given} {:?}", self.name));
            }
        }
        self.add_link(element, &mut grade);
        self.add_classes(element, &mut grade);
        if !grade.identifies {
            return None;
        }
        self.add_context(file, element, &mut grade);
        Some((grade.score, grade.evidence, grade.is_around))
    }

    fn add_link(&self, element: &Element, grade: &mut Grade) {
        let written = element.literal("href").or_else(|| element.literal("to")).filter(|_| self.role == Role::Link);
        let resolved = written.and_then(|written| self.page.as_ref()?.join(written).ok());
        if resolved.is_some() && resolved == self.href {
            grade.add(4, true, || format!("href {:?}", written.unwrap_or_default()));
        }
    }

    fn add_classes(&self, element: &Element, grade: &mut Grade) {
        let own: BTreeSet<&str> = element.literal("class").unwrap_or_default().split_whitespace().collect();
        let shared: Vec<&str> = self.classes.intersection(&own).copied().collect();
        // Without a name, a selector of the plan is all that is known.
        let is_all = self.name.is_empty() && !shared.is_empty() && shared.len() == self.classes.len();
        let points = u32::try_from(shared.len().min(2)).unwrap_or(2);
        grade.add(points + u32::from(is_all), is_all, || format!("class {:?}", shared.join(" ")));
    }

    fn add_context(&self, file: &SourceFile, element: &Element, grade: &mut Grade) {
        for around in file.markup.around(element) {
            let ids = [around.literal("id"), around.literal("name").filter(|_| around.tag == "form")];
            if let Some(id) = ids.into_iter().flatten().find(|id| self.within.contains(*id)) {
                grade.add(2, false, || format!("within {id:?}"));
            }
        }
        let texts = file.markup.around(element).take(8).enumerate().flat_map(|(distance, around)| {
            let own = around.literal("aria-label").map(normal);
            file.markup.texts(around).chain(own).map(move |text| (distance, text))
        });
        if let Some((distance, text)) = texts.into_iter().find(|(_, text)| self.around.contains(text)) {
            grade.add(if distance < 3 { 2 } else { 1 }, false, || format!("near {text:?}"));
        }
        let path = self.page.as_ref().map(|page| page.path().trim_matches('/').to_lowercase()).unwrap_or_default();
        let (own, file) = (file.path.to_lowercase(), &file.path);
        let is_page = own.ends_with(".html")
            && (path == own || own == "index.html" && path.is_empty() || own == format!("{path}/index.html"));
        let stem = own.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
        let is_alike = path.split('/').any(|part| part == stem || part.split('.').next() == Some(stem));
        grade.add(if is_page { 3 } else { u32::from(is_alike) }, false, || format!("page {file:?}"));
    }
}

#[derive(Default)]
struct Grade {
    score: u32,
    evidence: Vec<String>,
    /// `true` if something says that it is this element, not only one of its kind.
    identifies: bool,
    is_around: bool,
}

impl Grade {
    fn add(&mut self, points: u32, identifies: bool, evidence: impl FnOnce() -> String) {
        if points > 0 {
            self.score += points;
            self.identifies |= identifies;
            self.evidence.push(evidence());
        }
    }

    /// `None` if the source has another value than the page.
    fn attribute(&mut self, element: &Element, name: &str, wanted: Option<&str>, points: u32) -> Option<()> {
        let (Some(wanted), Some(seen)) = (wanted, element.literal(name)) else { return Some(()) };
        if normal(wanted) != normal(seen) {
            return None;
        }
        self.add(points, true, || format!("{name} {seen:?}"));
        Some(())
    }
}

/// The kind of an `input`, where it tells inputs of one name apart.
fn control_of(kind: &str) -> ControlKind {
    match kind.to_ascii_lowercase().as_str() {
        "password" => ControlKind::Password,
        "checkbox" | "radio" => ControlKind::Check,
        "file" => ControlKind::File,
        "submit" | "button" | "reset" | "image" => ControlKind::Plain,
        _ => ControlKind::Text,
    }
}

/// Returns `true` if an element of this tag may have the role.
fn is_of_role(element: &Element, role: Role) -> bool {
    let tags: &[&str] = match role {
        _ if element.literal("role") == Some(role.as_str()) => return true,
        Role::Button => &["button", "input", "summary"],
        Role::Link => &["a", "area"],
        _ if role.is_text_entry() || role.is_checkable() => &["input", "textarea", "select"],
        _ => return true,
    };
    tags.contains(&element.tag.as_str())
}
