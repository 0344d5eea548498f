//! Observations as artifacts: whole, or as the difference to the one before.
//!
//! A difference states the page without its candidates, those that are new or changed, and the order of all where that
//! changed. After some differences one is whole again, so that reading one observation costs little.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::id::{CandidateId, ObservationId};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::ObservationRecord;
use cuebook_grammar::shared::Shared;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactStore;
use crate::error::DataError;

/// Differences in a row.
const CHAIN: usize = 16;

/// Stored form of an observation that is stated as the difference to another one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    page: Observation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Vec<CandidateId>>,
    candidates: Vec<Candidate>,
}

impl Difference {
    fn between(base: &Observation, now: &Observation) -> Self {
        if base.candidates.is_same(&now.candidates) {
            let page = Observation { candidates: Shared::new(), ..now.clone() };
            return Self { page, order: None, candidates: Vec::new() };
        }
        let known: BTreeMap<CandidateId, &Candidate> = base.candidates.iter().map(|one| (one.id, one)).collect();
        let ids = |page: &Observation| page.candidates.iter().map(|one| one.id).collect::<Vec<_>>();
        let order = ids(now);
        Self {
            page: Observation { candidates: Shared::new(), ..now.clone() },
            order: (order != ids(base)).then_some(order),
            candidates: now.candidates.iter().filter(|one| known.get(&one.id) != Some(one)).cloned().collect(),
        }
    }

    /// `None` if it names a candidate that neither has.
    fn applied(self, base: Observation) -> Option<Observation> {
        let order = self.order.unwrap_or_else(|| base.candidates.iter().map(|one| one.id).collect());
        let all = base.candidates.into_iter().chain(self.candidates);
        let mut known: BTreeMap<CandidateId, Candidate> = all.map(|one| (one.id, one)).collect();
        let candidates: Option<Vec<_>> = order.iter().map(|id| known.remove(id)).collect();
        Some(Observation { candidates: candidates?.into(), ..self.page })
    }
}

/// Decides how observations are stored, one after another.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    last: Option<(String, Observation)>,
    differences: usize,
}

/// The content to be stored, and what it builds on.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) base: Option<String>,
    kept: Observation,
}

impl Encoder {
    pub(crate) fn encode(&self, observation: &Observation) -> Result<Encoded, serde_json::Error> {
        // The number is in the entry, so that equal pages are equal content. Former candidates are in former entries.
        let kept = Observation { id: ObservationId::default(), recent: Shared::new(), ..observation.clone() };
        if let Some((digest, last)) = self.last.as_ref().filter(|_| self.differences < CHAIN) {
            let difference = Difference::between(last, &kept);
            if difference.candidates.len() < kept.candidates.len() / 2 {
                return Ok(Encoded { bytes: serde_json::to_vec(&difference)?, base: Some(digest.clone()), kept });
            }
        }
        Ok(Encoded { bytes: serde_json::to_vec(&kept)?, base: None, kept })
    }

    /// It was stored under this digest.
    pub(crate) fn stored(&mut self, encoded: Encoded, digest: &str) {
        self.differences = if encoded.base.is_some() { self.differences + 1 } else { 0 };
        self.last = Some((digest.to_owned(), encoded.kept));
    }
}

/// Reads observations of a run. Those in order cost one read each.
pub struct Observations<'a> {
    records: Cow<'a, [ObservationRecord]>,
    store: ArtifactStore,
    last: Option<(String, Observation)>,
}

impl<'a> Observations<'a> {
    /// The observations that `records` name, in the folder that `store` reads.
    #[must_use]
    pub const fn new(records: &'a [ObservationRecord], store: ArtifactStore) -> Self {
        Self { records: Cow::Borrowed(records), store, last: None }
    }

    /// As [`Observations::new`], for a log that is read entry by entry: [`Observations::add`] takes the records. Holds
    /// as many of them as a difference may build on.
    #[must_use]
    pub const fn following(store: ArtifactStore) -> Self {
        Self { records: Cow::Owned(Vec::new()), store, last: None }
    }

    /// Adds the next record of the log.
    pub fn add(&mut self, record: ObservationRecord) {
        let records = self.records.to_mut();
        if records.len() > 4 * CHAIN {
            records.drain(..2 * CHAIN);
        }
        records.push(record);
    }

    /// The observation with this id; `None` if the log keeps none. Blocks.
    ///
    /// # Errors
    /// [`DataError::Artifact`] and [`DataError::Io`] of its files; [`DataError::Observation`] if one is not what the log
    /// says.
    pub fn read(&mut self, id: ObservationId) -> Result<Option<Observation>, DataError> {
        let Some(at) = self.records.iter().rposition(|record| record.observation == id) else { return Ok(None) };
        let mut chain = Vec::new();
        let mut next = self.records.get(at);
        let mut page = None;
        while let Some(record) = next {
            if let Some((_, last)) = self.last.take_if(|(digest, _)| *digest == record.content.sha256) {
                page = Some(last);
                break;
            }
            chain.push(record);
            let Some(base) = record.base.as_ref().filter(|_| chain.len() <= CHAIN) else { break };
            next = self.records.iter().take(at).rfind(|record| record.content.sha256 == *base);
        }
        let wrong = || DataError::Observation { id };
        while let Some(record) = chain.pop() {
            let bytes = self.store.read(&record.content)?;
            page = match (&record.base, page) {
                (None, _) => serde_json::from_slice(&bytes).ok(),
                (Some(_), Some(base)) => {
                    serde_json::from_slice::<Difference>(&bytes).ok().and_then(|difference| difference.applied(base))
                }
                (Some(_), None) => None,
            };
            page = Some(page.ok_or_else(wrong)?);
        }
        let page = page.ok_or_else(wrong)?;
        self.last = self.records.get(at).map(|record| (record.content.sha256.clone(), page.clone()));
        Ok(Some(Observation { id, ..page }))
    }
}
