//! Groups of runs: by day, site or task.

use cuebook_grammar::record::RunHeader;
use cuebook_grammar::render::cut;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::run_dir::utc;

/// Name of a group without one: the log states none.
pub(super) const NONE: &str = "(none)";

/// A member of the log's header by which runs are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// The day in UTC on which the run started.
    Day,
    /// The origin of the URL that it started on.
    Site,
    /// Its task in words, its test case, or the file of its plan.
    Task,
}

impl By {
    /// All of them, by length.
    pub const ALL: [Self; 3] = [Self::Day, Self::Site, Self::Task];

    /// The name in flags, documents and labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Site => "site",
            Self::Task => "task",
        }
    }

    /// The group of a run, at most 200 characters; `(none)` if its header does not say.
    #[must_use]
    pub fn group(self, header: &RunHeader) -> String {
        let name = match self {
            Self::Day => Some(utc(header.ts_ms).chars().take(10).collect()),
            Self::Site => header.url.as_deref().and_then(|url| Url::parse(url).ok()).map(|url| {
                let origin = url.origin();
                if origin.is_tuple() { origin.ascii_serialization() } else { format!("{}:", url.scheme()) }
            }),
            Self::Task => {
                let case = || header.case.as_ref().map(|case| &case.name);
                header.task.as_ref().or_else(case).or(header.plan.as_ref()).cloned()
            }
        };
        name.filter(|name| !name.is_empty()).map_or_else(|| NONE.to_owned(), |name| cut(&name, 200))
    }
}
