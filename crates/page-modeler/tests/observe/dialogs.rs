//! Observations of pages that a JavaScript dialog blocks.

use std::time::Duration;

use cuebook_grammar::observation::Scope;

use crate::stage::{Stage, named, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_dialog_that_blocks_the_page_is_observed() {
    let mut stage = Stage::on("<button>Go</button>").await;
    let before = stage.observe(Scope::View).await;
    stage.page_script("setTimeout(() => confirm('Really?'), 0); 0").await;
    let shown = async {
        while stage.page.dialog().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), shown).await.unwrap();
    let blocked = stage.observe(Scope::View).await;
    assert_eq!(blocked.dialog.as_ref().map(|dialog| dialog.message.as_str()), Some("Really?"));
    assert_eq!(blocked.recent.len(), before.candidates.len());
    stage.page.dialog().unwrap().answer(&cuebook_cdp::DialogAnswer::Dismiss, until()).await.unwrap();
    let after = stage.observe(Scope::View).await;
    assert_eq!(named(&after, "Go").id, named(&before, "Go").id);
    assert_eq!(stage.browser.pages().len(), after.tabs.len());
}
