//! Pages whose markup is the same for everybody; each is one file in `pages`.

use axum::Router;
use axum::routing::{MethodRouter, get};
use maud::{Markup, PreEscaped, html};

use crate::app::App;
use crate::layout;
use crate::visitor::Visitor;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/dialogs", fixed("Dialogs", include_str!("../pages/dialogs.html")))
        .route("/newsletter", fixed("Newsletter", include_str!("../pages/newsletter.html")))
        .route("/menus", fixed("Menus", include_str!("../pages/menus.html")))
        .route("/tabs", fixed("Tabs", include_str!("../pages/tabs.html")))
        .route("/shadow", fixed("Shadow", include_str!("../pages/shadow.html")))
        .route("/toast", fixed("Toast", include_str!("../pages/toast.html")))
        .route("/covered", fixed("Covered", include_str!("../pages/covered.html")))
        .route("/widgets", fixed("Widgets", include_str!("../pages/widgets.html")))
        .route("/virtual", fixed("Seats", include_str!("../pages/virtual.html")))
        .route("/almanac", fixed("Almanac", include_str!("../pages/almanac.html")))
        .route("/hostile", get(hostile))
}

fn fixed(title: &'static str, body: &'static str) -> MethodRouter<App> {
    get(move |visitor: Visitor| async move { layout::page(&visitor, title, &PreEscaped(body.to_owned())) })
}

/// Its script has to run before any other of the page.
async fn hostile(visitor: Visitor) -> axum::response::Response {
    let head: Markup = html! { script { (PreEscaped(include_str!("../pages/hostile.js"))) } };
    let body = PreEscaped(include_str!("../pages/hostile.html").to_owned());
    layout::page_with_head(&visitor, "Hostile", &head, &body)
}
