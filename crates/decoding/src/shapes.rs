//! The sentences of a page: which verbs are left, on which candidates, with which parameters.
//!
//! A plan is `{version, reasoningSummary?, goal?, goalReason?, steps?, last}`: `goal` says what will hold when the task is done, `steps` stay on the page, and `last` is the one
//! step that may leave it or end the task. That nothing follows a page change is so a matter of form.
//!
//! Several conditions may contradict each other, which is for `check` to find; a pattern always compiles.
//! [`UNWRITTEN`], [`UNWRITTEN_EXTRACTS`] and [`UNWRITTEN_CONDITIONS`] list what a model cannot write though the language has it.

use cuebook_grammar::action::{ActionKind, FieldType, Owner};
use cuebook_grammar::arguments::Shape;
use cuebook_grammar::candidate::{Candidate, Capability};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::PLAN_VERSION;
use cuebook_grammar::policy::Policy;
use serde_json::Value;

use crate::caps::{Caps, LeftOut};
use crate::foreign;
use crate::ir::{Document, DocumentBuilder, Member, Node, Text, Union, UrlOrigin, Variant, member, optional, words};

/// Inputs from which the document of a specification is built.
pub(super) struct Ground<'a> {
    pub(super) observation: &'a Observation,
    pub(super) policy: &'a Policy,
    pub(super) candidates: &'a [&'a Candidate],
    pub(super) caps: &'a Caps,
    pub(super) page: Page,
}

/// Which pages the sentences are about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// The one that was observed.
    This,
    /// Any: it has a target for every verb, other tabs, and perhaps a dialog.
    Any,
}

/// Members of actions and steps that no model writes, and why.
pub const UNWRITTEN: &[(&str, &str, &str)] = &[
    ("*", "undo", "a planner is told what leads back, and may plan it"),
    ("navigate", "status", "for operators who expect an error"),
    ("scrollUntil", "targetRef", "what was observed is there: `scroll` brings it into view"),
    ("hover", "modifiers", "for operators"),
    ("type", "delayMs", "a repair's to choose"),
    ("dragTo", "durationMs", "a repair's to choose"),
    ("longPress", "durationMs", "its default serves"),
    ("clickPoint", "viewport", "whoever shows the picture knows its size"),
    ("clickPoint", "button", "a model that points writes its own action space"),
    ("clickPoint", "count", "a model that points writes its own action space"),
    ("scroll", "point", "a model that points writes its own action space"),
    ("dragPoints", "via", "a model that points writes its own action space"),
    ("dragPoints", "viewport", "whoever shows the picture knows its size"),
    ("dragPoints", "durationMs", "its default serves"),
    ("longPressPoint", "viewport", "whoever shows the picture knows its size"),
    ("longPressPoint", "durationMs", "its default serves"),
    ("fetch", "headers", "an open object: no grammar bounds it"),
    ("fetch", "pre", "no part of the page: no condition of the page applies"),
    ("fetch", "post", "no part of the page: no condition of the page applies"),
    ("readFile", "pre", "no part of the page: no condition of the page applies"),
    ("readFile", "post", "no part of the page: no condition of the page applies"),
    ("writeFile", "pre", "no part of the page: no condition of the page applies"),
    ("writeFile", "post", "no part of the page: no condition of the page applies"),
    ("shell", "pre", "no part of the page: no condition of the page applies"),
    ("shell", "post", "no part of the page: no condition of the page applies"),
    ("call", "pre", "no part of the page: no condition of the page applies"),
    ("call", "post", "no part of the page: no condition of the page applies"),
];

/// Kinds of `extract` that no model writes, and why.
pub const UNWRITTEN_EXTRACTS: &[(&str, &str)] =
    &[("count", "a candidate is one element: only a declared locator has a count")];

/// Kinds of conditions that no model writes, and why.
pub const UNWRITTEN_CONDITIONS: &[(&str, &str)] =
    &[("count", "a candidate is one element: `exists` and `absent` say it; only a declared locator has a count")];

/// The most conditions on one side of a step, and in a group.
const CONDITIONS: u32 = 3;
/// The most fields of an answer that is read by a schema.
const FIELDS: u32 = 12;
/// The most places that an answer cites.
const PLACES: u32 = 3;
/// Characters of a pattern, and of the name of an attribute or a class.
const PATTERN: u32 = 100;
const NAME: u32 = 40;
/// Characters of an option that is compared, and of a name as a page writes it.
const LABEL: u32 = 80;
/// The longest limit that a model may state for a step or a condition, in milliseconds.
const LIMIT: i64 = 60_000;

