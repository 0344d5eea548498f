//! Gives the pages of a browser context their settings and permissions.

use std::sync::Arc;
use std::time::Instant;

use crate::protocol::browser_protocol::browser::{PermissionDescriptor, PermissionSetting, SetPermissionParams};
use serde_json::json;

use crate::browser::Browser;
use crate::emulation::{Emulation, Native};
use crate::error::{CallError, WorldError};
use crate::page::Page;
use crate::session::{Session, SessionKind};
use crate::targets::auto_attach;

/// Why the settings of pages cannot be set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulationError {
    /// The browser knows no such time zone.
    #[error("{seen:?} is no time zone that the browser knows, such as Europe/Berlin")]
    Timezone {
        /// Zone, as it was stated.
        seen: String,
    },
    /// A malformed language tag.
    #[error("{seen:?} is no language tag, such as de-DE")]
    Locale {
        /// Tag, as it was stated.
        seen: String,
    },
    /// The page cannot be asked.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The browser refused a command.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Returns what of a time zone and a language the browser does not know. Its commands take anything.
const UNKNOWN: &str = "(zone, locale) => {
    try { if (zone) new Intl.DateTimeFormat('en', { timeZone: zone }); } catch { return 'zone'; }
    try { if (locale) Intl.getCanonicalLocales(locale); } catch { return 'locale'; }
    return '';
}";

async fn check(page: &Page, emulation: &Emulation, until: Instant) -> Result<(), EmulationError> {
    let (zone, locale) = (&emulation.timezone, &emulation.locale);
    if zone.is_none() && locale.is_none() {
        return Ok(());
    }
    let world = page.world(&page.main_frame().id, until).await?;
    let unknown: String = world.call(UNKNOWN, &[json!(zone), json!(locale)], until).await?;
    match &*unknown {
        "zone" => Err(EmulationError::Timezone { seen: zone.clone().unwrap_or_default() }),
        "locale" => Err(EmulationError::Locale { seen: locale.clone().unwrap_or_default() }),
        _ => Ok(()),
    }
}

impl Browser {
    /// Gives these settings to all pages of the browser context of `page`, present and future, in place of earlier ones.
    ///
    /// # Errors
    /// [`EmulationError`] if the browser does not know one. Earlier ones hold then.
    pub async fn emulate(&self, page: &Page, emulation: Emulation, until: Instant) -> Result<(), EmulationError> {
        check(page, &emulation, until).await?;
        let native = Native {
            viewport: self.hub().viewport(),
            user_agent: self.version().user_agent.clone(),
            is_in_namespace: self.hub().is_in_namespace(),
        };
        let context = page.inner.context.clone();
        let replace = |with: Arc<Emulation>| {
            self.hub().with_emulations(|it| {
                it.native = native.clone();
                it.by_context.insert(context.clone(), with).unwrap_or_default()
            })
        };
        let now = Arc::new(emulation);
        let former = replace(now.clone());
        let applied = self.apply(page, &now, &former, &native, until).await;
        if applied.is_err() {
            replace(former.clone());
            // What was applied of them is taken back; a page that is gone needs none.
            let _ = self.apply(page, &former, &now, &native, until).await;
        }
        Ok(applied?)
    }

    /// The settings of the browser context of `page`.
    #[must_use]
    pub fn emulation(&self, page: &Page) -> Emulation {
        self.hub().with_emulations(|it| (*it.of(page.inner.context.as_ref())).clone())
    }

    /// Grants or denies a permission to an origin, in the browser context of `page`; `permission` is a name of the
    /// Permissions API, such as `geolocation`.
    ///
    /// # Errors
    /// [`CallError`] if the browser does not know the permission or the origin.
    pub async fn permit(
        &self,
        page: &Page,
        permission: &str,
        origin: &str,
        is_granted: bool,
        until: Instant,
    ) -> Result<(), CallError> {
        let setting = if is_granted { PermissionSetting::Granted } else { PermissionSetting::Denied };
        let wanted = SetPermissionParams {
            origin: Some(origin.to_owned()),
            browser_context_id: page.context(),
            ..SetPermissionParams::new(PermissionDescriptor::new(permission), setting)
        };
        self.session().request(wanted, until).await.map(drop)
    }

    async fn apply(
        &self,
        page: &Page,
        now: &Emulation,
        former: &Emulation,
        native: &Native,
        until: Instant,
    ) -> Result<(), CallError> {
        if now.names_the_browser() {
            // Workers that no page has for itself have the browser's name otherwise. Those that run are attached to.
            let types = ["page", "shared_worker", "service_worker"];
            self.session().call_raw("Target.setAutoAttach", auto_attach(&types), until).await?;
        }
        let mut sessions = self.hub().workers_of(page.inner.context.as_ref());
        for page in self.pages_beside(page) {
            sessions.extend(page.sessions().into_iter().chain(page.workers()));
        }
        for session in sessions {
            for (method, params) in now.commands(former, session.kind(), native) {
                if session.kind() == SessionKind::Worker {
                    // One that computes answers late, and is named before its next task all the same.
                    session.post(method, &params);
                    continue;
                }
                match session.call_raw(method, params, until).await {
                    Err(error) if !is_harmless(&session, &error) => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Returns `true` if a session may refuse a setting without its page going without it: a frame is gone meanwhile, or is in
/// a process that has the setting from another page.
fn is_harmless(session: &Session, error: &CallError) -> bool {
    session.gone().is_some()
        || session.kind() != SessionKind::Page
        || error.to_string().contains("Another locale override is already in effect")
}
