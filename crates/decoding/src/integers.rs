//! Integers between two bounds, as digits: for dialects that know no numbers.
//!
//! Invariant: the alternatives match exactly the integers of the range, without leading zeros.

/// A place in a number: digits from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) from: u8,
    pub(super) to: u8,
}

/// One alternative: a sign, then digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) negative: bool,
    pub(super) places: Vec<Digits>,
}

/// The alternatives that together match the integers from `min` to `max`.
pub(super) fn shapes(min: i64, max: i64) -> Vec<Shape> {
    let mut shapes = Vec::new();
    if min < 0 {
        let to = max.min(-1);
        positive(to.unsigned_abs(), min.unsigned_abs(), true, &mut shapes);
    }
    if max >= 0 {
        positive(min.max(0).unsigned_abs(), max.unsigned_abs(), false, &mut shapes);
    }
    shapes
}

/// Splits a range into ranges whose numbers are as long as one another, and these by common fronts.
fn positive(min: u64, max: u64, negative: bool, shapes: &mut Vec<Shape>) {
    let mut low = min;
    while low <= max {
        let length = low.to_string().len();
        let longest = 10_u64.checked_pow(u32::try_from(length).unwrap_or(u32::MAX)).map_or(u64::MAX, |next| next - 1);
        let high = max.min(longest);
        same_length(&digits(low), &digits(high), &mut Vec::new(), negative, shapes);
        match high.checked_add(1) {
            Some(next) => low = next,
            None => return,
        }
    }
}

fn digits(number: u64) -> Vec<u8> {
    number.to_string().bytes().map(|byte| byte - b'0').collect()
}

fn same_length(low: &[u8], high: &[u8], front: &mut Vec<Digits>, negative: bool, shapes: &mut Vec<Shape>) {
    let (Some((&first_low, rest_low)), Some((&first_high, rest_high))) = (low.split_first(), high.split_first()) else {
        return shapes.push(Shape { negative, places: front.clone() });
    };
    let mut with = |from: u8, to: u8, low: &[u8], high: &[u8]| {
        front.push(Digits { from, to });
        same_length(low, high, front, negative, shapes);
        front.pop();
    };
    let zeros = vec![0; rest_low.len()];
    let nines = vec![9; rest_low.len()];
    if first_low == first_high {
        return with(first_low, first_low, rest_low, rest_high);
    }
    let mut from = first_low;
    if rest_low != zeros {
        with(first_low, first_low, rest_low, &nines);
        from += 1;
    }
    let partial_end = rest_high != nines;
    let to = if partial_end { first_high - 1 } else { first_high };
    if from <= to {
        // Below a whole decade every further digit is free.
        with(from, to, &zeros, &nines);
    }
    if partial_end {
        with(first_high, first_high, &zeros, rest_high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(shapes: &[Shape], number: i64) -> bool {
        let text = number.unsigned_abs().to_string();
        shapes.iter().any(|shape| {
            shape.negative == (number < 0)
                && shape.places.len() == text.len()
                && text.bytes().zip(&shape.places).all(|(b, place)| (place.from..=place.to).contains(&(b - b'0')))
        })
    }

    #[test]
    fn shapes_match_the_range_and_nothing_beside_it() {
        for (min, max) in [(0, 0), (0, 9), (1, 3), (0, 10), (7, 123), (-12, 5), (-200, -101), (95, 1_050), (0, 65_535)]
        {
            let shapes = shapes(min, max);
            for number in min - 150..=max + 150 {
                assert_eq!(matches(&shapes, number), (min..=max).contains(&number), "{number} in {min}..={max}");
            }
        }
    }
}
