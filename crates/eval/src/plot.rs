//! Results as a picture: the share of solved episodes with its interval, of each suite and of each task that is not always
//! solved. SVG 1.1, in light and dark.

use maud::{Markup, html};

use crate::summary::{Summary, Totals};

/// Height of a row, and of the axis, in user units.
const ROW: usize = 22;
/// Where the scale begins, and how wide it is.
const SCALE: (f64, f64) = (330.0, 440.0);
const WIDTH: usize = 900;
/// Tasks that are shown: the least solved ones.
const TASKS: usize = 60;
pub(crate) const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}.range{stroke:#4a7fb5;stroke-width:6;\
    stroke-linecap:round;opacity:.45}.rate{fill:#1d4f80}.wrong{fill:#b3261e}.end{text-anchor:end}\
    @media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#ddd}.grid{stroke:#333}.range{stroke:#7fb0e0}\
    .rate{fill:#a9d0f5}.wrong{fill:#ff8a80}}";

impl Summary {
    /// Draws the rates as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let mut tasks: Vec<_> = self.tasks.iter().filter(|task| task.totals.succeeded < task.totals.episodes).collect();
        tasks.sort_by(|one, other| one.totals.rate.total_cmp(&other.totals.rate));
        let suites = self.suites.iter().map(|(name, totals)| (name.clone(), totals));
        let tasks = tasks.iter().take(TASKS).map(|task| (format!("{}/{}", task.suite, task.task), &task.totals));
        let rows: Vec<(String, &Totals)> = suites.chain(tasks).collect();
        let height = (rows.len() + 2) * ROW;
        let title = format!("{} of {} episodes solved", self.totals.succeeded, self.totals.episodes);
        let picture = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(title) {
                title { (title) }
                style { (maud::PreEscaped(STYLE)) }
                @for percent in [0_u8, 25, 50, 75, 100] {
                    @let x = place(f64::from(percent) / 100.0);
                    line.grid x1=(x) x2=(x) y1="0" y2=(height - ROW) {}
                    text x=(x) y=(height - 6) text-anchor="middle" { (percent) " %" }
                }
                @for (index, (name, totals)) in rows.iter().enumerate() { (row(index, name, totals)) }
            }
        };
        picture.into_string()
    }
}

fn row(index: usize, name: &str, totals: &Totals) -> Markup {
    let y = index * ROW + ROW / 2 + 4;
    let (low, high, rate) = (place(totals.interval.low), place(totals.interval.high), place(totals.rate));
    let shown: String = name.chars().take(44).collect();
    html! {
        text.end x=(SCALE.0 - 12.0) y=(y + 4) { (shown) }
        line.range x1=(low) x2=(high) y1=(y) y2=(y) {}
        circle.rate cx=(rate) cy=(y) r="4.5" {}
        text x=(SCALE.0 + SCALE.1 + 14.0) y=(y + 4) { (totals.succeeded) "/" (totals.episodes) }
        @if totals.silent_wrong > 0 {
            text.wrong x=(SCALE.0 + SCALE.1 + 74.0) y=(y + 4) { (totals.silent_wrong) " wrong" }
        }
    }
}

fn place(share: f64) -> f64 {
    ((SCALE.0 + share * SCALE.1) * 10.0).round() / 10.0
}
