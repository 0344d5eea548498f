//! The page as an ARIA snapshot.

use cuebook_grammar::locator::Locator;

use crate::stage::{Stage, until};

async fn snapshot(stage: &mut Stage, within: Option<&Locator>) -> String {
    stage.modeler.aria_snapshot(&stage.id.clone(), within, until()).await.unwrap().yaml
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_written_in_the_form_that_playwrights_users_know() {
    let mut stage = Stage::on(
        "<style>b::before{content:'* '} p::after{content:'end';display:block}</style>
         <h1>Title</h1><nav aria-label=Main><ul><li><a href=/a>One</a></li><li aria-hidden=true>No</li></ul></nav>
         <p>Some <b>bold</b> text</p><label>Mail <input placeholder=you@x value=me></label><input type=password value=secret aria-label=Pass>
         <input type=checkbox checked aria-label=Yes><button disabled aria-expanded=true>Go: on</button><textarea>old</textarea>
         <select aria-label=Size><option>S<option selected>M</select><details><summary>More</summary>Hidden</details>
         <div role=listbox aria-owns=o aria-label=L></div><div id=o role=option aria-selected=true>Owned</div><iframe></iframe>
         <a href='#'>x<summary>y</summary></a><div role=generic>gen</div><div role=textbox contenteditable>abc</div><input type=file><input type=range value=3 aria-label=r>
         <progress value=3 max=5></progress><svg><title>t</title><text>inside</text></svg><table><caption>Cap</caption><tr><th>h<td>d</table>
         <x-a>slotted</x-a><script>document.querySelector('x-a').attachShadow({mode:'closed'}).innerHTML = '<button>In <slot></slot></button>'; document.querySelector('textarea').value = 'new';</script>",
    )
    .await;
    // Closed roots are known once the page was observed.
    stage.observe(cuebook_grammar::observation::Scope::Full).await;
    let expected = r##"- heading "Title" [level=1]
- navigation "Main":
  - list:
    - listitem:
      - link "One":
        - /url: /a
- paragraph: Some * bold text end
- text: Mail
- textbox "Mail":
  - /placeholder: you@x
  - text: me
- textbox "Pass": •••
- checkbox "Yes" [checked]
- 'button "Go: on" [disabled] [expanded]'
- textbox: new
- combobox "Size":
  - option "S"
  - option "M" [selected]
- group: More
- listbox "L":
  - option "Owned" [selected]
- iframe
- link "x y":
  - /url: "#"
- generic: gen
- textbox
- button "Choose File"
- slider "r": "3"
- progressbar
- img "t": inside
- table "Cap":
  - caption: Cap
  - rowgroup:
    - row "h d":
      - rowheader "h"
      - cell "d"
- button "In slotted""##;
    assert_eq!(snapshot(&mut stage, None).await, expected);
    let within: Locator =
        serde_json::from_value(serde_json::json!({ "strategy": "css", "selector": "nav li a" })).unwrap();
    assert_eq!(snapshot(&mut stage, Some(&within)).await, "- link \"One\":\n  - /url: /a");
    let several: Locator =
        serde_json::from_value(serde_json::json!({ "strategy": "css", "selector": "input" })).unwrap();
    let refused = stage.modeler.aria_snapshot(&stage.id.clone(), Some(&several), until()).await.unwrap_err();
    assert_eq!(refused.to_string(), "5 elements match, not one");
}
