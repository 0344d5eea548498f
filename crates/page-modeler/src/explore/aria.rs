//! The accessible structure of a page, or of one part of it, as YAML: `- button "Save" [disabled]`.
//!
//! The form is that of [`cuebook_probe::AriaTree`].

use std::time::Instant;

use cuebook_grammar::id::PageId;
use cuebook_grammar::locator::Locator;
use cuebook_probe::{ARIA, AriaLimits, AriaTree, Ask, ProbeError};
use serde_json::json;

use crate::error::ModelError;
use crate::modeler::LivePageModeler;

/// A part of a page as YAML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AriaSnapshot {
    /// The YAML, without a line break at its end; empty where there is nothing to show.
    pub yaml: String,
    /// Elements and texts that the bounds omitted.
    pub skipped: u64,
}

/// Why there is no snapshot of a part of a page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AriaError {
    /// The locator means no element, or several.
    #[error("{matches} elements match, not one")]
    NotOne {
        /// How many it means.
        matches: usize,
    },
    /// The page modeler could not read the page.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl From<ProbeError> for AriaError {
    fn from(error: ProbeError) -> Self {
        Self::Model(error.into())
    }
}

const LIMITS: AriaLimits = AriaLimits { elements: 100_000, depth: 2_000, characters: 2_000_000 };

impl LivePageModeler {
    /// The accessible structure of the whole main frame, or of the one element that `within` means, in any
    /// frame. One or two round trips.
    ///
    /// ```no_run
    /// # use cuebook_grammar::id::PageId;
    /// # use cuebook_grammar::locator::Locator;
    /// # use cuebook_grammar::role::Role;
    /// # use cuebook_page_modeler::{AriaError, LivePageModeler};
    /// # async fn example(
    /// #     modeler: &mut LivePageModeler,
    /// #     tab: &PageId,
    /// #     until: std::time::Instant,
    /// # ) -> Result<String, AriaError> {
    /// let dialog = Locator::role(Role::Dialog, "Newsletter");
    /// Ok(modeler.aria_snapshot(tab, Some(&dialog), until).await?.yaml)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`AriaError::NotOne`] if `within` is not unique; otherwise as observing.
    pub async fn aria_snapshot(
        &mut self,
        page: &PageId,
        within: Option<&Locator>,
        until: Instant,
    ) -> Result<AriaSnapshot, AriaError> {
        let probe = self.probe(page, until).await?;
        probe.extend(ARIA, until).await?;
        let (world, node) = match within {
            None => (probe.world(&probe.page().main_frame().id, until).await?, 0),
            Some(locator) => {
                let located = probe.locate(locator, &Ask::default(), until).await?;
                let found = located.unique().ok_or(AriaError::NotOne { matches: located.matches.len() })?;
                (probe.world_of(&found.key, until).await?, found.key.node)
            }
        };
        let text: String = world
            .call("(cb, id, limits) => cb.aria.snapshot(id, limits)", &[node.into(), json!(LIMITS)], until)
            .await?;
        let tree: AriaTree = serde_json::from_str(&text).map_err(ProbeError::from)?;
        Ok(AriaSnapshot { yaml: tree.to_yaml(), skipped: tree.skipped })
    }
}
