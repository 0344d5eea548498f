//! All that the server knows: what the oracle reports and a reset forgets.
//!
//! Invariants: every list and map is bounded; session tokens are never reused, so a cookie from
//! before a reset means nothing after it; passwords are compared and never stored.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::invoices::{self, Invoice};
use crate::random::Random;
use crate::shopping::{Cart, Delivery, Line, total};
use crate::text::{LONGEST, LONGEST_NAME, clip};

/// The newest this many of each kind of event are kept.
const MOST_EVENTS: usize = 10_000;
/// Distinct counters; hits on further names are dropped.
const MOST_NAMES: usize = 1_000;
const MOST_SESSIONS: usize = 1_000;

struct Account {
    user: &'static str,
    password: &'static str,
    greeting: &'static str,
}

const ACCOUNTS: [Account; 2] = [
    Account { user: "user@example.com", password: "hunter2", greeting: "Sam" },
    Account { user: "ann", password: "correct-horse", greeting: "Ann" },
];

/// A session cookie's value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId(String);

impl SessionId {
    pub(crate) fn from_cookie(value: &str) -> Self {
        Self(clip(value, LONGEST_NAME))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) user: Option<&'static str>,
    pub(crate) cart: Cart,
}

#[derive(Debug, Serialize)]
pub(crate) struct LoginAttempt {
    user: String,
    accepted: bool,
}

/// Order placed at the checkout or from the dashboard.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Order {
    pub(crate) id: u64,
    pub(crate) user: Option<&'static str>,
    pub(crate) lines: Vec<Line>,
    pub(crate) cents: u64,
    /// Absent for a quick order from the dashboard, which ships to the account's address.
    pub(crate) delivery: Option<Delivery>,
}

/// A form that a page reported.
#[derive(Debug, Serialize)]
pub(crate) struct Submission {
    pub(crate) form: String,
    pub(crate) fields: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Upload {
    pub(crate) name: String,
    /// Bytes received; the content is not kept.
    pub(crate) size: u64,
}

/// Everything the server saw since it started or was last reset.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct World {
    seed: u64,
    /// Requests for pages and actions; neither the oracle's own nor assets.
    requests: u64,
    requests_by_path: BTreeMap<String, u64>,
    logins: Vec<LoginAttempt>,
    logouts: u64,
    orders: Vec<Order>,
    submissions: Vec<Submission>,
    uploads: Vec<Upload>,
    /// Numbers of deleted invoices, in the order of deletion.
    deleted: Vec<String>,
    /// Numbers of edited invoices, in the order of editing.
    edited: Vec<String>,
    invoices: Vec<Invoice>,
    /// How often each named thing was used.
    hits: BTreeMap<String, u64>,
    #[serde(skip)]
    sessions: BTreeMap<SessionId, Session>,
    #[serde(skip)]
    sessions_begun: u64,
    #[serde(skip)]
    drift_loads: u64,
    #[serde(skip)]
    next_order: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            requests: 0,
            requests_by_path: BTreeMap::new(),
            logins: Vec::new(),
            logouts: 0,
            orders: Vec::new(),
            submissions: Vec::new(),
            uploads: Vec::new(),
            deleted: Vec::new(),
            edited: Vec::new(),
            invoices: invoices::seeded(seed),
            hits: BTreeMap::new(),
            sessions: BTreeMap::new(),
            sessions_begun: 0,
            drift_loads: 0,
            next_order: 5_001,
        }
    }

    /// Forgets everything, except how many session tokens were handed out.
    pub(crate) fn reset(&mut self, seed: u64) {
        let sessions_begun = self.sessions_begun;
        *self = Self::new(seed);
        self.sessions_begun = sessions_begun;
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn count_request(&mut self, path: &str) {
        self.requests += 1;
        bump(&mut self.requests_by_path, path);
    }

    pub(crate) fn hit(&mut self, name: &str) -> u64 {
        bump(&mut self.hits, name)
    }

    pub(crate) fn hits(&self, name: &str) -> u64 {
        self.hits.get(name).copied().unwrap_or_default()
    }

    pub(crate) fn submit(&mut self, form: &str, fields: BTreeMap<String, String>) {
        keep(&mut self.submissions, Submission { form: clip(form, LONGEST_NAME), fields });
    }

    pub(crate) fn uploaded(&mut self, name: &str, size: u64) {
        keep(&mut self.uploads, Upload { name: clip(name, LONGEST_NAME), size });
    }

    pub(crate) fn last_uploads(&self) -> &[Upload] {
        &self.uploads
    }

    /// How often the drifting page was loaded before this time.
    pub(crate) const fn next_drift_load(&mut self) -> u64 {
        let load = self.drift_loads;
        self.drift_loads = load.wrapping_add(1);
        load
    }

    pub(crate) fn session(&self, id: &SessionId) -> Option<&Session> {
        self.sessions.get(id)
    }

    pub(crate) fn session_mut(&mut self, id: &SessionId) -> Option<&mut Session> {
        self.sessions.get_mut(id)
    }

    /// Begins a session. Beyond the bound an arbitrary old one ends.
    pub(crate) fn begin_session(&mut self) -> SessionId {
        if self.sessions.len() >= MOST_SESSIONS {
            self.sessions.pop_first();
        }
        self.sessions_begun = self.sessions_begun.wrapping_add(1);
        let id = SessionId(format!("{:016x}", Random::new(self.sessions_begun).next()));
        self.sessions.insert(id.clone(), Session::default());
        id
    }

    /// Returns the user's name if `user` and `password` belong together; records the attempt either way.
    pub(crate) fn check_login(&mut self, user: &str, password: &str) -> Option<&'static str> {
        let account = ACCOUNTS.iter().find(|account| account.user == user && account.password == password);
        let attempt = LoginAttempt { user: clip(user, LONGEST), accepted: account.is_some() };
        keep(&mut self.logins, attempt);
        account.map(|account| account.user)
    }

    pub(crate) fn log_out(&mut self, id: &SessionId) {
        if self.sessions.remove(id).is_some() {
            self.logouts += 1;
        }
    }

    /// Places an order and returns its number.
    pub(crate) fn place_order(
        &mut self,
        user: Option<&'static str>,
        lines: Vec<Line>,
        delivery: Option<Delivery>,
    ) -> u64 {
        let id = self.next_order;
        self.next_order += 1;
        let cents = total(&lines);
        keep(&mut self.orders, Order { id, user, lines, cents, delivery });
        id
    }

    pub(crate) fn order(&self, id: u64) -> Option<&Order> {
        self.orders.iter().find(|order| order.id == id)
    }

    pub(crate) fn orders_of(&self, user: &str) -> impl Iterator<Item = &Order> {
        self.orders.iter().filter(move |order| order.user == Some(user))
    }

    pub(crate) fn invoices(&self) -> &[Invoice] {
        &self.invoices
    }

    pub(crate) fn invoice(&self, number: &str) -> Option<&Invoice> {
        self.invoices.iter().find(|invoice| invoice.number == number)
    }

    /// Deletes an invoice; false if there is none of that number.
    pub(crate) fn delete_invoice(&mut self, number: &str) -> bool {
        let Some(index) = self.invoices.iter().position(|invoice| invoice.number == number) else {
            return false;
        };
        let invoice = self.invoices.remove(index);
        keep(&mut self.deleted, invoice.number);
        true
    }

    /// Changes an invoice's customer, email and status; false if there is none of that number.
    pub(crate) fn edit_invoice(&mut self, number: &str, customer: &str, email: &str, status: &str) -> bool {
        let Some(invoice) = self.invoices.iter_mut().find(|invoice| invoice.number == number) else {
            return false;
        };
        invoice.customer = clip(customer, LONGEST_NAME);
        invoice.email = clip(email, LONGEST_NAME);
        if let Some(status) = invoices::STATUSES.into_iter().find(|known| *known == status) {
            status.clone_into(&mut invoice.status);
        }
        keep(&mut self.edited, number.to_owned());
        true
    }
}

