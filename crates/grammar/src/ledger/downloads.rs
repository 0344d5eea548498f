//! Downloads of a run, beyond the end of the step that began them.

use std::time::{Duration, Instant};

use crate::facts::{DownloadEnd, DownloadFact};

/// The most downloads of a run that are recorded.
const MOST: usize = 200;

/// One download of a run, with its progress.
#[derive(Clone, Debug)]
pub struct Download {
    /// The browser's name for it, and for its file.
    pub guid: String,
    /// Facts to record about the download.
    pub fact: DownloadFact,
    /// Bytes received so far.
    received: u64,
    /// When the last of them came, or when it began.
    came_at: Instant,
    /// It began during the present step.
    is_of_step: bool,
    /// `true` if a record has it as it is now.
    is_told: bool,
}

/// The downloads of a run that are under way, and those that no record has yet.
#[derive(Clone, Debug, Default)]
pub struct Downloads(Vec<Download>);

impl Downloads {
    /// Begins a step: drops downloads that ended and are on record; the others no longer count as of the step.
    pub fn begin(&mut self) {
        for one in &mut self.0 {
            // The record of the former step has it as it was when that ended.
            one.is_told |= one.is_of_step;
            one.is_of_step = false;
        }
        self.0.retain(|one| one.fact.end.is_none() || !one.is_told);
    }

    /// A download began, during a step or between two.
    pub fn started(&mut self, guid: String, fact: DownloadFact, is_of_step: bool, now: Instant) {
        if self.0.len() < MOST {
            self.0.push(Download { guid, fact, received: 0, came_at: now, is_of_step, is_told: false });
        }
    }

    /// Bytes came, or it ended.
    pub fn went_on(&mut self, guid: &str, end: Option<DownloadEnd>, received: u64, now: Instant) {
        let Some(one) = self.0.iter_mut().find(|one| one.guid == guid && one.fact.end.is_none()) else { return };
        if received > one.received {
            one.received = received;
            one.came_at = now;
        }
        if end.is_some() {
            one.fact.end = end;
            one.fact.bytes = (end == Some(DownloadEnd::Completed)).then_some(received);
            one.is_told = false;
        }
    }

    /// Those of the present step.
    pub fn of_step(&self) -> impl Iterator<Item = &Download> {
        self.0.iter().filter(|one| one.is_of_step)
    }

    /// All that are under way, and those that came to their end since the last step.
    pub fn all(&self) -> impl Iterator<Item = &Download> {
        self.0.iter()
    }

    /// Downloads that are complete and whose files have not been taken yet.
    pub fn complete(&mut self) -> impl Iterator<Item = &mut Download> {
        self.0.iter_mut().filter(|one| one.fact.end == Some(DownloadEnd::Completed) && one.fact.sha256.is_none())
    }

    /// Downloads of earlier steps, and of none, that ended or were first seen since a record was written.
    pub fn take_late(&mut self) -> Vec<DownloadFact> {
        let news = self.0.iter_mut().filter(|one| !one.is_of_step && !one.is_told);
        news.map(|one| {
            one.is_told = true;
            one.fact.clone()
        })
        .collect()
    }
}

impl Download {
    /// Until when more of it may be awaited, if bytes have to come within `patience`; `None` once it ended.
    #[must_use]
    pub fn awaited_until(&self, patience: Duration) -> Option<Instant> {
        self.fact.end.is_none().then(|| self.came_at + patience)
    }

    /// Such as `the download of "a.csv" is not complete (120 bytes so far)`.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("the download of {:?} is not complete ({} bytes so far)", self.fact.filename, self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(name: &str) -> DownloadFact {
        DownloadFact { filename: name.to_owned(), url: String::new(), end: None, bytes: None, sha256: None }
    }

    #[test]
    fn a_download_is_told_when_it_is_first_seen_and_when_it_ends() {
        let now = Instant::now();
        let mut downloads = Downloads::default();
        downloads.begin();
        downloads.started("1".to_owned(), fact("slow.bin"), true, now);
        assert_eq!(downloads.of_step().count(), 1);
        assert_eq!(downloads.take_late(), [], "its own step has it");
        downloads.started("2".to_owned(), fact("late.bin"), false, now);
        downloads.begin();
        let late: Vec<_> = downloads.take_late().into_iter().map(|fact| (fact.filename, fact.end)).collect();
        assert_eq!(late, [("late.bin".to_owned(), None)]);
        downloads.went_on("1", Some(DownloadEnd::Completed), 7, now);
        downloads.went_on("1", Some(DownloadEnd::Canceled), 0, now);
        let late = downloads.take_late();
        assert_eq!((late[0].end, late[0].bytes), (Some(DownloadEnd::Completed), Some(7)));
        assert_eq!(downloads.take_late(), []);
        downloads.begin();
        assert_eq!(downloads.all().map(|one| one.guid.as_str()).collect::<Vec<_>>(), ["2"]);
    }

    #[test]
    fn bytes_that_keep_coming_are_waited_for() {
        let (now, patience) = (Instant::now(), Duration::from_secs(1));
        let mut downloads = Downloads::default();
        downloads.started("1".to_owned(), fact("slow.bin"), true, now);
        downloads.went_on("1", None, 5, now + patience);
        downloads.went_on("1", None, 5, now + patience * 2);
        let until = |downloads: &Downloads| downloads.of_step().next().unwrap().awaited_until(patience);
        assert_eq!(until(&downloads), Some(now + patience * 2));
        downloads.went_on("1", Some(DownloadEnd::Canceled), 5, now);
        assert_eq!(until(&downloads), None);
    }
}
