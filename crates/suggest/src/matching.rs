//! Which element of the source an element of a page comes from.
//!
//! Invariants:
//! - An element that the source says is another one never counts, whatever else agrees.
//! - Each point of a score is evidence that is shown.

use std::collections::{BTreeMap, BTreeSet};

use cuebook_datalayer::fragile::FragileTarget;
use cuebook_grammar::candidate::ControlKind;
use cuebook_grammar::role::Role;
use serde::Serialize;
use url::Url;

use crate::markup::{Element, TextFit, normal, pascal};
use crate::source::{Source, SourceFile};

/// Components of routers, which pass attributes on to their `a`.
const LINKS: [&str; 6] = ["Link", "NavLink", "RouterLink", "NuxtLink", "router-link", "nuxt-link"];

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
    /// What it shares with the element of the page.
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

/// What repeats components: of each, where it stands in a loop or in a component that does.
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

/// A target, as it is compared.
struct Wanted<'t> {
    target: &'t FragileTarget,
    name: String,
    labels: BTreeSet<String>,
    around: BTreeSet<String>,
    href: Option<Url>,
    page: Option<Url>,
    is_named_by_content: bool,
}

impl<'t> Wanted<'t> {
    fn of(target: &'t FragileTarget) -> Self {
        let traits = &target.traits;
        let around = traits.around.iter().map(|text| text.split_once(": ").map_or(text.as_str(), |(_, text)| text));
        let is_entered = matches!(target.role, Role::TextBox | Role::SearchBox | Role::SpinButton | Role::Slider)
            || matches!(target.role, Role::ComboBox | Role::ListBox | Role::Checkbox | Role::Radio | Role::Switch);
        let is_field =
            matches!(traits.tag.as_deref(), Some("input" | "select" | "textarea")) && target.role != Role::Button;
        Self {
            target,
            name: normal(&target.name),
            labels: traits.labels.iter().map(|label| normal(label)).collect(),
            around: around.map(normal).filter(|text| text.len() > 2).collect(),
            href: traits.href.as_deref().and_then(|href| Url::parse(href).ok()),
            page: Url::parse(&target.page).ok(),
            is_named_by_content: !is_entered && !is_field,
        }
    }

    fn kind(&self, element: &Element) -> Option<Kind> {
        let tag = element.tag.as_str();
        match &self.target.traits.tag {
            Some(wanted) if wanted.eq_ignore_ascii_case(tag) => Some(Kind::Element),
            Some(wanted) if LINKS.contains(&tag) && wanted == "a" => Some(Kind::Element),
            None if LINKS.contains(&tag) && self.target.role == Role::Link => Some(Kind::Element),
            _ if element.is_component() => Some(Kind::Component),
            None => (is_of_role(element, self.target.role)).then_some(Kind::Element),
            Some(_) => None,
        }
    }

