//! Pages that are not the same twice: by seed and load on the server, or while one looks at them.
//!
//! Invariant: seed and load number decide the markup; names and labels stay what they are.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{Markup, PreEscaped, html};

use crate::app::App;
use crate::fields::{FromForm, FromQuery};
use crate::layout;
use crate::random::Random;
use crate::visitor::Visitor;

const PROMOTIONS: [&str; 4] = [
    "Ink is back in stock.",
    "Free delivery this week.",
    "Try our new recycled envelopes.",
    "Orders before noon leave the same day.",
];

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/drift", get(drift).post(save))
}

async fn drift(State(app): State<App>, visitor: Visitor, FromQuery(query): FromQuery) -> Response {
    let scene = match query.get("mode") {
        "rerender" => Some(include_str!("../pages/drift_rerender.html")),
        "move" => Some(include_str!("../pages/drift_move.html")),
        "swap" => Some(include_str!("../pages/drift_swap.html")),
        _ => None,
    };
    if let Some(scene) = scene {
        return layout::page(&visitor, "Drift", &PreEscaped(scene.to_owned()));
    }
    let (seed, load) = {
        let mut world = app.world();
        (world.seed(), world.next_drift_load())
    };
    let seed = query.number("seed", seed, (0, u64::MAX));
    let load = query.number("load", load, (0, u64::MAX));
    let saved = query.has("saved");
    layout::page(&visitor, "Drift", &preferences(Random::new(seed ^ load.rotate_left(32)), saved.into()))
}

async fn save(State(app): State<App>, FromForm(form): FromForm) -> Response {
    app.world().submit("drift", form.joined());
    Redirect::to("/drift?saved=yes").into_response()
}

/// Arrival on the page, afresh or after a form was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Fresh,
    AfterSaving,
}

impl From<bool> for Arrival {
    fn from(saved: bool) -> Self {
        if saved { Self::AfterSaving } else { Self::Fresh }
    }
}

fn preferences(mut random: Random, arrival: Arrival) -> Markup {
    let mut fields = vec![
        field(&mut random, "display-name", "Display name", "text"),
        field(&mut random, "phone", "Phone", "tel"),
        field(&mut random, "company", "Company", "text"),
        frequency(&mut random),
    ];
    random.shuffle(&mut fields);
    let mut buttons = vec![
        html! { button class=(random.class_name()) type="submit" name="action" value="save" { "Save preferences" } },
        html! { button class=(random.class_name()) type="submit" name="action" value="discard" { "Discard" } },
        html! { button class=(random.class_name()) type="reset" { "Start again" } },
    ];
    random.shuffle(&mut buttons);
    let form = html! {
        form class=(random.class_name()) method="post" action="/drift" {
            @for field in fields { (field) }
            div class=(random.class_name()) { @for button in buttons { (button) " " } }
        }
    };
    html! {
        h1 { "Preferences" }
        @if arrival == Arrival::AfterSaving { p.notice role="status" { "Preferences saved." } }
        (promotion(&mut random))
        (wrapped(&mut random, form))
        (promotion(&mut random))
    }
}

fn field(random: &mut Random, name: &str, label: &str, kind: &str) -> Markup {
    let id = random.class_name();
    let content = html! {
        label for=(id) { (label) }
        input id=(id) class=(random.class_name()) name=(name) type=(kind);
    };
    wrapped(random, content)
}

fn frequency(random: &mut Random) -> Markup {
    let id = random.class_name();
    let content = html! {
        label for=(id) { "Newsletter" }
        select id=(id) class=(random.class_name()) name="newsletter" {
            option { "Never" } option { "Monthly" } option { "Weekly" }
        }
    };
    wrapped(random, content)
}

/// `content` in up to three layers of nothing.
fn wrapped(random: &mut Random, content: Markup) -> Markup {
    (0..random.below(4)).fold(content, |inner, _| html! { div class=(random.class_name()) { (inner) } })
}

/// Sometimes an advertisement with a link, sometimes nothing.
fn promotion(random: &mut Random) -> Markup {
    let text = random.pick(&PROMOTIONS).copied().unwrap_or_default();
    match random.below(2) {
        0 => html! {},
        _ => {
            html! { aside class=(random.class_name()) { p { (text) " " a href="/shop" { "Read more" } } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, preferences};
    use crate::random::Random;

    fn page(seed: u64) -> String {
        preferences(Random::new(seed), Arrival::Fresh).into_string()
    }

    #[test]
    fn markup_changes_with_the_seed_and_only_with_it() {
        assert_eq!(page(1), page(1));
        let different: std::collections::BTreeSet<_> = (0..20).map(page).collect();
        assert_eq!(different.len(), 20);
    }

    #[test]
    fn every_control_survives_every_drift() {
        for seed in 0..50 {
            let page = page(seed);
            for kept in ["Display name", "Phone", "Company", "Newsletter", "Save preferences", "Discard"] {
                assert_eq!(page.matches(&format!(">{kept}<")).count(), 1, "{kept} in seed {seed}");
            }
        }
    }
}