/// The grammar of a plan on this ground.
pub(super) fn document(ground: &Ground<'_>, left_out: &mut LeftOut) -> Document {
    let mut builder = DocumentBuilder::default();
    let pools = Pools::new(ground, &mut builder);
    let mut shaper = Shaper { ground, builder, pools, left_out };
    let stay = shaper.variants(Place::Within);
    let last = shaper.variants(Place::Last);
    let mut members = vec![member("version", words([PLAN_VERSION]))];
    if ground.caps.reasoning > 0 {
        members.push(optional("reasoningSummary", Node::Text(Text::Free { min: 0, max: ground.caps.reasoning })));
    }
    members.push(optional("goal", shaper.goal()));
    members.push(optional("goalReason", shaper.words()));
    if ground.caps.steps > 1 && !stay.is_empty() {
        let item = shaper.builder.define("step", Node::Union(Union::of("type", stay)));
        members.push(optional("steps", Node::Array { item: Box::new(item), min: 0, max: ground.caps.steps - 1 }));
    }
    let last = shaper.builder.define("last", Node::Union(Union::of("type", last)));
    members.push(member("last", last));
    shaper.builder.finish(Node::Object(members))
}

/// The position of a step in its plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Within,
    Last,
}

/// The ids that may stand for each capability.
struct Pools {
    any: Option<Node>,
    text: Option<Node>,
    value: Option<Node>,
    options: Option<Node>,
    check_on: Option<Node>,
    check_off: Option<Node>,
    files: Option<Node>,
}

impl Pools {
    fn new(ground: &Ground<'_>, builder: &mut DocumentBuilder) -> Self {
        let mut pool = |name: &str, fits: &dyn Fn(&Candidate) -> bool| {
            let ids: Vec<Value> = ground
                .candidates
                .iter()
                .filter(|candidate| fits(candidate))
                .map(|candidate| Value::from(candidate.id.to_string()))
                .chain((ground.page == Page::Any).then(|| Value::from("c1")))
                .collect();
            (!ids.is_empty()).then(|| builder.define(name, Node::Enum(ids)))
        };
        let supports = |capability| move |candidate: &Candidate| candidate.supports(capability);
        Self {
            any: pool("target", &|_| true),
            text: pool("textTarget", &supports(Capability::Text)),
            value: pool("valueTarget", &supports(Capability::Value)),
            options: pool("optionsTarget", &|candidate| {
                candidate.supports(Capability::Options) && matches!(options_of(candidate, ground.caps), Options::Free)
            }),
            check_on: pool("checkTarget", &supports(Capability::CheckOn)),
            check_off: pool("uncheckTarget", &supports(Capability::CheckOff)),
            files: pool("fileTarget", &supports(Capability::Files)),
        }
    }
}

/// How the options of a target are written.
enum Options<'a> {
    /// Exactly these texts, each the label of an option, or its value where labels are not unique.
    Spelled(Vec<&'a str>),
    /// By position, below this number: they are known, but too many to list.
    Numbered(usize),
    /// As free text: not all of them are known.
    Free,
    /// None can be chosen.
    None,
}

fn options_of<'a>(candidate: &'a Candidate, caps: &Caps) -> Options<'a> {
    /// An observation holds at most this many, so a list of this length may be cut.
    const OBSERVED: usize = 100;
    let count = candidate.options.len();
    if count == 0 || count >= OBSERVED {
        return Options::Free;
    }
    if count > caps.options {
        return Options::Numbered(count);
    }
    let mut known: Vec<&str> = Vec::new();
    for option in candidate.options.iter().filter(|option| !option.disabled) {
        // Its label is what a model reads; of two with one label, the value tells.
        let unique = candidate.options.iter().filter(|other| other.label == option.label).count() == 1;
        let text = if unique && !option.label.is_empty() { &option.label } else { &option.value };
        if text.chars().count() <= 200 && !known.contains(&text.as_str()) {
            known.push(text);
        }
    }
    if known.is_empty() { Options::None } else { Options::Spelled(known) }
}

struct Shaper<'a> {
    ground: &'a Ground<'a>,
    builder: DocumentBuilder,
    pools: Pools,
    left_out: &'a mut LeftOut,
}

