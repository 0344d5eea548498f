//! A run as far as it was read: what a planner would be told next.

use cuebook_decoding::brief;
use cuebook_grammar::observation::{Observation, TextLine};
use cuebook_grammar::record::RunHeader;
use cuebook_grammar::seam::HistoryEntry;
use cuebook_grammar::shared::Shared;
use cuebook_grammar::vision::VisionFeature;
use url::Url;

use crate::source::{ExportEntry, Pages};

/// A run as far as it was read.
#[derive(Default)]
pub(super) struct Story {
    header: Option<RunHeader>,
    history: Vec<HistoryEntry>,
    /// The text of the page, as far as it was read.
    texts: Texts,
}

/// Knowledge of the text of a run's page.
#[derive(Default)]
enum Texts {
    /// None was read so far: a run without a planner.
    #[default]
    Unread,
    /// As it stands on the page.
    Read(Shared<TextLine>),
    /// A step changed some of it since.
    Old,
}

impl Story {
    pub(super) fn take(&mut self, seen: &ExportEntry, pages: &Pages) {
        match seen {
            ExportEntry::Header(header) => *self = Self { header: Some((**header).clone()), ..Self::default() },
            ExportEntry::Observed(record) => {
                if let Some(page) = pages.get(record.observation).filter(|page| !page.texts.is_empty()) {
                    self.texts = Texts::Read(page.texts.clone());
                }
            }
            ExportEntry::Step(record) => {
                let changes = record.effects.as_ref().is_some_and(|effects| {
                    let made = &effects.mutations;
                    effects.changes_page() || made.texts > 0 || made.added > 0 || made.removed > 0
                });
                if changes && !matches!(self.texts, Texts::Unread) {
                    self.texts = Texts::Old;
                }
                self.history.push(HistoryEntry::of_record(record, None));
            }
            _ => {}
        }
    }

    pub(super) fn task(&self) -> &str {
        self.header.as_ref().and_then(|header| header.task.as_deref()).unwrap_or_default()
    }

    pub(super) fn site(&self) -> String {
        let url = self.header.as_ref().and_then(|header| header.url.as_deref());
        url.and_then(|url| Some(Url::parse(url).ok()?.host_str()?.to_owned())).unwrap_or_default()
    }

    /// The request that a model gets on this page, whose picture has these features. `None` if the text of the page is not known, or if there is no task to
    /// ask about.
    pub(super) fn request(&self, page: &Observation, features: &[VisionFeature]) -> Option<String> {
        let read = match &self.texts {
            _ if self.task().trim().is_empty() => return None,
            _ if !page.texts.is_empty() => None,
            Texts::Unread => None,
            Texts::Read(texts) => Some(Observation { texts: texts.clone(), ..page.clone() }),
            Texts::Old => return None,
        };
        Some(brief::request_seeing(self.task(), read.as_ref().unwrap_or(page), features, &self.history, None))
    }
}
