//! The page at a step: its pictures, with the chosen element, the verdict and the other candidates drawn over them. Where
//! no picture was taken, the boxes that were observed stand for the page.
//!
//! Invariant: within a page that is one file, the bytes of a picture and the boxes of an observation stand there once,
//! however often they are shown.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_grammar::candidate::Placement;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::{RecordedTarget, StepRecord, StepResult};
use cuebook_grammar::render::one_line;
use maud::{Markup, html};

use super::words::{left_at, mark, name_of};
use crate::artifact::ArtifactStore;
use crate::log::{Observations, Run};
use crate::picture::size;

/// The most bytes of pictures that one file holds.
const MOST: u64 = 48 << 20;
/// The longest text that is read, in bytes.
const MOST_TEXT: u64 = 1 << 20;
/// The most candidates that are drawn at a step, and in one file.
const MOST_BOXES: usize = 300;
const MOST_BOXES_OF_ALL: usize = 30_000;
/// The width of a viewport for which the sizes of texts and lines are given.
const USUAL: f64 = 1_280.0;

/// Where the bytes of pictures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In the page itself.
    Within,
    /// At `picture/<digest>`, relative to the page.
    Beside,
}

/// Draws the pages at the steps of a run.
pub(super) struct Stages<'a> {
    run: &'a Run,
    artifacts: &'a ArtifactStore,
    observations: Observations<'a>,
    source: Source,
    room: u64,
    boxes: usize,
    /// The sizes of pictures that were read, by digest; `None` for those that are left out.
    sizes: BTreeMap<String, Option<(u32, u32)>>,
    /// Ids of the parts that are shared.
    shared: BTreeSet<String>,
    definitions: Vec<Markup>,
}

/// The ways in which the page at a step can be shown, and which of them comes first.
pub(super) struct Stage {
    views: Vec<View>,
    first: usize,
}

struct View {
    kind: &'static str,
    title: &'static str,
    figure: Markup,
    /// Absent where the picture is that of another step.
    small: Option<Markup>,
}

/// The scene before a step: its size, and what to draw in it.
struct Scene {
    size: (f64, f64),
    /// Factor from CSS pixels to those of the scene.
    scale: f64,
    page: Option<Observation>,
}

impl<'a> Stages<'a> {
    pub(super) fn of(run: &'a Run, artifacts: &'a ArtifactStore, source: Source) -> Self {
        let mut stages = Self {
            run,
            artifacts,
            observations: Observations::new(&run.observations, artifacts.clone()),
            source,
            room: MOST,
            boxes: 0,
            sizes: BTreeMap::new(),
            shared: BTreeSet::new(),
            definitions: Vec::new(),
        };
        if source == Source::Within {
            // Where there is no room for all pictures, the last step and those that failed have theirs.
            let failed = run.steps.iter().rev().filter(|record| record.result != StepResult::Ok);
            for picture in run.steps.last().into_iter().chain(failed).flat_map(pictures) {
                stages.size(picture);
            }
        }
        stages
    }

    /// The page at the step at a position of the run.
    pub(super) fn stage(&mut self, at: usize, record: &StepRecord) -> Stage {
        let page = record.observation.and_then(|id| self.observations.read(id).ok().flatten());
        let target = target_of(record);
        let of = |kind: &str| record.artifacts.iter().find(|artifact| artifact.kind == kind);
        let mut views = Vec::new();
        let before = of("screenshotBefore").filter(|_| !is_blank(record)).map(|picture| (picture, None));
        let before = before.or_else(|| unchanged(self.run, at, record).map(|(from, picture)| (picture, Some(from))));
        views.extend(self.before(at, record, before, page, target));
        for (kind, class, title) in [("screenshotAfter", "after", "After"), ("screenshot", "taken", "Taken")] {
            let Some((picture, size)) = of(kind).and_then(|picture| Some((picture, self.size(picture)?))) else {
                continue;
            };
            let image = self.image(picture, size);
            let alt = format!("The page after step {}, {}", at + 1, name_of(record.result));
            views.push(View {
                kind: class,
                title,
                figure: canvas(size, &alt, &image),
                small: Some(canvas(size, "", &image)),
            });
        }
        // Drawings are not shared within a live page, so only the step that it opens with has one of another step.
        if views.is_empty() && (self.source == Source::Within || at + 1 == self.run.steps.len()) {
            views.extend(self.earlier(at, record));
        }
        // What was chosen says more than what came of it, unless nothing was.
        let first = usize::from(target.is_none() && views.len() > 1);
        Stage { views, first }
    }

