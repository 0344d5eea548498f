//! Which way a tab went in its history: pure.

use serde::Deserialize;

/// A tab's history, as the browser lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct History {
    current_index: usize,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Entry {
    id: i64,
}

/// The way from one document or address to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To an earlier entry, by so many.
    Back(usize),
    /// To a later entry, by so many.
    Forward(usize),
    /// The entry is as before: reloaded, or replaced.
    Same,
    /// A new entry was added.
    New,
    /// Another address of the same document, by its script or a fragment.
    Within,
}

impl History {
    /// The way from `before` to this. `is_within` states that the document stayed.
    pub(crate) fn way_from(&self, before: &Self, is_within: bool) -> Way {
        let is_listed = self.entries == before.entries;
        match (is_listed, self.current_index.cmp(&before.current_index)) {
            (true, std::cmp::Ordering::Less) => Way::Back(before.current_index - self.current_index),
            (true, std::cmp::Ordering::Greater) => Way::Forward(self.current_index - before.current_index),
            (_, _) if is_within => Way::Within,
            (true, std::cmp::Ordering::Equal) => Way::Same,
            (false, _) => Way::New,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(current_index: usize, ids: &[i64]) -> History {
        History { current_index, entries: ids.iter().map(|id| Entry { id: *id }).collect() }
    }

    #[test]
    fn the_way_follows_from_the_list_and_the_position() {
        let before = at(1, &[1, 2, 3]);
        assert_eq!(at(0, &[1, 2, 3]).way_from(&before, false), Way::Back(1));
        assert_eq!(at(0, &[1, 2, 3]).way_from(&before, true), Way::Back(1));
        assert_eq!(at(2, &[1, 2, 3]).way_from(&before, false), Way::Forward(1));
        assert_eq!(at(1, &[1, 2, 3]).way_from(&before, false), Way::Same);
        assert_eq!(at(2, &[1, 2, 4]).way_from(&before, false), Way::New);
        assert_eq!(at(2, &[1, 2, 4]).way_from(&before, true), Way::Within);
        assert_eq!(at(1, &[1, 2, 3]).way_from(&before, true), Way::Within);
    }
}
