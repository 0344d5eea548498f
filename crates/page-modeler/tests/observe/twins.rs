//! Tests of the labels that distinguish candidates of one role and name.

use cuebook_grammar::observation::Scope;
use cuebook_grammar::plan::{PlanDraft, ViolationCode};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::secret::DigestKey;
use cuebook_probe::{Ask, Probe};

use crate::stage::{Stage, check, until};

#[tokio::test(flavor = "multi_thread")]
async fn twins_in_rows_lists_and_dialogs_carry_contexts() {
    let mut stage = Stage::on(
        "<table><tr><th>Mail</th><th></th></tr><tr><td>john@example.com</td><td><button>Edit</button></td></tr>
         <tr><td>jane@example.com</td><td><button>Edit</button></td></tr></table>
         <ul><li>Invoice 7 <button>Delete</button><li>Invoice 8 <button>Delete</button></ul>
         <div role=dialog aria-label=Settings><button>Save</button></div><div role=dialog aria-label=Profile><button>Save</button></div>
         <p><button>Same</button><button>Same</button></p>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let contexts = |name: &str| -> Vec<_> {
        seen.candidates.iter().filter(|c| c.name == name).map(|c| c.context.clone().unwrap_or_default()).collect()
    };
    assert_eq!(contexts("Edit"), ["row: john@example.com", "row: jane@example.com"]);
    assert_eq!(contexts("Delete"), ["list item: Invoice 7", "list item: Invoice 8"]);
    assert_eq!(contexts("Save"), ["dialog: Settings", "dialog: Profile"]);
    let ambiguous: Vec<_> = seen.candidates.iter().filter(|c| c.ambiguous).map(|c| c.name.as_str()).collect();
    assert_eq!(ambiguous, ["Same", "Same"]);
    // Every locator of a candidate leads to its own node.
    let probe = Probe::attach(stage.page.clone(), DigestKey::new([5; 32]), until()).await.unwrap();
    for candidate in &seen.candidates {
        assert!(!candidate.locators.is_empty(), "{}", candidate.title());
        for locator in &candidate.locators {
            let located = probe.locate(locator, &Ask::default(), until()).await.unwrap();
            let found = located.unique().unwrap_or_else(|| panic!("{} by {locator}", candidate.title()));
            assert_eq!(Some(&found.key), candidate.node.as_ref(), "{} by {locator}", candidate.title());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twins_are_distinguished_by_their_nearest_context() {
    check(
        "<section aria-label=News><button>More</button></section><section><h2>Sports</h2><button>More</button></section>
         <fieldset><legend>Home</legend><input aria-label=Zip></fieldset><fieldset><legend>Work</legend><input aria-label=Zip></fieldset>
         <h3 id=h>Basic</h3><p>Cheap</p><button>Buy</button><h3>Pro</h3><p>Better</p><button>Buy</button>
         <div id=stars><i tabindex=0></i><i tabindex=0></i><i tabindex=0></i></div><style>i{display:inline-block;width:20px;height:20px}</style>
         <p><button>Same</button><button>Same</button></p>",
        &[
            "button \"More\" [section: News]",
            "button \"More\" [section: Sports]",
            "textbox \"Zip\" [group: Home]",
            "textbox \"Zip\" [group: Work]",
            "button \"Buy\" [after heading: Basic]",
            "button \"Buy\" [after heading: Pro]",
            "generic \"\" [after heading: Pro, 1 of 3]",
            "generic \"\" [after heading: Pro, 2 of 3]",
            "generic \"\" [after heading: Pro, 3 of 3]",
            "button \"Same\" [after heading: Pro] ambiguous",
            "button \"Same\" [after heading: Pro] ambiguous",
        ],
        "h.remove(); stars.lastChild.remove(); document.querySelector('legend').remove(); document.querySelector('p:last-of-type button').remove()",
        &[
            "button \"More\" [section: News]",
            "button \"More\" [section: Sports]",
            "textbox \"Zip\" [1 of 2]",
            "textbox \"Zip\" [group: Work]",
            "button \"Buy\" [1 of 2]",
            "button \"Buy\" [after heading: Pro]",
            "generic \"\" [after heading: Pro] ambiguous",
            "generic \"\" [after heading: Pro] ambiguous",
            "button \"Same\"",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twins_without_roles_around_them_are_distinguished_by_their_own_part() {
    check(
        "<div><div><b>Anna</b><p><button>Edit</button></div><div><b id=who>Bert</b><p><button>Edit</button></div></div>",
        &["button \"Edit\" [item: Anna]", "button \"Edit\" [item: Bert]"],
        "who.textContent = 'Anna'",
        &["button \"Edit\" [item: Anna] ambiguous", "button \"Edit\" [item: Anna] ambiguous"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_written_by_hand_distinguish_twins_and_numbered_ones_do_not() {
    check(
        "<style>[tabindex] { width: 30px; height: 30px }</style>
         <div id=map tabindex=0></div><div id=timeline><p tabindex=0></p></div>
         <div id=row-1 tabindex=0></div><div id=row-2 tabindex=0></div>",
        &["generic \"\" [id: map]", "paragraph \"\"", "generic \"\" ambiguous", "generic \"\" ambiguous"],
        "map.id = 'map-1'",
        &["generic \"\" ambiguous", "paragraph \"\"", "generic \"\" ambiguous", "generic \"\" ambiguous"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_targets_an_ambiguous_twin_is_rejected_with_both() {
    let mut stage = Stage::on("<p><button>Same</button><button>Same</button><button>Other</button></p>").await;
    let seen = stage.observe(Scope::View).await;
    let plan = |id: &str| {
        let steps = serde_json::json!([{ "type": "click", "targetRef": id }]);
        serde_json::from_value::<PlanDraft>(serde_json::json!({ "version": "1.0", "steps": steps })).unwrap()
    };
    let violations = plan("c1").check(&seen, &Policy::default().starting_at(&seen.url).unwrap()).unwrap_err();
    let told: Vec<_> = violations.iter().map(|v| (v.code, v.message.as_str())).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, ViolationCode::AmbiguousTarget);
    assert!(told[0].1.contains("c1") && told[0].1.contains("c2") && !told[0].1.contains("c3"), "{told:?}");
    assert!(plan("c3").check(&seen, &Policy::default().starting_at(&seen.url).unwrap()).is_ok());
}
