//! The answer of the walk's script, and its application to the walk before.
//!
//! Invariant: a difference is applied only to the walk whose stamp it names, and only where it fits; what
//! does not fit is an error of the script, never a panic.

use std::sync::Arc;

use cuebook_grammar::candidate::Occlusion;
use cuebook_grammar::geometry::Rect;
use cuebook_probe::ProbeError;
use serde::Deserialize;
use serde::de::Error as _;

use crate::model::rows::{FrameWalk, Row, RowPlace};

/// The answer as the script writes it (`walk/answer.js`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WalkReply {
    /// Nothing changed since the walk that was asked about: all else is empty.
    same: bool,
    /// All but the rows.
    page: FrameWalk,
    /// The walk that this one differs from.
    base: Option<u64>,
    /// Rows at the beginning that are the same as there.
    from: usize,
    /// Rows at the end that are the same as there.
    tail: usize,
    /// The rows between; without a base, all.
    rows: Vec<Row>,
    /// Rows that stayed where they were and read differently.
    changed: Vec<(usize, Row)>,
    /// Without a base: `x, y, width, height, in view` of each row.
    places: Vec<f64>,
    /// With one: `index, x, y, width, height, in view` of those that are new or moved.
    moved: Vec<f64>,
    /// Which row is covered, how much of it, by what.
    covers: Vec<(usize, f64, String)>,
    /// Rows that were read again since the base, by number: their names may have changed.
    renamed: Vec<u64>,
}

/// The rows whose names the browser has to be asked for again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Renamed {
    /// Unknown: all of them.
    All,
    /// Only the rows with these numbers.
    Rows(Vec<u64>),
}

impl Renamed {
    pub(super) fn and(self, later: Self) -> Self {
        match (self, later) {
            (Self::Rows(mut rows), Self::Rows(more)) => {
                rows.extend(more);
                Self::Rows(rows)
            }
            _ => Self::All,
        }
    }
}

/// The walk that `text` describes, given the one that the question named.
///
/// # Errors
/// [`ProbeError::Malformed`] if it does not read, or does not fit.
pub(super) fn read(text: &str, last: Option<&FrameWalk>) -> Result<(FrameWalk, Renamed), ProbeError> {
    let answer: WalkReply = serde_json::from_str(text)?;
    let unfit = || ProbeError::from(serde_json::Error::custom("a difference that does not fit its base"));
    if answer.same {
        return Ok((last.ok_or_else(unfit)?.clone(), Renamed::Rows(Vec::new())));
    }
    let mut walk = answer.page;
    let renamed = match answer.base {
        None => {
            walk.rows = answer.rows.into_iter().map(Arc::new).collect();
            walk.places = answer.places.chunks_exact(5).filter_map(place).collect();
            Renamed::All
        }
        Some(base) => {
            let last = last.filter(|last| last.stamp == base).ok_or_else(unfit)?;
            let head = last.rows.get(..answer.from).ok_or_else(unfit)?;
            let start =
                last.rows.len().checked_sub(answer.tail).filter(|start| *start >= answer.from).ok_or_else(unfit)?;
            let (rows_after, places_after) = (last.rows.get(start..), last.places.get(start..));
            let between = answer.rows.len();
            walk.rows = head.to_vec();
            walk.rows.extend(answer.rows.into_iter().map(Arc::new));
            walk.rows.extend_from_slice(rows_after.ok_or_else(unfit)?);
            for (index, row) in answer.changed {
                *walk.rows.get_mut(index).ok_or_else(unfit)? = Arc::new(row);
            }
            walk.places = last.places.get(..answer.from).ok_or_else(unfit)?.to_vec();
            walk.places.extend(std::iter::repeat_n(RowPlace::default(), between));
            walk.places.extend_from_slice(places_after.ok_or_else(unfit)?);
            for place in &mut walk.places {
                place.cover = None;
            }
            for moved in answer.moved.chunks_exact(6) {
                let [index, rest @ ..] = moved else { continue };
                let slot = index_of(*index).and_then(|index| walk.places.get_mut(index)).ok_or_else(unfit)?;
                *slot = place(rest).ok_or_else(unfit)?;
            }
            Renamed::Rows(answer.renamed)
        }
    };
    for (index, ratio, by) in answer.covers {
        walk.places.get_mut(index).ok_or_else(unfit)?.cover = Some(Occlusion { ratio, by });
    }
    if walk.places.len() != walk.rows.len() {
        return Err(unfit());
    }
    let is_renamed = renamed != Renamed::Rows(Vec::new());
    let former = last.filter(|last| walk.stamp != 0 && !is_renamed && has_same_rows(last, &walk));
    walk.rows_of = former.map_or(walk.stamp, |former| former.rows_of);
    Ok((walk, renamed))
}