impl Shaper<'_> {
    fn text(&self) -> Node {
        Node::Text(Text::Free { min: 0, max: self.ground.caps.text })
    }

    fn words(&self) -> Node {
        Node::Text(Text::Free { min: 0, max: self.ground.caps.words })
    }

    fn answer(&self) -> Node {
        Node::Text(Text::Free { min: 0, max: self.ground.caps.answer })
    }

    fn variants(&mut self, place: Place) -> Vec<Variant> {
        let common = self.common(place);
        let blocked = self.ground.page == Page::This && self.ground.observation.dialog.is_some();
        let mut variants = Vec::new();
        for kind in ActionKind::ALL {
            if blocked && !works_under_a_dialog(*kind) {
                continue;
            }
            if self.place_of(*kind) == Place::Last && place == Place::Within {
                continue;
            }
            for members in self.parameters(*kind, place) {
                let mut members = members;
                // What is no part of the page has no conditions on it.
                let is_outside = kind.meta().owner == Owner::Handler;
                let applies = |common: &&Member| !is_outside || !matches!(common.name.as_str(), "pre" | "post");
                members.extend(common.iter().filter(applies).cloned());
                let name = kind.meta().name.to_owned();
                variants.push(Variant { name, description: description(*kind).to_owned(), members });
            }
        }
        variants
    }

    /// Conditions that will hold when the task is done: the list that also stands before a step.
    fn goal(&mut self) -> Node {
        let item = self.condition(ConditionPlace::Now);
        self.builder.define("before", Node::Array { item: Box::new(item), min: 0, max: CONDITIONS })
    }

    /// The members that every step may have.
    fn common(&mut self, place: Place) -> Vec<Member> {
        let before = self.condition(ConditionPlace::Now);
        let after =
            self.condition(if place == Place::Last { ConditionPlace::AfterLast } else { ConditionPlace::After });
        let mut list =
            |name, item| self.builder.define(name, Node::Array { item: Box::new(item), min: 0, max: CONDITIONS });
        let (pre, post) = (list("before", before), list("after", after));
        let mut members = vec![optional("timeoutMs", self.builder.define("limit", LIMITS))];
        let remarks = self.ground.caps.reasoning > 0;
        if remarks {
            members.push(optional("explanation", self.builder.define("words", self.words())));
        }
        members.extend([optional("pre", pre), optional("post", post)]);
        if remarks {
            let risk = words(["low", "medium", "high"]);
            members.push(optional("estimatedRisk", self.builder.define("risk", risk)));
            members.push(optional("confidence", self.tenths()));
        }
        members
    }

    /// A share, in tenths.
    fn tenths(&mut self) -> Node {
        let tenths: Vec<Value> = (0..=10_u32)
            .map(|tenth| if tenth.is_multiple_of(10) { (tenth / 10).into() } else { (f64::from(tenth) / 10.0).into() })
            .collect();
        self.builder.define("confidence", Node::Enum(tenths))
    }

    /// Where a verb may occur: one that leaves the page or ends the task comes last.
    const fn place_of(&self, kind: ActionKind) -> Place {
        use ActionKind as Kind;
        match kind {
            Kind::Navigate
            | Kind::GoBack
            | Kind::GoForward
            | Kind::Reload
            | Kind::SwitchTab
            | Kind::CloseTab
            | Kind::AcceptDialog
            | Kind::DismissDialog
            | Kind::Finish
            | Kind::Fail
            | Kind::AskUser => Place::Last,
            _ => Place::Within,
        }
    }

    /// The parameter lists of a verb: none where nothing on this page supports it or the policy forbids it.
    fn parameters(&mut self, kind: ActionKind, place: Place) -> Vec<Vec<Member>> {
        use ActionKind as Kind;
        let raw = self.ground.policy.profile().opens_raw_access();
        let caps = self.ground.caps;
        let outside = self.ground.policy.outside();
        let target = |pool: &Option<Node>| pool.as_ref().map(|pool| member("targetRef", pool.clone()));
        let any = target(&self.pools.any);
        let on = |target: Option<Member>, more: Vec<Member>| -> Vec<Vec<Member>> {
            target.map(|target| std::iter::once(target).chain(more).collect()).into_iter().collect()
        };
        match kind {
            Kind::Navigate => {
                let origins = each_once(self.ground.policy.spelled_origins());
                if origins.is_empty() {
                    return Vec::new();
                }
                vec![vec![member("url", Node::Text(Text::Url { origins, max: caps.words }))]]
            }
            Kind::GoBack | Kind::GoForward | Kind::Reload => vec![Vec::new()],
            Kind::AcceptDialog => self.when_dialog(vec![optional("text", self.text())]),
            Kind::DismissDialog => self.when_dialog(Vec::new()),
            Kind::WaitFor | Kind::Assert => {
                let stated = if kind == Kind::Assert { ConditionPlace::Now } else { ConditionPlace::After };
                vec![vec![member("condition", self.condition(stated))]]
            }
            Kind::WaitForIdle => {
                vec![vec![optional("quietMs", Node::Enum(vec![500.into(), 1_000.into(), 2_000.into()]))]]
            }
            Kind::Scroll => {
                let direction = words(["up", "down", "left", "right", "top", "bottom"]);
                let distance = |name| member(name, DISTANCE);
                let mut lists = vec![
                    vec![member("direction", direction.clone())],
                    vec![distance("deltaY"), optional("deltaX", DISTANCE)],
                    vec![distance("deltaX")],
                ];
                lists.extend(on(any.clone(), vec![optional("direction", direction)]));
                lists.extend(on(any, vec![distance("deltaY")]));
                lists
            }
            Kind::ScrollUntil => {
                let directions = optional("direction", words(["up", "down", "left", "right"]));
                let container = self.pools.any.clone().map(|pool| optional("container", pool));
                let text = Node::Text(Text::Free { min: 1, max: caps.words });
                let sought = [member("text", text), member("condition", self.condition(ConditionPlace::Now))];
                let ways = sought.map(|sought| {
                    std::iter::once(sought).chain(container.clone()).chain([directions.clone()]).collect()
                });
                ways.into()
            }
            Kind::SwitchTab | Kind::CloseTab => {
                let open = i64::try_from(self.ground.observation.tabs.len()).unwrap_or(i64::MAX).min(100);
                let open = if self.ground.page == Page::Any { 100 } else { open };
                if open < 2 {
                    return Vec::new();
                }
                vec![vec![member("tab", Node::Integer { min: 0, max: open - 1 })]]
            }
            Kind::Click => on(
                any,
                vec![
                    optional("button", words(["left", "middle", "right"])),
                    optional("count", Node::Integer { min: 1, max: 3 }),
                    optional("modifiers", modifiers()),
                    optional("position", self.position()),
                    optional("dryRun", Node::Boolean),
                ],
            ),
            Kind::Clear => on(target(&self.pools.value), Vec::new()),
            Kind::SelectText | Kind::Focus | Kind::LongPress => on(any, Vec::new()),
            Kind::Hover => on(any, vec![optional("position", self.position())]),
            Kind::Type => self.entering(target(&self.pools.text), "text"),
            Kind::SetValue => self.entering(target(&self.pools.value), "value"),
            Kind::Press => {
                let keys = self.builder.define("keys", Node::Text(Text::Chord));
                let mut lists = vec![vec![member("keys", keys.clone())]];
                lists.extend(on(any, vec![member("keys", keys)]));
                lists
            }
            Kind::Select => self.choosing(place),
            Kind::Check | Kind::Uncheck => {
                let pool = if kind == Kind::Check { &self.pools.check_on } else { &self.pools.check_off };
                let pool = target(pool);
                on(pool, vec![optional("position", self.position()), optional("dryRun", Node::Boolean)])
            }
            Kind::DragTo => {
                let to = self.pools.any.clone().map(|pool| member("to", pool));
                let points = ["position", "toPosition"].map(|name| optional(name, self.position()));
                on(any, to.into_iter().chain(points).collect())
            }
            Kind::Upload => {
                let open: Vec<&str> =
                    caps.files.iter().map(String::as_str).filter(|file| outside.reading(file).is_ok()).collect();
                if open.is_empty() {
                    return Vec::new();
                }
                let file = self.builder.define("file", words(open));
                let files = Node::Array { item: Box::new(file), min: 1, max: 5 };
                on(target(&self.pools.files), vec![member("files", files)])
            }
            Kind::Extract => {
                let target = self.pools.any.clone().map(|pool| optional("targetRef", pool));
                let query = |kinds: &[&str], more: &[Member]| {
                    let kind = member("kind", words(kinds.iter().copied()));
                    let members = target.iter().cloned().chain([kind]).chain(more.iter().cloned()).collect();
                    vec![member("query", Node::Object(members))]
                };
                let pattern = optional("pattern", Node::Text(Text::Pattern { max: PATTERN }));
                vec![
                    query(&["text", "html", "outerHtml", "value", "markdown", "url"], std::slice::from_ref(&pattern)),
                    query(&["form", "metadata"], &[]),
                    query(&["attribute"], &[named(), pattern.clone()]),
                    query(&["schema"], &[member("schema", fields())]),
                ]
            }
            Kind::Snapshot => vec![vec![optional("scope", words(["view", "full"]))]],
            Kind::Screenshot => {
                let mut members = Vec::from_iter(self.pools.any.clone().map(|pool| optional("targetRef", pool)));
                members.push(optional("fullPage", Node::Boolean));
                vec![members]
            }
            Kind::SearchPage => {
                let query = Node::Text(Text::Free { min: 1, max: caps.words });
                let context = optional("context", Node::Integer { min: 0, max: 500 });
                let regex = member("regex", Node::Enum(vec![true.into()]));
                let pattern = Node::Text(Text::Pattern { max: PATTERN });
                vec![vec![member("query", query), context.clone()], vec![member("query", pattern), regex, context]]
            }
            Kind::GetDom => vec![Vec::from_iter(self.pools.any.clone().map(|pool| optional("targetRef", pool)))],
            // It takes raw CSS to read, never to act: `resolveSelector` needs a profile that opens it.
            Kind::FindElements => {
                let name = Node::Text(Text::Free { min: 1, max: NAME });
                let mut members = vec![
                    member("selector", Node::Text(Text::Free { min: 1, max: caps.words })),
                    optional("attributes", Node::Array { item: Box::new(name), min: 0, max: 5 }),
                ];
                members.extend(self.pools.any.clone().map(|pool| optional("within", pool)));
                vec![members]
            }
            Kind::Call => self.calls(),
            Kind::Finish => {
                let place = Node::Text(Text::Free { min: 1, max: caps.words });
                let places = Node::Array { item: Box::new(place), min: 1, max: PLACES };
                vec![vec![optional("result", self.answer()), optional("from", places)]]
            }
            Kind::Fail => vec![vec![member("reason", self.words())]],
            Kind::AskUser => vec![vec![member("question", Node::Text(Text::Free { min: 1, max: caps.words }))]],
            _ if !raw => Vec::new(),
            Kind::ClickPoint | Kind::LongPressPoint => vec![vec![member("point", self.point())]],
            Kind::DragPoints => vec![vec![member("from", self.point()), member("to", self.point())]],
            Kind::ResolveSelector => {
                let selector = Node::Text(Text::Free { min: 1, max: caps.text });
                vec![vec![member("css", selector.clone())], vec![member("xpath", selector)]]
            }
            Kind::Fetch => {
                let origins = each_once(self.ground.policy.fetched_origins());
                if origins.is_empty() {
                    return Vec::new();
                }
                let url = Node::Text(Text::Url { origins, max: caps.words });
                let methods = words(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);
                vec![vec![member("url", url), optional("method", methods), optional("body", self.answer())]]
            }
            // Which paths lie below a declared directory only the file system knows.
            Kind::ReadFile if outside.read_roots.is_empty() && outside.write_roots.is_empty() => Vec::new(),
            Kind::WriteFile if outside.write_roots.is_empty() => Vec::new(),
            Kind::ReadFile => vec![vec![member("path", self.text())]],
            Kind::WriteFile => vec![vec![member("path", self.text()), member("content", self.answer())]],
            Kind::Shell => {
                let lines: Vec<Value> = outside.spelled_commands().map(Value::from).collect();
                if lines.is_empty() { Vec::new() } else { vec![vec![member("command", Node::Enum(lines))]] }
            }
            Kind::Evaluate => vec![vec![member("script", self.answer())]],
        }
    }

    fn when_dialog(&self, members: Vec<Member>) -> Vec<Vec<Member>> {
        let may_be_open = self.ground.page == Page::Any || self.ground.observation.dialog.is_some();
        if may_be_open { vec![members] } else { Vec::new() }
    }

    /// Text in the clear, or a secret by its name.
    fn entering(&mut self, target: Option<Member>, field: &str) -> Vec<Vec<Member>> {
        let Some(target) = target else { return Vec::new() };
        let mut lists = vec![vec![target.clone(), member(field, self.text())]];
        let secrets = &self.ground.caps.credentials;
        if !secrets.is_empty() {
            let names = words(secrets.iter().map(cuebook_grammar::id::CredentialRef::as_str));
            lists.push(vec![target, member("credentialRef", self.builder.define("credential", names))]);
        }
        lists
    }

    /// One list for each target whose options are known, and one for the others.
    fn choosing(&mut self, place: Place) -> Vec<Vec<Member>> {
        let caps = self.ground.caps;
        let mut lists = Vec::new();
        for candidate in self.ground.candidates.iter().filter(|candidate| candidate.supports(Capability::Options)) {
            let option = match options_of(candidate, caps) {
                Options::Spelled(options) => self.builder.define("option", words(options)),
                Options::Numbered(count) => {
                    if place == Place::Last {
                        self.left_out.long_selects += 1;
                    }
                    Node::Integer { min: 0, max: i64::try_from(count).unwrap_or(1) - 1 }
                }
                Options::Free | Options::None => continue,
            };
            let option = if candidate.states.multiselectable {
                Node::Array { item: Box::new(option), min: 1, max: 10 }
            } else {
                option
            };
            let id = words([candidate.id.to_string().as_str()]);
            lists.push(vec![member("targetRef", id), member("option", option)]);
        }
        if let Some(pool) = &self.pools.options {
            let option = Node::Text(Text::Free { min: 1, max: caps.words });
            lists.push(vec![member("targetRef", pool.clone()), member("option", option)]);
        }
        lists
    }

    fn calls(&mut self) -> Vec<Vec<Member>> {
        let mut lists = Vec::new();
        for action in self.ground.policy.registered_actions() {
            match Shape::read(&action.schema).and_then(|shape| foreign::node(&shape, self.ground.caps)) {
                Some(args @ Node::Object(_)) => {
                    let args = self.builder.define("args", args);
                    lists.push(vec![member("name", words([action.name.as_str()])), member("args", args)]);
                }
                _ => {
                    let name = action.name.as_str().to_owned();
                    if !self.left_out.registered.contains(&name) {
                        self.left_out.registered.push(name);
                    }
                }
            }
        }
        lists
    }

    /// A point of the viewport, in whole pixels.
    fn point(&mut self) -> Node {
        let viewport = self.ground.observation.viewport;
        let axis = |extent: f64| {
            // A viewport is a few thousand pixels; what is no number is none.
            let max = if extent.is_finite() { extent.clamp(1.0, 20_000.0) as i64 - 1 } else { 0 };
            Node::Integer { min: 0, max }
        };
        self.builder
            .define("point", Node::Object(vec![member("x", axis(viewport.width)), member("y", axis(viewport.height))]))
    }

    /// A point of a target, from the top left corner of its box.
    fn position(&mut self) -> Node {
        let axis = Node::Integer { min: 0, max: 9_999 };
        self.builder.define("position", Node::Object(vec![member("x", axis.clone()), member("y", axis)]))
    }

    /// Defines the node for what may be stated at one place: a condition, or a group of conditions.
    fn condition(&mut self, stated: ConditionPlace) -> Node {
        let simple = self.conditions();
        let simple = self.builder.index("simpleCondition", Node::Union(Union::of("kind", simple)));
        let mut variants = Vec::new();
        let mut add = |name: &str, what: &str, members: Vec<Member>| {
            variants.push(Variant { name: name.to_owned(), description: what.to_owned(), members });
        };
        let limit = (stated != ConditionPlace::Now).then(|| optional("timeoutMs", LIMITS));
        if stated != ConditionPlace::Now {
            add("networkIdle", "the network is quiet", vec![member("timeoutMs", LIMITS)]);
        }
        let several = Node::Array { item: Box::new(Node::Reference(simple)), min: 1, max: CONDITIONS };
        for (name, what) in [("allOf", "all of these hold"), ("anyOf", "one of these holds")] {
            add(name, what, [member("conditions", several.clone())].into_iter().chain(limit.clone()).collect());
        }
        add("not", "this does not hold", vec![member("condition", Node::Reference(simple))]);
        if stated != ConditionPlace::Now {
            add("becomes", "this came to hold after the input", vec![member("condition", Node::Reference(simple))]);
        }
        let name = if stated == ConditionPlace::Now { "condition" } else { "outcome" };
        let wider = Node::Union(Union { tag: "kind", variants, includes: vec![simple] });
        let wider = self.builder.index(name, wider);
        if stated != ConditionPlace::AfterLast {
            return Node::Reference(wider);
        }
        let short = |name| optional(name, Node::Text(Text::Free { min: 1, max: self.ground.caps.words }));
        let leaving = [("urlChanges", "the URL is another one", "to"), ("newTab", "a tab opened", "url")];
        let variants = leaving.map(|(name, what, to)| Variant {
            name: name.to_owned(),
            description: what.to_owned(),
            members: vec![short(to)],
        });
        let last = Union { tag: "kind", variants: variants.into(), includes: vec![wider] };
        self.builder.define("lastOutcome", Node::Union(last))
    }

    /// The conditions that a model may state everywhere, without groups.
    fn conditions(&mut self) -> Vec<Variant> {
        let text = self.words();
        let short = Node::Text(Text::Free { min: 1, max: self.ground.caps.words });
        let pattern = || Node::Text(Text::Pattern { max: PATTERN });
        let tenths = self.tenths();
        let roles: std::collections::BTreeSet<&str> =
            self.ground.candidates.iter().map(|candidate| candidate.role.as_str()).collect();
        let mut variants = Vec::new();
        let mut add = |name: &str, what: &str, members: Vec<Member>| {
            variants.push(Variant { name: name.to_owned(), description: what.to_owned(), members });
        };
        if let Some(pool) = &self.pools.any {
            let target = || member("target", pool.clone());
            add("exists", "it is in the page", vec![target()]);
            add("absent", "it is no longer in the page", vec![target()]);
            add("visible", "it can be seen", vec![target()]);
            add("hidden", "it cannot be seen", vec![target()]);
            add("enabled", "it can be operated", vec![target()]);
            add("editable", "its value can be changed", vec![target()]);
            add("focused", "it has the focus", vec![target()]);
            add("inViewport", "some of it lies in the viewport", vec![target(), optional("ratio", tenths)]);
            add("appears", "it was not visible and is now", vec![target()]);
            add("disappears", "it was visible and is not any more", vec![target()]);
            let aspects = words(["text", "value", "name", "states", "box"]);
            add("changed", "something about it is different", vec![target(), optional("aspect", aspects)]);
            for (kind, what) in [
                ("attrEquals", "its attribute is"),
                ("propertyEquals", "its DOM property is"),
                ("ariaState", "its ARIA state is; the name is without `aria-`"),
            ] {
                add(kind, what, vec![target(), named(), member("value", text.clone())]);
            }
            add("elementTextContains", "its text contains", vec![target(), member("text", short.clone())]);
            for (kind, what) in [
                ("elementTextEquals", "its text is"),
                ("nameEquals", "its accessible name is"),
                ("descriptionEquals", "its accessible description is"),
                ("errorMessageEquals", "its error message is"),
            ] {
                add(kind, what, vec![target(), member("text", text.clone())]);
            }
            let texts = words(["text", "value", "name", "description", "errorMessage"]);
            let regex = || member("pattern", Node::Object(vec![member("regex", pattern())]));
            add("matches", "a text of it matches", vec![target(), optional("of", texts), regex()]);
            let attribute = member("of", words(["attribute"]));
            add("matches", "an attribute of it matches", vec![target(), attribute, named(), regex()]);
            let role = match self.ground.page {
                Page::This => words(roles),
                Page::Any => Node::Text(Text::Free { min: 1, max: NAME }),
            };
            add("roleEquals", "its role is", vec![target(), member("role", role)]);
            let class = Node::Text(Text::Free { min: 1, max: NAME });
            add("classContains", "it has the class", vec![target(), member("class", class)]);
            let label = Node::Text(Text::Free { min: 1, max: LABEL });
            let values = Node::Array { item: Box::new(label), min: 0, max: 3 };
            add("selectedValues", "exactly these options are chosen", vec![target(), member("values", values)]);
        }
        if let Some(pool) = &self.pools.value {
            let target = || member("target", pool.clone());
            add("valueEquals", "its value is", vec![target(), member("value", text.clone())]);
            add("valueContains", "its value contains", vec![target(), member("value", short.clone())]);
        }
        if let Some(pool) = &self.pools.check_on {
            add(
                "checked",
                "it is on, or off",
                vec![member("target", pool.clone()), optional("checked", Node::Boolean)],
            );
        }
        add("urlMatches", "the URL matches", vec![member("pattern", pattern())]);
        add("titleMatches", "the title matches", vec![member("pattern", pattern())]);
        add("networkIdle", "the network is quiet", Vec::new());
        let status = || optional("status", Node::Integer { min: 100, max: 599 });
        let method = member("method", words(["GET", "POST", "PUT", "PATCH", "DELETE"]));
        let url = || member("url", pattern());
        add("requestObserved", "a request like this was made", vec![method, url(), status()]);
        add("requestObserved", "a request like this was made", vec![url(), status()]);
        let dialogs = words(["alert", "confirm", "prompt", "beforeUnload"]);
        add("dialogOpened", "a dialog opened", vec![optional("dialog", dialogs), optional("text", short.clone())]);
        add("downloadStarted", "a download started", vec![optional("filename", short.clone())]);
        add("downloadCompleted", "a download is complete", vec![optional("filename", short)]);
        add("anyEffect", "anything happened", Vec::new());
        variants
    }
}

