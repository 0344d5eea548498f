//! Which protocol domains are enabled on a tab.
//!
//! Invariant: a domain is enabled on every session of a page, present and future, exactly while at least one guard for
//! it lives.

use std::fmt;

use serde_json::json;

use super::state::PageState;
use super::tab::Page;
use crate::domain::Domain;

/// Keeps a domain enabled on all sessions of a page; dropping the last one disables it.
pub struct DomainGuard {
    page: Page,
    domain: Domain,
}

impl DomainGuard {
    /// The domain that is kept enabled.
    #[must_use]
    pub fn domain(&self) -> Domain {
        self.domain
    }
}

impl Drop for DomainGuard {
    fn drop(&mut self) {
        self.page.release(self.domain);
    }
}

impl fmt::Debug for DomainGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DomainGuard({:?})", self.domain)
    }
}

impl Page {
    /// Keeps a domain enabled on all sessions, present and future, while the guard lives. Calls that are
    /// started after this returns find it enabled.
    #[must_use]
    pub fn require(&self, domain: Domain) -> DomainGuard {
        let mut state = self.inner.lock();
        let holders = state.domains.entry(domain).or_default();
        *holders = holders.saturating_add(1);
        if *holders == 1 {
            self.toggle(&state, domain, domain.enable());
        }
        drop(state);
        DomainGuard { page: self.clone(), domain }
    }

    fn release(&self, domain: Domain) {
        let mut state = self.inner.lock();
        let Some(holders) = state.domains.get_mut(&domain) else { return };
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            state.domains.remove(&domain);
            self.toggle(&state, domain, domain.disable());
        }
    }

    fn toggle(&self, state: &PageState, domain: Domain, method: &'static str) {
        let workers = if domain.covers_workers() { state.workers.as_slice() } else { &[] };
        for session in std::iter::once(&self.inner.session).chain(&state.sessions).chain(workers) {
            session.post(method, &json!({}));
        }
    }
}