fn has_same_rows(last: &FrameWalk, walk: &FrameWalk) -> bool {
    let are_same = |(a, b): (&Arc<Row>, &Arc<Row>)| Arc::ptr_eq(a, b);
    last.places == walk.places && last.rows.len() == walk.rows.len() && last.rows.iter().zip(&walk.rows).all(are_same)
}

fn place(numbers: &[f64]) -> Option<RowPlace> {
    let [x, y, width, height, in_view] = *numbers else { return None };
    Some(RowPlace { rect: Rect { x, y, width, height }, in_view: in_view > 0.0, cover: None })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn index_of(number: f64) -> Option<usize> {
    (0.0..1e9).contains(&number).then_some(number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = r#"{"page":{"stamp":7},"rows":[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c"}],
        "places":[0,0,10,10,1, 0,10,10,10,1, 0,20,10,10,0],"covers":[[0,1,"div#o"]]}"#;

    fn names(walk: &FrameWalk) -> Vec<&str> {
        walk.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn a_difference_is_put_on_the_walk_that_it_names() {
        let (first, renamed) = read(FIRST, None).unwrap();
        assert_eq!((names(&first), renamed), (vec!["a", "b", "c"], Renamed::All));
        assert!(first.places[0].cover.is_some());
        let text = r#"{"page":{"stamp":8},"base":7,"from":1,"tail":1,"rows":[{"id":4,"name":"x"},{"id":5,"name":"y"}],
            "changed":[[0,{"id":1,"name":"A"}]],"moved":[1,0,10,5,5,1, 2,0,15,5,5,1],"renamed":[1,4,5]}"#;
        let (walk, renamed) = read(text, Some(&first)).unwrap();
        assert_eq!(names(&walk), ["A", "x", "y", "c"]);
        assert_eq!(walk.places.iter().map(|place| place.rect.y).collect::<Vec<_>>(), [0.0, 10.0, 15.0, 20.0]);
        assert!(walk.places[0].cover.is_none());
        assert_eq!(renamed, Renamed::Rows(vec![1, 4, 5]));
    }

    #[test]
    fn rows_that_stay_are_those_of_the_walk_that_found_them_first() {
        let (first, _) = read(FIRST, None).unwrap();
        let after = |walk: &FrameWalk, text: &str| read(text, Some(walk)).unwrap().0;
        let covers = r#""covers":[[0,1,"div#o"]]"#;
        let second = after(&first, &format!(r#"{{"page":{{"stamp":8}},"base":7,"from":3,{covers}}}"#));
        let third = after(&second, &format!(r#"{{"page":{{"stamp":9}},"base":8,"from":3,{covers}}}"#));
        assert_eq!((second.rows_of, third.rows_of), (7, 7));
        for other in [
            r#""changed":[[0,{"id":1}]],"covers":[[0,1,"div#o"]]"#,
            r#""moved":[1,0,0,0,0,0],"covers":[[0,1,"div#o"]]"#,
            r#""renamed":[2],"covers":[[0,1,"div#o"]]"#,
            r#""covers":[]"#,
        ] {
            let text = format!(r#"{{"page":{{"stamp":8}},"base":7,"from":3,{other}}}"#);
            assert_eq!(after(&first, &text).rows_of, 8, "{other}");
        }
    }

    #[test]
    fn a_difference_that_does_not_fit_is_an_error() {
        let (first, _) = read(FIRST, None).unwrap();
        for text in [
            r#"{"page":{},"base":6,"from":1,"tail":1}"#,
            r#"{"page":{},"base":7,"from":3,"tail":1}"#,
            r#"{"page":{},"base":7,"from":9,"tail":0}"#,
            r#"{"page":{},"base":7,"from":3,"tail":0,"changed":[[3,{"id":1}]]}"#,
            r#"{"page":{},"base":7,"from":3,"tail":0,"moved":[-1,0,0,0,0,0]}"#,
            r#"{"page":{},"base":7,"from":3,"tail":0,"covers":[[9,1,""]]}"#,
            r#"{"page":{},"rows":[{"id":1}]}"#,
        ] {
            assert!(read(text, Some(&first)).is_err(), "{text}");
        }
        assert!(read(r#"{"same":true}"#, None).is_err());
        assert_eq!(read(r#"{"same":true}"#, Some(&first)).unwrap().0.stamp, 7);
    }
}