    /// A file of a step that holds text.
    pub(super) fn text(&self, record: &StepRecord, kind: &str) -> Option<String> {
        let file = record.artifacts.iter().find(|file| file.kind == kind && file.bytes <= MOST_TEXT)?;
        String::from_utf8(self.artifacts.read(file).ok()?).ok()
    }

    /// Parts that several figures share, not shown by themselves.
    pub(super) fn definitions(self) -> Markup {
        html! {
            @if !self.definitions.is_empty() {
                svg.definitions aria-hidden="true" { defs { @for one in self.definitions { (one) } } }
            }
        }
    }

    /// Pictures that are not in the page although they were taken, with the reason.
    pub(super) fn left_out(&mut self, record: &StepRecord) -> Vec<String> {
        pictures(record).filter(|one| self.size(one).is_none()).map(|one| one.path.clone()).collect()
    }

    /// The page as it last was seen before the step at a position, if it is the same page.
    fn earlier(&mut self, at: usize, record: &StepRecord) -> Option<View> {
        let before = self.run.steps.iter().enumerate().take(at).rev();
        let mut before = before.take_while(|(_, earlier)| left_at(earlier) == record.url);
        let known = |one: &StepRecord| one.observation.is_some() || pictures(one).next().is_some();
        let (from, seen) = before.find(|(_, earlier)| known(earlier))?;
        let after = seen.artifacts.iter().find(|picture| picture.kind == "screenshotAfter");
        let page = seen.observation.filter(|_| after.is_none() && seen.url == record.url);
        let (size, content) = match after.and_then(|picture| Some((picture, self.size(picture)?))) {
            Some((picture, (width, height))) => ((width.into(), height.into()), self.image(picture, (width, height))),
            None => {
                let page = page.and_then(|id| self.observations.read(id).ok().flatten())?;
                let size = (page.viewport.width, page.viewport.height);
                (size.0 > 0.0 && size.1 > 0.0).then_some(())?;
                let others = self.others(seen, &Scene { size, scale: 1.0, page: Some(page) }, true);
                (size, html! { rect.paper width=(size.0) height=(size.1) {} (others) })
            }
        };
        Some(View {
            kind: "before",
            title: "Earlier",
            figure: html! {
                (canvas(size, &format!("The page at step {}", from + 1), &content))
                figcaption {
                    "As of step " (from + 1) ": the page may have changed since."
                    @if pictures(record).next().is_none() { " " code { "--record" } " takes pictures of each step." }
                }
            },
            small: None,
        })
    }

    fn before(
        &mut self,
        at: usize,
        record: &StepRecord,
        picture: Option<(&ArtifactRef, Option<usize>)>,
        page: Option<Observation>,
        target: Option<Rect>,
    ) -> Option<View> {
        let taken_after = picture.and_then(|(_, from)| from);
        let sized = picture.and_then(|(picture, _)| Some((picture, self.size(picture)?)));
        let (scene, image) = match sized {
            Some((picture, size)) => {
                let scale = picture_scale(self.run, page.as_ref(), size.0);
                let scene = Scene { size: (size.0.into(), size.1.into()), scale: scale.unwrap_or(0.0), page };
                (scene, Some(self.image(picture, size)))
            }
            None => {
                let viewport = page.as_ref()?.viewport;
                let size = (viewport.width, viewport.height);
                (size.0 > 0.0 && size.1 > 0.0).then_some(())?;
                (Scene { size, scale: 1.0, page }, None)
            }
        };
        let target = target.filter(|_| scene.scale > 0.0).map(|target| scaled(target, scene.scale));
        let alt = if image.is_some() { "The page before step" } else { "The elements of the page before step" };
        let marked = if target.is_some() { ", its target marked" } else { "" };
        let alt = format!("{alt} {}{marked}: {}", at + 1, mark(record).1);
        let is_drawn = image.is_none();
        let others = self.others(record, &scene, is_drawn);
        let cover = record.failure.as_ref().and_then(|failure| failure.facts.cover).filter(|_| scene.scale > 0.0);
        let over = html! {
            @if let Some(cover) = cover { (rect("cover", scaled(cover, scene.scale))) }
            @if let Some(target) = target { (rect("target", target)) }
        };
        let back = html! {
            @match &image {
                Some(image) => (image),
                None => rect.paper width=(scene.size.0) height=(scene.size.1) {},
            }
        };
        let figure = html! {
            (back) (others) (over)
            @if let Some(target) = target { (flag(record, target, scene.size)) }
        };
        let thumb = html! { (back) @if is_drawn { (others) } (over) };
        Some(View {
            kind: "before",
            title: if is_drawn { "Before (elements)" } else { "Before" },
            figure: html! {
                (canvas(scene.size, &alt, &figure))
                @if let Some(from) = taken_after.filter(|_| !is_drawn) { figcaption { "Taken after step " (from + 1) } }
            },
            small: Some(canvas(scene.size, "", &thumb)),
        })
    }