    /// The score and its evidence; `None` if nothing says that it is this element, or something that it is not.
    fn grade(&self, file: &SourceFile, element: &Element) -> Option<(u32, Vec<String>, bool)> {
        let traits = &self.target.traits;
        let mut grade = Grade::default();
        if let Some(control) = traits.control.filter(|_| element.tag == "input") {
            let is_literal = element.attributes.get("type").is_none_or(Option::is_some);
            let kind = control_of(element.literal("type").unwrap_or("text"));
            if is_literal && kind != control {
                return None;
            }
            grade.add(u32::from(is_literal && kind != ControlKind::Text), false, || format!("type {kind:?}"));
        }
        grade.attribute(element, "id", traits.id.as_deref(), 8)?;
        for (name, value) in &traits.attributes {
            grade.attribute(element, name, Some(value), 4)?;
        }
        // The name that assistive technology reads comes first from `aria-label`, so another one is another element.
        let name = Some(self.target.name.as_str()).filter(|name| !name.is_empty());
        grade.attribute(element, "aria-label", name, 6)?;
        let is_labelled =
            element.attributes.keys().any(|name| matches!(name.as_str(), "aria-label" | "aria-labelledby"));
        grade.attribute(element, "placeholder", traits.placeholder.as_deref(), 5)?;
        for (attribute, value) in [("alt", &traits.alt), ("title", &traits.title)] {
            let value =
                value.as_deref().or(name).filter(|value| element.literal(attribute).map(normal) == Some(normal(value)));
            grade.attribute(element, attribute, value, 4)?;
        }
        if !self.is_named_by_content {
            let labels = file.markup.labels(element);
            if let Some(label) = labels.iter().find(|label| **label == self.name || self.labels.contains(*label)) {
                grade.add(6, true, || format!("label {:?}", shown(&self.target.name, label)));
            } else if !is_labelled && !self.name.is_empty() && labels.iter().any(|label| !self.name.contains(label)) {
                return None;
            }
        } else if element.tag == "input" {
            grade.attribute(element, "value", name, 6)?;
        } else if !is_labelled {
            let fit = file.markup.fit(element, &self.name);
            let points = match fit {
                TextFit::Whole => 6,
                TextFit::Choice => 5,
                TextFit::Around => 3,
                TextFit::Unknown => 0,
                TextFit::Other if element.tag != "select" => return None,
                TextFit::Other => 0,
            };
            grade.is_around = fit == TextFit::Around;
            grade.add(points, true, || format!("text {:?}", self.target.name));
        }
        if element.is_component() {
            let given = element
                .attributes
                .iter()
                .find(|(_, value)| !self.name.is_empty() && value.as_deref().map(normal).as_ref() == Some(&self.name));
            grade.add(6 * u32::from(given.is_some()), true, || {
                format!("{} {:?}", given.map_or("", |it| it.0), self.target.name)
            });
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
        let written =
            element.literal("href").or_else(|| element.literal("to")).filter(|_| self.target.role == Role::Link);
        let resolved = written.and_then(|written| self.page.as_ref()?.join(written).ok());
        if resolved.is_some() && resolved == self.href {
            grade.add(4, true, || format!("href {:?}", written.unwrap_or_default()));
        }
    }

    fn add_classes(&self, element: &Element, grade: &mut Grade) {
        let wanted = &self.target.traits.classes;
        let own: BTreeSet<&str> = element.literal("class").unwrap_or_default().split_whitespace().collect();
        let shared: Vec<&str> = wanted.iter().map(String::as_str).filter(|class| own.contains(class)).collect();
        // Without a name, a selector of the plan is all that is known.
        let is_all = self.name.is_empty() && !wanted.is_empty() && shared.len() == wanted.len();
        let points = u32::try_from(shared.len().min(2)).unwrap_or(2);
        grade.add(points + u32::from(is_all), is_all, || format!("class {:?}", shared.join(" ")));
    }

    fn add_context(&self, file: &SourceFile, element: &Element, grade: &mut Grade) {
        let traits = &self.target.traits;
        for (distance, around) in file.markup.around(element).enumerate() {
            let ids = [around.literal("id"), around.literal("name").filter(|_| around.tag == "form")];
            if let Some(id) =
                ids.into_iter().flatten().find(|id| traits.within.contains(*id) || traits.form.as_deref() == Some(*id))
            {
                grade.add(2, false, || format!("within {id:?}"));
            }
            let has_said = grade.evidence.iter().any(|it| it.starts_with("near "));
            if distance < 8 && !has_said && !self.around.is_empty() {
                let own = around.literal("aria-label").map(normal);
                if let Some(text) = file.markup.texts(around).chain(own).find(|text| self.around.contains(text)) {
                    let points = if distance < 3 { 2 } else { 1 };
                    let known = traits.around.iter().find(|known| normal(known).ends_with(&text));
                    grade.add(points, false, || format!("near {:?}", known.unwrap_or(&text)));
                }
            }
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

/// The page's spelling of a text that was compared, if it is the name.
fn shown<'a>(name: &'a str, compared: &'a str) -> &'a str {
    if normal(name) == compared { name } else { compared }
}

fn control_of(kind: &str) -> ControlKind {
    match kind.to_ascii_lowercase().as_str() {
        "password" => ControlKind::Password,
        "checkbox" | "radio" => ControlKind::Check,
        "file" => ControlKind::File,
        "range" => ControlKind::Range,
        "color" => ControlKind::Color,
        "number" => ControlKind::Number,
        "date" | "time" | "month" | "week" | "datetime-local" => ControlKind::DateTime,
        "submit" | "button" | "reset" | "image" => ControlKind::Plain,
        _ => ControlKind::Text,
    }
}

/// Returns `true` if an element of this tag may have the role. Without a role, any may.
fn is_of_role(element: &Element, role: Role) -> bool {
    let tags: &[&str] = match role {
        _ if element.literal("role") == Some(role.as_str()) => return true,
        Role::Button => &["button", "input", "summary", "label"],
        Role::Link => &["a", "area"],
        Role::TextBox | Role::SearchBox => &["input", "textarea"],
        Role::SpinButton | Role::Checkbox | Role::Radio | Role::Switch | Role::Slider => &["input"],
        Role::ComboBox | Role::ListBox => &["select", "input"],
        Role::Heading => &["h1", "h2", "h3", "h4", "h5", "h6"],
        _ => return true,
    };
    tags.contains(&element.tag.as_str())
}