/// Where a condition stands, which decides whether it may wait and whether it may expect another page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConditionPlace {
    /// Judged at once, without a time limit.
    Now,
    /// Waited for after a step that is not the last.
    After,
    /// Waited for after the last step.
    AfterLast,
}

const LIMITS: Node = Node::Integer { min: 1, max: LIMIT };
const DISTANCE: Node = Node::Integer { min: -9_999, max: 9_999 };

/// The name of an attribute, a property or a state.
fn named() -> Member {
    member("name", Node::Text(Text::Free { min: 1, max: NAME }))
}

/// The fields of an answer, which are read as the JSON Schema that they denote.
fn fields() -> Node {
    let types = words(FieldType::ALL.iter().map(|kind| kind.as_str()));
    let name = Node::Text(Text::Free { min: 1, max: LABEL });
    let field = Node::Object(vec![member("name", name), member("type", types)]);
    Node::Array { item: Box::new(field), min: 1, max: FIELDS }
}

/// Returns `true` if the action can be done while a dialog blocks the page.
const fn works_under_a_dialog(kind: ActionKind) -> bool {
    use ActionKind as Kind;
    matches!(kind, Kind::AcceptDialog | Kind::DismissDialog | Kind::Finish | Kind::Fail | Kind::AskUser)
}