    /// The other candidates in view, faint; as a drawing of the page where there is no picture.
    fn others(&mut self, record: &StepRecord, scene: &Scene, is_drawn: bool) -> Markup {
        let Some(page) = scene.page.as_ref().filter(|_| scene.scale > 0.0) else { return html! {} };
        let class = if is_drawn { "drawn" } else { "others" };
        let digest = self.run.observations.iter().rfind(|kept| Some(kept.observation) == record.observation);
        let id = digest.map(|kept| format!("boxes-{class}-{}", short(&kept.content.sha256)));
        if let Some(id) = id.as_ref().filter(|id| self.shared.contains(*id)) {
            return html! { use class=(class) href={ "#" (id) } {} };
        }
        let room = MOST_BOXES_OF_ALL.saturating_sub(self.boxes).min(MOST_BOXES);
        let in_view = page.candidates.iter().filter(|one| one.placement == Placement::InView);
        let boxes = in_view.filter_map(|one| Some((one, one.rect.filter(Rect::has_area)?))).take(room);
        let unit = scene.size.0 / USUAL;
        let mut count = 0;
        let all = html! {
            @for (one, place) in boxes {
                @let place = scaled(place, scene.scale);
                (rect(if is_drawn { "drawn-box" } else { "ghost-box" }, place))
                @let size = (14.0 * unit).min((place.height * 0.8).max(8.0 * unit));
                @let fits = (place.width / (size * 0.58)).max(0.0);
                @let letters = if fits < 400.0 { fits as usize } else { 400 };
                @if is_drawn {
                    text.drawn-name x=(round(place.x + 4.0 * unit)) y=(round(place.y + (place.height + size * 0.7) / 2.0)) font-size=(round(size)) {
                        (one_line(&one.name, letters.saturating_sub(1)))
                    }
                } @else {
                    text.ghost-name x=(round(place.x + 2.0 * unit)) y=(round((place.y - unit).max(12.0 * unit))) font-size=(round(13.0 * unit)) { (one.id) }
                }
                ({ count += 1; "" })
            }
        };
        self.boxes += count;
        match (id, self.source) {
            (Some(id), Source::Within) => {
                self.definitions.push(html! { g id=(id) { (all) } });
                let reference = html! { use class=(class) href={ "#" (id) } {} };
                self.shared.insert(id);
                reference
            }
            _ => html! { g class=(class) { (all) } },
        }
    }

    /// The size of a picture that can be shown.
    fn size(&mut self, picture: &ArtifactRef) -> Option<(u32, u32)> {
        if let Some(known) = self.sizes.get(&picture.sha256) {
            return *known;
        }
        let fits = self.source == Source::Beside || picture.bytes <= self.room;
        let bytes = fits.then(|| self.artifacts.read(picture).ok()).flatten();
        let size = bytes.as_deref().and_then(size);
        if let (Source::Within, Some(bytes), Some((width, height))) = (self.source, &bytes, size) {
            self.room = self.room.saturating_sub(picture.bytes);
            let href = format!("data:image/png;base64,{}", STANDARD.encode(bytes));
            let id = format!("picture-{}", picture.sha256);
            self.definitions.push(html! { image id=(id) href=(href) width=(width) height=(height) {} });
        }
        self.sizes.insert(picture.sha256.clone(), size);
        size
    }

    fn image(&self, picture: &ArtifactRef, (width, height): (u32, u32)) -> Markup {
        match self.source {
            Source::Within => html! { use href={ "#picture-" (picture.sha256) } {} },
            Source::Beside => {
                html! { image href={ "picture/" (picture.sha256) } width=(width) height=(height) {} }
            }
        }
    }
}

impl Stage {
    /// The large figure of a step, with a choice where there are several.
    pub(super) fn figure(&self, at: usize) -> Markup {
        html! {
            @if let [only] = &self.views[..] {
                div.stage { figure.view.only { (only.figure) } }
            } @else if !self.views.is_empty() {
                div.stage {
                    fieldset.views {
                        legend.away { "Picture of step " (at + 1) }
                        @for (number, view) in self.views.iter().enumerate() {
                            label {
                                input type="radio" name={ "view-" (at) } value=(view.kind) checked[number == self.first];
                                span { (view.title) }
                            }
                        }
                    }
                    @for view in &self.views { figure class={ "view " (view.kind) } { (view.figure) } }
                }
            }
        }
    }

