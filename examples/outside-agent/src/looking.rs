//! A page modeler that observes the shop in memory.

use cuebook_grammar::candidate::{Candidate, Fingerprint, NameSource};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::facts::States;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::id::PageId;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::observation::{FrameSummary, Heading, LiveText, Observation, Scope, TabSummary, Viewport};
use cuebook_grammar::seam::{Finding, PageModeler, Query};
use cuebook_grammar::secret::{DigestKey, FactText};
use serde_json::json;

use crate::FakeError;
use crate::shop::{Shop, State, Thing};

/// A page modeler for the shop.
#[derive(Clone, Debug)]
pub struct FakeModeler {
    shop: Shop,
}

impl FakeModeler {
    /// A page modeler for this shop.
    #[must_use]
    pub fn of(shop: &Shop) -> Self {
        Self { shop: shop.clone() }
    }

    /// As `observe`, without a future.
    #[must_use]
    pub fn look(&self, scope: Scope) -> Observation {
        let state = &mut *self.shop.state.lock();
        let place = state.place;
        let candidates = place.things().iter().enumerate().map(|(row, thing)| candidate(state, *thing, row)).collect();
        let mut observation = Observation::blank(Shop::page(), place.url());
        observation.id = state.next_observation();
        observation.scope = scope;
        observation.title = place.title().into();
        observation.viewport = Viewport {
            width: 800.0,
            height: 600.0,
            page_width: 800.0,
            page_height: 600.0,
            device_pixel_ratio: 1.0,
            ..Viewport::default()
        };
        observation.frames = vec![FrameSummary {
            parent: None,
            url: place.url().into(),
            origin: Shop::origin().into(),
            name: String::new(),
            out_of_process: false,
            omitted: None,
        }];
        observation.candidates = candidates;
        observation.sketch.headings = vec![Heading { level: 1, text: place.title().into() }];
        observation.sketch.live =
            state.alert.iter().map(|text| LiveText { kind: "alert".into(), text: (*text).into() }).collect();
        observation.tabs = vec![TabSummary {
            page: Shop::page(),
            url: place.url().into(),
            title: place.title().into(),
            current: true,
        }];
        observation.fingerprint = format!("{:016x}", place as u64 + 1);
        observation
    }
}

impl PageModeler for FakeModeler {
    type Error = FakeError;

    async fn observe(&mut self, page: &PageId, scope: Scope, _: Deadline) -> Result<Observation, FakeError> {
        known(page)?;
        Ok(self.look(scope))
    }

    async fn explore(&mut self, page: &PageId, query: &Query, _: Deadline) -> Result<Finding, FakeError> {
        known(page)?;
        let text = {
            let state = self.shop.state.lock();
            let names = state.place.things().iter().map(|thing| thing.name());
            let lines = [state.place.title(), state.place.text()].into_iter().chain(state.alert).chain(names);
            lines.collect::<Vec<_>>().join("\n")
        };
        Ok(match query {
            Query::Search(search) if search.regex != Some(true) => {
                Finding::Data(json!({ "matches": text.matches(search.query.as_str()).count() }))
            }
            Query::Snapshot(_) => Finding::Data(json!(text)),
            Query::Search(_) => Finding::Refused("expected a plain query, saw a regular expression".into()),
            Query::Find(_) | Query::Resolve(_) => {
                Finding::Refused("expected a page with a document, saw one that is data".into())
            }
        })
    }
}

pub(crate) fn known(page: &PageId) -> Result<(), FakeError> {
    if *page == Shop::page() { Ok(()) } else { Err(FakeError::OtherPage { seen: page.as_str().into() }) }
}

fn candidate(state: &mut State, thing: Thing, row: usize) -> Candidate {
    // Whoever looks at a password sees that there is one: the key never leaves, so no digest tells more.
    let key = DigestKey::new([0x5e; 32]);
    let value = thing.is_field().then(|| {
        let clear = FactText::Clear(state.value(thing).into());
        if thing == Thing::Password { clear.redact(&key, &[]) } else { clear }
    });
    let y = f64::from(u32::try_from(row).unwrap_or(u32::MAX)) * 40.0 + 20.0;
    Candidate {
        id: state.id_of(thing),
        role: thing.role(),
        name: thing.name().into(),
        name_source: NameSource::Walk,
        context: None,
        ambiguous: false,
        description: None,
        states: States { editable: thing.is_field(), required: thing.is_field(), ..States::default() },
        control: thing.control(),
        value,
        bounds: Default::default(),
        options: Vec::new(),
        label: None,
        placeholder: None,
        test_id: Some(thing.test_id().into()),
        destination: (thing == Thing::BackToShop).then(|| crate::Place::Shop.url().to_owned()),
        form: (state.place == crate::Place::Login).then(|| "login".to_owned()),
        activation: Default::default(),
        surroundings: None,
        rect: Some(Rect { x: 20.0, y, width: 200.0, height: 30.0 }),
        placement: Default::default(),
        occlusion: None,
        scroll_container: None,
        frame: 0,
        depth: 1,
        locators: vec![Locator::test_id(thing.test_id()), Locator::role(thing.role(), thing.name())],
        fingerprint: Fingerprint {
            role: thing.role(),
            name: thing.name().into(),
            test_id: Some(thing.test_id().into()),
            context: None,
            path: format!("main/{}", thing.test_id()),
            frame: String::new(),
        },
        node: None,
        about: None,
    }
}
