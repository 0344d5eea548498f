//! The world: a shop of three pages as a state machine.
//!
//! Invariants:
//! - Each document has a number; loading a page makes a new document.
//! - Ids are assigned once per document, increase over the whole run and are never reused.

use std::collections::BTreeMap;

use cuebook_grammar::candidate::ControlKind;
use cuebook_grammar::facts::{ElementFacts, States};
use cuebook_grammar::id::{CandidateId, ObservationId, PageId};
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::FactText;

use crate::Shared;

/// The valid user name.
pub const USER: &str = "ada";
/// Password that [`USER`] logs in with.
pub const PASSWORD: &str = "correct horse";
/// The name of the password in [`crate::FakeSecrets::of_the_shop`].
pub const PASSWORD_REF: &str = "shop-password";

const ORIGIN: &str = "https://shop.test";

/// A page of the shop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A form: user name, password, a button.
    #[default]
    Login,
    /// A product, with buttons to add it to the basket and to buy it.
    Shop,
    /// Thanks for the order.
    Confirmation,
}

impl Place {
    /// Absolute URL of the page, on [`Shop::origin`].
    #[must_use]
    pub const fn url(self) -> &'static str {
        match self {
            Self::Login => "https://shop.test/login",
            Self::Shop => "https://shop.test/shop",
            Self::Confirmation => "https://shop.test/confirmation",
        }
    }

    /// Title of the page's document.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Login => "Log in",
            Self::Shop => "Shop",
            Self::Confirmation => "Thank you",
        }
    }

    /// The text of the page beside its controls.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Login => "Welcome to the shop",
            Self::Shop => "Pencil, 2.50",
            Self::Confirmation => "Thank you, order 1 is on its way",
        }
    }

    /// The controls of the page, in reading order.
    #[must_use]
    pub const fn things(self) -> &'static [Thing] {
        match self {
            Self::Login => &[Thing::User, Thing::Password, Thing::LogIn],
            Self::Shop => &[Thing::AddToBasket, Thing::Buy],
            Self::Confirmation => &[Thing::BackToShop],
        }
    }

    fn at(url: &str) -> Option<Self> {
        [Self::Login, Self::Shop, Self::Confirmation].into_iter().find(|place| place.url() == url)
    }
}

/// Control on one of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Thing {
    /// The field for the user name.
    User,
    /// The field for the password.
    Password,
    /// The button that logs in.
    LogIn,
    /// The button that puts the product into the basket.
    AddToBasket,
    /// The button that buys.
    Buy,
    /// The link from the confirmation back to the product.
    BackToShop,
}

impl Thing {
    /// Accessible name, unique in the shop.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "User name",
            Self::Password => "Password",
            Self::LogIn => "Log in",
            Self::AddToBasket => "Add to basket",
            Self::Buy => "Buy now",
            Self::BackToShop => "Back to the shop",
        }
    }

    /// Test id, unique in the shop.
    #[must_use]
    pub const fn test_id(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Password => "password",
            Self::LogIn => "log-in",
            Self::AddToBasket => "add",
            Self::Buy => "buy",
            Self::BackToShop => "back",
        }
    }

    /// ARIA role of the control.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Self::User | Self::Password => Role::TextBox,
            Self::LogIn | Self::AddToBasket | Self::Buy => Role::Button,
            Self::BackToShop => Role::Link,
        }
    }

    /// Its kind of control.
    #[must_use]
    pub const fn control(self) -> ControlKind {
        match self {
            Self::User => ControlKind::Text,
            Self::Password => ControlKind::Password,
            _ => ControlKind::Plain,
        }
    }

    pub(crate) const fn is_field(self) -> bool {
        matches!(self, Self::User | Self::Password)
    }
}

/// The shop. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Shop {
    pub(crate) state: Shared<State>,
}

impl Shop {
    /// A shop at the login page, without a user and without orders.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Id of the only tab.
    #[must_use]
    pub fn page() -> PageId {
        PageId::new("shop-tab")
    }

