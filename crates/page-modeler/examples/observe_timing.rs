//! Prints how long observations of a page with a thousand interactive elements take: the first one, one
//! of the same page, and one after a small change. `cargo run --example observe_timing [CHROME]`

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example that is read by a person")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, ChromeBinary, LaunchOptions, PlaceKind};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::seam::PageModeler as _;
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};

#[tokio::main]
async fn main() {
    let path = std::env::args().nth(1).map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from);
    let profiles = tempfile::tempdir().unwrap();
    let options = LaunchOptions::new(ChromeBinary { path, found_by: PlaceKind::Explicit }, profiles.path());
    let until = Instant::now() + Duration::from_secs(120);
    let browser = Arc::new(Browser::launch(&options, until).await.unwrap());
    let page = browser.new_page("about:blank", until).await.unwrap();
    let fill = "document.body.innerHTML = '<table>' + Array.from({ length: 250 }, (_, i) => `<tr><td>user${i}@example.com</td><td>${i}</td><td><button>Edit</button> <a href=#${i}>Open</a> <input aria-label=q${i}> <div style='cursor:pointer'>Go</div></td></tr>`).join('') + '</table>'; 0";
    let run = |expression: &'static str| page.session().request(EvaluateParams::new(expression), until);
    run(fill).await.unwrap();
    let id = PageId::new(page.target_id().as_str());
    let mut modeler = LivePageModeler::new(Arc::clone(&browser), DigestKey::new([1; 32]), ModelerOptions::default());
    for scope in [Scope::View, Scope::Full] {
        for turn in ["first", "same", "same", "changed", "changed"] {
            if turn == "changed" {
                run("document.querySelector('button').toggleAttribute('disabled'); 0").await.unwrap();
            }
            let start = Instant::now();
            let seen = modeler.observe(&id, scope, Deadline::after(start, Duration::from_secs(60))).await.unwrap();
            println!("{scope:?} {turn}: {:?}, {} candidates", start.elapsed(), seen.candidates.len());
        }
    }
}
