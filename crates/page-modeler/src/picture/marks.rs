//! Marks on a picture: a box and a label for each candidate, and paint over what must not be seen.
//!
//! Invariant: labels lie in the picture, and where there is room, beside their boxes and off each other.

use cuebook_grammar::geometry::Rect;
use cuebook_grammar::id::CandidateId;

use cuebook_probe::picture::{Area, Canvas, Ink, PAINT};

/// The most boxes with labels.
pub(super) const MARKS: usize = 150;

/// Colours of boxes and labels, in turns: dark, so that light letters can be read on each of them.
const INKS: [Ink; 5] = [[176, 0, 32], [0, 72, 176], [0, 104, 40], [120, 0, 144], [136, 64, 0]];
const LETTERS: Ink = [255; 3];
/// Pixels of a rim.
const RIM: i64 = 2;
/// Pixels of a dot of a letter.
const DOT: i64 = 2;
/// Dots of a letter and of the gap after it.
const ADVANCE: i64 = 4;
/// Dots of a label from top to bottom.
const TALL: i64 = 7;

/// A candidate in view.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) id: CandidateId,
    /// Its box in CSS pixels.
    pub(super) rect: Rect,
}

/// Marks and paint that are drawn onto a picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) marks: Vec<Mark>,
    /// Boxes that are painted over.
    pub(super) hidden: Vec<Rect>,
}

impl Marks {
    /// Draws them, at `scale` pixels a CSS pixel: paint first, labels last.
    pub(super) fn draw(&self, canvas: &mut Canvas, scale: (f64, f64)) {
        for area in self.hidden.iter().filter_map(|rect| Area::of(rect, scale)) {
            canvas.fill(area, PAINT);
        }
        let whole = canvas.area();
        let boxes: Vec<(String, Area, Ink)> = self
            .marks
            .iter()
            .filter_map(|mark| Some((mark, Area::of(&mark.rect, scale)?)))
            .filter(|(_, area)| area.meets(&whole))
            .take(MARKS)
            .zip(INKS.into_iter().cycle())
            .map(|((mark, area), ink)| (mark.id.to_string(), area, ink))
            .collect();
        for (_, area, ink) in &boxes {
            canvas.outline(*area, RIM, *ink);
        }
        let mut taken: Vec<Area> = Vec::new();
        for (text, area, ink) in &boxes {
            let place = place(text, area, &whole, &taken);
            canvas.fill(place, *ink);
            write(canvas, text, &place);
            taken.push(place);
        }
    }
}

/// Where the label of a box goes: above, below, right, left, or within it.
fn place(text: &str, of: &Area, whole: &Area, taken: &[Area]) -> Area {
    let wide = (i64::try_from(text.len()).unwrap_or(0) * ADVANCE + 1) * DOT;
    let tall = TALL * DOT;
    let at = |left: i64, top: i64| Area { left, top, right: left + wide, bottom: top + tall };
    let choices = [
        at(of.left, of.top - tall),
        at(of.left, of.bottom),
        at(of.right, of.top),
        at(of.left - wide, of.top),
        at(of.left, of.top),
        at(of.right - wide, of.bottom - tall),
    ];
    let free = choices.into_iter().find(|area| area.is_within(whole) && !taken.iter().any(|other| other.meets(area)));
    free.unwrap_or_else(|| {
        let left = of.left.min(whole.right - wide).max(0);
        let top = of.top.min(whole.bottom - tall).max(0);
        at(left, top)
    })
}

fn write(canvas: &mut Canvas, text: &str, label: &Area) {
    for (letter, column) in text.chars().zip(0_i64..) {
        for (line, row) in glyph(letter).into_iter().zip(0_i64..) {
            for dot in (0..3).filter(|dot| line & (0b100 >> dot) != 0) {
                let left = label.left + (1 + column * ADVANCE + dot) * DOT;
                let top = label.top + (1 + row) * DOT;
                canvas.fill(Area { left, top, right: left + DOT, bottom: top + DOT }, LETTERS);
            }
        }
    }
}

