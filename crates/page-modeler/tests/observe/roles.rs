//! Tests of the roles of elements: implicit roles, custom elements, drawings.

use cuebook_grammar::candidate::NameSource;
use cuebook_grammar::observation::Scope;

use crate::stage::{Stage, check};

#[tokio::test(flavor = "multi_thread")]
async fn elements_have_the_roles_that_html_gives_them() {
    check(
        "<a id=a href=#>Link</a><button>Button</button><input type=submit value=Send><input type=image alt=Go><summary>Loose</summary>
         <details><summary>More</summary></details><input list=d aria-label=Listed><datalist id=d><option>x</datalist>
         <select multiple aria-label=Many><option>1</select><input type=checkbox role=switch aria-label=Flip><a>Anchor</a>",
        &[
            "link \"Link\"",
            "button \"Button\"",
            "button \"Send\"",
            "button \"Go\"",
            "button \"More\"",
            "combobox \"Listed\"",
            "listbox \"Many\"",
            "switch \"Flip\"",
        ],
        "a.removeAttribute('href'); document.querySelector('button').setAttribute('role', 'tab')",
        &[
            "tab \"Button\"",
            "button \"Send\"",
            "button \"Go\"",
            "button \"More\"",
            "combobox \"Listed\"",
            "listbox \"Many\"",
            "switch \"Flip\"",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_element_has_the_role_and_name_of_its_internals() {
    check(
        "<x-button>Custom</x-button><x-plain>Plain</x-plain><script>
         customElements.define('x-button', class extends HTMLElement {
           constructor() { super(); this.inner = this.attachInternals(); this.inner.role = 'button'; this.inner.ariaLabel = 'Save'; }
           connectedCallback() { this.tabIndex = 0; }
         });
         customElements.define('x-plain', class extends HTMLElement {});
         </script>",
        &["button \"Save\""],
        "const x = document.querySelector('x-button'); x.inner.role = 'checkbox'; x.inner.ariaLabel = 'Agree'; x.inner.ariaChecked = 'true'; x.append('!')",
        &["checkbox \"Agree\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drawings_with_roles_are_offered_and_those_without_are_not() {
    check(
        "<svg width=80 height=40><g id=g role=button tabindex=0 aria-label=Zoom><rect width=40 height=40 /></g><a href='#x'><title>Out</title><rect x=45 width=30 height=30 /></a><circle r=5 /></svg>
         <canvas role=button tabindex=0 aria-label=Draw width=50 height=30></canvas><canvas width=9 height=9></canvas>",
        &["button \"Zoom\"", "link \"Out\"", "button \"Draw\""],
        "g.removeAttribute('role'); g.removeAttribute('tabindex')",
        &["link \"Out\"", "button \"Draw\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_owned_by_reference_is_offered_and_named_with_its_owner() {
    check(
        "<div role=listbox id=box aria-label=Fruit aria-owns='o2 o1' tabindex=0 style='height:20px'></div><div id=o1 role=option>Pear</div><div id=o2 role=option>Fig</div>
         <button aria-owns=part>Take <b>one</b></button><span id=part>now</span>",
        &["listbox \"Fruit\"", "option \"Pear\"", "option \"Fig\"", "button \"Take one now\""],
        "document.querySelector('button').removeAttribute('aria-owns'); o1.hidden = true",
        &["listbox \"Fruit\"", "option \"Fig\"", "button \"Take one\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_is_asked_for_names_that_more_than_a_text_makes() {
    let mut stage = Stage::on(
        "<!doctype html><style>#b::before { content: 'New ' } #u { text-transform: uppercase }</style>
        <button>Plain</button><a href=/x> Plain
          link </a><button id=u>Upper</button><button id=b>mail</button><button><b>Bold</b></button>
        <label for=l>Labelled</label><button id=l>Text</button><button title=Tip>Titled</button>
        <button aria-label=Stated>Text</button><span role=button tabindex=0>Span</span>",
    )
    .await;
    let page = stage.observe(Scope::Full).await;
    let found: Vec<_> = page.candidates.iter().map(|it| (it.name.as_str(), it.name_source)).collect();
    let (walk, browser) = (NameSource::Walk, NameSource::Browser);
    let expected = [
        ("Plain", walk),
        ("Plain link", walk),
        ("Upper", walk),
        ("New mail", browser),
        ("Bold", browser),
        ("Labelled", browser),
        ("Titled", browser),
        ("Stated", browser),
        ("Span", browser),
    ];
    assert_eq!(found.iter().filter(|(name, _)| !name.is_empty()).copied().collect::<Vec<_>>(), expected);
}
