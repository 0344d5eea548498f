//! Observes a page and a change of it, with the crates for the language, the wire and the page modeler alone.
//!
//! `cargo run -p cuebook-page-modeler --example observe -- [URL]`; without a URL, on a small page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, LaunchOptions, SearchPlaces, WaitUntil, find_chrome};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::render::{self, TextOptions};
use cuebook_grammar::seam::PageModeler as _;
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};

/// Two buttons with the same name, distinguished by their rows.
const PAGE: &str = "data:text/html,<title>People</title><h1>People</h1>\
    <label>Search <input type=search></label><table>\
    <tr><td>Anna<td><button>Edit</button><tr><td>Bert<td><button>Edit</button></table>";

/// A change for any page: an element at its end, and its first button disabled.
const CHANGE: &str = "document.body.insertAdjacentHTML('beforeend', '<button>Something new</button>');\
    document.querySelector('button').disabled = true";

#[tokio::main]
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "an example is its own composition root")]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| PAGE.to_owned());
    let places = SearchPlaces {
        path: std::env::var_os("PATH"),
        chrome_variable: std::env::var_os("CHROME"),
        ..SearchPlaces::default()
    };
    for text in observe_twice(&url, &places).await? {
        println!("{text}");
    }
    Ok(())
}

/// The page as text, and the difference after the change as text.
async fn observe_twice(url: &str, places: &SearchPlaces) -> anyhow::Result<[String; 2]> {
    // Every wait needs a deadline. This example has half a minute.
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
    let profiles = tempfile::tempdir()?;
    let options = LaunchOptions::new(find_chrome(places)?, profiles.path());
    let browser = Arc::new(Browser::launch(&options, deadline.instant()).await?);
    let tab = browser.new_page("about:blank", deadline.instant()).await?;
    tab.goto(url, WaitUntil::Load, deadline.instant()).await?;

    // The key for digests of password fields. Use a random key if digests are kept.
    let mut modeler = LivePageModeler::new(browser.clone(), DigestKey::new([7; 32]), ModelerOptions::default());
    let page = PageId::new(tab.target_id().as_str());

    let first = modeler.observe(&page, Scope::Full, deadline).await?;
    let whole = render::text(&first, &TextOptions::default());

    tab.session().request(EvaluateParams::new(CHANGE), deadline.instant()).await?;

    // Only the changes are read; remaining candidates keep their ids.
    let second = modeler.observe(&page, Scope::Full, deadline).await?;
    let delta = render::delta(&second, &TextOptions::default()).context("expected an observation before")?;

    browser.close(deadline.instant()).await?;
    Ok([whole, delta])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
    async fn twins_are_distinguished_and_the_change_is_reported() {
        let places = SearchPlaces {
            path: std::env::var_os("PATH"),
            chrome_variable: std::env::var_os("CHROME"),
            ..SearchPlaces::default()
        };
        let [whole, delta] = observe_twice(PAGE, &places).await.unwrap();
        assert!(whole.contains("- button \"Edit\" [c2] (row: Anna)"), "{whole}");
        assert!(delta.contains("1 came, 0 went, 1 changed"), "{delta}");
        assert!(delta.contains("+ button \"Something new\" [c4]"), "{delta}");
    }
}