/// Returns the name by which the site greets a user; `customer` for one without an account.
pub(crate) fn greeting(user: &str) -> &'static str {
    ACCOUNTS.iter().find(|account| account.user == user).map_or("customer", |it| it.greeting)
}

fn keep<T>(events: &mut Vec<T>, event: T) {
    if events.len() >= MOST_EVENTS {
        events.remove(0);
    }
    events.push(event);
}

fn bump(counters: &mut BTreeMap<String, u64>, name: &str) -> u64 {
    let name = clip(name, LONGEST_NAME);
    if counters.len() >= MOST_NAMES && !counters.contains_key(&name) {
        return 0;
    }
    let counter = counters.entry(name).or_default();
    *counter += 1;
    *counter
}

#[cfg(test)]
mod tests {
    use super::{MOST_NAMES, World};

    #[test]
    fn a_session_of_before_a_reset_stays_dead() {
        let mut world = World::new(0);
        let before = world.begin_session();
        world.reset(0);
        let after = world.begin_session();
        assert!(world.session(&before).is_none());
        assert_ne!(before, after);
    }

    #[test]
    fn counters_are_bounded_in_number() {
        let mut world = World::new(0);
        world.hit("known");
        for n in 0..MOST_NAMES * 2 {
            world.hit(&n.to_string());
        }
        assert_eq!(world.hits.len(), MOST_NAMES);
        assert_eq!(world.hit("known"), 2);
    }

    #[test]
    fn passwords_are_not_remembered() {
        let mut world = World::new(0);
        assert_eq!(world.check_login("ann", "correct-horse"), Some("ann"));
        assert_eq!(world.check_login("ann", "wrong-horse"), None);
        let seen = serde_json::to_string(&world).unwrap();
        assert!(seen.contains(r#""accepted":true"#) && !seen.contains("horse"));
    }

    #[test]
    fn an_invoice_is_deleted_once() {
        let mut world = World::new(0);
        assert!(world.delete_invoice("INV-1003"));
        assert!(!world.delete_invoice("INV-1003"));
        assert_eq!(world.deleted, ["INV-1003"]);
    }
}