/// Five lines of three dots.
const fn glyph(letter: char) -> [u8; 5] {
    match letter {
        'c' => [0b000, 0b011, 0b100, 0b100, 0b011],
        '0' => [0b111, 0b101, 0b101, 0b101, 0b111],
        '1' => [0b010, 0b110, 0b010, 0b010, 0b111],
        '2' => [0b111, 0b001, 0b111, 0b100, 0b111],
        '3' => [0b111, 0b001, 0b011, 0b001, 0b111],
        '4' => [0b101, 0b101, 0b111, 0b001, 0b001],
        '5' => [0b111, 0b100, 0b111, 0b001, 0b111],
        '6' => [0b111, 0b100, 0b111, 0b101, 0b111],
        '7' => [0b111, 0b001, 0b001, 0b010, 0b010],
        '8' => [0b111, 0b101, 0b111, 0b101, 0b111],
        '9' => [0b111, 0b101, 0b111, 0b001, 0b111],
        _ => [0; 5],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE: Ink = [250; 3];

    fn mark(id: u32, x: f64, y: f64, width: f64, height: f64) -> Mark {
        Mark { id: CandidateId(id), rect: Rect { x, y, width, height } }
    }

    fn drawn(marks: Vec<Mark>, hidden: Vec<Rect>) -> Canvas {
        let mut canvas = Canvas::plain(120, 60, WHITE);
        Marks { marks, hidden }.draw(&mut canvas, (1.0, 1.0));
        canvas
    }

    /// Every other pixel of a piece of a picture, a character each.
    fn look(canvas: &Canvas, left: usize, top: usize, dots: (usize, usize)) -> Vec<String> {
        let sign = |ink: Ink| match ink {
            WHITE => '.',
            LETTERS => 'o',
            PAINT => '%',
            _ => '#',
        };
        (0..dots.1).map(|y| (0..dots.0).map(|x| sign(canvas.at(left + 2 * x, top + 2 * y))).collect()).collect()
    }

    #[test]
    fn a_mark_is_a_rim_with_its_id_above_it() {
        let canvas = drawn(vec![mark(7, 20.0, 30.0, 24.0, 12.0)], vec![]);
        let expected = [
            "..............",
            ".#########....",
            ".#####ooo#....",
            ".##oo###o#....",
            ".#o#####o#....",
            ".#o####o##....",
            ".##oo##o##....",
            ".#########....",
            ".############.",
            ".#..........#.",
            ".#..........#.",
            ".#..........#.",
            ".#..........#.",
            ".############.",
            "..............",
        ];
        assert_eq!(look(&canvas, 18, 14, (14, 15)), expected);
    }

    #[test]
    fn letters_of_ids_all_differ() {
        let letters: std::collections::HashSet<_> = "c0123456789".chars().map(glyph).collect();
        assert_eq!(letters.len(), 11);
        assert!(!letters.contains(&[0; 5]));
    }

    #[test]
    fn labels_stay_in_the_picture_and_off_each_other() {
        let whole = Area { left: 0, top: 0, right: 120, bottom: 60 };
        let mut taken: Vec<Area> = Vec::new();
        // Two boxes in one place, and one in each corner.
        for (x, y) in [(40, 20), (40, 20), (0, 0), (100, 0), (0, 50), (100, 50)] {
            let label = place("c12", &Area { left: x, top: y, right: x + 20, bottom: y + 10 }, &whole, &taken);
            assert!(label.is_within(&whole), "{label:?}");
            assert!(!taken.iter().any(|other| other.meets(&label)), "{label:?} in {taken:?}");
            taken.push(label);
        }
        // Without room beside it, the label of a box goes within.
        let label = place("c12", &whole, &whole, &[]);
        assert_eq!((label.left, label.top), (0, 0));
    }

    #[test]
    fn what_must_not_be_seen_is_painted_over_to_its_last_pixel() {
        let field = Rect { x: 30.4, y: 30.6, width: 20.2, height: 9.0 };
        let canvas = drawn(vec![], vec![field]);
        for (x, y) in [(30, 30), (50, 39), (40, 35)] {
            assert_eq!(canvas.at(x, y), PAINT, "{x},{y}");
        }
        assert_eq!([canvas.at(29, 35), canvas.at(51, 35), canvas.at(40, 29), canvas.at(40, 40)], [WHITE; 4]);
        // Its mark stands on the paint.
        let canvas = drawn(vec![Mark { id: CandidateId(1), rect: field }], vec![field]);
        assert_eq!(canvas.at(40, 35), PAINT);
        assert_ne!(canvas.at(30, 35), PAINT);
    }

    #[test]
    fn boxes_in_no_place_leave_no_mark() {
        let nothing = drawn(vec![], vec![]);
        for (x, y, width, height) in [
            (10.0, 10.0, 0.0, 0.0),
            (f64::NAN, 10.0, 5.0, 5.0),
            (10.0, 10.0, f64::INFINITY, 5.0),
            (500.0, 10.0, 5.0, 5.0),
            (-1e300, -1e300, 5.0, 5.0),
        ] {
            assert!(drawn(vec![mark(1, x, y, width, height)], vec![]) == nothing, "{x} {y} {width} {height}");
        }
        // One that reaches beyond on all sides has no rim in the picture, but its label.
        let canvas = drawn(vec![mark(1, -1e300, -1e300, 2e300, 2e300)], vec![]);
        assert!(canvas != nothing);
        assert_eq!(canvas.at(119, 59), WHITE);
    }

    #[test]
    fn marks_have_an_end() {
        let many = |count: u32| drawn((0..count).map(|id| mark(100 + id, 10.0, 10.0, 30.0, 10.0)).collect(), vec![]);
        assert!(many(150) == many(400));
        assert!(many(149) != many(150));
    }

    #[test]
    fn boxes_of_a_picture_that_was_made_smaller_are_made_smaller() {
        let mut canvas = Canvas::plain(120, 60, WHITE);
        let marks = Marks { marks: vec![mark(1, 40.0, 80.0, 100.0, 30.0)], hidden: vec![] };
        marks.draw(&mut canvas, (0.5, 0.5));
        assert_ne!([canvas.at(20, 45), canvas.at(69, 45), canvas.at(50, 54)], [WHITE; 3]);
        assert_eq!([canvas.at(19, 45), canvas.at(70, 45), canvas.at(50, 55)], [WHITE; 3]);
    }
}