    /// Origin of all pages, `https://shop.test`.
    #[must_use]
    pub const fn origin() -> &'static str {
        ORIGIN
    }

    /// Page that the tab shows now.
    #[must_use]
    pub fn place(&self) -> Place {
        self.state.lock().place
    }

    /// The number of clicks on a control.
    #[must_use]
    pub fn clicks(&self, thing: Thing) -> u32 {
        self.state.lock().clicks.get(&thing).copied().unwrap_or_default()
    }

    /// The number of orders.
    #[must_use]
    pub fn orders(&self) -> u32 {
        self.state.lock().orders
    }

    /// The number of products in the basket.
    #[must_use]
    pub fn basket(&self) -> u32 {
        self.state.lock().basket
    }

    /// Reloads the current page: every id on it becomes stale.
    pub fn reload(&self) {
        let state = &mut *self.state.lock();
        state.load(state.place);
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) place: Place,
    pub(crate) document: u64,
    fields: BTreeMap<Thing, String>,
    pub(crate) alert: Option<&'static str>,
    clicks: BTreeMap<Thing, u32>,
    is_logged_in: bool,
    basket: u32,
    orders: u32,
    ids: BTreeMap<(u64, Thing), CandidateId>,
    observations: u64,
}

impl State {
    pub(crate) fn next_observation(&mut self) -> ObservationId {
        self.observations += 1;
        ObservationId(self.observations)
    }

    /// The id of a control on the current page.
    pub(crate) fn id_of(&mut self, thing: Thing) -> CandidateId {
        let next = CandidateId(u32::try_from(self.ids.len()).unwrap_or(u32::MAX).saturating_add(1));
        *self.ids.entry((self.document, thing)).or_insert(next)
    }

    /// The control with an id, if it is on the current document.
    pub(crate) fn thing_of(&self, id: CandidateId) -> Option<Thing> {
        let (key, _) = self.ids.iter().find(|(_, known)| **known == id)?;
        (key.0 == self.document).then_some(key.1)
    }

    pub(crate) fn facts(&self, thing: Thing) -> ElementFacts {
        let is_field = thing.is_field();
        ElementFacts {
            role: thing.role(),
            name: thing.name().into(),
            tag: if is_field {
                "input"
            } else if thing.role() == Role::Link {
                "a"
            } else {
                "button"
            }
            .into(),
            labels: if is_field { vec![thing.name().into()] } else { Vec::new() },
            test_id: Some(thing.test_id().into()),
            text: Some(FactText::Clear(if is_field { "" } else { thing.name() }.into())),
            value: is_field.then(|| FactText::Clear(self.value(thing).into())),
            states: States { editable: is_field, required: is_field, ..States::default() },
            visible: Some(true),
            in_viewport: Some(1.0),
            sensitive: thing == Thing::Password,
            ..ElementFacts::default()
        }
    }

    /// The current value of a field.
    pub(crate) fn value(&self, thing: Thing) -> &str {
        self.fields.get(&thing).map_or("", String::as_str)
    }

    pub(crate) fn set_value(&mut self, thing: Thing, value: String) {
        self.fields.insert(thing, value);
    }

    /// Opens a URL. Returns `false` if the shop has no such page. Before the login, every page is the login page.
    pub(crate) fn go_to(&mut self, url: &str) -> bool {
        match Place::at(url) {
            Some(place) => {
                self.load(if self.is_logged_in { place } else { Place::Login });
                true
            }
            None => false,
        }
    }

    pub(crate) fn click(&mut self, thing: Thing) {
        *self.clicks.entry(thing).or_default() += 1;
        match thing {
            Thing::LogIn if self.value(Thing::User) == USER && self.value(Thing::Password) == PASSWORD => {
                self.is_logged_in = true;
                self.load(Place::Shop);
            }
            Thing::LogIn => self.alert = Some("Wrong user name or password"),
            Thing::AddToBasket => self.basket += 1,
            Thing::Buy => {
                self.orders += 1;
                self.basket = 0;
                self.load(Place::Confirmation);
            }
            Thing::BackToShop => self.load(Place::Shop),
            Thing::User | Thing::Password => {}
        }
    }

    /// A fingerprint of the state: different values mean that something has changed.
    pub(crate) fn look(&self) -> (u64, Option<&'static str>, u32, BTreeMap<Thing, String>) {
        (self.document, self.alert, self.basket, self.fields.clone())
    }

    fn load(&mut self, place: Place) {
        self.place = place;
        self.document += 1;
        self.fields.clear();
        self.alert = None;
    }
}