fn modifiers() -> Node {
    Node::Array { item: Box::new(words(["Alt", "Control", "Meta", "Shift"])), min: 0, max: 2 }
}

/// Returns the purpose of a verb, for tool descriptions and prompts.
#[must_use]
pub(super) const fn description(kind: ActionKind) -> &'static str {
    use ActionKind as Kind;
    match kind {
        Kind::Navigate => "Open a URL",
        Kind::GoBack => "Go back in history",
        Kind::GoForward => "Go forward in history",
        Kind::Reload => "Load the page again",
        Kind::WaitFor => "Wait until a condition holds",
        Kind::WaitForIdle => "Wait until the page is quiet",
        Kind::Scroll => "Scroll the page, or a target into view",
        Kind::ScrollUntil => "Scroll until a text is there or a condition holds",
        Kind::SwitchTab => "Make another tab the current one",
        Kind::CloseTab => "Close a tab",
        Kind::Click => "Click a target",
        Kind::Clear => "Empty a field",
        Kind::SelectText => "Select the text of a target",
        Kind::Type => "Add text to a field",
        Kind::SetValue => "Replace the value of a field",
        Kind::Press => "Press a key or chord",
        Kind::Select => "Choose an option",
        Kind::Check => "Turn a check box, radio button or switch on",
        Kind::Uncheck => "Turn a check box or switch off",
        Kind::Hover => "Move the pointer over a target",
        Kind::Focus => "Give a target the focus",
        Kind::DragTo => "Drag a target onto another",
        Kind::Upload => "Choose files in a file field",
        Kind::LongPress => "Press and hold a target",
        Kind::ClickPoint => "Click at a point of the picture",
        Kind::DragPoints => "Drag from a point of the picture to another",
        Kind::LongPressPoint => "Press and hold at a point of the picture",
        Kind::Extract => {
            "Read the page; fields of a schema are named as the page names them: `tags[]` a list, `rows[].price` a column"
        }
        Kind::Snapshot => "Look at the page again",
        Kind::Screenshot => "Take a picture",
        Kind::GetDom => "Read a compact form of the document",
        Kind::SearchPage => "Search the page's text",
        Kind::FindElements => "List elements",
        Kind::ResolveSelector => "Turn a selector into a candidate",
        Kind::Assert => "State that a condition holds now",
        Kind::Fetch => "Make an HTTP request outside the page",
        Kind::ReadFile => "Read a file",
        Kind::WriteFile => "Write a file",
        Kind::Shell => "Run a command",
        Kind::Evaluate => "Evaluate a script in the page",
        Kind::Call => "Call a registered action",
        Kind::AcceptDialog => "Accept the dialog that is open",
        Kind::DismissDialog => "Dismiss the dialog that is open",
        Kind::Finish => "End the task, with its result",
        Kind::Fail => "End the task as one that cannot be done",
        Kind::AskUser => "Ask the user a question",
    }
}

/// Origins that URLs may lead to, as a grammar spells them.
fn each_once(spelled: impl Iterator<Item = (String, String, bool)>) -> Vec<UrlOrigin> {
    let mut origins: Vec<UrlOrigin> = Vec::new();
    for (front, host, subdomain) in spelled {
        let origin = UrlOrigin { front, subdomain, host: if subdomain { format!(".{host}") } else { host } };
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    origins
}