    /// Returns `true` if nothing shows the page.
    pub(super) fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The small figure of a step, for the strip.
    pub(super) fn small(&self) -> Option<&Markup> {
        self.views.get(self.first)?.small.as_ref()
    }
}

/// The last picture, with the position of its step, if nothing was done to the page from then until the step at `at`.
fn unchanged<'a>(run: &'a Run, at: usize, record: &StepRecord) -> Option<(usize, &'a ArtifactRef)> {
    for (from, earlier) in run.steps.iter().enumerate().take(at).rev() {
        let after = earlier.artifacts.iter().find(|artifact| artifact.kind == "screenshotAfter");
        match after {
            Some(picture) => return (left_at(earlier) == record.url).then_some((from, picture)),
            None if earlier.input_sent => return None,
            None => {}
        }
    }
    None
}

/// Returns `true` if there was no page yet.
fn is_blank(record: &StepRecord) -> bool {
    record.url == "about:blank"
}

fn pictures(record: &StepRecord) -> impl Iterator<Item = &ArtifactRef> {
    record.artifacts.iter().filter(|file| file.kind.starts_with("screenshot"))
}

fn short(digest: &str) -> String {
    digest.chars().filter(char::is_ascii_alphanumeric).take(16).collect()
}

fn scaled(Rect { x, y, width, height }: Rect, scale: f64) -> Rect {
    Rect { x: x * scale, y: y * scale, width: width * scale, height: height * scale }
}

/// Tenths of a pixel are enough.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn rect(class: &str, Rect { x, y, width, height }: Rect) -> Markup {
    html! { rect class=(class) x=(round(x)) y=(round(y)) width=(round(width.max(1.0))) height=(round(height.max(1.0))) {} }
}

/// A drawing of this size. Without a description it decorates.
fn canvas(size: (impl Into<f64>, impl Into<f64>), alt: &str, content: &Markup) -> Markup {
    let (width, height) = (size.0.into(), size.1.into());
    let view = format!("0 0 {width} {height}");
    html! {
        @if alt.is_empty() {
            svg viewBox=(view) aria-hidden="true" { (content) }
        } @else {
            svg viewBox=(view) role="img" aria-label=(alt) { (content) }
        }
    }
}

/// The sign of a step's verdict at a corner of its target's box, so small that the texts around it stay readable.
fn flag(record: &StepRecord, target: Rect, (width, height): (f64, f64)) -> Markup {
    let radius = 11.0 * width / USUAL;
    let within = |place: f64, most: f64| place.clamp(radius, (most - radius).max(radius));
    let (x, y) = (target.x + target.width + radius / 2.0, target.y - radius / 2.0);
    let (x, y) = (within(x, width), within(y, height));
    let (base, font) = (y + radius * 0.5, radius * 1.4);
    html! {
        g class={ "flag " (mark(record).1) } {
            circle cx=(round(x)) cy=(round(y)) r=(round(radius)) {}
            text x=(round(x)) y=(round(base)) font-size=(round(font)) text-anchor="middle" { (mark(record).0) }
        }
    }
}

/// Factor from CSS pixels to those of a picture of this width; `None` if it is not known.
pub(crate) fn picture_scale(run: &Run, page: Option<&Observation>, width: u32) -> Option<f64> {
    // The pictures of a browser that was started for the run are in CSS pixels.
    let is_own = run.header.as_ref().is_some_and(|header| header.browser_path.is_some());
    let viewport = page.map(|page| page.viewport.width).filter(|viewport| *viewport > 0.0);
    viewport.map(|viewport| f64::from(width) / viewport).or(is_own.then_some(1.0))
}

/// Where the target of a step was before it, in CSS pixels.
pub(crate) fn target_of(record: &StepRecord) -> Option<Rect> {
    let name = record.action.action.targets().first().copied()?;
    let seen = match record.candidates.get(name) {
        Some(RecordedTarget::Observed(candidate)) => candidate.rect,
        _ => None,
    };
    let facts = |facts: &cuebook_grammar::facts::Facts| {
        let first = facts.samples.first().filter(|sample| sample.at_ms == 0)?;
        first.targets.get(name)?.element.as_ref()?.rect
    };
    let judged = || record.pre_facts.as_ref().and_then(facts).or_else(|| record.post_facts.as_ref().and_then(facts));
    // It may have been scrolled into view since the picture was taken.
    let moved = record.effects.as_ref().is_none_or(|effects| effects.scrolled);
    seen.or_else(judged).or(record.target_box.filter(|_| !moved)).filter(Rect::has_area)
}
