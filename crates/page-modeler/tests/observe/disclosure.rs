//! Tests of parts that open and close: details, popovers, dialogs, inert parts.

use crate::stage::check;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_details_folds_is_offered_once_it_is_open() {
    check(
        "<details id=d><summary>More</summary><button>Inner</button></details>",
        &["button \"More\""],
        "d.open = true",
        &["button \"More\"", "button \"Inner\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_popover_is_offered_while_it_is_shown() {
    check(
        "<button popovertarget=p>Menu</button><div id=p popover><button>Item</button></div>",
        &["button \"Menu\""],
        "p.showPopover()",
        &["button \"Menu\"", "button \"Item\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modal_dialog_covers_the_page_and_another_one_does_not() {
    check(
        "<button style='margin-top:300px'>Page</button><dialog id=d aria-label=Ask><button>Yes</button></dialog>",
        &["button \"Page\""],
        "d.showModal()",
        &["button \"Yes\"", "button \"Page\" covered"],
    )
    .await;
    check(
        "<button style='margin-top:300px'>Page</button><dialog id=d open aria-label=Ask><button>Yes</button></dialog>",
        &["button \"Page\"", "button \"Yes\""],
        "d.close()",
        &["button \"Page\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_inert_is_not_offered() {
    check(
        "<div id=d inert><button>Inert</button><a href=#>Link</a></div><button>Live</button>",
        &["button \"Live\""],
        "d.inert = false",
        &["button \"Inert\"", "link \"Link\"", "button \"Live\""],
    )
    .await;
}
